/*
 * board.c - the leaderboard, row by row
 */
#include "store.h"

#define COLUMN(kind, name, member)                                       \
    {                                                                    \
        name, LAB_COLUMN_##kind, offsetof(lab_record_row, member), false \
    }
#define ALWAYS(kind, name, member)                                      \
    {                                                                   \
        name, LAB_COLUMN_##kind, offsetof(lab_record_row, member), true \
    }
const lab_record_column lab_record_columns[LAB_RECORD_COLUMNS] = {
    COLUMN(NUMBER, "trial", trial),
    COLUMN(NUMBER, "run", run),
    COLUMN(INT, "place", place),
    ALWAYS(TEXT, "problem", problem),
    ALWAYS(TEXT, "device", device),
    ALWAYS(TEXT, "backend", backend),
    COLUMN(TEXT, "features", features),
    COLUMN(TEXT, "build", build),
    COLUMN(INT, "threads", threads),
    ALWAYS(TEXT, "kernel", kernel),
    ALWAYS(TEXT, "config", config),
    ALWAYS(TEXT, "verdict", verdict),
    COLUMN(TEXT, "reason", reason),
    COLUMN(TEXT, "timing", timing),
    COLUMN(BOOL, "confirmed", confirmed),
    COLUMN(BOOL, "promoted", promoted),
    COLUMN(REAL, "seconds", seconds),
    COLUMN(REAL, "p90", p90),
    COLUMN(REAL, "flops_per_second", rate),
    COLUMN(REAL, "of_roofline", of_roofline),
    COLUMN(TEXT, "against", against),
    COLUMN(REAL, "ratio", ratio),
    COLUMN(REAL, "low", low),
    COLUMN(REAL, "high", high),
    COLUMN(TEXT, "compared", compared),
    COLUMN(TEXT, "heed", heed),
    COLUMN(TEXT, "commit", commit),
    COLUMN(BOOL, "dirty", dirty),
    ALWAYS(TEXT, "ended", ended),
    ALWAYS(TEXT, "trusted", trusted),
    COLUMN(BOOL, NULL, foreign),
    COLUMN(BOOL, NULL, verified),
};

/* The columns that the queries select, in the order of lab_record_columns. Of several comparisons,
 * the one with the fastest rival or with the selected one is shown. */
#define COLUMNS                                                                                \
    "r.trial, r.run, r.place, r.spec, r.device, r.backend, r.features, r.build, r.threads, "   \
    "r.kernel, r.config, r.verdict, r.reason, r.timing, r.confirmed, r.promoted IS NOT NULL, " \
    "r.seconds, r.p90, r.rate, r.of_roofline, c.against, c.ratio, c.low, c.high, "             \
    "c.verdict, r.heed, r.git_commit, r.dirty, r.ended, r.trusted, "                           \
    "(SELECT source IS NOT NULL FROM candidate WHERE id = r.candidate), "                      \
    "EXISTS (SELECT 1 FROM gate WHERE trial = r.trial AND name = 'verify' AND passed)"
#define JOINED                                                                     \
    " AS r LEFT JOIN comparison AS c ON c.trial = r.trial AND c.against = "        \
    "(SELECT against FROM comparison WHERE trial = r.trial AND ratio IS NOT NULL " \
    "AND (?4 IS NULL OR against = ?4) ORDER BY ratio LIMIT 1) WHERE " FITS         \
    "AND (?5 = 0 OR r.run = ?5) "
#define FITS                                                                  \
    "(?1 IS NULL OR (?2 AND r.spec = ?1) OR (NOT ?2 AND instr(r.spec, ?1))) " \
    "AND (?3 IS NULL OR instr(lower(r.device), lower(?3))) "

/* Faults found in a source after the trial r, or in its run: wrong on any problem disqualifies it
 * everywhere; another failure does so on that problem and device. Otherwise a leader that refuses
 * to run would lead forever. */
#define FAULTS                                                                                 \
    "SELECT 1 FROM trial AS t JOIN problem AS q ON q.id = t.problem "                          \
    "JOIN environment AS e ON e.id = t.environment JOIN device AS d ON d.id = e.device "       \
    "WHERE t.candidate = r.candidate AND (t.id > r.trial OR t.run = r.run) AND (t.verdict IN " \
    "('wrong', 'outside', 'access', 'forbidden', 'protocol', 'flood', 'fork', 'files', "       \
    "'network', 'exited') OR (t.verdict IN ('unfit', 'hang', 'crash', 'memory') AND "          \
    "q.spec = r.spec AND d.name = r.device))"

/* Places are per problem, device, number of threads, and cold or hot. Of each candidate the newest
 * confirmed trial counts, not the luckiest. The kernel promoted last leads; without a promotion,
 * the fastest one that passed all gates. Trials of 'heed bench', which checks only some rows, rank
 * after those. Unsound trials are left out, and so are those of a source that was later found to be
 * wrong. */
