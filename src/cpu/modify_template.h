/*
 * modify_template.h - programs of logits over vectors
 *
 * An interpreter whose instructions work on a whole patch: the price of finding out which one is
 * next is paid once for some hundreds of elements. heed_program_apply() says what each means; exp,
 * log and tanh are a few units in the last place from exact. Values are 32 bits per lane: a float,
 * an integer, or a bool, all of whose bits are set where it is true.
 *
 * Parameters, defined by the file that includes this template after simd_*.h:
 *
 *     MODIFIER  the heed_modifier to define
 */
#include <math.h>
#include <string.h>

#include "../operand.h"
#include "cpu.h"
#include "modify.h"

#define CACHE_LINE 64
#define VECTORS HEED_PATCH_VECTORS

typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint32_t vu __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef double vd __attribute__((vector_size(LANES * sizeof(double))));
typedef uint8_t vb __attribute__((vector_size(LANES)));

/* The data of one step. */
typedef struct frame {
    const heed_modify *m;
    const heed_patch_rows *rows; /* where values of rows are computed */
    float *bases[HEED_BASES];
    int64_t outer;
    int64_t turns; /* of a loop over all of a patch */
    int64_t key;
} frame;

static inline vf spread(int32_t whole)
{
    return (vf)((vi){ 0 } + whole);
}

static inline vf choose(vi condition, vf a, vf b)
{
    return v_choose((vf)condition, a, b);
}

/* -------------------------------------------------------------------------- */
/* Functions                                                                  */
/* -------------------------------------------------------------------------- */

#define LOG2_E 0x1.715476p+0F
#define LN_2_HIGH 0x1.62e4p-1F /* of so few bits that its product with an exponent is exact */
#define LN_2_LOW 0x1.7f7d1cp-20F
#define ROUNDING 0x1.8p23F /* adding it leaves a whole number in the last bits */

static inline vf absolute(vf x)
{
    return (vf)((vi)x & INT32_MAX);
}

static inline vf with_sign(vf size, vf sign)
{
    return (vf)((vi)size | ((vi)sign & INT32_MIN));
}

/* 2^n of whole numbers from -126 to 127. */
static inline vf power(vi n)
{
    return (vf)((n + 127) << 23);
}

/* e^x = 2^n (1 + rest): the rest, for x so small that n is below 256. */
static inline vf exponential_rest(vf x, vi *n)
{
    vf shifted = x * v_set(LOG2_E) + v_set(ROUNDING);
    vf whole = shifted - v_set(ROUNDING);
    vf r = v_fma(whole, v_set(-LN_2_HIGH), x);
    r = v_fma(whole, v_set(-LN_2_LOW), r);
    vf p = v_set(0x1.6d1106p-10F);
    p = v_fma(p, r, v_set(0x1.120b6cp-7F));
    p = v_fma(p, r, v_set(0x1.55551ap-5F));
    p = v_fma(p, r, v_set(0x1.5554dcp-3F));
    p = v_fma(p, r, v_set(0.5F));
    *n = (vi)shifted - (vi)v_set(ROUNDING);
    return v_fma(p * r, r, r);
}

/* In two steps of 2^n, since n may be -150 or 128. */
static inline vf exponential(vf x)
{
    vi n;
    vf limited = choose(x > 89.0F, v_set(89.0F), x);
    limited = choose(x < -104.0F, v_set(-104.0F), limited);
    vf y = 1.0F + exponential_rest(limited, &n);
    vi half = n >> 1;
    return y * power(half) * power(n - half);
}

/* (e^2|x| - 1) / (e^2|x| + 1); e^2|x| - 1 loses nothing where x is small. */
static inline vf hyperbolic_tangent(vf x)
{
    vi n;
    vf size = absolute(x);
    vf twice = 2.0F * choose(size > 10.0F, v_set(10.0F), size);
    vf rest = exponential_rest(twice, &n);
    vf scale = power(n);
    vf less_one = v_fma(scale, rest, scale - 1.0F);
    return with_sign(less_one / (less_one + 2.0F), x);
}

