/*
 * report.h - declarations shared by the files of `heed report`
 *
 * operands -> files -> records (JSON, every field checked) -> sets of records -> a page, Markdown
 * or JSON; and the board
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/verbs/board/board.h"
#include "field.h"
#include "final/final.h"

/* -------------------------------------------------------------------------- */
/* report_read.c: one record                                                  */
/* -------------------------------------------------------------------------- */

#define REPORT_RIVALS_MAX 256 /* of a row */

/* A rival in one row. Unknown numbers are 0, unknown texts NULL. */
typedef struct report_match {
    const char *name, *outcome, *reason, *method;
    bool ok; /* the outcome is ok: it has a figure */
    double seconds, eager_p50, eager_p90;
    double ratio, low, high, margin;
    const char *verdict; /* for heed: "FASTER", ... */
    int64_t pairs;
    double error; /* as a multiple of the allowed one; negative: not checked */
    const json_t *heed_blocks, *rival_blocks; /* seconds, turn by turn */
    int64_t calls;                            /* in the mean of each of rival_blocks */
} report_match;

/* The state of the device. */
typedef struct report_state {
    double clock_hz, power_w, temperature_c;
    const char *throttle;
    int64_t others; /* other programs on the device; negative: unknown */
} report_state;

struct report_record;

/* One problem. */
typedef struct report_row {
    const struct report_record *record;
    const json_t *json;
    const char *problem, *label, *kernel, *outcome, *reason;
    heed_problem shape; /* the problem */
    bool ok;            /* the outcome */
    double p50, p90;
    double rate; /* operations per second */
    double share, floor;
    const char *share_of; /* "roofline" or "ceiling" of the record; else as lab_final_limit.from */
    const char *bound_by;
    double eager_p50, eager_p90, launch;
    double error;
    int64_t rows_checked;
    report_state state;
    const json_t *samples; /* seconds */
    int64_t calls;         /* in the mean of each of them */
    report_match *matches;
    size_t match_count;
} report_row;

/* One file. */
typedef struct report_record {
    char *path;
    char file_hash[LAB_RECORD_HASH_SIZE];
    field_reader reader;
    json_t *json;     /* owns all texts */
    json_t *manifest; /* made from its parts; NULL: none */
    lab_record_device device;
    lab_record_environment around; /* without the number of threads, and what follows from others */
    const char *cpu_level, *effort, *kernel, *time;
    bool dirty, cold, replay, behind;
    int64_t threads, seed;
    double load, seconds;
    report_row *rows;
    size_t row_count, row_limit; /* rows read; rows in the file */
} report_record;

/* report_read() reads and checks the record @path, and its manifest, if any. A failure, which names
 * file and field, has been printed, and *@record is NULL. report_open() reads no rows;
 * report_read_row() then reads one after another, as in `heed board add`. */
cli_exit report_read(report_record **record, const char *path);
cli_exit report_open(report_record **record, const char *path);
cli_exit report_read_row(report_record *record);
void report_record_free(report_record *record);

/* -------------------------------------------------------------------------- */
/* report_find.c: finding records                                             */
/* -------------------------------------------------------------------------- */

/* Records of one device, measured in the same way on one day. If several have a problem, the last
 * one with a figure counts. */
typedef struct report_set {
    const char *operand;     /* the set's source */
    report_record **records; /* oldest first; owned by the report */
    size_t record_count;
    const report_row **rows; /* by problem */
    size_t row_count;
    const char **rivals; /* those with a figure, in order of appearance */
    size_t rival_count;
} report_set;

typedef struct report_records {
    report_record **items;
    size_t count;
    report_set *sets;
    size_t set_count;
} report_records;

/* report_find() reads the records that the operands name: files, or folders, in which it takes the
 * newest date of each device. A failure has been printed. Free the records in any case. */
cli_exit report_find(report_records *records, const cli_args *args);
void report_records_free(report_records *records);

/* report_match_of() returns the figures of @rival in @row, or NULL if it has none. */
const report_match *report_match_of(const report_row *row, const char *rival);

