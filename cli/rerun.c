/*
 * rerun.c - a leader of the board with a source of its own, made to run again
 */
#include "rerun.h"

#include <stdlib.h>
#include <string.h>

/* ---- A source in a process of its own ---- */

static void use_worker(cli_rerun *it, const lab_bench_worker *beside)
{
    it->worker = (lab_bench_worker){ .name = it->name,
                                     .source = it->source,
                                     .limits = { .interrupted = cli_interrupted,
                                                 .unsafe = it->gate.options.unsafe } };
    if (beside) {
        it->worker.language = beside->language;
        it->worker.limits = beside->limits;
    }
    it->worker.beside = beside;
    it->worker.forgiven = !beside;
    it->own = lab_bench_worker_guest(&it->worker);
    it->guest = &it->own;
}

/* ---- A CUDA source ---- */

/* The board's facts about it, as the gate takes them. */
static heed_status read_code(cli_rerun *it, lab_record *record, lab_error *error)
{
    lab_record_library *sources = NULL;
    heed_status status = lab_record_launch(record, it->shape.trial, &it->shape.launch, error);
    if (status == HEED_OK)
        status = lab_record_library_read(record, it->shape.trial, &sources, error);
    if (status != HEED_OK || !sources)
        return status;
    it->gate.libraries = calloc(1, sizeof *it->gate.libraries);
    if (!it->gate.libraries) {
        lab_record_library_free(sources);
        return lab_fail(error, HEED_ERR_NO_MEMORY, "no memory for the sources of %s", it->name);
    }
    it->gate.library_count = it->shape.library = 1;
    it->gate.libraries[0] = (gate_library){ .sources = sources };
    return HEED_OK;
}

static heed_status use_maker(cli_rerun *it, lab_record *record, lab_error *error)
{
    heed_status status = read_code(it, record, error);
    if (status != HEED_OK)
        return status;
    it->shape.code = it->source;
    bool made = gate_rebuild(&it->rebuilt, &it->gate, &it->shape);
    it->shape.code = NULL;
    if (made)
        it->maker = &it->rebuilt.maker;
    else
        snprintf(it->why, sizeof it->why, "%.300s", it->shape.lost);
    return HEED_OK;
}

/* ---- Either ---- */

heed_status cli_rerun_open(cli_rerun *it, const cli_rerun_place *place, lab_record *record,
                           int64_t trial, const char *name, const heed_problem *problem,
                           lab_error *error)
{
    memset(it, 0, sizeof *it);
    it->gate = (gate_run){
        .options = place->options,
        .bench = { .context = place->context, .host_threads = place->threads, .seed = place->seed }
    };
    it->shape = (gate_shape){ .source = { .problem = *problem }, .trial = trial };
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->shape.champion, sizeof it->shape.champion, "%s", name);
    snprintf(it->gate.bench.device, sizeof it->gate.bench.device, "%s", place->device);
    heed_status status = lab_record_source(record, trial, &it->source, error);
    if (status != HEED_OK)
        return status;
    if (!it->source)
        snprintf(
            it->why, sizeof it->why,
            "it is a kernel of another heed, and has no source of its own: 'heed gate' meets it");
    else if (place->beside || heed_device_is_host(place->context))
        use_worker(it, place->beside);
    else
        status = use_maker(it, record, error);
    return status;
}

void cli_rerun_close(cli_rerun *it)
{
    cli_rerun_stop(it);
    gate_rebuild_end(&it->rebuilt);
    for (size_t i = 0; i < it->gate.library_count; i++)
        gate_library_free(&it->gate.libraries[i]);
    free(it->gate.libraries);
    free(it->shape.launch);
    free(it->source);
    memset(it, 0, sizeof *it);
}

static heed_status start_engine(cli_rerun *it, const lab_bench_tensors *tensors, bool replay)
{
    heed_plan *plan = NULL;
    double seconds = 0;
    heed_status status = it->maker->plan(it->maker->data, &tensors->problem, &plan);
    if (status == HEED_OK)
        status = lab_bench_engine_start_of(&it->engine, tensors, plan, it->maker->heed);
    if (status == HEED_OK)
        status = lab_bench_engine_estimate(&it->engine, replay, &seconds);
    return status == HEED_OK ? lab_bench_engine_ready(&it->engine, replay, seconds) : status;
}

heed_status cli_rerun_start(cli_rerun *it, const lab_bench_tensors *tensors, bool replay,
                            lab_side *side)
{
    double seconds = 0;
    if (it->guest) {
        *side = (lab_side){ it->guest->block, it->guest->renew, it->guest->data };
        return it->guest->start(it->guest->data, tensors, &seconds);
    }
    *side = (lab_side){ lab_bench_engine_block, lab_bench_engine_renew, &it->engine };
    return start_engine(it, tensors, replay);
}

void cli_rerun_stop(cli_rerun *it)
{
    if (it->guest)
        it->guest->stop(it->guest->data);
    lab_bench_engine_stop(&it->engine);
}