/* n ln 2 + 2 artanh(s), for x = 2^n m, m near 1, and s = (m - 1) / (m + 1). */
static inline vf logarithm(vf x)
{
    vi small = x < 0x1p-126F;
    vi bits = (vi)choose(small, x * 0x1p23F, x);
    const int32_t root = 0x3f3504f3; /* of 1/2 */
    vi n = (bits - root) >> 23;
    vf m = (vf)(bits - (vi)((vu)n << 23));
    vf exponent = __builtin_convertvector(n - (small & 23), vf);
    vf f = m - 1.0F;
    vf s = f / (f + 2.0F);
    vf z = s * s;
    vf p = v_set(0x1.ddd172p-3F);
    p = v_fma(p, z, v_set(0x1.245c38p-2F));
    p = v_fma(p, z, v_set(0x1.9999ecp-2F));
    p = v_fma(p, z, v_set(0x1.555556p-1F));
    /* 2 s = f - s f, which is exact but for a term that is small beside it */
    vf y = v_fma(s, v_fma(p, z, -f), v_fma(exponent, v_set(LN_2_LOW), f));
    y = v_fma(exponent, v_set(LN_2_HIGH), y);
    y = choose(x == 0.0F, v_set(-INFINITY), y);
    y = choose(x < 0.0F, v_set(NAN), y);
    return choose((vi)(x < INFINITY), y, x); /* infinity and NaN stay */
}

static inline vf round_down(vf x)
{
    const vf limit = v_set(0x1p23F);
    vf size = absolute(x);
    vf whole = with_sign(size + limit - limit, x);
    vf down = whole - (vf)((whole > x) & (vi)v_set(1.0F));
    return choose(size < limit, down, x);
}

static inline vf to_whole(vf x)
{
    vi inside = absolute(x) < 0x1p31F;
    vi whole = __builtin_convertvector((vf)((vi)x & inside), vi);
    vi beyond = ((vi)(x > 0.0F) & INT32_MAX) | ((vi)(x < 0.0F) & INT32_MIN);
    return choose(inside, (vf)whole, (vf)beyond);
}

/* Rounded down; in float64 the quotient of two whole numbers never rounds to a whole number that it
 * is not. */
static inline vi divide(vi a, vi b)
{
    vi ordinary = (b != 0) & (b != -1);
    vi divisor = (b & ordinary) | (1 & ~ordinary);
    vd quotient = __builtin_convertvector(a, vd) / __builtin_convertvector(divisor, vd);
    vi whole = __builtin_convertvector(quotient, vi);
    vd back = __builtin_convertvector(whole, vd);
    whole += __builtin_convertvector(back > quotient, vi);
    vi negative = (vi)(-(vu)a);
    return (whole & ordinary) | (negative & (b == -1));
}

