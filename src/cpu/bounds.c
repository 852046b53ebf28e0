/*
 * bounds.c - interval arithmetic for the steps of a program over a tile of pairs (interval.h)
 */
#include "bounds.h"

#include <math.h>
#include <string.h>

#include "../problem/interval.h"
#include "../problem/operand.h"
#include "cpu.h"

/* Elements that one load may read; those of masks are compared many at a time. */
#define LOOK_MAX 2048
#define LOOK_TRUTH_MAX 65536

/* ---- Loads ---- */

static heed_value element(const heed_load *from, const void *data, int64_t index)
{
    heed_value value;
    const char *at = (const char *)data + index * (int64_t)heed_data_size(from->type);
    const heed_type number = heed_data_type(from->type);
    if (number != HEED_F32 && number < HEED_TYPE_COUNT)
        heed_load_row(&value.real, at, 1, number);
    else
        memcpy(&value, at, sizeof value);
    return value;
}

/* Bounds of the bytes in @span of the row that begins with element @row. */
static heed_bounds look_at_bytes(const void *data, int64_t row, heed_span span)
{
    const unsigned char *at = (const unsigned char *)data + row + span.first;
    size_t more = (size_t)((int64_t)span.last - span.first);
    if (*at)
        return interval_truth(!memchr(at, 0, more + 1), true);
    return interval_truth(false, memcmp(at, at + 1, more) != 0);
}

/* Bounds of the bits in @span of the row that begins with word @row. */
static heed_bounds look_at_bits(const void *data, int64_t row, heed_span span)
{
    bool always = true, ever = false;
    for (int32_t word = span.first / 32; word <= span.last / 32; word++) {
        uint32_t bits, wanted = UINT32_MAX;
        memcpy(&bits, (const char *)data + (row + word) * 4, sizeof bits);
        if (word == span.first / 32)
            wanted &= UINT32_MAX << span.first % 32;
        if (word == span.last / 32)
            wanted &= UINT32_MAX >> (31 - span.last % 32);
        always = always && (bits & wanted) == wanted;
        ever = ever || (bits & wanted) != 0;
    }
    return interval_truth(always, ever);
}

/* Bounds of integers, such as document numbers: one comparison each. */
static heed_bounds look_at_wholes(const void *data, int64_t row, heed_span span)
{
    const int32_t *at = (const int32_t *)data + row + span.first;
    int32_t least = at[0], greatest = at[0];
    for (int64_t i = 1; i <= (int64_t)span.last - span.first; i++) {
        least = at[i] < least ? at[i] : least;
        greatest = at[i] > greatest ? at[i] : greatest;
    }
    return interval_whole(least, greatest);
}

/* Bounds of the elements of one row. */
static heed_bounds look_at_row(const heed_load *from, const void *data, int64_t row, heed_span span,
                               heed_kind kind)
{
    if (from->type == HEED_DATA_BYTES)
        return look_at_bytes(data, row, span);
    if (from->type == HEED_DATA_BITS)
        return look_at_bits(data, row, span);
    if (from->type == HEED_DATA_I32)
        return look_at_wholes(data, row, span);
    heed_bounds all = interval_of(element(from, data, row + span.first), kind);
    for (int64_t i = (int64_t)span.first + 1; i <= span.last; i++)
        all = interval_unite(all, interval_of(element(from, data, row + i), kind), kind);
    return all;
}

/* Bounds of the elements of @from at all indices of @box, which are few. */
static heed_bounds look_at_box(const heed_load *from, const void *data, const heed_span box[4],
                               heed_kind kind)
{
    const int last = from->rank - 1;
    int32_t at[4];
    heed_bounds all = interval_any(kind);
    bool first = true;
    for (int d = 0; d < last; d++)
        at[d] = box[d].first;
    for (;;) {
        int64_t row = 0;
        for (int d = 0; d < last; d++)
            row += at[d] * from->stride[d];
        heed_bounds here = look_at_row(from, data, row, box[last], kind);
        all = first ? here : interval_unite(all, here, kind);
        first = false;
        int d = last - 1;
        while (d >= 0 && at[d]++ == box[d].last) {
            at[d] = box[d].first;
            d--;
        }
        if (d < 0 || (kind == HEED_KIND_BOOL && all.least.whole != all.greatest.whole))
            return all;
    }
}

static heed_bounds look(const heed_program *program, const heed_step *step,
                        const void *const data[], const heed_bounds values[])
{
    const heed_load *from = &program->sources[step->value.whole];
    const int indices[4] = { step->a, step->b, step->c, step->d };
    heed_span box[4];
    double count = 1;
    for (int d = 0; d < from->rank; d++) {
        const heed_bounds index = interval_clip(values[indices[d]], from->size[d]);
        box[d] = (heed_span){ index.least.whole, index.greatest.whole };
        count *= (double)box[d].last - box[d].first + 1;
    }
    if (count > (step->kind == HEED_KIND_BOOL ? LOOK_TRUTH_MAX : LOOK_MAX))
        return interval_any(step->kind);
    return look_at_box(from, data[step->value.whole], box, step->kind);
}

/* ---- Steps ---- */

static heed_bounds of_span(heed_span span)
{
    return interval_whole(span.first, span.last);
}

/* Bounds of a step without inputs. */
static heed_bounds leaf(const heed_step *step, const heed_pairs *pairs)
{
    switch (step->op) {
    case HEED_OP_QUERY:
        return of_span(pairs->query);
    case HEED_OP_POSITION:
        return interval_whole(pairs->query.first + pairs->first_position,
                              pairs->query.last + pairs->first_position);
    case HEED_OP_KEY:
        return of_span(pairs->key);
    case HEED_OP_HEAD:
        return of_span(pairs->head);
    case HEED_OP_BATCH:
        return of_span(pairs->batch);
    case HEED_OP_SCORE:
        return interval_any(HEED_KIND_FLOAT);
    default:
        return interval_of(step->value, step->kind);
    }
}

static heed_bounds bounds_of(const heed_program *program, const heed_step *step,
                             const void *const data[], const heed_pairs *pairs,
                             const heed_bounds values[])
{
    const heed_bounds none = interval_whole(0, 0);
    if (step->op == HEED_OP_LOAD)
        return look(program, step, data, values);
    if (step->a < 0)
        return leaf(step, pairs);
    return interval_apply(step->op, step->kind, program->steps[step->a].kind, values[step->a],
                          step->b < 0 ? none : values[step->b],
                          step->c < 0 ? none : values[step->c]);
}

heed_sight heed_program_sight(const heed_program *program, const void *const data[],
                              const heed_pairs *pairs)
{
    heed_bounds values[HEED_STEPS_MAX];
    bool needed[HEED_STEPS_MAX];
    if (program->visible < 0)
        return HEED_SEES_ALL;
    heed_program_needed(program, program->visible, needed);
    for (int i = 0; i <= program->visible; i++)
        if (needed[i])
            values[i] = bounds_of(program, &program->steps[i], data, pairs, values);
    const heed_bounds seen = values[program->visible];
    return seen.least.whole ? HEED_SEES_ALL : seen.greatest.whole ? HEED_SEES_SOME : HEED_SEES_NONE;
}
