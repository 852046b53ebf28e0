/*
 * inspect_files.c - cubins, and sources that are not heed's own
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect.h"
#include "src/cuda/jit.h"
#include "src/cuda/nvrtc.h"
#include "tensor/file.h"

#define FILE_SIZE_MAX ((int64_t)64 << 20)
#define MACRO_SIZE 48

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* A word of a spec has neither a dot nor the name of a file. */
static bool is_there(const char *path)
{
    struct stat info;
    return strpbrk(path, "./") && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool inspect_is_file(const char *operand)
{
    return ends_with(operand, ".cu") || ends_with(operand, ".cubin") || is_there(operand);
}

/* Reads a whole file, and a null byte after it. To be freed by the caller. */
static heed_status read_file(const char *path, char **data, size_t *size, lab_error *error)
{
    FILE *file;
    *data = NULL;
    heed_status status = lab_file_open(&file, path, error);
    if (status != HEED_OK)
        return status;
    int64_t left = lab_file_left(file);
    if (left < 0 || left > FILE_SIZE_MAX)
        status = lab_fail(error, HEED_ERR_UNSUPPORTED,
                          "%s: %s; a regular file of at most %lld bytes is expected", path,
                          left < 0 ? "of unknown size" : "too large", (long long)FILE_SIZE_MAX);
    else if (!(*data = calloc((size_t)left + 1, 1)))
        status = lab_fail(error, HEED_ERR_NO_MEMORY, "%s: no memory for %lld bytes", path,
                          (long long)left);
    else
        status = lab_file_read(file, path, "file", *data, (size_t)left, error);
    fclose(file);
    *size = (size_t)left;
    if (status != HEED_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

/* The macros of --define. @names holds what they point to. */
typedef struct macros {
    heed_define defines[HEED_DEFINES_MAX];
    char names[HEED_DEFINES_MAX][MACRO_SIZE];
    int count;
} macros;

static cli_exit read_macros(const cli_args *args, macros *all)
{
    size_t given = cli_args_list_count(args, "define");
    if (given > HEED_DEFINES_MAX) {
        cli_error("--define: given %zu times; at most %d are taken", given, HEED_DEFINES_MAX);
        return CLI_USAGE;
    }
    all->count = (int)given;
    for (size_t i = 0; i < given; i++) {
        const char *text = cli_args_list(args, "define", i);
        const char *value = strchr(text, '=');
        char *end = NULL;
        size_t length = value ? (size_t)(value - text) : strlen(text);
        all->defines[i].value = value ? strtoll(value + 1, &end, 10) : 1;
        if (length == 0 || length >= MACRO_SIZE || (value && (*end || end == value + 1))) {
            cli_error("--define: '%s'; NAME or NAME=INTEGER is expected", text);
            return CLI_USAGE;
        }
        memcpy(all->names[i], text, length);
        all->names[i][length] = '\0';
        all->defines[i].name = all->names[i];
    }
    return CLI_OK;
}

/* Where headers are, but for those beside the source: the folders of --include, and the toolkit's,
 * if it is where NVRTC is. */
typedef struct folders {
    const char *names[HEED_FOLDERS_MAX];
    char toolkit[PATH_MAX + 32];
    int count;
} folders;

/* Is cuda_fp16.h in @folder below the parent of the folder that @library is in? */
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

static inspect_subject subject_of(const inspect_job *job, const char *name)
{
    return (inspect_subject){ .name = name,
                              .threads = (int)cli_args_integer(job->args, "threads"),
                              .dynamic = cli_args_integer(job->args, "smem"),
                              .blocks = cli_args_integer(job->args, "grid"),
                              .opts_in = cli_args_flag(job->args, "opts-in") };
}

/* Does the text of a source, but for comments, have the word __shared__? */
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

static cli_exit compile(inspect_job *job, const char *path, const char *text, const macros *all,
                        const folders *where, int arch)
{
    heed_cubin code;
    inspect_subject subject = subject_of(job, path);
    const heed_build build = { .source = path,
                               .defines = all->defines,
                               .define_count = all->count,
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
        cli_error("%s: NVRTC here makes no machine code for sm_%d", path, arch);
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
    macros all;
    folders where;
    cli_exit code = inspect_archs(job->args, archs, INSPECT_ARCHS_MAX, &count);
    if (code == CLI_OK)
        code = read_macros(job->args, &all);
    if (code == CLI_OK)
        code = read_folders(job->args, &where);
    for (size_t i = 0; code == CLI_OK && i < count; i++)
        code = compile(job, path, text, &all, &where, archs[i]);
    return code;
}

static cli_exit inspect_file(inspect_job *job, const char *path)
{
    char *data;
    size_t size;
    lab_error error = { "" };
    heed_status status = read_file(path, &data, &size, &error);
    if (status != HEED_OK) {
        cli_error("%s", error.text);
        return cli_exit_of(status);
    }
    inspect_subject subject = subject_of(job, path);
    subject.data = data;
    subject.size = size;
    cli_exit code = ends_with(path, ".cu") ? compile_all(job, path, data)
                                           : inspect_add(job, &subject);
    free(data);
    return code;
}

cli_exit inspect_files(inspect_job *job)
{
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
