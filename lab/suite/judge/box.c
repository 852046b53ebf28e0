/*
 * box.c - a solution in Python as a black box
 */
#include "lab/suite/judge/box.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/suite/judge/watch.h"
#include "lab/tensor/random.h"
#include "lab/trial/arena.h"
#include "lab/trial/compile/folder.h"
#include "lab/trial/host.h"
#include "lab/trial/sandbox.h"
#include "src/message.h"

#define LOAD_SECONDS 600.0
#define CALL_SECONDS 60.0
#define CONFIG_SIZE 2048
#define WARM_UPS 3 /* calls of solve.py before those that it times */

/* Likewise. A prime, so rows of any length have different signs. */
#define SIGNS 1021

/* Repeats of the time for signs alone; the minimum is used. */
#define SIGNINGS 5

#define FILE_MAX ((size_t)4 << 30)
#define DEVICES_MAX 64
#define DEVICE_SIZE 300
#define VARIABLES_MAX 24
#define VARIABLE_SIZE (PATH_MAX + 32)

struct lab_box {
    lab_box_command command;
    heed_problem problem;
    char spec[HEED_SPEC_SIZE];
    char folder[LAB_FOLDER_SIZE];
    lab_host host;
    lab_arena inputs, outputs;
    size_t sizes[LAB_TASK_INPUTS]; /* of Q, K and V, or of the inputs of a model */
    int count;
    size_t input_size; /* of all */
    size_t o_size, lse_size;
    signed char signs[LAB_TASK_INPUTS][SIGNS]; /* periodic sign changes of the inputs in the file */
    double signing;                            /* seconds to change all signs and respond */
    lab_watch watch;
    lab_trial_outcome outcome; /* of the last request, or the first failure */
};

/* ---- Its sandbox and environment ---- */

/* The variables that a solution's libraries need, with private folders for their files. */
typedef struct environment {
    char text[VARIABLES_MAX][VARIABLE_SIZE];
    const char *list[VARIABLES_MAX + 1]; /* ends with NULL */
    int count;
} environment;

static void add_variable(environment *all, const char *name, const char *value)
{
    if (!value || all->count >= VARIABLES_MAX)
        return;
    char *text = all->text[all->count];
    if (snprintf(text, VARIABLE_SIZE, "%s=%s", name, value) < VARIABLE_SIZE)
        all->list[all->count++] = text;
    all->list[all->count] = NULL;
}

/* Fills in the zeroed @all for a solution that may write to @folder. */
static void make_environment(const char *folder, environment *all)
{
    static const char *const kept[] = { "PATH",
                                        "LD_LIBRARY_PATH",
                                        "CUDA_HOME",
                                        "CUDA_PATH",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "TORCH_CUDA_ARCH_LIST",
                                        "PYTHONPATH",
                                        "HEED_LIBRARY" };
    static const char *const own[] = { "HOME",
                                       "TMPDIR",
                                       "TORCH_EXTENSIONS_DIR",
                                       "XDG_CACHE_HOME",
                                       "TRITON_CACHE_DIR",
                                       "CUDA_CACHE_PATH",
                                       "TORCHINDUCTOR_CACHE_DIR" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        add_variable(all, kept[i], getenv(kept[i]));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add_variable(all, own[i], folder);
    add_variable(all, "TORCHINDUCTOR_COMPILE_THREADS", "1"); /* no worker processes */
    add_variable(all, "PYTHONDONTWRITEBYTECODE", "1");
}

/* Adds the GPUs in /dev, including those of WSL. Disks and /dev/shm, whose content would outlive
 * the solution, remain inaccessible. */
static size_t add_devices(lab_access *access, char names[DEVICES_MAX][DEVICE_SIZE])
{
    size_t count = 0;
    DIR *directory = opendir("/dev");
    const struct dirent *entry;
    while (directory && count < DEVICES_MAX && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, "nvidia", 6) != 0 && strcmp(entry->d_name, "dxg") != 0)
            continue;
        snprintf(names[count], DEVICE_SIZE, "/dev/%s", entry->d_name);
        access[count] = (lab_access){ .path = names[count], .device = true };
        count++;
    }
    if (directory)
        closedir(directory);
    return count;
}

/* Prepares a sandbox with read access to all files, access to NVIDIA's devices, and write access to
 * @folder. Returns false, with errno, if the system refuses. */
