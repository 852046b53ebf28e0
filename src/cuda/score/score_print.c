/*
 * score_print.c - print the steps of a problem as device code
 *
 * There are two kinds of steps: those of a row, which depend neither on the key nor on the score,
 * and those of a key. The former are computed once for all keys, by score_row_of(), and those that
 * a key's steps need are fields of score_row. The following are not printed step by step:
 *
 *  - Integers that are linear in the key, such as q - k, are converted to float only once per tile:
 *    below 2^24 adding the key's offset is exact, and a conversion costs as much as an exponential.
 *    |p - k| needs no absolute value where a causal mask hides keys after p.
 *  - A logit that is a core plus other terms is in the unit of its core; the scaling is left to the
 *    exponential, as without any steps, and the terms are converted to that unit. The core is the
 *    score, in the unit of products, or a softcap, a product, or any other step.
 *  - A softcap X tanh(y) is X - 2 X / (1 + e^2y): the unit 2 X is left to the exponential, and the
 *    constant X to the row. A softcap of products is in the unit ln(2), so that the exponential
 *    needs no factor; if no y of a tile is large, a polynomial is used instead (score.cuh).
 *  - The part that a row's logits in a tile have in common is the tile's base. It is subtracted
 *    from the row's maximum, and costs nothing per score. For a term that is linear in the key the
 *    base includes the value at the lane's first key, if that is large; the remaining part is one
 *    multiply-add per key. If it is small (in tiles near the diagonal, for example), rounding a
 *    base that is larger than the term would be a significant error: see is_near().
 */
#include "score_parts.h"

#include <stdlib.h>
#include <string.h>

#include "../../problem/operand.h"

#define NEAR 3 /* a linear number within this many tiles of zero is near it */

static void print_macros(const heed_score *p)
{
    bool rises = false;
    int count = 0, packed = 0;
    for (int i = 0; i < p->program.count; i++) {
        count += heed_score_read_ahead(p, i) != NULL;
        if (heed_score_read_ahead(p, i) && (heed_score_type_of(p, i) == HEED_DATA_BITS ||
                                            heed_score_type_of(p, i) == HEED_DATA_BYTES))
            packed = heed_score_type_of(p, i) == HEED_DATA_BITS ? 1 : 2;
    }
    for (int i = 0; i < p->term_count; i++)
        rises = rises || heed_score_factors_of(p, p->terms[i].step).rises;
    if (heed_score_staged(p) >= 0)
        PRINT(p, "#define STEPS_STAGED %d\n", count > 1 ? 2 : 1);
    PRINT(p,
          "#define STEPS_READ_AHEAD %d\n#define STEPS_RISE %d\n#define STEPS_PACKED %d\n"
          "#define STEPS_CAP %d\n\n",
          count > 0, rises, packed, p->caps_products);
}

static void print_fields(const heed_score *p)
{
    PRINT(p, "typedef struct score_row {\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & IN_FIELD)
            PRINT(p, "    %s v%d;\n", heed_score_kind_name(heed_score_step(p, i)->kind), i);
        if (p->marks[i] & AS_FLOAT)
            PRINT(p, "    i32 w%d;\n", i);
        if (p->marks[i] & IN_UNIT)
            PRINT(p, "    float unit%d;\n", i);
        if (p->marks[i] & AS_PLACE)
            PRINT(p, "    const u8 *p%d;\n", i);
    }
    PRINT(p, "} score_row;\n\n"
             "typedef struct score_tile {\n    u32 tile, within;\n    i32 left;\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & AS_FLOAT)
            PRINT(p, "    float f%d;\n", i);
        if (p->marks[i] & AS_PLACE && heed_score_type_of(p, i) != HEED_DATA_BITS)
            PRINT(p, "    const u8 *p%d;\n", i);
        if (heed_score_read_ahead(p, i))
            PRINT(p, "    step_ahead a%d;\n", i);
    }
    PRINT(p, "} score_tile;\n\n");
}

