/*
 * isolate.c - runs work that may crash or hang in child processes
 *
 * Parent and children share a page of progress, the endings and the results. A child takes one
 * group of pieces after another, and records its current piece. If it dies, the parent reads that
 * record, and starts another child after that piece.
 */
#include "lab/verify/isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/plural.h"

/* The parent's polling interval, unless it only waits for one child. */
#define LOOK_NS 2000000
#define LOOKS_PER_PROGRESS 50

#define RESULTS_ALIGNMENT ((size_t)64)

/* A slot for one child at a time, and the child's progress. */
typedef struct child_process {
    pid_t child;             /* process ID in the parent; 0: none */
    volatile size_t current; /* the piece being run */
    volatile size_t end;     /* of the group it belongs to */
    volatile bool finished;  /* nothing is left to take */
    volatile bool retired;   /* the child has exited normally between two pieces */
    lab_trace trace;
} child_process;

typedef struct shared_page {
    atomic_size_t next; /* the first piece that is not taken */
    child_process processes[LAB_JOBS_MAX];
} shared_page;

/* The state that parent and children share. */
typedef struct workshop {
    const lab_isolation *isolation;
    shared_page *page;
    lab_ending *endings;    /* shared */
    unsigned char *results; /* shared */
    int jobs;
} workshop;

/* Signal handlers have no data argument, so the trace of a child is global. Set in the child
 * only. */
static lab_trace *handler_trace;

/* ---------------------------------------------------------------------------------------------- */
/* The child                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* Returning runs the instruction again, which now ends the process. */
static void note_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    handler_trace->signal = number;
    handler_trace->address = (uintptr_t)info->si_addr;
}

static void catch_crashes(lab_trace *trace)
{
    struct sigaction action;
    handler_trace = trace;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note_crash;
    action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    signal(SIGALRM, SIG_DFL);
}

/* Takes another group if @process has no piece left to run; false if there are no more. */
static bool take_piece(const workshop *shop, child_process *process)
{
    const lab_isolation *isolation = shop->isolation;
    if (process->current < process->end)
        return true;
    size_t group = isolation->group ? isolation->group : isolation->count;
    size_t first = atomic_fetch_add(&shop->page->next, group);
    if (first >= isolation->count)
        return false;
    process->current = first;
    process->end = isolation->count - first < group ? isolation->count : first + group;
    return true;
}

static void run_child(const workshop *shop, child_process *process)
{
    const lab_isolation *isolation = shop->isolation;
    catch_crashes(&process->trace);
    memset(&process->trace, 0, sizeof process->trace);
    while (!process->trace.last) {
        if ((isolation->stop && isolation->stop()) || !take_piece(shop, process)) {
            process->finished = true;
            break;
        }
        size_t i = process->current;
        memset(&process->trace, 0, sizeof process->trace);
        alarm(isolation->deadline_s);
        isolation->run(isolation->data, i, &process->trace,
                       shop->results + i * isolation->result_size);
        alarm(0);
        shop->endings[i].how = LAB_COMPLETED;
        process->current = i + 1;
    }
    process->retired = true;
    _exit(0); /* the parent closes the files that it opened */
}

/* ---------------------------------------------------------------------------------------------- */
/* How a child ended                                                                              */
/* ---------------------------------------------------------------------------------------------- */

/* Describes a forbidden address, relative to the tensors. */
static void print_address(const lab_trace *trace, char *text, size_t size)
{
    for (size_t i = 0; i < trace->place_count; i++) {
        const lab_place *place = &trace->places[i];
        if (trace->address < place->start || trace->address >= place->end)
            continue;
        const char *name = place->name;
        if (trace->address < place->data)
            snprintf(text, size, "touched %s %zu byte%s before its start", name,
                     (size_t)(place->data - trace->address),
                     lab_plural((place->data - trace->address)));
        else if (trace->address - place->data >= place->size)
            snprintf(text, size, "touched %s %zu byte%s past its last one", name,
                     (size_t)(trace->address - place->data) - place->size + 1,
                     lab_plural((trace->address - place->data) - place->size + 1));
        else
            snprintf(text, size, "%s %s at byte %zu",
                     place->locked ? "wrote to the input" : "faulted in", name,
                     (size_t)(trace->address - place->data));
        return;
    }
    snprintf(text, size, "at address 0x%zx, in none of the tensors", (size_t)trace->address);
}

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },   { SIGILL, "SIGILL" },
        { SIGFPE, "SIGFPE" },   { SIGABRT, "SIGABRT" }, { SIGKILL, "SIGKILL" },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return "a signal";
}

/* Explains how the current piece of a child with the wait status @status ended. */
static void explain(lab_ending *ending, int status, const lab_trace *trace, unsigned deadline_s)
{
    char where[112] = "";
    char step[sizeof trace->step + 8] = "";
    if (trace->step[0])
        snprintf(step, sizeof step, ", %s", trace->step);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        ending->how = LAB_TIMED_OUT;
        snprintf(ending->text, sizeof ending->text, "not done after %u s%s", deadline_s, step);
        return;
    }
    ending->how = LAB_CRASHED;
    if (!WIFSIGNALED(status)) {
        snprintf(ending->text, sizeof ending->text, "ended its process%s", step);
        return;
    }
    if (trace->signal)
        print_address(trace, where, sizeof where);
    snprintf(ending->text, sizeof ending->text, "%s%s%s%s", signal_name(WTERMSIG(status)),
             where[0] ? ": " : "", where, step);
}