/* -------------------------------------------------------------------------- */
/* Steps                                                                      */
/* -------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) vf apply_float(int op, vf a, vf b)
{
    switch (op) {
    case HEED_OP_ADD:
        return a + b;
    case HEED_OP_SUB:
        return a - b;
    case HEED_OP_MUL:
        return a * b;
    case HEED_OP_DIV:
        return a / b;
    case HEED_OP_MIN:
        return choose((a < b) | (a != a), a, b);
    case HEED_OP_MAX:
        return choose((a > b) | (a != a), a, b);
    case HEED_OP_NEG:
        return -a;
    case HEED_OP_ABS:
        return absolute(a);
    case HEED_OP_EXP:
        return exponential(a);
    case HEED_OP_LOG:
        return logarithm(a);
    case HEED_OP_TANH:
        return hyperbolic_tangent(a);
    case HEED_OP_SQRT:
        return v_sqrt(a);
    case HEED_OP_FLOOR:
        return round_down(a);
    case HEED_OP_TO_INT:
        return to_whole(a);
    case HEED_OP_LESS:
        return (vf)(a < b);
    case HEED_OP_LESS_EQUAL:
        return (vf)(a <= b);
    case HEED_OP_EQUAL:
        return (vf)(a == b);
    default:
        return (vf)(a != b);
    }
}

/* Sums and products of whole numbers wrap around. */
static inline __attribute__((always_inline)) vi apply_whole(int op, vi a, vi b)
{
    switch (op) {
    case HEED_OP_ADD:
        return (vi)((vu)a + (vu)b);
    case HEED_OP_SUB:
        return (vi)((vu)a - (vu)b);
    case HEED_OP_MUL:
        return (vi)((vu)a * (vu)b);
    case HEED_OP_DIV:
        return divide(a, b);
    case HEED_OP_MOD:
        return (vi)((vu)a - (vu)b * (vu)divide(a, b));
    case HEED_OP_MIN:
        return (vi)choose(a < b, (vf)a, (vf)b);
    case HEED_OP_MAX:
        return (vi)choose(a > b, (vf)a, (vf)b);
    case HEED_OP_NEG:
        return (vi)(-(vu)a);
    case HEED_OP_ABS:
        return (vi)choose(a < 0, (vf)(vi)(-(vu)a), (vf)a);
    case HEED_OP_LESS:
        return a < b;
    case HEED_OP_LESS_EQUAL:
        return a <= b;
    case HEED_OP_EQUAL:
        return a == b;
    case HEED_OP_NOT_EQUAL:
        return a != b;
    case HEED_OP_AND:
        return a & b;
    case HEED_OP_OR:
        return a | b;
    default:
        return ~a;
    }
}

static inline __attribute__((always_inline)) vf apply(int op, heed_kind from, vf a, vf b, vf c)
{
    if (op == HEED_OP_SELECT)
        return choose((vi)a, b, c);
    if (op == HEED_OP_TO_FLOAT)
        return __builtin_convertvector(from == HEED_KIND_BOOL ? -(vi)a : (vi)a, vf);
    if (op == HEED_OP_TO_INT && from == HEED_KIND_BOOL)
        return (vf)(-(vi)a);
    if (from == HEED_KIND_FLOAT)
        return apply_float(op, a, b);
    return (vf)apply_whole(op, (vi)a, (vi)b);
}

/* How far apart the vectors of a value are from one turn of a loop over a patch to the next: along
 * outer, where rows go along the lanes, else along inner. */
static inline int64_t stride_of(const frame *f, const heed_spot *spot)
{
    return f->m->grid.rows ? spot->outer : spot->inner;
}

/* One step, @vectors in each turn; @op, @from and @vectors are constants. */
static inline __attribute__((always_inline)) void turns(const frame *f, const heed_modify_step *x,
                                                        int op, heed_kind from, int vectors)
{
    const heed_spot *a = &x->from_spots[0], *b = &x->from_spots[1], *c = &x->from_spots[2];
    const int64_t to_stride = stride_of(f, &x->to), a_stride = stride_of(f, a);
    const int64_t b_stride = stride_of(f, b), c_stride = stride_of(f, c);
    const int64_t a_inner = a->inner, b_inner = b->inner, c_inner = c->inner;
    const float *first = f->bases[a->base] + a->offset;
    const float *second = f->bases[b->base] + b->offset;
    const float *third = f->bases[c->base] + c->offset;
    float *to = f->bases[x->to.base] + x->to.offset;
    for (int64_t turn = to_stride ? f->turns : 1; turn > 0; turn--) {
        vf result[VECTORS];
        for (int i = 0; i < vectors; i++)
            result[i] = apply(op, from, v_load(first + i * a_inner), v_load(second + i * b_inner),
                              v_load(third + i * c_inner));
        for (int i = 0; i < vectors; i++)
            v_store(to + i * LANES, result[i]);
        to += to_stride;
        first += a_stride;
        second += b_stride;
        third += c_stride;
    }
}

