/*
 * report_tables.c - times and ratios: a table by rival, one by problem, and one with every figure
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "report.h"
#include "report/format.h"

const char *report_time(double seconds, char text[32])
{
    return lab_format_seconds(seconds > 0 ? seconds : -1, text);
}

const char *report_label(const report_row *row, char text[REPORT_LABEL_SIZE])
{
    snprintf(text, REPORT_LABEL_SIZE, "%.100s%s%s", row->label ? row->label : "",
             row->label && *row->label ? " " : "", row->problem);
    return text;
}

/* ---- Summary of the ratios of one rival ---- */

typedef struct tally {
    size_t compared, faster, slower, equivalent, ambiguous, missing;
    double mean, least, most;
} tally;

static tally tally_of(const report_set *set, const char *rival)
{
    tally t = { .least = DBL_MAX };
    double logs = 0;
    for (size_t i = 0; i < set->row_count; i++) {
        const report_match *match = report_match_of(set->rows[i], rival);
        t.missing += !match;
        if (!match)
            continue;
        t.compared++;
        logs += log(match->ratio);
        t.least = fmin(t.least, match->ratio);
        t.most = fmax(t.most, match->ratio);
        t.faster += strcmp(match->verdict, "FASTER") == 0;
        t.slower += strcmp(match->verdict, "SLOWER") == 0;
        t.equivalent += strcmp(match->verdict, "EQUIVALENT") == 0;
        t.ambiguous += strcmp(match->verdict, "AMBIGUOUS") == 0;
    }
    t.mean = t.compared ? exp(logs / (double)t.compared) : 0;
    return t;
}

double report_geomean(const report_set *set, const char *rival)
{
    return tally_of(set, rival).mean;
}

const char *report_mean(const report_set *set, const char *rival, char text[REPORT_MEAN_SIZE])
{
    const tally t = tally_of(set, rival);
    int length = snprintf(text, REPORT_MEAN_SIZE, "%.2fx", t.mean);
    if (t.ambiguous > 0)
        snprintf(text + length, REPORT_MEAN_SIZE - (size_t)length, ", %zu of %zu ambiguous",
                 t.ambiguous, t.compared);
    else if (t.missing > 0)
        snprintf(text + length, REPORT_MEAN_SIZE - (size_t)length, " over %zu", t.compared);
    return text;
}

static void add_mean(lab_listing *rows, const char *head, const report_set *set, const char *rival)
{
    char text[REPORT_MEAN_SIZE];
    lab_cell_style(rows, LAB_BOLD);
    lab_cell_right(rows, head, "%s", report_mean(set, rival, text));
}

static void add_count(lab_listing *rows, const char *head, lab_style style, size_t count)
{
    lab_cell_style(rows, count ? style : LAB_PLAIN);
    lab_cell_count(rows, NULL, head, (int64_t)count);
}

static void print_tallies(lab_page *page, const report_set *set)
{
    lab_listing rows = lab_listing_in(page);
    for (size_t i = 0; i < set->rival_count; i++) {
        const tally t = tally_of(set, set->rivals[i]);
        lab_cell_text(&rows, NULL, "rival", set->rivals[i]);
        add_count(&rows, "problems", LAB_PLAIN, t.compared);
        add_count(&rows, "heed is faster", LAB_GOOD, t.faster);
        add_count(&rows, "slower", LAB_BAD, t.slower);
        add_count(&rows, "equivalent", LAB_PLAIN, t.equivalent);
        add_count(&rows, "ambiguous", LAB_WARN, t.ambiguous);
        add_count(&rows, "no figure", LAB_PLAIN, t.missing);
        add_mean(&rows, "geometric mean", set, set->rivals[i]);
        lab_cell_right(&rows, "least", "%.2fx", t.least);
        lab_cell_right(&rows, "most", "%.2fx", t.most);
        lab_row_end(&rows);
    }
    lab_listing_print(&rows, NULL);
}

/* ---- A line for each problem ---- */

/* Adds a rate: GPUs are counted in TFLOP/s, CPUs in GFLOP/s. */
static void add_rate(lab_listing *rows, const report_set *set, double rate)
{
    bool replay = report_newest(set)->replay;
    report_add_rate(rows, replay ? "TFLOP/s" : "GFLOP/s", rate / (replay ? 1e12 : 1e9));
}

