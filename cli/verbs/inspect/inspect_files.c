/*
 * inspect_files.c - cubins, and users' sources
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ends.h"
#include "base/file.h"
#include "inspect.h"
#include "src/cuda/driver/nvrtc.h"
#include "src/cuda/jit.h"

#define FILE_SIZE_MAX ((int64_t)64 << 20)
#define THREADS_MAX 1024
#define MACROS_MAX 64
#define MACRO_SIZE 512

/* True if @path exists: a word of a spec does not name a file. */
static bool is_there(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 ||
           (strpbrk(path, "./") && stat(path, &info) == 0 && !S_ISDIR(info.st_mode));
}

bool inspect_is_file(const char *operand)
{
    return lab_ends_with(operand, ".cu") || lab_ends_with(operand, ".cubin") || is_there(operand);
}

/* True if @text is NAME or NAME=VALUE, as for a compiler's -D. A value may be anything on one
 * line. */
static bool is_macro(const char *text)
{
    size_t length = strcspn(text, "="), size = strlen(text);
    bool named = length > 0 && !isdigit((unsigned char)*text);
    for (size_t i = 0; i < length; i++)
        named = named && (isalnum((unsigned char)text[i]) || text[i] == '_');
    for (size_t i = 0; i < size; i++)
        named = named && !iscntrl((unsigned char)text[i]);
    return named && size < MACRO_SIZE && text[size - 1] != '\\';
}

/* Puts the macros of --define before @source, whose first line keeps number 1. Free *@whole. */
static cli_exit add_macros(const cli_args *args, const char *source, char **whole)
{
    size_t given = cli_args_list_count(args, "define");
    size_t size = given * (MACRO_SIZE + 16) + strlen(source) + 16, at = 0;
    *whole = NULL;
    if (given > MACROS_MAX) {
        cli_error("--define: given %zu times; at most %d are taken", given, MACROS_MAX);
        return CLI_USAGE;
    }
    char *text = malloc(size);
    if (!text) {
        cli_error("--define: no memory for %zu bytes", size);
        return CLI_ENVIRONMENT;
    }
    for (size_t i = 0; i < given; i++) {
        const char *macro = cli_args_list(args, "define", i), *value = strchr(macro, '=');
        if (!is_macro(macro)) {
            cli_error("--define: '%s'; NAME or NAME=VALUE of less than %d characters is expected",
                      macro, MACRO_SIZE);
            free(text);
            return CLI_USAGE;
        }
        at += (size_t)snprintf(text + at, size - at, "#define %.*s %s\n", (int)strcspn(macro, "="),
                               macro, value ? value + 1 : "1");
    }
    snprintf(text + at, size - at, "%s%s", given > 0 ? "#line 1\n" : "", source);
    *whole = text;
    return CLI_OK;
}

/* Folders of headers, other than the source's: those of --include, and the toolkit's, if NVRTC is
 * in it. */
typedef struct folders {
    const char *names[HEED_FOLDERS_MAX];
    char toolkit[PATH_MAX + 32];
    int count;
} folders;

/* True if cuda_fp16.h is in @folder below the parent of the folder of @library. */
static bool find_toolkit(char text[PATH_MAX + 32], const char *library, const char *folder)
{
    const char *slash = strrchr(library, '/');
    char header[PATH_MAX + 64];
    if (!slash)
        return false;
    snprintf(text, PATH_MAX + 32, "%.*s/%s", (int)(slash - library), library, folder);
    snprintf(header, sizeof header, "%s/cuda_fp16.h", text);
    return access(header, R_OK) == 0;
}

static cli_exit read_folders(const cli_args *args, folders *all)
{
    const heed_nvrtc *nvrtc;
    size_t given = cli_args_list_count(args, "include");
    if (given > HEED_FOLDERS_MAX - 1) {
        cli_error("--include: given %zu times; at most %d are taken", given, HEED_FOLDERS_MAX - 1);
        return CLI_USAGE;
    }
    *all = (folders){ .count = (int)given };
    for (size_t i = 0; i < given; i++)
        all->names[i] = cli_args_list(args, "include", i);
    if (heed_nvrtc_get(&nvrtc) == HEED_OK &&
        (find_toolkit(all->toolkit, nvrtc->path, "../include") ||
         find_toolkit(all->toolkit, nvrtc->path, "../../cuda_runtime/include")))
        all->names[all->count++] = all->toolkit;
    return CLI_OK;
}

/* Reads --threads, "256" or "32x8" or "8x8x4"; the shape is zeros if it is one number, or not
 * given. */
