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
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heed.h"
#include "lab/trial/sandbox.h"
#include "lab/trial/wire.h"
#include "src/cuda/driver/nvrtc.h"
#include "src/cuda/facts.h"
#include "src/device.h"
#include "src/measure.h"

/* Writes a line to the laboratory, or ends the process if that is gone. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
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
static _Noreturn void fail(heed_status status)
{
    static const struct {
        heed_status status;
        const char *word;
    } words[] = { { HEED_ERR_LOST, "lost" }, { HEED_ERR_NO_MEMORY, "exhausted" } };
    const char *word = "failed";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            word = words[i].word;
    say("%s %.200s", word, heed_message());
    _exit(1);
}

/* The same with the system's error on @what. */
static _Noreturn void fail_system(const char *what)
{
    say("failed %s: %s", what, strerror(errno));
    _exit(1);
}

/* Reads all of the file @fd as text; never NULL. */
static char *read_file(int fd, size_t *size)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        fail_system("a file that was handed over");
    char *text = calloc((size_t)status.st_size + 1, 1);
    if (!text || pread(fd, text, (size_t)status.st_size, 0) != status.st_size)
        fail_system("a file that was handed over");
    *size = (size_t)status.st_size;
    return text;
}

static void write_file(int fd, const void *data, size_t size)
{
    if (pwrite(fd, data, size, 0) != (ssize_t)size)
        fail_system("writing what was made");
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
        fail_system("the compiler cannot be confined");
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
    char *source = read_file(LAB_WIRE_INPUTS, &size);
    heed_status status = heed_nvrtc_get(&nvrtc);
    if (status != HEED_OK)
        fail(status);
    setenv("HEED_CACHE_LIMIT", "0", 1);
    confine(nvrtc);
    status = heed_jit_build_text(&build, source, &cubin);
    if (cubin.log)
        write_file(LAB_WIRE_CODE, cubin.log, strlen(cubin.log));
    if (status != HEED_OK)
        fail(status);
    write_file(LAB_WIRE_OUTPUTS, cubin.data, cubin.size);
    say("compiled %d", cubin.ptx ? 1 : 0);
}

/* ---------------------------------------------------------------------------------------------- */
/* Probe                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

enum {
    PROBE_DIM = 64
};

static heed_context *open_device(const char *device)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = device };
    heed_status status = heed_context_create(&context, &options);

    if (status != HEED_OK)
        fail(status);
    return context;
}

static void must(heed_status status)
{
    if (status != HEED_OK)
        fail(status);
}

/* One query that sees one key: O is V, bit by bit. */
static void probe(const char *device)
{
    float values[PROBE_DIM], o[PROBE_DIM];
    heed_context *context = open_device(device);
    heed_problem problem;
    heed_plan *plan;
    void *tensor, *result;

    for (int i = 0; i < PROBE_DIM; i++)
        values[i] = (float)i / 8 - 4;
    memset(o, 0xff, sizeof o);
    must(heed_problem_parse(&problem, "b1 h1 s1 d64 f32"));
    must(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE));
    must(heed_device_allocate(context, sizeof values, &tensor));
    must(heed_device_allocate(context, sizeof o, &result));
    must(heed_device_upload(context, tensor, values, sizeof values));
    must(heed_device_upload(context, result, o, sizeof o));
    must(heed_execute(
        plan,
        &(heed_buffers){
            .size = sizeof(heed_buffers), .q = tensor, .k = tensor, .v = tensor, .o = result }));
    must(heed_device_wait(context));
    must(heed_device_download(context, o, result, sizeof o));
    if (memcmp(o, values, sizeof o) == 0)
        say("healthy %d", heed_device_arch(context));
    else
        say("wrong %d", heed_device_arch(context));
}

/* ---------------------------------------------------------------------------------------------- */
/* Run                                                                                            */
/* ---------------------------------------------------------------------------------------------- */

/* Granularity of memory between walls. */
#define PIECE ((size_t)2 << 20)
#define ALIGNMENT ((size_t)256)

/* The copy of a room in device memory. */
typedef struct mirror {
    void *memory; /* NULL: none */
    size_t size;
    bool walled;
    unsigned char *room;
    uint64_t start; /* start of that room */
} mirror;