void report_add_rate(lab_listing *rows, const char *head, double rate)
{
    char text[LAB_FORMAT_SIZE];
    lab_cell_right(rows, head, "%s", lab_format_rate(rate, text));
}

const char *report_interval(double low, double high, char text[REPORT_INTERVAL_SIZE])
{
    int decimals = high < 9.9995 ? 3 : 1;
    if (high > 0)
        snprintf(text, REPORT_INTERVAL_SIZE, "%.*f to %.*f", decimals, low, decimals, high);
    return high > 0 ? text : "none";
}

/* Adds the share of the limit, and the unit that binds. */
static void add_share(lab_listing *rows, double share, const char *bound_by)
{
    char text[32] = "-";
    if (share > 0)
        snprintf(text, sizeof text, "%.0f %%", 100 * share);
    lab_cell_right(rows, "of limit", "%s", text);
    lab_cell_left(rows, "bound by", "%s", bound_by ? bound_by : "-");
}

lab_style report_verdict_style(const char *verdict)
{
    return !verdict                            ? LAB_PLAIN
           : strcmp(verdict, "FASTER") == 0    ? LAB_GOOD
           : strcmp(verdict, "SLOWER") == 0    ? LAB_BAD
           : strcmp(verdict, "AMBIGUOUS") == 0 ? LAB_WARN
                                               : LAB_PLAIN;
}

/* The sign of the short table of `heed bench`. */
static char verdict_sign(const char *verdict)
{
    return strcmp(verdict, "FASTER") == 0       ? '+'
           : strcmp(verdict, "SLOWER") == 0     ? '-'
           : strcmp(verdict, "EQUIVALENT") == 0 ? '='
                                                : '?';
}

static void add_ratio(lab_listing *rows, const char *rival, const report_match *match)
{
    lab_cell_style(rows, report_verdict_style(match ? match->verdict : NULL));
    lab_cell_real(rows, NULL, rival, match ? match->ratio : -1, "%.2fx %c",
                  match ? match->ratio : 0, match ? verdict_sign(match->verdict) : ' ');
}

static void add_problem(lab_listing *rows, const report_set *set, const report_row *row)
{
    char label[REPORT_LABEL_SIZE], time[LAB_FORMAT_SIZE];
    lab_cell_left(rows, "problem", "%s", report_label(row, label));
    lab_cell_style(rows, row->ok ? LAB_PLAIN : LAB_BAD);
    lab_cell_right(rows, "heed", "%s", row->ok ? report_time(row->p50, time) : row->outcome);
    lab_cell_blank(rows, !row->ok);
    add_rate(rows, set, row->rate);
    add_share(rows, row->share, row->bound_by);
    for (size_t i = 0; i < set->rival_count; i++)
        add_ratio(rows, set->rivals[i], report_match_of(row, set->rivals[i]));
    lab_row_end(rows);
}

static void print_problems(lab_page *page, const report_set *set)
{
    lab_listing rows = lab_listing_in(page);
    for (size_t i = 0; i < set->row_count; i++)
        add_problem(&rows, set, set->rows[i]);
    if (set->rival_count > 0) {
        lab_listing_rule(&rows, NULL);
        lab_cell_styled(&rows, NULL, "problem", LAB_BOLD, "geometric mean");
        for (int i = 0; i < 4; i++)
            lab_cell_left(&rows, "", "%s", "");
        for (size_t i = 0; i < set->rival_count; i++)
            add_mean(&rows, set->rivals[i], set, set->rivals[i]);
    }
    lab_listing_print(&rows, NULL);
}

void report_summary(lab_page *page, const report_set *set)
{
    if (set->rival_count > 0)
        print_tallies(page, set);
    lab_page_paragraph(page, "%s",
                       set->rival_count > 0
                           ? "A rival's figure is how many times as long as heed it takes, in the "
                             "same run: + heed is faster, - slower, = equivalent, ? ambiguous."
                           : "No rival has a figure here: these times say how long, and not how "
                             "good.");
    print_problems(page, set);
}

/* ---- Every figure ---- */

