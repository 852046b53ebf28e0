/*
 * append.cu - append new keys and values to the KV cache, and rotate queries, before attention
 *
 * A warp writes one vector: a new key to its place in K, rotated by its position, its value to V,
 * or a rotated query to the workspace, since Q must not be changed. Rotations are computed in
 * float64, in which products of two float32 are exact, so contraction has no effect and every
 * backend gives the same bits.
 *
 * Macros: HEED_TYPE as in element.cuh; HEED_TURNS, the type of cosines and sines, likewise, or
 * without it none are read; HEED_INTERLEAVED; HEED_VARLEN, 1: rotated queries are packed; 2: new
 * keys too.
 */
#include "append_args.cuh"
#include "unit.cuh"

#ifndef HEED_INTERLEAVED
#define HEED_INTERLEAVED 0
#endif
#ifndef HEED_VARLEN
#define HEED_VARLEN 0
#endif

/* Copies columns @first up to @end unchanged. */
HEED_DEVICE void copy_columns(u8 *to, const u8 *from, u32 first, u32 end, const int unit)
{
    for (u32 c = first + ptx_lane() * unit; c < end; c += 32 * unit) {
        const i64 at = bytes_of(c);
        if (unit > 1)
            ptx_st_global_16(to + at, ptx_ld_global_16(from + at));
        else
            copy_element(to + at, from + at);
    }
}

#ifdef HEED_TURNS

HEED_DEVICE void turn_pair(float *a, float *b, float cosine, float sine)
{
    const double x = *a, y = *b, c = cosine, s = sine;
    *a = (float)(x * c - y * s);
    *b = (float)(y * c + x * s);
}

/* Rotates pairs from @c on whose first columns are @a, and second ones @b. */
HEED_DEVICE void turn_units(const heed_cuda_append_args *args, unit_of *a, unit_of *b, i64 c,
                            const int unit)
{
    HEED_UNROLL
    for (int i = 0; i < unit; i++)
        turn_pair(&a->x[i], &b->x[i], load_number(args->cosines, c + i, HEED_TURNS),
                  load_number(args->sines, c + i, HEED_TURNS));
}

/* The same for neighbouring columns. */
HEED_DEVICE void turn_neighbours(const heed_cuda_append_args *args, unit_of *u, i64 c,
                                 const int unit)
{
    HEED_UNROLL
    for (int i = 0; i < unit / 2; i++)
        turn_pair(&u->x[2 * i], &u->x[2 * i + 1], load_number(args->cosines, c + i, HEED_TURNS),
                  load_number(args->sines, c + i, HEED_TURNS));
}

/* Writes the rotated columns, for @position. */
HEED_DEVICE void turn_columns(const heed_cuda_append_args *args, u8 *to, const u8 *from,
                              u32 position, const int unit)
{
    const u32 pairs = args->rotary / 2;
    const i64 turns = (i64)position * pairs;
    unit_of a, b;
    to += bytes_of(args->turned);
    from += bytes_of(args->turned);
    if (HEED_INTERLEAVED && unit > 1) {
        for (u32 c = ptx_lane() * unit; c < args->rotary; c += 32 * unit) {
            load_unit(&a, from + bytes_of(c), unit);
            turn_neighbours(args, &a, turns + c / 2, unit);
            store_unit(to + bytes_of(c), &a, unit);
        }
        return;
    }
    for (u32 c = ptx_lane() * unit; c < pairs; c += 32 * unit) {
        const i64 first = bytes_of(HEED_INTERLEAVED ? 2 * c : c);
        const i64 second = HEED_INTERLEAVED ? first + bytes_of(1) : first + bytes_of(pairs);
        load_unit(&a, from + first, unit);
        load_unit(&b, from + second, unit);
        turn_units(args, &a, &b, turns + c, unit);
        store_unit(to + first, &a, unit);
        store_unit(to + second, &b, unit);
    }
}

#endif

/* Writes a vector of Q or of a new key. */
HEED_DEVICE void write_turned(const heed_cuda_append_args *args, u8 *to, const u8 *from,
                              u32 position, const int unit)
{
#ifdef HEED_TURNS
    copy_columns(to, from, 0, args->turned, unit);
    turn_columns(args, to, from, position, unit);
    copy_columns(to, from, args->turned + args->rotary, args->dim_qk, unit);
#else
    (void)position;
    copy_columns(to, from, 0, args->dim_qk, unit);
#endif
}

HEED_DEVICE i64 length_of(const heed_cuda_append_args *args, u32 batch)
{
    return (i32)ptx_ld_ahead_4(args->lengths + batch * args->length_stride);
}

#if HEED_VARLEN

/* The first row of packed sequence @batch. */
HEED_DEVICE u32 sequence_begin(const heed_cuda_append_args *args, u32 batch)
{
    return ptx_ld_ahead_4(args->cu_q + (i64)batch * args->cu_q_words);
}

/* The last packed sequence that begins at or before @row. The remaining sequences are split among
 * the lanes, and each lane tests the first sequence of its share. */