static bool make_sandbox(const char *folder, lab_sandbox *sandbox)
{
    const lab_access always[] = { { .path = "/" },
                                  { .path = folder, .write = true },
                                  { .path = "/dev/null", .write = true },
                                  { .path = "/dev/zero", .write = true },
                                  { .path = "/dev/full", .write = true } };
    const size_t count = sizeof always / sizeof *always;
    lab_access access[sizeof always / sizeof *always + DEVICES_MAX];
    char names[DEVICES_MAX][DEVICE_SIZE];
    memcpy(access, always, sizeof always);
    const size_t devices = add_devices(access + count, names);
    *sandbox = (lab_sandbox){ .protections = lab_protections_find(),
                              .resources = { .file_size = FILE_MAX },
                              .filter = LAB_FILTER_DEVICE,
                              .threads = true };
    return lab_sandbox_create(sandbox, access, count + devices);
}

/* ---- The process ---- */

/* The first key that the first query does not see; 0 if it sees all keys. */
static int64_t first_hidden(const heed_problem *p)
{
    switch (p->mask) {
    case HEED_MASK_CAUSAL_TOP_LEFT:
        return 1;
    case HEED_MASK_CAUSAL_BOTTOM_RIGHT:
        return 1 + p->seq_k - p->seq_q;
    default:
        return 0;
    }
}

static void print_config(const lab_box *box, char *text, size_t size)
{
    const heed_problem *p = &box->problem;
    const lab_box_command *c = &box->command;
    if (c->model) {
        snprintf(text, size,
                 "{\"inputs\": %s, \"output\": %s, \"type\": \"%s\", \"entry\": \"%s\", "
                 "\"device\": \"%s\", \"init\": %s}",
                 c->model->inputs, c->model->output, c->precise ? "f64" : "f32", c->entry,
                 c->how->device, c->init);
        return;
    }
    snprintf(text, size,
             "{\"batch\": %lld, \"heads_q\": %lld, \"heads_kv\": %lld, \"seq_q\": %lld, "
             "\"seq_k\": %lld, \"dim_qk\": %lld, \"dim_v\": %lld, \"type\": \"%s\", "
             "\"scale\": %.9g, \"causal\": %lld, \"device\": \"%s\", \"init\": %s}",
             (long long)p->batch, (long long)p->heads_q, (long long)p->heads_kv,
             (long long)p->seq_q, (long long)p->seq_k, (long long)p->dim_qk, (long long)p->dim_v,
             heed_type_name(p->type), (double)p->scale, (long long)first_hidden(p),
             box->command.how->device, box->command.init);
}

/* Starts it. Returns an errno value. */
static int start(lab_box *box)
{
    char script[2 * PATH_MAX], config[CONFIG_SIZE], solution[PATH_MAX];
    lab_sandbox sandbox;
    if (!realpath(box->command.solution, solution)) /* the process has another working folder */
        return errno;
    environment *all = calloc(1, sizeof *all);
    if (!all)
        return ENOMEM;
    make_environment(box->folder, all);
    print_config(box, config, sizeof config);
    snprintf(script, sizeof script, "%s/solve.py", box->command.how->python->readers);
    const char *const arguments[] = { box->command.how->python->asked, script, solution, config,
                                      NULL };
    int error = make_sandbox(box->folder, &sandbox) ? 0 : errno;
    const lab_process_command command = { .path = box->command.how->python->asked,
                                          .arguments = arguments,
                                          .environment = all->list,
                                          .folder = box->folder,
                                          .sandbox = &sandbox,
                                          .files = { box->inputs.fd, box->outputs.fd, -1 } };
    if (error == 0) {
        error = lab_process_start(&box->host.process, &command);
        lab_sandbox_destroy(&sandbox);
    }
    free(all);
    return error;
}

/* ---- Requests ---- */

static bool keep(lab_box *box, lab_trial_verdict verdict, const char *text)
{
    return lab_trial_outcome_set(&box->outcome, verdict, "%s", text);
}

static bool look(const void *data, pid_t pid, lab_trial_outcome *outcome)
{
    return lab_watch_look(data, pid, outcome);
}