/* One step for all of its vectors; @op and @from are constants. */
static inline __attribute__((always_inline)) void each(const frame *f, const heed_modify_step *x,
                                                       int op, heed_kind from)
{
    if (f->m->grid.rows && x->to.inner)
        turns(f, x, op, from, VECTORS);
    else
        turns(f, x, op, from, 1);
}

/* -------------------------------------------------------------------------- */
/* Loads                                                                      */
/* -------------------------------------------------------------------------- */

static inline int64_t clamp(int64_t index, int64_t size)
{
    return index < 0 ? 0 : index < size ? index : size - 1;
}

/* Lane @lane of a value, @at being the vectors of its place along outer. */
static inline int32_t lane_of(const float *at, const heed_spot *spot, int64_t lane)
{
    int32_t whole;
    memcpy(&whole, at + lane / LANES * spot->inner + lane % LANES, sizeof whole);
    return whole;
}

/* Where the first @count indices lead. */
static inline int64_t offset_of(const frame *f, const heed_modify_step *x, int count, int64_t outer,
                                int64_t lane)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    int64_t offset = 0;
    for (int d = 0; d < count; d++) {
        const heed_spot *spot = &x->from_spots[d];
        const float *at = f->bases[spot->base] + spot->offset + outer * spot->outer;
        offset += clamp(lane_of(at, spot, lane), source->size[d]) * source->stride[d];
    }
    return offset;
}

static void run_offsets(const frame *f, const heed_modify_step *x)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    char *to = (char *)(f->bases[x->to.base] + x->to.offset);
    const int64_t lanes = x->to.inner ? f->m->grid.inner * LANES : 1;
    for (int64_t lane = 0; lane < lanes; lane++) {
        int64_t offset = offset_of(f, x, source->rank - 1, 0, lane);
        memcpy(to + lane * (int64_t)sizeof offset, &offset, sizeof offset);
    }
}

static inline int64_t kept_offset(const frame *f, const heed_modify_step *x, int64_t lane)
{
    const heed_spot *spot = &x->from_spots[0];
    int64_t offset;
    memcpy(&offset,
           (const char *)(f->bases[spot->base] + spot->offset) + lane * (int64_t)sizeof offset,
           sizeof offset);
    return offset;
}

/* Elements at any indices. */
static void run_load(const frame *f, const heed_modify_step *x)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const int64_t outer = x->to.outer ? f->outer : 1;
    const int64_t lanes = x->to.inner ? f->m->grid.inner * LANES : 1;
    for (int64_t o = 0; o < outer; o++) {
        float *to = f->bases[x->to.base] + x->to.offset + o * x->to.outer;
        int32_t whole = 0;
        for (int64_t lane = 0; lane < lanes; lane++) {
            const heed_spot *last = &x->from_spots[source->rank - 1];
            int64_t row = offset_of(f, x, source->rank - 1, o, lane);
            const float *at = f->bases[last->base] + last->offset + o * last->outer;
            int64_t index = clamp(lane_of(at, last, lane), source->size[source->rank - 1]);
            whole = heed_modify_element(source, data, row, index);
            memcpy(to + lane, &whole, sizeof whole);
        }
        if (lanes == 1) /* the same in all of them */
            v_store(to, spread(whole));
    }
}

/* LANES elements from number @key of a row on; @type is a constant. */
static inline __attribute__((always_inline)) vf read_vector(const void *data, heed_data type,
                                                            int64_t row, int64_t key)
{
    const char *bytes = data;
    uint32_t word;
    vb small;
    switch (type) {
    case HEED_DATA_F16:
        return v_load_f16((const uint16_t *)data + row + key);
    case HEED_DATA_BF16:
        return v_load_bf16((const uint16_t *)data + row + key);
    case HEED_DATA_BYTES:
        memcpy(&small, bytes + row + key, sizeof small);
        return (vf)(__builtin_convertvector(small, vi) != 0);
    case HEED_DATA_BITS: {
        vi bit;
        for (int i = 0; i < LANES; i++)
            bit[i] = 1 << i;
        memcpy(&word, bytes + (row + key / 32) * (int64_t)sizeof word, sizeof word);
        return (vf)(((vi)spread((int32_t)(word >> key % 32)) & bit) != 0);
    }
    default:
        return v_load((const float *)data + row + key);
    }
}

