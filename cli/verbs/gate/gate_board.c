/*
 * gate_board.c - the board's champions for this device
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "gate.h"
#include "src/device.h"
#include "wisdom_line.h"

/* True if the same champion is already listed, for example with another driver. */
static bool is_known(const gate_run *gate, const gate_shape *shape)
{
    for (size_t i = 0; i < gate->count; i++) {
        const gate_shape *other = &gate->shapes[i];
        if (strcmp(other->spec, shape->spec) == 0 && other->cold == shape->cold &&
            strcmp(other->champion, shape->champion) == 0)
            return true;
    }
    return false;
}

static heed_status add_shape(gate_run *gate, const gate_shape *shape)
{
    if (!lab_grow(&gate->shapes, gate->count, sizeof *gate->shapes))
        return HEED_ERR_NO_MEMORY;
    gate->shapes[gate->count++] = *shape;
    return HEED_OK;
}

static heed_status take_row(void *data, const lab_record_row *row)
{
    gate_run *gate = data;
    gate_shape shape = { .trial = row->trial, .then = row->seconds };
    heed_problem problem;
    if (strcmp(row->device, heed_context_device(gate->bench.context)) != 0)
        return HEED_OK;
    if (row->threads != heed_context_threads(gate->bench.context)) {
        gate->elsewhere++;
        return HEED_OK;
    }
    snprintf(shape.spec, sizeof shape.spec, "%s", row->problem);
    snprintf(shape.champion, sizeof shape.champion, "%.95s%s%.95s", row->kernel,
             *row->config ? "__" : "", row->config);
    shape.cold = row->timing && strcmp(row->timing, "cold") == 0;
    shape.damaged = !row->sound;
    snprintf(shape.build, sizeof shape.build, "%s", row->build ? row->build : "");
    shape.rebuilt_elsewhere = !row->build || strcmp(row->build, heed_wisdom_build()) != 0;
    if (is_known(gate, &shape) || heed_problem_parse(&problem, row->problem) != HEED_OK ||
        heed_problem_normalize(&shape.source.problem, &problem) != HEED_OK)
        return HEED_OK;
    return add_shape(gate, &shape);
}

/* Finds the sources of heed that the champion was built from, which are read once for each
 * build. */
static heed_status find_library(gate_run *gate, lab_record *record, gate_shape *shape,
                                lab_error *error)
{
    for (size_t i = 0; i < gate->library_count; i++)
        if (strcmp(gate->libraries[i].build, shape->build) == 0) {
            shape->library = i + 1;
            return HEED_OK;
        }
    lab_record_library *sources;
    heed_status status = lab_record_library_read(record, shape->trial, &sources, error);
    if (status != HEED_OK || !sources)
        return status;
    if (!lab_grow(&gate->libraries, gate->library_count, sizeof *gate->libraries)) {
        lab_record_library_free(sources);
        return HEED_ERR_NO_MEMORY;
    }
    lab_rebuild_library *library = &gate->libraries[gate->library_count];
    *library = (lab_rebuild_library){ .sources = sources };
    memcpy(library->build, shape->build, sizeof shape->build);
    shape->library = ++gate->library_count;
    return HEED_OK;
}

/* Finds the sources for rebuilding the champions, once all rows have been read. */
static heed_status find_sources(gate_run *gate, lab_record *record, lab_error *error)
{
    bool host = heed_device_is_host(gate->bench.context);
    heed_status status = HEED_OK;
    for (size_t i = 0; i < gate->count && status == HEED_OK; i++) {
        gate_shape *shape = &gate->shapes[i];
        status = lab_record_source(record, shape->trial, &shape->code, error);
        bool needed = shape->code ? !host : shape->rebuilt_elsewhere;
        if (status == HEED_OK && needed)
            status = lab_record_launch(record, shape->trial, &shape->launch, error);
        if (status == HEED_OK && needed)
            status = find_library(gate, record, shape, error);
    }
    return status;
}

static cli_exit say_nothing_there(const gate_run *gate, const lab_record *record)
{
    const char *problem = gate->problem;
    const char *device = heed_context_device(gate->bench.context);
    int threads = heed_context_threads(gate->bench.context);
    if (gate->elsewhere)
        cli_error("the board has no champion for %s with %d thread%s, but %zu with other numbers "
                  "of threads: see --threads",
                  device, threads, lab_plural(threads), gate->elsewhere);
    else
        cli_error("%s: the board has no champion for %s%s%s: nothing can be judged; 'heed tune "
                  "--board %s' finds some",
                  lab_record_place(record), device, problem ? " and " : "", problem ? problem : "",
                  lab_record_place(record));
    return CLI_ENVIRONMENT;
}

cli_exit gate_read_champions(gate_run *gate, lab_record *record)
{
    const lab_record_filter filter = { .part = LAB_BOARD_BEST,
                                       .problem = gate->problem,
                                       .device = heed_context_device(gate->bench.context) };
    lab_error error = { "not enough memory for the champions" };
    cli_exit code = CLI_OK;
    heed_status status = lab_record_visit(record, &filter, take_row, gate, &error);
    if (status == HEED_OK)
        status = find_sources(gate, record, &error);
    if (status == HEED_OK && gate->count == 0)
        code = say_nothing_there(gate, record);
    return status == HEED_OK ? code : cli_fail_error(status, &error);
}

void gate_free(gate_run *gate)
{
    for (size_t i = 0; i < gate->count; i++) {
        lab_bench_pair_free(&gate->shapes[i].pair);
        free(gate->shapes[i].code);
        free(gate->shapes[i].launch);
    }
    for (size_t i = 0; i < gate->library_count; i++)
        lab_rebuild_library_free(&gate->libraries[i]);
    free(gate->libraries);
    gate->libraries = NULL;
    gate->library_count = 0;
    free(gate->shapes);
    gate->shapes = NULL;
    gate->count = 0;
}
