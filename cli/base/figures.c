/*
 * figures.c - the summary of a search, as a line and as JSON
 */
#include "figures.h"

#include "base/plural.h"
#include "report/format.h"
#include "report/wrap.h"

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

void cli_figures_print(const lab_figures *f, const char *origin)
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

json_t *cli_figures_json(const lab_figures *f)
{
    bool told = f->tokens_in >= 0;
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b}", "candidates", (json_int_t)f->candidates,
        "compiled", (json_int_t)f->compiled, "passed", (json_int_t)f->passed, "over_origin",
        json_speedups(&f->origin), "over_best_rival", json_speedups(&f->rival), "seconds",
        cli_json_real(f->seconds), "tokens_in", told ? json_integer(f->tokens_in) : json_null(),
        "tokens_out", told ? json_integer(f->tokens_out) : json_null(), "confirmed", f->confirmed);
}