typedef struct runner {
    size_t arena_size;
    unsigned char *inputs, *outputs;
    heed_context *context;
    heed_launch_facts launch;
    heed_cubin cubin;
    heed_plan *plan;
    lab_wire_orders opened;
    mirror mirrors[LAB_WIRE_SETS][LAB_BLOCKS];
} runner;

static unsigned char *arena_of(const runner *it, int index)
{
    return index < LAB_O ? it->inputs : it->outputs;
}

/* Makes the plan for the problem of the orders. If the candidate cannot do it, reports that and
 * returns false.
 */
static bool make_plan(runner *it)
{
    const lab_wire_orders *orders = (const lab_wire_orders *)(const void *)it->inputs;
    heed_plan *plan;
    heed_status status = heed_plan_create_foreign(&plan, it->context, &orders->whole, "candidate",
                                                  &it->launch, &it->cubin);

    heed_plan_destroy(it->plan);
    it->plan = plan;
    if (status == HEED_ERR_UNSUPPORTED)
        say("unsupported");
    else if (status != HEED_OK)
        fail(status);
    return status == HEED_OK;
}

static void free_mirrors(runner *it)
{
    for (int i = 0; i < LAB_WIRE_SETS; i++)
        for (int room = 0; room < LAB_BLOCKS; room++) {
            mirror *m = &it->mirrors[i][room];
            if (m->memory && m->walled)
                heed_device_release(it->context, m->memory, m->size);
            else if (m->memory)
                heed_device_free(it->context, m->memory);
            *m = (mirror){ .memory = NULL };
        }
}

/* Allocates memory for @room with the upper wall as near as the alignment of its start allows. */
static void make_mirror(const runner *it, const lab_wire_room *room, mirror *m)
{
    size_t lean = room->start % ALIGNMENT;
    size_t size = (room->size + lean + ALIGNMENT + PIECE - 1) / PIECE * PIECE;

    *m = (mirror){ .size = size, .walled = true, .start = room->start };
    heed_status status = heed_device_reserve(it->context, size, true, &m->memory);
    if (status != HEED_OK && status != HEED_ERR_LOST && status != HEED_ERR_NO_MEMORY) {
        m->walled = false;
        status = heed_device_allocate(it->context, size, &m->memory);
    }
    must(status);
    size_t slack = (size - room->size) / ALIGNMENT * ALIGNMENT;
    slack = slack + lean + room->size > size ? slack - ALIGNMENT : slack;
    m->room = (unsigned char *)m->memory + slack + lean;
}

static void place(runner *it)
{
    free_mirrors(it);
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_BLOCKS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            mirror *m = &it->mirrors[i][index];
            if (room->size > 0)
                make_mirror(it, room, m);
        }
    if (it->plan || make_plan(it))
        say("placed");
}

/* Moves the mirror of @room, one of those with @index, to position @i. */
static void find_mirror(runner *it, int i, int index, const lab_wire_room *room)
{
    for (int j = i; j < it->opened.count && j < LAB_WIRE_SETS; j++)
        if (it->mirrors[j][index].memory && it->mirrors[j][index].start == room->start) {
            mirror other = it->mirrors[i][index];
            it->mirrors[i][index] = it->mirrors[j][index];
            it->mirrors[j][index] = other;
            return;
        }
    fail_system("a room that is not open");
}

/* Copies the values to the device, to the positions in the current orders. */
static void upload(runner *it)
{
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_BLOCKS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            if (room->size == 0)
                continue;
            find_mirror(it, i, index, room);
            must(heed_device_upload(it->context, it->mirrors[i][index].room,
                                    arena_of(it, index) + room->start, room->size));
        }
    must(heed_device_wait(it->context));
}

static void *data_of(const runner *it, int set, int index)
{
    const lab_wire_room *room = &it->opened.set[set].room[index];

    return room->size > 0 ? it->mirrors[set][index].room + (room->data - room->start) : NULL;
}

