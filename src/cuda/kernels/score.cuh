/*
 * score.cuh - changed logits, hidden keys and sinks
 *
 * A problem's operands and expressions are a list of steps (src/problem/program.h), which
 * src/cuda/score/score_print.c prints as C: this is program.cuh, generated for each such kernel. It
 * has
 *
 *     score_row      values that are the same for all keys of a row
 *     score_row_of   computes them
 *     score_tile     values for a row and a tile
 *     score_tile_of  computes them
 *     score_of       the logit of a score, less the row's base in the tile, in the unit that
 *                    args->changes has: HEED_MODIFIES
 *     score_tile_ready  prepares elements of a row that were read ahead for the following
 *                    functions; bytes of the other row too, if this one is the first of two. Called
 *                    by all lanes of the warp
 *     is_any_visible  false if the row sees none of the lane's keys in the tile, as far as
 *                    packed bits show
 *     base_of        that base, in the same unit
 *     is_near        true if STEP_FAR is invalid for the tile
 *     is_visible     true if the row sees the key: HEED_HIDES
 *
 * with HEED_LISTS the functions for sight.cuh, for STEPS_SEEN steps, and the flags
 * STEPS_READ_AHEAD, if score_tile_of can read elements of all the lane's keys, STEPS_STAGED, if
 * these are those of a bias (1), or also others (2), at staged_of(), STEPS_RISE, if
 * STEP_FAR makes a difference, and STEPS_CAP, if STEP_SMALL and STEP_TINY do: then the unit is
 * ln(2).
 *
 * A key is identified by its tile, the lane's first key within the tile, and an offset @c from
 * there, a constant. @whole: all keys of the tile exist. @how has bits:
 *
 *     STEP_PAIRS  the first key and @c / 2 * 2 are even, and operands may be read two keys at a
 *                 time
 *     STEP_AHEAD  score_tile_of() reads elements of all the lane's keys, so that their loads
 *                 overlap with other work; with STEP_PAIRS
 *     STEP_SEEN   steps hide no key of the tile from any row of the block
 *     STEP_FAR    terms that are linear in the key are in the base, with their values at the lane's
 *                 first key
 *     STEP_SMALL  is_small() holds for all the row's scores in the tile
 *     STEP_TINY   is_tiny() holds for all the row's scores in the tile
 *     STEP_STAGED  score_tile_of() does not read elements of the bias: the caller stores them in
 *                 *staged_of(), with STEP_AHEAD
 *
 * This file has the functions that the printed steps call.
 *
 * Hidden keys have no effect, whatever their values are: kernels with HEED_HIDES recompute rows
 * whose results are not finite.
 */
#ifndef HEED_SCORE_CUH
#define HEED_SCORE_CUH

#include "rows.cuh"

/* True if steps change logits; if they hide keys; if there is a sink. */
#ifndef HEED_MODIFIES
#define HEED_MODIFIES 0
#endif
#ifndef HEED_HIDES
#define HEED_HIDES 0
#endif
#ifndef HEED_SINKS
#define HEED_SINKS 0
#endif

/* True if any of these holds, so computing threads read operands. */
#ifndef HEED_CHANGES
#define HEED_CHANGES 0
#endif

/* 1: operands may be read two keys at a time. 2: and bytes along keys sixteen at a time. */
#ifndef HEED_PAIRS
#define HEED_PAIRS 0
#endif

/* Keys of a tile for steps, if it is a constant. */
#if defined HEED_TILE_KEYS && !defined STEP_TILE
#define STEP_TILE HEED_TILE_KEYS
#endif

#define STEP_PAIRS 1
#define STEP_AHEAD 2
#define STEP_FAR 4
#define STEP_SEEN (HEED_LISTS ? 8 : 0)
#define STEP_SMALL 16
#define STEP_TINY 32
#define STEP_STAGED 64

#define LOG2_E 1.44269504088896f

