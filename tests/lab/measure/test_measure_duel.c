/*
 * test_measure_duel.c - duels of scripted sides
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/measure/champion.h"
#include "lab/measure/family.h"
#include "lab/tensor/random.h"
#include "measure.h"

/* The log shared by both sides. */
typedef struct log {
    char text[4096];
    size_t length;
    size_t fail_at; /* this entry fails; 0: none */
    int64_t ns;     /* true duration of a block */
} log_text;

/* A side that reports @seconds, with a little noise. */
typedef struct actor {
    log_text *log;
    char name;
    double seconds;
    double noise;
    uint64_t blocks;
    uint64_t place;
} actor;

static heed_status enter(log_text *log, char what)
{
    if (log->length + 1 == log->fail_at)
        return HEED_ERR_SYSTEM;
    if (log->length + 1 < sizeof log->text)
        log->text[log->length++] = what;
    return HEED_OK;
}

static heed_status act(void *data, double *seconds)
{
    actor *self = data;
    int64_t start = heed_clock_ns();
    while (heed_clock_ns() - start < self->log->ns)
        continue;
    uint64_t stream = lab_random_stream((uint64_t)self->name, self->place);
    *seconds = self->seconds * exp(self->noise * lab_random_normal(stream, self->blocks++));
    return enter(self->log, self->name);
}

static heed_status move(void *data, uint64_t common, uint64_t own)
{
    actor *self = data;
    self->place = own;
    return enter(self->log, '.');
}

/* Each side comes first in half of the pairs, without a pattern, and identically for the same
 * seed. */
static void test_order(void **state)
{
    int first = 0, turns = 0;
    for (size_t pair = 0; pair < 400; pair++) {
        bool begins = lab_interleave_second(5, 2 * pair);
        assert_true(begins != lab_interleave_second(5, 2 * pair + 1));
        assert_true(begins == lab_interleave_second(5, 2 * pair));
        first += begins;
        turns += pair > 0 && begins != lab_interleave_second(5, 2 * pair - 2);
    }
    assert_in_range(first, 160, 240); /* four standard deviations */
    assert_in_range(turns, 160, 240);
}

static void test_turns(void **state)
{
    log_text log = { .length = 0 };
    actor one = { .log = &log, .name = 'a', .seconds = 1 };
    actor two = { .log = &log, .name = 'b', .seconds = 2 };
    lab_side a = { act, move, &one }, b = { act, NULL, &two };
    lab_duel_options options = { .round = 1, .seconds = 16, .seed = 2, .rules = { .looks = 1 } };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_int_equal(duel.pairs, 16);
    assert_int_equal(duel.planned, 16);
    assert_int_equal(log.length, 16 + 32); /* a new place for each stretch, of one pair */
    char want[64] = "";
    for (size_t block = 0, length = 0; block < 32; block++) {
        if (block % 2 == 0)
            want[length++] = '.';
        want[length++] = lab_interleave_second(2, block) ? 'b' : 'a';
    }
    assert_string_equal(log.text, want);
    for (size_t i = 0; i < 16; i++)
        assert_true(duel.a[i] == 1 && duel.b[i] == 2);
    assert_int_equal(duel.comparison.verdict, LAB_FASTER);
    lab_duel_free(&duel);
    assert_null(duel.a);
}

/* It ends as soon as a look is clear; with a single look, or if nothing is clear, at the end. */
static void test_stops_when_clear(void **state)
{
    log_text log = { .length = 0 };
    actor one = { .log = &log, .name = 'a', .seconds = 1, .noise = 0.01 };
    actor two = { .log = &log, .name = 'b', .seconds = 1.2, .noise = 0.01 };
    lab_side a = { act, move, &one }, b = { act, move, &two };
    lab_duel_options options = { .round = 1, .seconds = 96 };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_int_equal(duel.planned, 96);
    assert_in_range(duel.pairs, 1, 60);
    assert_int_equal(duel.comparison.verdict, LAB_FASTER);
    lab_duel_free(&duel);

    options.rules.looks = 1;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_int_equal(duel.pairs, 96);
    lab_duel_free(&duel);

    two.seconds = 1.01; /* on the bound */
    options.rules.looks = 5;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_int_equal(duel.pairs, 96);
    assert_int_equal(duel.comparison.verdict, LAB_AMBIGUOUS);
    assert_false(duel.ended);
    lab_duel_free(&duel);
}

