/*
 * request.h - requests of an emulated thread to the machine, used by ptx.cuh
 *
 * Each function acts for the running thread. It does not return after an error that ends the run.
 */
#ifndef EMULATOR_REQUEST_H
#define EMULATOR_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Address of the first byte of dynamic shared memory: not 0, as on the device. */
#define EMULATOR_SHARED_BASE 1024u

/* Instructions that the lanes of a warp execute together. */
typedef enum emulator_what {
    EMULATOR_BARRIER,
    EMULATOR_WARP_BARRIER,
    EMULATOR_LDMATRIX,
    EMULATOR_LDMATRIX_TRANS,
    EMULATOR_MMA_F16,
    EMULATOR_MMA_BF16,
    EMULATOR_MMA_TF32,
    EMULATOR_MMA_F16_ACC16,
    EMULATOR_SHFL_XOR,
    EMULATOR_SHFL_IDX,
    EMULATOR_VOTE_ANY,
    EMULATOR_VOTE_BALLOT,
    EMULATOR_ARRIVE,
    EMULATOR_STMATRIX,
    EMULATOR_REGISTERS,
    EMULATOR_WGMMA,
    EMULATOR_WGMMA_FENCE,
    EMULATOR_WGMMA_COMMIT,
    EMULATOR_WGMMA_WAIT
} emulator_what;

/* One lane's part in it. */
typedef struct emulator_request {
    emulator_what what;
    int n;      /* number of matrices; mask or lane of a shuffle; threads of a barrier, 0: all;
                 * columns of a product; registers; groups */
    uint32_t x; /* address; value; id of a barrier; for a product, a set of these: */
#define EMULATOR_WGMMA_ADD 1u
#define EMULATOR_WGMMA_BF16 2u
#define EMULATOR_WGMMA_ACROSS 4u /* rows of b are columns of the product */
    void *d;                     /* the result ... */
    const void *a;               /* ... and the operands, in fragments */
    const void *b;
    uint64_t desc[2]; /* descriptors of a, unless it is in registers, and b */
} emulator_request;

/* Visible to kernels in other libraries, which the fake driver loads. */
#pragma GCC visibility push(default)

/* Sets the line of the kernel from which the next requests come. */
void emulator_at(const char *file, int line);
#define EMULATOR_HERE emulator_at(__FILE__, __LINE__)

uint32_t emulator_thread(void);
uint32_t emulator_threads(void); /* of a block */
uint32_t emulator_block(int axis);
uint32_t emulator_grid(int axis);

/* Returns when all lanes, or all threads of the barrier, have arrived. */
void emulator_meet(emulator_request *request);
void emulator_barrier(int id, int threads);
/* A warp arrives at a barrier of the block without waiting. */
void emulator_arrive(int id, int threads);

/* Shared memory: @size bytes at an address that must be a multiple of @size. */
void emulator_load(uint32_t smem, void *to, uint32_t size);
void emulator_store(uint32_t smem, const void *from, uint32_t size);
void emulator_min(uint32_t smem, uint32_t x);

/* cp.async and its groups. */
void emulator_copy(uint32_t smem, const void *global, uint32_t bytes);
void emulator_commit(void);
void emulator_wait(int groups);

/* Barriers in shared memory. emulator_fence() is the proxy's fence, or with @barriers that of
 * barriers. */
void emulator_mbarrier_init(uint32_t smem, uint32_t count);
void emulator_mbarrier_arrive(uint32_t smem, uint32_t bytes);
void emulator_mbarrier_wait(uint32_t smem, uint32_t parity);
void emulator_fence(bool barriers);

/* Copies of boxes; @at is column, head, row and batch. */
void emulator_tensor_load(uint32_t smem, const void *map, uint32_t barrier, const int at[4]);
void emulator_tensor_store(const void *map, uint32_t smem, const int at[4]);
void emulator_bulk_commit(void);
void emulator_bulk_wait(void);

/* Blocks of a cluster. emulator_mapped() returns the cluster address of shared byte @smem of block
 * @rank; a remote store writes 8 bytes to such an address or a block-local one. */
uint32_t emulator_rank(void);
uint32_t emulator_mapped(uint32_t smem, uint32_t rank);
void emulator_remote_store(uint32_t smem, const void *from, uint32_t barrier);
void emulator_cluster_arrive(void);
void emulator_cluster_wait(void);

/* Checks that @p is a multiple of @size. */
void emulator_check_global(const void *p, uint32_t size);

#pragma GCC visibility pop

#endif /* EMULATOR_REQUEST_H */