/* Sends a request, and expects a reply that begins with @word; the remainder goes to @rest. */
static bool ask(lab_box *box, const char *request, double seconds, const char *word,
                char rest[LAB_WIRE_LINE])
{
    char line[LAB_WIRE_LINE];
    size_t length = strlen(word);
    if (box->outcome.verdict != LAB_TRIAL_OK)
        return false;
    if (box->host.process.pid == 0)
        return keep(box, LAB_TRIAL_EXITED, "its process has gone");
    if (!lab_host_ask(&box->host, request, seconds, line, &box->outcome))
        return false;
    if (strncmp(line, "failed ", 7) == 0)
        return keep(box, LAB_TRIAL_CRASHED, line + 7);
    if (!request && strncmp(line, "absent ", 7) == 0) /* the solution is not loaded yet */
        return keep(box, LAB_TRIAL_SYSTEM, line + 7);
    if (strncmp(line, word, length) != 0 || (line[length] != ' ' && line[length] != '\0'))
        return keep(box, LAB_TRIAL_GARBAGE, "answered what nobody asked");
    if (rest)
        snprintf(rest, LAB_WIRE_LINE, "%s", line + length);
    int others = lab_watch_others(box->host.process.pid);
    if (others > 0)
        return lab_trial_outcome_set(&box->outcome, LAB_TRIAL_FORKED,
                                     "has %d process%s of its own, while it says that it is done",
                                     others, others == 1 ? "" : "es");
    return look(&box->watch, box->host.process.pid, &box->outcome);
}

static double call_seconds(const lab_box *box)
{
    return box->command.how->call_seconds > 0 ? box->command.how->call_seconds : CALL_SECONDS;
}

/* ---- Open and close ---- */

static size_t bytes_of(const heed_problem *p, int64_t heads, int64_t seq, int64_t dim)
{
    return (size_t)(p->batch * heads * seq * dim) * heed_type_size(p->type);
}

static void size_problem(lab_box *box, const heed_problem *p)
{
    box->count = LAB_VECTORS;
    box->sizes[LAB_Q] = bytes_of(p, p->heads_q, p->seq_q, p->dim_qk);
    box->sizes[LAB_K] = bytes_of(p, p->heads_kv, p->seq_k, p->dim_qk);
    box->sizes[LAB_V] = bytes_of(p, p->heads_kv, p->seq_k, p->dim_v);
    box->o_size = bytes_of(p, p->heads_q, p->seq_q, p->dim_v);
    box->lse_size = (size_t)(p->batch * p->heads_q * p->seq_q) * sizeof(float);
}

static void size_model(lab_box *box, const lab_task *task)
{
    box->count = task->input_count;
    for (int i = 0; i < box->count; i++)
        box->sizes[i] = task->input_elements[i] * sizeof(float);
    box->o_size = task->output_elements * sizeof(double);
}

/* Creates the files shared by both sides. */
static bool make_files(lab_box *box)
{
    if (box->command.model)
        size_model(box, box->command.model);
    else
        size_problem(box, &box->problem);
    for (int i = 0; i < box->count; i++)
        box->input_size += box->sizes[i];
    return lab_arena_create(&box->inputs, box->input_size + (size_t)box->count * SIGNS, true) &&
           lab_arena_create(&box->outputs, box->o_size + box->lse_size + box->input_size, false);
}

/* Times only the change of signs, before the solution is loaded, so it has no influence. */
static bool time_signs(lab_box *box, double seconds)
{
    box->signing = INFINITY;
    if (!ask(box, NULL, seconds, "begun", NULL))
        return false;
    for (int i = 0; i < SIGNINGS; i++) {
        if (!ask(box, "sign", seconds, "signed", NULL))
            return false;
        box->signing = fmin(box->signing, box->outcome.seconds);
    }
    return true;
}

/* The outcome of a process that failed before or while the solution was loaded. */
static bool tell_load(const lab_box *box, bool begun, lab_trial_outcome *outcome)
{
    *outcome = box->outcome;
    if (outcome->verdict == LAB_TRIAL_CRASHED) /* it could not be loaded */
        outcome->verdict = begun ? LAB_TRIAL_COMPILE_ERROR : LAB_TRIAL_SYSTEM;
    return false;
}

