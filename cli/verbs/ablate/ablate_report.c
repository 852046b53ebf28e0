/*
 * ablate_report.c - ranked effects, and what was planted, as tables or JSON
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ablate.h"
#include "report/format.h"

#define SAY_SIZE 160

/* The effects of what was measured, ranked; NULL if there is no memory. */
static lab_effect *ranked(const lab_ablate_subject *subject, size_t *count)
{
    lab_effect *effects = calloc(subject->count + 1, sizeof *effects);
    *count = 0;
    for (size_t i = 0; effects && i < subject->count; i++)
        if (subject->cases[i].duel.pairs > 0)
            effects[(*count)++] = subject->cases[i].effect;
    if (effects)
        lab_effects_rank(effects, *count);
    return effects;
}

static const lab_ablate_case *case_of(const lab_ablate_subject *subject, const char *name)
{
    for (size_t i = 0; i < subject->count; i++)
        if (strcmp(subject->cases[i].it->name, name) == 0)
            return &subject->cases[i];
    return NULL;
}

/* ---- Tables ---- */

/* The change of the time, such as "+12.3 %". */
static void add_change(lab_table *table, double ratio)
{
    if (isfinite(ratio) && ratio > 0)
        lab_table_cell(table, "%+.1f %%", 100 * (ratio - 1));
    else
        lab_table_cell(table, "-");
}

static void add_interval(lab_table *table, double low, double high)
{
    if (isfinite(high) && low > 0)
        lab_table_cell(table, "%+.1f to %+.1f", 100 * (low - 1), 100 * (high - 1));
    else
        lab_table_cell(table, "-");
}

static void add_effect(lab_table *table, const lab_ablate_subject *subject,
                       const lab_effect *effect)
{
    const lab_ablate_case *what = case_of(subject, effect->name);
    char says[SAY_SIZE];
    lab_effect_say(effect, says, sizeof says);
    lab_table_cell(table, "%s%s", effect->name, what->it->wrong ? " *" : "");
    add_change(table, effect->ratio);
    add_interval(table, effect->low, effect->high);
    lab_table_cell(table, "%s", lab_effect_word_name(lab_effect_of(effect)));
    lab_table_cell(table, "%s", says);
}

static void add_absent(lab_table *table, const lab_ablate_absent *absent)
{
    lab_table_cell(table, "%s", absent->it->name);
    for (int i = 0; i < 3; i++)
        lab_table_cell(table, "-");
    lab_table_cell(table, "not applicable: %s", absent->why);
}

static cli_exit print_effects(const lab_ablate_subject *subject)
{
    size_t count;
    lab_effect *effects = ranked(subject, &count);
    lab_table *table = effects ? lab_table_create() : NULL;
    lab_table_columns(table, "ablation|time>|99 % interval>||what it says");
    for (size_t i = 0; i < count; i++)
        add_effect(table, subject, &effects[i]);
    for (size_t i = 0; i < subject->absent_count; i++)
        add_absent(table, &subject->absent[i]);
    free(effects);
    return cli_table_print(table);
}

static bool is_found(const lab_ablate_planted *planted)
{
    return planted->duel.comparison.ratio.low > 1;
}

static cli_exit print_planted(const lab_ablate_subject *subject)
{
    lab_table *table = lab_table_create();
    lab_table_columns(table, "planted>|time>|99 % interval>|");
    for (size_t i = 0; i < subject->planted_count; i++) {
        const lab_ablate_planted *planted = &subject->planted[i];
        const lab_interval *ratio = &planted->duel.comparison.ratio;
        lab_table_cell(table, "%.0f %%", 100 * planted->share);
        add_change(table, ratio->estimate);
        add_interval(table, ratio->low, ratio->high);
        lab_table_cell(table, "%s", is_found(planted) ? "found" : "not found");
    }
    return cli_table_print(table);
}

/* Notes below the tables. */
static void print_notes(const lab_ablate_subject *subject)
{
    bool wrong = false;
    for (size_t i = 0; i < subject->count; i++) {
        const lab_ablate_case *what = &subject->cases[i];
        wrong = wrong || (what->it->wrong && what->duel.pairs > 0);
        if (strcmp(what->kernel, subject->kernel) != 0 && what->duel.pairs > 0)
            printf("%s is the config %s\n", what->it->name, what->kernel);
        if (what->outcome != LAB_BENCH_OK)
            printf("%s: %s: %s\n", what->it->name, lab_bench_outcome_name(what->outcome),
                   what->reason);
    }
    if (wrong)
        printf("* its results are wrong, as they must be\n");
}

