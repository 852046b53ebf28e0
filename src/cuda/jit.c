/*
 * jit.c - compile kernels at run time
 */
#include "jit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/nvrtc.h"
#include "measure.h"
#include "score/score.h"
#include "shipped.h"
#include "sources.h"

#define ARCH_MIN 50
#define ARCH_MAX 999
#define REGISTERS_MAX 255
#define HEADERS_MAX 96
#define OPTION_SIZE 96
#define OPTIONS_MAX (HEED_DEFINES_MAX + HEED_FOLDERS_MAX + 8)
#define FOLDER_SIZE (PATH_MAX + 16)

/* A build in progress. */
typedef struct jit_job {
    const heed_build *build;
    const char *text;
    const heed_nvrtc *nvrtc;
    bool ptx;
    char options[OPTIONS_MAX][OPTION_SIZE];
    char folders[HEED_FOLDERS_MAX][FOLDER_SIZE]; /* include options for the folders */
    const char *option_list[OPTIONS_MAX];
    int option_count;
    heed_source headers[HEADERS_MAX];
    const char *header_texts[HEADERS_MAX];
    const char *header_names[HEADERS_MAX];
    int header_count;
    char steps[HEED_CUDA_PROGRAM_SIZE]; /* the text of one of them */
} jit_job;

/* -------------------------------------------------------------------------- */
/* The job                                                                    */
/* -------------------------------------------------------------------------- */

/* True if @name is a valid macro name. */
static bool is_identifier(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789";
    return name && *name && strchr(letters, *name) && name[strspn(name, others)] == '\0' &&
           strlen(name) < OPTION_SIZE / 2;
}

static heed_status check_build(const heed_build *build)
{
    if (!build->source)
        return heed_fail(HEED_ERR_INVALID, "source is NULL");
    if (build->arch < ARCH_MIN || build->arch > ARCH_MAX)
        return heed_fail(HEED_ERR_INVALID, "%s: arch is %d; it must be %d to %d", build->source,
                         build->arch, ARCH_MIN, ARCH_MAX);
    if (build->registers < 0 || build->registers > REGISTERS_MAX)
        return heed_fail(HEED_ERR_INVALID, "%s: registers is %d; it must be 0 to %d", build->source,
                         build->registers, REGISTERS_MAX);
    if (build->define_count < 0 || build->define_count > HEED_DEFINES_MAX)
        return heed_fail(HEED_ERR_INVALID, "%s: define_count is %d; it must be 0 to %d",
                         build->source, build->define_count, HEED_DEFINES_MAX);
    if (build->folder_count < 0 || build->folder_count > HEED_FOLDERS_MAX ||
        (build->folder_count > 0 && !build->fresh))
        return heed_fail(HEED_ERR_INVALID,
                         "%s: folder_count is %d; it must be 0 to %d, and 0 of what is cached",
                         build->source, build->folder_count, HEED_FOLDERS_MAX);
    for (int i = 0; i < build->define_count; i++)
        if (!is_identifier(build->defines[i].name))
            return heed_fail(HEED_ERR_INVALID,
                             "%s: defines[%d] has the name \"%s\"; it must be an "
                             "identifier of less than %d characters",
                             build->source, i,
                             build->defines[i].name ? build->defines[i].name : "NULL",
                             OPTION_SIZE / 2);
    return HEED_OK;
}

static void add_option(jit_job *job, const char *option)
{
    char *room = job->options[job->option_count];
    snprintf(room, OPTION_SIZE, "%s", option);
    job->option_list[job->option_count++] = room;
}

/* sm_90 code runs on every 9.x; Hopper's specific instructions need sm_90a, and likewise for later
 * architectures. Code compiled here is for exactly this architecture, and shipped code was compiled
 * by an NVRTC that supports these. */
static const char *arch_suffix(const jit_job *job)
{
    return job->build->arch >= 90 && (!job->nvrtc || job->nvrtc->major >= 12) ? "a" : "";
}

/* Machine code if NVRTC supports the architecture, else the nearest PTX. Without NVRTC precompiled
 * code, which is machine code. */
