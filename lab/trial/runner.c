/*
 * runner.c - the program heed_candidate: loads a C candidate and calls it when asked to (wire.h)
 *
 *     heed_candidate BYTES filtered|open    BYTES: of each arena
 *
 * It is started in a sandbox that lets it read libraries. Before the candidate is loaded, whose
 * constructors run then, it gives up the system calls that loading does not take, and before the
 * first call those that computing does not take. It is compiled without sanitizers in every build,
 * as they need memory and system calls that a candidate must not have.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/trial/filter.h"
#include "lab/trial/wire.h"

#define HANDLER_STACK ((size_t)64 << 10)
#define BELOW_STACK ((uintptr_t)16 << 20) /* how far below its end a fault is still the stack's */

typedef int candidate_fn(const heed_candidate_problem *problem,
                         const heed_candidate_buffers *buffers);
typedef size_t workspace_fn(const heed_candidate_problem *problem);

/* What signal handlers and allocators, which are given no data, must know. */
static struct {
    uintptr_t stack_end; /* where the stack cannot grow any further */
    volatile sig_atomic_t exhausted;
} state;

typedef struct runner {
    size_t arena_size;
    unsigned char *inputs;
    unsigned char *outputs;
    candidate_fn *compute;
    workspace_fn *workspace;
    lab_wire_orders opened; /* whose rooms are open */
} runner;

/* ---------------------------------------------------------------------------------------------- */
/* Answers                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

static void say(const char *line)
{
    size_t length = strlen(line);

    if (write(STDOUT_FILENO, line, length) != (ssize_t)length)
        _exit(1);
}

/* Appends @value to the line @to, which has the room. Async-signal-safe. */
static void append_number(char *to, uint64_t value, unsigned base)
{
    char digits[32];
    size_t count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    to += strlen(to);
    while (count > 0)
        *to++ = digits[--count];
    *to = '\0';
}

static void say_number(const char *word, uint64_t value)
{
    char line[64] = "";

    strcat(line, word);
    strcat(line, " ");
    append_number(line, value, 10);
    strcat(line, "\n");
    say(line);
}

