/*
 * insight_report.c - the facts about a kernel, and their meaning for the guide, as tables or JSON
 */
#include <math.h>

#include "insight.h"
#include "report/table.h"

const char *const insight_modes[] = { "none", "static", "measured", NULL };

/* The finding of a single clue, "-" for none. */
static const char *say(const lab_clue *counter, const lab_clue *effect, char *text, size_t size)
{
    lab_clues one = lab_clues_unknown();
    one.counters = counter;
    one.counter_count = counter != NULL;
    one.effects = effect;
    one.effect_count = effect != NULL;
    lab_clue_explain(lab_clues_findings(&one), text, size);
    return *text ? text : "-";
}

static void print_counters(lab_table *table, const lab_insight *it)
{
    char text[200];
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++) {
        const lab_clue clue = { lab_clue_counter(i), it->counters[i] };
        if (isnan(clue.value))
            continue;
        lab_table_cell(table, "counter %s", clue.name);
        lab_table_cell(table, "%.3g", clue.value);
        lab_table_cell(table, "-");
        lab_table_cell(table, "%s", say(&clue, NULL, text, sizeof text));
        lab_table_row_end(table);
    }
}

static void print_effects(lab_table *table, const lab_insight *it)
{
    char text[200];
    for (size_t i = 0; i < it->effect_count; i++) {
        const lab_effect *effect = &it->effects[i];
        lab_clue clue;
        bool clear = lab_clue_of_effect(effect, &clue);
        lab_effect_word word = lab_effect_of(effect);
        lab_table_cell(table, "ablation %s", effect->name);
        lab_table_cell(table, "%+.1f %%", 100 * (effect->ratio - 1));
        if (isfinite(effect->high))
            lab_table_cell(table, "%+.1f to %+.1f", 100 * (effect->low - 1),
                           100 * (effect->high - 1));
        else
            lab_table_cell(table, "-");
        lab_table_cell(table, "%s",
                       clear ? say(NULL, &clue, text, sizeof text) : lab_effect_word_name(word));
        lab_table_row_end(table);
    }
}

cli_exit insight_print(const lab_insight *it)
{
    char words[200];
    cli_exit code = CLI_OK;
    lab_clue_explain(lab_insight_findings(it), words, sizeof words);
    printf("\nfacts about %s on %s: %s\n", it->kernel, it->spec, *words ? words : "no clear limit");
    if (lab_insight_known(it)) {
        printf("\n");
        lab_table *table = lab_table_create();
        lab_table_columns(table, "clue|figure>|99 % interval>|it says");
        print_counters(table, it);
        print_effects(table, it);
        code = cli_table_print(table);
    }
    if (*it->counters_why)
        cli_message("counters are unknown: %s", it->counters_why);
    if (*it->effects_why)
        cli_message("effects of ablation are not all known: %s", it->effects_why);
    return code;
}

/* ---- JSON ---- */

json_t *insight_words_json(unsigned findings)
{
    json_t *list = json_array();
    for (int i = 0; i < LAB_FINDINGS; i++)
        if (findings >> i & 1)
            list = cli_json_append(list, json_string(lab_finding_name((lab_finding)i)));
    return list;
}

static json_t *json_effects(const lab_insight *it)
{
    json_t *list = json_array();
    for (size_t i = 0; i < it->effect_count; i++) {
        const lab_effect *effect = &it->effects[i];
        list = cli_json_append(list, json_pack("{s:s, s:o, s:o, s:o, s:s, s:o}", "name",
                                               effect->name, "ratio", cli_json_real(effect->ratio),
                                               "low", cli_json_real(effect->low), "high",
                                               cli_json_real(effect->high), "verdict",
                                               lab_effect_word_name(lab_effect_of(effect)),
                                               "effect", cli_json_real(lab_effect_value(effect))));
    }
    return list;
}

json_t *insight_json(const lab_insight *it)
{
    json_t *counters = json_object();
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        json_object_set_new(counters, lab_clue_counter(i), cli_json_real(it->counters[i]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "kernel", it->kernel, "problem",
                     it->spec, "findings", insight_words_json(lab_insight_findings(it)), "counters",
                     counters, "counters_unknown",
                     *it->counters_why ? cli_json_text(it->counters_why) : json_null(), "effects",
                     json_effects(it), "effects_unknown",
                     *it->effects_why ? cli_json_text(it->effects_why) : json_null(), "seconds",
                     cli_json_real(it->seconds));
}
