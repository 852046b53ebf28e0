/*
 * test_clues.c - clues about a kernel become findings, findings change the moves of evolution, and
 * the documents agree with the tables
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/inspect/ablate.h"
#include "lab/inspect/profile.h"
#include "lab/search/guide.h"
#include "landscapes.h"
#include "scratch.h"

#define DATA HEED_SOURCE_DIR "/tests/data/ncu/"
#define BIT(finding) (1u << (finding))

/* ---- Figures become findings ---- */

static unsigned of_counters(const lab_clue *counters, size_t count)
{
    lab_clues clues = lab_clues_unknown();
    clues.counters = counters;
    clues.counter_count = count;
    return lab_clues_findings(&clues);
}

static unsigned of_effect(const char *name, double value)
{
    const lab_clue effect = { name, value };
    lab_clues clues = lab_clues_unknown();
    clues.effects = &effect;
    clues.effect_count = 1;
    return lab_clues_findings(&clues);
}

static unsigned of_finding(const char *name)
{
    const lab_clue finding = { name, 0 };
    lab_clues clues = lab_clues_unknown();
    clues.findings = &finding;
    clues.finding_count = 1;
    return lab_clues_findings(&clues);
}

static void test_code(void **state)
{
    lab_clues clues = lab_clues_unknown();
    clues.warps_max = 64;
    clues.smem_max = 232448;
    assert_int_equal(lab_clues_findings(&clues), 0);
    clues.point_facts = (lab_point_facts){ { [LAB_FACT_REGISTERS] = 128,
                                             [LAB_FACT_SPILLS] = 16,
                                             [LAB_FACT_SMEM] = 100000,
                                             [LAB_FACT_BLOCKS] = 2,
                                             [LAB_FACT_WARPS] = 8 } };
    unsigned set = lab_clues_findings(&clues);
    assert_int_equal(set, BIT(LAB_FINDING_SPILLS) | BIT(LAB_FINDING_LOW_OCCUPANCY) |
                              BIT(LAB_FINDING_SMEM_BOUND));
    assert_int_equal(lab_findings_shared(set), 0);
    assert_int_equal(lab_findings_shared(BIT(LAB_FINDING_EXP_BOUND) | BIT(LAB_FINDING_SPILLS)),
                     BIT(LAB_FINDING_EXP_BOUND));
}

/* Each rule gives its finding on one side of the limit, and not on the other. */
static void test_rules(void **state)
{
    size_t sources[3] = { 0 };
    for (size_t i = 0; lab_clue_rule_at(i); i++) {
        const lab_clue_rule *rule = lab_clue_rule_at(i);
        double step = rule->below ? -0.01 : 0.01;
        const lab_clue there = { rule->name, rule->limit + step };
        const lab_clue here = { rule->name, rule->limit - step };
        sources[rule->source]++;
        if (rule->source == LAB_CLUE_INSPECTION) {
            assert_true(of_finding(rule->name) & BIT(rule->finding));
        } else if (rule->source == LAB_CLUE_COUNTER) {
            size_t known = 0;
            while (lab_clue_counter(known) && strcmp(lab_clue_counter(known), rule->name) != 0)
                known++;
            assert_non_null(lab_clue_counter(known));
            assert_int_equal(of_counters(&there, 1), BIT(rule->finding));
            assert_int_equal(of_counters(&here, 1), 0);
        } else {
            assert_non_null(lab_ablation_find(rule->name));
            assert_int_equal(of_effect(rule->name, there.value), BIT(rule->finding));
            assert_int_equal(of_effect(rule->name, here.value), 0);
        }
    }
    assert_true(sources[0] > 3 && sources[1] > 3 && sources[2] > 3);
    assert_int_equal(of_finding("uncoalesced"), BIT(LAB_FINDING_UNCOALESCED)); /* its own name */
    assert_int_equal(of_finding("boredom") | of_effect("boredom", 1), 0);
    assert_int_equal(lab_finding_of("boredom"), LAB_FINDINGS);
}