static bool load(lab_box *box, lab_trial_outcome *outcome)
{
    if (!make_files(box) || !lab_folder_make(box->folder, sizeof box->folder, "solution"))
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory for its tensors: %s",
                                     strerror(errno));
    box->watch = lab_watch_begin(box->folder, box->command.how->memory);
    int error = start(box);
    if (error != 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "cannot start %.160s: %s",
                                     box->command.how->python->asked, strerror(error));
    box->host.watch = look;
    box->host.watched = &box->watch;
    bool begun = time_signs(box, LOAD_SECONDS);
    return (begun && ask(box, "open", LOAD_SECONDS, "ready", NULL)) ||
           tell_load(box, begun, outcome);
}

bool lab_box_open(lab_box **result, const lab_box_command *command, lab_trial_outcome *outcome)
{
    const lab_protections protections = lab_protections_find();
    *result = NULL;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!lab_protections_suffice(&protections) && !command->how->unsafe)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_UNPROTECTED, NULL);
    lab_box *box = calloc(1, sizeof *box);
    if (!box)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory for its process");
    box->command = *command;
    box->problem = command->problem;
    box->inputs.fd = box->outputs.fd = -1;
    if (!command->model)
        heed_problem_print(&box->problem, box->spec, sizeof box->spec);
    lab_host_clear(&box->host, command->how->interrupted);
    if (load(box, outcome)) {
        *result = box;
        return true;
    }
    lab_box_close(box);
    return false;
}

void lab_box_close(lab_box *box)
{
    if (!box)
        return;
    lab_host_end(&box->host);
    lab_arena_destroy(&box->inputs);
    lab_arena_destroy(&box->outputs);
    lab_folder_remove(box->folder);
    free(box);
}

const lab_trial_outcome *lab_box_outcome(const lab_box *box)
{
    return &box->outcome;
}

const void *lab_box_output(const lab_box *box)
{
    return box->outputs.map;
}

/* ---- Calls ---- */

static size_t element_size(const lab_box *box)
{
    return box->command.model ? sizeof(float) : heed_type_size(box->problem.type);
}

/* Copies @inputs to the file with randomly changed signs, which are not yet revealed: the solution
 * cannot start to compute. */
static bool give(lab_box *box, const void *const *inputs)
{
    const size_t size = element_size(box);
    unsigned char *to = box->inputs.map;
    uint64_t seed;
    if (!lab_random_hidden(&seed))
        return keep(box, LAB_TRIAL_SYSTEM, "the system has no random numbers");
    for (int i = 0; i < box->count; i++) {
        signed char *signs = box->signs[i];
        for (size_t j = 0; j < SIGNS; j++)
            signs[j] = lab_random_below(lab_random_stream(seed, (uint64_t)i), j, 2) ? 1 : -1;
        memcpy(to, inputs[i], box->sizes[i]);
        for (size_t j = 0; j < box->sizes[i] / size; j++) /* the top byte has the sign */
            to[(j + 1) * size - 1] ^= signs[j % SIGNS] < 0 ? 0x80 : 0;
        to += box->sizes[i];
    }
    return true;
}

static int64_t number_at(const unsigned char *from, size_t size)
{
    int16_t two;
    int32_t four;
    int64_t eight = 0;
    if (size == sizeof two)
        return memcpy(&two, from, sizeof two), two;
    if (size == sizeof four)
        return memcpy(&four, from, sizeof four), four;
    return memcpy(&eight, from, sizeof eight), eight;
}

/* The sum of O's elements as integers of the same size. */
static int64_t sum_output(const lab_box *box)
{
    const size_t size = box->command.model ? sizeof(double) : element_size(box);
    uint64_t sum = 0;
    for (size_t at = 0; at < box->o_size; at += size)
        sum += (uint64_t)number_at(box->outputs.map + at, size);
    return (int64_t)sum;
}

/* The time of the last request less that of the signs, which on a busy machine may have been longer
 * than the request. */
static double less_signs(const lab_box *box)
{
    const double all = box->outcome.seconds;
    return fmax(all - box->signing, all / 2);
}

/* Makes one call on @inputs, whose output is in the file after the request @fetch. *@seconds is the
 * time from revealing the signs of the inputs to receiving the sum of the output. So a result
 * computed earlier is wrong, and deferred work is detected. */
