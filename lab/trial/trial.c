/*
 * trial.c - one candidate, tried
 */
#include "lab/trial/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/trial/explain.h"
#include "lab/trial/host.h"
#include "lab/trial/program.h"
#include "lab/trial/wire.h"
#include "measure.h"

/* Loading a shared object takes milliseconds. */
#define START_SECONDS 10.0
#define DEVICE_SECONDS 60.0 /* a driver may take its time */

/* Room in the arenas beside the tensors: orders, and the walls between the tensors of many sets. */
#define ARENA_MORE ((size_t)32 << 20)

struct lab_trial {
    lab_language language;
    lab_launch launch;
    char entry[LAB_KNOB_NAME_MAX + 1];
    lab_limits limits;
    lab_protections protections;
    lab_code code;
    char program[PATH_MAX];
    lab_arena inputs, outputs;
    lab_host host;
    uint64_t inputs_at, outputs_at; /* in the process */
    heed_problem problem;           /* prepared last */
    bool made_for_one;
    heed_problem home; /* that it is made for, if it is */
};

static bool fail_system(lab_trial_outcome *outcome, const char *what)
{
    return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "%s: %s", what, strerror(errno));
}

/* ---------------------------------------------------------------------------------------------- */
/* The process                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static lab_wire_orders *orders_of(const lab_trial *trial)
{
    return (lab_wire_orders *)(void *)trial->inputs.map;
}

/* The process said @line, which is its end. */
static bool fail_reply(lab_trial *trial, const char *line, lab_trial_outcome *outcome)
{
    lab_explain(line, orders_of(trial), trial->inputs_at, trial->outputs_at, outcome);
    if (outcome->verdict != LAB_TRIAL_UNSUPPORTED)
        lab_host_end(&trial->host);
    return false;
}

static lab_wire_launch wire_launch(const lab_trial *trial)
{
    const lab_launch *launch = &trial->launch;
    lab_wire_launch wire = { .threads = launch->threads,
                             .ptx = trial->code.ptx,
                             .smem = launch->smem,
                             .rows = launch->rows,
                             .splits = launch->splits,
                             .mapped = launch->mapped,
                             .aligned = launch->aligned,
                             .window = launch->window,
                             .in_turn = launch->in_turn,
                             .paired = launch->paired,
                             .resident = launch->resident };

    snprintf(wire.entry, sizeof wire.entry, "%s", trial->entry);
    snprintf(wire.device, sizeof wire.device, "%s", trial->limits.device);
    return wire;
}

/* Starts the process, unless there is one. */
static bool start(lab_trial *trial, lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];
    const lab_host_command command = { .program = trial->program,
                                       .code = &trial->code,
                                       .inputs = &trial->inputs,
                                       .outputs = &trial->outputs,
                                       .limits = &trial->limits,
                                       .protections = &trial->protections };

    bool device = trial->language == LAB_LANGUAGE_CUDA;
    if (trial->host.process.pid > 0)
        return true;
    orders_of(trial)->count = 0;
    orders_of(trial)->launch = wire_launch(trial);
    if (!(device ? lab_host_start_open : lab_host_start)(&trial->host, &command, outcome) ||
        !lab_host_ask(&trial->host, NULL, device ? DEVICE_SECONDS : START_SECONDS, line, outcome))
        return false;
    if (sscanf(line, "ready %" SCNx64 " %" SCNx64, &trial->inputs_at, &trial->outputs_at) != 2)
        return fail_reply(trial, line, outcome);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */
/* Open and close                                                                                 */
/* ---------------------------------------------------------------------------------------------- */

/* May a candidate run here? */
static bool is_protected(lab_trial *trial, lab_trial_outcome *outcome)
{
    char missing[64];

    trial->protections = lab_protections_find();
    if (trial->language == LAB_LANGUAGE_CUDA || lab_protections_suffice(&trial->protections) ||
        trial->limits.unsafe)
        return true;
    lab_protections_missing(&trial->protections, missing, sizeof missing);
    return lab_trial_outcome_set(
        outcome, LAB_TRIAL_UNPROTECTED,
        "was not run: this system lacks %s to hold it; see --unsafe-candidates", missing);
}