/* Adds the name, and whether the output can be trusted. */
static void add_name(lab_listing *rows, const char *name, const char *method, double error)
{
    const char *doubt = report_doubt(error);
    lab_cell_style(rows, doubt ? LAB_WARN : LAB_PLAIN);
    lab_cell_left(rows, "problem, kernel, rivals", "%s%s%s%s%s%s", name, method ? " (" : "",
                  method ? method : "", method ? ")" : "", doubt ? ", " : "", doubt ? doubt : "");
}

/* Adds the comparison with a rival; of heed's own line, with @match NULL, nothing. */
static void add_comparison(lab_listing *rows, const report_match *match)
{
    char text[REPORT_INTERVAL_SIZE];
    static const report_match none = { .verdict = "" };
    lab_cell_blank(rows, !match);
    match = match ? match : &none;
    lab_cell_right(rows, "rival/heed", "%.3fx", match->ratio);
    lab_cell_style(rows, match->high > 0 ? LAB_PLAIN : LAB_WARN);
    lab_cell_left(rows, "99 % interval", "%s", report_interval(match->low, match->high, text));
    lab_cell_styled(rows, NULL, "heed is", report_verdict_style(match->verdict), match->verdict);
}

/* Adds the figures of heed's kernel or, unless @match is NULL, of a rival. */
static void add_figures(lab_listing *rows, const report_set *set, const report_row *row,
                        const report_match *match)
{
    char text[LAB_FORMAT_SIZE];
    bool ok = match ? match->ok : row->ok;
    double seconds = match ? match->seconds : row->p50, times = match ? seconds / row->p50 : 1;
    add_name(rows,
             match         ? match->name
             : row->kernel ? row->kernel
                           : "heed",
             match ? match->method : NULL,
             !ok     ? 0
             : match ? match->error
                     : row->error);
    lab_cell_style(rows, ok ? LAB_PLAIN : match ? LAB_FAINT : LAB_BAD);
    lab_cell_right(rows, "p50", "%s",
                   ok      ? report_time(seconds, text)
                   : match ? match->outcome
                           : row->outcome);
    lab_cell_blank(rows, !ok);
    lab_cell_right(rows, "p90", "%s", match ? "" : report_time(row->p90, text));
    add_rate(rows, set, row->rate / times);
    add_share(rows, row->share / times, match ? "" : row->bound_by);
    if (report_newest(set)->replay) {
        lab_cell_seconds(rows, NULL, "eager p50", match ? match->eager_p50 : row->eager_p50);
        lab_cell_seconds(rows, NULL, "eager p90", match ? match->eager_p90 : row->eager_p90);
        lab_cell_right(rows, "launch", "%s", match ? "" : report_time(row->launch, text));
    }
    if (set->rival_count > 0)
        add_comparison(rows, match);
    lab_row_end(rows);
}

void report_details(lab_page *page, const report_set *set)
{
    char label[REPORT_LABEL_SIZE];
    lab_listing rows = lab_listing_in(page);
    for (size_t i = 0; i < set->row_count; i++) {
        const report_row *row = set->rows[i];
        if (i > 0)
            lab_listing_rule(&rows, NULL);
        lab_cell_style(&rows, LAB_BOLD);
        lab_cell_left(&rows, "problem, kernel, rivals", "%s", report_label(row, label));
        lab_row_end(&rows);
        add_figures(&rows, set, row, NULL);
        for (size_t j = 0; j < row->match_count; j++)
            add_figures(&rows, set, row, &row->matches[j]);
    }
    lab_listing_print(&rows, NULL);
}

/* ---- A short table, in the form of README.md ---- */

/* Three digits, like microseconds and rates in README.md. */
static const char *three_digits(double value, char text[32])
{
    int decimals = value < 100 ? 2 - (int)floor(log10(value)) : 0;
    snprintf(text, 32, "%.*f", decimals > 0 ? decimals : 0, value);
    return text;
}

