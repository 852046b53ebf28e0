/*
 * append.c - adds trials, each with all of its rows in one transaction
 *
 * Each function below the words is for one table, in the order of schema.sql.
 */
#include <stdlib.h>
#include <string.h>

#include "store.h"

/* -------------------------------------------------------------------------- */
/* Words                                                                      */
/* -------------------------------------------------------------------------- */

static const struct {
    const char *name, *meaning;
} verdicts[] = {
#define LAB_RECORD_VERDICT(id, name, meaning) { name, meaning },
#include "record/verdicts.def"
#undef LAB_RECORD_VERDICT
};

static bool is_verdict(lab_record_verdict verdict)
{
    return (unsigned)verdict < LAB_RECORD_VERDICTS;
}

const char *lab_record_verdict_name(lab_record_verdict verdict)
{
    return is_verdict(verdict) ? verdicts[verdict].name : "unknown";
}

const char *lab_record_verdict_meaning(lab_record_verdict verdict)
{
    return is_verdict(verdict) ? verdicts[verdict].meaning : "unknown";
}

lab_record_verdict lab_record_verdict_find(const char *name)
{
    for (int i = 0; name && i < LAB_RECORD_VERDICTS; i++)
        if (strcmp(verdicts[i].name, name) == 0)
            return (lab_record_verdict)i;
    return LAB_RECORD_VERDICTS;
}

const char *timing_name(lab_record_timing timing)
{
    static const char *const names[] = { NULL, "cold", "hot", "eager" };
    return (unsigned)timing < sizeof names / sizeof *names ? names[timing] : NULL;
}

/* -------------------------------------------------------------------------- */
/* Results                                                                    */
/* -------------------------------------------------------------------------- */

static heed_status add_samples(lab_record *record, int64_t trial, const lab_record_samples *samples,
                               lab_error *error)
{
    statement s = statement_insert(
        record, "sample",
        CELLS(cell_integer("trial", trial),
              cell_text("against", samples->against ? samples->against : ""),
              cell_text("side", samples->other ? "other" : "self"),
              cell_text("kind", timing_name(samples->kind)), cell_integer("calls", samples->calls),
              cell_integer("count", (int64_t)samples->count),
              cell_reals("seconds", samples->seconds, samples->count)),
        "", error);
    return statement_do(&s);
}

static heed_status add_comparison(lab_record *record, int64_t trial, const lab_record_comparison *c,
                                  lab_error *error)
{
    int64_t other = 0;
    heed_status status = HEED_OK;
    if (c->other)
        status = references_find_candidate(record, c->other, &other, error);
    if (status != HEED_OK)
        return status;
    statement s = statement_insert(
        record, "comparison",
        CELLS(cell_integer("trial", trial), cell_text("against", c->against),
              cell_at_least("other", 1, other), cell_text("version", c->version),
              cell_text("method", c->method), cell_text("outcome", c->outcome),
              cell_text("reason", c->reason), cell_positive("seconds", c->seconds),
              cell_positive("ratio", c->ratio), cell_positive("low", c->low),
              cell_positive("high", c->high), cell_positive("margin", c->margin),
              cell_text("verdict", c->verdict), cell_at_least("pairs", 1, c->pairs)),
        "", error);
    return statement_do(&s);
}

static heed_status add_gate(lab_record *record, int64_t trial, const lab_record_gate *gate,
                            lab_error *error)
{
    statement s = statement_make(record, "INSERT INTO gate VALUES (?, ?, ?, ?, ?)", error);
    statement_integer(&s, trial);
    statement_text(&s, gate->name);
    statement_integer(&s, gate->passed);
    statement_text(&s, gate->detail);
    statement_integer(&s, (int64_t)gate->seed);
    return statement_do(&s);
}

static heed_status add_fact(lab_record *record, int64_t trial, const lab_record_fact *fact,
                            lab_error *error)
{
    if (!fact->text && fact->number != fact->number)
        return HEED_OK;
    statement s = statement_make(record, "INSERT INTO fact VALUES (?, ?, ?)", error);
    statement_integer(&s, trial);
    statement_text(&s, fact->name);
    if (fact->text)
        statement_text(&s, fact->text);
    else
        statement_real(&s, fact->number);
    return statement_do(&s);
}

