/*
 * wgmma.h - pending products of a warpgroup
 */
#ifndef EMULATOR_WGMMA_H
#define EMULATOR_WGMMA_H

#include "emulator/machine.h"

#define M 64
#define ROWS 16 /* per warp */
#define K 16
#define N_MAX 256

/* A product that was started. */
typedef struct product {
    site at;
    int n;
    uint32_t flags;
    uint64_t desc[2]; /* the first one is 0 if a is in registers */
    uint32_t waiting; /* warps that have not multiplied yet */
    bool read;
    const uint32_t *registers[WARPGROUP][LANES];
    struct sums *sums[WARPGROUP];
    uint32_t *clock; /* the joined clocks of all threads when they started it */
    double a[M][K];
    double b[K][N_MAX];
} product;

/* The registers of a warp's sums, while products with them are pending. */
typedef struct sums {
    struct sums *next;
    float *d[LANES];
    site at;
    int n;
    uint32_t uses; /* pending products */
    float value[ROWS][N_MAX];
} sums;

typedef struct warp_part {
    uint32_t started, committed; /* numbers of products, and of groups */
    uint32_t done, done_groups;
    sums *sums;
} warp_part;

typedef struct warpgroup {
    uint32_t actor;
    uint32_t base;      /* offset of its block's shared memory */
    product **products; /* by number, until no warp needs them */
    size_t count, room;
    uint32_t *ends; /* of groups: the number of the first product after each */
    size_t groups, groups_room;
    warp_part parts[WARPGROUP];
} warpgroup;

/* wgmma_operands.c: reads the operands of a product of group @group once; false after
 * machine_fail(). */
bool wgmma_read_operands(machine *m, const warpgroup *g, product *p, uint32_t group);
/* The fragments of a in the registers of warp @w. */
void wgmma_gather_a(product *p, uint32_t w);

#endif /* EMULATOR_WGMMA_H */
