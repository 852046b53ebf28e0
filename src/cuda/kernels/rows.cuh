/*
 * rows.cuh - rows of queries: their offsets in the tensors, and the keys that they see
 *
 * See args.cuh for what a row is. A head here is one of batch * heads_kv.
 */
#ifndef HEED_ROWS_CUH
#define HEED_ROWS_CUH

#include "args.cuh"
#include "ptx.cuh"

#define LN_2 0.693147180559945f

/* Greater than any key. */
#define NO_KEY 0xffffffffu

HEED_DEVICE u32 divide(u32 n, heed_cuda_divisor by)
{
    return by.multiplier == 0 ? n : ptx_mul_hi(n, by.multiplier) >> by.shift;
}

/* Keys from @begin up to but not including @end. */
typedef struct key_range {
    u32 begin;
    u32 end;
} key_range;

/* True if there is a mask. Sources from elsewhere have another name for it. */
#ifndef HEED_MASKED
#define HEED_MASKED HEED_CAUSAL
#endif

/* True if the mask hides the first keys of some rows. */
#ifndef HEED_HIDES_FIRST
#define HEED_HIDES_FIRST 0
#endif

/* True if there are chunks. */
#ifndef HEED_CHUNKED
#define HEED_CHUNKED 0
#endif

/* True if each query has a first key (starts). */
#ifndef HEED_STARTS
#define HEED_STARTS 0
#endif

/* True if the number of keys differs between batch elements. */
#ifndef HEED_LENGTHS
#define HEED_LENGTHS 0
#endif

/* True if sequences are packed: Q and O, or K and V. */
#ifndef HEED_PACKED_Q
#define HEED_PACKED_Q 0
#endif
#ifndef HEED_PACKED_K
#define HEED_PACKED_K 0
#endif

#define KEYS_VARY (HEED_LENGTHS || HEED_PACKED_K)

/* True if positions are counted from the last key of a batch element; then the bounds in the
 * arguments are those of one whose varying numbers are 0. */
#ifndef HEED_FOLLOWS
#define HEED_FOLLOWS 0
#endif

/* True if K and V are in pages; their batch stride is then that of pages. */
#ifndef HEED_PAGED
#define HEED_PAGED 0
#endif

/* True if heed_list() lists the tiles that steps do not hide from a block (tile_list.cuh). */
#ifndef HEED_LISTS
#define HEED_LISTS 0
#endif

/* True if finding tiles reads memory, so the preceding launch must have ended. */
#define FOUND_LATE (HEED_STARTS || KEYS_VARY || HEED_PACKED_Q || HEED_PAGED || HEED_LISTS)

/* @key clamped to the first @count keys; passed by address so that code of kernels without lengths
 * stays the same. */
HEED_DEVICE u32 clip_key(const u32 *count, i64 key)
{
    if (key < 0)
        return 0;
    return key < (i64)*count ? (u32)key : *count;
}

/* Removes keys outside the chunk of @position, if there are chunks. */
HEED_DEVICE void keep_chunk(const heed_cuda_args *args, i64 position, const u32 *count,
                            key_range *keys)
{
    if (args->chunk.value == 0)
        return;
    u32 begin = position < 0 ? 0 : divide((u32)position, args->chunk) * args->chunk.value;
    u32 end = position < 0 ? 0 : clip_key(count, (i64)begin + args->chunk.value);
    begin = clip_key(count, begin);
    keys->begin = keys->begin < begin ? begin : keys->begin;
    keys->end = keys->end < end ? keys->end : end;
    keys->begin = keys->begin < keys->end ? keys->begin : keys->end;
}

/* The keys among the first *@count that query @i sees, if its position is larger by @more than in
 * the arguments. Neither bound decreases from one query to the next. */
HEED_DEVICE key_range keys_among(const heed_cuda_args *args, u32 i, const u32 *count,
                                 const i64 more)
{
    key_range keys;
    keys.begin = HEED_HIDES_FIRST ? clip_key(count, i + args->hidden + more) : 0;
    keys.end = HEED_MASKED ? clip_key(count, i + args->visible + more) : *count;
    if (HEED_CHUNKED)
        keep_chunk(args, i + args->first + more, count, &keys);
    return keys;
}