/* report_has_rival() returns true if the rival @name has a figure in @set. */
bool report_has_rival(const report_set *set, const char *name);

/* report_order_text() compares like strcmp(); NULL equals "". */
int report_order_text(const char *a, const char *b);

/* report_newest() returns the newest record, which represents the set. */
const report_record *report_newest(const report_set *set);

/* -------------------------------------------------------------------------- */
/* The leaderboard (lab/final)                                                */
/* -------------------------------------------------------------------------- */

/* report_count_trusted() returns the number of trials whose `trusted` is @word. */
size_t report_count_trusted(const lab_final_board *board, const char *word);

/* -------------------------------------------------------------------------- */
/* report_page.c, _tables.c, _plots.c, _doubts.c, _history.c, _board_page.c   */
/* -------------------------------------------------------------------------- */

typedef struct report_run {
    const cli_args *args;
    report_records records;
    lab_final_board board;
    bool with_board;
    struct report_final *final; /* NULL: not requested */
} report_run;

/* report_write() writes the whole document to @stream; false: memory ran out. */
bool report_write(const report_run *run, FILE *stream, lab_page_form form);

/* report_write_brief() writes a Markdown table for each set, in the form of README.md. */
bool report_write_brief(const report_run *run, FILE *stream);

/* The parts of the document. */
void report_summary(lab_page *page, const report_set *set);
void report_details(lab_page *page, const report_set *set);
void report_plots(lab_page *page, const report_set *set);
void report_doubts(lab_page *page, const report_set *set);  /* reasons to doubt figures */
void report_missing(lab_page *page, const report_set *set); /* missing figures, and why */
void report_history(lab_page *page, const report_records *records);
void report_board_page(lab_page *page, const lab_final_board *board);

/* report_time() writes seconds in the form of a page, "-" for none; report_geomean() returns the
 * geometric mean of the ratios of a rival over the set, 0 if there are none. */
const char *report_time(double seconds, char text[32]);
double report_geomean(const report_set *set, const char *rival);

/* report_mean() writes that mean, how many of its ratios are ambiguous if any is, and their number
 * if a row has none. */
#define REPORT_MEAN_SIZE 64
const char *report_mean(const report_set *set, const char *rival, char text[REPORT_MEAN_SIZE]);

/* report_add_rate() adds a cell with a rate in the unit of its column; "-" for none. */
void report_add_rate(lab_listing *rows, const char *head, double rate);

/* report_interval() returns a 99 % interval as text, "none" if @high is 0. */
#define REPORT_INTERVAL_SIZE 64
const char *report_interval(double low, double high, char text[REPORT_INTERVAL_SIZE]);

/* report_verdict_style() returns the style of a verdict such as "FASTER"; plain for NULL. */
lab_style report_verdict_style(const char *verdict);

/* report_doubt() returns "unverified" or "untrusted" for an output with @error, NULL for a good
 * one. */
const char *report_doubt(double error);

/* report_label() writes the problem of a row, preceded by the name of its captured values, if
 * any. */
#define REPORT_LABEL_SIZE (HEED_SPEC_SIZE + 128)
const char *report_label(const report_row *row, char text[REPORT_LABEL_SIZE]);

/* report_history_pairs() lists the sets that can be compared with a later one: the oldest and the
 * newest set of the same device and way of measuring. Returns their number; @room is for as many
 * pairs as there are sets. */
typedef struct report_pair {
    const report_set *before, *after;
} report_pair;
size_t report_history_pairs(const report_records *records, report_pair *pairs);

/* report_history_rows() adds a row for each problem that both sets have, for JSON or a page.
 * Returns the geometric mean of the times before over those after. */
double report_history_rows(lab_listing *rows, const report_pair *pair);

/* report_row_find() returns the row of @set for the same problem and values as @row, or NULL; NULL
 * also if one of the two has no figure. */
const report_row *report_row_find(const report_set *set, const report_row *row);

#endif /* CLI_REPORT_H */
