/*
 * report_brief.c - a short table of each set, in the form of README.md
 */
#include <math.h>
#include <string.h>

#include "report.h"

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
    return r->commit ? r->commit : "unknown";
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
    const char *features = r->features ? r->features : r->cpu_level ? r->cpu_level : "unknown";
    lab_markdown_text(stream, r->device);
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
