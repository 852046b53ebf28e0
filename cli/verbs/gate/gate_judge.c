/*
 * gate_judge.c - times champions in turns with heed's current plans, and judges them
 */
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "measure/family.h"

static lab_rules rules_of(const gate_run *gate)
{
    return (lab_rules){ .margin = gate->limit, .looks = LAB_DUEL_LOOKS };
}

/* -------------------------------------------------------------------------- */
/* Timing                                                                     */
/* -------------------------------------------------------------------------- */

/* Sets the outcome of a pair without a comparison. */
static void take_outcome(gate_shape *shape)
{
    const lab_bench_pair *pair = &shape->pair;
    if (pair->outcome == LAB_BENCH_WRONG) {
        shape->verdict = GATE_WRONG;
        snprintf(shape->why, sizeof shape->why, "%s", pair->reason);
    } else if (pair->outcome != LAB_BENCH_OK) {
        snprintf(shape->why, sizeof shape->why, "%s: %s",
                 pair->blame == 1 ? "the champion cannot be rebuilt" : "it cannot be timed",
                 pair->reason);
    } else if (pair->same && shape->rebuilt_elsewhere) {
        shape->verdict = GATE_AMBIGUOUS;
        snprintf(shape->why, sizeof shape->why,
                 "the champion is what heed plans now, but the code of the kernels is not what it "
                 "was then, and that cannot be had again: %.160s",
                 shape->lost);
    } else if (pair->same) {
        shape->verdict = GATE_SAME;
    } else {
        shape->judged = true;
    }
}

static cli_exit finish(gate_shape *shape, cli_exit code)
{
    shape->pair.contender = NULL;
    shape->pair.maker = NULL;
    if (code == CLI_OK)
        take_outcome(shape);
    return code;
}

/* Times a user's C source, in a child process. */
static cli_exit time_source(gate_run *gate, gate_shape *shape, const lab_duel_options *options)
{
    const lab_limits limits = { .unsafe = gate->options.unsafe,
                                .remedy = gate->options.unsafe_remedy,
                                .interrupted = cli_interrupted };
    shape->worker = (lab_bench_worker){ .name = shape->champion,
                                        .source = shape->code,
                                        .limits = limits };
    const lab_bench_contender contender = lab_bench_worker_contender(&shape->worker);
    shape->pair.contender = &contender;
    cli_exit code = bench_exit_of_work(
        lab_bench_pair_run(&shape->pair, &gate->bench, &shape->source, options));
    if (code == CLI_OK)
        shape->overhead = lab_bench_worker_overhead(&shape->worker, shape->pair.seconds[1]);
    return finish(shape, code);
}

/* Times a champion of older code. If a kernel of heed's cannot be rebuilt, the current kernel of
 * the same name replaces it, and the result cannot be a pass. */
static cli_exit time_rebuilt(gate_run *gate, gate_shape *shape, const lab_duel_options *options)
{
    lab_rebuild rebuilt = {
        .bench = &gate->bench,
        .options = gate->options,
        .name = shape->champion,
        .problem = &shape->source.problem,
        .code = shape->code,
        .launch = shape->launch,
        .library = shape->library ? &gate->libraries[shape->library - 1] : NULL,
    };
    cli_exit code = CLI_OK;
    shape->rebuilt = lab_rebuild_make(&rebuilt);
    if (shape->rebuilt)
        shape->pair.maker = &rebuilt.maker;
    else
        snprintf(shape->lost, sizeof shape->lost, "%s", rebuilt.why);
    if (cli_interrupted()) {
        code = CLI_INTERRUPTED;
    } else if (shape->code && !shape->rebuilt) {
        shape->verdict = rebuilt.wrong ? GATE_WRONG : GATE_AMBIGUOUS;
        snprintf(shape->why, sizeof shape->why, "the champion %s: %.200s",
                 rebuilt.wrong ? "computes a wrong result" : "cannot be rebuilt", shape->lost);
    } else {
        code = finish(shape, bench_exit_of_work(lab_bench_pair_run(&shape->pair, &gate->bench,
                                                                   &shape->source, options)));
    }
    shape->pair.maker = NULL;
    lab_rebuild_free(&rebuilt);
    return code;
}

static cli_exit time_shape(gate_run *gate, gate_shape *shape, size_t index)
{
    const lab_rules rules = rules_of(gate);
    const lab_duel_options options = { .rules = lab_family_rules(&rules, gate->count),
                                       .seconds = gate->bench.seconds,
                                       .seed = gate->bench.seed + index };
    if (shape->damaged) {
        shape->verdict = GATE_AMBIGUOUS;
        snprintf(shape->why, sizeof shape->why, "its trial is damaged: it is not what was added");
        return CLI_OK;
    }
    gate->bench.cold = shape->cold;
    shape->pair.names[0] = gate->bench.kernel;
    shape->pair.names[1] = shape->champion;
    if (shape->code && heed_device_is_host(gate->bench.context))
        return time_source(gate, shape, &options);
    if (shape->code || shape->rebuilt_elsewhere)
        return time_rebuilt(gate, shape, &options);
    return finish(shape, bench_exit_of_work(lab_bench_pair_run(&shape->pair, &gate->bench,
                                                               &shape->source, &options)));
}

