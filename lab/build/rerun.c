/*
 * rerun.c - runs a leader of the board from the source on the board
 */
#include "rerun.h"

#include <stdlib.h>
#include <string.h>

/* ---- A source in a separate process ---- */

static void use_worker(lab_rerun *it, const lab_rebuild_options *options, const lab_sink *sink,
                       const lab_bench_worker *beside)
{
    it->worker = (lab_bench_worker){ .name = it->name,
                                     .source = it->source,
                                     .limits = { .interrupted = sink ? sink->interrupted : NULL,
                                                 .unsafe = options->unsafe,
                                                 .remedy = options->unsafe_remedy } };
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

static heed_status use_maker(lab_rerun *it, const lab_rebuild_options *options,
                             const lab_bench *bench, lab_record *record, int64_t trial,
                             lab_error *error)
{
    heed_status status = lab_record_launch(record, trial, &it->launch, error);
    if (status == HEED_OK)
        status = lab_record_library_read(record, trial, &it->library.sources, error);
    if (status != HEED_OK)
        return status;
    it->rebuilt = (lab_rebuild){ .bench = bench,
                                 .options = *options,
                                 .name = it->name,
                                 .problem = &it->problem,
                                 .code = it->source,
                                 .launch = it->launch,
                                 .library = it->library.sources ? &it->library : NULL };
    if (lab_rebuild_make(&it->rebuilt))
        it->maker = &it->rebuilt.maker;
    else
        snprintf(it->why, sizeof it->why, "%.300s", it->rebuilt.why);
    it->player = (lab_bench_player){ .replay = bench->replay, .maker = it->maker };
    snprintf(it->player.name, sizeof it->player.name, "%s", it->name);
    it->own = lab_bench_player_contender(&it->player);
    return HEED_OK;
}

/* ---- Either ---- */

heed_status lab_rerun_open(lab_rerun *it, const lab_rebuild_options *options,
                           const lab_bench *bench, const lab_bench_worker *beside,
                           lab_record *record, int64_t trial, const char *name,
                           const heed_problem *problem, lab_error *error)
{
    char advice[LAB_ADVICE_SIZE];
    memset(it, 0, sizeof *it);
    it->problem = *problem;
    snprintf(it->name, sizeof it->name, "%s", name);
    heed_status status = lab_record_source(record, trial, &it->source, error);
    if (status != HEED_OK)
        return status;
    if (!it->source)
        snprintf(it->why, sizeof it->why,
                 "it is a kernel of another heed, and has no source on the board%s",
                 lab_advise(bench->sink, LAB_ADVICE_OTHERS, advice));
    else if (beside || heed_device_is_host(bench->context))
        use_worker(it, options, bench->sink, beside);
    else
        status = use_maker(it, options, bench, record, trial, error);
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
