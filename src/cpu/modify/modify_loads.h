/*
 * modify_loads.h - loads of logit programs: rows of neighbouring keys, and elements at arbitrary
 * indices
 *
 * A part of modify_template.h.
 */
#ifndef HEED_MODIFY_LOADS_H
#define HEED_MODIFY_LOADS_H

#define CACHE_LINE 64

static inline int64_t clamp(int64_t index, int64_t size)
{
    return index < 0 ? 0 : index < size ? index : size - 1;
}

/* Lane @lane of a value; @at points to its vectors along outer. */
static inline int32_t lane_of(const float *at, const heed_spot *spot, int64_t lane)
{
    int32_t whole;
    memcpy(&whole, at + lane / LANES * spot->inner + lane % LANES, sizeof whole);
    return whole;
}

/* The offset given by the first @count indices. */
static inline int64_t offset_of(const frame *f, const heed_modify_step *x, int count, int64_t turn,
                                int64_t lane)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    int64_t offset = 0;
    for (int d = 0; d < count; d++) {
        const heed_spot *spot = &x->from_spots[d];
        const float *at = f->bases[spot->base] + spot->offset + turn * spot->outer;
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

/* Loads elements at arbitrary indices, one by one. */
static void run_load(const frame *f, const heed_modify_step *x)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const heed_spot *last = &x->from_spots[source->rank - 1];
    const bool one = x->to.outer == 0 && x->to.inner == 0;
    const int64_t lanes = one ? 1 : vectors_of(x) * LANES;
    for (int64_t turn = 0; turn < turns_of(f, x); turn++) {
        float *to = f->bases[x->to.base] + x->to.offset + turn * x->to.outer;
        const float *at = f->bases[last->base] + last->offset + turn * last->outer;
        int32_t whole = 0;
        for (int64_t lane = 0; lane < lanes; lane++) {
            int64_t row = offset_of(f, x, source->rank - 1, turn, lane);
            int64_t index = clamp(lane_of(at, last, lane), source->size[source->rank - 1]);
            whole = heed_modify_element(source, data, row, index);
            memcpy(to + lane, &whole, sizeof whole);
        }
        if (one) /* the same in all lanes */
            v_store(to, spread(whole));
    }
}

/* The elements @index of a source; @words, a constant, is true for 32-bit elements. */
static inline __attribute__((always_inline)) vf gather(const heed_load *source, const void *data,
                                                       bool words, vi index)
{
    float elements[LANES];
    if (words)
        return v_gather(data, (vf)index);
    for (int i = 0; i < LANES; i++) {
        int32_t whole = heed_modify_element(source, data, 0, index[i]);
        memcpy(&elements[i], &whole, sizeof whole);
    }
    return v_load(elements);
}

/* Loads elements at indices that are in range. */
static void run_gather(const frame *f, const heed_modify_step *x)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const heed_spot *from = &x->from_spots[0];
    const bool words = source->type == HEED_DATA_F32 || source->type == HEED_DATA_I32;
    for (int64_t turn = 0; turn < turns_of(f, x); turn++)
        for (int64_t i = 0; i < vectors_of(x); i++) {
            const float *index = f->bases[from->base] + from->offset + turn * from->outer;
            float *to = f->bases[x->to.base] + x->to.offset + turn * x->to.outer;
            v_store(to + i * LANES,
                    gather(source, data, words, (vi)v_load(index + i * from->inner)));
        }
}

/* Loads LANES elements of a row from element @key on; @type is a constant. */
static inline __attribute__((always_inline)) vf read_vector(const void *data, heed_data type,
                                                            int64_t row, int64_t key)
{
    const char *bytes = data;
    uint32_t word;
    switch (type) {
    case HEED_DATA_F16:
        return v_load_f16((const uint16_t *)data + row + key);
    case HEED_DATA_BF16:
        return v_load_bf16((const uint16_t *)data + row + key);
    case HEED_DATA_BYTES:
        return (vf)((vi)v_load_bytes((const uint8_t *)bytes + row + key) > 0);
    case HEED_DATA_BITS: {
        vi bit = { 0 };
        for (int i = 0; i < LANES; i++)
            bit[i] = 1 << i;
        memcpy(&word, bytes + (row + key / 32) * (int64_t)sizeof word, sizeof word);
        return (vf)(((vi)spread((int32_t)(word >> key % 32)) & bit) == bit);
    }
    default:
        return v_load((const float *)data + row + key);
    }
}

/* The same where the row, or a word of bits, may end. */
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

