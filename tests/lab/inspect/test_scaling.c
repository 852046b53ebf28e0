/*
 * test_scaling.c - times that scale as they should, and times that do not
 *
 * Times come from models of kernels, so their fault is known.
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>

#include "lab/inspect/scaling.h"

#define POINTS 4
#define SMS 132
#define LAUNCH 2e-6 /* seconds of launch overhead */
#define RATE 4e14   /* operations per second of a whole device */
#define L2 (50 * 0x1p20)

/* A device of SMS multiprocessors that holds one block on each. */
static double device_time(double flops, double blocks)
{
    return LAUNCH + ceil(blocks / SMS) * (flops / blocks) * SMS / RATE;
}

/* @count sizes from 1 on, doubling: problems with @flops operations and @bytes at size 1. */
static void make_points(lab_scale_point points[POINTS], double flops, double bytes, int64_t blocks,
                        double power)
{
    for (int i = 0; i < POINTS; i++) {
        double size = ldexp(1, i);
        points[i] = (lab_scale_point){ .size = (int64_t)size,
                                       .flops = flops * pow(size, power),
                                       .bytes = bytes * size,
                                       .blocks = blocks * (int64_t)size,
                                       .capacity = blocks ? SMS : 0,
                                       .units = blocks ? SMS : 0,
                                       .kernel = "k__m64" };
        points[i].seconds = blocks ? device_time(points[i].flops, (double)points[i].blocks)
                                   : points[i].flops / 1e11;
    }
}

static void expect(lab_axis axis, const lab_scale_point points[POINTS], lab_scale_cause cause,
                   const char *says)
{
    char text[512];
    lab_scale_finding it = lab_scale_judge(axis, points, POINTS, L2);
    lab_scale_explain(&it, points, text, sizeof text);
    if (it.cause != cause || !strstr(text, says))
        fail_msg("%s, not %s: time %g work %g room %g waves %g: %s", lab_scale_cause_name(it.cause),
                 lab_scale_cause_name(cause), it.time, it.work, it.room, it.waves, text);
}

/* Kernels that distribute their work, on devices that are idle, half full and full at first; with a
 * launch that costs more than the work; and on a CPU. */
static void test_fine(void **state)
{
    static const int64_t blocks[] = { 1, 8, 64, 131, 132, 133, 200, 1000 };
    lab_scale_point points[POINTS];
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        make_points(points, 1e9 * (double)blocks[i], 1e6, blocks[i], 1);
        expect(LAB_AXIS_BATCH, points, LAB_SCALE_FINE, "");
        expect(LAB_AXIS_HEADS, points, LAB_SCALE_FINE, "");
        make_points(points, 1e9 * (double)blocks[i], 1e6, blocks[i], 2);
        expect(LAB_AXIS_LENGTH, points, LAB_SCALE_FINE, "");
        make_points(points, 1e3, 1e3, blocks[i], 1);
        expect(LAB_AXIS_BATCH, points, LAB_SCALE_FINE, "");
    }
    make_points(points, 1e8, 1e6, 0, 1);
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_FINE, "");
    make_points(points, 1e8, 1e6, 0, 2);
    expect(LAB_AXIS_LENGTH, points, LAB_SCALE_FINE, "");
    points[0].seconds *= 3; /* slow at first, like a cold start */
    expect(LAB_AXIS_LENGTH, points, LAB_SCALE_FINE, "");
}

/* A historic fault: a grid over heads and rows alone, a loop over the batch inside, and caches that
 * are cold for later elements. 17 times the time for 8 times the work. */
static void test_serial(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 64e9, 4e6, 64, 1);
    for (int i = 0; i < POINTS; i++) {
        points[i].blocks = 64;
        points[i].seconds = 1e-3 * pow(17, i / 3.0);
    }
    lab_scale_finding it = lab_scale_judge(LAB_AXIS_BATCH, points, POINTS, L2);
    assert_true(it.time > 2);
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_SERIAL,
           "serialised over the batch: its launch has 64 blocks for 1 and 64 for 8");
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_SERIAL, "serialised over the heads");
    /* the same with unknown numbers of blocks */
    for (int i = 0; i < POINTS; i++)
        points[i].blocks = points[i].capacity = points[i].units = 0;
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_UNKNOWN, "one after another");
}

