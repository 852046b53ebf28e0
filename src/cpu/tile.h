/*
 * tile.h - declarations shared by attn_tile.c and the instantiations of attn_tile_template.h
 */
#ifndef HEED_TILE_H
#define HEED_TILE_H

#include "cpu.h"

/* K is packed in panels of this many units, so the rows of a panel have a constant stride. */
#define TILE_PANEL 64

/* One instantiation. */
typedef struct heed_tile_code {
    heed_cpu_code cpu;
    int64_t width; /* rows computed together, one per lane of the template's vectors */
    int64_t unit;  /* elements per unit */
    int64_t keys;  /* keys, and value dims, computed together */
} heed_tile_code;

extern const heed_tile_code heed_tile_avx2;
extern const heed_tile_code heed_tile_avx512;
extern const heed_tile_code heed_tile_avx512bf16;
extern const heed_tile_code heed_tile_amx;

/* Sizes derived from problem, cut and code, and the layout of a thread's scratch: offsets in
 * floats. */
typedef struct heed_tile_layout {
    int64_t strips;  /* of width rows, in a block */
    int64_t keys;    /* of a tile */
    int64_t steps;   /* units of a row of Q or K */
    int64_t panels;  /* of K */
    int64_t dims;    /* dim_v, rounded up to the code's keys */
    int64_t row;     /* floats from one row of rows to the next */
    int64_t q;       /* [strips][steps][width] */
    int64_t o;       /* [strips][dims][width] */
    int64_t m;       /* [strips][width]: running maximum */
    int64_t l;       /* [strips][width]: running sum */
    int64_t k;       /* [panels][keys][TILE_PANEL] */
    int64_t v;       /* [keys / unit][dims], or of heed_tile_amx [dims][keys / unit] */
    int64_t s;       /* [keys][width]: logits, then weights */
    int64_t rows;    /* [width][row]: buffer for transposing */
    int64_t seen;    /* [strips * width] heed_interval: keys that each row sees */
    int64_t kept;    /* [strips][need.kept]: the program's values of rows, */
    int64_t program; /* and its scratch */
    int64_t end;     /* total size */
} heed_tile_layout;

/* attn_tile.c: the layout, and the functions for the instantiations' heed_cpu_code. */
heed_tile_layout heed_tile_layout_of(const heed_tile_code *code, const heed_problem *problem,
                                     const heed_cut *cut, const heed_modify_need *need);
heed_cut heed_tile_cut(const heed_config *config);
size_t heed_tile_scratch(const heed_cpu_code *code, const heed_problem *problem,
                         const heed_cut *cut, const heed_modify_need *need);

#endif /* HEED_TILE_H */
