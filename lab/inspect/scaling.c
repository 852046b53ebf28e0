/*
 * scaling.c - judges whether the time of a plan grows with its work
 *
 * Two tests are applied to every pair of sizes: whether time grows faster than work, beyond
 * measurement error, and, on a device that the smaller size leaves partly idle, whether time grows
 * with the work although there was room. A kernel that processes batch elements one after another
 * fails the second test long before the first.
 */
#include "scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

/* Time up to this multiple of the prediction from waves of blocks is explained by them. */
#define WAVES_SLACK 1.25

/* A launch whose blocks grow by less than this for a doubled batch does not grow with it. */
#define GROWTH 1.5

/* On a device with room, time may grow this many times more than necessary; and only growth of at
 * least this share of the work's suggests that elements wait for each other. */
#define ROOM_SLACK 2
#define ROOM_SHARE 0.75

static const char *const axes[LAB_AXES] = { "batch", "heads", "length", "queries", "keys" };
static const char *const causes[LAB_SCALE_CAUSES] = { "fine",  "ambiguous", "serial", "waves",
                                                      "cache", "config",    "unknown" };

/* The likely cause on each axis if nothing else is known. */
static const char *const suspects[LAB_AXES] = {
    "batch elements may be treated one after another, each slower than the one before",
    "heads may be treated one after another, each slower than the one before",
    "K and V may be read again for every row, or masked tiles computed",
    "K and V may be read again for every row",
    "the data kept for each key may no longer fit where they were kept",
};

const char *lab_axis_name(lab_axis axis)
{
    return axes[axis];
}

const char *lab_scale_cause_name(lab_scale_cause cause)
{
    return causes[cause];
}

double lab_scale_work(const lab_scale_point *from, const lab_scale_point *to)
{
    return fmax(to->flops / from->flops, to->bytes / from->bytes);
}

static bool has_blocks(const lab_scale_point *point)
{
    return point->blocks > 0 && point->capacity > 0;
}

static double waves_of(const lab_scale_point *point)
{
    return ceil((double)point->blocks / (double)point->capacity);
}

double lab_scale_waves(const lab_scale_point *from, const lab_scale_point *to)
{
    if (!has_blocks(from) || !has_blocks(to))
        return 0;
    double each = (to->flops / (double)to->blocks) / (from->flops / (double)from->blocks);
    return each * waves_of(to) / waves_of(from);
}

/* True if elements of the axis are independent: twice as many on a half-idle device need no more
 * time. Longer sequences also lengthen each block's work. */
static bool is_independent(lab_axis axis)
{
    return axis == LAB_AXIS_BATCH || axis == LAB_AXIS_HEADS;
}

/* The growth of time of an ideal launch. A multiprocessor with one block counts as busy, though it
 * may hold more, which would share its units. */
static double room_of(lab_axis axis, const lab_scale_point *from, const lab_scale_point *to)
{
    double work = lab_scale_work(from, to);
    if (!is_independent(axis) || from->blocks == 0 || from->units == 0)
        return work;
    double busy = fmin(1, (double)from->blocks / (double)from->units);
    return fmax(1, work * busy);
}

static lab_scale_finding compare(lab_axis axis, const lab_scale_point *points, size_t from,
                                 size_t to)
{
    return (lab_scale_finding){ .axis = axis,
                                .from = from,
                                .to = to,
                                .time = points[to].seconds / points[from].seconds,
                                .work = lab_scale_work(&points[from], &points[to]),
                                .room = room_of(axis, &points[from], &points[to]),
                                .waves = lab_scale_waves(&points[from], &points[to]) };
}

/* Growth relative to the expected; up to 1 is fine. */
static double excess(const lab_scale_finding *it)
{
    double over_work = it->time / (LAB_SCALE_SLACK * it->work);
    if (it->time < ROOM_SHARE * it->work)
        return over_work;
    return fmax(over_work, it->time / (ROOM_SLACK * it->room));
}

static lab_scale_cause cause_of(const lab_scale_finding *it, const lab_scale_point *points,
                                double cache)
{
    const lab_scale_point *from = &points[it->from], *to = &points[it->to];
    if (fmax(from->spread, to->spread) > LAB_SCALE_SPREAD)
        return LAB_SCALE_NOISE;
    if (is_independent(it->axis) && from->blocks > 0 && from->blocks < from->units &&
        to->blocks > 0 && (double)to->blocks < GROWTH * (double)from->blocks)
        return LAB_SCALE_SERIAL;
    if (it->waves > 0 && it->time <= WAVES_SLACK * it->waves)
        return LAB_SCALE_WAVES;
    if (cache > 0 && from->bytes <= cache && to->bytes > cache)
        return LAB_SCALE_CACHE;
    if (from->kernel && to->kernel && strcmp(from->kernel, to->kernel) != 0)
        return LAB_SCALE_CONFIG;
    return LAB_SCALE_UNKNOWN;
}

lab_scale_finding lab_scale_judge(lab_axis axis, const lab_scale_point *points, size_t count,
                                  double cache)
{
    lab_scale_finding worst = { .axis = axis }, whole = worst;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (!(points[i].seconds > 0) || !(points[j].seconds > 0))
                continue;
            lab_scale_finding it = compare(axis, points, i, j);
            if (worst.to == 0 || excess(&it) > excess(&worst))
                worst = it;
            if (whole.to == 0 || j > whole.to)
                whole = it;
        }
    if (worst.to == 0 || excess(&worst) <= 1)
        return whole;
    worst.cause = cause_of(&worst, points, cache);
    return worst;
}

void lab_scale_explain(const lab_scale_finding *finding, const lab_scale_point *points, char *text,
                       size_t size)
{
    const lab_scale_point *from = &points[finding->from], *to = &points[finding->to];
    const char *axis = axes[finding->axis];
    switch (finding->cause) {
    case LAB_SCALE_NOISE:
        snprintf(text, size,
                 "the median of one size is %.2f times its least: the machine is busy with "
                 "something else, which may be why",
                 fmax(from->spread, to->spread));
        break;
    case LAB_SCALE_SERIAL:
        snprintf(text, size,
                 "serialised over the %s: its launch has %lld block%s for %lld and %lld for %lld, "
                 "on %lld multiprocessors",
                 axis, (long long)from->blocks, lab_plural(from->blocks), (long long)from->size,
                 (long long)to->blocks, (long long)to->size, (long long)to->units);
        break;
    case LAB_SCALE_WAVES:
        snprintf(text, size,
                 "waves of blocks: %lld blocks are %.0f wave%s of %lld, the last of them not full; "
                 "smaller blocks would share the device out better",
                 (long long)to->blocks, waves_of(to), waves_of(to) > 1 ? "s" : "",
                 (long long)to->capacity);
        break;
    case LAB_SCALE_CACHE:
        snprintf(
            text, size,
            "its data, %.3g MiB, no longer fit the last cache, as %.3g MiB did: they come from "
            "memory now",
            to->bytes / 0x1p20, from->bytes / 0x1p20);
        break;
    case LAB_SCALE_CONFIG:
        snprintf(text, size, "another config is planned, %s instead of %s", to->kernel,
                 from->kernel);
        break;
    case LAB_SCALE_UNKNOWN:
        snprintf(text, size, "%s", suspects[finding->axis]);
        break;
    default:
        snprintf(text, size, "%s", "");
    }
}
