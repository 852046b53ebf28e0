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

static void add_mean(lab_page *page, const report_set *set, const char *rival)
{
    char text[REPORT_MEAN_SIZE];
    lab_page_cell(page, LAB_PAGE_BOLD, "%s", report_mean(set, rival, text));
}

static void add_count(lab_page *page, lab_page_style style, size_t count)
{
    lab_page_cell(page, count ? style : LAB_PAGE_PLAIN, "%zu", count);
}

static void print_tallies(lab_page *page, const report_set *set)
{
    lab_page_columns(page, "rival|problems>|heed is faster>|slower>|equivalent>|ambiguous>|"
                           "no figure>|geometric mean>|least>|most>");
    for (size_t i = 0; i < set->rival_count; i++) {
        const tally t = tally_of(set, set->rivals[i]);
        lab_page_cell(page, LAB_PAGE_PLAIN, "%s", set->rivals[i]);
        add_count(page, LAB_PAGE_PLAIN, t.compared);
        add_count(page, LAB_PAGE_GOOD, t.faster);
        add_count(page, LAB_PAGE_BAD, t.slower);
        add_count(page, LAB_PAGE_PLAIN, t.equivalent);
        add_count(page, LAB_PAGE_WARN, t.ambiguous);
        add_count(page, LAB_PAGE_PLAIN, t.missing);
        add_mean(page, set, set->rivals[i]);
        lab_page_cell(page, LAB_PAGE_PLAIN, "%.2fx", t.least);
        lab_page_cell(page, LAB_PAGE_PLAIN, "%.2fx", t.most);
    }
    lab_page_table(page);
}

/* ---- A line for each problem ---- */

/* GPUs are counted in TFLOP/s, CPUs in GFLOP/s. */
static double unit_of(const report_set *set)
{
    return report_newest(set)->replay ? 1e12 : 1e9;
}

void report_add_rate(lab_page *page, double rate)
{
    char text[LAB_FORMAT_SIZE];
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", lab_format_rate(rate, text));
}

void report_add_time(lab_page *page, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", report_time(seconds, text));
}

void report_add_interval(lab_page *page, double low, double high)
{
    int decimals = high < 9.9995 ? 3 : 1;
    if (high > 0)
        lab_page_cell(page, LAB_PAGE_PLAIN, "%.*f to %.*f", decimals, low, decimals, high);
    else
        lab_page_cell(page, LAB_PAGE_WARN, "none");
}

static void add_share(lab_page *page, double share)
{
    if (share > 0)
        lab_page_cell(page, LAB_PAGE_PLAIN, "%.0f %%", 100 * share);
    else
        lab_page_cell(page, LAB_PAGE_PLAIN, "-");
}

lab_page_style report_verdict_style(const char *verdict)
{
    return !verdict                            ? LAB_PAGE_PLAIN
           : strcmp(verdict, "FASTER") == 0    ? LAB_PAGE_GOOD
           : strcmp(verdict, "SLOWER") == 0    ? LAB_PAGE_BAD
           : strcmp(verdict, "AMBIGUOUS") == 0 ? LAB_PAGE_WARN
                                               : LAB_PAGE_PLAIN;
}

/* The sign of the short table of `heed bench`. */
static char verdict_sign(const char *verdict)
{
    return strcmp(verdict, "FASTER") == 0       ? '+'
           : strcmp(verdict, "SLOWER") == 0     ? '-'
           : strcmp(verdict, "EQUIVALENT") == 0 ? '='
                                                : '?';
}

static void add_ratio(lab_page *page, const report_match *match)
{
    if (match)
        lab_page_cell(page, report_verdict_style(match->verdict), "%.2fx %c", match->ratio,
                      verdict_sign(match->verdict));
    else
        lab_page_cell(page, LAB_PAGE_FAINT, "-");
}

static void add_problem(lab_page *page, const report_set *set, const report_row *row)
{
    char label[REPORT_LABEL_SIZE];
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", report_label(row, label));
    if (!row->ok) {
        lab_page_cell(page, LAB_PAGE_BAD, "%s", row->outcome);
        lab_table_row_end(page->table);
        return;
    }
    report_add_time(page, row->p50);
    report_add_rate(page, row->rate / unit_of(set));
    add_share(page, row->share);
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", row->bound_by ? row->bound_by : "-");
    for (size_t i = 0; i < set->rival_count; i++)
        add_ratio(page, report_match_of(row, set->rivals[i]));
}

