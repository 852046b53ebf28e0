/*
 * runner.c - the program heed_candidate: loads a C candidate and calls it on request (wire.h)
 *
 *     heed_candidate BYTES filtered|open BYTES: size of each arena
 *
 * It is started in a sandbox that allows it to read libraries. Before it loads the candidate it
 * gives up the system calls not needed for loading, and before any candidate code runs, those not
 * needed for computing: its constructors are not called by the dynamic linker (image.h). It is
 * compiled without sanitizers in every build, as they need memory and system calls that a candidate
 * must not have.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lab/base/modes.h"
#include "lab/trial/compile/image.h"
#include "lab/trial/filter.h"
#include "lab/trial/runner/runner.h"
#include "lab/trial/wire.h"

#define HANDLER_STACK ((size_t)64 << 10)
#define BELOW_STACK ((uintptr_t)16 << 20) /* faults this far below its end are stack overflows */

typedef int candidate_fn(const heed_candidate_problem *problem,
                         const heed_candidate_buffers *buffers);
typedef size_t workspace_fn(const heed_candidate_problem *problem);

/* The lowest address of the stack, global because signal handlers get no data. */
static uintptr_t stack_end;

typedef struct runner {
    size_t arena_size;
    unsigned char *inputs;
    unsigned char *outputs;
    candidate_fn *compute;
    workspace_fn *workspace;
    bool takes_operands;
    uint64_t modes;         /* of the CPU, before any candidate code ran */
    lab_wire_orders opened; /* their rooms are open; the positions of tensors follow later */
} runner;

/* ---------------------------------------------------------------------------------------------- */
/* Replies                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

/* Lines are built without the C library. */
void runner_add(runner_line *line, const char *text)
{
    /* Reserves a byte for the newline, and one for the reader's null. */
    while (*text && line->length < sizeof line->text - 2) {
        line->text[line->length++] = *text == '\n' ? ' ' : *text;
        text++;
    }
}

void runner_add_number(runner_line *line, uint64_t value, unsigned base)
{
    char digits[32] = "";
    size_t at = sizeof digits - 1;

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0 && at > 0);
    runner_add(line, &digits[at]);
}

void runner_say(runner_line *line)
{
    line->text[line->length++] = '\n';
    if (write(STDOUT_FILENO, line->text, line->length) != (ssize_t)line->length)
        _exit(1);
}

static void say(const char *word)
{
    runner_line line = { .length = 0 };

    runner_add(&line, word);
    runner_say(&line);
}

static void say_number(const char *word, uint64_t value)
{
    runner_line line = { .length = 0 };

    runner_add(&line, word);
    runner_add_number(&line, value, 10);
    runner_say(&line);
}

static _Noreturn void fail(const char *word, const char *text)
{
    runner_line line = { .length = 0 };

    runner_add(&line, word);
    runner_add(&line, " ");
    runner_add(&line, text);
    runner_say(&line);
    _exit(1);
}

/* ---------------------------------------------------------------------------------------------- */
/* Faults                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* x86 reports a misaligned or non-canonical address as a general protection fault, which has
 * address 0. */
static bool has_no_address(int number, const siginfo_t *info)
{
    return (number == SIGSEGV || number == SIGBUS) && info->si_code == SI_KERNEL;
}

static void report_fault(int number, siginfo_t *info, void *context)
{
    runner_line line = { .length = 0 };
    uintptr_t address = (uintptr_t)info->si_addr;

    (void)context;
    runner_add(&line, "fault ");
    runner_add_number(&line, (uint64_t)number, 10);
    runner_add(&line, " ");
    runner_add_number(&line, address, 16);
    runner_add(&line, runner_exhausted() ? " m" : " ");
    if (address >= stack_end - BELOW_STACK && address < stack_end)
        runner_add(&line, "s");
    if (has_no_address(number, info))
        runner_add(&line, "g");
    runner_add(&line, "-");
    runner_say(&line);
    _exit(1);
}