#if HEED_MODIFIES || HEED_HIDES

/* ---- Arithmetic ---- */

/* The hyperbolic tangent, with an error below 2^-22, as 1 - 2 / (1 + e^2x). */
HEED_DEVICE float step_tanh(float x)
{
    return ptx_fma(ptx_rcp(ptx_ex2(x * (2.0f * LOG2_E)) + 1.0f), -2.0f, 1.0f);
}

/* ---- A softcap of a product, less the base of cap_base() ---- */

/* True if y is small for all products up to @x. */
HEED_DEVICE int is_small(const heed_cuda_args *args, float x)
{
    return ptx_abs(x) <= args->changes.cap.small;
}

/* The square of a product, from which a polynomial for a tiny y follows. */
HEED_DEVICE float tiny_square(const heed_cuda_args *args, float x)
{
    return ptx_fma(x, x, args->changes.cap.shift);
}

/* True if y is tiny for some products; @bits has the bits of all their squares: none has a larger
 * exponent than the least square. */
HEED_DEVICE int is_tiny(const heed_cuda_args *args, u32 bits)
{
    return ptx_as_f32(bits) < args->changes.cap.limit;
}

/* X tanh(y) - X is -2 X / (1 + e^2y). The multiplication of the polynomial for a tiny y by @x is
 * left to the compiler, which then makes one instruction of it and of what follows. */
HEED_DEVICE float step_cap(const heed_cuda_args *args, float x, const int how)
{
    const heed_cuda_cap *cap = &args->changes.cap;
    if (how & STEP_TINY) {
        float square = tiny_square(args, x);
        float p = ptx_fma(square, cap->of_tiny[2], cap->of_tiny[1]);
        return x * ptx_fma(square, p, cap->of_tiny[0]);
    }
    if (how & STEP_SMALL) {
        float square = x * x;
        float p = ptx_fma(square, cap->of_small[3], cap->of_small[2]);
        p = ptx_fma(square, p, cap->of_small[1]);
        p = ptx_fma(square, p, cap->of_small[0]);
        return ptx_fma(x, p, -cap->top);
    }
    return ptx_rcp(ptx_fma(ptx_ex2(x * cap->stretch), cap->inverse, cap->inverse));
}

HEED_DEVICE float cap_base(const heed_cuda_args *args, const int how)
{
    return how & STEP_TINY ? 0.0f : args->changes.cap.top;
}

/* @x, or -@x if @by is negative. */
HEED_DEVICE float step_signed(float x, float by)
{
    return ptx_as_f32(ptx_as_u32(x) ^ (ptx_as_u32(by) & 0x80000000u));
}

HEED_DEVICE i32 step_to_int(float x)
{
    if (x != x)
        return 0;
    return x <= -2147483648.0f ? -2147483647 - 1 : x >= 2147483648.0f ? 2147483647 : (i32)x;
}

