/*
 * isolate.c - work that may crash or hang, in a process of its own
 *
 * Parent and child share a page of progress and the results. The child notes which piece it is at;
 * when it dies the parent knows which one it was, and starts another child behind it.
 */
#include "lab/verify/isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct shared_page {
    volatile size_t current; /* the piece being run */
    lab_trace trace;
} shared_page;

/* A signal handler is given no data: this is how it finds the page. Set in the child alone. */
static shared_page *handler_page;

/* ---------------------------------------------------------------------------------------------- */
/* The child                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

/* Returning runs the instruction again, which now ends the process. */
static void note_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    handler_page->trace.signal = number;
    handler_page->trace.address = (uintptr_t)info->si_addr;
}

static void catch_crashes(shared_page *page)
{
    struct sigaction action;
    handler_page = page;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note_crash;
    action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    signal(SIGALRM, SIG_DFL);
}

static void run_child(const lab_isolation *isolation, shared_page *page, unsigned char *results,
                      size_t first)
{
    catch_crashes(page);
    for (size_t i = first; i < isolation->count; i++) {
        page->current = i;
        if (isolation->stop && isolation->stop())
            break;
        memset(&page->trace, 0, sizeof page->trace);
        alarm(isolation->deadline_s);
        isolation->run(isolation->data, i, &page->trace, results + i * isolation->result_size);
        alarm(0);
        page->current = i + 1;
    }
    _exit(0); /* what the parent opened is the parent's to close */
}

/* ---------------------------------------------------------------------------------------------- */
/* The parent                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

/* Waits for @child, and ends it if the work is to stop. Returns its wait status. */
static int wait_for(pid_t child, const lab_isolation *isolation)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (isolation->stop && isolation->stop())
            kill(child, SIGKILL);
    return status;
}

/* Where an address is that should not have been touched. */
static void print_address(const lab_trace *trace, char *text, size_t size)
{
    for (size_t i = 0; i < trace->place_count; i++) {
        const lab_place *place = &trace->places[i];
        if (trace->address < place->start || trace->address >= place->end)
            continue;
        const char *name = place->name;
        if (trace->address < place->data)
            snprintf(text, size, "touched %s %zu bytes before its start", name,
                     (size_t)(place->data - trace->address));
        else if (trace->address - place->data >= place->size)
            snprintf(text, size, "touched %s %zu bytes past its last one", name,
                     (size_t)(trace->address - place->data) - place->size + 1);
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

/* Says how the piece ended that the child was at when it ended with the wait status @status. */
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

/* One child after another, until all pieces are through. */
static heed_status run_children(const lab_isolation *isolation, shared_page *page,
                                unsigned char *results, lab_ending *endings)
{
    size_t first = 0;
    while (first < isolation->count) {
        page->current = first;
        pid_t child = fork();
        if (child < 0)
            return HEED_ERR_SYSTEM;
        if (child == 0)
            run_child(isolation, page, results, first);
        int status = wait_for(child, isolation);
        size_t current = page->current;
        for (size_t i = first; i < current; i++)
            endings[i].how = LAB_COMPLETED;
        bool stopped = isolation->stop && isolation->stop();
        if (stopped || current >= isolation->count)
            break;
        explain(&endings[current], status, &page->trace, isolation->deadline_s);
        first = current + 1;
    }
    return HEED_OK;
}

heed_status lab_isolate(const lab_isolation *isolation, void *results, lab_ending *endings)
{
    size_t bytes, total;
    if (__builtin_mul_overflow(isolation->count, isolation->result_size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(shared_page), &total))
        return HEED_ERR_NO_MEMORY;
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    void *map = mmap(NULL, total, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (map == MAP_FAILED)
        return HEED_ERR_NO_MEMORY;
    unsigned char *shared_results = (unsigned char *)map + sizeof(shared_page);
    memset(endings, 0, isolation->count * sizeof *endings);
    heed_status status = run_children(isolation, map, shared_results, endings);
    memcpy(results, shared_results, bytes);
    munmap(map, total);
    return status;
}

void lab_trace_step(lab_trace *trace, const char *step)
{
    if (trace)
        snprintf(trace->step, sizeof trace->step, "%s", step ? step : "");
}