static _Noreturn void fail(const char *word, const char *text)
{
    char line[LAB_WIRE_LINE];
    int length = snprintf(line, sizeof line, "%s %.200s", word, text);

    for (int i = 0; i < length; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    strcat(line, "\n");
    say(line);
    _exit(1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Faults                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static void report_fault(int number, siginfo_t *info, void *context)
{
    char line[96] = "fault ";
    uintptr_t address = (uintptr_t)info->si_addr;

    (void)context;
    append_number(line, (uint64_t)number, 10);
    strcat(line, " ");
    append_number(line, address, 16);
    strcat(line, " ");
    if (state.exhausted)
        strcat(line, "m");
    if (address >= state.stack_end - BELOW_STACK && address < state.stack_end)
        strcat(line, "s");
    strcat(line, "-\n");
    say(line);
    _exit(1);
}

static void report_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    say_number("trapped", (uint64_t)info->si_syscall);
    _exit(1);
}

static bool catch_signals(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    const stack_t stack = { .ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = report_fault;
    bool caught = stack.ss_sp && sigaltstack(&stack, NULL) == 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        caught = caught && sigaction(faults[i], &action, NULL) == 0;
    action.sa_sigaction = report_trap;
    return caught && sigaction(SIGSYS, &action, NULL) == 0;
}

/* ---------------------------------------------------------------------------------------------- */
/* Memory                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* The C library's allocators, in front of which the ones below are put: a candidate that fails for
 * lack of memory is told apart from one that is wrong. */
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void *noted(void *memory)
{
    if (!memory)
        state.exhausted = 1;
    return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (!real)
        *(void **)&real = next("malloc");
    return noted(real(size));
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    static void *(*real)(void *, size_t);
    if (!real)
        *(void **)&real = next("realloc");
    void *moved = real(memory, size);
    return size > 0 ? noted(moved) : moved;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (!real)
        *(void **)&real = next("calloc");
    return noted(real(count, size));
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (!real)
        *(void **)&real = next("aligned_alloc");
    return noted(real(alignment, size));
}

__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment,
                                                          size_t size)
{
    static int (*real)(void **, size_t, size_t);
    if (!real)
        *(void **)&real = next("posix_memalign");
    int error = real(memory, alignment, size);
    if (error == ENOMEM)
        state.exhausted = 1;
    return error;
}

/* The C library blocks all signals before it makes a thread or a process, so that what it then does
 * would end this one without a word. Whoever calls it directly is told of by the filter. */
static _Noreturn void refuse_process(void)
{
    say_number("trapped", __NR_clone);
    _exit(1);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attributes,
                                                          void *(*body)(void *), void *data)
{
    (void)thread;
    (void)attributes;
    (void)body;
    (void)data;
    refuse_process();
}

__attribute__((visibility("default"))) pid_t fork(void)
{
    refuse_process();
}

__attribute__((visibility("default"))) int system(const char *command)
{
    (void)command;
    refuse_process();
}

/* ---------------------------------------------------------------------------------------------- */
/* Start                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

static void map_arenas(runner *it)
{
    it->inputs = mmap(NULL, it->arena_size, PROT_NONE, MAP_SHARED, LAB_WIRE_INPUTS, 0);
    it->outputs = mmap(NULL, it->arena_size, PROT_NONE, MAP_SHARED, LAB_WIRE_OUTPUTS, 0);
    if (it->inputs == MAP_FAILED || it->outputs == MAP_FAILED ||
        mprotect(it->inputs, LAB_WIRE_ORDERS, PROT_READ) != 0)
        fail("failed", "the tensors' memory cannot be mapped");
}

static void note_stack(const void *top)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        state.stack_end = (uintptr_t)top - (uintptr_t)limit.rlim_cur + (64u << 10);
}

static void load(runner *it)
{
    void *object = dlopen("/proc/self/fd/5", RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *why = dlerror();
        bool memory = state.exhausted || (why && (strstr(why, "allocate memory") ||
                                                  strstr(why, "failed to map segment")));
        fail(memory ? "exhausted" : "failed", why ? why : "cannot be loaded");
    }
    *(void **)&it->compute = dlsym(object, "heed_candidate_run");
    *(void **)&it->workspace = dlsym(object, "heed_candidate_workspace");
    if (!it->compute)
        fail("failed", "it does not define heed_candidate_run()");
    close(LAB_WIRE_INPUTS);
    close(LAB_WIRE_OUTPUTS);
    close(LAB_WIRE_CODE);
}

/* ---------------------------------------------------------------------------------------------- */
/* Work                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

static unsigned char *arena_of(const runner *it, int index)
{
    return index < LAB_WIRE_FIRST_OUTPUT ? it->inputs : it->outputs;
}

/* Opens or shuts the pages of one room. */
static void protect(const runner *it, const lab_wire_room *room, int index, bool opened)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = room->start / page * page;
    size_t end = (room->start + room->size + page - 1) / page * page;
    bool output = index >= LAB_WIRE_FIRST_OUTPUT;
    int access = output ? PROT_READ | PROT_WRITE : PROT_READ;

    if (room->size == 0)
        return;
    unsigned char *pages = arena_of(it, index) + start;
    if (mprotect(pages, end - start, opened ? access : PROT_NONE) != 0)
        fail("failed", "a tensor's memory cannot be opened");
#ifdef MADV_POPULATE_READ /* so that the first call does not pay for it; if it fails, so be it */
    if (opened)
        madvise(pages, end - start, output ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
}

static void protect_all(runner *it, bool opened)
{
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int room = 0; room < LAB_WIRE_ROOMS; room++)
            protect(it, &it->opened.set[i].room[room], room, opened);
}

static void place(runner *it)
{
    protect_all(it, false);
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    protect_all(it, true);
    say("placed\n");
}

static void *data_of(const runner *it, const lab_wire_set *set, int index)
{
    const lab_wire_room *room = &set->room[index];

    return room->size > 0 ? arena_of(it, index) + room->data : NULL;
}

static void run(const runner *it)
{
    const lab_wire_orders *orders = &it->opened;
    int result = 0;

    for (int i = 0; i < orders->count && result == 0; i++) {
        const lab_wire_set *set = &orders->set[i];
        const heed_candidate_buffers buffers = { .q = data_of(it, set, 0),
                                                 .k = data_of(it, set, 1),
                                                 .v = data_of(it, set, 2),
                                                 .o = data_of(it, set, 3),
                                                 .lse = data_of(it, set, 4),
                                                 .workspace = data_of(it, set, 5),
                                                 .workspace_size = set->workspace_size };
        result = it->compute(&orders->problem, &buffers);
    }
    say(result == 0 ? "done 0\n" : "unsupported\n");
}

static void tell_size(const runner *it)
{
    lab_wire_orders orders;

    memcpy(&orders, it->inputs, sizeof orders);
    say_number("size", it->workspace ? it->workspace(&orders.problem) : 0);
}

/* Reads one request; false at the end of input. */
static bool read_request(char line[LAB_WIRE_LINE])
{
    size_t length = 0;

    while (length < LAB_WIRE_LINE - 1) {
        ssize_t got = read(STDIN_FILENO, line + length, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[length] == '\n')
            break;
        length++;
    }
    line[length] = '\0';
    return true;
}

static void serve(runner *it)
{
    char line[LAB_WIRE_LINE];

    while (read_request(line)) {
        if (strcmp(line, "size") == 0)
            tell_size(it);
        else if (strcmp(line, "place") == 0)
            place(it);
        else if (strcmp(line, "run") == 0)
            run(it);
        else
            fail("failed", "there is no such request");
    }
}

int main(int count, char **arguments)
{
    static runner it;
    char line[96] = "ready ";
    bool filtered = count > 2 && strcmp(arguments[2], "filtered") == 0;

    if (count < 2)
        return 2;
    it.arena_size = (size_t)strtoull(arguments[1], NULL, 10);
    note_stack(&count);
    setvbuf(stdout, NULL, _IONBF, 0); /* or a candidate that prints asks what stdout is first */
    map_arenas(&it);
    if (!catch_signals())
        fail("failed", "signals cannot be caught");
    if (filtered && !lab_filter_install(LAB_FILTER_LOADING))
        fail("failed", "system calls cannot be filtered");
    load(&it);
    if (filtered && !lab_filter_install(LAB_FILTER_COMPUTING))
        fail("failed", "system calls cannot be filtered");
    append_number(line, (uintptr_t)it.inputs, 16);
    strcat(line, " ");
    append_number(line, (uintptr_t)it.outputs, 16);
    strcat(line, "\n");
    say(line);
    serve(&it);
    _exit(0);
}