/* Blocks that take longer than reported: the clock ends the duel, but not before the minimum number
 * of pairs. */
static void test_stops_in_time(void **state)
{
    log_text log = { .ns = 2000000 };
    actor one = { .log = &log, .name = 'a', .seconds = 1, .noise = 0.3 };
    actor two = { .log = &log, .name = 'b', .seconds = 1, .noise = 0.3 };
    lab_side a = { act, NULL, &one }, b = { act, NULL, &two };
    lab_duel_options options = { .round = 1e-4, .seconds = 0.05, .pairs_min = 3 };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_true(duel.ended && duel.pairs < duel.planned && duel.pairs >= 3);
    assert_int_equal(duel.comparison.verdict, LAB_AMBIGUOUS);
    lab_duel_free(&duel);

    options.seconds = 1e-6;
    options.round = 0; /* it determines this, with pairs that are discarded */
    log.length = 0;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_int_equal(duel.pairs, 3);
    assert_int_equal(log.length, 8);
    lab_duel_free(&duel);
}

/* A side whose first blocks take long because its CPU was busy. */
static heed_status act_late(void *data, double *seconds)
{
    actor *self = data;
    int64_t start = heed_clock_ns(), ns = self->blocks < 2 ? 20000000 : 100000;
    while (heed_clock_ns() - start < ns)
        continue;
    self->blocks++;
    *seconds = 1;
    return HEED_OK;
}

/* The first two pairs take 200 times as long as all others, but the time is used fully. */
static void test_tries_typical(void **state)
{
    actor one = { .name = 'a' }, two = { .name = 'b' };
    lab_side a = { act_late, NULL, &one }, b = { act_late, NULL, &two };
    const lab_duel_options options = { .seconds = 4, .pairs_max = 1000, .rules = { .looks = 1 } };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
    assert_true(duel.planned > 400);
    lab_duel_free(&duel);
}

/* A side whose process is up to a fifth faster or slower, at random, until it is renewed; a shared
 * slowdown affects both sides. */
typedef struct lucky {
    uint64_t seed;
    uint64_t common, own; /* of the stretch */
    double luck;
    double shared;
    int renewals;
    int *turn; /* of both sides */
    int firsts;
} lucky;

static heed_status blocks_by_luck(void *data, double *seconds)
{
    lucky *self = data;
    *seconds = self->shared * exp(self->luck + 0.01 * lab_random_normal(self->seed++, 0));
    return HEED_OK;
}

static heed_status draw_luck(void *data, uint64_t common, uint64_t own)
{
    lucky *self = data;
    self->common = common;
    self->own = own;
    self->luck = 0.1 * lab_random_normal(own, 1);
    self->shared = 1 + (double)(common % 2);
    self->renewals++;
    self->firsts += (*self->turn)++ % 2 == 0;
    return HEED_OK;
}

/* Luck that lasts for a stretch does no harm, however large it is: it is redrawn for each stretch,
 * whichever side is first, and partly shared by both. Drawn only once, it gives a wrong verdict
 * although the pairs are clear. */
