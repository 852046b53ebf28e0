/*
 * maps.c - tensor maps for the tensor memory accelerator (TMA)
 */
#include "maps.h"

#include <stdio.h>

#include "driver/handle.h"
#include "problem/problem.h"

#define BOX_ROWS 64 /* of q and o */
#define BOX_MAX 256
#define ELEMENT 2 /* bytes */
#define DIMS 4
#define SIZE_MAX_MAPPED (INT64_C(1) << 32)
#define UNIT 8 /* elements in 16 bytes; strides must be multiples */
#define STRIDE_END ((INT64_C(1) << 40) / ELEMENT) /* elements */

/* Any aligned address: it is replaced before the map is used. */
#define NOWHERE ((void *)(uintptr_t)4096)

_Static_assert(sizeof(heed_cuda_map) == 128 && _Alignof(heed_cuda_map) == 64,
               "a map is 128 bytes at a multiple of 64");

/* One of the three dimensions outside the columns. */
typedef struct outer {
    const char *size_name, *stride_name;
    int64_t size, stride; /* elements */
} outer;

static void outer_dims(const heed_tensor *tensor, outer dims[3])
{
    const heed_strides *s = &tensor->strides;
    const heed_role_row *role = tensor->role;
    dims[0] = (outer){ heed_sizes[role->heads].name, "head stride", tensor->heads, s->head };
    dims[1] = (outer){ heed_sizes[role->seq].name, "seq stride", tensor->seq, s->seq };
    dims[2] = (outer){ "batch", "batch stride", tensor->batch, s->batch };
}

/* The reason why a tensor cannot be mapped: "@field is @value; it must be ...". */
typedef struct map_fault {
    const char *tensor;
    const char *field;
    int64_t value, least, most, unit;
} map_fault;

/* Finds the first one; returns false if there is none. The stride of a dimension of size 1 is never
 * used, and not checked. */
static bool find_fault(const heed_tensor *tensor, map_fault *fault)
{
    outer dims[3];
    outer_dims(tensor, dims);
    for (int i = 0; i < 3; i++) {
        const outer *d = &dims[i];
        *fault = (map_fault){ tensor->role->name, d->size_name, d->size, 1, SIZE_MAX_MAPPED, 1 };
        if (d->size > SIZE_MAX_MAPPED)
            return true;
        *fault = (map_fault){ tensor->role->name, d->stride_name,
                              d->stride,          UNIT,
                              STRIDE_END - UNIT,  UNIT };
        if (d->size > 1 && (d->stride < UNIT || d->stride >= STRIDE_END || d->stride % UNIT != 0))
            return true;
    }
    return false;
}

bool heed_cuda_can_map(const heed_problem *problem, const char **why)
{
    *why = "the tensor memory accelerator needs strides of 8 elements, or multiples, below 2^39";
    for (int i = 0; i < HEED_TENSORS; i++) {
        map_fault fault;
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (find_fault(&tensor, &fault))
            return false;
    }
    return true;
}

static bool group_fits(const heed_problem *problem)
{
    return BOX_ROWS % heed_problem_group(problem) == 0;
}

heed_problem heed_cuda_mapped_problem(const heed_problem *problem)
{
    heed_problem seen = *problem;
    if (!group_fits(problem))
        seen.heads_kv = seen.heads_q;
    return seen;
}

/* The swizzle is as wide as the box. */
static int swizzle_of(int columns)
{
    switch (columns) {
    case 8:
        return CU_MAP_SWIZZLE_NONE;
    case 16:
        return CU_MAP_SWIZZLE_32;
    case 32:
        return CU_MAP_SWIZZLE_64;
    default:
        return CU_MAP_SWIZZLE_128;
    }
}

/* Sizes common to all boxes. */
typedef struct box_size {
    int64_t tile; /* keys in boxes of K and V */
    int columns;
} box_size;