HEED_DEVICE i32 step_div(i32 a, i32 b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (i32)(0u - (u32)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

HEED_DEVICE i32 step_mod(i32 a, i32 b)
{
    return (i32)((u32)a - (u32)b * (u32)step_div(a, b));
}

/* ---- Elements ---- */

/* An index clamped to the range from 0 to @last. */
HEED_DEVICE u32 step_index(i32 index, i32 last)
{
    return index < 0 ? 0u : index > last ? (u32)last : (u32)index;
}

HEED_DEVICE float step_f32(const void *p)
{
    return ptx_as_f32(ptx_ld_operand_4(p));
}

HEED_DEVICE float step_f16(const void *p)
{
    return ptx_f16_to_f32((u16)ptx_ld_operand_2(p));
}

HEED_DEVICE float step_bf16(const void *p)
{
    return ptx_bf16_to_f32((u16)ptx_ld_operand_2(p));
}

HEED_DEVICE i32 step_i32(const void *p)
{
    return (i32)ptx_ld_operand_4(p);
}

HEED_DEVICE int step_byte(const void *p)
{
    return ptx_ld_operand_1(p) != 0;
}

HEED_DEVICE int step_bit(const void *p, u32 bit)
{
    return (int)(ptx_ld_operand_4((const u8 *)p + bit / 32 * 4) >> bit % 32 & 1);
}

/* ---- Elements of a row of keys ----
 *
 * @p is the address of the element of the lane's first key, and @left is the number of keys from
 * there on; elements beyond read as 0. With STEP_PAIRS, @c and its neighbour are read in one
 * load. */

/* True if the element at @c is beyond the last key. For a pair, both are or neither is. */
HEED_DEVICE int is_beyond(u32 c, i32 left, const int whole, const int how)
{
    return !whole && (i32)(how & STEP_PAIRS ? c / 2 * 2 : c) >= left;
}

HEED_DEVICE u32 step_key_word(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    if (is_beyond(c, left, whole, how))
        return 0;
    if (how & STEP_PAIRS)
        return ptx_ld_operand_8(p + (u64)(c / 2 * 8)).v[c % 2];
    return ptx_ld_operand_4(p + (u64)c * 4);
}

HEED_DEVICE u32 step_key_half(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    if (is_beyond(c, left, whole, how))
        return 0;
    if (how & STEP_PAIRS)
        return ptx_ld_operand_4(p + (u64)(c / 2 * 4)) >> c % 2 * 16 & 0xffffu;
    return ptx_ld_operand_2(p + (u64)c * 2);
}

HEED_DEVICE float step_key_f32(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    return ptx_as_f32(step_key_word(p, c, left, whole, how));
}

HEED_DEVICE i32 step_key_i32(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    return (i32)step_key_word(p, c, left, whole, how);
}

HEED_DEVICE float step_key_f16(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    return ptx_f16_to_f32((u16)step_key_half(p, c, left, whole, how));
}

HEED_DEVICE float step_key_bf16(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    return ptx_bf16_to_f32((u16)step_key_half(p, c, left, whole, how));
}

HEED_DEVICE int step_key_byte(const u8 *p, u32 c, i32 left, const int whole, const int how)
{
    if (is_beyond(c, left, whole, how))
        return 0;
    if (how & STEP_PAIRS)
        return (ptx_ld_operand_2(p + (u64)(c / 2 * 2)) & 0xffu << c % 2 * 8) != 0;
    return ptx_ld_operand_1(p + c) != 0;
}

/* The bit of the key at @c from key @within of the tile, which begins with key @tile; @p is the
 * address of the row's words. Eight keys at a multiple of 8 are in one word; if tiles begin at
 * multiples of 32, the compiler can use that for more. */
HEED_DEVICE int step_key_bit(const u8 *p, u32 tile, u32 within, u32 c, i32 left, const int whole)
{
#if defined STEP_TILE && STEP_TILE % 32 != 0
    const u32 first = c / 8 * 8, mask = 1u << c % 8;
    u32 word = (tile + first) / 32, bit = (tile + first) % 32 + within;
#else
    const u32 first = c / 32 * 32, mask = 1u << c % 32;
    u32 word = tile / 32 + c / 32, bit = within;
#endif
    if (!whole && (i32)first >= left + (i32)within)
        return 0;
    return (ptx_ld_operand_4(p + (u64)word * 4) >> bit & mask) != 0;
}

/* ---- The same, read ahead ---- */

/* Elements of a lane's keys in a tile: its two of every eight, or the words with their bits. */
#ifdef STEP_TILE
#define AHEAD_WORDS (STEP_TILE / 8)
#else
#define AHEAD_WORDS 1
#endif

typedef struct step_ahead {
    u32 v[AHEAD_WORDS];
} step_ahead;

/* Elements that are not read ahead, or are beyond the last key, are 0. */
HEED_DEVICE void step_read_halves(step_ahead *to, const u8 *p, i32 left, const int whole,
                                  const int how)
{
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS; i++) {
        int there = how & STEP_AHEAD && !(how & STEP_STAGED) && (whole || 8 * i < left);
        to->v[i] = there ? ptx_ld_ahead_4(p + (u64)i * 16) : 0;
    }
}

/* True if bytes are read sixteen at a time. */
#if HEED_PAIRS == 2 && AHEAD_WORDS % 8 == 0
#define AHEAD_WIDE 1
#else
#define AHEAD_WIDE 0
#endif

/* Sixteen of every 64 keys: the first lane of four has the first ones. */
HEED_DEVICE void step_read_wide(step_ahead *to, const u8 *p, u32 within, i32 left, const int whole,
                                const int how)
{
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS / 8; i++) {
        heed_u32x4 x = { { 0, 0, 0, 0 } };
        if (how & STEP_AHEAD && (whole || 64 * i + 7 * (i32)within < left))
            x = ptx_ld_ahead_16(p + (u64)i * 64 + 7 * within);
        HEED_UNROLL
        for (int k = 0; k < 4; k++)
            to->v[4 * i + k] = x.v[k];
    }
    HEED_UNROLL
    for (int i = AHEAD_WORDS / 8 * 4; i < AHEAD_WORDS; i++)
        to->v[i] = 0;
}