/* The same where the row may end, or a word of bits. */
static vf read_end(const heed_load *source, const void *data, int64_t row, int64_t key)
{
    int32_t lanes[LANES];
    float wide[LANES];
    for (int64_t i = 0; i < LANES; i++)
        lanes[i] = heed_modify_element(source, data, row,
                                       clamp(key + i, source->size[source->rank - 1]));
    memcpy(wide, lanes, sizeof wide);
    return v_load(wide);
}

/* Where rows go along the lanes: LANES keys of LANES rows, turned. @type and @whole, that all of
 * the keys are there, are constants. */
static inline __attribute__((always_inline)) void read_block(const heed_load *source,
                                                             const void *data, heed_data type,
                                                             bool whole, const char *offsets,
                                                             int64_t key, float *to, int64_t stride)
{
    vf block[LANES];
    for (int64_t i = 0; i < LANES; i++) {
        int64_t row;
        memcpy(&row, offsets + i * (int64_t)sizeof row, sizeof row);
        block[i] = whole ? read_vector(data, type, row, key) : read_end(source, data, row, key);
    }
    v_transpose(block);
    for (int64_t i = 0; i < LANES; i++)
        v_store(to + i * stride, block[i]);
}

/* Where all rows read the same keys. */
static inline __attribute__((always_inline)) void read_shared(const frame *f,
                                                              const heed_modify_step *x, vf keys,
                                                              int64_t v, float *to)
{
    if (!f->m->grid.rows)
        v_store(to + v * LANES, keys);
    else
        for (int64_t i = 0; i < LANES; i++)
            v_store(to + (v * LANES + i) * x->to.outer, v_set(keys[i]));
}

/* Are the LANES keys from @key on there, in one word if they are bits? */
static inline bool is_whole(const heed_load *source, int64_t key)
{
    return key + LANES <= source->size[source->rank - 1] &&
           (source->type != HEED_DATA_BITS || key % LANES == 0);
}

/* All keys of some rows before the next ones: their cache lines may lie in the same few places of
 * the cache. @type is that of the source, a constant. */
static inline __attribute__((always_inline)) void read_rows(const frame *f,
                                                            const heed_modify_step *x,
                                                            heed_data type, float *to)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const heed_spot *spot = &x->from_spots[0];
    const char *offsets = (const char *)(f->bases[spot->base] + spot->offset);
    for (int64_t i = 0; i < VECTORS; i++, offsets += LANES * sizeof(int64_t))
        for (int64_t j = 0; j < f->outer; j += LANES) {
            float *block = to + j * x->to.outer + i * LANES;
            if (is_whole(source, f->key + j))
                read_block(source, data, type, true, offsets, f->key + j, block, x->to.outer);
            else
                read_block(source, data, type, false, offsets, f->key + j, block, x->to.outer);
        }
}

/* @type is that of the source, a constant. */
static inline __attribute__((always_inline)) void read_as(const frame *f, const heed_modify_step *x,
                                                          heed_data type)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const int64_t vectors = f->m->grid.rows ? heed_div_up(f->outer, LANES) : f->m->grid.inner;
    float *to = f->bases[x->to.base] + x->to.offset;
    if (f->m->grid.rows && x->to.inner) {
        read_rows(f, x, type, to);
        return;
    }
    for (int64_t v = 0; v < vectors; v++) {
        const int64_t key = f->key + v * LANES, row = kept_offset(f, x, 0);
        read_shared(f, x,
                    is_whole(source, key) ? read_vector(data, type, row, key)
                                          : read_end(source, data, row, key),
                    v, to);
    }
}

