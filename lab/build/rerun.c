/*
 * rerun.c - runs a leader of the board from the source on the board
 */
#include "rerun.h"

#include <stdlib.h>
#include <string.h>

/* ---- A source in a separate process ---- */

static void use_worker(lab_rerun *it, const lab_rerun_place *place)
{
    const lab_bench_worker *beside = place->beside;
    it->worker = (lab_bench_worker){
        .name = it->name,
        .source = it->source,
        .limits = { .interrupted = place->sink ? place->sink->interrupted : NULL,
                    .unsafe = place->options.unsafe,
                    .remedy = place->options.unsafe_remedy }
    };
    if (beside) {
        it->worker.language = beside->language;
        it->worker.limits = beside->limits;
    }
    it->worker.beside = beside;
    it->worker.forgiven = !beside;
    it->own = lab_bench_worker_contender(&it->worker);
    it->contender = &it->own;
}

/* ---- A CUDA source ---- */

static heed_status start(void *data, const lab_bench_tensors *tensors, double *seconds)
{
    lab_rerun *it = data;
    heed_plan *plan = NULL;
    heed_status status = it->maker->plan(it->maker->data, &tensors->problem, &plan);
    return status == HEED_OK ? lab_bench_engine_begin(&it->engine, tensors, plan,
                                                      it->maker->library, it->bench.replay, seconds)
                             : status;
}

static void stop(void *data)
{
    lab_rerun *it = data;
    lab_bench_engine_stop(&it->engine);
}

static heed_status use_maker(lab_rerun *it, const lab_rerun_place *place, lab_record *record,
                             int64_t trial, lab_error *error)
{
    heed_status status = lab_record_launch(record, trial, &it->launch, error);
    if (status == HEED_OK)
        status = lab_record_library_read(record, trial, &it->library.sources, error);
    if (status != HEED_OK)
        return status;
    it->rebuilt = (lab_rebuild){ .bench = &it->bench,
                                 .options = place->options,
                                 .name = it->name,
                                 .problem = &it->problem,
                                 .code = it->source,
                                 .launch = it->launch,
                                 .library = it->library.sources ? &it->library : NULL };
    if (lab_rebuild_make(&it->rebuilt))
        it->maker = &it->rebuilt.maker;
    else
        snprintf(it->why, sizeof it->why, "%.300s", it->rebuilt.why);
    it->own = (lab_bench_contender){ .data = it,
                                     .name = it->name,
                                     .start = start,
                                     .side = lab_bench_engine_side(&it->engine),
                                     .stop = stop };
    return HEED_OK;
}

/* ---- Either ---- */

heed_status lab_rerun_open(lab_rerun *it, const lab_rerun_place *place, lab_record *record,
                           int64_t trial, const char *name, const heed_problem *problem,
                           lab_error *error)
{
    char advice[LAB_ADVICE_SIZE];
    memset(it, 0, sizeof *it);
    it->problem = *problem;
    it->bench = (lab_bench){ .context = place->context,
                             .sink = place->sink,
                             .host_threads = place->threads,
                             .replay = place->replay,
                             .seed = place->seed };
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->bench.device, sizeof it->bench.device, "%s", place->device);
    heed_status status = lab_record_source(record, trial, &it->source, error);
    if (status != HEED_OK)
        return status;
    if (!it->source)
        snprintf(it->why, sizeof it->why,
                 "it is a kernel of another heed, and has no source on the board%s",
                 lab_advise(place->sink, LAB_ADVICE_OTHERS, advice));
    else if (place->beside || heed_device_is_host(place->context))
        use_worker(it, place);
    else
        status = use_maker(it, place, record, trial, error);
    return status;
}

void lab_rerun_close(lab_rerun *it)
{
    if (it->own.stop)
        it->own.stop(it->own.data);
    lab_rebuild_free(&it->rebuilt);
    lab_rebuild_library_free(&it->library);
    free(it->launch);
    free(it->source);
    memset(it, 0, sizeof *it);
}