HEED_DEVICE void step_read_bytes(step_ahead *to, const u8 *p, u32 within, i32 left, const int whole,
                                 const int how)
{
    if (AHEAD_WIDE) {
        step_read_wide(to, p, within, left, whole, how);
        return;
    }
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS; i++) {
        int there = how & STEP_AHEAD && (whole || 8 * i < left);
        to->v[i] = there ? ptx_ld_ahead_2(p + (u64)i * 8) : 0;
    }
}

/* True if words of bits are read ahead: if tiles begin at multiples of 32. */
#define AHEAD_BITS (AHEAD_WORDS % 4 == 0)

HEED_DEVICE void step_read_bits(step_ahead *to, const u8 *p, u32 tile, i32 left, const int whole,
                                const int how)
{
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS; i++) {
        int there = how & STEP_AHEAD && i < AHEAD_WORDS / 4 && (whole || 32 * i < left);
        to->v[i] = there ? ptx_ld_ahead_4(p + tile / 8 + (u64)i * 4) : 0;
    }
}

/* ---- Packed: the lane's bits of 128 keys in a word, so that the compiler turns them into
 * predicates seven at a time; it is kept from tracing them back to their sources ---- */

/* For bits, two from each byte of four words: the bit of key @c. */
HEED_DEVICE u32 packed_bit(const u32 c)
{
    return 1u << (c % 32 / 8 * 8 + c % 128 / 32 * 2 + c % 2);
}

HEED_DEVICE void step_pack_bits(step_ahead *of, u32 within, const int how)
{
    if (!AHEAD_BITS || !(how & STEP_AHEAD))
        return;
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS / 4; i++) {
        u32 own = (of->v[i] >> within & 0x03030303u) << i % 4 * 2;
        of->v[i / 4] = i % 4 == 0 ? own : of->v[i / 4] | own;
    }
    HEED_UNROLL
    for (int i = 0; i < (AHEAD_WORDS + 15) / 16; i++)
        of->v[i] = ptx_keep(of->v[i]);
}

