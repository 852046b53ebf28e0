/*
 * test_sass.c - SASS: counting instructions and finding loops
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sass_scene.h"
#include "scratch.h"

#define DATA HEED_SOURCE_DIR "/tests/data/inspect/sass/"

static lab_sass read_text(const char *text, const char *name)
{
    return sass_read(text, name, NULL);
}

static lab_sass read_lines(const char *lines)
{
    return sass_read_lines(lines, NULL);
}

/* -------------------------------------------------------------------------- */
/* Classes                                                                    */
/* -------------------------------------------------------------------------- */

static void test_opcodes_have_classes(void **state)
{
    static const text_integer rows[] = {
        { "HMMA.16816.F32", LAB_SASS_TENSOR_WARP },
        { "IMMA.16832.S8.S8", LAB_SASS_TENSOR_WARP },
        { "HGMMA.64x128x16.F32", LAB_SASS_TENSOR_GROUP },
        { "UTCHMMA", LAB_SASS_TENSOR_BLOCK },
        { "LDS.U.128", LAB_SASS_SHARED_LOAD },
        { "LDSM.16.MT88.4", LAB_SASS_SHARED_LOAD_MATRIX },
        { "STS.64", LAB_SASS_SHARED_STORE },
        { "STSM.16.M88.4", LAB_SASS_SHARED_STORE_MATRIX },
        { "LDGSTS.E.BYPASS.LTC128B.128", LAB_SASS_ASYNC_COPY },
        { "UTMALDG.4D", LAB_SASS_BULK_LOAD },
        { "UBLKCP.S.G", LAB_SASS_BULK_COPY },
        { "UTMASTG.4D", LAB_SASS_BULK_STORE },
        { "LDL.LU", LAB_SASS_LOCAL_LOAD },
        { "STL.128", LAB_SASS_LOCAL_STORE },
        { "LDG.E.U8", LAB_SASS_GLOBAL_LOAD_8 },
        { "LDG.E.U16.CONSTANT", LAB_SASS_GLOBAL_LOAD_16 },
        { "LDG.E", LAB_SASS_GLOBAL_LOAD_32 },
        { "LDG.E.LTC128B.CONSTANT", LAB_SASS_GLOBAL_LOAD_32 },
        { "LDG.E.64", LAB_SASS_GLOBAL_LOAD_64 },
        { "LDG.E.128.CONSTANT", LAB_SASS_GLOBAL_LOAD_128 },
        { "STG.E.128", LAB_SASS_GLOBAL_STORE_128 },
        { "LD.E", LAB_SASS_GENERIC },
        { "BAR.SYNC.DEFER_BLOCKING", LAB_SASS_BARRIER_BLOCK },
        { "SYNCS.PHASECHK.TRANS64.TRYWAIT", LAB_SASS_BARRIER_MEMORY },
        { "UCGABAR_ARV", LAB_SASS_BARRIER_CLUSTER },
        { "WARPSYNC.ALL", LAB_SASS_BARRIER_WARP },
        { "WARPGROUP.DEPBAR.LE", LAB_SASS_WAIT_GROUP },
        { "F2FP.F16.F32.PACK_AB", LAB_SASS_CONVERT },
        { "HADD2.F32", LAB_SASS_WIDEN },
        { "HADD2", LAB_SASS_HALF },
        { "MUFU.EX2", LAB_SASS_EXP },
        { "MUFU.RCP", LAB_SASS_SPECIAL },
        { "FFMA.FTZ", LAB_SASS_FMA },
        { "SHFL.BFLY", LAB_SASS_SHUFFLE },
        { "LDSX", LAB_SASS_OTHER },
        { "IMAD.MOV.U32", LAB_SASS_OTHER },
        { "", LAB_SASS_OTHER },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (lab_sass_classify(rows[i].text) != rows[i].value)
            fail_msg("%s is %s", rows[i].text,
                     lab_sass_class_name(lab_sass_classify(rows[i].text)));
    assert_string_equal(lab_sass_class_name(LAB_SASS_BULK_LOAD), "bulk_loads");
}

static void test_what_never_runs_is_nothing(void **state)
{
    lab_sass sass = read_lines("@!PT LDS RZ, [RZ]\n@P0 LDS R1, [R2]\nEXIT\n");
    assert_int_equal(sass.all.total, 3);
    assert_int_equal(sass.all.of[LAB_SASS_SHARED_LOAD], 1);
    assert_int_equal(sass.banks.unknown, 1);
    lab_sass_free(&sass);
}

/* -------------------------------------------------------------------------- */
/* Loops                                                                      */
/* -------------------------------------------------------------------------- */

/* An outer loop with two inner ones, one of which has the products; and a wait that was moved past
 * the end, whose jump back is not a loop. */
static void test_loops_are_found(void **state)
{
    static const char code[] = "S2R R0, SR_CTAID.X\n"
                               ".OUTER:\n"
                               "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R6\n"
                               "@!P0 BRA `(.SLOW)\n"
                               ".BACK:\n"
                               "LDS R4, [R9]\n"
                               ".INNER:\n"
                               "HMMA.16816.F32 R4, R4, R8, R4\n"
                               "HMMA.16816.F32 R4, R4, R8, R4\n"
                               "@P1 BRA `(.INNER)\n"
                               "MUFU.EX2 R1, R1\n"
                               ".SMALL:\n"
                               "FADD R1, R1, R2\n"
                               "@P1 BRA `(.SMALL)\n"
                               "@P2 BRA `(.OUTER)\n"
                               "EXIT\n"
                               ".SLOW:\n"
                               "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R6\n"
                               "@!P0 BRA `(.SLOW)\n"
                               "BRA `(.BACK)\n"
                               ".PAD:\n"
                               "BRA `(.PAD)\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.loop_count, 4);
    const lab_sass_loop *outer = &sass.loops[0];
    assert_int_equal(outer->first, 0x10);
    assert_int_equal(outer->last, 0xa0);
    assert_int_equal(outer->depth, 1);
    assert_int_equal(outer->parent, -1);
    assert_int_equal(outer->role, LAB_SASS_PLAIN);
    assert_int_equal(outer->counts.total, 13); /* including the three of the wait */
    int mains = 0, waits = 0;
    for (size_t i = 1; i < 4; i++) {
        const lab_sass_loop *loop = &sass.loops[i];
        assert_int_equal(loop->parent, 0);
        assert_int_equal(loop->depth, 2);
        mains += loop->role == LAB_SASS_MAIN;
        waits += loop->role == LAB_SASS_WAIT;
        if (loop->role == LAB_SASS_MAIN)
            assert_int_equal(loop->first, 0x40);
    }
    assert_int_equal(mains, 1);
    assert_int_equal(waits, 1);
    assert_int_equal(sass.main_count, 1);
    assert_int_equal(sass.main.total, 3);
    assert_int_equal(sass.main.of[LAB_SASS_TENSOR_WARP], 2);
    assert_true(sass.reads_block);
    assert_false(sass.indirect);
    lab_sass_free(&sass);
}

/* A loop with less than an eighth of the products of another is not a main loop. */
static void test_little_work_is_no_main_loop(void **state)
{
#define PRODUCT "HMMA.16816.F32 R4, R4, R8, R4\n"
    static const char code[] = ".A:\n" PRODUCT PRODUCT PRODUCT PRODUCT PRODUCT PRODUCT PRODUCT
        PRODUCT PRODUCT "@P1 BRA `(.A)\n"
                               ".B:\n" PRODUCT "@P1 BRA `(.B)\n"
                               ".C:\n" PRODUCT PRODUCT "@P1 BRA `(.C)\n"
                               "EXIT\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.loop_count, 3);
    assert_int_equal(sass.main_count, 2);
    assert_int_equal(sass.main.of[LAB_SASS_TENSOR_WARP], 11);
    lab_sass_free(&sass);
}

/* A warpgroup product is as much work as dozens of warp products: other code inside or beside a
 * loop of those is not the main work. */
static void test_products_of_warpgroups_are_the_work(void **state)
{
    static const char code[] = ".A:\nHGMMA.64x128x16.F32 R24, gdesc[UR4], R24\nMUFU.EX2 R1, R1\n"
                               ".B:\nHMMA.16816.F32 R4, R4, R8, R4\nHMMA.16816.F32 R4, R4, R8, R4\n"
                               "@P1 BRA `(.B)\n@P0 BRA `(.A)\n"
                               ".C:\nHMMA.16816.F32 R4, R4, R8, R4\nHMMA.16816.F32 R4, R4, R8, R4\n"
                               "@P0 BRA `(.C)\nEXIT\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.main_count, 1);
    assert_int_equal(sass.main.of[LAB_SASS_TENSOR_GROUP], 1);
    assert_int_equal(sass.main.of[LAB_SASS_EXP], 1);
    assert_int_equal(sass.main.of[LAB_SASS_TENSOR_WARP], 2);
    assert_int_equal(sass.main.total, 6);
    lab_sass_free(&sass);
}

/* Warps that load, and warps that multiply. The repeated load of the former, once for each value of
 * a register, is not counted as a separate loop. */
static void test_producers_are_told_apart(void **state)
{
    static const char code[] = "@P0 BRA `(.MULTIPLY)\n"
                               ".FETCH:\n"
                               "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R6\n"
                               ".TURN:\n"
                               "UTMALDG.4D [UR8], [UR4]\n"
                               "@P0 BRA.U.ANY `(.TURN)\n"
                               "@P1 BRA `(.FETCH)\n"
                               "EXIT\n"
                               ".MULTIPLY:\n"
                               "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24\n"
                               "@P1 BRA P2, `(.MULTIPLY)\n"
                               "EXIT\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.loop_count, 2);
    assert_int_equal(sass.main_count, 1);
    assert_int_equal(sass.producer_count, 1);
    assert_int_equal(sass.main.total, 2);
    assert_int_equal(sass.producer.total, 4);
    assert_int_equal(lab_sass_sum(&sass.producer, LAB_SASS_GROUP_ASYNC), 1);
    assert_false(sass.reads_block);
    lab_sass_free(&sass);
}

/* A function that is called from inside a loop is part of it; its return is no other edge. */
static void test_functions_belong_to_their_callers(void **state)
{
    static const char code[] = ".LOOP:\n"
                               "FFMA R1, R1, R2, R3\n"
                               "CALL.REL.NOINC `($f)\n"
                               "@P0 BRA `(.LOOP)\n"
                               "CALL.REL.NOINC `($g)\n"
                               "EXIT\n"
                               "$f:\n"
                               "MUFU.RCP R1, R1\n"
                               "RET.REL.NODEC R2 `(k)\n"
                               "$g:\n"
                               "MUFU.SQRT R1, R1\n"
                               "RET.REL.NODEC R2 `(k)\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.loop_count, 1);
    assert_int_equal(sass.loops[0].counts.total, 5);
    assert_int_equal(sass.loops[0].counts.of[LAB_SASS_SPECIAL], 1);
    assert_int_equal(sass.all.of[LAB_SASS_SPECIAL], 2);
    lab_sass_free(&sass);
}

/* Threads that wait for each other at a BSYNC continue at the target of the BSSY, which need not be
 * the next instruction. */
static void test_convergence_is_followed(void **state)
{
    static const char code[] = ".LOOP:\n"
                               "BSSY B1, `(.JOIN)\n"
                               "@P0 BRA `(.OTHER)\n"
                               "BSYNC B1\n"
                               ".JOIN:\n"
                               "FFMA R1, R1, R2, R3\n"
                               "@P1 BRA `(.LOOP)\n"
                               "EXIT\n"
                               ".OTHER:\n"
                               "MUFU.EX2 R1, R1\n"
                               "BSYNC B1\n"
                               "LDL R1, [R2]\n"
                               "EXIT\n";
    lab_sass sass = read_lines(code);
    assert_int_equal(sass.loop_count, 1);
    assert_int_equal(sass.loops[0].counts.total, 7);
    assert_int_equal(sass.main.of[LAB_SASS_EXP], 1);
    assert_int_equal(sass.main.of[LAB_SASS_LOCAL_LOAD], 0);
    lab_sass_free(&sass);
}

static void test_branches_through_registers(void **state)
{
    lab_sass sass = read_lines("BRX R4 -0x50\nEXIT\n");
    assert_true(sass.indirect);
    lab_sass_free(&sass);
    sass = read_lines(".A:\nBRX R4 -0x50 (*\"BRANCH_TARGETS .A,.B\"*)\nEXIT\n.B:\nEXIT\n");
    assert_false(sass.indirect);
    assert_int_equal(sass.loop_count, 1);
    lab_sass_free(&sass);
}

/* -------------------------------------------------------------------------- */
/* Texts                                                                      */
/* -------------------------------------------------------------------------- */

static char *read_data(const char *name)
{
    char path[512];
    char *text = calloc(1, 65536);
    assert_non_null(text);
    snprintf(path, sizeof path, DATA "%s", name);
    scratch_read(path, (unsigned char *)text, 65535);
    return text;
}

static void test_both_tools_say_the_same(void **state)
{
    char *one = read_data("honest_sm90.sass"), *other = read_data("honest_sm90.objdump");
    lab_sass a = read_text(one, "honest"), b = read_text(other, "honest");
    assert_memory_equal(&a.all, &b.all, sizeof a.all);
    assert_memory_equal(&a.main, &b.main, sizeof a.main);
    assert_int_equal(a.loop_count, b.loop_count);
    assert_int_equal(a.main_count, 1);
    assert_int_equal(a.banks.known, b.banks.known);
    assert_int_equal(a.main.of[LAB_SASS_BARRIER_BLOCK], 2);
    assert_int_equal(a.main.of[LAB_SASS_GLOBAL_LOAD_128], 1);
    lab_sass_free(&a);
    lab_sass_free(&b);
    free(one);
    free(other);
}

static void assert_refused(const char *text, const char *name, const char *words)
{
    lab_sass sass;
    lab_error error = { "" };
    assert_int_equal(lab_sass_read(&sass, text, name, NULL, &error), HEED_ERR_CORRUPT);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_null(sass.loops);
    assert_int_equal(sass.all.total, 0);
}

static void test_what_is_no_disassembly(void **state)
{
    static const char two[] = ".text.one:\n /*0000*/ EXIT ;\n.text.two:\n /*0000*/ NOP ;\n"
                              " /*0010*/ EXIT ;\n";
    lab_sass sass = read_text(two, "two");
    assert_int_equal(sass.all.total, 2);
    lab_sass_free(&sass);
    assert_refused("", "k", "k: the disassembly does not have it");
    assert_refused(two, "on", "on: the disassembly does not have it");
    assert_refused(two, "three", "three: ");
    assert_refused(".text.k:\n /*0010*/ NOP ;\n /*0010*/ EXIT ;\n", "k",
                   "is out of order at address 0x10");
}

/* With any change or truncation, nothing outside the text is read, and reading ends. */
static void test_damage_is_survived(void **state)
{
    static const char signs[] = "\n ;`(.:@*/[]+-0RBx\xff";
    char *whole = read_data("honest_wgmma_sm90.sass");
    size_t size = strlen(whole);
    for (size_t at = 0; at < size; at += 13) {
        char *text = strdup(whole);
        lab_sass sass;
        assert_non_null(text);
        text[at] = signs[at % (sizeof signs - 1)];
        if (at % 5 == 0)
            text[at] = '\0';
        if (lab_sass_read(&sass, text, "honest_wgmma", NULL, NULL) == HEED_OK)
            lab_sass_free(&sass);
        free(text);
    }
    free(whole);
}

RUN_TESTS(test_opcodes_have_classes, test_what_never_runs_is_nothing, test_loops_are_found,
          test_little_work_is_no_main_loop, test_products_of_warpgroups_are_the_work,
          test_producers_are_told_apart, test_functions_belong_to_their_callers,
          test_convergence_is_followed, test_branches_through_registers,
          test_both_tools_say_the_same, test_what_is_no_disassembly, test_damage_is_survived)