static bool make_arenas(lab_trial *trial, lab_trial_outcome *outcome)
{
    size_t size;

    if (__builtin_add_overflow(trial->limits.tensor_bytes, ARENA_MORE, &size))
        size = SIZE_MAX;
    return (lab_arena_create(&trial->inputs, size, true) &&
            lab_arena_create(&trial->outputs, size, false)) ||
           fail_system(outcome, "no memory can be shared");
}

/* What a candidate in C takes is a compiler; one for a device takes that, to know what it is. */
static bool compile(lab_trial *trial, const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    int arch = trial->limits.arch;

    if (candidate->language == LAB_LANGUAGE_C)
        return lab_compile_c(candidate, &trial->limits, &trial->code, outcome);
    if (arch == 0 && !lab_trial_probe(&trial->limits, &arch, outcome))
        return false;
    return lab_compile_cuda(candidate, &trial->limits, trial->program, arch, &trial->code, outcome);
}

/* All that comes before the process. */
static bool make(lab_trial *trial, const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    bool device = candidate->language == LAB_LANGUAGE_CUDA;

    trial->inputs.fd = trial->outputs.fd = -1;
    trial->language = candidate->language;
    trial->launch = candidate->launch;
    if (!lab_candidate_check(candidate, outcome))
        return false;
    if (device)
        snprintf(trial->entry, sizeof trial->entry, "%s", candidate->launch.entry);
    trial->made_for_one = candidate->problem != NULL;
    if (candidate->problem)
        trial->home = *candidate->problem;
    return is_protected(trial, outcome) &&
           lab_program_find(device ? LAB_RUNNER_CUDA : LAB_RUNNER_C, trial->program, outcome) &&
           make_arenas(trial, outcome) && compile(trial, candidate, outcome);
}

bool lab_trial_open(lab_trial **trial, const lab_candidate *candidate, const lab_limits *limits,
                    lab_trial_outcome *outcome)
{
    int64_t begin = heed_clock_ns();
    lab_trial *made = calloc(1, sizeof *made);

    *trial = NULL;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!made)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory for a trial");
    made->limits = lab_limits_fill(limits);
    bool opened = make(made, candidate, outcome) && start(made, outcome);
    outcome->seconds = (double)(heed_clock_ns() - begin) * 1e-9;
    *trial = made;
    return opened;
}

void lab_trial_close(lab_trial *trial)
{
    if (!trial)
        return;
    lab_host_end(&trial->host);
    lab_arena_destroy(&trial->inputs);
    lab_arena_destroy(&trial->outputs);
    lab_code_free(&trial->code);
    free(trial);
}

const lab_code *lab_trial_code(const lab_trial *trial)
{
    return &trial->code;
}

/* ---------------------------------------------------------------------------------------------- */
/* Prepare                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

static heed_candidate_strides wire_strides(const heed_strides *strides)
{
    return (heed_candidate_strides){ strides->batch, strides->seq, strides->head };
}

/* The numbers of types and masks are the same in both headers. */
static heed_candidate_problem wire_problem(const heed_problem *p)
{
    return (heed_candidate_problem){ .type = (int32_t)p->type,
                                     .mask = (int32_t)p->mask,
                                     .batch = p->batch,
                                     .heads_q = p->heads_q,
                                     .heads_kv = p->heads_kv,
                                     .seq_q = p->seq_q,
                                     .seq_k = p->seq_k,
                                     .dim_qk = p->dim_qk,
                                     .dim_v = p->dim_v,
                                     .scale = p->scale,
                                     .accumulate_f16 = p->accumulate == HEED_ACC_F16,
                                     .q = wire_strides(&p->q),
                                     .k = wire_strides(&p->k),
                                     .v = wire_strides(&p->v),
                                     .o = wire_strides(&p->o) };
}