/* The bits of all keys of a patch for LANES rows along the lanes: one word of each row, and its
 * bits one by one. */
static void read_bits(const frame *f, const heed_load *source, const void *data,
                      const char *offsets, float *to)
{
    const int64_t end = (source->size[source->rank - 1] - 1) / 32;
    vi words = { 0 };
    for (int64_t j = 0; j < f->turns; j++) {
        const int64_t key = f->key + j;
        for (int64_t i = 0; i < LANES && (j == 0 || key % 32 == 0); i++) {
            int64_t row;
            int32_t word;
            memcpy(&row, offsets + i * (int64_t)sizeof row, sizeof row);
            memcpy(&word, (const int32_t *)data + row + heed_min(key / 32, end), sizeof word);
            words[i] = word;
        }
        const vi bit = (vi)spread((int32_t)(1U << key % 32));
        v_store(to + j * VECTORS * LANES, (vf)((words & bit) == bit));
    }
}

/* LANES bytes of each of LANES rows, transposed. @whole, true if all keys exist, is a constant. */
static inline __attribute__((always_inline)) void read_square(const heed_load *source,
                                                              const void *data, bool whole,
                                                              const char *offsets, int64_t key,
                                                              float *to)
{
    vf block[LANES];
    for (int64_t i = 0; i < LANES; i++) {
        int64_t row;
        memcpy(&row, offsets + i * (int64_t)sizeof row, sizeof row);
        block[i] = whole ? read_vector(data, HEED_DATA_BYTES, row, key)
                         : read_end(source, data, row, key);
    }
    v_transpose(block);
    for (int64_t i = 0; i < LANES; i++)
        v_store(to + i * VECTORS * LANES, block[i]);
}

static void read_bytes(const frame *f, const heed_load *source, const void *data,
                       const char *offsets, float *to)
{
    const int64_t end = source->size[source->rank - 1] - f->key;
    int64_t j = 0;
    for (; j < f->turns && j + LANES <= end; j += LANES)
        read_square(source, data, true, offsets, f->key + j, to + j * VECTORS * LANES);
    for (; j < f->turns; j += LANES)
        read_square(source, data, false, offsets, f->key + j, to + j * VECTORS * LANES);
}

/* Reads the mask of a patch whose rows go along the lanes: vectors are stored whole, since the next
 * steps load them soon. */
static void read_mask(const frame *f, const heed_modify_step *x, heed_data type, float *to)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const heed_spot *spot = &x->from_spots[0];
    const char *offsets = (const char *)(f->bases[spot->base] + spot->offset);
    for (int64_t i = 0; i < VECTORS; i++, offsets += LANES * sizeof(int64_t), to += LANES) {
        if (type == HEED_DATA_BITS)
            read_bits(f, source, data, offsets, to);
        else
            read_bytes(f, source, data, offsets, to);
    }
}

/* True if the LANES keys from @key on exist, and are in one word if they are bits. */
static inline bool is_whole(const heed_load *source, int64_t key)
{
    return key + LANES <= source->size[source->rank - 1] &&
           (source->type != HEED_DATA_BITS || key % LANES == 0);
}

/* Bytes of a number, an element of a tensor or an i32; a constant if @type is. */
static inline int64_t size_of(heed_data type)
{
    switch (type) {
#define HEED_TYPE(type, data, name, size) \
    case data:                            \
        return size;
#include "problem/types.def"
#undef HEED_TYPE
    default:
        return sizeof(int32_t);
    }
}

/* Element @i of each word; @type is a constant. */
static inline __attribute__((always_inline)) void find_element(vq *to, vq words, heed_data type,
                                                               int i)
{
    if (type == HEED_DATA_F16)
        q_from_f16(to, (vqu)words >> 16 * i);
    else if (type == HEED_DATA_BF16)
        *to = (vq)(i ? (vqu)words & 0xffff0000 : (vqu)words << 16);
    else
        *to = words;
}

/* The places of what a read adds to, and of its result, for the rows from the first one of a vector
 * of QUAD_ROWS on. */
typedef struct read_ends {
    const float *from; /* NULL: it adds to nothing */
    int64_t stride;    /* from key to key */
    float *to;
} read_ends;