/* A heed_work_fn: computes set @index. */
static heed_status compute(void *data, int index, void *stream)
{
    const runner *it = data;

    return heed_execute(it->plan,
                        &(heed_buffers){ .size = sizeof(heed_buffers),
                                         .q = data_of(it, index, LAB_Q),
                                         .k = data_of(it, index, LAB_K),
                                         .v = data_of(it, index, LAB_V),
                                         .o = data_of(it, index, LAB_O),
                                         .lse = data_of(it, index, LAB_LSE),
                                         .workspace = data_of(it, index, LAB_WORKSPACE),
                                         .workspace_size = it->opened.set[index].workspace_size,
                                         .stream = stream });
}

static void download(const runner *it)
{
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int index = 0; index < LAB_BLOCKS; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            if (room->size > 0 && index >= LAB_O)
                must(heed_device_download(it->context, arena_of(it, index) + room->start,
                                          it->mirrors[i][index].room, room->size));
        }
}

/* Returns the name of an input that was written to, if any: inputs cannot be protected on a device.
 */
static const char *find_changed_input(const runner *it)
{
    static const char *const names[] = { "Q", "K", "V" };
    const char *changed = NULL;

    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS && !changed; i++)
        for (int index = 0; index < LAB_O && !changed; index++) {
            const lab_wire_room *room = &it->opened.set[i].room[index];
            unsigned char *now = room->size > 0 ? malloc(room->size) : NULL;
            if (!now)
                continue;
            must(heed_device_download(it->context, now, it->mirrors[i][index].room, room->size));
            if (memcmp(now, it->inputs + room->start, room->size) != 0)
                changed = names[index];
            free(now);
        }
    return changed;
}

static void run(runner *it)
{
    heed_replay replay;
    double seconds = 0;

    if (!it->plan)
        fail_system("run before place");
    upload(it);
    int count = it->opened.count;
    must(heed_replay_create(&replay, it->context, compute, it, count));
    must(heed_replay_run(&replay, &seconds));
    must(heed_device_wait(it->context));
    heed_replay_destroy(&replay);
    const char *changed = find_changed_input(it);
    if (changed) {
        say("spoiled %s", changed);
        _exit(1);
    }
    download(it);
    say("done %.0f", seconds * count * 1e9);
}

static void serve(runner *it)
{
    char line[LAB_WIRE_LINE];

    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "size\n") == 0) {
            if (make_plan(it))
                say("size %zu", heed_plan_workspace_size(it->plan));
        } else if (strcmp(line, "place\n") == 0)
            place(it);
        else if (strcmp(line, "run\n") == 0)
            run(it);
        else
            fail_system("an unknown request");
    }
}

static void take_facts(runner *it)
{
    lab_wire_launch launch;
    size_t size;

    memcpy(&launch, &((const lab_wire_orders *)(const void *)it->inputs)->launch, sizeof launch);
    launch.entry[sizeof launch.entry - 1] = launch.device[sizeof launch.device - 1] = '\0';
    char *entry = strdup(launch.entry);
    if (!entry)
        fail_system("a name");
    it->launch = launch.facts;
    it->launch.entry = entry;
    it->cubin.data = (unsigned char *)read_file(LAB_WIRE_CODE, &size);
    it->cubin.size = size;
    it->cubin.ptx = launch.ptx;
    snprintf(it->cubin.key, sizeof it->cubin.key, "candidate");
    it->context = open_device(launch.device);
}

/* Answers requests until the end of input, with arenas of @arena_size bytes. */
static void run_orders(size_t arena_size)
{
    static runner it;

    it.arena_size = arena_size;
    it.inputs = mmap(NULL, arena_size, PROT_READ, MAP_SHARED, LAB_WIRE_INPUTS, 0);
    it.outputs = mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED, LAB_WIRE_OUTPUTS, 0);
    if (it.inputs == MAP_FAILED || it.outputs == MAP_FAILED)
        fail_system("the tensors' memory");
    take_facts(&it);
    say("ready %" PRIxPTR " %" PRIxPTR " %zx", (uintptr_t)it.inputs, (uintptr_t)it.outputs,
        (size_t)LAB_WIRE_LAYOUT);
    serve(&it);
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
        run_orders((size_t)strtoull(arguments[1], NULL, 10));
    else
        return 2;
    _exit(0);
}