/* Is @p of the kind that the candidate was made for? */
static bool is_at_home(const lab_trial *trial, const heed_problem *p)
{
    const heed_problem *home = &trial->home;

    return !trial->made_for_one ||
           (p->type == home->type && p->dim_qk == home->dim_qk && p->dim_v == home->dim_v &&
            p->accumulate == home->accumulate && (p->scale < 0) == (home->scale < 0) &&
            (p->mask == HEED_MASK_NONE) == (home->mask == HEED_MASK_NONE));
}

bool lab_trial_prepare(lab_trial *trial, const heed_problem *problem, size_t *workspace,
                       lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];
    uint64_t size;

    *workspace = 0;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    trial->problem = *problem;
    if (!is_at_home(trial, problem))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_UNSUPPORTED,
                                     "was made for another type, mask or head dim");
    if (!start(trial, outcome))
        return false;
    orders_of(trial)->problem = wire_problem(problem);
    if (!lab_host_ask(&trial->host, "size", trial->limits.run_seconds, line, outcome))
        return false;
    if (sscanf(line, "size %" SCNu64, &size) != 1)
        return fail_reply(trial, line, outcome);
    if (size > trial->limits.tensor_bytes)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "asks for %" PRIu64 " bytes of workspace; it may have %zu",
                                     size, trial->limits.tensor_bytes);
    *workspace = (size_t)size;
    return true;
}

/* ---------------------------------------------------------------------------------------------- */
/* Run                                                                                            */
/* ---------------------------------------------------------------------------------------------- */

static lab_arena *arena_of(lab_trial *trial, int index)
{
    return index < LAB_WIRE_FIRST_OUTPUT ? &trial->inputs : &trial->outputs;
}

/* Finds a place for every tensor of @sets and copies them there. */
static bool hand_over(lab_trial *trial, const lab_set *sets, int count, lab_trial_outcome *outcome)
{
    lab_wire_orders *orders = orders_of(trial);

    lab_arena_clear(&trial->inputs, LAB_WIRE_ORDERS);
    lab_arena_clear(&trial->outputs, 0);
    orders->problem = wire_problem(&trial->problem);
    orders->count = count;
    for (int i = 0; i < count; i++) {
        lab_wire_set *set = &orders->set[i];
        for (int index = 0; index < LAB_SPANS; index++) {
            const lab_span *span = &sets[i].span[index];
            lab_arena *arena = arena_of(trial, index);
            if (!lab_arena_place(arena, span, &set->room[index]))
                return lab_trial_outcome_set(outcome, LAB_TRIAL_UNSUPPORTED,
                                             "the tensors need more than the %zu bytes of a trial",
                                             trial->limits.tensor_bytes);
            if (span->size > 0)
                memcpy(arena->map + set->room[index].start, span->room, span->room_size);
        }
        set->workspace_size = sets[i].span[LAB_SPANS - 1].size;
    }
    return true;
}

/* Did the candidate change the bytes of a room from @from up to @to? *@at is the first. */
static bool changed(const unsigned char *before, const unsigned char *after, size_t from, size_t to,
                    size_t *at)
{
    if (from >= to || memcmp(before + from, after + from, to - from) == 0)
        return false;
    for (*at = from; before[*at] == after[*at];)
        ++*at;
    return true;
}

/* Takes one output back, and tells if there is something wrong around it. */
static void take_back(const lab_arena *arena, const lab_span *span, const lab_wire_room *room,
                      int index, lab_trial_outcome *outcome)
{
    const unsigned char *made = arena->map + room->start;
    size_t at, end = span->start + span->size;

    if (span->size == 0)
        return;
    if (changed(span->room, made, 0, span->start, &at))
        lab_trial_outcome_set(outcome, LAB_TRIAL_WROTE_OUTSIDE,
                              "wrote before the start of %s, within %zu bytes",
                              lab_room_name(index), span->start - at);
    else if (changed(span->room, made, end, span->room_size, &at))
        lab_trial_outcome_set(outcome, LAB_TRIAL_WROTE_OUTSIDE,
                              "wrote past the end of %s, within %zu bytes", lab_room_name(index),
                              at - end + 1);
    memcpy(span->room, made, span->room_size);
}