static heed_status choose_arch(jit_job *job, char option[OPTION_SIZE])
{
    int arch = job->build->arch, nearest = job->nvrtc ? 0 : arch;
    for (int i = 0; job->nvrtc && i < job->nvrtc->supported_count; i++)
        if (job->nvrtc->supported[i] <= arch && job->nvrtc->supported[i] > nearest)
            nearest = job->nvrtc->supported[i];
    if (nearest == 0)
        return heed_fail(HEED_ERR_UNSUPPORTED,
                         "%s: NVRTC %d.%d compiles for sm_%d and later, not for sm_%d",
                         job->build->source, job->nvrtc->major, job->nvrtc->minor,
                         job->nvrtc->supported[0], arch);
    job->ptx = nearest != arch;
    if (job->ptx)
        snprintf(option, OPTION_SIZE, "--gpu-architecture=compute_%d", nearest);
    else
        snprintf(option, OPTION_SIZE, "--gpu-architecture=sm_%d%s", arch, arch_suffix(job));
    return HEED_OK;
}

static heed_status add_folders(jit_job *job)
{
    for (int i = 0; i < job->build->folder_count; i++) {
        int length = snprintf(job->folders[i], FOLDER_SIZE, "--include-path=%s",
                              job->build->folders[i]);
        if (length >= FOLDER_SIZE)
            return heed_fail(HEED_ERR_INVALID, "%s: a folder's name has more than %d characters",
                             job->build->source, PATH_MAX);
        job->option_list[job->option_count++] = job->folders[i];
    }
    return HEED_OK;
}

static heed_status choose_options(jit_job *job)
{
    const heed_build *build = job->build;
    char option[OPTION_SIZE];
    job->option_count = 0;
    heed_status status = choose_arch(job, option);
    if (status != HEED_OK)
        return status;
    add_option(job, option);
    add_option(job, "--std=c++17");
    add_option(job, "-default-device");
    if (!job->ptx)
        add_option(job, "--ptxas-options=-v"); /* the only report of spills */
    if (build->registers > 0) {
        snprintf(option, sizeof option, "--maxrregcount=%d", build->registers);
        add_option(job, option);
    }
    for (int i = 0; i < build->define_count; i++) {
        snprintf(option, sizeof option, "-D%s=%lld", build->defines[i].name,
                 build->defines[i].value);
        add_option(job, option);
    }
    return add_folders(job);
}

static heed_status add_header(jit_job *job, const heed_source *source)
{
    if (job->header_count == HEADERS_MAX)
        return heed_fail(HEED_ERR_INVALID, "more than %d headers", HEADERS_MAX);
    job->header_texts[job->header_count] = source->text;
    job->header_names[job->header_count] = source->name;
    job->headers[job->header_count++] = *source;
    return HEED_OK;
}

static heed_status choose_headers(jit_job *job)
{
    heed_source source;
    heed_status status = HEED_OK;
    for (size_t i = 0; heed_source_at(i, &source) && status == HEED_OK; i++)
        if (heed_source_is_header(&source))
            status = add_header(job, &source);
    if (status != HEED_OK || !job->build->steps_of)
        return status;
    source = (heed_source){ .name = "program.cuh", .text = job->steps };
    source.size = heed_cuda_print_program(job->build->steps_of, job->steps, sizeof job->steps);
    return add_header(job, &source);
}

static heed_cache_part part_of(const char *text)
{
    return (heed_cache_part){ text, strlen(text) };
}

/* The compiler as part of a key; keys of the library's folder do not include it. */
static void name_compiler(const jit_job *job, char text[96])
{
    if (job->nvrtc)
        snprintf(text, 96, "NVRTC %d.%d, %lld bytes", job->nvrtc->major, job->nvrtc->minor,
                 job->nvrtc->file_size);
    else
        snprintf(text, 96, "that of the library's folder");
}

/* The source as part of a key: its digest if it is one of the library's. */
static heed_cache_part source_part(const jit_job *job)
{
    heed_source source;
    if (heed_source_find(job->build->source, &source) && source.text == job->text)
        return (heed_cache_part){ source.digest, HEED_CACHE_DIGEST_SIZE };
    return part_of(job->text);
}

static heed_cache_part header_part(const heed_source *header)
{
    return header->digest ? (heed_cache_part){ header->digest, HEED_CACHE_DIGEST_SIZE }
                          : (heed_cache_part){ header->text, header->size };
}

/* Makes the key from everything that the code depends on. */
static void make_key(const jit_job *job, char key[HEED_CACHE_KEY_SIZE])
{
    heed_cache_part parts[4 + OPTIONS_MAX + 2 * HEADERS_MAX];
    size_t count = 0;
    char compiler[96];
    name_compiler(job, compiler);
    parts[count++] = part_of("heed kernel 2");
    parts[count++] = part_of(compiler);
    parts[count++] = part_of(job->build->source);
    parts[count++] = source_part(job);
    for (int i = 0; i < job->option_count; i++)
        parts[count++] = part_of(job->option_list[i]);
    for (int i = 0; i < job->header_count; i++) {
        parts[count++] = part_of(job->header_names[i]);
        parts[count++] = header_part(&job->headers[i]);
    }
    heed_cache_key(parts, count, key);
}

