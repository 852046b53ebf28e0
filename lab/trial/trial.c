/*
 * trial.c - tries one candidate, and probes a device
 */
#define _GNU_SOURCE /* CPU_SETSIZE */
#include "lab/trial/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/base/mask.h"
#include "lab/trial/host.h"
#include "lab/trial/process.h"
#include "lab/trial/trial_parts.h"
#include "measure.h"

/* Loading a shared object takes milliseconds. */
#define START_SECONDS 10.0
#define DEVICE_SECONDS 60.0 /* a driver may take its time */

/* CPU time limit for requests that do not compute: opening the largest tensors takes a tenth of it.
 */
#define IDLE_SECONDS 2.0

/* Address space that the runner needs in addition to the candidate's limit. */
#define RUNNER_MEMORY ((size_t)64 << 20)
#define RUNNER_FILES 32
#define RUNNER_SECONDS 3600

/* Size of the arenas in addition to the tensors: orders, and the walls between the tensors of many
 * sets. */
#define ARENA_MORE ((size_t)32 << 20)

static bool fail_system(lab_trial_outcome *outcome, const char *what)
{
    return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "%s: %s", what, strerror(errno));
}

/* ---------------------------------------------------------------------------------------------- */
/* The process                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

lab_wire_orders *lab_trial_orders(const lab_trial *trial)
{
    return (lab_wire_orders *)(void *)trial->inputs.map;
}

lab_arena *lab_trial_arena(lab_trial *trial, int index)
{
    return index < LAB_O ? &trial->inputs : &trial->outputs;
}

/* Explains @line, the last output of the process. Returns false. */
static bool fail(lab_trial *trial, const char *line, lab_trial_outcome *outcome)
{
    lab_explain(line, lab_trial_orders(trial), trial->inputs_at, trial->outputs_at, outcome);
    if (outcome->verdict != LAB_TRIAL_UNSUPPORTED)
        lab_host_end(&trial->host);
    return false;
}

static lab_wire_launch wire_launch(const lab_trial *trial)
{
    lab_wire_launch wire = { .ptx = trial->code.ptx, .facts = trial->launch };

    wire.facts.entry = NULL;
    snprintf(wire.entry, sizeof wire.entry, "%s", trial->entry);
    snprintf(wire.device, sizeof wire.device, "%s", trial->limits.device);
    return wire;
}

static lab_resources resources_of(const lab_trial *trial)
{
    const lab_limits *limits = &trial->limits;

    return (lab_resources){ .memory = trial->inputs.size + trial->outputs.size +
                                      limits->memory_bytes + limits->stack_bytes + RUNNER_MEMORY,
                            .stack = limits->stack_bytes,
                            .file_size = 1,
                            .seconds = RUNNER_SECONDS,
                            .processes = 1,
                            .files = RUNNER_FILES };
}

/* Starts the runner with its code in the file @code: that of C candidates in @sandbox, that of CUDA
 * candidates without one. */
static bool start_runner(lab_trial *trial, int code, const lab_sandbox *sandbox,
                         lab_trial_outcome *outcome)
{
    static const char *const bare[] = { "LC_ALL=C", NULL };
    char size[32];
    bool filtered = sandbox && sandbox->protections.seccomp;
    const char *const arguments[] = { "heed_candidate", size, filtered ? "filtered" : "open",
                                      NULL };
    const lab_process_command command = {
        .path = trial->program,
        .arguments = arguments,
        .environment = sandbox ? bare : (const char *const *)environ,
        .folder = sandbox ? "/" : NULL,
        .sandbox = sandbox,
        .pinned = trial->pinned,
        .cpu = trial->cpu,
        .files = { trial->inputs.fd, trial->outputs.fd, code },
    };

    snprintf(size, sizeof size, "%zu", trial->inputs.size);
    return lab_host_start(&trial->host, &command, trial->limits.interrupted, outcome);
}