/* The keys of query @i of a batch element with all keys. */
HEED_DEVICE key_range visible_keys(const heed_cuda_args *args, u32 i)
{
    return keys_among(args, i, &args->seq_k, 0);
}

/* Element @n of cumulative lengths of @words words. */
HEED_DEVICE u32 cumulative(const int *lengths, u32 words, u32 n)
{
    return ptx_ld_operand_4(lengths + (i64)n * words);
}

/* The first row of packed sequence @batch in Q and O, or K and V; 0 if not packed. */
HEED_DEVICE u32 first_query(const heed_cuda_args *args, u32 batch)
{
#if HEED_PACKED_Q
    return cumulative(args->changes.cu_q, args->changes.cu_q_words, batch);
#else
    (void)args;
    (void)batch;
    return 0;
#endif
}

HEED_DEVICE u32 first_key(const heed_cuda_args *args, u32 batch)
{
#if HEED_PACKED_K
    return cumulative(args->changes.cu_k, args->changes.cu_k_words, batch);
#else
    (void)args;
    (void)batch;
    return 0;
#endif
}

/* Queries of @batch, and its rows. */
HEED_DEVICE u32 batch_queries(const heed_cuda_args *args, u32 batch)
{
#if HEED_PACKED_Q
    u32 count = first_query(args, batch + 1) - first_query(args, batch);
    return count < args->seq_q ? count : args->seq_q;
#else
    (void)batch;
    return args->seq_q;
#endif
}

HEED_DEVICE u32 batch_rows(const heed_cuda_args *args, u32 batch)
{
    return HEED_PACKED_Q ? batch_queries(args, batch) * args->group.value : args->rows;
}

/* Keys of @batch, according to its lengths. */
HEED_DEVICE i64 batch_length(const heed_cuda_args *args, u32 batch)
{
    i64 length = args->seq_k;
    (void)batch;
#if HEED_LENGTHS
    const heed_cuda_changes *changes = &args->changes;
    length = (i32)ptx_ld_operand_4(changes->lengths + batch * changes->length_stride) -
             changes->ahead;
#endif
#if HEED_PACKED_K
    u32 packed = first_key(args, batch + 1) - first_key(args, batch);
    length = !HEED_LENGTHS || packed < length ? packed : length;
#endif
    return length;
}

/* The keys of query @i of @batch. */
HEED_DEVICE key_range batch_keys(const heed_cuda_args *args, u32 batch, u32 i)
{
#if KEYS_VARY || HEED_FOLLOWS
    i64 length = batch_length(args, batch), more = KEYS_VARY ? length : 0;
    u32 count = clip_key(&args->seq_k, length);
    if (HEED_PACKED_Q)
        more -= batch_queries(args, batch);
    return keys_among(args, i, &count, HEED_FOLLOWS ? more : 0);
#else
    (void)batch;
    return visible_keys(args, i);
#endif
}

/* The same without those before the start of query @i, which may be beyond the last one. */
HEED_DEVICE key_range seen_keys(const heed_cuda_args *args, u32 batch, u32 i)
{
    key_range keys = batch_keys(args, batch, i);
#if HEED_STARTS
    const heed_cuda_changes *changes = &args->changes;
    i64 query = i < args->seq_q ? i : args->seq_q - 1;
    u32 start = ptx_ld_operand_4(changes->starts + batch * changes->start_stride + query);
    u32 begin = clip_key(&args->seq_k, (i32)start);
    keys.begin = keys.begin < begin ? begin : keys.begin;
    keys.begin = keys.begin < keys.end ? keys.begin : keys.end;
#endif
    return keys;
}

/* Tiles of keys from @begin up to but not including @end. All rows in question see the tiles from
 * @full_begin up to @full_end completely; the others need a mask. */
typedef struct tile_range {
    u32 begin, full_begin;
    u32 full_end, end;
} tile_range;

