/*
 * few.h - declarations shared by attn_few.c and the instantiations of attn_few_template.h
 */
#ifndef HEED_FEW_H
#define HEED_FEW_H

#include "cpu.h"

#define FEW_KEYS 32 /* in a tile: its K and V fit into the L1 cache up to head dim 128 */

#define FEW_ROWS 16  /* maximum number of rows in a task */
#define FEW_HEADS 16 /* maximum number of key/value heads in a task */

/* One instantiation. */
typedef struct heed_few_code {
    heed_cpu_code cpu;
    int64_t step; /* dims are padded to a multiple of this */
} heed_few_code;

extern const heed_few_code heed_few_avx2;
extern const heed_few_code heed_few_avx512;

/* Layout of a thread's scratch: offsets in floats. */
typedef struct heed_few_layout {
    int64_t dim_qk; /* padded */
    int64_t dim_v;
    int64_t q;     /* [rows][dim_qk] */
    int64_t o;     /* [rows][dim_v] */
    int64_t m;     /* [rows]: running maximum */
    int64_t l;     /* [rows]: running sum */
    int64_t all_o; /* the same, of finished sections */
    int64_t all_m;
    int64_t all_l;
    int64_t k;       /* [FEW_KEYS][dim_qk], of the current head */
    int64_t v;       /* [FEW_KEYS][dim_v] */
    int64_t kept;    /* [rows][need.kept]: the program's values of rows, */
    int64_t program; /* and its scratch: [rows][need.patch] */
    int64_t end;     /* total size per head */
} heed_few_layout;

/* attn_few.c: the layout, and the functions for the instantiations' heed_cpu_code. */
heed_few_layout heed_few_layout_of(const heed_few_code *code, const heed_problem *problem,
                                   const heed_cut *cut, const heed_modify_need *need);
heed_cut heed_few_cut(const heed_config *config);
size_t heed_few_scratch(const heed_cpu_code *code, const heed_problem *problem, const heed_cut *cut,
                        const heed_modify_need *need);

#endif /* HEED_FEW_H */