HEED_DEVICE u32 find_sequence(const heed_cuda_append_args *args, u32 row)
{
    u32 first = 0, end = args->sequences;
    HEED_NO_UNROLL
    while (end - first > 1) {
        const u32 share = (end - first + 31) / 32, own = first + ptx_lane() * share;
        const int begins = own < end && (own == first || sequence_begin(args, own) <= row);
        first += (ptx_popc(ptx_vote_ballot(begins)) - 1) * share;
        end = first + share < end ? first + share : end;
    }
    return first;
}

/* The position of the query in row @row of packed sequence @batch, and of its new key. */
HEED_DEVICE i64 packed_position(const heed_cuda_append_args *args, u32 batch, u32 row)
{
    return row + length_of(args, batch) - sequence_begin(args, batch + 1);
}

/* True if the row is after the last packed sequence. */
HEED_DEVICE int is_behind(const heed_cuda_append_args *args, u32 row)
{
    return row >= sequence_begin(args, args->sequences);
}

#endif

/* Offset of key @j of @batch in K or V. */
HEED_DEVICE i64 in_cache(const heed_cuda_append_args *args, const heed_cuda_strides *s, u32 batch,
                         u32 j, u32 head)
{
    if (!args->table)
        return at_strides(s, batch, j, head);
    const u32 page = divide(j, args->page);
    const u32 number = ptx_ld_ahead_4(args->table + batch * args->table_stride + page);
    return at_strides(s, (i32)number, j - page * args->page.value, head);
}

/* A new key or value, which has row @n of @first in its tensor. */
typedef struct new_vector {
    u32 batch, head, first, n;
    u32 position;
} new_vector;

HEED_DEVICE new_vector find_new(const heed_cuda_append_args *args, u32 vector)
{
    new_vector it;
    const u32 row = divide(vector, args->heads_kv);
    it.head = vector - row * args->heads_kv.value;
#if HEED_VARLEN == 2
    it.batch = find_sequence(args, row);
    it.first = 0;
    it.n = row;
    it.position = (u32)packed_position(args, it.batch, row);
#else
    it.batch = it.first = divide(row, args->append);
    it.n = row - it.batch * args->append.value;
    it.position = (u32)(length_of(args, it.batch) - args->append.value + it.n);
#endif
    return it;
}

HEED_DEVICE void write_key(const heed_cuda_append_args *args, u32 vector, const int unit)
{
#if HEED_VARLEN == 2
    if (is_behind(args, divide(vector, args->heads_kv)))
        return;
#endif
    const new_vector it = find_new(args, vector);
    const i64 to = in_cache(args, &args->k_stride, it.batch, it.position, it.head);
    const i64 from = at_strides(&args->k_new_stride, it.first, it.n, it.head);
    write_turned(args, (u8 *)args->k + to, (const u8 *)args->k_new + from, it.position, unit);
}

HEED_DEVICE void write_value(const heed_cuda_append_args *args, u32 vector, const int unit)
{
#if HEED_VARLEN == 2
    if (is_behind(args, divide(vector, args->heads_kv)))
        return;
#endif
    const new_vector it = find_new(args, vector);
    const i64 to = in_cache(args, &args->v_stride, it.batch, it.position, it.head);
    const i64 from = at_strides(&args->v_new_stride, it.first, it.n, it.head);
    copy_columns((u8 *)args->v + to, (const u8 *)args->v_new + from, 0, args->dim_v, unit);
}

HEED_DEVICE void write_query(const heed_cuda_append_args *args, u32 vector, const int unit)
{
    const u32 row = divide(vector, args->heads_q), head = vector - row * args->heads_q.value;
#if HEED_VARLEN
    const u32 batch = 0, i = row;
    const int behind = is_behind(args, row);
    if (behind && !args->all)
        return;
    const i64 position = behind ? 0 : packed_position(args, find_sequence(args, row), row);
#else
    const u32 batch = divide(row, args->seq_q), i = row - batch * args->seq_q.value;
    const i64 position = i + length_of(args, batch) - args->seq_q.value;
#endif
    const i64 to = at_strides(&args->queries_stride, batch, i, head);
    const i64 from = at_strides(&args->q_stride, batch, i, head);
    write_turned(args, (u8 *)args->queries + to, (const u8 *)args->q + from,
                 position > 0 ? (u32)position : 0, unit);
}

/* The preceding launch may write the inputs; the next one reads the outputs. */
HEED_DEVICE void write_vector(const heed_cuda_append_args *args, const int unit)
{
    const u32 vector = ptx_block_x() * HEED_APPEND_VECTORS + ptx_thread() / 32;
    ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch();
    if (vector < args->keys)
        write_key(args, vector, unit);
    else if (vector < args->values)
        write_value(args, vector - args->keys, unit);
    else if (vector < args->vectors)
        write_query(args, vector - args->values, unit);
}

/* For tensors, strides and dims that are multiples of 16 bytes, and for any. */
HEED_ENTRY_BESIDE(HEED_APPEND_VECTORS * 32)
heed_append_wide(HEED_GRID_CONSTANT const heed_cuda_append_args args)
{
    write_vector(&args, UNIT_WIDE);
}

HEED_ENTRY_BESIDE(HEED_APPEND_VECTORS * 32)
heed_append_any(HEED_GRID_CONSTANT const heed_cuda_append_args args)
{
    write_vector(&args, 1);
}