cli_exit gate_time(gate_run *gate)
{
    lab_progress progress = lab_progress_start(&cli_sink, "gate", gate->count);
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < gate->count && code == CLI_OK; i++) {
        lab_progress_step(&progress, i, gate->shapes[i].spec);
        code = time_shape(gate, &gate->shapes[i], i);
    }
    lab_progress_end(&progress);
    return code;
}

/* -------------------------------------------------------------------------- */
/* All gates of heed verify, in a child process                               */
/* -------------------------------------------------------------------------- */

enum {
    SPECS_MAX = 256
};

/* Verifies @kernel with all gates on the shapes that it is planned for, which are then marked. */
static int verify_kernel(gate_run *gate, const char *kernel, bool *done)
{
    const char *specs[SPECS_MAX];
    size_t count = 0;
    heed_options machine = gate->machine;
    machine.threads = 0;
    for (size_t i = 0; i < gate->count && count < SPECS_MAX; i++) {
        if (done[i] || strcmp(gate->shapes[i].pair.planned[0], kernel) != 0)
            continue;
        specs[count++] = gate->shapes[i].spec;
        done[i] = true;
    }
    return cli_verify_self(&machine, kernel, specs, count, 0);
}

static void mark_wrong(gate_run *gate, const char *kernel)
{
    for (size_t i = 0; i < gate->count; i++) {
        gate_shape *shape = &gate->shapes[i];
        if (strcmp(shape->pair.planned[0], kernel) != 0)
            continue;
        shape->verdict = GATE_WRONG;
        shape->judged = false;
        snprintf(shape->why, sizeof shape->why,
                 "%s does not pass 'heed verify' on the shapes it is planned for", kernel);
    }
}

cli_exit gate_verify(gate_run *gate)
{
    bool *done = calloc(gate->count, sizeof *done);
    cli_exit code = done ? CLI_OK : CLI_ENVIRONMENT;
    for (size_t i = 0; done && i < gate->count && code == CLI_OK; i++) {
        const char *kernel = gate->shapes[i].pair.planned[0];
        if (done[i] || !*kernel)
            continue;
        int result = verify_kernel(gate, kernel, done);
        if (result == CLI_VERIFY_FAILED || result == CLI_FINDING) {
            mark_wrong(gate, kernel);
        } else if (result == CLI_INTERRUPTED || cli_interrupted()) {
            code = CLI_INTERRUPTED;
        } else if (result != CLI_OK) {
            cli_warning("%s could not be verified: heed verify returned %d", kernel, result);
            gate->unverified = true;
        }
    }
    free(done);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The verdicts                                                               */
/* -------------------------------------------------------------------------- */

/* The interval is that of the champion's time over the current one: below 1 it is slower now. A
 * champion in a separate process may seem slower than it is, which must not hide a slowdown. */
static void judge_shape(const gate_run *gate, gate_shape *shape)
{
    const lab_interval *ratio = &shape->comparison.ratio;
    double allowed = 1 / (1 + gate->limit);
    if (ratio->high < allowed)
        shape->verdict = GATE_SLOWER;
    else if (shape->rebuilt_elsewhere && !shape->rebuilt && !shape->code)
        snprintf(
            shape->why, sizeof shape->why,
            "the champion's code is not what it was then, and that cannot be had again: %.160s",
            shape->lost);
    else if (ratio->low * (1 - shape->overhead) >= allowed)
        shape->verdict = GATE_PASS;
    else if (ratio->low >= allowed)
        snprintf(shape->why, sizeof shape->why,
                 "the champion runs in a separate process, and up to %.2g %% of its time may be "
                 "the overhead of calling it: %.4f to %.4f is too close to the limit",
                 100 * shape->overhead, ratio->low, ratio->high);
    else
        lab_bench_pair_doubt(&shape->pair, &shape->comparison, gate->limit, gate->bench.seed,
                             shape->why, sizeof shape->why);
}

cli_exit gate_judge(gate_run *gate)
{
    const lab_rules rules = rules_of(gate);
    lab_family_member *members = calloc(gate->count, sizeof *members);
    size_t count = 0;
    for (size_t i = 0; members && i < gate->count; i++) {
        gate_shape *shape = &gate->shapes[i];
        if (shape->judged)
            members[count++] = (lab_family_member){ lab_duel_series(&shape->pair.duel),
                                                    &shape->comparison };
    }
    heed_status status = members ? lab_family_judge(members, count, &rules) : HEED_ERR_NO_MEMORY;
    for (size_t i = 0; status == HEED_OK && i < gate->count; i++)
        if (gate->shapes[i].judged)
            judge_shape(gate, &gate->shapes[i]);
    free(members);
    if (status == HEED_OK)
        return CLI_OK;
    cli_error("the shapes cannot be judged: %s", heed_status_name(status));
    return cli_exit_of(status);
}