static void test_luck(void **state)
{
    int turn = 0, wrong = 0, wrong_kept = 0, firsts = 0, renewals = 0;
    for (uint64_t run = 0; run < 300; run++) {
        lucky one = { .seed = run << 32, .turn = &turn };
        lucky two = { .seed = (run << 32) + (1u << 30), .turn = &turn };
        lab_side a = { blocks_by_luck, draw_luck, &one }, b = { blocks_by_luck, draw_luck, &two };
        const lab_duel_options options = { .round = 1, .seconds = 96, .seed = 100 + run };
        lab_duel duel;
        assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
        assert_true(one.common == two.common && one.own != two.own);
        assert_int_equal(one.renewals, two.renewals);
        wrong += duel.comparison.verdict != LAB_AMBIGUOUS;
        firsts += one.firsts;
        renewals += one.renewals;
        lab_duel_free(&duel);
        a.renew = b.renew = NULL;
        assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_OK);
        wrong_kept += duel.comparison.verdict == LAB_FASTER ||
                      duel.comparison.verdict == LAB_SLOWER;
        lab_duel_free(&duel);
    }
    assert_in_range(wrong, 0, 10); /* expected are 3, and this is four standard deviations */
    assert_true(wrong_kept > 200);
    assert_in_range(firsts, renewals * 45 / 100, renewals * 55 / 100);
}

static void test_failures(void **state)
{
    log_text log = { .fail_at = 8 }; /* in the third pair, with a new place before each */
    actor one = { .log = &log, .name = 'a', .seconds = 1 };
    actor two = { .log = &log, .name = 'b', .seconds = 1 };
    lab_side a = { act, move, &one }, b = { act, NULL, &two };
    lab_duel_options options = { .round = 1, .seconds = 20 };
    static const lab_duel_options bad[] = { { .seconds = -1 },
                                            { .round = -1 },
                                            { .pairs_min = 9, .pairs_max = 8 },
                                            { .pairs_max = LAB_PAIRS_MAX + 1 },
                                            { .round = 1, .rules = { .margin = 2 } } };
    lab_duel duel;
    assert_int_equal(lab_duel_run(&duel, &a, &b, &options), HEED_ERR_SYSTEM);
    assert_int_equal(duel.pairs, 2);
    lab_duel_free(&duel);
    log.fail_at = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lab_duel_run(&duel, &a, &b, &bad[i]), HEED_ERR_INVALID);
        lab_duel_free(&duel);
    }
}

/* Shapes of a contest, and their true results. */
enum {
    SHAPES = 4
};
typedef struct scene {
    double ratio[SHAPES];
    double noise;
    uint64_t seed;
    log_text log;
    actor sides[SHAPES][2];
    lab_duel duels[LAB_ROUNDS][SHAPES];
    size_t fail_at, out_at;
    size_t played;
} scene;

static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    scene *self = data;
    actor *pair = self->sides[index];
    lab_duel *here = &self->duels[round][index];
    if (index == self->fail_at)
        return HEED_ERR_UNSUPPORTED;
    pair[0] = (actor){ .log = &self->log, .name = 'a', .seconds = 1, .noise = self->noise };
    pair[1] = (actor){
        .log = &self->log, .name = 'b', .seconds = self->ratio[index], .noise = self->noise
    };
    const lab_side a = { act, move, &pair[0] }, b = { act, move, &pair[1] };
    self->played++;
    if (index == self->out_at && round == 1)
        return HEED_OK;
    *duel = here;
    options.round = 1;
    return lab_duel_run(here, &a, &b, &options);
}

/* Plays all rounds; returns the number of shapes won. */
static size_t hold(scene *s, lab_bout *bouts, bool each, heed_status *status)
{
    lab_contest contest = {
        .bouts = bouts, .count = SHAPES, .each = each, .wins = 1, .play = play, .data = s
    };
    const lab_duel_options options = { .seconds = 96 };
    size_t won = 0;
    *status = HEED_OK;
    for (int round = 0; round < LAB_ROUNDS && *status == HEED_OK; round++)
        *status = lab_contest_round(&contest, round, &options);
    for (size_t i = 0; i < SHAPES; i++) {
        won += lab_bout_won(&bouts[i]);
        for (int round = 0; round < LAB_ROUNDS; round++)
            lab_duel_free(&s->duels[round][i]);
    }
    return won;
}

