/*
 * bench_sources.c - the problems to time: specs, shape files, captured tensors
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bench.h"
#include "cli/base/inputs.h"
#include "shapes/shapes.h"
#include "tensor/safetensors.h"

/* The list of the canonical shapes. */
#define CANONICAL "seed"

static lab_bench_source *add_source(bench_sources *sources)
{
    if (!lab_grow(&sources->items, sources->count, sizeof *sources->items)) {
        cli_error("not enough memory for %zu problems", sources->count + 1);
        return NULL;
    }
    lab_bench_source *source = &sources->items[sources->count++];
    memset(source, 0, sizeof *source);
    return source;
}

/* Adds a problem that has been parsed. */
static cli_exit add_problem(bench_sources *sources, const heed_problem *problem)
{
    lab_bench_source *source = add_source(sources);
    if (source)
        heed_problem_normalize(&source->problem, problem);
    return source ? CLI_OK : CLI_ENVIRONMENT;
}

static cli_exit add_specs(bench_sources *sources, const cli_args *args)
{
    lab_problems problems;
    cli_exit code = cli_problems_read(&problems, args);
    for (size_t i = 0; code == CLI_OK && i < problems.count; i++)
        code = add_problem(sources, &problems.items[i]);
    cli_problems_free(&problems);
    return code;
}

static cli_exit read_group(bench_sources *sources, lab_safetensors *file, const char *path,
                           const char *q_name, const cli_args *args)
{
    lab_bench_source *source = add_source(sources);
    cli_inputs inputs;
    size_t prefix = strlen(q_name) - 1;
    if (!source)
        return CLI_ENVIRONMENT;
    if (prefix >= sizeof source->label) {
        cli_error("--tensors: the name '%s' is longer than %zu bytes", q_name,
                  sizeof source->label);
        return CLI_USAGE;
    }
    memcpy(source->label, q_name, prefix);
    cli_exit code = cli_inputs_read_group(&inputs, file, path, source->label, args);
    if (code == CLI_OK)
        code = cli_inputs_problem(&source->problem, &inputs, args);
    if (code == CLI_OK)
        code = cli_inputs_sort(&inputs);
    source->tensors[LAB_Q] = inputs.q.tensor; /* which owns them now */
    source->tensors[LAB_K] = inputs.k.tensor;
    source->tensors[LAB_V] = inputs.v.tensor;
    return code;
}

/* Every array whose name ends in "q", alone or after a dot, is the Q of a group. */
static bool is_query(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && name[length - 1] == 'q' && (length == 1 || name[length - 2] == '.');
}

static cli_exit add_tensors(bench_sources *sources, const char *path, const cli_args *args)
{
    lab_safetensors *file;
    lab_error error;
    heed_status status = lab_safetensors_open(&file, path, &error);
    if (status != HEED_OK) {
        cli_error("--tensors: %s", error.text);
        return cli_exit_of(status);
    }
    cli_exit code = CLI_OK;
    size_t before = sources->count;
    for (size_t i = 0; code == CLI_OK && i < lab_safetensors_count(file); i++) {
        const char *name = lab_safetensors_at(file, i)->name;
        if (is_query(name))
            code = read_group(sources, file, path, name, args);
    }
    lab_safetensors_close(file);
    if (code == CLI_OK && sources->count == before) {
        cli_error("--tensors: %s has no array named q, or something.q", path);
        return CLI_USAGE;
    }
    return code;
}

cli_exit bench_sources_read(bench_sources *sources, const cli_args *args)
{
    const char *path = cli_args_has(args, "tensors") ? cli_args_text(args, "tensors") : NULL;
    cli_exit code = CLI_OK;
    memset(sources, 0, sizeof *sources);
    if (path)
        code = add_tensors(sources, path, args);
    bool specs = cli_args_operand_count(args) > 0 || cli_args_text(args, "shapes");
    if (code == CLI_OK && (specs || !path))
        code = add_specs(sources, args);
    return code;
}

cli_exit bench_sources_canonical(bench_sources *sources)
{
    char found[1024];
    lab_error error;
    lab_shapes list;
    const char *path = cli_find_list("shapes", CANONICAL, found, sizeof found);
    heed_status status = lab_shapes_load(&list, path, &error);
    memset(sources, 0, sizeof *sources);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < list.count; i++)
        code = add_problem(sources, &list.shapes[i].problem);
    lab_shapes_free(&list);
    return code;
}

/* True if it equals one of the first @count, and both have random values. */
static bool is_repeated(const bench_sources *sources, size_t count, const lab_bench_source *one)
{
    for (size_t i = 0; i < count && !*one->label; i++)
        if (!*sources->items[i].label &&
            cli_problem_repeated(&one->problem, &sources->items[i].problem))
            return true;
    return false;
}

void bench_sources_unique(bench_sources *sources)
{
    size_t kept = 0;
    for (size_t i = 0; i < sources->count; i++)
        if (!is_repeated(sources, kept, &sources->items[i]))
            sources->items[kept++] = sources->items[i];
    sources->count = kept;
}

void bench_sources_free(bench_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        for (int role = 0; role < LAB_VECTORS; role++)
            lab_tensor_free(&sources->items[i].tensors[role]);
    free(sources->items);
    memset(sources, 0, sizeof *sources);
}