/* Reads key @key of the patch for QUAD_ROWS rows, element by element. */
static void read_key(const heed_load *source, const void *data, const int64_t *rows, int64_t first,
                     int64_t key, read_ends ends)
{
    for (int i = 0; i < QUAD_ROWS; i++) {
        const int64_t last = source->size[source->rank - 1];
        const int32_t whole = heed_modify_element(source, data, rows[i], clamp(first + key, last));
        float value;
        memcpy(&value, &whole, sizeof value);
        if (ends.from)
            value += ends.from[key * ends.stride + i];
        memcpy(&ends.to[key * VECTORS * LANES + i], &value, sizeof value);
    }
}

/* Reads the elements in the 16 bytes from key @key of the patch on; @type and @adds are
 * constants. */
static inline __attribute__((always_inline)) void read_quad(const char *const rows[],
                                                            heed_data type, bool adds, int64_t key,
                                                            read_ends ends)
{
    const int64_t size = size_of(type), per_word = 4 / size;
    vq words[4];
    q_load(words, rows, key * size);
    for (int word = 0; word < 4; word++)
        for (int i = 0; i < per_word; i++, key++) {
            vq value, more;
            find_element(&value, words[word], type, i);
            if (adds) {
                memcpy(&more, ends.from + key * ends.stride, sizeof more);
                value += more;
            }
            memcpy(ends.to + key * VECTORS * LANES, &value, sizeof value);
        }
}

/* Numbers, where rows go along the lanes. Reads all keys of a few rows before the next ones: their
 * cache lines may map to the same few cache sets. @type, that of the source, and @adds are
 * constants. */
static inline __attribute__((always_inline)) void read_rows(const frame *f,
                                                            const heed_modify_step *x,
                                                            heed_data type, bool adds, float *to)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    const heed_spot *spot = &x->from_spots[0], *b = &x->from_spots[1];
    const int64_t size = size_of(type), keys = 16 / size;
    const int64_t end = heed_min(f->turns, source->size[source->rank - 1] - f->key);
    for (int64_t row = 0; row < VECTORS * LANES; row += QUAD_ROWS) {
        read_ends ends = { NULL, b->outer, to + row };
        int64_t offsets[QUAD_ROWS], j = 0;
        const char *rows[QUAD_ROWS];
        if (adds)
            ends.from = f->bases[b->base] + b->offset + row;
        memcpy(offsets,
               (const char *)(f->bases[spot->base] + spot->offset) + row * (int64_t)sizeof *offsets,
               sizeof offsets);
        for (int i = 0; i < QUAD_ROWS; i++)
            rows[i] = (const char *)data + (offsets[i] + f->key) * size;
        for (; j + keys <= end; j += keys)
            read_quad(rows, type, adds, j, ends);
        for (; j < f->turns; j++)
            read_key(source, data, offsets, f->key, j, ends);
    }
}

/* @type is that of the source, a constant. */
static inline __attribute__((always_inline)) void read_as(const frame *f, const heed_modify_step *x,
                                                          heed_data type)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const void *data = f->m->data[x->value.whole];
    float *to = f->bases[x->to.base] + x->to.offset;
    if (f->m->grid.rows && x->to.inner) {
        if (type == HEED_DATA_BITS || type == HEED_DATA_BYTES)
            read_mask(f, x, type, to);
        else if (x->op == HEED_MODIFY_READ_ADD)
            read_rows(f, x, type, true, to);
        else
            read_rows(f, x, type, false, to);
        return;
    }
    for (int64_t turn = 0; turn < turns_of(f, x); turn++, to += x->to.outer) {
        const int64_t key = f->key + turn * LANES, row = kept_offset(f, x, 0);
        v_store(to, is_whole(source, key) ? read_vector(data, type, row, key)
                                          : read_end(source, data, row, key));
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

/* Prefetches the rows that one step reads, part @part of @parts. */
static void prefetch_rows(const frame *f, const heed_modify_step *x, int64_t keys, int64_t part,
                          int64_t parts)
{
    const heed_load *source = &f->m->sources[x->value.whole];
    const int64_t size = (int64_t)heed_data_size(source->type);
    const bool bits = source->type == HEED_DATA_BITS;
    const int64_t row_size = (bits ? heed_div_up(keys, 32) : keys) * size;
    const char *first = (const char *)f->m->data[x->value.whole] +
                        (bits ? f->key / 32 : f->key) * size;
    const int64_t rows = x->to.inner ? f->m->grid.inner * LANES : 1;
    for (int64_t row = part; row < rows; row += parts)
        for (int64_t i = 0; i < row_size; i += CACHE_LINE)
            __builtin_prefetch(first + kept_offset(f, x, row) * size + i, 0, 2);
}

#endif /* HEED_MODIFY_LOADS_H */