static bool call(lab_box *box, const void *const *inputs, const char *fetch, const char *fetched,
                 double *seconds)
{
    const double limit = call_seconds(box);
    char rest[LAB_WIRE_LINE];
    long long sum;
    if (!give(box, inputs) || !ask(box, "load", limit, "loaded", NULL))
        return false;
    memcpy(box->inputs.map + box->input_size, box->signs, (size_t)box->count * SIGNS);
    if (!ask(box, "compute", limit, "done", rest))
        return false;
    *seconds = less_signs(box);
    if (!ask(box, fetch, limit, fetched, NULL))
        return false;
    if (sscanf(rest, "%lld", &sum) != 1 || sum != sum_output(box))
        return keep(box, LAB_TRIAL_GARBAGE,
                    "delivered another output than the one that it had said was done");
    return true;
}

/* ---- As a subject ---- */

static heed_status status_of(const lab_box *box)
{
    if (box->outcome.verdict == LAB_TRIAL_OK)
        return HEED_OK;
    return heed_fail(HEED_ERR_DEVICE, "%s", box->outcome.text);
}

static heed_status prepare(void *data, const heed_problem *problem, lab_needs *needs)
{
    const lab_box *box = data;
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(problem, spec, sizeof spec);
    if (strcmp(spec, box->spec) != 0)
        return heed_fail(HEED_ERR_UNSUPPORTED, "it is for the sizes of its task alone");
    *needs = (lab_needs){ .seconds = -1 };
    snprintf(needs->name, sizeof needs->name, "solution");
    return status_of(box);
}

/* Copies back the outputs, and inputs that were changed. */
static void take(const lab_box *box, lab_stage *stage)
{
    const unsigned char *from = box->outputs.map;
    memcpy(stage->block[LAB_O].region.data, from, box->o_size);
    if (stage->block[LAB_LSE].region.map)
        memcpy(stage->block[LAB_LSE].region.data, from + box->o_size, box->lse_size);
    from += box->o_size + box->lse_size;
    for (int i = 0; i < LAB_VECTORS; i++) {
        if (memcmp(stage->block[i].region.data, from, box->sizes[i]) != 0)
            memcpy(stage->block[i].region.data, from, box->sizes[i]);
        from += box->sizes[i];
    }
}

static heed_status run_away(void *data, lab_stage *stage, heed_status *outcome)
{
    lab_box *box = data;
    const void *inputs[LAB_VECTORS];
    double seconds;
    for (int i = 0; i < LAB_VECTORS; i++)
        inputs[i] = stage->block[i].region.data;
    if (call(box, inputs, "bring", "brought", &seconds))
        take(box, stage);
    *outcome = status_of(box);
    return HEED_OK;
}

/* Never called, as run_away() is set. */
static heed_status run(void *data, const heed_buffers *buffers)
{
    (void)data;
    (void)buffers;
    return heed_fail(HEED_ERR_INVALID, "a solution runs in a process of its own");
}

lab_subject lab_box_subject(lab_box *box)
{
    return (lab_subject){ .data = box, .prepare = prepare, .run = run, .run_away = run_away };
}

/* ---- Times ---- */

bool lab_box_time(lab_box *box, const lab_values *values, double *seconds)
{
    const void *inputs[LAB_VECTORS];
    for (int i = 0; i < LAB_VECTORS; i++)
        inputs[i] = values->block[i].region.data;
    return call(box, inputs, "fetch", "fetched", seconds);
}

bool lab_box_call(lab_box *box, const float *const *inputs, double *seconds, bool *changed)
{
    const void *given[LAB_TASK_INPUTS];
    *changed = false;
    for (int i = 0; i < box->count; i++)
        given[i] = inputs[i];
    if (!call(box, given, "bring", "brought", seconds))
        return false;
    const unsigned char *left = box->outputs.map + box->o_size;
    for (int i = 0; i < box->count; i++) {
        *changed = *changed || memcmp(left, inputs[i], box->sizes[i]) != 0;
        left += box->sizes[i];
    }
    return true;
}

bool lab_box_repeat(lab_box *box, int calls, double *claimed, double *seconds)
{
    char request[32], rest[LAB_WIRE_LINE];
    double nanoseconds;
    snprintf(request, sizeof request, "repeat %d", calls);
    if (!ask(box, request, call_seconds(box), "repeated", rest))
        return false;
    *seconds = box->outcome.seconds / (calls + WARM_UPS);
    if (sscanf(rest, "%lf", &nanoseconds) != 1)
        return keep(box, LAB_TRIAL_GARBAGE, "told no time");
    *claimed = nanoseconds * 1e-9;
    return true;
}