/* A kernel is waiting if every unit is known to be idle. */
static void test_waiting(void **state)
{
    lab_clue units[] = { { "tensor", 0.3 }, { "exp", 0.3 }, { "memory", 0.3 } };
    assert_int_equal(of_counters(units, 3), BIT(LAB_FINDING_LATENCY_BOUND));
    assert_int_equal(of_counters(units, 2), 0);
    units[1].value = 0.6;
    assert_int_equal(of_counters(units, 3), 0);
}

/* Only clear effects are clues. */
static void test_effects(void **state)
{
    static const struct {
        const char *name;
        double ratio, low, high;
        unsigned set;
    } rows[] = {
        { "no-exp", 0.8, 0.78, 0.82, BIT(LAB_FINDING_EXP_BOUND) },
        { "no-exp", 0.8, 0.5, 1.2, 0 },    /* unclear */
        { "no-exp", 0.97, 0.96, 0.98, 0 }, /* little */
        { "no-products", 0.3, 0.2, 0.4, BIT(LAB_FINDING_TENSOR_BOUND) },
        { "no-loads", 0.7, 0.6, 0.8, BIT(LAB_FINDING_MEMORY_BOUND) },
        { "no-overlap", 1.2, 1.1, 1.3, BIT(LAB_FINDING_LATENCY_BOUND) },
        { "no-overlap", 0.9, 0.85, 0.95, BIT(LAB_FINDING_IDLE_STAGES) },
        { "half-stages", 1.0, 0.999, 1.001, 0 },
        { "tiny-blocks", 0.9, 0.85, 0.95, BIT(LAB_FINDING_FEW_BLOCKS) },
        { "tiny-blocks", 1.7, 1.6, 1.8, 0 },
    };
    char text[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_effect effect = {
            .ratio = rows[i].ratio, .low = rows[i].low, .high = rows[i].high, .margin = 0.01
        };
        lab_clue clue;
        snprintf(effect.name, sizeof effect.name, "%s", rows[i].name);
        bool clear = lab_clue_of_effect(&effect, &clue);
        unsigned set = clear ? of_effect(clue.name, clue.value) : 0;
        if (set != rows[i].set)
            fail_msg("%s %g: %s", rows[i].name, rows[i].ratio,
                     lab_clue_explain(set, text, sizeof text));
    }
    assert_string_equal(lab_clue_ablations(text, sizeof text),
                        "no-exp,no-products,no-loads,half-stages,no-overlap,in-order,"
                        "extra-barrier,tiny-blocks");
}

/* ---- Findings change the odds ---- */

/* The probability that the guide's next move turns knobs for @role in that direction. */
static double chance(const lab_space *space, unsigned findings, lab_knob_role role, int up)
{
    const lab_guide none = { { { 0 } } };
    double weights[LAB_MOVES], sum = 0, wanted = 0;
    lab_point middle;
    memset(&middle, 0, sizeof middle);
    for (int i = 0; i < space->knob_count; i++)
        middle.at[i] = (space->knobs[i].count - up) / 2; /* one more value that way */
    int count = lab_guide_weigh(&none, space, &middle, findings, 0, weights);
    for (int i = 0; i < count; i++) {
        const lab_move move = lab_move_at(space, i);
        sum += weights[i];
        if (space->knobs[move.knob].role == role && move.up == up)
            wanted += weights[i];
    }
    return wanted / sum;
}

static void assert_prefers(const lab_space *space, unsigned findings, lab_knob_role role, int up)
{
    double before = chance(space, 0, role, up), after = chance(space, findings, role, up);
    char text[200];
    if (!(after > 1.3 * before))
        fail_msg("%s: %s %s has a chance of %.3f, and without of %.3f",
                 lab_clue_explain(findings, text, sizeof text), lab_knob_role_name(role),
                 up ? "up" : "down", after, before);
}

