/*
 * search_report.c - parts of the results of evolve and tune: facts about a kernel with their
 * meaning for the guide, and the summary of a search
 */
#include <math.h>

#include "base/plural.h"
#include "cli/verbs/sweep/sweep.h"
#include "report/format.h"
#include "report/wrap.h"

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

/* Adds a clue with its figure and interval. */
static void add_clue(lab_listing *rows, const char *kind, const char *name, const char *figure,
                     const char *interval, const char *says)
{
    lab_cell_left(rows, "clue", "%s %s", kind, name);
    lab_cell_right(rows, "figure", "%s", figure);
    lab_cell_right(rows, "99 % interval", "%s", interval);
    lab_cell_text(rows, NULL, "it says", says);
    lab_row_end(rows);
}

static void add_counters(lab_listing *rows, const lab_insight *it)
{
    char text[200], figure[32];
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++) {
        const lab_clue clue = { lab_clue_counter(i), it->counters[i] };
        if (isnan(clue.value))
            continue;
        snprintf(figure, sizeof figure, "%.3g", clue.value);
        add_clue(rows, "counter", clue.name, figure, "-", say(&clue, NULL, text, sizeof text));
    }
}

static void add_effects(lab_listing *rows, const lab_insight *it)
{
    char text[200], figure[32];
    for (size_t i = 0; i < it->effect_count; i++) {
        const lab_effect *effect = &it->effects[i];
        char interval[64] = "-";
        lab_clue clue;
        bool clear = lab_clue_of_effect(effect, &clue);
        snprintf(figure, sizeof figure, "%+.1f %%", 100 * (effect->ratio - 1));
        if (isfinite(effect->high))
            snprintf(interval, sizeof interval, "%+.1f to %+.1f", 100 * (effect->low - 1),
                     100 * (effect->high - 1));
        add_clue(rows, "ablation", effect->name, figure, interval,
                 clear ? say(NULL, &clue, text, sizeof text)
                       : lab_effect_word_name(lab_effect_of(effect)));
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
        lab_listing rows = cli_rows_begin(false);
        add_counters(&rows, it);
        add_effects(&rows, it);
        code = cli_table_print(rows);
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

static json_t *json_effect(const void *item)
{
    const lab_effect *effect = item;
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o}", "name", effect->name, "ratio",
                     cli_json_real(effect->ratio), "low", cli_json_real(effect->low), "high",
                     cli_json_real(effect->high), "verdict",
                     lab_effect_word_name(lab_effect_of(effect)), "effect",
                     cli_json_real(lab_effect_value(effect)));
}

json_t *insight_json(const lab_insight *it)
{
    json_t *counters = json_object();
    for (size_t i = 0; i < LAB_CLUE_COUNTERS; i++)
        json_object_set_new(counters, lab_clue_counter(i), cli_json_real(it->counters[i]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "kernel", it->kernel, "problem",
                     it->spec, "findings", insight_words_json(lab_insight_findings(it)), "counters",
                     counters, "counters_unknown", cli_json_word(it->counters_why), "effects",
                     cli_json_list(it->effects, it->effect_count, sizeof *it->effects, json_effect),
                     "effects_unknown", cli_json_word(it->effects_why), "seconds",
                     cli_json_real(it->seconds));
}

/* -------------------------------------------------------------------------- */
/* The summary of a search, as a line and as JSON                             */
/* -------------------------------------------------------------------------- */

#define TEXT_SIZE 96

/* "4 candidates, 75 % compiled, 50 % passed" */
static const char *counts_text(const lab_figures *f, char text[TEXT_SIZE])
{
    const double all = (double)f->candidates;
    if (f->candidates > 0)
        snprintf(text, TEXT_SIZE, "%lld candidate%s, %.0f %% compiled, %.0f %% passed",
                 (long long)f->candidates, lab_plural(f->candidates),
                 100 * (double)f->compiled / all, 100 * (double)f->passed / all);
    else
        snprintf(text, TEXT_SIZE, "no candidates");
    return text;
}

/* "1.21x in the median and 1.40x at best over NAME", or that it is not known. */
static const char *speedups_text(const lab_speedups *s, const char *over, char text[TEXT_SIZE])
{
    if (s->count > 0)
        snprintf(text, TEXT_SIZE, "%.2fx in the median and %.2fx at best over %s", s->median,
                 s->best, over);
    else
        snprintf(text, TEXT_SIZE, "no speed-up over %s is known", over);
    return text;
}

static const char *tokens_text(const lab_figures *f, char text[TEXT_SIZE])
{
    *text = '\0'; /* no model was used, or its usage is unknown */
    if (f->tokens_in >= 0)
        snprintf(text, TEXT_SIZE, ", %lld token%s in, %lld out", (long long)f->tokens_in,
                 lab_plural(f->tokens_in), (long long)f->tokens_out);
    return text;
}

void figures_print(const lab_figures *f, const char *origin)
{
    char counts[TEXT_SIZE], over[TEXT_SIZE], rival[TEXT_SIZE], tokens[TEXT_SIZE];
    char time[LAB_FORMAT_SIZE];
    printf("\n");
    lab_wrap_format(stdout, 4, "%s; %s; %s; %s%s; %s", counts_text(f, counts),
                    speedups_text(&f->origin, origin, over),
                    speedups_text(&f->rival, "the best rival", rival),
                    lab_format_duration(f->seconds, time), tokens_text(f, tokens),
                    f->confirmed ? "confirmed" : "not confirmed");
}

static json_t *json_speedups(const lab_speedups *s)
{
    if (s->count == 0)
        return json_null();
    return json_pack("{s:o, s:o, s:I}", "median", cli_json_real(s->median), "best",
                     cli_json_real(s->best), "count", (json_int_t)s->count);
}

json_t *figures_json(const lab_figures *f)
{
    bool told = f->tokens_in >= 0;
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b}", "candidates", (json_int_t)f->candidates,
        "compiled", (json_int_t)f->compiled, "passed", (json_int_t)f->passed, "over_origin",
        json_speedups(&f->origin), "over_best_rival", json_speedups(&f->rival), "seconds",
        cli_json_real(f->seconds), "tokens_in", told ? json_integer(f->tokens_in) : json_null(),
        "tokens_out", told ? json_integer(f->tokens_out) : json_null(), "confirmed", f->confirmed);
}