static void add_brief_row(lab_listing *rows, const report_set *set, const report_row *row)
{
    char time[32], rate[32], label[REPORT_LABEL_SIZE];
    bool replay = report_newest(set)->replay;
    lab_cell_left(rows, "problem", "%s", report_label(row, label));
    lab_cell_right(rows, replay ? "heed: time, TFLOP/s" : "heed: time, GFLOP/s", "%s us, %s",
                   three_digits(row->p50 * 1e6, time),
                   row->rate > 0 ? three_digits(row->rate / (replay ? 1e12 : 1e9), rate) : "-");
    for (size_t i = 0; i < set->rival_count; i++) {
        const report_match *match = report_match_of(row, set->rivals[i]);
        bool slower = match && strcmp(match->verdict, "SLOWER") == 0;
        if (match) /* only the ratio is bold */
            lab_cell_lead(rows, "%s us, ", three_digits(match->seconds * 1e6, time));
        lab_cell_style(rows, slower ? LAB_BAD : LAB_PLAIN);
        lab_cell_real(rows, NULL, set->rivals[i], match ? match->ratio : -1, "%.2fx",
                      match ? match->ratio : 0);
    }
}

/* Prints the folder of the record as the target of a link. */
static void print_folder(FILE *stream, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = path; slash && at < slash; at++)
        if (strchr(" <>()[]\\\"'`|%", *at) || (unsigned char)*at <= ' ' || *at == 0x7f)
            fprintf(stream, "%%%02X", (unsigned)(unsigned char)*at);
        else
            fputc(*at, stream);
    fputs(slash ? "" : ".", stream);
}

static const char *commit_of(const report_record *r)
{
    return r->around.commit ? r->around.commit : "unknown";
}

static bool has_rows(const report_set *set, const report_record *r)
{
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->ok && set->rows[i]->record == r)
            return true;
    return false;
}

/* True if a record after number @at, with rows in the table, has the same commit. */
static bool named_already(const report_set *set, size_t at)
{
    for (size_t i = at + 1; i < set->record_count; i++)
        if (has_rows(set, set->records[i]) &&
            strcmp(commit_of(set->records[i]), commit_of(set->records[at])) == 0)
            return true;
    return false;
}

/* Prints the commits of the rows, the newest first; without rows that of the newest record. */
static void print_commits(FILE *stream, const report_set *set)
{
    bool any = false;
    for (size_t i = set->record_count; i-- > 0;)
        if (has_rows(set, set->records[i]) && !named_already(set, i)) {
            fputs(any ? ", other rows at " : "heed at commit ", stream);
            lab_markdown_text(stream, commit_of(set->records[i]));
            any = true;
        }
    if (!any) {
        fputs("heed at commit ", stream);
        lab_markdown_text(stream, commit_of(report_newest(set)));
    }
}

static void print_brief_head(FILE *stream, const report_set *set)
{
    const report_record *r = report_newest(set);
    const char *features = r->around.features ? r->around.features
                           : r->cpu_level     ? r->cpu_level
                                              : "unknown";
    lab_markdown_text(stream, r->device.name);
    fputs(" (", stream);
    lab_markdown_text(stream, features);
    fprintf(stream, "), %.10s, ", r->time);
    print_commits(stream, set);
    fprintf(stream, ", %s buffers%s; [the records](", r->cold ? "cold" : "hot",
            r->behind ? ", behind a kernel of another module" : "");
    print_folder(stream, r->path);
    fputs(").\n\n", stream);
}

static void print_brief(lab_page *page, const report_set *set)
{
    char mean[REPORT_MEAN_SIZE];
    lab_listing rows = lab_listing_in(page);
    add_brief_row(&rows, set, &(report_row){ .problem = "", .p50 = 1 });
    lab_listing_heads(&rows);
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->ok) {
            add_brief_row(&rows, set, set->rows[i]);
            lab_row_end(&rows);
        }
    if (set->rival_count > 0) {
        lab_cell_text(&rows, NULL, "problem", "geometric mean");
        lab_cell_left(&rows, "", "%s", "");
        for (size_t i = 0; i < set->rival_count; i++)
            lab_cell_text(&rows, NULL, set->rivals[i], report_mean(set, set->rivals[i], mean));
    }
    print_brief_head(page->stream, set);
    lab_listing_print(&rows, NULL);
}

bool report_write_brief(const report_run *run, FILE *stream)
{
    lab_page page = { .stream = stream, .form = LAB_PAGE_MARKDOWN };
    for (size_t i = 0; i < run->records.set_count; i++)
        print_brief(&page, &run->records.sets[i]);
    return !page.failed;
}
