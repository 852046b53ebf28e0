/*
 * runner_cuda.c - the program heed_candidate_cuda: compiles, probes or runs for CUDA candidates in
 * a separate process (wire.h)
 *
 *     heed_candidate_cuda compile ARCH REGISTERS [NAME=VALUE...]   reads the source from descriptor
 *                                                                  3, writes code to 4, log to 5
 *     heed_candidate_cuda probe DEVICE                             checks that the device works
 *     heed_candidate_cuda BYTES run                                executes orders
 *
 * Only device code is untrusted, so none of it runs in this process, only on the device. The worst
 * it can do is to lose the device or hang, and then the process is killed. The compiler reads
 * untrusted text: it is loaded first, and then all files but its own are made inaccessible.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/trial/runner/runner_cuda.h"
#include "lab/trial/sandbox.h"
#include "lab/trial/wire.h"
#include "src/cuda/driver/nvrtc.h"
#include "src/cuda/facts.h"
#include "src/device.h"
#include "src/measure.h"

void runner_say(const char *format, ...)
{
    char line[LAB_WIRE_LINE];
    va_list list;

    va_start(list, format);
    int length = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    length = length < (int)sizeof line - 2 ? length : (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[length++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(1);
}

/* Ends with heed's message: a lost device is reported separately. */
void runner_fail(heed_status status)
{
    static const struct {
        heed_status status;
        const char *word;
    } words[] = { { HEED_ERR_LOST, "lost" }, { HEED_ERR_NO_MEMORY, "exhausted" } };
    const char *word = "failed";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            word = words[i].word;
    runner_say("%s %.200s", word, heed_message());
    _exit(1);
}

void runner_fail_system(const char *what)
{
    runner_say("failed %s: %s", what, strerror(errno));
    _exit(1);
}

/* Reads all of the file @fd as text. */
char *runner_read_file(int fd, size_t *size)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        runner_fail_system("a file that was handed over");
    char *text = calloc((size_t)status.st_size + 1, 1);
    if (!text || pread(fd, text, (size_t)status.st_size, 0) != status.st_size)
        runner_fail_system("a file that was handed over");
    *size = (size_t)status.st_size;
    return text;
}

static void write_file(int fd, const void *data, size_t size)
{
    if (pwrite(fd, data, size, 0) != (ssize_t)size)
        runner_fail_system("writing what was made");
}

/* ---------------------------------------------------------------------------------------------- */
/* Compile                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
#define COMPILER_MEMORY 0 /* the sanitizer's shadow memory has many terabytes */
#else
#define COMPILER_MEMORY ((size_t)16 << 30)
#endif
#define COMPILER_FILE ((size_t)64 << 20)

/* From here on only the compiler's folder and the system's libraries are readable. */
static void confine(const heed_nvrtc *nvrtc)
{
    char folder[sizeof nvrtc->path];
    const lab_access access[] = { { .path = folder },       { .path = "/lib" },
                                  { .path = "/lib64" },     { .path = "/usr/lib" },
                                  { .path = "/usr/lib64" }, { .path = "/etc/ld.so.cache" } };
    lab_sandbox sandbox = { .protections = lab_protections_find(),
                            .resources = { .memory = COMPILER_MEMORY, .file_size = COMPILER_FILE },
                            .filter = LAB_FILTER_COMPILER };

    snprintf(folder, sizeof folder, "%s", nvrtc->path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (!lab_sandbox_create(&sandbox, access, sizeof access / sizeof *access) ||
        !lab_sandbox_enter(&sandbox))
        runner_fail_system("the compiler cannot be confined");
}

/* Splits NAME=VALUE in place. */
static heed_define read_define(char *text)
{
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    return (heed_define){ .name = text, .value = value ? strtoll(value, NULL, 10) : 1 };
}

static void compile(int count, char **arguments)
{
    heed_define defines[HEED_DEFINES_MAX];
    heed_build build = { .source = "candidate.cu", .defines = defines, .fresh = true };
    const heed_nvrtc *nvrtc;
    heed_cubin cubin;
    size_t size;

    build.arch = atoi(arguments[2]);
    build.registers = atoi(arguments[3]);
    for (int i = 4; i < count && build.define_count < HEED_DEFINES_MAX; i++)
        defines[build.define_count++] = read_define(arguments[i]);
    char *source = runner_read_file(LAB_WIRE_INPUTS, &size);
    heed_status status = heed_nvrtc_get(&nvrtc);
    if (status != HEED_OK)
        runner_fail(status);
    setenv("HEED_CACHE_LIMIT", "0", 1);
    confine(nvrtc);
    status = heed_jit_build_text(&build, source, &cubin);
    if (cubin.log)
        write_file(LAB_WIRE_CODE, cubin.log, strlen(cubin.log));
    if (status != HEED_OK)
        runner_fail(status);
    write_file(LAB_WIRE_OUTPUTS, cubin.data, cubin.size);
    runner_say("compiled %d", cubin.ptx ? 1 : 0);
}

/* ---------------------------------------------------------------------------------------------- */
/* Probe                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

enum {
    PROBE_DIM = 64
};

heed_context *runner_open_device(const char *device)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = device };
    heed_status status = heed_context_create(&context, &options);

    if (status != HEED_OK)
        runner_fail(status);
    return context;
}

void runner_must(heed_status status)
{
    if (status != HEED_OK)
        runner_fail(status);
}

/* One query that sees one key: O is V, bit by bit. */
static void probe(const char *device)
{
    float values[PROBE_DIM], o[PROBE_DIM];
    heed_context *context = runner_open_device(device);
    heed_problem problem;
    heed_plan *plan;
    void *tensor, *result;

    for (int i = 0; i < PROBE_DIM; i++)
        values[i] = (float)i / 8 - 4;
    memset(o, 0xff, sizeof o);
    runner_must(heed_problem_parse(&problem, "b1 h1 s1 d64 f32"));
    runner_must(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE));
    runner_must(heed_device_allocate(context, sizeof values, &tensor));
    runner_must(heed_device_allocate(context, sizeof o, &result));
    runner_must(heed_device_upload(context, tensor, values, sizeof values));
    runner_must(heed_device_upload(context, result, o, sizeof o));
    runner_must(heed_execute(
        plan,
        &(heed_buffers){
            .size = sizeof(heed_buffers), .q = tensor, .k = tensor, .v = tensor, .o = result }));
    runner_must(heed_device_wait(context));
    runner_must(heed_device_download(context, o, result, sizeof o));
    if (memcmp(o, values, sizeof o) == 0)
        runner_say("healthy %d", heed_device_arch(context));
    else
        runner_say("wrong %d", heed_device_arch(context));
}

/* A regular shutdown of the driver, or of a sanitizer, takes a while, and more memory than is left.
 */
int main(int count, char **arguments)
{
    if (count >= 4 && strcmp(arguments[1], "compile") == 0)
        compile(count, arguments);
    else if (count >= 3 && strcmp(arguments[1], "probe") == 0)
        probe(arguments[2]);
    else if (count >= 3)
        runner_run_orders((size_t)strtoull(arguments[1], NULL, 10));
    else
        return 2;
    _exit(0);
}