/* -------------------------------------------------------------------------- */
/* Doing it                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status fail_nvrtc(const jit_job *job, const char *action, int result)
{
    heed_status status = result == NVRTC_OUT_OF_MEMORY ? HEED_ERR_NO_MEMORY : HEED_ERR_DEVICE;
    return heed_fail(status, "%s: NVRTC %d.%d cannot %s: %s", job->build->source, job->nvrtc->major,
                     job->nvrtc->minor, action, job->nvrtc->error(result));
}

/* True for "FILE(2): error: ...", "error #20: ..." and "ptxas error   : ...", but not for a name
 * with that word in a warning. */
static bool tells_error(const char *line, size_t size)
{
    static const char word[] = "error";
    for (size_t at = 0; at + sizeof word <= size && line[at] != '"'; at++) {
        if ((at > 0 && line[at - 1] != ' ') || strncmp(line + at, word, sizeof word - 1) != 0)
            continue;
        size_t next = at + sizeof word - 1;
        next += strspn(line + next, " ");
        if (line[next] == ':' || line[next] == '#')
            return true;
    }
    return false;
}

/* The most static shared memory that a function of @log uses; 0: none. */
static long shared_bytes(const char *log)
{
    static const char unit[] = " bytes smem";
    long most = 0;
    for (const char *at = log; (at = strstr(at, unit)); at += sizeof unit - 1) {
        const char *digits = at;
        while (digits > log && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        long bytes = strtol(digits, NULL, 10);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Writes why compilation failed, in one line. If a function has more static shared memory than the
 * architecture allows, NVRTC's log has no error, only the size. */
static void explain_log(const char *log, char *text, size_t size)
{
    enum {
        SHARED_USUAL = 48 << 10
    };
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        if (tells_error(line, length)) {
            snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1), line);
            return;
        }
        line += length + (line[length] == '\n');
    }
    long bytes = shared_bytes(log);
    if (bytes > SHARED_USUAL)
        snprintf(text, size,
                 "%ld bytes of static shared memory; the limit is %d: use dynamic shared memory",
                 bytes, SHARED_USUAL);
    else
        snprintf(text, size, "the compiler gives no reason");
}

/* The source has errors: stores the log for the user. */
static heed_status fail_compilation(const jit_job *job, const heed_cubin *cubin)
{
    char path[PATH_MAX];
    char why[400];
    explain_log(cubin->log, why, sizeof why);
    bool kept = heed_cache_keep_log(cubin->key, cubin->log, path);
    return heed_fail(HEED_ERR_DEVICE, "%s does not compile for sm_%d%s: %s (the whole log %s%s)",
                     job->build->source, job->build->arch, arch_suffix(job), why,
                     kept ? "is in " : "could not be kept", kept ? path : "");
}

static heed_status take_log(const jit_job *job, nvrtc_program *program, heed_cubin *cubin)
{
    size_t size = 0;
    int result = job->nvrtc->log_size(program, &size);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(job, "return its log's size", result);
    cubin->log = calloc(size + 1, 1);
    if (!cubin->log)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a log of %zu bytes", size);
    result = size > 0 ? job->nvrtc->log(program, cubin->log) : NVRTC_SUCCESS;
    return result == NVRTC_SUCCESS ? HEED_OK : fail_nvrtc(job, "return its log", result);
}

static heed_status take_code(const jit_job *job, nvrtc_program *program, heed_cubin *cubin)
{
    const heed_nvrtc *nvrtc = job->nvrtc;
    size_t size = 0;
    int result = (job->ptx ? nvrtc->ptx_size : nvrtc->cubin_size)(program, &size);
    if (result != NVRTC_SUCCESS || size == 0)
        return fail_nvrtc(job, "return the code's size", result);
    cubin->data = malloc(size);
    if (!cubin->data)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu bytes of code", size);
    cubin->size = size;
    cubin->ptx = job->ptx;
    result = (job->ptx ? nvrtc->ptx : nvrtc->cubin)(program, (char *)cubin->data);
    return result == NVRTC_SUCCESS ? HEED_OK : fail_nvrtc(job, "return the code", result);
}