/* The counters of a launch from ncu, with @exp in place of one that was not recorded. */
static unsigned of_recording(const char *name, double exp)
{
    static char text[1 << 20];
    lab_clue counters[LAB_CLUE_COUNTERS];
    double values[LAB_CLUE_COUNTERS];
    size_t count = 0;
    lab_profile profile;
    lab_error error;
    char path[512];
    snprintf(path, sizeof path, DATA "%s", name);
    text[scratch_read(path, text, sizeof text - 1)] = '\0';
    assert_int_equal(lab_profile_read(&profile, text, NULL, &error), HEED_OK);
    if (isnan(profile.value[LAB_METRIC_EXP]))
        profile.value[LAB_METRIC_EXP] = exp;
    lab_counters_of_profile(&profile, values);
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        if (!isnan(values[i]))
            counters[count++] = (lab_clue){ lab_clue_counter(i), values[i] };
    return of_counters(counters, count);
}

/* From recorded counters to the preferences of evolution. */
static void test_recorded(void **state)
{
    lab_space mma, wgmma;
    landscape_space(&mma, "mma");
    landscape_space(&wgmma, "wgmma");
    unsigned set = of_recording("h200-wgmma-long.txt", (double)NAN);
    assert_int_equal(set, BIT(LAB_FINDING_TENSOR_BOUND));
    assert_prefers(&wgmma, set, LAB_KNOB_ORDER, 1);
    assert_prefers(&mma, set, LAB_KNOB_ROWS, 1);
    set = of_recording("h200-naive-b2.txt", (double)NAN);
    assert_int_equal(set, BIT(LAB_FINDING_UNCOALESCED));
    assert_prefers(&mma, set, LAB_KNOB_KEYS, 1);
    /* If a unit is unknown, waiting is unknown too. */
    assert_int_equal(of_recording("h200-mma-b2.txt", (double)NAN), 0);
    set = of_recording("h200-mma-b2.txt", 12);
    assert_int_equal(set, BIT(LAB_FINDING_LATENCY_BOUND));
    assert_prefers(&mma, set, LAB_KNOB_STAGES, 1);
    assert_int_equal(of_recording("h200-mma-b2.txt", 80), BIT(LAB_FINDING_EXP_BOUND));
    lab_space_free(&wgmma);
    lab_space_free(&mma);
}

/* From effects of ablation, and spills that hardware counted, to preferences. */
static void test_preferences(void **state)
{
    static const struct {
        const char *name;
        double value;
        lab_knob_role role;
        int up;
    } rows[] = {
        { "no-exp", 0.2, LAB_KNOB_ORDER, 1 },        { "no-products", 0.4, LAB_KNOB_ROWS, 1 },
        { "no-loads", 0.3, LAB_KNOB_ROWS, 1 },       { "no-loads", 0.3, LAB_KNOB_STAGES, 1 },
        { "no-overlap", 0.1, LAB_KNOB_STAGES, 1 },   { "half-stages", 0.1, LAB_KNOB_STAGES, 1 },
        { "half-stages", -0.1, LAB_KNOB_STAGES, 0 }, { "in-order", -0.1, LAB_KNOB_ORDER, 0 },
        { "tiny-blocks", -0.1, LAB_KNOB_ROWS, 0 },
    };
    const lab_clue local = { "local", 4096 };
    lab_space mma, cpu;
    landscape_space(&mma, "mma");
    landscape_space(&cpu, "cpu_tile");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_prefers(&mma, of_effect(rows[i].name, rows[i].value), rows[i].role, rows[i].up);
    unsigned spills = of_counters(&local, 1);
    assert_prefers(&mma, spills, LAB_KNOB_REGISTERS, 1);
    assert_prefers(&mma, spills, LAB_KNOB_ROWS, 0);
    assert_prefers(&mma, spills, LAB_KNOB_KEYS, 0);
    assert_prefers(&cpu, of_effect("no-loads", 0.3), LAB_KNOB_SPLITS, 1);
    assert_prefers(&cpu, of_effect("tiny-blocks", -0.1), LAB_KNOB_ROWS, 0);
    lab_space_free(&cpu);
    lab_space_free(&mma);
}