/* ---------------------------------------------------------------------------------------------- */
/* The parent                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

static bool stopped(const workshop *shop)
{
    return shop->isolation->stop && shop->isolation->stop();
}

static bool start_child(const workshop *shop, child_process *process)
{
    process->retired = false;
    pid_t child = fork();
    if (child == 0)
        run_child(shop, process);
    process->child = child > 0 ? child : 0;
    return child > 0;
}

/* Called when the child of @process has ended with the wait status @status: records the reason, and
 * starts another child if there is more to do. False if the system refuses. */
static bool succeed(const workshop *shop, child_process *process, int status)
{
    process->child = 0;
    if (stopped(shop) || process->finished)
        return true;
    if (!process->retired && process->current < process->end) {
        explain(&shop->endings[process->current], status, &process->trace,
                shop->isolation->deadline_s);
        process->current++;
    }
    return start_child(shop, process);
}

static void kill_children(const workshop *shop)
{
    for (int i = 0; i < shop->jobs; i++)
        if (shop->page->processes[i].child)
            kill(shop->page->processes[i].child, SIGKILL);
}

/* Waits for the only child. Returns its wait status. */
static int wait_for(const workshop *shop, pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (stopped(shop))
            kill(child, SIGKILL);
    return status;
}

/* Runs one child after another until all pieces are done. */
static heed_status run_one_by_one(const workshop *shop)
{
    child_process *process = &shop->page->processes[0];
    bool going = start_child(shop, process);
    while (going && process->child)
        going = succeed(shop, process, wait_for(shop, process->child));
    return going ? HEED_OK : HEED_ERR_SYSTEM;
}

/* Handles every child that has ended. Returns the number of running children; sets *@going to false
 * if the system refuses to start one. */
static int look_around(const workshop *shop, bool *going)
{
    int running = 0;
    for (int i = 0; i < shop->jobs; i++) {
        child_process *process = &shop->page->processes[i];
        int status = 0;
        if (process->child && waitpid(process->child, &status, WNOHANG) == process->child)
            *going = succeed(shop, process, status) && *going;
        running += process->child != 0;
    }
    return running;
}

/* The number of finished pieces: those taken, minus those of them not yet done. */
static size_t count_done(const workshop *shop)
{
    const size_t count = shop->isolation->count;
    size_t begun = atomic_load(&shop->page->next), left = 0;
    for (int i = 0; i < shop->jobs; i++) {
        size_t current = shop->page->processes[i].current, end = shop->page->processes[i].end;
        left += end > current ? end - current : 0;
    }
    begun = begun < count ? begun : count;
    return begun > left ? begun - left : 0;
}

/* Runs several children at a time. Fewer children only take longer. */
static heed_status run_side_by_side(const workshop *shop)
{
    const lab_isolation *isolation = shop->isolation;
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    bool going = true;
    int started = 0;
    while (started < shop->jobs && start_child(shop, &shop->page->processes[started]))
        started++;
    if (started == 0)
        return HEED_ERR_SYSTEM;
    for (unsigned looks = 1; look_around(shop, &going) > 0; looks++) {
        if (isolation->progress && looks % LOOKS_PER_PROGRESS == 0)
            isolation->progress(isolation->progress_data, count_done(shop));
        if (stopped(shop))
            kill_children(shop);
        nanosleep(&pause, NULL);
    }
    return going ? HEED_OK : HEED_ERR_SYSTEM;
}

heed_status lab_isolate(const lab_isolation *isolation, void *results, lab_ending *endings)
{
    size_t bytes, ends, total;
    if (__builtin_mul_overflow(isolation->count, sizeof *endings, &ends) ||
        __builtin_add_overflow(sizeof(shared_page), ends, &ends) ||
        __builtin_add_overflow(ends, RESULTS_ALIGNMENT, &ends) ||
        __builtin_mul_overflow(isolation->count, isolation->result_size, &bytes) ||
        __builtin_add_overflow(ends, bytes, &total))
        return HEED_ERR_NO_MEMORY;
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    unsigned char *map = mmap(NULL, total, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (map == MAP_FAILED)
        return HEED_ERR_NO_MEMORY;
    ends -= ends % RESULTS_ALIGNMENT; /* where the results begin */
    int jobs = isolation->jobs < 1 ? 1 : isolation->jobs;
    const workshop shop = {
        .isolation = isolation,
        .page = (shared_page *)(void *)map,
        .endings = (lab_ending *)(void *)(map + sizeof(shared_page)),
        .results = map + ends,
        .jobs = jobs < LAB_JOBS_MAX ? jobs : LAB_JOBS_MAX,
    };
    heed_status status = jobs == 1 && !isolation->progress ? run_one_by_one(&shop)
                                                           : run_side_by_side(&shop);
    memcpy(results, shop.results, bytes);
    memcpy(endings, shop.endings, isolation->count * sizeof *endings);
    munmap(map, total);
    return status;
}

void lab_trace_step(lab_trace *trace, const char *step)
{
    if (trace)
        snprintf(trace->step, sizeof trace->step, "%s", step ? step : "");
}
