/*
 * report_final.h - declarations shared by the files of `heed report --final`
 *
 * the whole board, and records -> rows -> parts of a document -> files of a folder
 */
#ifndef CLI_REPORT_FINAL_H
#define CLI_REPORT_FINAL_H

#include "report.h"

/* A leader of the board, or a row of a record, which own the texts. */
typedef struct report_final_row {
    char from[160];      /* "trial 12", or the name of a record */
    const char *problem; /* its spec */
    lab_final_place place;
    bool cuda;
    char kernel[LAB_FINAL_NAME];
    double p50, p90;
    lab_final_side sdpa;  /* the fastest backend of PyTorch's scaled_dot_product_attention that took
                           * turns with it; no name: none */
    lab_final_side other; /* the fastest of all others */
    double share;         /* of the limit; 0: unknown */
    const char *binds, *share_from;
    lab_final_limit limit;
    char gates[96];
    const char *commit, *trusted;
    bool dirty;
    const lab_final_trial *trial; /* NULL: a row of a record */
    char *command;                /* the command that repeats the measurement */
} report_final_row;

typedef struct report_final {
    const report_run *run;
    lab_final_search *searches;
    size_t search_count;
    char *(*texts)[2]; /* for each search: its first kernel, and its champion, as lines */
    report_final_row *rows;
    size_t row_count;
} report_final;

/* report_final.c: report_final_begin() reads the documents' data from the board of @run, which is
 * @record. Call report_final_end() also after a failure, which has been printed.
 * report_final_write() writes the files of the folder @name atomically, all or none;
 * report_final_page() writes the parts of a document one after another. */
cli_exit report_final_begin(report_final *final, const report_run *run, lab_record *record);
void report_final_end(report_final *final);
cli_exit report_final_write(const report_final *final, const char *name);
void report_final_page(lab_page *page, const report_final *final);

/* report_final_rows.c: leaders of the board first, then the rows of records. CLI_ENVIRONMENT, with
 * a message, if memory runs out. */
cli_exit report_final_rows(report_final *final);
void report_final_rows_free(report_final *final);

/* report_final_text.c, report_final_findings.c, report_final_plots.c: the parts of a document. */
void report_final_results(lab_page *page, const report_final *final);
void report_final_findings(lab_page *page, const report_final *final, bool all);
void report_final_change(lab_page *page, const report_final *final);
void report_final_leaders(lab_page *page, const report_final *final);
void report_final_commands(lab_page *page, const report_final *final);
void report_final_roofline(lab_page *page, const report_final *final);
void report_final_pareto(lab_page *page, const report_final *final);

/* Write drawings as separate SVG files; false: out of memory. *@any: there is something to draw. */
bool report_final_roofline_file(const report_final *final, FILE *stream, bool *any);
bool report_final_pareto_file(const report_final *final, FILE *stream, bool *any);

/* report_final_diff() writes the changes from the first kernels to the champions; false if out of
 * memory. *@any: there are changes. */
bool report_final_diff(const report_final *final, FILE *stream, bool *any);

#endif /* CLI_REPORT_FINAL_H */