/* NVRTC before 12.6.2 reads numbers in the thread's locale, and may change the locale. */
static int compile_in_c_locale(const jit_job *job, nvrtc_program *program)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    int result = job->nvrtc->compile(program, job->option_count, job->option_list);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return result;
}

static heed_status compile_program(const jit_job *job, nvrtc_program *program, heed_cubin *cubin)
{
    int result = compile_in_c_locale(job, program);
    heed_status status = take_log(job, program, cubin);
    if (status != HEED_OK)
        return status;
    if (result == NVRTC_COMPILATION)
        return fail_compilation(job, cubin);
    return result == NVRTC_SUCCESS ? take_code(job, program, cubin)
                                   : fail_nvrtc(job, "compile", result);
}

static heed_status compile(const jit_job *job, heed_cubin *cubin)
{
    nvrtc_program *program = NULL;
    int result = job->nvrtc->create(&program, job->text, job->build->source, job->header_count,
                                    job->header_texts, job->header_names);
    if (result != NVRTC_SUCCESS)
        return fail_nvrtc(job, "load the source", result);
    heed_status status = compile_program(job, program, cubin);
    job->nvrtc->destroy(&program);
    return status;
}

/* -------------------------------------------------------------------------- */
/* The cache around it                                                        */
/* -------------------------------------------------------------------------- */

/* An entry cannot be of the wrong kind: the options are part of the key. */
static bool load(heed_cubin *cubin, bool (*find)(const char *key, heed_cache_entry *entry))
{
    heed_cache_entry entry;
    if (!find(cubin->key, &entry))
        return false;
    cubin->data = entry.data;
    cubin->size = entry.size;
    cubin->log = entry.log;
    cubin->ptx = entry.ptx;
    cubin->cached = true;
    return true;
}

/* Writes the key for shipped code to @cubin. */
static heed_status make_shipped_key(jit_job *job, heed_cubin *cubin)
{
    const heed_nvrtc *nvrtc = job->nvrtc;
    job->nvrtc = NULL;
    heed_status status = choose_options(job);
    if (status == HEED_OK)
        make_key(job, cubin->key);
    job->nvrtc = nvrtc;
    return status;
}

static bool load_shipped(jit_job *job, heed_cubin *cubin)
{
    int major, minor;
    if (!heed_shipped_compiler(&major, &minor))
        return false;
    cubin->shipped = make_shipped_key(job, cubin) == HEED_OK && load(cubin, heed_shipped_load);
    return cubin->shipped;
}

static void store(const heed_cubin *cubin)
{
    const heed_cache_entry entry = { .data = cubin->data,
                                     .size = cubin->size,
                                     .log = cubin->log,
                                     .log_size = strlen(cubin->log),
                                     .ptx = cubin->ptx };
    heed_cache_store(cubin->key, &entry); /* if it fails, the next process compiles again */
}

/* Finds the compiler, needed because the library's folder, if any, does not have the code. */
static heed_status find_compiler(jit_job *job)
{
    int major, minor;
    heed_status status = heed_nvrtc_get(&job->nvrtc);
    if (status == HEED_OK || job->build->fresh || !heed_shipped_compiler(&major, &minor))
        return status;
    char why[HEED_MESSAGE_SIZE / 2];
    snprintf(why, sizeof why, "%s", heed_message());
    return heed_fail(status, "%s for this problem is not among the kernels shipped with heed: %s",
                     job->build->source, why);
}

static heed_status compile_or_load(jit_job *job, heed_cubin *cubin)
{
    heed_status status = find_compiler(job);
    if (status != HEED_OK || (status = choose_options(job)) != HEED_OK)
        return status;
    make_key(job, cubin->key);
    if (!job->build->fresh && load(cubin, heed_cache_load))
        return HEED_OK;
    if (job->build->ready)
        return heed_fail(HEED_ERR_DEVICE, "%s is not compiled yet", job->build->source);
    status = compile(job, cubin);
    if (status == HEED_OK && !job->build->fresh)
        store(cubin);
    return status;
}

static heed_status run(jit_job *job, heed_cubin *cubin)
{
    heed_status status = choose_headers(job);
    if (status != HEED_OK || (!job->build->fresh && load_shipped(job, cubin)))
        return status;
    return compile_or_load(job, cubin);
}

static void trace_build(const heed_trace *trace, const heed_build *build)
{
    char name[128];
    snprintf(name, sizeof name, "compile %s sm_%d", build->source, build->arch);
    heed_trace_begin(trace, HEED_TRACE_COMPILE, name);
}