static void print_row_fields(const heed_score *p, int i)
{
    heed_score_rising number;
    if (p->marks[i] & IN_FIELD)
        PRINT(p, "    row.v%d = v%d;\n", i, i);
    if (p->marks[i] & AS_FLOAT && heed_score_find_rising(p, i, &number)) {
        PRINT(p, "    row.w%d = ", i);
        heed_score_print_value(p, number.whole, true);
        PRINT(p, ";\n");
    }
    if (p->marks[i] & IN_UNIT) {
        heed_score_factors f = heed_score_factors_of(p, i);
        PRINT(p, "    row.unit%d = args->changes.inverse", i);
        for (int k = 0; k < f.rows; k++) {
            PRINT(p, f.divides[k] ? " / " : " * ");
            heed_score_print_value(p, f.row[k], true);
        }
        PRINT(p, ";\n");
    }
    if (p->marks[i] & AS_PLACE) {
        PRINT(p, "    row.p%d = ", i);
        heed_score_print_place(p, heed_score_step(p, i), true);
        PRINT(p, ";\n");
    }
}

static void print_row(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE score_row score_row_of(const heed_cuda_args *args, u32 batch, u32 head,\n"
             "                                   u32 query)\n{\n"
             "    score_row row;\n"
             "    (void)args;\n    (void)batch;\n    (void)head;\n    (void)query;\n");
    for (int i = 0; i < p->program.count; i++)
        if (p->marks[i] & IN_ROW && !heed_score_constant(p, i))
            heed_score_print_step(p, i, true);
    for (int i = 0; i < p->program.count; i++)
        print_row_fields(p, i);
    PRINT(p, "    return row;\n}\n\n");
}

/* The address of the elements of the lane's first key; for bits, that of the row. */
static void print_tile_place(const heed_score *p, int i)
{
    heed_data type = heed_score_type_of(p, i);
    const char *ahead = heed_score_read_ahead(p, i);
    bool bits = type == HEED_DATA_BITS;
    if (!bits)
        PRINT(p, "    at.p%d = row->p%d + %du * (u64)(tile + within);\n", i, i,
              (int)heed_data_size(type));
    if (bits)
        PRINT(p,
              "    step_read_bits(&at.a%d, row->p%d, tile, at.left + (i32)within, whole, how);\n",
              i, i);
    else if (ahead)
        PRINT(p, "    step_read_%s(&at.a%d, at.p%d%s, at.left, whole, how);\n", ahead, i, i,
              type == HEED_DATA_BYTES ? ", within" : "");
}

static void print_tile(const heed_score *p)
{
    heed_score_rising number;
    PRINT(p,
          "HEED_DEVICE score_tile score_tile_of(const heed_cuda_args *args, const score_row *row,\n"
          "                                     u32 tile, u32 within, const int whole,\n"
          "                                     const int how)\n{\n"
          "    score_tile at;\n    at.tile = tile;\n    at.within = within;\n"
          "    at.left = (i32)(args->seq_k - tile - within);\n"
          "    (void)row;\n    (void)whole;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & AS_FLOAT && heed_score_find_rising(p, i, &number))
            PRINT(p, "    at.f%d = (float)(row->w%d + %d * (i32)(tile + within));\n", i, i,
                  (int)number.rise);
        if (p->marks[i] & AS_PLACE)
            print_tile_place(p, i);
    }
    PRINT(p, "    return at;\n}\n\n");
}

static void print_staged(const heed_score *p)
{
    int i = heed_score_staged(p);
    if (i >= 0)
        PRINT(p,
              "HEED_DEVICE step_ahead *staged_of(score_tile *at)\n{\n"
              "    return &at->a%d;\n}\n\n",
              i);
}