static heed_status add_belongings(lab_record *record, int64_t id, const lab_record_trial *trial,
                                  lab_error *error)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; status == HEED_OK && i < trial->sample_count; i++)
        status = add_samples(record, id, &trial->samples[i], error);
    for (size_t i = 0; status == HEED_OK && i < trial->comparison_count; i++)
        status = add_comparison(record, id, &trial->comparisons[i], error);
    for (size_t i = 0; status == HEED_OK && i < trial->gate_count; i++)
        status = add_gate(record, id, &trial->gates[i], error);
    for (size_t i = 0; status == HEED_OK && i < trial->fact_count; i++)
        status = add_fact(record, id, &trial->facts[i], error);
    return status;
}

/* -------------------------------------------------------------------------- */
/* The trial                                                                  */
/* -------------------------------------------------------------------------- */

static heed_status insert_trial(lab_record *record, const lab_record_trial *trial,
                                const references *to, int64_t *id, lab_error *error)
{
    char now[LAB_RECORD_TIME_SIZE];
    lab_record_now(now);
    statement s = statement_insert(
        record, "trial",
        CELLS(cell_integer("run", trial->run), cell_integer("candidate", to->candidate),
              cell_integer("problem", to->problem), cell_integer("attempt", trial->attempt),
              cell_integer("environment", to->environment),
              cell_at_least("artifact", 1, to->artifact),
              cell_at_least("selftest", 1, trial->selftest),
              cell_text("verdict", lab_record_verdict_name(trial->verdict)),
              cell_text("reason", trial->reason), cell_integer("seed", (int64_t)trial->seed),
              cell_text("started", trial->started ? trial->started : now),
              cell_text("ended", trial->ended ? trial->ended : now),
              cell_integer("confirmed", trial->confirmed),
              cell_text("timing", timing_name(trial->timing)),
              cell_positive("seconds", trial->seconds), cell_positive("p90", trial->p90),
              cell_positive("of_roofline", trial->of_roofline)),
        "RETURNING id", error);
    return statement_one(&s, id);
}

static heed_status add_described(lab_record *record, const lab_record_trial *trial, int64_t *id,
                                 lab_error *error)
{
    references to = { 0 };
    heed_status status = references_add(record, trial, &to, error);
    if (status == HEED_OK)
        status = insert_trial(record, trial, &to, id, error);
    if (status == HEED_OK)
        status = add_belongings(record, *id, trial, error);
    if (status == HEED_OK && trial->launch)
        status = library_add_launch(record, *id, trial->launch, error);
    if (status == HEED_OK)
        status = link_add(record, "trial", *id, error);
    return status;
}

static heed_status add_trial(lab_record *record, const lab_record_trial *trial,
                             const lab_record_described *described, int64_t *id, lab_error *error)
{
    lab_record_trial whole = *trial;
    lab_record_found found;
    heed_status status = lab_record_find(record, trial, &found, error);
    *id = found.trial;
    if (status != HEED_OK || found.trial > 0)
        return status;
    if (!whole.launch && *described->launch)
        whole.launch = described->launch;
    if (!whole.artifact.sha256)
        whole.artifact = described->artifact;
    return add_described(record, &whole, id, error);
}

static heed_status check_trial(const lab_record_trial *trial, lab_error *error)
{
    const lab_record_candidate *candidate = &trial->candidate;
    bool timed = trial->timing == LAB_RECORD_COLD || trial->timing == LAB_RECORD_HOT;
    if (!candidate->kernel || !trial->problem)
        return lab_fail(error, HEED_ERR_INVALID, "a trial needs a kernel and a problem");
    if (candidate->source && !candidate->language)
        return lab_fail(error, HEED_ERR_INVALID, "a source needs a language");
    if (!trial->device.name || !trial->device.backend)
        return lab_fail(error, HEED_ERR_INVALID, "a trial needs the name and backend of a device");
    if ((unsigned)trial->verdict >= LAB_RECORD_VERDICTS)
        return lab_fail(error, HEED_ERR_INVALID, "verdict is %d; the last one is %d",
                        (int)trial->verdict, LAB_RECORD_VERDICTS - 1);
    if (timed != (trial->seconds > 0))
        return lab_fail(error, HEED_ERR_INVALID,
                        "seconds is %g, which must be above 0 if and only if timing is cold or hot",
                        trial->seconds);
    if (heed_problem_check(trial->problem) != HEED_OK)
        return lab_fail_lines(error, HEED_ERR_INVALID, "problem: %s", heed_message());
    heed_status status = evidence_names(trial, error);
    if (status == HEED_OK)
        status = evidence_demand(trial, error);
    return status == HEED_OK ? evidence_check(trial, error) : status;
}

