/*
 * evolve_record.c - kernels of `heed evolve` on the board
 */
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "evolve.h"

/* Attempts on the board. */
#define CONFIRMED_ATTEMPT 15
#define PLAN_ATTEMPT 40

/* Hashes of candidates, since parents are named by them. */
static heed_status keep_hash(evolve_run *run, const lab_individual *individual,
                             const evolve_name *name)
{
    if (individual->id > run->hash_room) {
        int64_t room = 2 * individual->id + 64;
        void *hashes = realloc(run->hashes, (size_t)room * sizeof *run->hashes);
        if (!hashes)
            return HEED_ERR_NO_MEMORY;
        run->hashes = hashes;
        memset(run->hashes + run->hash_room, 0,
               (size_t)(room - run->hash_room) * sizeof *run->hashes);
        run->hash_room = room;
    }
    const lab_record_candidate candidate = { .kernel = name->kernel, .config = name->config };
    lab_record_candidate_hash(&candidate, run->hashes[individual->id - 1]);
    return HEED_OK;
}

/* Kernel and config of @whole. */
static void split_name(evolve_name *name, const char *whole)
{
    snprintf(name->kernel, sizeof name->kernel, "%s", whole);
    char *at = strstr(name->kernel, "__");
    name->config = at ? at + 2 : "";
    if (at)
        *at = '\0';
}

heed_status evolve_name_of(evolve_run *run, const lab_individual *individual, evolve_name *name)
{
    memset(name, 0, sizeof *name);
    heed_status status = lab_space_name(&run->sweep.space, &individual->genome.point,
                                        run->sweep.kernel, name->whole, &run->trouble);
    if (status != HEED_OK)
        return status;
    split_name(name, name->whole);
    lab_point_print(&run->sweep.space, &individual->genome.point, name->thought);
    status = keep_hash(run, individual, name); /* which may move the others */
    int count = 0;
    for (int i = 0; i < 2 && status == HEED_OK; i++)
        if (individual->parents[i] > 0)
            name->parents[count++] = run->hashes[individual->parents[i] - 1];
    return status;
}

lab_record_trial evolve_trial(const evolve_run *run, const evolve_name *name, size_t shape,
                              int attempt)
{
    size_t parents = (name->parents[0] != NULL) + (name->parents[1] != NULL);
    return (lab_record_trial){ .run = run->run,
                               .candidate = { .kernel = name->kernel,
                                              .config = name->config,
                                              .proposer = "evolve",
                                              .seed = run->seed,
                                              .thought = name->thought,
                                              .parents = name->parents,
                                              .parent_count = parents },
                               .problem = &run->sweep.problems.items[shape],
                               .attempt = attempt,
                               .device = run->place.device,
                               .environment = run->place.environment,
                               .selftest = run->selftest,
                               .seed = run->seed };
}

heed_status evolve_add(evolve_run *run, lab_record_trial *trial, int64_t *id)
{
    if (trial->seconds > 0)
        trial->timing = run->sweep.cold ? LAB_RECORD_COLD : LAB_RECORD_HOT;
    cli_board_roof(&run->place, trial);
    return lab_record_append(run->record, trial, id, &run->trouble);
}

/* ---- Kernels that nobody chose by the samples ---- */

/* Times the kernel @whole for the board, if it is there already by @name not again. Of heed's
 * @plan the gates are asked. */
static heed_status confirm(evolve_run *run, const evolve_name *name, const char *whole,
                           size_t number, int attempt, bool plan)
{
    lab_evaluation result;
    lab_entry_parts parts;
    lab_record_found found;
    lab_record_trial trial = evolve_trial(run, name, number, attempt);
    heed_status status = lab_record_find(run->record, &trial, &found, &run->trouble);
    if (status != HEED_OK || found.trial)
        return status;
    status = sweep_time_anew(&run->sweep, number, whole, &result);
    if (status != HEED_OK || result.fate != LAB_FATE_TIMED ||
        (plan && !sweep_plan_passes(&run->sweep, number)))
        return status;
    trial.started = run->sweep.started;
    lab_entry_take_confirmed(&trial, &parts, &result, run->sweep.cold);
    return evolve_add(run, &trial, NULL);
}

heed_status evolve_confirm(evolve_run *run, const lab_individual *champion)
{
    evolve_name name;
    heed_status status = evolve_name_of(run, champion, &name);
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        status = confirm(run, &name, name.whole, i, CONFIRMED_ATTEMPT, false);
    return status;
}

static heed_status rank_plan(evolve_run *run, size_t number)
{
    evolve_name name = { .thought = "what heed plans" };
    split_name(&name, run->sweep.shapes[number].usual);
    return confirm(run, &name, run->sweep.shapes[number].usual, number, PLAN_ATTEMPT, true);
}

heed_status evolve_rank_plans(evolve_run *run)
{
    int64_t start = heed_clock_ns();
    size_t count = run->sweep.problems.count;
    heed_status status = HEED_OK;
    cli_progress progress = cli_progress_start("what heed plans", count);
    for (size_t i = 0; i < count && status == HEED_OK && !cli_interrupted(); i++) {
        cli_progress_step(&progress, i, run->sweep.shapes[i].spec);
        if (*run->sweep.shapes[i].usual)
            status = rank_plan(run, i);
    }
    cli_progress_end(&progress);
    if (run->deadline_ns)
        run->deadline_ns += heed_clock_ns() - start;
    return cli_interrupted() ? HEED_ERR_SYSTEM : status;
}

/* ---- Facts ---- */

typedef struct wanted_fact {
    const char *name;
    size_t row; /* in which the name was found */
    bool named;
    bool found;
    double number;
} wanted_fact;

/* A fact comes as its name, and then its value. */
static heed_status look_for(void *data, const lab_record_field *field)
{
    wanted_fact *fact = data;
    if (strcmp(field->section, "facts") != 0)
        return HEED_OK;
    if (strcmp(field->name, "name") == 0) {
        fact->named = field->text && strcmp(field->text, fact->name) == 0;
        fact->row = field->row;
    } else if (fact->named && field->row == fact->row && strcmp(field->name, "value") == 0) {
        fact->found = field->kind == LAB_RECORD_REAL || field->kind == LAB_RECORD_INTEGER;
        fact->number = field->kind == LAB_RECORD_REAL ? field->real : (double)field->integer;
        fact->named = false;
    }
    return HEED_OK;
}

bool evolve_find_number(evolve_run *run, int64_t trial, const char *name, double *number)
{
    wanted_fact fact = { .name = name };
    if (lab_record_show(run->record, trial, look_for, &fact, &run->trouble) != HEED_OK)
        return false;
    *number = fact.number;
    return fact.found;
}