static void print_ready(const heed_score *p)
{
    PRINT(p,
          "HEED_DEVICE void score_tile_ready(score_tile *at, score_tile *other, const int first,\n"
          "                                  const int how)\n{\n"
          "    (void)at;\n    (void)other;\n    (void)first;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        const char *ahead = heed_score_read_ahead(p, i);
        if (ahead && strcmp(ahead, "bits") == 0)
            PRINT(p, "    step_pack_bits(&at->a%d, at->within, how);\n", i);
        else if (ahead && strcmp(ahead, "bytes") == 0)
            PRINT(p,
                  "    if (first)\n"
                  "        step_pack_bytes(&at->a%d, &other->a%d, at->within, how);\n",
                  i, i);
    }
    PRINT(p, "}\n\n");
}

/* Prints the packed ones among the conditions whose conjunction is @i. */
static void print_any_packed(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const char *ahead = heed_score_read_ahead(p, i);
    if (step->op == HEED_OP_AND) {
        print_any_packed(p, step->a);
        print_any_packed(p, step->b);
    }
    if (ahead && strcmp(ahead, "halves") != 0)
        PRINT(p, "    if (how & STEP_AHEAD && %s && !step_any(&at->a%d))\n        return 0;\n",
              strcmp(ahead, "bits") == 0 ? "AHEAD_BITS" : "AHEAD_WIDE", i);
}

static void print_any_visible(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE int is_any_visible(const score_tile *at, const int how)\n{\n"
             "    (void)at;\n    (void)how;\n");
    if (p->program.visible >= 0)
        print_any_packed(p, p->program.visible);
    PRINT(p, "    return 1;\n}\n\n");
}

/* A number that is linear in the key, at the lane's first key, with its sign. */
static void print_first(const heed_score *p, const heed_score_factors *f)
{
    PRINT(p,
          f->number.sign == 0  ? "ptx_abs(at->f%d)"
          : f->number.sign < 0 ? "(-at->f%d)"
                               : "at->f%d",
          f->key);
}

static void print_factor(const heed_score *p, int step, const heed_score_factors *f)
{
    if (f->rows > 0)
        PRINT(p, "row->unit%d", step);
    else
        PRINT(p, "args->changes.inverse");
}

/* Prints is_near(): true if a term's linear number is so near zero in the tile that it is not part
 * of the base. */