/* Asks for a deed whose answer must begin with @wanted. */
static bool demand(lab_trial *trial, const char *deed, const char *wanted, double seconds,
                   char line[LAB_WIRE_LINE], lab_trial_outcome *outcome)
{
    if (!lab_host_ask(&trial->host, deed, seconds, line, outcome)) {
        if (outcome->verdict == LAB_TRIAL_HUNG)
            lab_trial_outcome_set(outcome, LAB_TRIAL_HUNG, "was not done after %.3g s", seconds);
        return false;
    }
    return strncmp(line, wanted, strlen(wanted)) == 0 || fail_reply(trial, line, outcome);
}

/* Opening pages takes no time; copying to a device and compiling what takes over there may. */
static double place_seconds(const lab_trial *trial)
{
    return trial->language == LAB_LANGUAGE_CUDA ? DEVICE_SECONDS : trial->limits.run_seconds;
}

/* The time that the process tells of itself, where it is one that can be believed. */
static void take_time(const lab_trial *trial, const char *line, lab_trial_outcome *outcome)
{
    double ns;

    if (trial->language == LAB_LANGUAGE_CUDA && sscanf(line, "done %lf", &ns) == 1)
        outcome->seconds = ns * 1e-9;
}

bool lab_trial_run(lab_trial *trial, const lab_set *sets, int count, double seconds,
                   lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];

    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (count < 1 || count > LAB_WIRE_SETS)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "%d sets; there must be 1 to %d",
                                     count, LAB_WIRE_SETS);
    if (!start(trial, outcome) || !hand_over(trial, sets, count, outcome) ||
        !demand(trial, "place", "placed", place_seconds(trial), line, outcome) ||
        !demand(trial, "run", "done ", seconds > 0 ? seconds : trial->limits.run_seconds, line,
                outcome))
        return false;
    take_time(trial, line, outcome);
    for (int i = 0; i < count; i++)
        for (int index = LAB_WIRE_FIRST_OUTPUT; index < LAB_SPANS; index++)
            take_back(&trial->outputs, &sets[i].span[index], &orders_of(trial)->set[i].room[index],
                      index, outcome);
    return outcome->verdict == LAB_TRIAL_OK;
}

/* ---------------------------------------------------------------------------------------------- */
/* Sets                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Bytes from the first to the last element. */
static size_t extent(const heed_problem *p, const heed_strides *strides, int64_t seq, int64_t heads,
                     int64_t dim)
{
    int64_t last = (p->batch - 1) * strides->batch + (seq - 1) * strides->seq +
                   (heads - 1) * strides->head + dim;
    return (size_t)last * heed_type_size(p->type);
}

static lab_span bare(const void *data, size_t size)
{
    return (lab_span){ .room = (void *)data, .room_size = size, .size = data ? size : 0 };
}

lab_set lab_set_of(const heed_problem *p, const heed_buffers *b)
{
    size_t rows = (size_t)(p->batch * p->heads_q * p->seq_q);

    return (lab_set){ .span = { bare(b->q, extent(p, &p->q, p->seq_q, p->heads_q, p->dim_qk)),
                                bare(b->k, extent(p, &p->k, p->seq_k, p->heads_kv, p->dim_qk)),
                                bare(b->v, extent(p, &p->v, p->seq_k, p->heads_kv, p->dim_v)),
                                bare(b->o, extent(p, &p->o, p->seq_q, p->heads_q, p->dim_v)),
                                bare(b->lse, rows * sizeof(float)),
                                bare(b->workspace, b->workspace_size) } };
}
