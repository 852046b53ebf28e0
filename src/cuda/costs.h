/*
 * costs.h - constants of the cost models that are not in a device's data sheet, fitted to measured
 * times
 *
 * A GPU points to its row. Another device only needs another row in costs.c.
 */
#ifndef HEED_CUDA_COSTS_H
#define HEED_CUDA_COSTS_H

#include <stdbool.h>

/* Memory, for all kernels (gpu.c). */
typedef struct heed_memory_costs {
    double latency;   /* seconds of a load, on a busy device */
    double share;     /* fraction of the data sheet's bandwidth that loads reach */
    double hindrance; /* fraction of the shorter of computing and loading that is not hidden */
} heed_memory_costs;

/* The order of blocks (sections.c). */
typedef struct heed_order_costs {
    double operations;   /* of tensor cores, per multiprocessor and clock */
    double running;      /* blocks running concurrently on a multiprocessor */
    double mapped_reuse; /* factor of reuse that kernels which copy boxes need compared with
                            others */
    int section_items;   /* items of a small section */
    double worth;        /* minimum improvement for another section */
    double item_tiles;   /* the overhead of an item besides its tiles, in tiles */
    double unequal;      /* added to a factor of 1 by lengths that differ, in a single round */
    double listed; /* minimum seconds of a problem, by the data sheet, whose tiles are listed */
} heed_order_costs;

typedef struct heed_naive_costs {
    double flops_per_clock; /* per multiprocessor; only the difference to other kernels matters */
    double launch;          /* seconds */
    double bandwidth_share; /* at most, as elements are read one by one */
} heed_naive_costs;

/* Clocks are those of a scheduler. */
typedef struct heed_mma_costs {
    double mma_clocks;   /* minimum for an mma */
    double other_clocks; /* for another instruction; they hardly overlap */
    double exp_clocks;   /* for an exponential on the special function unit */
    double
        chain_clocks; /* latency of a step, which other warps may hide: of each mma along dim_qk, */
    double key_clocks;         /* and of each key of its tile */
    double spill_instructions; /* per register above the cap, in every step, */
    double spill_clocks;       /* and its latency */
    double page_clocks;        /* latency of a step whose keys are in pages, */
    double share_clocks;       /* and of one with rows shared by warps */
    double spread;        /* seconds of a block from one sequence of its share to the next, and */
    double spread_unsure; /* relative increase where no pool of pages tells the mean length, */
    double spread_thin;   /* and for few rows with fewer than four groups */
    double block_clocks;  /* to begin and end a block */
    double merge_clocks;  /* per group */
    double clock_share;   /* of the highest clock, under load */
    double launch;        /* seconds, */
    double overlap;      /* reduction where a launch may begin before the preceding one has ended */
    double combine;      /* seconds to store a part and be counted, */
    double round;        /* and again for each later round of blocks; */
    double batch;        /* to wait for a batch of loads of parts */
    double merge_launch; /* of a launch that merges parts, */
    int merge_blocks;    /* and its blocks, of a row each, resident on a multiprocessor */
    double parts_rate;   /* for parts, written to the L2 and read back, relative to the memory
                            bandwidth */
    double mask_steps;   /* added by a mask to a step, */
    double masked;       /* and the factor for blocks with one */
    double hidden;       /* fraction of the shorter of computing and loading that is not hidden; */
    double first_tile;   /* plus this times a tile's share of the keys: the first tile is not
                            hidden */
} heed_mma_costs;

/* Seconds, unless stated otherwise. */
typedef struct heed_wgmma_costs {
    double clock_share;    /* of the highest clock, under load */
    double exps_per_clock; /* of the special function units of a multiprocessor */
    double l2_bytes;       /* per clock and multiprocessor */
    double memory_longer;  /* time relative to attn_mma's small blocks, where memory-bound */
    double all_bytes;      /* in flight from memory: for all blocks together, */
    double block_bytes;    /* and for each block */
    double meeting;        /* factor where blocks with separate keys share a multiprocessor */
    double launch;
    double block;      /* to begin and end a block, */
    double item;       /* and to proceed to its next item */
    double turn;       /* per item, until row groups that take turns are offset by a turn, */
    double wait;       /* and per tile, for its turn */
    double merge;      /* per key group except the first */
    double pair;       /* for two blocks to share an item */
    double ahead;      /* saved where a block begins while the preceding launch still runs */
    double combine;    /* of a launch that merges the parts of split keys, */
    double parts_rate; /* and the share of the bandwidth at which these are written and read */
    double exposed;    /* the share of loads before the first tiles of blocks that nothing hides, */
    double lookups;    /* and that of the L1's lookups of a bias that lanes read */
    double staged;     /* instructions per score that tiles of a bias save */
    double spare;      /* factor where blocks that share keys leave some multiprocessors free: */
    double spare_from, spare_to; /* where they take more, and less, than these shares of them */
    struct {
        double wait;         /* of a warpgroup per tile */
        double stretch;      /* factor of its products and softmax relative to running alone */
        double steps;        /* and of its changes of logits */
        double mask;         /* tiles that a mask adds to a tile on its edge */
        double item;         /* per item, before and after its tiles */
        double hindrance[2]; /* fraction of the shorter of products and softmax that is not hidden:
                                without turns of row groups, and with them */
    } order[4];              /* by the knob STEP_ORDER; there is no order 0 */
} heed_wgmma_costs;

typedef struct heed_mla_costs {
    double matrix_share; /* fraction of the data sheet's matrix rate that tiles reach */
    double block_bytes;  /* that a block has in flight from memory */
    double block;        /* seconds to begin and end a block, */
    double launch;       /* and of a launch */
    double merge_share;  /* relative to the time in which attn_mma merges parts */
} heed_mla_costs;

/* Of attn_wide and attn_wide32. Clocks are those of a multiprocessor. */
typedef struct heed_wide_costs {
    double clock_share;  /* of the highest clock, under load */
    double matrix_share; /* fraction of the tensor cores' rate that products reach */
    double l2_bytes;     /* per clock */
    double tile, key;    /* clocks for the weights of a tile, and in addition per key; of
                            attn_wide32, all that are not hidden */
    double block_bytes;  /* that a block has in flight from memory */
    double block;        /* seconds to begin and end a block, */
    double launch;       /* and of a launch */
} heed_wide_costs;

typedef struct heed_costs {
    const char *device; /* the driver's name; NULL: any device */
    int arch;           /* 0: any architecture */
    bool uneven_threes; /* if multiprocessors have room for three blocks and each would get two,
                           some get three and others one */
    const heed_memory_costs *memory;
    const heed_order_costs *order;
    const heed_naive_costs *naive;
    const heed_mma_costs *mma;
    const heed_wgmma_costs *wgmma;
    const heed_mla_costs *mla;
    const heed_wide_costs *wide;
    const heed_wide_costs *wide32;
} heed_costs;

/* The rows, those of a device before those of its architecture. The last one is for any device. */
extern const heed_costs heed_cost_rows[];

/* heed_costs_find() returns the first row of @rows for the device @device of architecture @arch. */
const heed_costs *heed_costs_find(const heed_costs *rows, const char *device, int arch);

#endif /* HEED_CUDA_COSTS_H */