static void print_near(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE int is_near(const score_tile *at)\n{\n    (void)at;\n    return 0");
    for (int i = 0; i < p->term_count; i++) {
        heed_score_factors f = heed_score_factors_of(p, p->terms[i].step);
        if (f.rises)
            PRINT(p, " || ptx_abs(at->f%d) < %d.0f * STEP_KEYS", f.key,
                  NEAR * abs((int)f.number.rise));
    }
    PRINT(p, ";\n}\n\n");
}

static void print_base(const heed_score *p)
{
    print_near(p);
    PRINT(p,
          "HEED_DEVICE float base_of(const heed_cuda_args *args, const score_row *row,\n"
          "                          const score_tile *at, const int how)\n{\n"
          "    float base = %s;\n"
          "    (void)args;\n    (void)row;\n    (void)at;\n    (void)how;\n",
          p->caps_products ? "cap_base(args, how)"
          : p->capped      ? "0.5f"
                           : "0.0f");
    for (int i = 0; i < p->term_count; i++) {
        heed_score_factors f = heed_score_factors_of(p, p->terms[i].step);
        char sign = p->terms[i].less ? '-' : '+';
        if (f.key < 0) {
            PRINT(p, "    base = base %c row->unit%d;\n", sign, p->terms[i].step);
        } else if (f.rises) {
            PRINT(p, "    if (how & STEP_FAR)\n        base = base %c ", sign);
            print_factor(p, p->terms[i].step, &f);
            PRINT(p, " * ");
            print_first(p, &f);
            PRINT(p, ";\n");
        }
    }
    PRINT(p, "    return base;\n}\n\n");
}

static void print_head(const heed_score *p, const char *what)
{
    PRINT(p,
          "HEED_DEVICE %s\n{\n    (void)args;\n    (void)row;\n    (void)at;\n    (void)c;\n"
          "    (void)whole;\n    (void)how;\n",
          what);
}

/* The core, in its unit. */
static void print_core(const heed_score *p, bool done[HEED_STEPS_MAX])
{
    if (p->core < 0 || p->products)
        return;
    if (p->caps_products) {
        PRINT(p, "    score = step_cap(args, score, how);\n");
        return;
    }
    heed_score_print_of_key(p, p->core, done);
    PRINT(p, p->capped ? "    score = ptx_rcp(-1.0f - ptx_ex2(" : "    score = ");
    heed_score_print_value(p, p->core, false);
    if (p->capped) {
        PRINT(p, " * ");
        heed_score_print_float(p, (float)p->stretch);
    }
    PRINT(p, p->capped ? "));\n" : ";\n");
}

/* The part of a far linear term that is not in the base: that of the key's offset. */
static void print_far(const heed_score *p, const heed_score_term *it, const heed_score_factors *f)
{
    int rise = (int)f->number.rise * (f->number.sign < 0 ? -1 : 1);
    PRINT(p, "    if (how & STEP_FAR)\n        score = score + ");
    if (f->number.sign == 0)
        PRINT(p, "step_signed(");
    print_factor(p, it->step, f);
    if (f->number.sign == 0)
        PRINT(p, ", at->f%d)", f->key);
    PRINT(p, " * (float)(%d * (i32)c);\n    else\n    ", it->less ? -rise : rise);
}

/* A term in the unit of the logit. */
static void print_term(const heed_score *p, const heed_score_term *it, bool done[HEED_STEPS_MAX])
{
    heed_score_factors f = heed_score_factors_of(p, it->step);
    if (f.key < 0)
        return;
    heed_score_print_of_key(p, f.key, done);
    if (f.rises)
        print_far(p, it, &f);
    PRINT(p, "    score = score %c ", it->less ? '-' : '+');
    print_factor(p, it->step, &f);
    PRINT(p, " * ");
    heed_score_print_value(p, f.key, false);
    PRINT(p, ";\n");
}

static void print_score(const heed_score *p)
{
    bool done[HEED_STEPS_MAX] = { false };
    print_head(p, "float score_of(const heed_cuda_args *args, const score_row *row,\n"
                  "                           const score_tile *at, float score, u32 c,\n"
                  "                           const int whole, const int how)");
    print_core(p, done);
    for (int i = 0; i < p->term_count; i++)
        print_term(p, &p->terms[i], done);
    PRINT(p, "    return score;\n}\n\n");
}

static void print_visible(const heed_score *p)
{
    bool done[HEED_STEPS_MAX] = { false };
    int visible = p->program.visible;
    print_head(p, "int is_visible(const heed_cuda_args *args, const score_row *row,\n"
                  "                           const score_tile *at, u32 c, const int whole,\n"
                  "                           const int how)");
    if (visible >= 0)
        heed_score_print_of_key(p, visible, done);
    PRINT(p, "    return ");
    if (visible >= 0)
        heed_score_print_value(p, visible, false);
    else
        PRINT(p, "1");
    PRINT(p, ";\n}\n");
}

size_t heed_cuda_print_program(const heed_problem *problem, char *text, size_t size)
{
    heed_text to = { .data = text, .size = size };
    heed_score p;
    heed_score_start(&p, problem);
    if (p.root < 0 && p.program.visible < 0)
        return heed_text_none(text, size);
    p.text = &to;
    heed_score_need_all(&p);
    print_macros(&p);
    print_fields(&p);
    print_row(&p);
    print_tile(&p);
    print_staged(&p);
    print_ready(&p);
    print_any_visible(&p);
    print_base(&p);
    print_score(&p);
    print_visible(&p);
    heed_score_print_sight(&p);
    return to.length;
}