heed_status lab_record_append(lab_record *record, const lab_record_trial *trial, int64_t *id,
                              lab_error *error)
{
    int64_t added = 0;
    lab_error why = { "" };
    lab_record_described described;
    lab_record_trial judged = *trial;
    heed_status status = check_trial(trial, error);
    if (status == HEED_OK && trial->verdict == LAB_RECORD_OK &&
        !lab_record_plausible(record, trial, &why)) {
        judged.verdict = LAB_RECORD_IMPOSSIBLE;
        judged.reason = why.text;
        judged.confirmed = false;
    }
    if (status == HEED_OK) /* before the transaction, as it may take a moment */
        library_describe(record, trial, &described);
    if (status == HEED_OK)
        status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status == HEED_OK)
        status = lab_record_commit(record, add_trial(record, &judged, &described, &added, error),
                                   error);
    if (id)
        *id = status == HEED_OK ? added : 0;
    return status;
}

/* Lower attempt numbers are those of the run itself. */
#define REFUTED_ATTEMPT 100

static heed_status add_refuted(lab_record *record, int64_t run, int64_t trial,
                               lab_record_verdict verdict, const char *reason, lab_error *error)
{
    char now[LAB_RECORD_TIME_SIZE];
    int64_t id;
    lab_record_now(now);
    statement s = statement_make(
        record,
        "INSERT INTO trial (run, candidate, problem, attempt, environment, artifact, verdict, "
        "reason, seed, started, ended, confirmed) SELECT ?1, candidate, problem, (SELECT "
        "max(?2, coalesce(max(attempt) + 1, 0)) FROM trial AS t WHERE t.run = ?1 AND t.candidate = "
        "it.candidate AND t.problem = it.problem), environment, artifact, ?3, ?4, seed, ?5, ?5, 0 "
        "FROM trial AS it WHERE id = ?6 RETURNING id",
        error);
    statement_integer(&s, run);
    statement_integer(&s, REFUTED_ATTEMPT);
    statement_text(&s, lab_record_verdict_name(verdict));
    statement_text(&s, reason);
    statement_text(&s, now);
    statement_integer(&s, trial);
    heed_status status = statement_one(&s, &id);
    return status == HEED_OK && id > 0 ? link_add(record, "trial", id, error) : status;
}

heed_status lab_record_refute(lab_record *record, int64_t run, int64_t trial,
                              lab_record_verdict verdict, const char *reason, lab_error *error)
{
    heed_status status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status != HEED_OK)
        return status;
    return lab_record_commit(record, add_refuted(record, run, trial, verdict, reason, error),
                             error);
}

static double least_of(statement *s, int column)
{
    size_t count = 0;
    double least = 0, *samples = statement_get_reals(s, column, &count);
    for (size_t i = 0; samples && i < count; i++)
        if (i == 0 || samples[i] < least)
            least = samples[i];
    free(samples);
    return least;
}