/* One champion for all shapes: a kernel that is slower on one of them wins none. */
static void test_contest(void **state)
{
    scene s = { .ratio = { 1.1, 1, 0.9, 1 }, .noise = 0.005, .fail_at = SHAPES, .out_at = SHAPES };
    lab_bout bouts[SHAPES] = { { .rounds = 0 } };
    static const lab_compared want[] = { LAB_FASTER, LAB_EQUIVALENT, LAB_SLOWER, LAB_EQUIVALENT };
    heed_status status;
    assert_int_equal(hold(&s, bouts, false, &status), 0);
    assert_int_equal(status, HEED_OK);
    assert_int_equal(s.played, SHAPES);
    for (size_t i = 0; i < SHAPES; i++) {
        const lab_comparison *one = &bouts[i].compared[0];
        assert_int_equal(bouts[i].rounds, 1);
        assert_int_equal(one->verdict, want[i]);
        assert_true(one->confidence > 0.99 && one->confidence < 1);
        bouts[i] = (lab_bout){ .rounds = 0 };
    }
    s.ratio[2] = 1;
    assert_int_equal(hold(&s, bouts, false, &status), SHAPES);
    assert_int_equal(s.played, 3 * SHAPES);

    memset(bouts, 0, sizeof bouts);
    s.fail_at = 2;
    assert_int_equal(hold(&s, bouts, false, &status), 0);
    assert_int_equal(status, HEED_ERR_UNSUPPORTED);
}

/* A champion for each shape: only winners play again, and eliminated shapes are not won. */
static void test_contest_each(void **state)
{
    scene s = { .ratio = { 1.1, 1, 1.2, 1.3 }, .noise = 0.005, .fail_at = SHAPES, .out_at = 3 };
    lab_bout bouts[SHAPES] = { { .rounds = 0 }, { .rounds = 0 }, { .out = true } };
    heed_status status;
    assert_int_equal(hold(&s, bouts, true, &status), 1);
    assert_int_equal(status, HEED_OK);
    assert_int_equal(s.played, 5);
    assert_true(lab_bout_won(&bouts[0]));
    assert_int_equal(bouts[1].rounds, 1);
    assert_int_equal(bouts[2].rounds, 0);
    assert_int_equal(bouts[3].rounds, 1);
    assert_true(bouts[3].out && bouts[3].decision.ahead);
    assert_true(bouts[0].decision.fresh && !bouts[3].decision.fresh);
}

/* Series of @pairs pairs with ratio 1 + @shift and spread @noise. */
static lab_series series_of(double (*room)[64], uint64_t seed, double shift, double noise)
{
    for (uint64_t i = 0; i < 64; i++) {
        room[0][i] = exp(noise * lab_random_normal(seed, 2 * i));
        room[1][i] = (1 + shift) * exp(noise * lab_random_normal(seed, 2 * i + 1));
    }
    return (lab_series){ .a = room[0], .b = room[1], .pairs = 64 };
}

/* Twenty equal shapes, many times (with nearly no margin): tested one by one, most families have a
 * false verdict; tested as a family, few do. A family of one gives the same result as one shape
 * alone. */
static void test_family_keeps_its_word(void **state)
{
    static double room[20][2][64];
    const lab_rules rules = { .margin = 1e-6, .confidence = 0.9 };
    int single = 0, together = 0, runs = 200;
    for (uint64_t run = 0; run < (uint64_t)runs; run++) {
        lab_family_member members[20];
        lab_comparison each, all[20];
        bool any = false, any_together = false;
        for (uint64_t i = 0; i < 20; i++) {
            members[i] = (lab_family_member){ series_of(room[i], run * 20 + i, 0, 0.02), &all[i] };
            assert_int_equal(lab_compare(&members[i].series, &rules, &each), HEED_OK);
            any |= each.verdict == LAB_FASTER || each.verdict == LAB_SLOWER;
        }
        assert_int_equal(lab_family_judge(members, 20, &rules), HEED_OK);
        for (size_t i = 0; i < 20; i++)
            any_together |= all[i].verdict == LAB_FASTER || all[i].verdict == LAB_SLOWER;
        single += any;
        together += any_together;
        assert_int_equal(lab_family_judge(members + 19, 1, &rules), HEED_OK);
        assert_int_equal(all[19].verdict, each.verdict);
        assert_true(all[19].ratio.low == each.ratio.low);
    }
    assert_true(single > 0.7 * runs);
    assert_in_range(together, 0, 0.16 * runs); /* 10 %, and three standard deviations */
}