static void run_read(const frame *f, const heed_modify_step *x)
{
    switch (f->m->sources[x->value.whole].type) {
    case HEED_DATA_F16:
        read_as(f, x, HEED_DATA_F16);
        break;
    case HEED_DATA_BF16:
        read_as(f, x, HEED_DATA_BF16);
        break;
    case HEED_DATA_BYTES:
        read_as(f, x, HEED_DATA_BYTES);
        break;
    case HEED_DATA_BITS:
        read_as(f, x, HEED_DATA_BITS);
        break;
    default:
        read_as(f, x, HEED_DATA_F32);
    }
}

/* -------------------------------------------------------------------------- */
/* Programs                                                                   */
/* -------------------------------------------------------------------------- */

/* Numbers of rows or keys, batch elements, constants. */
static void run_leaf(const frame *f, const heed_modify_step *x)
{
    const heed_grid *grid = &f->m->grid;
    float *to = f->bases[x->to.base] + x->to.offset;
    const int64_t vectors = x->to.inner ? grid->inner : 1;
    if (x->op == HEED_OP_KEY && grid->rows) {
        for (int64_t o = 0; o < f->outer; o++)
            v_store(to + o * x->to.outer, spread((int32_t)(f->key + o)));
        return;
    }
    for (int64_t lane = 0; lane < vectors * LANES; lane++) {
        int64_t row = x->to.inner ? lane : 0;
        int64_t whole = x->op == HEED_OP_KEY        ? f->key + lane
                        : x->op == HEED_OP_QUERY    ? f->rows->query[row]
                        : x->op == HEED_OP_POSITION ? f->rows->query[row] + f->m->first_position
                        : x->op == HEED_OP_HEAD     ? f->rows->head[row]
                        : x->op == HEED_OP_BATCH    ? f->rows->batch
                        : x->op == HEED_OP_BOOL     ? -(int64_t)x->value.whole
                                                    : x->value.whole;
        uint32_t bits = (uint32_t)whole;
        memcpy(to + lane, &bits, sizeof bits);
    }
}