heed_status lab_record_find(lab_record *record, const lab_record_trial *trial,
                            lab_record_found *found, lab_error *error)
{
    char hash[LAB_RECORD_HASH_SIZE], spec[HEED_SPEC_SIZE];
    *found = (lab_record_found){ .verdict = LAB_RECORD_VERDICTS };
    lab_record_candidate_hash(&trial->candidate, hash);
    heed_problem_print(trial->problem, spec, sizeof spec);
    statement s = statement_make(
        record,
        "SELECT trial.id, verdict, trial.seconds, sample.seconds FROM trial "
        "LEFT JOIN sample ON sample.trial = trial.id AND against = '' AND side = 'self' "
        "AND kind = timing "
        "WHERE run = ? AND candidate = (SELECT id FROM candidate WHERE hash = ?) "
        "AND problem = (SELECT id FROM problem WHERE spec = ?) AND attempt = ?",
        error);
    statement_integer(&s, trial->run);
    statement_text(&s, hash);
    statement_text(&s, spec);
    statement_integer(&s, trial->attempt);
    if (statement_row(&s))
        *found = (lab_record_found){
            .trial = statement_get_integer(&s, 0),
            .verdict = lab_record_verdict_find(statement_get_text(&s, 1)),
            .seconds = statement_get_real(&s, 2),
            .least = least_of(&s, 3),
        };
    return statement_end(&s);
}

heed_status lab_record_visit_tried(lab_record *record, int64_t run,
                                   heed_status (*fn)(void *data, const lab_record_tried *tried),
                                   void *data, lab_error *error)
{
    statement s = statement_make(
        record,
        "SELECT kernel, text, coalesce(thought, ''), coalesce((SELECT max(hash) FROM ancestry JOIN "
        "candidate AS p ON p.id = parent WHERE ancestry.candidate = candidate.id), ''), spec, "
        "coalesce(reason, ''), verdict, trial.seconds, sample.seconds FROM trial "
        "JOIN candidate ON candidate.id = candidate JOIN source ON source.id = candidate.source "
        "JOIN problem ON problem.id = problem "
        "LEFT JOIN sample ON sample.trial = trial.id AND against = '' AND side = 'self' "
        "AND kind = timing WHERE run = ? AND attempt = 0 ORDER BY trial.id",
        error);
    statement_integer(&s, run);
    while (statement_row(&s)) {
        const double least = least_of(&s, 8);
        const lab_record_tried tried = {
            .kernel = statement_get_text(&s, 0),
            .source = statement_get_text(&s, 1),
            .thought = statement_get_text(&s, 2),
            .parent = statement_get_text(&s, 3),
            .problem = statement_get_text(&s, 4),
            .reason = statement_get_text(&s, 5),
            .verdict = lab_record_verdict_find(statement_get_text(&s, 6)),
            .seconds = least > 0 ? least : statement_get_real(&s, 7),
        };
        const bool whole = tried.kernel && tried.source && tried.thought && tried.parent &&
                           tried.problem && tried.reason;
        s.status = whole ? fn(data, &tried) : HEED_ERR_NO_MEMORY;
    }
    return statement_end(&s);
}

static heed_status add_promotion(lab_record *record, int64_t trial, int64_t over,
                                 const char *reason, lab_error *error)
{
    char now[LAB_RECORD_TIME_SIZE];
    int64_t id;
    lab_record_now(now);
    return link_insert(record, "promotion",
                       CELLS(cell_integer("trial", trial), cell_at_least("over", 1, over),
                             cell_text("at", now), cell_text("reason", reason)),
                       "ON CONFLICT (trial) DO NOTHING RETURNING id", &id, error);
}

heed_status lab_record_promote(lab_record *record, int64_t trial, int64_t over, const char *reason,
                               lab_error *error)
{
    int64_t fit;
    statement look = statement_make(
        record,
        "SELECT count(*) FROM trial WHERE id = ? AND verdict = 'ok' AND confirmed AND EXISTS "
        "(SELECT 1 FROM gate WHERE trial = trial.id AND name = 'verify' AND passed)",
        error);
    statement_integer(&look, trial);
    heed_status status = statement_one(&look, &fit);
    if (status != HEED_OK)
        return status;
    if (!fit)
        return lab_fail(error, HEED_ERR_INVALID,
                        "%s: trial %lld cannot be promoted: it must be ok, confirmed, and have "
                        "passed the gate verify",
                        record->path, (long long)trial);
    status = lab_record_run_sql(record, "BEGIN IMMEDIATE", error);
    if (status == HEED_OK)
        status = lab_record_commit(record, add_promotion(record, trial, over, reason, error),
                                   error);
    return status;
}
