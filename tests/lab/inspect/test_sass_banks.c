/*
 * test_sass_banks.c - shared memory addresses traced per lane, and their bank conflicts
 */
#include "run_tests.h"

#include "sass_scene.h"

static void assert_ways_in(const char *code, const lab_sass_shape *shape, int ways)
{
    lab_sass sass = sass_read_lines(code, shape);
    if (sass.banks.ways != ways)
        fail_msg("%d ways, not %d: %s", sass.banks.ways, ways, code);
    lab_sass_free(&sass);
}

static void assert_ways(const char *code, int ways)
{
    assert_ways_in(code, NULL, ways);
}

#define TID "S2R R0, SR_TID.X\n"

static void test_banks_of_known_addresses(void **state)
{
    assert_ways(TID "IMAD.SHL.U32 R1, R0, 0x4, RZ\nSTS [R1], R2\n", 1);
    assert_ways(TID "IMAD.SHL.U32 R1, R0.reuse, 0x8, RZ\nSTS [R1+0x40], R2\n", 2);
    assert_ways(TID "SHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1+UR4]\n", 32);
    assert_ways(TID "LDS R2, [R0.X4+0x80]\n", 1);
    assert_ways(TID "LDS R2, [R0.X16]\n", 4);
    assert_ways(TID "LDS.128 R4, [R0.X16]\n", 1);
    assert_ways(TID "LDS.64 R4, [R0.X16]\n", 2);
    assert_ways(TID "IMAD R1, R0, 0x84, R7\nLDS R2, [R1]\n", 0);  /* R7 is unknown */
    assert_ways(TID "IMAD R1, R0, 0x84, UR7\nLDS R2, [R1]\n", 1); /* but the same for all */
    assert_ways(TID "IMAD R1, R0, c[0x0][0x160], RZ\nLDS R2, [R1]\n", 0);
    assert_ways(TID "LOP3.LUT R1, R0, 0x10, RZ, 0xc0, !PT\nLDS R2, [R1.X8]\n", 2);
    assert_ways("LDS R2, [RZ]\n", 1); /* all lanes read the same word */
    /* followed by the scheduling notes of newer disassemblers */
    assert_ways("S2R R0, SR_TID.X      &wr=0x0          ?trans7\n"
                "IMAD.SHL.U32 R1, R0, 0x8, RZ  &req={0}  ?WAIT5_END_GROUP\n"
                "MOV R1, R1            ?trans1\nSTS [R1+UR4], R15       ?trans1\n",
                2);
    /* rows of 128 bytes: by rows, by columns, and by columns of swizzled rows */
    assert_ways(TID "LOP3.LUT R1, R0, 0x7, RZ, 0xc0, !PT\nLEA R1, R1, UR4, 0x4\n"
                    "LDSM.16.M88 R2, [R1]\n",
                1);
    assert_ways(TID "LEA R1, R0, UR4, 0x7\nLDSM.16.M88.4 R4, [R1]\n", 8);
    assert_ways(TID "LOP3.LUT R1, R0, 0x7, RZ, 0xc0, !PT\nSHF.L.U32 R1, R1, 0x4, RZ\n"
                    "LEA R1, R0, R1, 0x7\nLDSM.16.M88.4 R4, [R1]\n",
                1);
    assert_ways(TID "SHF.R.U32.HI R1, RZ, 0x2, R0\nLEA R1, R1, RZ, 0x7\nLDS R2, [R1]\n", 8);
}

static void test_banks_of_unknown_addresses(void **state)
{
    /* loaded addresses, predicated instructions, blocks in two dimensions, functions */
    assert_ways(TID "SHF.L.U32 R1, R0, 0x7, RZ\nLDG.E R1, [R2.64]\nLDS R2, [R1]\n", 0);
    assert_ways(TID "SHF.L.U32 R1, R0, 0x7, RZ\n@P0 LDS R2, [R1]\n", 0);
    assert_ways(TID "S2R R5, SR_TID.Y\nSHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1]\n", 0);
    assert_ways(TID "SHF.L.U32 R3, R0, 0x7, RZ\nLDS.128 R0, [RZ]\nLDS R2, [R3]\n", 1);
    assert_ways(TID "SHF.L.U32 R1, R0, 0x7, RZ\nCALL.REL.NOINC `($f)\nLDS R2, [R1]\nEXIT\n$f:\n"
                    "RET.REL.NODEC R2 `(k)\n",
                0);
    assert_ways(TID "SHF.L.U32 R1, R0, 0x2, RZ\n@P0 SHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1]\n", 0);
    /* two paths to the same place with different values; with values that differ by the same
     * amount */
    assert_ways(TID "SHF.L.U32 R1, R0, 0x2, RZ\n@P0 BRA `(.J)\nSHF.L.U32 R1, R0, 0x7, RZ\n.J:\n"
                    "LDS R2, [R1]\n",
                0);
    assert_ways(TID "SHF.L.U32 R1, R0, 0x7, RZ\n.L:\nLDS R2, [R1]\nIADD3 R1, R1, 0x40, RZ\n"
                    "@P0 BRA `(.L)\nEXIT\n",
                32);
}

/* Blocks with several rows of threads: lane i is thread (i % x, i / x % y, i / x / y). */
static void test_banks_of_blocks_with_rows(void **state)
{
    static const lab_sass_shape row = { 256, 1, 1 }, wide = { 32, 8, 1 }, narrow = { 8, 8, 4 },
                                column = { 1, 32, 8 }, deep = { 2, 2, 64 }, few = { 4, 2, 1 };
    static const char by_y[] = "S2R R0, SR_TID.Y\nSHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1]\n";
    static const char by_z[] = "S2R R0, SR_TID.Z\nSHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1]\n";
    static const char by_x[] = TID "SHF.L.U32 R1, R0, 0x7, RZ\nLDS R2, [R1]\n";
    static const char by_row[] = TID "S2R R5, SR_TID.Y\nIMAD R1, R5, 0x80, RZ\n"
                                     "LEA R1, R0, R1, 0x2\nLDS R2, [R1]\n";
    assert_ways_in(by_y, &row, 1);
    assert_ways_in(by_y, &wide, 1);
    assert_ways_in(by_y, &narrow, 4);
    assert_ways_in(by_y, &column, 32);
    assert_ways_in(by_z, &narrow, 1);
    assert_ways_in(by_z, &deep, 8);
    assert_ways_in(by_x, &wide, 32);
    assert_ways_in(by_x, &narrow, 8);
    assert_ways_in(by_x, &column, 1);
    assert_ways_in(by_x, &few, 4); /* missing lanes cause no conflicts */
    assert_ways_in(by_row, &wide, 1);
    assert_ways_in(by_row, &narrow, 4);
    lab_sass sass = sass_read_lines(by_row, NULL);
    assert_true(sass.banks.shapeless);
    lab_sass_free(&sass);
    sass = sass_read_lines(by_row, &narrow);
    assert_false(sass.banks.shapeless);
    lab_sass_free(&sass);
    sass = sass_read_lines(TID "LDG.E R1, [R2.64]\nLDS R2, [R1]\n",
                           NULL); /* a shape would not help either */
    assert_false(sass.banks.shapeless);
    lab_sass_free(&sass);
}

RUN_TESTS(test_banks_of_known_addresses, test_banks_of_unknown_addresses,
          test_banks_of_blocks_with_rows)