/* ---- The documents ---- */

static void read_document(const char *name, char *text, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, HEED_SOURCE_DIR "/docs/%s", name);
    text[scratch_read(path, text, size - 1)] = '\0';
}

/* Finds the row of a table that begins with `name`, and counts its items in backquotes. */
static size_t find_row(const char *document, const char *name, char *row, size_t size)
{
    char begin[64];
    size_t quotes = 0;
    snprintf(begin, sizeof begin, "\n| `%s` | ", name);
    const char *at = strstr(document, begin);
    if (!at)
        fail_msg("there is no row for %s", name);
    snprintf(row, size, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    for (const char *p = row; *p; p++)
        quotes += *p == '`';
    return quotes / 2;
}

static void print_rule(const lab_clue_rule *rule, char *text, size_t size)
{
    const lab_ablation *it = lab_ablation_find(rule->name);
    bool gains = it && (it->kind == LAB_ABLATE_OUT) != rule->below;
    if (rule->source == LAB_CLUE_INSPECTION)
        snprintf(text, size, "`%s`", rule->name);
    else if (rule->source == LAB_CLUE_COUNTER)
        snprintf(text, size, "`%s` %s %g", rule->name, rule->below ? "below" : "above",
                 rule->limit);
    else
        snprintf(text, size, "`%s` %s %g %%", rule->name, gains ? "gains" : "costs",
                 100 * fabs(rule->limit));
}

static void test_vocabulary(void **state)
{
    static char document[65536];
    static const char waiting[] = "`tensor`, `exp` and `memory` all below 0.5";
    char row[1024], wanted[100];
    read_document("proposers.md", document, sizeof document);
    for (int word = 0; word < LAB_FINDINGS; word++) {
        size_t there = find_row(document, lab_finding_name((lab_finding)word), row, sizeof row);
        size_t rules = 1; /* the finding itself */
        for (size_t i = 0; lab_clue_rule_at(i); i++) {
            const lab_clue_rule *rule = lab_clue_rule_at(i);
            print_rule(rule, wanted, sizeof wanted);
            rules += (int)rule->finding == word;
            if ((int)rule->finding == word && !strstr(row, wanted))
                fail_msg("%s: not '%s'", row, wanted);
        }
        if (word == LAB_FINDING_LATENCY_BOUND) {
            assert_non_null(strstr(row, waiting));
            rules += 3;
        }
        if (there != rules)
            fail_msg("%s: %zu rules, %zu words", row, rules, there);
    }
    for (size_t i = 0; lab_clue_counter(i); i++)
        assert_int_equal(find_row(document, lab_clue_counter(i), row, sizeof row), 1);
}

static void test_advice(void **state)
{
    static char document[65536];
    char row[400];
    size_t rules = 0, rows = 0;
    read_document("searching.md", document, sizeof document);
    for (; lab_guide_rule_at(rules); rules++) {
        const lab_guide_rule *it = lab_guide_rule_at(rules);
        const char *role = it->role == LAB_GUIDE_REGION
                               ? "region"
                               : lab_knob_role_name((lab_knob_role)it->role);
        snprintf(row, sizeof row, "\n| `%s` | %s | %g | %g | %s |\n", lab_finding_name(it->finding),
                 role, it->down, it->up, it->why);
        if (!strstr(document, row))
            fail_msg("docs/searching.md has not%s", row);
    }
    for (int word = 0; word < LAB_FINDINGS; word++) {
        snprintf(row, sizeof row, "\n| `%s` | ", lab_finding_name((lab_finding)word));
        for (const char *at = strstr(document, row); at; at = strstr(at + 1, row))
            rows++;
    }
    assert_int_equal(rows, rules);
}

RUN_TESTS(test_code, test_rules, test_waiting, test_effects, test_recorded, test_preferences,
          test_vocabulary, test_advice)