/* For bytes read sixteen at a time, sets those to 1 that are not 0. Usually none is above 1. */
HEED_DEVICE void step_set_bytes(step_ahead *first, step_ahead *second)
{
    u32 any = 0;
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS / 2; i++)
        any |= first->v[i] | second->v[i];
    if (!(any & 0xfefefefeu))
        return;
    HEED_UNROLL
    for (int i = 0; i < AHEAD_WORDS; i++) {
        u32 *x = i % 2 == 0 ? &first->v[i / 2] : &second->v[i / 2];
        *x = (((*x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | *x) >> 7 & 0x01010101u;
    }
}

/* Bit 8 b + w of the result is byte b of word w, of up to eight from number @first on. */
HEED_DEVICE u32 pack_bytes(const step_ahead *of, const int first)
{
    u32 own = 0;
    HEED_UNROLL
    for (int w = 0; w < 8 && first + w < AHEAD_WORDS / 2; w++)
        own += of->v[first + w] << w;
    return own;
}

/* The bits of a lane's own keys are every other one in a half of each of the four lanes' words. */
HEED_DEVICE u32 gather_bits(u32 x, u32 within)
{
    const u32 halves = within / 2 % 2 ? 0x7632 : 0x5410;
    u32 first = ptx_lane() & 28, of[4];
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++)
        of[i] = ptx_shfl_idx_u32(x, (int)(first + i));
    u32 even = ptx_permute(of[0], of[2], halves) >> within / 4;
    u32 odd = ptx_permute(of[1], of[3], halves) >> within / 4;
    return (even & 0x55555555u) | (odd << 1 & 0xaaaaaaaau);
}

HEED_DEVICE u32 gathered_bit(const u32 c)
{
    return 1u << (c % 2 * 8 + c / 64 % 2 * 4 + c / 8 % 2 * 2 + c / 16 % 2 + c % 64 / 32 * 16);
}

/* Packs two rows. Of 64 keys, both have room in one word while lanes exchange them. */
HEED_DEVICE void step_pack_bytes(step_ahead *first, step_ahead *second, u32 within, const int how)
{
    if (!AHEAD_WIDE || !(how & STEP_AHEAD))
        return;
    step_set_bytes(first, second);
    if (AHEAD_WORDS == 8) {
        u32 both = gather_bits(pack_bytes(first, 0) + (pack_bytes(second, 0) << 4), within);
        first->v[0] = ptx_keep(both & 0x0f0f0f0fu);
        second->v[0] = ptx_keep(both >> 4 & 0x0f0f0f0fu);
        return;
    }
    HEED_UNROLL
    for (int i = 0; i < (AHEAD_WORDS + 15) / 16; i++) {
        first->v[i] = ptx_keep(gather_bits(pack_bytes(first, 8 * i), within));
        second->v[i] = ptx_keep(gather_bits(pack_bytes(second, 8 * i), within));
    }
}

HEED_DEVICE float step_ahead_f16(const step_ahead *from, const u8 *p, u32 c, i32 left,
                                 const int whole, const int how)
{
    if (how & STEP_AHEAD)
        return ptx_f16_to_f32((u16)(from->v[c / 8] >> c % 2 * 16));
    return step_key_f16(p, c, left, whole, how);
}

HEED_DEVICE float step_ahead_bf16(const step_ahead *from, const u8 *p, u32 c, i32 left,
                                  const int whole, const int how)
{
    if (how & STEP_AHEAD)
        return ptx_bf16_to_f32((u16)(from->v[c / 8] >> c % 2 * 16));
    return step_key_bf16(p, c, left, whole, how);
}

HEED_DEVICE int step_ahead_byte(const step_ahead *from, const u8 *p, u32 c, i32 left,
                                const int whole, const int how)
{
    if (AHEAD_WIDE && how & STEP_AHEAD)
        return (from->v[c / 128] & gathered_bit(c)) != 0;
    if (how & STEP_AHEAD)
        return (from->v[c / 8] & 0xffu << c % 2 * 8) != 0;
    return step_key_byte(p, c, left, whole, how);
}

HEED_DEVICE int step_ahead_bit(const step_ahead *from, const u8 *p, u32 tile, u32 within, u32 c,
                               i32 left, const int whole, const int how)
{
    if (AHEAD_BITS && how & STEP_AHEAD)
        return (from->v[c / 128] & packed_bit(c)) != 0;
    return step_key_bit(p, tile, within, c, left, whole);
}