/* Every operation, of values of every kind that it takes, as code of its own. */
#define KEY_OF(op, from) ((op)*3 + (int)(from))
#define CASE(op, from)                    \
    case KEY_OF(op, HEED_KIND_##from):    \
        each(f, x, op, HEED_KIND_##from); \
        break
#define CASE_NUMBER(op) \
    CASE(op, FLOAT);    \
    CASE(op, INT)
#define CASE_ANY(op) \
    CASE_NUMBER(op); \
    CASE(op, BOOL)

static void run_arithmetic(const frame *f, const heed_modify_step *x)
{
    switch (KEY_OF(x->op, x->from)) {
        CASE_NUMBER(HEED_OP_ADD);
        CASE_NUMBER(HEED_OP_SUB);
        CASE_NUMBER(HEED_OP_MUL);
        CASE_NUMBER(HEED_OP_DIV);
        CASE(HEED_OP_MOD, INT);
        CASE_NUMBER(HEED_OP_MIN);
        CASE_NUMBER(HEED_OP_MAX);
        CASE_NUMBER(HEED_OP_NEG);
        CASE_NUMBER(HEED_OP_ABS);
        CASE(HEED_OP_EXP, FLOAT);
        CASE(HEED_OP_LOG, FLOAT);
        CASE(HEED_OP_TANH, FLOAT);
        CASE(HEED_OP_SQRT, FLOAT);
        CASE(HEED_OP_FLOOR, FLOAT);
        CASE(HEED_OP_TO_FLOAT, INT);
        CASE(HEED_OP_TO_FLOAT, BOOL);
        CASE(HEED_OP_TO_INT, FLOAT);
        CASE(HEED_OP_TO_INT, BOOL);
        CASE_NUMBER(HEED_OP_LESS);
        CASE_NUMBER(HEED_OP_LESS_EQUAL);
        CASE_ANY(HEED_OP_EQUAL);
        CASE_ANY(HEED_OP_NOT_EQUAL);
        CASE(HEED_OP_AND, BOOL);
        CASE(HEED_OP_OR, BOOL);
        CASE(HEED_OP_NOT, BOOL);
        CASE_ANY(HEED_OP_SELECT);
    }
}

static void run_step(const frame *f, const heed_modify_step *x)
{
    if (x->op == HEED_MODIFY_READ)
        run_read(f, x);
    else if (x->op == HEED_MODIFY_OFFSETS)
        run_offsets(f, x);
    else if (x->op == HEED_OP_LOAD)
        run_load(f, x);
    else if (x->op <= HEED_OP_BATCH)
        run_leaf(f, x);
    else
        run_arithmetic(f, x);
}

static void begin(const heed_modify *m, const heed_patch_rows *rows, float *kept)
{
    frame f = { .m = m, .rows = rows, .bases = { kept, kept, kept }, .outer = 1, .turns = 1 };
    for (int i = 0; i < m->kept_count; i++)
        run_step(&f, &m->steps[i]);
}

/* The rows that one step reads. */
static void prefetch_rows(const frame *f, const heed_modify_step *x, int64_t keys)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const int64_t size = (int64_t)heed_data_size(source->type);
    const int64_t together = source->type == HEED_DATA_BITS ? 32 : 1;
    const int64_t rows = f->m->grid.rows && x->to.inner ? f->m->grid.inner * LANES : 1;
    for (int64_t row = 0; row < rows; row++) {
        const char *from = (const char *)f->m->data[x->value.whole] +
                           (kept_offset(f, x, row) + f->key / together) * size;
        for (int64_t i = 0; i < heed_div_up(keys, together) * size; i += CACHE_LINE)
            __builtin_prefetch(from + i, 0, 2);
    }
}

static void prefetch(const heed_modify *m, const float *kept, int64_t key, int64_t keys)
{
    frame f = { .m = m, .bases = { (float *)kept }, .key = key };
    for (int i = m->kept_count; i < m->count; i++)
        if (m->steps[i].op == HEED_MODIFY_READ)
            prefetch_rows(&f, &m->steps[i], keys);
}

/* @vectors in each turn, a constant. */
static inline __attribute__((always_inline)) void finish_turns(const frame *f, float *logits,
                                                               int vectors)
{
    const heed_modify *m = f->m;
    const heed_spot *score = &m->score, *visible = &m->visible;
    const float *from = m->copies ? f->bases[score->base] + score->offset : logits;
    const int64_t from_inner = m->copies ? score->inner : LANES;
    const int64_t from_stride = m->copies ? stride_of(f, score) : vectors * LANES;
    const float *sees = f->bases[visible->base] + visible->offset;
    const int64_t sees_inner = visible->inner, sees_stride = stride_of(f, visible);
    const vf hidden = v_set(-INFINITY), all = spread(m->hides ? 0 : -1);
    for (int64_t turn = 0; turn < f->turns; turn++) {
        for (int i = 0; i < vectors; i++) {
            vi shown = (vi)v_load(sees + i * sees_inner) | (vi)all;
            v_store(logits + i * LANES, choose(shown, v_load(from + i * from_inner), hidden));
        }
        logits += vectors * LANES;
        from += from_stride;
        sees += sees_stride;
    }
}

/* Puts the logits in their place, and -infinity into that of hidden keys. */
static void finish(const frame *f, const heed_patch *patch)
{
    if (f->m->grid.rows)
        finish_turns(f, patch->logits, VECTORS);
    else
        finish_turns(f, patch->logits, 1);
}

static void run(const heed_modify *m, const heed_patch *patch)
{
    frame f = { .m = m,
                .bases = { (float *)patch->kept, patch->scratch, patch->logits },
                .outer = m->grid.rows ? patch->keys : 1,
                .turns = m->grid.rows ? patch->keys : m->grid.inner,
                .key = patch->key };
    for (int i = m->kept_count; i < m->count; i++)
        run_step(&f, &m->steps[i]);
    if (m->copies || m->hides)
        finish(&f, patch);
}

const heed_modifier MODIFIER = { .begin = begin, .prefetch = prefetch, .run = run };