/* Boxes of K and V do not cross a page boundary. */
static int64_t keys_of_box(const heed_problem *problem, int64_t tile)
{
    return problem->page > 0 && problem->page < tile ? problem->page : tile;
}

/* The box of tensor @index: columns, heads, rows of the sequence, batch. */
static void choose_box(const heed_problem *problem, int index, box_size size, uint32_t box[DIMS])
{
    bool keys = heed_roles[index].seq == HEED_PART_SEQ_K;
    int64_t heads = !keys && group_fits(problem) ? heed_problem_group(problem) : 1;
    box[0] = (uint32_t)size.columns;
    box[1] = (uint32_t)heads;
    box[2] = (uint32_t)(keys ? keys_of_box(problem, size.tile) : BOX_ROWS / heads);
    box[3] = 1;
}

static heed_status fail_fault(const map_fault *fault)
{
    return heed_fail(HEED_ERR_UNSUPPORTED,
                     "%s: %s is %lld; the tensor memory accelerator needs %lld to %lld, and "
                     "multiples of %lld",
                     fault->tensor, fault->field, (long long)fault->value, (long long)fault->least,
                     (long long)fault->most, (long long)fault->unit);
}

/* Makes the map of a tensor or of the bias, @name, with @columns. */
static heed_status make_map(heed_cuda *cuda, const char *name, bool bf16, int64_t columns,
                            const outer dims[3], const uint32_t box[DIMS], heed_cuda_map *map)
{
    static const uint32_t steps[DIMS] = { 1, 1, 1, 1 };
    uint64_t sizes[DIMS] = { (uint64_t)columns }, strides[DIMS - 1];
    for (int i = 0; i < 3; i++) {
        sizes[i + 1] = (uint64_t)dims[i].size;
        /* even an unused one must be valid */
        strides[i] = (uint64_t)(dims[i].size > 1 ? dims[i].stride : UNIT) * ELEMENT;
    }
    int result = cuda->driver->map_encode(map, bf16 ? CU_MAP_BF16 : CU_MAP_F16, DIMS, NOWHERE,
                                          sizes, strides, box, steps, CU_MAP_APART,
                                          swizzle_of((int)box[0]), CU_MAP_L2_256, CU_MAP_ZEROS);
    char what[160];
    snprintf(what, sizeof what,
             "mapping %s (%lld x %lld x %lld x %lld, in boxes of %u rows by %u heads)", name,
             (long long)dims[2].size, (long long)dims[1].size, (long long)dims[0].size,
             (long long)columns, box[2], box[1]);
    return heed_cuda_result(cuda, result, what);
}

static heed_status make_tensor_map(heed_cuda *cuda, const heed_problem *problem, int index,
                                   box_size size, heed_cuda_map *map)
{
    heed_tensor tensor = heed_problem_tensor(problem, index);
    map_fault fault;
    if (find_fault(&tensor, &fault))
        return fail_fault(&fault);
    outer dims[3];
    uint32_t box[DIMS];
    choose_box(problem, index, size, box);
    outer_dims(&tensor, dims);
    return make_map(cuda, tensor.role->name, problem->type == HEED_BF16, tensor.dim, dims, box,
                    map);
}

/* ---- The bias ---- */

/* A dimension of the bias: of size 1 if it repeats. */
static outer bias_dim(const heed_problem *problem, unsigned along, int64_t size, int64_t stride)
{
    bool has = problem->bias.along & along && stride != 0;
    return (outer){ "bias", "stride", has ? size : 1, stride };
}

static void bias_dims(const heed_problem *problem, outer dims[3])
{
    const heed_strides *s = &problem->bias.strides;
    dims[0] = bias_dim(problem, HEED_ALONG_HEAD, problem->heads_q, s->head);
    dims[1] = bias_dim(problem, HEED_ALONG_QUERY, problem->seq_q, s->seq);
    dims[2] = bias_dim(problem, HEED_ALONG_BATCH, problem->batch, s->batch);
}