/* Starts the runner of C candidates without files and network, and with limited memory. */
static bool start_confined(lab_trial *trial, int code, lab_trial_outcome *outcome)
{
    const lab_access readable[] = {
        { .path = trial->program },     { .path = "/lib" },       { .path = "/lib64" },
        { .path = "/usr/lib" },         { .path = "/usr/lib64" }, { .path = "/usr/local/lib" },
        { .path = "/etc/ld.so.cache" }, { .path = "/nix/store" }, { .path = "/gnu/store" },
    };
    lab_sandbox sandbox = { .protections = trial->protections,
                            .resources = resources_of(trial),
                            .filter = LAB_FILTER_NONE }; /* the runner installs filters itself */

    if (!lab_sandbox_create(&sandbox, readable, sizeof readable / sizeof *readable))
        return fail_system(outcome, "no sandbox can be made");
    bool started = start_runner(trial, code, &sandbox, outcome);
    lab_sandbox_destroy(&sandbox);
    return started;
}

/* The runner of CUDA candidates runs no foreign code on the CPU, and needs whatever the driver
 * needs. */
static bool start_process(lab_trial *trial, lab_trial_outcome *outcome)
{
    int code = lab_share("heed-candidate", trial->code.data, trial->code.size);

    if (code < 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "cannot start %.160s: %s",
                                     trial->program, strerror(errno));
    bool started = lab_trial_on_device(trial) ? start_runner(trial, code, NULL, outcome)
                                              : start_confined(trial, code, outcome);
    lab_close_fd(&code);
    return started;
}

bool lab_trial_start(lab_trial *trial, lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];
    bool device = trial->language == LAB_LANGUAGE_CUDA;

    if (trial->host.process.pid > 0)
        return true;
    trial->opened_count = 0;
    lab_trial_orders(trial)->count = 0;
    lab_trial_orders(trial)->launch = wire_launch(trial);
    if (!start_process(trial, outcome) ||
        !lab_host_ask(&trial->host, NULL, device ? DEVICE_SECONDS : START_SECONDS, line, outcome))
        return false;
    uint64_t layout = 0;
    if (sscanf(line, "ready %" SCNx64 " %" SCNx64 " %" SCNx64, &trial->inputs_at,
               &trial->outputs_at, &layout) < 2)
        return fail(trial, line, outcome);
    if (layout != LAB_WIRE_LAYOUT) {
        lab_host_end(&trial->host);
        return lab_trial_outcome_set(
            outcome, LAB_TRIAL_UNSUPPORTED,
            "cannot be tried: heed_candidate, which runs it, is of another "
            "version than heed; install both again");
    }
    if (device || lab_pages_fixed(trial->host.process.pid))
        return true;
    lab_host_end(&trial->host);
    return lab_trial_outcome_set(
        outcome, LAB_TRIAL_FORBIDDEN,
        "has executable memory that is not of a file, or that can be written");
}

/* Rejects a process that used too much CPU time for a request that does not compute. */
static bool refuse_idler(lab_trial *trial, const char *request, lab_trial_outcome *outcome)
{
    double seconds = trial->host.cpu_seconds;

    if (trial->language == LAB_LANGUAGE_CUDA || seconds <= IDLE_SECONDS)
        return true;
    lab_host_end(&trial->host);
    return lab_trial_outcome_set(outcome, LAB_TRIAL_HUNG,
                                 "used %.3g s of the CPU when asked to \"%s\", which takes none: "
                                 "%.3g s are the limit",
                                 seconds, request, IDLE_SECONDS);
}

bool lab_trial_await(lab_trial *trial, const char *request, double limit, const char *wanted,
                     char line[LAB_WIRE_LINE], lab_trial_outcome *outcome)
{
    if (!lab_host_ask(&trial->host, request, limit, line, outcome)) {
        if (outcome->verdict == LAB_TRIAL_HUNG)
            lab_trial_outcome_set(outcome, LAB_TRIAL_HUNG, "was not done after %.3g s", limit);
        return false;
    }
    return strncmp(line, wanted, strlen(wanted)) == 0 || fail(trial, line, outcome);
}

bool lab_trial_demand(lab_trial *trial, const char *request, const char *wanted,
                      char line[LAB_WIRE_LINE], lab_trial_outcome *outcome)
{
    bool device = trial->language == LAB_LANGUAGE_CUDA;
    double limit = device ? DEVICE_SECONDS : trial->limits.run_seconds;

    return lab_trial_await(trial, request, limit, wanted, line, outcome) &&
           refuse_idler(trial, request, outcome);
}

