/*
 * bench_duels.c - `heed bench --calibrate --duels`: how often is a verdict on a kernel beside
 * itself wrong, and how often is a difference that was planted found?
 *
 * With --source the kernel of a C file meets a copy of itself, which differs in a comment, each in
 * its sandbox, as candidates of `heed evolve` meet; without it heed's plan meets itself. --planted
 * has the copy take longer by so much. Then both sides are one text but for a number that is read
 * from memory, and so the same machine code: a kernel that is compiled once more beside other code
 * may be some percent slower by where its loops happen to lie.
 */
#include "bench_duels.h"

#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "bench/engine.h"
#include "bench/seat.h"
#include "board.h"
#include "measure/champion.h"
#include "tensor/random.h"

#define SOURCE_MAX (INT64_C(1) << 20)
#define SOURCE_MORE 2000 /* characters around a source */

static const char copied[] = "%s\n/* a copy */\n";

/* The kernel under another name, and one that calls it and then goes on for a share of the time
 * that this took, by the same account of the system that blocks are timed by. The next call makes
 * up for an excess or a lack. */
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
    lab_bench_seat seats[2];
    lab_bench_engine engines[2];
    lab_bench_checker *checker;
    lab_side sides[2];
} self;

/* -------------------------------------------------------------------------- */
/* The sides                                                                  */
/* -------------------------------------------------------------------------- */

/* The text of side number @side. */
static void write_source(const bench_duels *all, int side, const char *source, char *text,
                         size_t room)
{
    if (all->planted > 0)
        snprintf(text, room, planted, source, side == 1 ? all->planted : 0);
    else
        snprintf(text, room, side == 1 ? copied : "%s", source);
}

/* The sources of both sides, to be freed. */
static cli_exit read_sources(const bench_duels *all, char *sources[2])
{
    size_t size, room;
    char *source;
    cli_exit code = cli_read_file(all->file, SOURCE_MAX, &source, &size);
    if (code != CLI_OK)
        return code;
    room = size + SOURCE_MORE;
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        sources[i] = malloc(room);
        if (sources[i])
            write_source(all, i, source, sources[i], room);
        else
            code = CLI_ENVIRONMENT;
    }
    if (code != CLI_OK)
        cli_error("not enough memory for %s", all->file);
    free(source);
    return code;
}

static cli_exit seat(const bench_duels *all, lab_bench_seat *seat, const self *it,
                     const char *source)
{
    double seconds = 0;
    seat->limits = (lab_limits){ .interrupted = cli_interrupted };
    bool well = lab_bench_seat_open(seat, all->file, source) &&
                lab_bench_seat_take(seat, &it->tensors);
    for (int i = 0; i < 2 && well; i++) /* the first time pays for what is new */
        well = lab_bench_seat_block(seat, &seconds) == HEED_OK;
    if (well) {
        lab_bench_seat_size(seat, seconds, LAB_BENCH_SEAT_SECONDS);
        return CLI_OK;
    }
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    cli_error("%s: %s", all->file, seat->outcome.text);
    return seat->outcome.verdict == LAB_TRIAL_OK ? CLI_VERIFY_FAILED : CLI_FINDING;
}

static cli_exit open_seats(bench_duels *all, self *it)
{
    char *sources[2] = { NULL, NULL };
    cli_exit code = read_sources(all, sources);
    snprintf(all->kernel, sizeof all->kernel, "%.95s", all->file);
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        code = seat(all, &it->seats[i], it, sources[i]);
        it->sides[i] = lab_bench_seat_side(&it->seats[i]);
    }
    if (code == CLI_OK) /* equal calls, or blocks would not be comparable */
        it->seats[1].calls.count = it->seats[0].calls.count;
    free(sources[0]);
    free(sources[1]);
    return code;
}

static heed_status open_engine(const bench_duels *all, self *it, lab_bench_engine *engine)
{
    heed_plan *plan = NULL;
    double seconds = 0;
    heed_status status = lab_bench_plan(all->bench, &it->tensors.problem, &plan);
    if (status == HEED_OK)
        status = lab_bench_engine_start(engine, &it->tensors, plan);
    for (int i = 0; i < 2 && status == HEED_OK; i++)
        status = lab_bench_engine_estimate(engine, all->bench->replay, &seconds);
    return status == HEED_OK ? lab_bench_engine_ready(engine, all->bench->replay, seconds) : status;
}