static void report_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    say_number("trapped ", (uint64_t)info->si_syscall);
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
/* Start                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

static void map_arenas(runner *it)
{
    it->inputs = mmap(NULL, it->arena_size, PROT_NONE, MAP_SHARED, LAB_WIRE_INPUTS, 0);
    it->outputs = mmap(NULL, it->arena_size, PROT_NONE, MAP_SHARED, LAB_WIRE_OUTPUTS, 0);
    if (it->inputs == MAP_FAILED || it->outputs == MAP_FAILED ||
        mprotect(it->inputs, LAB_WIRE_ORDERS, PROT_READ) != 0)
        fail("failed", "the tensors' memory cannot be mapped");
    close(LAB_WIRE_INPUTS); /* or the candidate's constructors could map them again */
    close(LAB_WIRE_OUTPUTS);
}

static void note_stack(const void *top)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        stack_end = (uintptr_t)top - (uintptr_t)limit.rlim_cur + (64u << 10);
}

/* Loads libraries that a candidate may need in advance: nothing else is loaded with it. */
static void load_libraries(void)
{
    static const char *const names[] = { "libm.so.6", "libmvec.so.1", "libgcc_s.so.1" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* if missing, it is not needed */
}

typedef void constructor_fn(int count, char **arguments, char **environment);

/* Calls the constructors of @object that lab_image_put_off() deferred. */
static void construct(void *object, int count, char **arguments)
{
    const struct link_map *map = NULL;
    uintptr_t first = 0, array = 0;
    size_t size = 0;

    if (dlinfo(object, RTLD_DI_LINKMAP, &map) != 0)
        fail("failed", "its constructors cannot be found");
    for (const Elf64_Dyn *one = map ? map->l_ld : NULL; one && one->d_tag != DT_NULL; one++) {
        if (one->d_tag == LAB_IMAGE_PUT_OFF + DT_INIT)
            first = map->l_addr + one->d_un.d_ptr;
        if (one->d_tag == LAB_IMAGE_PUT_OFF + DT_INIT_ARRAY)
            array = map->l_addr + one->d_un.d_ptr;
        if (one->d_tag == LAB_IMAGE_PUT_OFF + DT_INIT_ARRAYSZ)
            size = one->d_un.d_val;
    }
    if (first)
        ((constructor_fn *)first)(count, arguments, environ);
    for (size_t i = 0; array && i < size / sizeof(constructor_fn *); i++)
        ((constructor_fn **)array)[i](count, arguments, environ);
}

static void *load(runner *it)
{
    void *object = dlopen("/proc/self/fd/5", RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *why = dlerror();
        bool memory = runner_exhausted() || (why && (strstr(why, "allocate memory") ||
                                                     strstr(why, "failed to map segment")));
        fail(memory ? "exhausted" : "failed", why ? why : "cannot be loaded");
    }
    *(void **)&it->compute = dlsym(object, "heed_candidate_run");
    *(void **)&it->workspace = dlsym(object, "heed_candidate_workspace");
    const int *takes = dlsym(object, "heed_candidate_takes_operands");
    it->takes_operands = takes && *takes;
    if (!it->compute)
        fail("failed", "it does not define heed_candidate_run()");
    close(LAB_WIRE_CODE);
    return object;
}

/* ---------------------------------------------------------------------------------------------- */
/* Work                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

static unsigned char *arena_of(const runner *it, int index)
{
    return index < LAB_O ? it->inputs : it->outputs;
}

/* Makes the pages of one room accessible or inaccessible. */
static void protect(const runner *it, const lab_wire_room *room, int index, bool opened)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = room->start / page * page;
    size_t end = (room->start + room->size + page - 1) / page * page;
    bool output = index >= LAB_O;
    int access = output ? PROT_READ | PROT_WRITE : PROT_READ;

    if (room->size == 0)
        return;
    unsigned char *pages = arena_of(it, index) + start;
    if (mprotect(pages, end - start, opened ? access : PROT_NONE) != 0)
        fail("failed", "a tensor's memory cannot be opened");
#ifdef MADV_POPULATE_READ /* so the first call does not pay for it; failure is harmless */
    if (opened)
        madvise(pages, end - start, output ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#endif
}

static void protect_all(runner *it, bool opened)
{
    for (int i = 0; i < it->opened.count && i < LAB_WIRE_SETS; i++)
        for (int room = 0; room < LAB_BLOCKS; room++)
            protect(it, &it->opened.set[i].room[room], room, opened);
}

static void place(runner *it)
{
    protect_all(it, false);
    memcpy(&it->opened, it->inputs, sizeof it->opened);
    protect_all(it, true);
    say("placed");
}

static void *data_of(const runner *it, const lab_wire_set *set, int index)
{
    const lab_wire_room *room = &set->room[index];

    return room->size > 0 ? arena_of(it, index) + room->data : NULL;
}

static void run(const runner *it)
{
    const lab_wire_orders *orders = (const lab_wire_orders *)(const void *)it->inputs;
    int result = 0;

    for (int i = 0; i < orders->count && result == 0; i++) {
        const lab_wire_set *set = &orders->set[i];
        const heed_candidate_buffers buffers = {
            .q = data_of(it, set, LAB_Q),
            .k = data_of(it, set, LAB_K),
            .v = data_of(it, set, LAB_V),
            .o = data_of(it, set, LAB_O),
            .lse = data_of(it, set, LAB_LSE),
            .workspace = data_of(it, set, LAB_WORKSPACE),
            .workspace_size = set->workspace_size,
            .bias = data_of(it, set, LAB_BIAS),
            .slopes = data_of(it, set, LAB_SLOPES),
            .sinks = data_of(it, set, LAB_SINKS),
            .starts = data_of(it, set, LAB_STARTS),
            .shown = data_of(it, set, LAB_SHOWN),
            .lengths = data_of(it, set, LAB_LENGTHS),
            .table = data_of(it, set, LAB_TABLE),
            .cu_seqlens_q = data_of(it, set, LAB_CU_Q),
            .cu_seqlens_k = data_of(it, set, LAB_CU_K),
            .arrays = { data_of(it, set, LAB_ARRAYS), data_of(it, set, LAB_ARRAYS + 1),
                        data_of(it, set, LAB_ARRAYS + 2), data_of(it, set, LAB_ARRAYS + 3) }
        };
        result = it->compute(&orders->problem, &buffers);
    }
    if (lab_modes() != it->modes)
        fail("modes", "");
    say(result == 0 ? "done 0" : "unsupported");
}

static void tell_size(const runner *it)
{
    lab_wire_orders orders;

    memcpy(&orders, it->inputs, sizeof orders);
    if (orders.operands && !it->takes_operands)
        say("unsupported");
    else
        say_number("size ", it->workspace ? it->workspace(&orders.problem) : 0);
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
    runner_line line = { .length = 0 };
    bool filtered = count > 2 && strcmp(arguments[2], "filtered") == 0;

    if (count < 2)
        return 2;
    it.arena_size = (size_t)strtoull(arguments[1], NULL, 10);
    note_stack(&count);
    it.modes = lab_modes();
    setvbuf(stdout, NULL, _IONBF,
            0); /* or the first print would need a system call to query stdout */
    map_arenas(&it);
    if (!catch_signals())
        fail("failed", "signals cannot be caught");
    if (filtered && !lab_filter_install(LAB_FILTER_LOADING))
        fail("failed", "system calls cannot be filtered");
    load_libraries();
    void *object = load(&it);
    if (filtered && !lab_filter_install(LAB_FILTER_COMPUTING))
        fail("failed", "system calls cannot be filtered");
    construct(object, count, arguments);
    runner_add(&line, "ready ");
    runner_add_number(&line, (uintptr_t)it.inputs, 16);
    runner_add(&line, " ");
    runner_add_number(&line, (uintptr_t)it.outputs, 16);
    runner_add(&line, " ");
    runner_add_number(&line, LAB_WIRE_LAYOUT, 16);
    runner_say(&line);
    serve(&it);
    _exit(0);
}