static void print_problems(lab_page *page, const report_set *set)
{
    bool replay = report_newest(set)->replay;
    lab_page_columns(page, "problem|heed>");
    lab_page_column(page, replay ? "TFLOP/s" : "GFLOP/s", LAB_RIGHT);
    lab_page_columns(page, "of limit>|bound by");
    for (size_t i = 0; i < set->rival_count; i++)
        lab_page_column(page, set->rivals[i], LAB_RIGHT);
    for (size_t i = 0; i < set->row_count; i++)
        add_problem(page, set, set->rows[i]);
    if (set->rival_count > 0) {
        lab_table_rule(page->table);
        lab_page_cell(page, LAB_PAGE_BOLD, "geometric mean");
        for (int i = 0; i < 4; i++)
            lab_page_cell(page, LAB_PAGE_PLAIN, "%s", "");
        for (size_t i = 0; i < set->rival_count; i++)
            add_mean(page, set, set->rivals[i]);
    }
    lab_page_table(page);
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
static void add_name(lab_page *page, const char *name, const char *method, double error)
{
    const char *doubt = report_doubt(error);
    lab_page_cell(page, doubt ? LAB_PAGE_WARN : LAB_PAGE_PLAIN, "%s%s%s%s%s%s", name,
                  method ? " (" : "", method ? method : "", method ? ")" : "", doubt ? ", " : "",
                  doubt ? doubt : "");
}

static void add_heed(lab_page *page, const report_set *set, const report_row *row)
{
    char label[REPORT_LABEL_SIZE];
    lab_page_cell(page, LAB_PAGE_BOLD, "%s", report_label(row, label));
    lab_table_row_end(page->table);
    add_name(page, row->kernel ? row->kernel : "heed", NULL, row->ok ? row->error : 0);
    if (!row->ok) {
        lab_page_cell(page, LAB_PAGE_BAD, "%s", row->outcome);
        lab_table_row_end(page->table);
        return;
    }
    report_add_time(page, row->p50);
    report_add_time(page, row->p90);
    report_add_rate(page, row->rate / unit_of(set));
    add_share(page, row->share);
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", row->bound_by ? row->bound_by : "-");
    if (report_newest(set)->replay) {
        report_add_time(page, row->eager_p50);
        report_add_time(page, row->eager_p90);
        report_add_time(page, row->launch);
    }
    lab_table_row_end(page->table);
}

static void add_match(lab_page *page, const report_set *set, const report_row *row,
                      const report_match *match)
{
    add_name(page, match->name, match->method, match->ok ? match->error : 0);
    if (!match->ok) {
        lab_page_cell(page, LAB_PAGE_FAINT, "%s", match->outcome);
        lab_table_row_end(page->table);
        return;
    }
    double times = match->seconds / row->p50;
    report_add_time(page, match->seconds);
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", "");
    report_add_rate(page, row->rate / times / unit_of(set));
    add_share(page, row->share / times);
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", "");
    if (report_newest(set)->replay) {
        report_add_time(page, match->eager_p50);
        report_add_time(page, match->eager_p90);
        lab_page_cell(page, LAB_PAGE_PLAIN, "%s", "");
    }
    lab_page_cell(page, LAB_PAGE_PLAIN, "%.3fx", match->ratio);
    report_add_interval(page, match->low, match->high);
    lab_page_cell(page, report_verdict_style(match->verdict), "%s", match->verdict);
}

void report_details(lab_page *page, const report_set *set)
{
    bool replay = report_newest(set)->replay;
    lab_page_columns(page, "problem, kernel, rivals|p50>|p90>");
    lab_page_columns(page, replay ? "TFLOP/s>" : "GFLOP/s>");
    lab_page_columns(page, "of limit>|bound by");
    if (replay)
        lab_page_columns(page, "eager p50>|eager p90>|launch>");
    if (set->rival_count > 0)
        lab_page_columns(page, "rival/heed>|99 % interval|heed is");
    for (size_t i = 0; i < set->row_count; i++) {
        if (i > 0)
            lab_table_rule(page->table);
        add_heed(page, set, set->rows[i]);
        for (size_t j = 0; j < set->rows[i]->match_count; j++)
            add_match(page, set, set->rows[i], &set->rows[i]->matches[j]);
    }
    lab_page_table(page);
}

/* ---- A short table, in the form of README.md ---- */

/* Three digits, like microseconds and rates in README.md. */
static const char *three_digits(double value, char text[32])
{
    int decimals = value < 100 ? 2 - (int)floor(log10(value)) : 0;
    snprintf(text, 32, "%.*f", decimals > 0 ? decimals : 0, value);
    return text;
}

static void add_brief_row(lab_page *page, const report_set *set, const report_row *row, double unit)
{
    char time[32], rate[32], label[REPORT_LABEL_SIZE];
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s", report_label(row, label));
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s us, %s", three_digits(row->p50 * 1e6, time),
                  row->rate > 0 ? three_digits(row->rate / unit, rate) : "-");
    for (size_t i = 0; i < set->rival_count; i++) {
        const report_match *match = report_match_of(row, set->rivals[i]);
        bool slower = match && strcmp(match->verdict, "SLOWER") == 0;
        if (match) /* only the ratio is bold */
            lab_table_cell(page->table, "%s us, %s%.2fx%s",
                           three_digits(match->seconds * 1e6, time), slower ? "**" : "",
                           match->ratio, slower ? "**" : "");
        else
            lab_table_cell(page->table, "-");
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
    const report_record *r = report_newest(set);
    char mean[REPORT_MEAN_SIZE];
    lab_page_column(page, "problem", LAB_LEFT);
    lab_page_column(page, r->replay ? "heed: time, TFLOP/s" : "heed: time, GFLOP/s", LAB_RIGHT);
    for (size_t i = 0; i < set->rival_count; i++)
        lab_page_column(page, set->rivals[i], LAB_RIGHT);
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->ok)
            add_brief_row(page, set, set->rows[i], r->replay ? 1e12 : 1e9);
    if (set->rival_count > 0) {
        lab_table_cell(page->table, "geometric mean");
        lab_page_cell(page, LAB_PAGE_PLAIN, "%s", "");
        for (size_t i = 0; i < set->rival_count; i++)
            lab_table_cell(page->table, "%s", report_mean(set, set->rivals[i], mean));
    }
    print_brief_head(page->stream, set);
    lab_page_table(page);
}

bool report_write_brief(const report_run *run, FILE *stream)
{
    lab_page page = { .stream = stream, .form = LAB_PAGE_MARKDOWN };
    for (size_t i = 0; i < run->records.set_count; i++)
        print_brief(&page, &run->records.sets[i]);
    return !page.failed;
}