/* The time is proportional to the work, which is fine on a full device but not on a half-idle
 * one. */
static void test_room(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 1e6, 32, 1);
    for (int i = 0; i < POINTS; i++) {
        points[i].blocks = 32;
        points[i].seconds = 1e-3 * ldexp(1, i);
    }
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_SERIAL, "serialised over the batch");
    for (int i = 0; i < POINTS; i++)
        points[i].blocks = 132;
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_FINE, "");
    for (int i = 0; i < POINTS; i++)
        points[i].capacity = 2 * SMS; /* two of them would fit on a multiprocessor */
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_FINE, "");
    for (int i = 0; i < POINTS; i++)
        points[i].blocks = (int64_t)32 << i; /* enough blocks, but idle multiprocessors */
    expect(LAB_AXIS_BATCH, points, LAB_SCALE_UNKNOWN, "one after another");
}

/* Blocks that take so long that one more wave doubles the time. */
static void test_waves(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 1e6, 132, 1);
    points[1].blocks = 133;
    points[1].flops = points[0].flops * 133 / 132;
    points[1].bytes = points[0].bytes * 133 / 132;
    points[1].seconds = 2 * points[0].seconds;
    char text[512];
    lab_scale_finding it = lab_scale_judge(LAB_AXIS_QUERIES, points, 2, L2);
    lab_scale_explain(&it, points, text, sizeof text);
    assert_int_equal(it.cause, LAB_SCALE_WAVES);
    assert_non_null(strstr(text, "133 blocks are 2 waves of 132"));
}

static void test_cache(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 20 * 0x1p20, 0, 1);
    points[2].seconds *= 3;
    points[3].seconds *= 3;
    expect(LAB_AXIS_KEYS, points, LAB_SCALE_CACHE, "80 MiB, no longer fit");
}

static void test_config(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 1e6, 0, 1);
    points[3].seconds *= 2;
    points[3].kernel = "k__m128";
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_CONFIG, "k__m128 instead of k__m64");
    points[3].kernel = points[0].kernel;
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_UNKNOWN, "heads may be treated one after another");
    expect(LAB_AXIS_LENGTH, points, LAB_SCALE_UNKNOWN, "read again");
}

/* A finding is doubtful if the times of one size vary. */
static void test_noise(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 1e6, 0, 1);
    points[3].seconds *= 2;
    points[3].spread = 1.1;
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_UNKNOWN, "");
    points[3].spread = 1.3;
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_NOISE, "1.30 times its least");
    points[3].seconds /= 2;
    expect(LAB_AXIS_HEADS, points, LAB_SCALE_FINE, "");
}

/* Points that were not timed are absent. */
static void test_missing(void **state)
{
    lab_scale_point points[POINTS];
    make_points(points, 1e9, 1e6, 0, 1);
    points[3].seconds = 0;
    lab_scale_finding it = lab_scale_judge(LAB_AXIS_BATCH, points, POINTS, L2);
    assert_int_equal(it.cause, LAB_SCALE_FINE);
    assert_int_equal(it.from, 0);
    assert_int_equal(it.to, 2);
    for (int i = 1; i < POINTS; i++)
        points[i].seconds = 0;
    it = lab_scale_judge(LAB_AXIS_BATCH, points, POINTS, L2);
    assert_int_equal(it.cause, LAB_SCALE_FINE);
    assert_int_equal(it.to, 0);
    it = lab_scale_judge(LAB_AXIS_BATCH, points, 0, L2);
    assert_int_equal(it.cause, LAB_SCALE_FINE);
}

RUN_TESTS(test_fine, test_serial, test_room, test_waves, test_cache, test_config, test_noise,
          test_missing)