/* Holm's steps: a shape that would fail with its first share passes once the others have passed. */
static void test_family_steps_down(void **state)
{
    static double room[3][2][64];
    const lab_rules rules = { .margin = 1e-6 };
    bool seen = false;
    for (uint64_t seed = 0; seed < 200 && !seen; seed++) {
        lab_comparison first, all[3];
        const lab_family_member members[3] = {
            { series_of(room[0], 1, 0.2, 0.02), &all[0] },
            { series_of(room[1], 2, 0.2, 0.02), &all[1] },
            { series_of(room[2], 1000 + seed, 0.013, 0.02), &all[2] },
        };
        lab_rules share = lab_family_rules(&rules, 3);
        assert_int_equal(lab_compare(&members[2].series, &share, &first), HEED_OK);
        assert_int_equal(lab_family_judge(members, 3, &rules), HEED_OK);
        assert_int_equal(all[0].verdict, LAB_FASTER);
        if (first.verdict == LAB_FASTER)
            assert_int_equal(all[2].verdict, LAB_FASTER);
        seen = first.verdict != LAB_FASTER && all[2].verdict == LAB_FASTER;
    }
    assert_true(seen);
}

static lab_comparison told(lab_compared verdict, double low, double estimate)
{
    return (lab_comparison){ .verdict = verdict, .ratio = { estimate, low, estimate * 1.02 } };
}

/* A round from letters: a win, a slight one (FASTER, but by less than 3 %), even, open, a loss. */
static void tell(lab_bout *bouts, int round, const char *letters)
{
    for (; *letters; letters++)
        (bouts++)->compared[round] = *letters == 'W'   ? told(LAB_FASTER, 1.04, 1.05)
                                     : *letters == 'w' ? told(LAB_FASTER, 1.015, 1.04)
                                     : *letters == '=' ? told(LAB_EQUIVALENT, 0.99, 1)
                                     : *letters == '?' ? told(LAB_AMBIGUOUS, 0.9, 1.1)
                                                       : told(LAB_SLOWER, 0.94, 0.95);
}

static void test_succession(void **state)
{
    static const struct {
        const char *first, *again;
        bool ahead;
        const char *reason;
    } cases[] = {
        { "WW=", NULL, true, "FASTER by 3 % on 2 of 3" },
        { "WW?", NULL, true, "FASTER by 3 % on 2 of 3" },
        { "WWL", NULL, false, "SLOWER on 1 of 3" },
        { "W=?", NULL, false, "on 1 of 3 shapes; 2 are" },
        { "Ww=", NULL, false, "on 1 of 3 shapes; 2 are" },
        { "WW=", "WW=", true, "on fresh samples FASTER by" },
        { "WW=", "W=W", true, "on 2 of 3" },
        { "WW=", "W?=", false, "on fresh samples FASTER by" },
        { "WW=", "WWL", false, "on fresh samples SLOWER on 1" },
        { "W==", "WWW", false, "on 1 of 3 shapes; 2 are" },
    };
    lab_bout bouts[3];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tell(bouts, 0, cases[i].first);
        tell(bouts, 1, cases[i].again ? cases[i].again : "");
        lab_decision d = lab_champion_decide(bouts, 3, cases[i].again ? 2 : 1, 0, 0);
        assert_int_equal(d.ahead, cases[i].ahead);
        if (!strstr(d.reason, cases[i].reason))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, d.reason, cases[i].reason);
    }
    tell(bouts, 0, "=LW");
    assert_false(lab_champion_decide(bouts + 2, 1, 1, 0.045, 1).ahead);
    assert_true(lab_champion_decide(bouts + 2, 1, 1, 0.035, 1).ahead);
}

RUN_TESTS(test_order, test_turns, test_stops_when_clear, test_stops_in_time, test_tries_typical,
          test_luck, test_failures, test_contest, test_contest_each, test_family_keeps_its_word,
          test_family_steps_down, test_succession)