/* ---------------------------------------------------------------------------------------------- */
/* Open and close                                                                                 */
/* ---------------------------------------------------------------------------------------------- */

/* Returns true if a candidate may run here. */
static bool is_protected(lab_trial *trial, lab_trial_outcome *outcome)
{
    const char *remedy = trial->limits.remedy;
    char missing[64];

    trial->protections = lab_protections_find();
    if (trial->language == LAB_LANGUAGE_CUDA || lab_protections_suffice(&trial->protections) ||
        trial->limits.unsafe)
        return true;
    lab_protections_missing(&trial->protections, missing, sizeof missing);
    return lab_trial_outcome_set(outcome, LAB_TRIAL_UNPROTECTED,
                                 "was not run: this system lacks %s to confine it%s%s", missing,
                                 remedy ? "; see " : "", remedy ? remedy : "");
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

/* A candidate in C needs a compiler; one for a device needs the device, to know its kind. */
static bool compile(lab_trial *trial, const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    int arch = trial->limits.arch;

    if (candidate->language == LAB_LANGUAGE_C)
        return lab_compile_c(candidate, &trial->limits, &trial->code, outcome);
    if (arch == 0 && !lab_trial_probe(&trial->limits, &arch, outcome))
        return false;
    return lab_compile_cuda(candidate, &trial->limits, trial->program, arch, &trial->code, outcome);
}

/* Everything before the process is started. */
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
    bool opened = make(made, candidate, outcome) && lab_trial_start(made, outcome);
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

bool lab_trial_on_device(const lab_trial *trial)
{
    return trial->language == LAB_LANGUAGE_CUDA;
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

static heed_candidate_operand wire_operand(const heed_operand *operand)
{
    return (heed_candidate_operand){ (int32_t)operand->type, (int32_t)operand->along,
                                     wire_strides(&operand->strides) };
}

static void wire_operands(heed_candidate_problem *to, const heed_problem *p)
{
    to->softcap = p->softcap;
    to->bias = wire_operand(&p->bias);
    to->slopes = wire_operand(&p->slopes);
    to->sinks = wire_operand(&p->sinks);
    to->starts = wire_operand(&p->starts);
    to->shown = wire_operand(&p->shown);
    to->lengths = wire_operand(&p->lengths);
    to->page = p->page;
    to->pages = p->pages;
    to->table = wire_operand(&p->table);
    to->tokens_q = p->tokens_q;
    to->tokens_k = p->tokens_k;
    to->cu_seqlens_q = wire_operand(&p->cu_seqlens_q);
    to->cu_seqlens_k = wire_operand(&p->cu_seqlens_k);
    for (int i = 0; i < HEED_CANDIDATE_ARRAYS_MAX; i++) {
        heed_candidate_array *array = &to->arrays[i];
        memcpy(array->name, p->arrays[i].name, sizeof array->name);
        array->type = (int32_t)p->arrays[i].type;
        array->rank = p->arrays[i].rank;
        memcpy(array->size, p->arrays[i].size, sizeof array->size);
    }
    memcpy(to->score, p->score, sizeof to->score);
    memcpy(to->visible, p->visible, sizeof to->visible);
}

_Static_assert(sizeof((heed_candidate_problem *)0)->score == HEED_EXPRESSION_SIZE &&
                   HEED_CANDIDATE_ARRAYS_MAX == HEED_ARRAYS_MAX,
               "a candidate's problem has all of heed's");

/* The numbers of types and masks are the same in both headers. */
static heed_candidate_problem wire_problem(const heed_problem *p)
{
    heed_candidate_problem wire = { .type = (int32_t)p->type,
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
                                    .o = wire_strides(&p->o),
                                    .align = (int32_t)p->align,
                                    .window_sides = (int32_t)p->window.sides,
                                    .window_left = p->window.left,
                                    .window_right = p->window.right,
                                    .chunk = p->chunk,
                                    .products = (int32_t)p->products };
    wire_operands(&wire, p);
    return wire;
}

/* Writes the last prepared problem to the orders. */
static void order(const lab_trial *trial)
{
    lab_wire_orders *orders = lab_trial_orders(trial);

    orders->problem = wire_problem(&trial->problem);
    orders->whole = trial->problem;
    orders->operands = lab_has_operands(&trial->problem);
    orders->whole.invariant = 0; /* candidates are not told */
}

bool lab_trial_renew(lab_trial *trial, int cpu, lab_trial_outcome *outcome)
{
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    lab_host_end(&trial->host);
    lab_arena_destroy(&trial->inputs);
    lab_arena_destroy(&trial->outputs);
    trial->pinned = cpu >= 0 && cpu < CPU_SETSIZE && !lab_trial_on_device(trial);
    trial->cpu = cpu;
    if (!make_arenas(trial, outcome))
        return false;
    order(trial);
    return true;
}

/* True if @p is of the kind that the candidate was made for. */
static bool is_at_home(const lab_trial *trial, const heed_problem *p)
{
    const heed_problem *home = &trial->home;

    return !trial->made_for_one ||
           (p->type == home->type && p->dim_qk == home->dim_qk && p->dim_v == home->dim_v &&
            p->accumulate == home->accumulate && p->products == home->products &&
            (p->scale < 0) == (home->scale < 0) && lab_masks_alike(p, home));
}

bool lab_trial_prepare(lab_trial *trial, const heed_problem *problem, size_t *workspace,
                       lab_trial_outcome *outcome)
{
    const struct {
        bool exceeded;
        const char *why;
    } limits[] = {
        { !is_at_home(trial, problem), "was made for another type, mask or head dim" },
        { problem->shared, "candidates need V as a separate tensor" },
        { problem->append, "candidates append nothing to K and V" },
        { problem->prefix, "candidates read no prefix for all batch elements" },
        { lab_trial_on_device(trial) && lab_has_operands(problem),
          "candidates in CUDA take no operands, softcap or expressions" },
    };
    char line[LAB_WIRE_LINE];
    uint64_t size;

    *workspace = 0;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    trial->problem = *problem;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].exceeded)
            return lab_trial_outcome_set(outcome, LAB_TRIAL_UNSUPPORTED, "%s", limits[i].why);
    if (!lab_trial_start(trial, outcome))
        return false;
    order(trial);
    if (!lab_trial_demand(trial, "size", "size ", line, outcome))
        return false;
    if (sscanf(line, "size %" SCNu64, &size) != 1)
        return fail(trial, line, outcome);
    if (size > trial->limits.tensor_bytes)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "asks for %" PRIu64 " bytes of workspace; it may have %zu",
                                     size, trial->limits.tensor_bytes);
    *workspace = (size_t)size;
    return true;
}

