/*
 * bench_sources.c - the problems to time: specs, shape files, captured tensors
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "inputs.h"
#include "shapes/shapes.h"
#include "tensor/safetensors.h"

/* The list of the canonical shapes. */
#define CANONICAL "seed"

/* The choice of --mask that is only right where queries = keys. */
#define MASK_CAUSAL 1

static bench_source *add_source(bench_sources *sources)
{
    bench_source *items = realloc(sources->items, (sources->count + 1) * sizeof *items);
    if (!items) {
        cli_error("not enough memory for %zu problems", sources->count + 1);
        return NULL;
    }
    sources->items = items;
    bench_source *source = &items[sources->count++];
    memset(source, 0, sizeof *source);
    return source;
}

static cli_exit add_specs(bench_sources *sources, const cli_args *args)
{
    cli_problems problems;
    cli_exit code = cli_problems_read(&problems, args);
    for (size_t i = 0; code == CLI_OK && i < problems.count; i++) {
        bench_source *source = add_source(sources);
        if (!source)
            code = CLI_ENVIRONMENT;
        else
            heed_problem_normalize(&source->problem, &problems.items[i]); /* it has been parsed */
    }
    cli_problems_free(&problems);
    return code;
}

static bool shape_is(const lab_tensor *tensor, int64_t batch, int64_t seq, int64_t heads,
                     int64_t dim)
{
    const int64_t *shape = tensor->shape;
    return shape[0] == batch && shape[1] == seq && shape[2] == heads && shape[3] == dim;
}

/* The problem that three arrays make, with the choice @mask of cli_mask_names. */
static cli_exit make_problem(bench_source *source, int mask)
{
    static const heed_mask masks[] = { HEED_MASK_NONE, HEED_MASK_CAUSAL_TOP_LEFT,
                                       HEED_MASK_CAUSAL_TOP_LEFT, HEED_MASK_CAUSAL_BOTTOM_RIGHT };
    const lab_tensor *q = &source->tensors[LAB_Q], *k = &source->tensors[LAB_K],
                     *v = &source->tensors[LAB_V];
    const heed_problem problem = { .type = q->type,
                                   .mask = masks[mask],
                                   .batch = q->shape[0],
                                   .heads_q = q->shape[2],
                                   .heads_kv = k->shape[2],
                                   .seq_q = q->shape[1],
                                   .seq_k = k->shape[1],
                                   .dim_qk = q->shape[3],
                                   .dim_v = v->shape[3] };
    const heed_problem *p = &problem;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || k->type != q->type || v->type != q->type ||
        !shape_is(k, p->batch, p->seq_k, p->heads_kv, p->dim_qk) ||
        !shape_is(v, p->batch, p->seq_k, p->heads_kv, p->dim_v)) {
        cli_error("--tensors: %sq, %sk and %sv do not fit each other; they must be [batch, seq, "
                  "heads, dim], of one type",
                  source->label, source->label, source->label);
        return CLI_USAGE;
    }
    if (mask == MASK_CAUSAL && p->seq_q != p->seq_k) {
        cli_error("--mask causal: %sq and %sk differ in length; say causal=tl or causal=br",
                  source->label, source->label);
        return CLI_USAGE;
    }
    heed_status status = heed_problem_normalize(&source->problem, &problem);
    return status == HEED_OK ? CLI_OK : cli_fail(status, "--tensors");
}

static cli_exit read_group(bench_sources *sources, lab_safetensors *file, const char *q_name,
                           int mask)
{
    static const char letters[] = { 'q', 'k', 'v' };
    bench_source *source = add_source(sources);
    lab_error error;
    char name[sizeof source->label + 1];
    size_t prefix = strlen(q_name) - 1;
    if (!source)
        return CLI_ENVIRONMENT;
    if (prefix >= sizeof source->label) {
        cli_error("--tensors: the name '%s' is longer than %zu bytes", q_name,
                  sizeof source->label);
        return CLI_USAGE;
    }
    memcpy(source->label, q_name, prefix);
    for (int i = 0; i < LAB_ROLES - 1; i++) {
        snprintf(name, sizeof name, "%s%c", source->label, letters[i]);
        heed_status status = lab_safetensors_read(file, name, &source->tensors[i], &error);
        if (status != HEED_OK) {
            cli_error("--tensors: %s", error.text);
            return cli_exit_of(status);
        }
    }
    return make_problem(source, mask);
}

/* Every array whose name ends in "q", alone or after a dot, is the Q of a group. */
static bool is_query(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && name[length - 1] == 'q' && (length == 1 || name[length - 2] == '.');
}

static cli_exit add_tensors(bench_sources *sources, const char *path, int mask)
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
            code = read_group(sources, file, name, mask);
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
        code = add_tensors(sources, path, cli_args_choice(args, "mask"));
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
    if (status != HEED_OK) {
        cli_error("%s", error.text);
        return cli_exit_of(status);
    }
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < list.count; i++) {
        bench_source *source = add_source(sources);
        if (!source)
            code = CLI_ENVIRONMENT;
        else
            heed_problem_normalize(&source->problem, &list.shapes[i].problem); /* it was parsed */
    }
    lab_shapes_free(&list);
    return code;
}

/* Is it one of the first @count, with random values as it has? */
static bool is_repeated(const bench_sources *sources, size_t count, const bench_source *one)
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
        for (int role = 0; role < LAB_ROLES - 1; role++)
            lab_tensor_free(&sources->items[i].tensors[role]);
    free(sources->items);
    memset(sources, 0, sizeof *sources);
}
