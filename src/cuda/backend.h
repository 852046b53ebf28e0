/*
 * backend.h - the host half shared by the CUDA kernels: one execution as a few launches
 */
#ifndef HEED_CUDA_BACKEND_H
#define HEED_CUDA_BACKEND_H

#include "driver/device.h"
#include "facts.h"
#include "kernels/args.cuh"

extern const heed_algorithm heed_algorithm_cuda_naive;
extern const heed_algorithm heed_algorithm_cuda_mma;
extern const heed_algorithm heed_algorithm_cuda_wgmma;
extern const heed_algorithm heed_algorithm_cuda_mla;
extern const heed_algorithm heed_algorithm_cuda_wide;
extern const heed_algorithm heed_algorithm_cuda_wide32;

/* How a config splits a problem into blocks. */
typedef struct heed_cuda_cut {
    heed_launch_facts launch; /* from rows on: from the config, and the device */
    heed_config fallback;     /* if aligned: the fallback config for other addresses ... */
    const heed_kernel *fallback_kernel; /* ... of this kernel, or of the same one if NULL */
} heed_cuda_cut;

/* The backend's view of a kernel; the code of a CUDA kernel points to one. */
typedef struct heed_cuda_code {
    heed_cuda_cut (*cut)(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config);
} heed_cuda_code;

extern const heed_cuda_code heed_cuda_naive_code;
extern const heed_cuda_code heed_cuda_mma_code;
extern const heed_cuda_code heed_cuda_wgmma_code;
extern const heed_cuda_code heed_cuda_mla_code;
extern const heed_cuda_code heed_cuda_wide_code;
extern const heed_cuda_code heed_cuda_wide32_code;

extern const heed_plan_functions heed_cuda_plans;

/* heed_cuda_fallback() sets *@kernel, the kernel of @config, and *@fallback to the kernel and the
 * config for addresses that are not aligned; false if @config itself is for any addresses. */
bool heed_cuda_fallback(const heed_problem *problem, const heed_machine *machine,
                        const heed_kernel **kernel, const heed_config *config,
                        heed_config *fallback);

/* heed_cuda_trusts() returns true if the driver is not asked about the pointers of an execution. */
bool heed_cuda_trusts(const heed_plan *plan, const heed_buffers *buffers);

/* heed_cuda_check_buffers() checks that the device can access all pointers of @buffers that the
 * kernel of @plan gets, unless they are trusted. Call it between heed_cuda_enter() and
 * heed_cuda_leave(). */
heed_status heed_cuda_check_buffers(const heed_plan *plan, const heed_buffers *buffers);

/* heed_cuda_launch_of() is heed_device_launch_of(). */
heed_device_launch heed_cuda_launch_of(const heed_plan *plan);

/* heed_cuda_fits() returns true if the counts that kernels keep in 32 bits fit, with blocks of
 * @rows rows; if not, *why is the reason. */
bool heed_cuda_fits(const heed_problem *problem, int64_t rows, int64_t splits, const char **why);

/* heed_cuda_divide_by() returns the divisor for divisions of numbers below 2^31 by @value, 1 or
 * more. */
heed_cuda_divisor heed_cuda_divide_by(unsigned value);

/* heed_cuda_strides_of() returns strides as kernels take them. */
heed_cuda_strides heed_cuda_strides_of(const heed_strides *strides);

/* heed_cuda_unequal() returns the factor by which different lengths of batch elements prolong a
 * launch of @rounds blocks per multiprocessor. */
double heed_cuda_unequal(const heed_problem *problem, const heed_gpu *gpu, double rounds);

/* heed_cuda_combine_of() returns how heed_combine() is launched to merge the parts of rows of
 * @dim_v columns, of @splits splits. */
typedef struct heed_cuda_combine {
    bool apart;    /* always; otherwise the kernel may merge them itself */
    unsigned rows; /* of a block */
    unsigned threads;
} heed_cuda_combine;
heed_cuda_combine heed_cuda_combine_of(int64_t dim_v, int splits);

/* heed_cuda_idle_splits() returns why planning should not consider @splits splits of @items blocks
 * with different rows, whose tiles are @keys keys; NULL: it should. */
const char *heed_cuda_idle_splits(const heed_problem *problem, const heed_gpu *gpu, double items,
                                  int splits, int64_t keys);

/* heed_cuda_merge_apart_seconds() returns the seconds of a second launch that merges the parts of
 * each row of @problem, @splits of them; 0 if that is 1. */
double heed_cuda_merge_apart_seconds(const heed_problem *problem, const heed_gpu *gpu, int splits);

/* heed_cuda_item_count() returns the number of items (blocks of rows) of a launch. */
unsigned heed_cuda_item_count(const heed_cuda_args *args);

/* heed_cuda_fill_args() writes all of @args except the addresses. Requires heed_cuda_fits(). */
void heed_cuda_fill_args(heed_cuda_args *args, const heed_problem *problem, const heed_gpu *gpu,
                         const heed_launch_facts *launch);

/* heed_cuda_list_keys() returns @keys, the keys of a tile, if tiles of @problem should be listed
 * for blocks of @rows rows, else 0: the steps do not show which tiles are hidden, lists would be
 * large, or a launch that makes them would take too long. heed_cuda_list_count() returns the number
 * of lists of tiles that heed_list() makes, one per block, with the threads and bytes of shared
 * memory below, and heed_cuda_list_bytes() their total size. */
#define HEED_CUDA_LIST_THREADS 1024
#define HEED_CUDA_LIST_SMEM 256
int64_t heed_cuda_list_keys(const heed_problem *problem, const heed_gpu *gpu, int64_t rows,
                            int64_t keys);
unsigned heed_cuda_list_count(const heed_cuda_args *args);
size_t heed_cuda_list_bytes(const heed_cuda_args *args);

/* heed_cuda_facts_of() fills in the source, macros and launch of @facts, which is zeroed. */
heed_status heed_cuda_facts_of(const heed_kernel *kernel, const heed_problem *problem,
                               const heed_machine *machine, const heed_config *config,
                               heed_cuda_facts *facts);

/* sections.c: number of key/value heads in a section, whose blocks are consecutive (order.cuh). */
int64_t heed_cuda_section(const heed_problem *problem, const heed_gpu *gpu,
                          const heed_launch_facts *launch);

#endif /* HEED_CUDA_BACKEND_H */