/* -------------------------------------------------------------------------- */
/* Probe of a CUDA device by a new process (runner_cuda.c)                    */
/* -------------------------------------------------------------------------- */

/* Time limit for loading a driver and compiling a kernel. */
#define PROBE_SECONDS 60.0

bool lab_trial_probe(const lab_limits *limits, int *arch, lab_trial_outcome *outcome)
{
    static const lab_wire_orders none = { .count = 0 };
    const lab_limits full = lab_limits_fill(limits);
    char program[PATH_MAX], line[LAB_WIRE_LINE];
    const char *const arguments[] = { program, "probe", full.device, NULL };
    const lab_process_command command = { .path = program,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { -1, -1, -1 } };
    lab_host host = { .frozen = false };

    *arch = 0;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!lab_program_find(LAB_RUNNER_CUDA, program, outcome) ||
        !lab_host_start(&host, &command, full.interrupted, outcome))
        return false;
    bool answered = lab_host_ask(&host, NULL, PROBE_SECONDS, line, outcome);
    lab_host_end(&host);
    if (!answered || sscanf(line, "healthy %d", arch) == 1)
        return answered;
    if (strncmp(line, "wrong ", 6) == 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_LOST, "a known answer came out wrong on %s",
                                     full.device);
    lab_explain(line, &none, 0, 0, outcome);
    if (outcome->verdict == LAB_TRIAL_COMPILE_ERROR) /* it had no candidate code */
        outcome->verdict = LAB_TRIAL_SYSTEM;
    return false;
}