static cli_exit print_subject(const lab_ablate_run *run, const lab_ablate_subject *subject)
{
    char time[LAB_FORMAT_SIZE];
    printf("%s%s%s\n", cli_style(stdout, CLI_BOLD), subject->spec, cli_style(stdout, CLI_PLAIN));
    printf("%s, %s%s, on %s\n\n", subject->kernel,
           lab_format_seconds(subject->seconds > 0 ? subject->seconds : -1, time),
           run->bench.cold ? " cold" : "", heed_context_device(run->bench.context));
    cli_exit code = print_effects(subject);
    print_notes(subject);
    if (code == CLI_OK && subject->planted_count > 0) {
        printf("\n");
        code = print_planted(subject);
    } else if (subject->reach != 0) {
        printf("\na delay of its blocks does not show in its time, so none was planted\n");
    }
    return code;
}

cli_exit ablate_print(const lab_ablate_run *run)
{
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < run->count && code == CLI_OK; i++) {
        if (i > 0)
            printf("\n");
        code = print_subject(run, &run->subjects[i]);
    }
    return code;
}

/* ---- JSON ---- */

static json_t *json_interval(const lab_interval *ratio)
{
    return json_pack("{s:o, s:o, s:o}", "estimate", cli_json_real(ratio->estimate), "low",
                     cli_json_real(ratio->low), "high", cli_json_real(ratio->high));
}

static json_t *json_effect(const lab_ablate_subject *subject, const lab_effect *effect)
{
    const lab_ablate_case *what = case_of(subject, effect->name);
    const lab_interval *ratio = &what->duel.comparison.ratio;
    char says[SAY_SIZE];
    lab_effect_say(effect, says, sizeof says);
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:b, s:i, s:o}", "name", effect->name,
                     "kernel", what->kernel, "ratio", json_interval(ratio), "verdict",
                     lab_effect_word_name(lab_effect_of(effect)), "effect",
                     cli_json_real(lab_effect_value(effect)), "gain_at_most",
                     cli_json_real(lab_effect_gain(effect)), "wrong_by_design", what->it->wrong,
                     "pairs", (int)what->duel.pairs, "says", cli_json_text(says));
}

static json_t *json_effects(const lab_ablate_subject *subject)
{
    size_t count;
    lab_effect *effects = ranked(subject, &count);
    json_t *array = effects ? json_array() : NULL;
    for (size_t i = 0; i < count; i++)
        array = cli_json_append(array, json_effect(subject, &effects[i]));
    free(effects);
    return array;
}

static json_t *json_failed(const lab_ablate_subject *subject)
{
    json_t *array = json_array();
    for (size_t i = 0; i < subject->count; i++) {
        const lab_ablate_case *what = &subject->cases[i];
        if (what->outcome != LAB_BENCH_OK)
            array = cli_json_append(array,
                                    json_pack("{s:s, s:s, s:o}", "name", what->it->name, "outcome",
                                              lab_bench_outcome_name(what->outcome), "reason",
                                              cli_json_text(what->reason)));
    }
    return array;
}

static json_t *json_absent(const lab_ablate_subject *subject)
{
    json_t *array = json_array();
    for (size_t i = 0; i < subject->absent_count; i++)
        array = cli_json_append(array, json_pack("{s:s, s:s}", "name", subject->absent[i].it->name,
                                                 "reason", subject->absent[i].why));
    return array;
}

static json_t *json_planted(const lab_ablate_subject *subject)
{
    json_t *array = json_array();
    for (size_t i = 0; i < subject->planted_count; i++) {
        const lab_ablate_planted *planted = &subject->planted[i];
        array = cli_json_append(array,
                                json_pack("{s:f, s:o, s:b}", "planted", planted->share, "ratio",
                                          json_interval(&planted->duel.comparison.ratio), "found",
                                          is_found(planted)));
    }
    return array;
}

static json_t *json_subject(const lab_ablate_subject *subject)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "problem", subject->spec, "kernel",
                     subject->kernel, "seconds", cli_json_positive(subject->seconds), "ablations",
                     json_effects(subject), "failed", json_failed(subject), "not_applicable",
                     json_absent(subject), "reach", cli_json_real(subject->reach), "planted",
                     json_planted(subject));
}

cli_exit ablate_print_json(const lab_ablate_run *run)
{
    json_t *array = json_array();
    for (size_t i = 0; i < run->count; i++)
        array = cli_json_append(array, json_subject(&run->subjects[i]));
    return cli_json_print(json_pack("{s:s, s:b, s:f, s:f, s:o}", "device",
                                    heed_context_device(run->bench.context), "cold",
                                    run->bench.cold, "seconds", run->bench.seconds, "margin",
                                    run->bench.margin, "problems", array),
                          "ablate");
}
