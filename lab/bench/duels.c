/*
 * duels.c - error rates of verdicts: duels of a kernel with itself, with or without a planted
 * difference
 *
 * The kernel of a C source is timed against a copy of itself that differs in a comment, each in a
 * sandbox, as in `heed evolve`. Without a source, heed's plan is timed against itself. The copy may
 * be slower by a planted share. Then both sides are the same text except for a number that is read
 * from memory, and so the same machine code: the same kernel compiled with other code around it may
 * be a few percent slower because its loops are aligned differently.
 */
#include "lab/bench/duels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/bench/engine.h"
#include "lab/bench/process.h"
#include "lab/measure/champion.h"
#include "lab/tensor/random.h"
#include "src/measure.h"
#include "src/message.h"

#define SOURCE_MORE 2000 /* characters around a source */

static const char copied[] = "%s\n/* a copy */\n";

/* The kernel under another name, and a wrapper that calls it and then spins for a share of the
 * call's time, by the clock that also times blocks. The next call corrects a spin that was too long
 * or too short. */
static const char planted[] =
    "#define heed_candidate_run planted_run\n%s\n#undef heed_candidate_run\n"
    "#include <time.h>\n"
    "static const volatile double planted_share = %.9g;\n"
    "static double planted_now(void)\n"
    "{\n"
    "    struct timespec now;\n"
    "    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);\n"
    "    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;\n"
    "}\n"
    "__attribute__((visibility(\"default\")))\n"
    "int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)\n"
    "{\n"
    "    static double owed;\n"
    "    double start = planted_now(), end, now;\n"
    "    int failed = planted_run(p, b);\n"
    "    now = end = planted_now();\n"
    "    owed += planted_share * (end - start);\n"
    "    while (now - end < owed)\n"
    "        now = planted_now();\n"
    "    owed -= now - end;\n"
    "    return failed;\n"
    "}\n";

/* Two sides of one kernel. */
typedef struct self {
    lab_bench_tensors tensors;
    lab_bench_process processes[2];
    lab_bench_engine engines[2];
    lab_bench_checker *checker;
    lab_side sides[2];
} self;

/* -------------------------------------------------------------------------- */
/* The sides                                                                  */
/* -------------------------------------------------------------------------- */

/* The text of side number @side. */
static void write_source(const lab_bench_duels *all, int side, const char *source, char *text,
                         size_t room)
{
    if (all->planted > 0)
        snprintf(text, room, planted, source, side == 1 ? all->planted : 0);
    else
        snprintf(text, room, side == 1 ? copied : "%s", source);
}

/* The sources of both sides, to be freed. */
static heed_status make_sources(const lab_bench_duels *all, char *sources[2], lab_error *error)
{
    size_t room = strlen(all->text) + SOURCE_MORE;
    for (int i = 0; i < 2; i++) {
        sources[i] = malloc(room);
        if (!sources[i])
            return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for %s", all->name);
        write_source(all, i, all->text, sources[i], room);
    }
    return HEED_OK;
}

/* True if the work is to end early, by its context, as everywhere in bench.h, or by its sink. */
static bool stopped(const lab_bench_duels *all)
{
    return heed_context_stopped(all->bench->context) || lab_interrupted(all->bench->sink);
}

static heed_status take_process(lab_bench_duels *all, lab_bench_process *process, const self *it,
                                const char *source, lab_error *error)
{
    const lab_sink *sink = all->bench->sink;
    double seconds = 0;
    process->limits = (lab_limits){ .interrupted = sink ? sink->interrupted : NULL };
    bool well = lab_bench_process_open(process, all->name, source) &&
                lab_bench_process_take(process, &it->tensors);
    for (int i = 0; i < 2 && well; i++) /* the first call pays one-time costs */
        well = lab_bench_process_block(process, &seconds) == HEED_OK;
    if (well) {
        lab_bench_process_size(process, seconds, LAB_BENCH_PROCESS_SECONDS);
        return HEED_OK;
    }
    if (!stopped(all))
        all->outcome = process->outcome.verdict == LAB_TRIAL_OK ? LAB_BENCH_WRONG
                                                                : LAB_BENCH_REFUSED;
    return lab_fail_lines(error, HEED_ERR_SYSTEM, "%s: %s", all->name, process->outcome.text);
}

static heed_status open_processes(lab_bench_duels *all, self *it, lab_error *error)
{
    char *sources[2] = { NULL, NULL };
    heed_status status = make_sources(all, sources, error);
    snprintf(all->kernel, sizeof all->kernel, "%.95s", all->name);
    for (int i = 0; i < 2 && status == HEED_OK; i++) {
        status = take_process(all, &it->processes[i], it, sources[i], error);
        it->sides[i] = lab_bench_process_side(&it->processes[i]);
    }
    if (status == HEED_OK) /* equal calls, or blocks would not be comparable */
        it->processes[1].calls.count = it->processes[0].calls.count;
    free(sources[0]);
    free(sources[1]);
    return status;
}