static cli_exit open_engines(bench_duels *all, self *it)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < 2 && status == HEED_OK; i++) {
        status = open_engine(all, it, &it->engines[i]);
        it->sides[i] = (lab_side){ lab_bench_engine_block, lab_bench_engine_renew,
                                   &it->engines[i] };
    }
    if (status == HEED_OK)
        status = lab_bench_engine_level(&it->engines[0], &it->engines[1]);
    if (status != HEED_OK) {
        cli_error("the kernel cannot be timed: %s", heed_message());
        return cli_exit_of(status);
    }
    snprintf(all->kernel, sizeof all->kernel, "%s", heed_plan_name(it->engines[0].plan));
    lab_bench_checker_create(&it->checker, &it->tensors, all->bench->seed,
                             all->bench->host_threads);
    it->engines[0].checker = it->engines[1].checker = it->checker;
    return CLI_OK;
}

static void close_self(self *it)
{
    for (int i = 0; i < 2; i++) {
        lab_bench_seat_close(&it->seats[i]);
        lab_bench_engine_stop(&it->engines[i]);
    }
    lab_bench_checker_destroy(it->checker);
    lab_bench_tensors_free(&it->tensors);
}

static cli_exit open_sides(bench_duels *all, self *it)
{
    return all->file ? open_seats(all, it) : open_engines(all, it);
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

/* Both rules judge the same blocks, with as many looks as there would have been. */
static heed_status judge(const lab_bench *bench, bench_one_duel *one)
{
    const lab_rules usual = { .margin = bench->margin, .looks = LAB_DUEL_LOOKS };
    const lab_rules title = { .gain = LAB_CHAMPION_GAIN, .looks = LAB_DUEL_LOOKS };
    lab_series series = lab_duel_series(&one->duel);
    heed_status status = lab_compare(&series, &usual, &one->usual);
    return status == HEED_OK ? lab_compare(&series, &title, &one->title) : status;
}

static heed_status run_one(const bench_duels *all, const self *it, bench_one_duel *one,
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

static cli_exit run_all(bench_duels *all, self *it)
{
    int64_t end = heed_clock_ns() + (int64_t)(all->time_limit * 1e9);
    heed_status status = HEED_OK;
    cli_progress progress = cli_progress_start("duels", all->wanted);
    while (all->count < all->wanted && status == HEED_OK && heed_clock_ns() < end) {
        cli_progress_step(&progress, all->count, all->kernel);
        status = run_one(all, it, &all->items[all->count], all->count);
        all->count += status == HEED_OK;
    }
    cli_progress_end(&progress);
    if (status == HEED_OK)
        return CLI_OK;
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    cli_error("%s: %s", all->kernel, heed_message());
    return cli_exit_of(status);
}

static cli_exit run_self(bench_duels *all)
{
    self it = { .checker = NULL };
    heed_status status = lab_bench_tensors_create(&it.tensors, all->bench->context, all->source,
                                                  all->bench->seed,
                                                  lab_bench_rotation_bytes(all->bench));
    if (status != HEED_OK) {
        cli_error("no memory for the tensors: %s", heed_message());
        return cli_exit_of(status);
    }
    cli_exit code = open_sides(all, &it);
    if (code == CLI_OK)
        code = run_all(all, &it);
    close_self(&it);
    return code;
}

static cli_exit check(const bench_duels *all, const bench_sources *sources)
{
    const char *why = NULL;
    if (sources->count != 1)
        why = "--duels takes one problem";
    else if (all->planted > 0 && !all->file)
        why = "--planted is for the kernel of a --source";
    if (why)
        cli_error("%s", why);
    return why ? CLI_USAGE : CLI_OK;
}

cli_exit bench_duel_itself(const lab_bench *bench, const bench_sources *sources,
                           const bench_options *options)
{
    bench_duels all = { .bench = bench,
                        .source = sources->items,
                        .file = options->source,
                        .json = options->json,
                        .time_limit = options->time_limit,
                        .planted = options->planted,
                        .wanted = options->duels };
    cli_exit code = check(&all, sources);
    if (code != CLI_OK)
        return code;
    all.items = calloc(all.wanted, sizeof *all.items);
    if (!all.items) {
        cli_error("not enough memory for %zu duels", all.wanted);
        return CLI_ENVIRONMENT;
    }
    code = run_self(&all);
    cli_exit printed = all.count > 0 ? bench_duels_print(&all) : CLI_OK;
    for (size_t i = 0; i < all.wanted; i++)
        lab_duel_free(&all.items[i].duel);
    free(all.items);
    return code == CLI_OK ? printed : code;
}
