/*
 * costs.h - facts of the cost models about a device beside its data sheet: constants that were
 * fitted to times measured on one
 *
 * A GPU points to its row. Another device is another row of costs.c, and no other file.
 */
#ifndef HEED_CUDA_COSTS_H
#define HEED_CUDA_COSTS_H

#include <stdbool.h>

/* Of the memory, whatever the kernel (gpu.c). */
typedef struct heed_memory_costs {
    double latency;   /* seconds of a load, on a busy device */
    double share;     /* of the data sheet's bandwidth that loads reach */
    double hindrance; /* that the shorter of computing and loading still adds */
} heed_memory_costs;

/* Of the order of blocks (sections.c). */
typedef struct heed_order_costs {
    double operations;   /* of tensor cores: of a multiprocessor in a clock */
    double running;      /* blocks of a multiprocessor that run at the same time */
    double mapped_reuse; /* how much more kernels that copy boxes want shared than others */
    int section_items;   /* items of a small section */
    double worth;        /* that another section must be better */
    double item_tiles;   /* the overhead of an item beside its tiles, in tiles */
} heed_order_costs;

typedef struct heed_naive_costs {
    double flops_per_clock; /* of a multiprocessor; only the distance to other kernels matters */
    double launch;          /* seconds */
    double bandwidth_share; /* at most, since elements are read one by one */
} heed_naive_costs;

/* Clocks are those of a scheduler. */
typedef struct heed_mma_costs {
    double mma_clocks;   /* that an mma keeps it busy, at least */
    double other_clocks; /* and another instruction; they hardly overlap */
    double exp_clocks;   /* and an exponential the special function unit */
    double
        chain_clocks; /* latency of a step, which other warps may hide: of each mma along dim_qk, */
    double key_clocks;         /* and of each key of its tile */
    double spill_instructions; /* of a register above the cap, in every step, */
    double spill_clocks;       /* and its latency */
    double page_clocks;        /* latency of a step whose keys are in pages, */
    double share_clocks;       /* and of one whose rows warps share */
    double spread;             /* seconds of a multiprocessor for a block to find its share, */
    double spread_uneven;      /* and how much longer N splits take, over N squared */
    double block_clocks;       /* to begin and end a block */
    double merge_clocks;       /* per group */
    double clock_share;        /* of the highest clock, under load */
    double launch;             /* seconds, */
    double overlap; /* and so many less where a launch may begin before the one ahead has ended */
    double combine; /* seconds to leave a part and be counted, */
    double round;   /* and again where blocks come after others; */
    double batch;   /* to wait for parts that are under way together */
    double merge_launch; /* of a launch that merges parts, of which */
    int merge_blocks;    /* so many blocks, of a row each, run on a multiprocessor */
    double parts_rate;   /* of the memory's bandwidth: of parts, to the L2 and back */
    double mask_steps;   /* that a mask adds to a step, */
    double masked;       /* and how much longer blocks with one then take */
    double hidden;       /* that the shorter of computing and loading still adds; */
    double first_tile;   /* by a tile's share of the keys more: the first one is waited for */
} heed_mma_costs;

/* Seconds, but for what says otherwise. */
typedef struct heed_wgmma_costs {
    double clock_share;    /* of the highest clock, under load */
    double exps_per_clock; /* of the special function units of a multiprocessor */
    double l2_bytes;       /* per clock and multiprocessor */
    double memory_longer;  /* than attn_mma's small blocks, where memory binds: a factor */
    double all_bytes;      /* in flight from memory: of all blocks together, */
    double block_bytes;    /* and of each besides */
    double
        meeting; /* a factor, where blocks that load keys of their own meet on a multiprocessor */
    double launch;
    double block; /* to begin and end a block, */
    double item;  /* and to go on to its next item */
    double turn;  /* of an item until row groups that take turns are a turn apart, */
    double wait;  /* and of a tile for its turn */
    double merge; /* per key group but the first */
    double pair;  /* for two blocks to share an item */
    double ahead; /* saved where a block begins while the launch ahead still works */
    struct {
        double wait;         /* of a warpgroup in a tile */
        double stretch;      /* how much longer than alone its products and softmax take */
        double steps;        /* and its changes of logits */
        double mask;         /* tiles that a mask adds to one that it cuts through */
        double item;         /* of an item before and behind its tiles */
        double hindrance[2]; /* the part of the shorter of products and softmax that adds to the
                                longer: without turns of row groups, and with them */
    } order[4];              /* by the knob STEP_ORDER; there is no order 0 */
} heed_wgmma_costs;

typedef struct heed_mla_costs {
    double matrix_share; /* of the data sheet's rate of products that tiles reach */
    double block_bytes;  /* that a block has in flight from memory */
    double block;        /* seconds to begin and end a block, */
    double launch;       /* and of a launch */
    double merge_share;  /* of the time in which parts of attn_mma are merged */
} heed_mla_costs;

/* Clocks are those of a multiprocessor. */
typedef struct heed_wide_costs {
    double clock_share;  /* of the highest clock, under load */
    double matrix_share; /* of the tensor cores' rate that products reach */
    double l2_bytes;     /* per clock */
    double tile, key;    /* clocks for the weights of a tile, and besides of a key */
    double block_bytes;  /* that a block has in flight from memory */
    double block;        /* seconds to begin and end a block, */
    double launch;       /* and of a launch */
} heed_wide_costs;

/* Likewise. */
typedef struct heed_wide32_costs {
    double clock_share;
    double matrix_share; /* of the rate of a wgmma in 16 bits: products of float32 take three of
                            mma.sync, each at half that of 16 bits */
    double l2_bytes;
    double tile, key;   /* clocks that are not hidden: of a block, and for a key */
    double block_bytes; /* that a block has in flight from memory */
    double block;       /* seconds to begin and end a block, */
    double launch;      /* and of a launch */
} heed_wide32_costs;

typedef struct heed_costs {
    const char *device; /* the driver's name; NULL: any device */
    int arch;           /* 0: of any architecture */
    bool uneven_threes; /* where a multiprocessor has room for three blocks, and each would get two,
                           some get three and others one */
    const heed_memory_costs *memory;
    const heed_order_costs *order;
    const heed_naive_costs *naive;
    const heed_mma_costs *mma;
    const heed_wgmma_costs *wgmma;
    const heed_mla_costs *mla;
    const heed_wide_costs *wide;
    const heed_wide32_costs *wide32;
} heed_costs;

/* The rows, those of one device ahead of those of its architecture. The last one is for any. */
extern const heed_costs heed_cost_rows[];

/* heed_costs_find() returns the first row of @rows for the device @device of architecture @arch. */
const heed_costs *heed_costs_find(const heed_costs *rows, const char *device, int arch);

#endif /* HEED_CUDA_COSTS_H */
