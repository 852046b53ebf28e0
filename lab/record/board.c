/*
 * board.c - the leaderboard, row by row
 */
#include "store.h"

/* The columns of lab_record_row, in the order of read_row(). Of several comparisons that with the
 * fastest rival is shown, or the one that was asked for. */
#define COLUMNS                                                                               \
    "r.trial, r.run, r.spec, r.device, r.backend, r.features, r.build, r.threads, r.kernel, " \
    "r.config, r.verdict, r.reason, r.timing, r.confirmed, r.seconds, r.p90, r.rate, "        \
    "r.of_roofline, r.heed, r.git_commit, r.dirty, r.ended, r.trusted, c.against, c.ratio, "  \
    "c.low, c.high, c.verdict, "                                                              \
    "(SELECT source IS NOT NULL FROM candidate WHERE id = r.candidate), "
#define JOINED                                                                      \
    " AS r LEFT JOIN comparison AS c ON c.trial = r.trial AND c.against = "         \
    "(SELECT against FROM comparison WHERE trial = r.trial AND ratio IS NOT NULL "  \
    "AND (?4 IS NULL OR against = ?4) ORDER BY ratio LIMIT 1) "                     \
    "WHERE (?1 IS NULL OR (?2 AND r.spec = ?1) OR (NOT ?2 AND instr(r.spec, ?1))) " \
    "AND (?3 IS NULL OR instr(lower(r.device), lower(?3))) AND (?5 = 0 OR r.run = ?5) "
#define RANKED "r.place, r.title FROM leaderboard" JOINED
#define BY_DEVICE "ORDER BY r.device, r.threads, r.features, "
#define IN_PLACES BY_DEVICE "r.spec, r.timing, r.place"

static const char *const queries[] = {
    [LAB_BOARD_BEST] = "SELECT " COLUMNS RANKED "AND r.place = 1 " IN_PLACES,
    [LAB_BOARD_RANKED] = "SELECT " COLUMNS RANKED IN_PLACES,
    [LAB_BOARD_ALL] = "SELECT " COLUMNS "0, r.promotion FROM result" JOINED
                      "ORDER BY r.ended DESC, r.trial DESC",
};

static lab_record_row read_row(statement *s)
{
    int at = 0;
    lab_record_row row = { 0 };
    row.trial = statement_get_integer(s, at++);
    row.run = statement_get_integer(s, at++);
    row.problem = statement_get_text(s, at++);
    row.device = statement_get_text(s, at++);
    row.backend = statement_get_text(s, at++);
    row.features = statement_get_text(s, at++);
    row.build = statement_get_text(s, at++);
    row.threads = (int)statement_get_integer(s, at++);
    row.kernel = statement_get_text(s, at++);
    row.config = statement_get_text(s, at++);
    row.verdict = statement_get_text(s, at++);
    row.reason = statement_get_text(s, at++);
    row.timing = statement_get_text(s, at++);
    row.confirmed = statement_get_integer(s, at++) != 0;
    row.seconds = statement_get_real(s, at++);
    row.p90 = statement_get_real(s, at++);
    row.rate = statement_get_real(s, at++);
    row.of_roofline = statement_get_real(s, at++);
    row.heed = statement_get_text(s, at++);
    row.commit = statement_get_text(s, at++);
    row.dirty = statement_get_integer(s, at++) != 0;
    row.ended = statement_get_text(s, at++);
    row.trusted = statement_get_text(s, at++);
    row.against = statement_get_text(s, at++);
    row.ratio = statement_get_real(s, at++);
    row.low = statement_get_real(s, at++);
    row.high = statement_get_real(s, at++);
    row.compared = statement_get_text(s, at++);
    row.foreign = statement_get_integer(s, at++) != 0;
    row.place = (int)statement_get_integer(s, at++);
    row.promoted = statement_get_integer(s, at++) != 0;
    return row;
}

/* What a sound file always has. */
static bool is_complete(const lab_record_row *row)
{
    return row->problem && row->device && row->backend && row->kernel && row->config &&
           row->verdict && row->ended && row->trusted;
}

static heed_status visit_row(statement *s, lab_record_visitor *fn, void *data)
{
    lab_record_row row = read_row(s);
    bool intact = false;
    if (!is_complete(&row))
        return lab_fail(s->error, HEED_ERR_CORRUPT,
                        "%s: damaged, and left as it is (trial %lld lacks a field)",
                        s->record->path, (long long)row.trial);
    heed_status status = lab_record_intact(s->record, row.trial, &intact, s->error);
    if (!intact)
        row.trusted = "damaged";
    return status == HEED_OK ? fn(data, &row) : status;
}

heed_status lab_record_visit(lab_record *record, const lab_record_filter *filter,
                             lab_record_visitor *fn, void *data, lab_error *error)
{
    if ((unsigned)filter->part >= sizeof queries / sizeof *queries)
        return lab_fail(error, HEED_ERR_INVALID, "part is %d; the last one is %d",
                        (int)filter->part, LAB_BOARD_ALL);
    statement s = statement_make(record, queries[filter->part], error);
    statement_text(&s, filter->problem);
    statement_integer(&s, filter->exact);
    statement_text(&s, filter->device);
    statement_text(&s, filter->against);
    statement_integer(&s, filter->run);
    while (statement_row(&s))
        s.status = visit_row(&s, fn, data);
    return statement_end(&s);
}