/* The tiles of @keys keys that the rows from @first to @last of @batch process. */
HEED_DEVICE tile_range visible_tiles(const heed_cuda_args *args, u32 batch, u32 first, u32 last,
                                     const u32 keys)
{
    tile_range tiles;
    tiles.end = (batch_keys(args, batch, divide(last, args->group)).end + (keys - 1)) / keys;
    tiles.full_end = batch_keys(args, batch, divide(first, args->group)).end / keys;
    tiles.begin = tiles.full_begin = 0;
    if (HEED_HIDES_FIRST) {
        tiles.begin = seen_keys(args, batch, divide(first, args->group)).begin / keys;
        u32 begin = seen_keys(args, batch, divide(last, args->group)).begin;
        tiles.full_begin = (begin + (keys - 1)) / keys;
        if (HEED_STARTS && tiles.full_begin < tiles.begin) /* decreasing starts, which are not
                                                              allowed */
            tiles.full_begin = tiles.begin;
    }
    return tiles;
}

/* A row's query and its head in the group. */
typedef struct row_place {
    u32 query;
    u32 head;
} row_place;

HEED_DEVICE row_place find_row(const heed_cuda_args *args, u32 row)
{
    row_place place;
    place.query = divide(row, args->group);
    place.head = row - place.query * args->group.value;
    return place;
}

/* Elements from the beginning of Q or O to a row of @head. */
HEED_DEVICE i64 row_offset(const heed_cuda_args *args, u32 head, heed_cuda_strides stride, u32 row)
{
    row_place place = find_row(args, row);
    u32 batch = divide(head, args->heads_kv);
    u32 head_kv = head - batch * args->heads_kv.value;
    i64 seq = HEED_PACKED_Q ? ((i64)first_query(args, batch) + place.query) * stride.seq
                            : batch * stride.batch + place.query * stride.seq;
    return seq + ((i64)head_kv * args->group.value + place.head) * stride.head;
}

/* Elements from the beginning of head @head_kv of @batch in K or V to that of key 0, or with pages
 * only from the beginning of the head, */
HEED_DEVICE i64 keys_offset(const heed_cuda_args *args, u32 batch, u32 head_kv,
                            heed_cuda_strides stride)
{
    i64 first = HEED_PACKED_K ? (i64)first_key(args, batch) * stride.seq : batch * stride.batch;
    return (HEED_PAGED ? 0 : first) + head_kv * stride.head;
}

/* and from there to key @key, which is below the length. */
HEED_DEVICE i64 key_offset(const heed_cuda_args *args, u32 batch, heed_cuda_strides stride, u32 key)
{
#if HEED_PAGED
    const heed_cuda_changes *changes = &args->changes;
    u32 page = divide(key, changes->page);
    i64 number = ptx_ld_operand_4(changes->table + batch * changes->table_stride + page);
    return number * stride.batch + (key - page * changes->page.value) * stride.seq;
#else
    (void)args;
    (void)batch;
    return (i64)key * stride.seq;
#endif
}

/* Elements from the beginning of the LSE to a row of @head. */
HEED_DEVICE i64 lse_offset(const heed_cuda_args *args, u32 head, u32 row)
{
    row_place place = find_row(args, row);
#if HEED_PACKED_Q
    u32 batch = divide(head, args->heads_kv);
    head -= batch * args->heads_kv.value;
    return ((i64)head * args->group.value + place.head) * args->changes.tokens_q +
           first_query(args, batch) + place.query;
#else
    return ((i64)head * args->group.value + place.head) * args->seq_q + place.query;
#endif
}

/* Rows of the partial results of one split, and the beginning of those of @head and @split. */
HEED_DEVICE u32 part_rows(const heed_cuda_args *args)
{
#if HEED_PACKED_Q
    return args->changes.tokens_q * args->group.value;
#else
    return args->rows;
#endif
}

HEED_DEVICE i64 part_offset(const heed_cuda_args *args, u32 head, u32 split)
{
    i64 first = 0;
    if (HEED_PACKED_Q) {
        u32 batch = divide(head, args->heads_kv);
        head -= batch * args->heads_kv.value;
        first = (i64)first_query(args, batch) * args->group.value;
    }
    return ((i64)head * args->splits.value + split) * part_rows(args) + first;
}

#endif /* HEED_ROWS_CUH */