/* True if any of the lane's packed bits is set. Otherwise steps hide all its keys of the tile. */
HEED_DEVICE int step_any(const step_ahead *of)
{
    u32 any = 0;
    HEED_UNROLL
    for (int i = 0; i < (AHEAD_WORDS + 15) / 16; i++)
        any |= of->v[i];
    return any != 0;
}

/* Keys of a tile, or 32 if that is not a constant. */
#ifdef STEP_TILE
#define STEP_KEYS STEP_TILE
#else
#define STEP_KEYS 32
#endif

#if HEED_LISTS
#include "sight.cuh"
#endif
#include "program.cuh"
#ifndef STEPS_STAGED
#define STEPS_STAGED 0
#endif

/* The lane's key that is processed as number @n. Adjacent bits are processed consecutively:
 * otherwise the compiler does not turn several of them into predicates at once. */
HEED_DEVICE u32 step_turn(const u32 n, const int how)
{
    const u32 words = AHEAD_WORDS >= 16 ? 4 : AHEAD_WORDS >= 4 ? AHEAD_WORDS / 4 : 1;
    const u32 of = n % (8 * words);
    if (STEPS_PACKED == 1 && AHEAD_BITS && how & STEP_AHEAD && AHEAD_WORDS / 4 % words == 0)
        return n - of + of / 2 % words * 8 + of / (2 * words) * 2 + of % 2;
    if (STEPS_PACKED == 2 && AHEAD_WIDE && how & STEP_AHEAD && AHEAD_WORDS == 8)
        return n % 2 * 4 + n / 2 % 2 * 2 + n / 4 % 2 + n / 8 * 8;
    if (STEPS_PACKED == 2 && AHEAD_WIDE && how & STEP_AHEAD && AHEAD_WORDS % 16 == 0)
        return n - of + of / 4 % 2 * 16 + of / 16 * 8 + of % 2 * 4 + of / 2 % 2 * 2 + of / 8 % 2;
    return n;
}

/* Row @row of @head, as numbered in args.cuh; rows beyond the last one give the last. */
HEED_DEVICE score_row find_score_row(const heed_cuda_args *args, u32 batch, u32 head, u32 row)
{
    u32 rows = batch_rows(args, batch);
    row_place place = find_row(args, row < rows ? row : HEED_PACKED_Q && rows == 0 ? 0 : rows - 1);
    u32 head_kv = head - batch * args->heads_kv.value;
    return score_row_of(args, batch, head_kv * args->group.value + place.head, place.query);
}

#else

#define STEPS_READ_AHEAD 0
#define STEPS_RISE 0
#define STEPS_CAP 0

#endif

/* ---- Sinks ---- */

#if HEED_SINKS

/* The sink of a row of @head, in natural units. */
HEED_DEVICE float row_sink(const heed_cuda_args *args, u32 head, u32 row)
{
    u32 batch = divide(head, args->heads_kv), head_kv = head - batch * args->heads_kv.value;
    i64 head_q = (i64)head_kv * args->group.value + find_row(args, row).head;
    return ptx_as_f32(
        ptx_ld_operand_4(args->changes.sinks + batch * args->changes.sink_stride + head_q));
}

/* Adds the sink to a row whose maximum is @max, base 2, and whose sum of weights is @sum. Returns
 * the factor for its sums, which have been divided by @sum; 0 if neither keys nor the sink have a
 * weight. */
HEED_DEVICE float add_sink(const heed_cuda_args *args, u32 head, u32 row, float *max, float *sum)
{
    float sink = row_sink(args, head, row) * LOG2_E;
    float top = ptx_max(*max, sink), own = *sum * ptx_ex2(*max - top);
    *sum = own + ptx_ex2(sink - top);
    *max = top;
    return *sum == 0.0f ? 0.0f : own * ptx_rcp(*sum);
}

#endif

#endif /* HEED_SCORE_CUH */
