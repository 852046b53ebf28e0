/*
 * launch.c - one of heed's kernels and its launch as a source for torch's load_inline()
 */
#include "lab/suite/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/suite/fill.h"
#include "lab/suite/flatten.h"
#include "src/cuda/outline.h"

#define NUMBERS 14
#define NUMBER_SIZE 24

/* ---- The arguments ---- */

static void put_divisor(FILE *out, const char *place, heed_cuda_divisor by)
{
    fprintf(out, "    %s = { %uu, %uu, %uu };\n", place, by.value, by.multiplier, by.shift);
}

static void put_divisors(FILE *out, const heed_cuda_args *args)
{
    const struct {
        const char *place;
        heed_cuda_divisor by;
    } all[] = {
        { "args.heads_kv", args->heads_kv }, { "args.group", args->group },
        { "args.splits", args->splits },     { "args.section", args->section },
        { "args.rest", args->rest },         { "args.work", args->work },
        { "args.chunk", args->chunk },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put_divisor(out, all[i].place, all[i].by);
}

static void put_args(FILE *out, const heed_cuda_args *args)
{
    fprintf(out, "    args.visible = %lldll;\n", args->visible);
    fprintf(out, "    args.hidden = %lldll;\n", args->hidden);
    fprintf(out, "    args.first = %lldll;\n", args->first);
    fprintf(out, "    args.rows = %uu;\n", args->rows);
    fprintf(out, "    args.seq_q = %uu;\n", args->seq_q);
    fprintf(out, "    args.seq_k = %uu;\n", args->seq_k);
    fprintf(out, "    args.heads = %uu;\n", args->heads);
    fprintf(out, "    args.blocks = %uu;\n", args->blocks);
    fprintf(out, "    args.scale = %af;\n", (double)args->scale);
    fprintf(out, "    args.negate = %uu;\n", args->negate);
    put_divisors(out, args);
}

/* Writes the arguments of a kernel with tensor maps. */
static void put_maps(FILE *out, const heed_cuda_outline *outline, const heed_launch_facts *launch)
{
    put_divisor(out, "launched.share", outline->share);
    fprintf(out, "    launched.ahead = %uu;\n", outline->ahead);
    static const struct {
        const char *name;
        bool keys;
    } tensors[] = { { "q", false }, { "k", true }, { "v", true }, { "o", false } };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const char *name = tensors[i].name;
        int heads = tensors[i].keys ? 1 : outline->heads;
        int rows = tensors[i].keys ? (int)launch->mapped : 64 / outline->heads;
        fprintf(out, "    heed_map(&launched.%s, %s, %d, %d);\n", name, name, heads, rows);
    }
}

/* Returns the output of @write as a new string. */
static char *text_of(void (*write)(FILE *, const void *), const void *data)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write(out, data);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

typedef struct writing {
    const heed_cuda_outline *outline;
    const heed_launch_facts *launch;
} writing;

static void write_fill(FILE *out, const void *data)
{
    const writing *it = data;
    put_args(out, &it->outline->args);
    if (it->launch->mapped)
        put_maps(out, it->outline, it->launch);
}

/* ---- The launch ---- */

/* Sizes and launch facts as texts. */
typedef struct numbers {
    char text[NUMBERS][NUMBER_SIZE];
    int count;
} numbers;

static const char *number(numbers *all, int64_t value)
{
    char *text = all->text[all->count++];
    snprintf(text, NUMBER_SIZE, "%" PRId64, value);
    return text;
}

static void put_maps_text(FILE *out, const heed_problem *problem, const heed_launch_facts *launch)
{
    const lab_place kind = { "MAP_KIND", problem->type == HEED_BF16 ? "BFLOAT16" : "FLOAT16" };
    if (launch->mapped)
        lab_fill(out, lab_text_maps(), &kind, 1);
}

static char *maps_text(const heed_problem *problem, const heed_launch_facts *launch)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    put_maps_text(out, problem, launch);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static void put_launch(FILE *out, const heed_problem *p, const heed_launch_facts *launch,
                       const heed_cuda_outline *outline, const char *fill, const char *maps)
{
    static const char *const kinds[] = { "kFloat32", "kHalf", "kBFloat16" };
    numbers n = { .count = 0 };
    const lab_place places[] = {
        { "KIND", kinds[p->type] },
        { "ALIGNED", launch->aligned ? "true" : "false" },
        { "BATCH", number(&n, p->batch) },
        { "HEADS_Q", number(&n, p->heads_q) },
        { "HEADS_KV", number(&n, p->heads_kv) },
        { "SEQ_Q", number(&n, p->seq_q) },
        { "SEQ_K", number(&n, p->seq_k) },
        { "DIM_QK", number(&n, p->dim_qk) },
        { "DIM_V", number(&n, p->dim_v) },
        { "ENTRY", launch->entry },
        { "ARGS_TYPE", launch->mapped ? "heed_cuda_mapped_args" : "heed_cuda_args" },
        { "ARGS", launch->mapped ? "launched.args" : "launched" },
        { "SMEM", number(&n, launch->smem) },
        { "GRID", number(&n, outline->grid) },
        { "THREADS", number(&n, launch->threads) },
        { "FILL", fill },
        { "MAPS", maps },
    };
    lab_fill(out, lab_text_launch(), places, sizeof places / sizeof *places);
}

/* ---- The source ---- */

static heed_status put_source(FILE *out, const heed_cuda_facts *facts, const heed_problem *problem,
                              const heed_gpu *gpu, lab_error *error)
{
    heed_cuda_outline outline;
    heed_cuda_outline_of(&outline, problem, gpu, &facts->launch);
    const writing what = { &outline, &facts->launch };
    char *fill = text_of(write_fill, &what), *maps = maps_text(problem, &facts->launch);
    heed_status status = HEED_ERR_NO_MEMORY;
    for (int i = 0; i < facts->define_count; i++)
        fprintf(out, "#define %s %lld\n", facts->defines[i].name, facts->defines[i].value);
    if (fill && maps)
        status = lab_flatten(out, facts->source, error);
    else
        lab_fail(error, status, "no memory for the source of a kernel");
    /* The attribute is only needed on the kernel; a check of the suite looks for this word. */
    fprintf(out, "extern \"C\" __global__ void %s(const __grid_constant__ %s);\n",
            facts->launch.entry, facts->launch.mapped ? "heed_cuda_mapped_args" : "heed_cuda_args");
    if (status == HEED_OK)
        put_launch(out, problem, &facts->launch, &outline, fill, maps);
    free(fill);
    free(maps);
    return status;
}

char *lab_launch_source(const heed_cuda_facts *facts, const heed_problem *problem,
                        const heed_gpu *gpu, heed_status *status, lab_error *error)
{
    char *text = NULL;
    size_t size = 0;
    *status = HEED_ERR_UNSUPPORTED;
    if (heed_launch_merges(&facts->launch) || facts->launch.list_keys > 0 || facts->steps) {
        lab_fail(error, *status, "%s is launched in more than one step", facts->name);
        return NULL;
    }
    FILE *out = open_memstream(&text, &size);
    *status = HEED_ERR_NO_MEMORY;
    if (out) {
        *status = put_source(out, facts, problem, gpu, error);
        if (fclose(out) != 0 && *status == HEED_OK)
            *status = HEED_ERR_NO_MEMORY;
    }
    if (*status == HEED_OK)
        return text;
    if (*status == HEED_ERR_NO_MEMORY)
        lab_fail(error, *status, "no memory for the source of a kernel");
    free(text);
    return NULL;
}