/* Begins a job; NULL, after heed_fail(), if out of memory. */
static jit_job *begin(const heed_build *build, const char *text)
{
    jit_job *job = calloc(1, sizeof *job); /* some kilobytes, too much for a caller's stack */
    if (!job) {
        heed_fail(HEED_ERR_NO_MEMORY, "%s: no memory to compile it", build->source);
        return NULL;
    }
    job->build = build;
    job->text = text;
    return job;
}

/* Ends it after @status. */
static heed_status end(jit_job *job, heed_status status, heed_cubin *cubin)
{
    free(job);
    if (status != HEED_OK) {
        free(cubin->data);
        cubin->data = NULL;
        cubin->size = 0;
    }
    return status;
}

heed_status heed_jit_build_text(const heed_build *build, const char *text, heed_cubin *cubin)
{
    int64_t start = heed_clock_ns();
    *cubin = (heed_cubin){ .data = NULL };
    heed_status status = check_build(build);
    if (status != HEED_OK)
        return status;
    jit_job *job = begin(build, text);
    if (!job)
        return HEED_ERR_NO_MEMORY;
    const heed_trace *trace = heed_trace_get();
    if (trace)
        trace_build(trace, build);
    status = end(job, run(job, cubin), cubin);
    heed_trace_end(trace);
    cubin->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return status;
}

/* Removes the lines of @log that differ from run to run. */
static void drop_times(char *log)
{
    char *kept = log;
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        const char *time = strstr(line, "Compile time");
        if (!time || time >= line + length) {
            memmove(kept, line, length);
            kept += length;
        }
        line += length;
    }
    *kept = '\0';
}

static heed_status pack(jit_job *job, const char *folder, heed_cubin *cubin)
{
    heed_status status = choose_headers(job);
    if (status == HEED_OK)
        status = compile_or_load(job, cubin);
    if (status == HEED_OK && cubin->ptx)
        status = heed_fail(HEED_ERR_UNSUPPORTED, "%s: NVRTC %d.%d makes no machine code for sm_%d",
                           job->build->source, job->nvrtc->major, job->nvrtc->minor,
                           job->build->arch);
    if (status == HEED_OK)
        status = make_shipped_key(job, cubin);
    if (status != HEED_OK)
        return status;
    drop_times(cubin->log);
    const heed_cache_entry entry = {
        .data = cubin->data, .size = cubin->size, .log = cubin->log, .log_size = strlen(cubin->log)
    };
    if (!heed_shipped_store(folder, cubin->key, &entry))
        status = heed_fail(HEED_ERR_SYSTEM, "%s/%s.cubin cannot be written", folder, cubin->key);
    return status;
}

heed_status heed_jit_pack(const heed_build *build, const char *folder, heed_cubin *cubin)
{
    heed_source source;
    *cubin = (heed_cubin){ .data = NULL };
    heed_status status = check_build(build);
    if (status != HEED_OK)
        return status;
    if (build->fresh || !heed_source_find(build->source, &source))
        return heed_fail(HEED_ERR_INVALID, "%s: only the library's own sources can be shipped",
                         build->source);
    jit_job *job = begin(build, source.text);
    return job ? end(job, pack(job, folder, cubin), cubin) : HEED_ERR_NO_MEMORY;
}

heed_status heed_jit_ready(void)
{
    const heed_nvrtc *nvrtc;
    int major, minor;
    return heed_shipped_compiler(&major, &minor) ? HEED_OK : heed_nvrtc_get(&nvrtc);
}

heed_status heed_jit_build(const heed_build *build, heed_cubin *cubin)
{
    heed_source source;
    if (build->source && heed_source_find(build->source, &source) &&
        !heed_source_is_header(&source))
        return heed_jit_build_text(build, source.text, cubin);
    *cubin = (heed_cubin){ .data = NULL };
    return heed_fail(HEED_ERR_INVALID,
                     "source is \"%s\"; the library carries no such kernel source",
                     build->source ? build->source : "NULL");
}

bool heed_jit_lacks_compiler(void)
{
    const heed_nvrtc *nvrtc;
    int major, minor;
    return heed_shipped_compiler(&major, &minor) && heed_nvrtc_get(&nvrtc) != HEED_OK;
}

void heed_cubin_free(heed_cubin *cubin)
{
    free(cubin->data);
    free(cubin->log);
    *cubin = (heed_cubin){ .data = NULL };
}