static cli_exit read_threads(const cli_args *args, int *threads, lab_sass_shape *shape)
{
    const char *text = cli_args_text(args, "threads"), *at = text;
    long side[3] = { 0, 1, 1 };
    int count = 0;
    *threads = 0;
    *shape = (lab_sass_shape){ 0, 0, 0 };
    if (!text)
        return CLI_OK;
    for (char *end; count < 3 && isdigit((unsigned char)*at); at = end) {
        side[count] = strtol(at, &end, 10);
        if (side[count++] > THREADS_MAX)
            break;
        end += *end == 'x' && isdigit((unsigned char)end[1]);
    }
    long all = side[0] * side[1] * side[2];
    if (*at || all < 1 || all > THREADS_MAX) {
        cli_error("--threads: '%s'; N, or XxY or XxYxZ as of blockDim, 1 to %d threads in all, is "
                  "expected",
                  text, THREADS_MAX);
        return CLI_USAGE;
    }
    *threads = (int)all;
    if (count > 1)
        *shape = (lab_sass_shape){ (int)side[0], (int)side[1], (int)side[2] };
    return CLI_OK;
}

static lab_code_subject subject_of(const inspect_job *job, const char *name)
{
    return (lab_code_subject){ .name = name,
                               .threads = job->threads,
                               .shape = job->shape,
                               .dynamic = cli_args_integer(job->args, "smem"),
                               .blocks = cli_args_integer(job->args, "grid"),
                               .opts_in = cli_args_flag(job->args, "opts-in") };
}

/* True if a source has the word __shared__ outside comments. */
static bool declares_shared(const char *text)
{
    static const char word[] = "__shared__";
    for (const char *at = text; *at;) {
        const char *end;
        if (strncmp(at, "//", 2) == 0)
            at += strcspn(at, "\n");
        else if (strncmp(at, "/*", 2) == 0) {
            end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else if (strncmp(at, word, strlen(word)) == 0)
            return true;
        else
            at++;
    }
    return false;
}

static cli_exit compile(inspect_job *job, const char *path, const char *text, const folders *where,
                        int arch)
{
    heed_cubin code;
    lab_code_subject subject = subject_of(job, path);
    const heed_build build = { .source = path,
                               .arch = arch,
                               .registers = (int)cli_args_integer(job->args, "registers"),
                               .fresh = true,
                               .folders = where->names,
                               .folder_count = where->count };
    heed_status status = heed_jit_build_text(&build, text, &code);
    cli_exit result = CLI_OK;
    subject.data = code.data;
    subject.size = code.size;
    subject.log = code.log;
    subject.declares_shared = declares_shared(text);
    if (status != HEED_OK)
        result = cli_fail(status, NULL);
    else if (code.ptx) {
        cli_error("%s: this NVRTC makes no machine code for sm_%d", path, arch);
        result = CLI_ENVIRONMENT;
    } else
        result = inspect_add(job, &subject);
    heed_cubin_free(&code);
    return result;
}

static cli_exit compile_all(inspect_job *job, const char *path, const char *text)
{
    int archs[INSPECT_ARCHS_MAX];
    size_t count;
    char *whole = NULL;
    folders where;
    cli_exit code = inspect_archs(job->args, archs, INSPECT_ARCHS_MAX, &count);
    if (code == CLI_OK)
        code = read_folders(job->args, &where);
    if (code == CLI_OK)
        code = add_macros(job->args, text, &whole);
    for (size_t i = 0; code == CLI_OK && i < count; i++)
        code = compile(job, path, whole, &where, archs[i]);
    free(whole);
    return code;
}

/* A pipe has no extension: a cubin begins like every ELF file. */
static bool is_source(const char *path, const char *data)
{
    return lab_ends_with(path, ".cu") ||
           (lab_file_is_stream(path) && strncmp(data, "\177ELF", 4) != 0);
}

static cli_exit inspect_file(inspect_job *job, const char *path)
{
    char *data;
    size_t size;
    cli_exit code = cli_read_file(path, FILE_SIZE_MAX, &data, &size);
    if (code != CLI_OK)
        return code;
    lab_code_subject subject = subject_of(job, path);
    subject.data = data;
    subject.size = size;
    code = is_source(path, data) ? compile_all(job, path, data) : inspect_add(job, &subject);
    free(data);
    return code;
}

cli_exit inspect_files(inspect_job *job)
{
    cli_exit result = read_threads(job->args, &job->threads, &job->shape);
    if (result != CLI_OK)
        return result;
    for (int i = 0; i < cli_args_operand_count(job->args); i++) {
        const char *operand = cli_args_operand(job->args, i);
        if (!inspect_is_file(operand)) {
            cli_error("'%s' is neither a .cubin nor a .cu file", operand);
            return CLI_USAGE;
        }
        cli_exit code = inspect_file(job, operand);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}
