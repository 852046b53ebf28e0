/*
 * heed_planted.c - the program heed with a planted regression
 *
 * Linked with --wrap, so that calls of libheed come here first. It reports a different build than
 * heed, executes problems of one batch element HEED_PLANTED percent more slowly (25 if unset),
 * gives wrong results for two batch elements, and is unchanged for others.
 *
 * With HEED_PLANTED_WELL it is the good version, with yet another build, and its sources compile in
 * half the time: those without vector instructions.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "heed.h"
#include "lab/build/sources.h"
#include "lab/trial/compile/library.h"

heed_status __real_heed_execute(const heed_plan *plan, const heed_buffers *buffers);
heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers);
const char *__wrap_heed_wisdom_build(void);
const lab_record_library *__real_lab_build_sources(void);
const lab_record_library *__wrap_lab_build_sources(void);

static bool is_well(void)
{
    return getenv("HEED_PLANTED_WELL") != NULL;
}

/* CPU time of this thread: that of other processes is not part of the regression. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Executes, and then spins for HEED_PLANTED percent of the time that this took. */
static heed_status execute_slowly(const heed_plan *plan, const heed_buffers *buffers)
{
    const char *percent = getenv("HEED_PLANTED");
    double start = seconds();
    heed_status status = __real_heed_execute(plan, buffers);
    double end = seconds() + (seconds() - start) * (percent ? atof(percent) : 25) / 100;
    while (seconds() < end)
        ;
    return status;
}

/* Unchanged problems read no clock: that of a thread is a system call, and three of them are 1.5
 * percent of 0.2 ms. */
heed_status __wrap_heed_execute(const heed_plan *plan, const heed_buffers *buffers)
{
    int64_t batch = heed_plan_problem(plan)->batch;
    if (is_well())
        return __real_heed_execute(plan, buffers);
    if (batch == 1)
        return execute_slowly(plan, buffers);
    heed_status status = __real_heed_execute(plan, buffers);
    if (status == HEED_OK && batch == 2)
        *(float *)buffers->o += 1;
    return status;
}

const char *__wrap_heed_wisdom_build(void)
{
    return is_well() ? "well" : "planted";
}

/* Appends the line to @to, in the form for a machine without x86 instructions. */
static void add_portable(char *to, const char *line, size_t length)
{
    static const char define[] = "-DHEED_X86=1 ";
    char *end = to + strlen(to), *found;
    memcpy(end, line, length);
    end[length] = '\0';
    if (strstr(end, " -mavx"))
        *end = '\0';
    else if ((found = strstr(end, define)))
        memmove(found, found + strlen(define), strlen(found + strlen(define)) + 1);
}

/* @recipe without vector instructions. */
static char *portable_recipe(const char *recipe)
{
    char *made = calloc(strlen(recipe) + 1, 1);
    for (const char *line = recipe; made && *line;) {
        size_t length = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        add_portable(made, line, length);
        line += length;
    }
    return made;
}

const lab_record_library *__wrap_lab_build_sources(void)
{
    static lab_record_library portable;
    const lab_record_library *all = __real_lab_build_sources();
    if (!is_well() || portable.files)
        return is_well() ? &portable : all;
    lab_record_file *files = calloc(all->count, sizeof *files);
    for (size_t i = 0; files && i < all->count; i++) {
        files[i] = all->files[i];
        if (strcmp(files[i].path, LAB_LIBRARY_RECIPE) == 0)
            files[i].text = portable_recipe(files[i].text);
    }
    portable = (lab_record_library){ .files = files, .count = files ? all->count : 0 };
    return &portable;
}
