/*
 * report_final.c - `heed report --final`: a folder with the results of searches
 */
#include "report_final.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"

/* -------------------------------------------------------------------------- */
/* The files                                                                  */
/* -------------------------------------------------------------------------- */

/* Writes a file: *@any is false if there is nothing to write. False: out of memory. */
typedef bool write_fn(const report_final *final, FILE *stream, bool *any);

static void begin(lab_page *page, const report_final *final, FILE *stream, const char *title)
{
    const report_run *run = final->run;
    lab_page_begin(page, stream, LAB_PAGE_MARKDOWN, title);
    lab_page_paragraph(page, "Made by heed %s from the board %s and %zu record%s.", heed_version(),
                       run->board.path, run->records.count, lab_plural(run->records.count));
}

static bool write_summary(const report_final *final, FILE *stream, bool *any)
{
    lab_page page;
    *any = true;
    begin(&page, final, stream, "Final summary");
    report_final_results(&page, final);
    report_final_findings(&page, final, false);
    report_final_roofline(&page, final);
    report_final_pareto(&page, final);
    report_final_commands(&page, final);
    return lab_page_end(&page);
}

static bool write_findings(const report_final *final, FILE *stream, bool *any)
{
    lab_page page;
    *any = true;
    begin(&page, final, stream, "Findings");
    report_final_findings(&page, final, true);
    report_final_change(&page, final);
    return lab_page_end(&page);
}

static bool write_leaders(const report_final *final, FILE *stream, bool *any)
{
    lab_page page;
    *any = true;
    begin(&page, final, stream, "Leaderboard");
    report_final_leaders(&page, final);
    return lab_page_end(&page);
}

static bool write_page(const report_final *final, FILE *stream, bool *any)
{
    *any = true;
    return report_write(final->run, stream, LAB_PAGE_HTML);
}

static const struct {
    const char *name;
    write_fn *write;
} files[] = {
    { "final_summary.md", write_summary },
    { "findings.md", write_findings },
    { "leaderboard.md", write_leaders },
    { "champion.diff", report_final_diff },
    { "roofline.svg", report_final_roofline_file },
    { "pareto.svg", report_final_pareto_file },
    { "report.html", write_page },
};
#define FILES (sizeof files / sizeof *files)

/* -------------------------------------------------------------------------- */
/* The folder                                                                 */
/* -------------------------------------------------------------------------- */

/* All files are written to temporary names before the first one is renamed. A file that would be
 * empty is not written, and an older one of that name is removed. */
typedef struct folder {
    lab_output outputs[FILES];
    char *paths[FILES];
    bool begun[FILES], any[FILES];
} folder;

static cli_exit no_memory(void)
{
    cli_error("not enough memory for the final artifacts");
    return CLI_ENVIRONMENT;
}

static cli_exit prepare(folder *all, const char *name, size_t i)
{
    lab_error error;
    size_t size = strlen(name) + strlen(files[i].name) + 2;
    all->paths[i] = malloc(size);
    if (!all->paths[i])
        return no_memory();
    snprintf(all->paths[i], size, "%s/%s", name, files[i].name);
    heed_status status = lab_file_folders(all->paths[i], 0777, &error);
    if (status == HEED_OK)
        status = lab_output_begin(&all->outputs[i], all->paths[i], &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    all->begun[i] = true;
    return CLI_OK;
}

static cli_exit finish(folder *all, size_t i)
{
    lab_error error;
    all->begun[i] = false;
    if (!all->any[i]) {
        lab_output_abandon(&all->outputs[i]);
        unlink(all->paths[i]);
        return CLI_OK;
    }
    heed_status status = lab_output_commit(&all->outputs[i], &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

cli_exit report_final_write(const report_final *final, const char *name)
{
    folder all = { .begun = { false } };
    cli_exit code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < FILES; i++)
        code = prepare(&all, name, i);
    for (size_t i = 0; code == CLI_OK && i < FILES; i++)
        if (!files[i].write(final, all.outputs[i].file, &all.any[i]))
            code = no_memory();
    for (size_t i = 0; code == CLI_OK && i < FILES; i++)
        code = finish(&all, i);
    for (size_t i = 0; i < FILES; i++) {
        if (all.begun[i])
            lab_output_abandon(&all.outputs[i]);
        free(all.paths[i]);
    }
    if (code == CLI_OK)
        cli_message("written to %s: final_summary.md, report.html and what they name", name);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The sources                                                                */
/* -------------------------------------------------------------------------- */

/* A config has no source: its lines are kernel, config, and launch. */
static char *lines_of(const lab_final_trial *trial)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return NULL;
    fprintf(memory, "kernel %s\nconfig %s\n", trial->row.kernel, trial->row.config);
    if (!trial->launch && trial->thought)
        fprintf(memory, "thought %s\n", trial->thought);
    for (const char *at = trial->launch ? trial->launch : ""; *at;) {
        size_t length = strcspn(at, " ");
        fprintf(memory, "%.*s\n", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    return fclose(memory) == 0 ? text : NULL;
}

static cli_exit read_text(lab_record *record, const lab_final_trial *trial, char **text)
{
    lab_error error;
    heed_status status = lab_record_source(record, trial->row.trial, text, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    if (!*text)
        *text = lines_of(trial);
    return *text ? CLI_OK : no_memory();
}

cli_exit report_final_begin(report_final *final, const report_run *run, lab_record *record)
{
    cli_exit code = CLI_OK;
    *final = (report_final){ .run = run };
    final->searches = lab_final_searches(&run->board, &final->search_count);
    final->texts = calloc(final->search_count + 1, sizeof *final->texts);
    if (!final->searches || !final->texts)
        return no_memory();
    for (size_t i = 0; code == CLI_OK && i < final->search_count; i++) {
        code = read_text(record, final->searches[i].first, &final->texts[i][0]);
        if (code == CLI_OK)
            code = read_text(record, final->searches[i].champion, &final->texts[i][1]);
    }
    return code == CLI_OK ? report_final_rows(final) : code;
}

void report_final_page(lab_page *page, const report_final *final)
{
    report_final_results(page, final);
    report_final_findings(page, final, true);
    report_final_change(page, final);
    report_final_leaders(page, final);
    report_final_roofline(page, final);
    report_final_pareto(page, final);
    report_final_commands(page, final);
}

void report_final_end(report_final *final)
{
    for (size_t i = 0; final->texts && i < final->search_count; i++) {
        free(final->texts[i][0]);
        free(final->texts[i][1]);
    }
    free(final->texts);
    lab_final_searches_free(final->searches, final->search_count);
    report_final_rows_free(final);
}