heed_cuda_bias_map heed_cuda_bias_mapped(const heed_problem *problem)
{
    const heed_operand *bias = &problem->bias;
    const heed_problem seen = heed_cuda_mapped_problem(problem);
    outer dims[3];
    bias_dims(problem, dims);
    bool halves = bias->type == HEED_DATA_F16 || bias->type == HEED_DATA_BF16;
    bool fits = halves && dims[1].size == problem->seq_q && bias->along & HEED_ALONG_KEY &&
                (heed_problem_group(&seen) == 1 || dims[0].size == problem->heads_q);
    for (int i = 0; i < 3; i++) {
        const outer *d = &dims[i];
        fits = fits &&
               (d->size == 1 || (d->stride > 0 && d->stride < STRIDE_END && d->stride % UNIT == 0));
    }
    return (heed_cuda_bias_map){ fits, dims[0].size > 1, dims[2].size > 1 };
}

heed_status heed_cuda_make_bias_map(heed_cuda *cuda, const heed_problem *problem, int columns,
                                    heed_cuda_map *map)
{
    outer dims[3];
    uint32_t box[DIMS];
    bias_dims(problem, dims);
    choose_box(problem, HEED_ROLE_Q, (box_size){ 1, columns }, box);
    return make_map(cuda, "bias", problem->bias.type == HEED_DATA_BF16, problem->seq_k, dims, box,
                    map);
}

static void list_maps(heed_cuda_mapped_args *args, heed_cuda_map *maps[HEED_TENSORS])
{
    maps[HEED_ROLE_Q] = &args->q;
    maps[HEED_ROLE_K] = &args->k;
    maps[HEED_ROLE_V] = &args->v;
    maps[HEED_ROLE_O] = &args->o;
}

heed_status heed_cuda_make_maps(heed_cuda *cuda, const heed_problem *problem, int64_t tile,
                                int columns, heed_cuda_mapped_args *args)
{
    heed_cuda_map *maps[HEED_TENSORS];
    list_maps(args, maps);
    if (tile < 1 || tile > BOX_MAX)
        return heed_fail(HEED_ERR_UNSUPPORTED,
                         "a tile has %lld keys; the tensor memory accelerator copies 1 to %d at a "
                         "time",
                         (long long)tile, BOX_MAX);
    if (columns != 8 && columns != 16 && columns != 32 && columns != HEED_MAP_COLUMNS)
        return heed_fail(HEED_ERR_INVALID, "a box has %d columns; it must be 8, 16, 32 or %d",
                         columns, HEED_MAP_COLUMNS);
    const box_size size = { tile, columns };
    heed_status status = HEED_OK;
    for (int i = 0; i < HEED_TENSORS && status == HEED_OK; i++)
        status = make_tensor_map(cuda, problem, i, size, maps[i]);
    return status;
}

static heed_status place_map(heed_cuda *cuda, heed_cuda_map *map, const char *name,
                             const void *address)
{
    int result = cuda->driver->map_replace(map, (void *)(uintptr_t)address);
    if (result == CU_SUCCESS)
        return HEED_OK;
    char what[64];
    snprintf(what, sizeof what, "mapping %s at %p", name, address);
    return heed_cuda_result(cuda, result, what);
}

heed_status heed_cuda_place_maps(heed_cuda *cuda, heed_cuda_mapped_args *args, const void *bias)
{
    const void *const addresses[HEED_TENSORS] = { args->args.q, args->args.k, args->args.v,
                                                  args->args.o };
    heed_cuda_map *maps[HEED_TENSORS];
    heed_status status = bias ? place_map(cuda, &args->bias, "bias", bias) : HEED_OK;
    list_maps(args, maps);
    for (int i = 0; i < HEED_TENSORS && status == HEED_OK; i++)
        status = place_map(cuda, maps[i], heed_roles[i].name, addresses[i]);
    return status;
}