#define PARTITION "(PARTITION BY r.spec, r.device, r.backend, r.threads, r.timing"
#define LEADERBOARD                                                                                \
    "WITH latest AS (SELECT r.*, verified, row_number() OVER " PARTITION                           \
    ", r.candidate ORDER BY r.ended DESC, r.trial) AS age, max(promotion) OVER " PARTITION         \
    ", r.candidate) AS promoted FROM (SELECT result.*, EXISTS (SELECT 1 FROM gate WHERE trial = "  \
    "result.trial AND name = 'verify' AND passed) AS verified FROM result) AS r "                  \
    "JOIN run ON run.id = r.run JOIN candidate ON candidate.id = r.candidate "                     \
    "WHERE CASE WHEN r.verdict = 'ok' AND r.confirmed AND r.seconds IS NOT NULL "                  \
    "AND r.trusted <> 'no' AND (verified OR (run.verb = 'bench' AND candidate.source IS "          \
    "NULL)) AND " FITS "AND NOT EXISTS (SELECT 1 FROM gate WHERE trial = r.trial AND NOT passed) " \
    "AND (candidate.source IS NULL OR NOT EXISTS (" FAULTS ")) "                                   \
    "THEN heed_sound(r.trial) END), leaderboard AS (SELECT r.*, row_number() OVER " PARTITION      \
    " ORDER BY promoted DESC NULLS LAST, verified DESC, seconds, trial) AS place "                 \
    "FROM latest AS r WHERE age = 1) "
#define RANKED "SELECT " COLUMNS " FROM leaderboard" JOINED
#define BY_DEVICE "ORDER BY r.device, r.threads, r.features, "
#define IN_PLACES BY_DEVICE "r.spec, r.timing, r.place"

static const char *const queries[] = {
    [LAB_BOARD_BEST] = LEADERBOARD RANKED "AND r.place = 1 " IN_PLACES,
    [LAB_BOARD_RANKED] = LEADERBOARD RANKED IN_PLACES,
    [LAB_BOARD_ALL] = "SELECT " COLUMNS
                      " FROM (SELECT *, 0 AS place, promotion AS promoted FROM result)" JOINED
                      "ORDER BY r.ended DESC, r.trial DESC",
};

/* The fault of a trial: "damaged" if it differs from the trial that was added, "impossible" if its
 * figures are; NULL: none. */
static heed_status find_fault(lab_record *record, int64_t trial, const char **fault,
                              lab_error *error)
{
    bool intact = false, sound = false;
    heed_status status = lab_record_intact(record, trial, &intact, error);
    *fault = "damaged";
    if (status != HEED_OK || !intact)
        return status;
    status = evidence_recall(record, trial, &sound, NULL, error);
    *fault = sound ? NULL : "impossible";
    return status;
}

/* heed_sound(trial), for queries: true if the trial has no fault. */
static void answer_sound(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *fault;
    lab_record *record = sqlite3_user_data(context);
    int64_t trial = sqlite3_value_int64(values[0]);
    (void)count;
    heed_status status = find_fault(record, trial, &fault, NULL);
    if (status == HEED_OK && fault)
        record->left_out = trial;
    if (status == HEED_OK)
        sqlite3_result_int(context, !fault);
    else
        sqlite3_result_error_code(context,
                                  status == HEED_ERR_NO_MEMORY ? SQLITE_NOMEM : SQLITE_CORRUPT);
}

/* A damaged file has no leaders. */
static heed_status prepare_to_rank(lab_record *record, lab_error *error)
{
    heed_status status = lab_record_whole(record, error);
    if (status != HEED_OK)
        return status;
    int code = sqlite3_create_function(record->db, "heed_sound", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                       record, answer_sound, NULL, NULL);
    return code == SQLITE_OK ? HEED_OK : lab_record_blame(record, error);
}

/* False if the file lacks something that every sound file has. */
static bool read_row(statement *s, lab_record_row *row)
{
    bool complete = true;
    *row = (lab_record_row){ 0 };
    for (int i = 0; i < LAB_RECORD_COLUMNS; i++) {
        const lab_record_column *column = &lab_record_columns[i];
        void *member = (char *)row + column->offset;
        if (column->kind == LAB_COLUMN_TEXT)
            *(const char **)member = statement_get_text(s, i);
        else if (column->kind == LAB_COLUMN_REAL)
            *(double *)member = statement_get_real(s, i);
        else if (column->kind == LAB_COLUMN_NUMBER)
            *(int64_t *)member = statement_get_integer(s, i);
        else if (column->kind == LAB_COLUMN_INT)
            *(int *)member = (int)statement_get_integer(s, i);
        else
            *(bool *)member = statement_get_integer(s, i) != 0;
        complete = complete && (!column->always || *(const char **)member);
    }
    return complete;
}

static heed_status visit_row(statement *s, lab_record_visitor *fn, void *data)
{
    lab_record_row row;
    const char *fault;
    if (!read_row(s, &row))
        return lab_fail(s->error, HEED_ERR_CORRUPT,
                        "%s: damaged, and left as it is (trial %lld lacks a field)",
                        s->record->path, (long long)row.trial);
    heed_status status = find_fault(s->record, row.trial, &fault, s->error);
    row.sound = !fault;
    if (fault)
        row.trusted = fault;
    return status == HEED_OK ? fn(data, &row) : status;
}

heed_status lab_record_visit(lab_record *record, const lab_record_filter *filter,
                             lab_record_visitor *fn, void *data, lab_error *error)
{
    if ((unsigned)filter->part >= sizeof queries / sizeof *queries)
        return lab_fail(error, HEED_ERR_INVALID, "part is %d; the last one is %d",
                        (int)filter->part, LAB_BOARD_ALL);
    heed_status status = filter->part == LAB_BOARD_ALL ? HEED_OK : prepare_to_rank(record, error);
    if (status != HEED_OK)
        return status;
    record->left_out = 0;
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

int64_t lab_record_left_out(const lab_record *record)
{
    return record->left_out;
}