static heed_status open_engine(const lab_bench_duels *all, self *it, lab_bench_engine *engine)
{
    heed_plan *plan = NULL;
    double seconds = 0;
    heed_status status = lab_bench_plan(all->bench, &it->tensors.problem, &plan);
    return status == HEED_OK ? lab_bench_engine_begin(engine, &it->tensors, plan, NULL,
                                                      all->bench->replay, &seconds)
                             : status;
}

static heed_status open_engines(lab_bench_duels *all, self *it, lab_error *error)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < 2 && status == HEED_OK; i++) {
        status = open_engine(all, it, &it->engines[i]);
        it->sides[i] = lab_bench_engine_side(&it->engines[i]);
    }
    if (status == HEED_OK)
        status = lab_bench_engine_level(&it->engines[0], &it->engines[1]);
    if (status != HEED_OK)
        return lab_fail(error, status, "the kernel cannot be timed: %s", heed_message());
    snprintf(all->kernel, sizeof all->kernel, "%s", heed_plan_name(it->engines[0].plan));
    lab_bench_checker_create(&it->checker, &it->tensors, all->bench->seed,
                             all->bench->host_threads);
    it->engines[0].checker = it->engines[1].checker = it->checker;
    return HEED_OK;
}

static void close_self(self *it)
{
    for (int i = 0; i < 2; i++) {
        lab_bench_process_close(&it->processes[i]);
        lab_bench_engine_stop(&it->engines[i]);
    }
    lab_bench_checker_destroy(it->checker);
    lab_bench_tensors_free(&it->tensors);
}

/* -------------------------------------------------------------------------- */
/* The duels                                                                  */
/* -------------------------------------------------------------------------- */

static int running_now(void)
{
    int running = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file && fscanf(file, "%*f %*f %*f %d", &running) != 1)
        running = 0;
    if (file)
        fclose(file);
    return running;
}

/* Both rules judge the same blocks, with the number of looks that each would have taken. */
static heed_status judge(const lab_bench *bench, lab_bench_one_duel *one)
{
    const lab_rules usual = { .margin = bench->margin, .looks = LAB_DUEL_LOOKS };
    const lab_rules champion = { .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
    lab_series series = lab_duel_series(&one->duel);
    heed_status status = lab_compare(&series, &usual, &one->usual);
    return status == HEED_OK ? lab_compare(&series, &champion, &one->champion) : status;
}

static heed_status run_one(const lab_bench_duels *all, const self *it, lab_bench_one_duel *one,
                           size_t number)
{
    const lab_duel_options options = { .rules = { .looks = 1 },
                                       .seconds = all->bench->seconds,
                                       .seed = lab_random_stream(all->bench->seed, number) };
    if (getloadavg(&one->load, 1) != 1)
        one->load = 0;
    one->running = running_now();
    heed_status status = lab_duel_run(&one->duel, &it->sides[0], &it->sides[1], &options);
    return status == HEED_OK ? judge(all->bench, one) : status;
}

static heed_status run_all(lab_bench_duels *all, self *it, lab_error *error)
{
    int64_t end = heed_clock_ns() + (int64_t)(all->time_limit * 1e9);
    heed_status status = HEED_OK;
    lab_progress progress = lab_progress_start(all->bench->sink, "duels", all->wanted);
    while (all->count < all->wanted && status == HEED_OK && heed_clock_ns() < end) {
        lab_progress_step(&progress, all->count, all->kernel);
        status = run_one(all, it, &all->items[all->count], all->count);
        all->count += status == HEED_OK;
        if (status == HEED_OK && stopped(all))
            status = heed_fail(HEED_ERR_SYSTEM, "stopped after %zu duel%s", all->count,
                               lab_plural(all->count));
    }
    lab_progress_end(&progress);
    if (status != HEED_OK)
        lab_fail(error, status, "%s: %s", all->kernel, heed_message());
    return status;
}

heed_status lab_bench_duels_run(lab_bench_duels *all, lab_error *error)
{
    self it = { .checker = NULL };
    all->items = calloc(all->wanted, sizeof *all->items);
    if (!all->items)
        return lab_fail(error, HEED_ERR_NO_MEMORY, "not enough memory for %zu duels", all->wanted);
    heed_status status = lab_bench_tensors_create(&it.tensors, all->bench->context, all->source,
                                                  all->bench->seed,
                                                  lab_bench_rotation_bytes(all->bench));
    if (status != HEED_OK)
        return lab_fail(error, status, "no memory for the tensors: %s", heed_message());
    status = all->text ? open_processes(all, &it, error) : open_engines(all, &it, error);
    if (status == HEED_OK)
        status = run_all(all, &it, error);
    close_self(&it);
    return status;
}

void lab_bench_duels_free(lab_bench_duels *all)
{
    for (size_t i = 0; i < all->wanted && all->items; i++)
        lab_duel_free(&all->items[i].duel);
    free(all->items);
    all->items = NULL;
}
