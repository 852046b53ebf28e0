/*
 * board_claims.c - checks that derived fields of a heed.bench/1 row are consistent
 */
#include "board.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/plural.h"
#include "measure/compare.h"
#include "wisdom_line.h"

#define TOLERANCE 1e-6 /* JSON has nine digits */
#define DAY 86400

/* A field that is derived from other fields. NaN: unknown, and not compared. */
typedef struct claim {
    const char *object, *name;
    double wanted;
} claim;

static heed_status check_numbers(const json_t *row, const claim *claims, size_t count,
                                 lab_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *object = claims[i].object ? json_object_get(row, claims[i].object) : row;
        const json_t *said = json_object_get(object, claims[i].name);
        double value = json_number_value(said), wanted = claims[i].wanted;
        if (json_is_number(said) && isfinite(wanted) &&
            !(fabs(value - wanted) <= TOLERANCE * fabs(wanted)))
            return lab_fail(error, HEED_ERR_INVALID,
                            "%s%s%s is %.9g; by the other fields it is %.9g",
                            claims[i].object ? claims[i].object : "", claims[i].object ? "." : "",
                            claims[i].name, value, wanted);
    }
    return HEED_OK;
}

/* The work of a row. That of a problem with lengths depends on their values, of which a row has
 * only totals: it is not compared, and the board does not keep it. */
static double flops_of(const json_t *row, const heed_problem *problem)
{
    if (json_is_object(json_object_get(row, "sequences")))
        return json_number_value(json_object_get(row, "flops"));
    return heed_problem_flops(problem);
}

static heed_status check_rates(const json_t *file, const json_t *row, const lab_record_trial *trial,
                               lab_error *error)
{
    double flops = flops_of(row, trial->problem), rate = flops / trial->seconds;
    const json_t *ceilings = json_object_get(file, "ceilings");
    double ceiling = json_number_value(
        json_object_get(ceilings, heed_type_name(trial->problem->type)));
    double least = INFINITY, sum = 0;
    const lab_record_samples *own = trial->sample_count > 0 && !trial->samples[0].against
                                        ? trial->samples
                                        : NULL;
    for (size_t i = 0; own && i < own->count; i++) {
        least = fmin(least, own->seconds[i]);
        sum += own->seconds[i];
    }
    const claim claims[] = {
        { NULL, "flops", flops },
        { NULL, "flops_per_second", rate },
        { NULL, "of_ceiling", ceiling > 0 ? rate / ceiling : (double)NAN },
        { "seconds", "min", least },
        { "seconds", "mean", own ? sum / (double)own->count : (double)NAN },
        { "replay", trial->timing == LAB_RECORD_COLD ? "cold" : "hot", trial->seconds },
    };
    return check_numbers(row, claims, sizeof claims / sizeof *claims, error);
}

/* A row that is ok must have been checked. */
static heed_status check_outcome(const json_t *row, const lab_record_trial *trial, lab_error *error)
{
    const json_t *said = json_object_get(row, "error");
    double least = json_number_value(said);
    if (trial->verdict != LAB_RECORD_OK)
        return HEED_OK;
    if (json_is_number(said) && !(least >= 0 && least <= 1))
        return lab_fail(error, HEED_ERR_INVALID,
                        "outcome is ok, and error is %.9g; at most 1 is allowed", least);
    return HEED_OK;
}

/* "2026-11-23T02:00:37Z", or with a fraction of a second. */
static bool is_moment(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00";
    struct tm parts;
    for (size_t i = 0; i + 1 < sizeof form; i++) /* strptime() also takes blanks and one digit */
        if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest && *rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    return rest && strcmp(rest, "Z") == 0;
}

/* A record with a date in the future would stay the newest forever. */
static heed_status check_moment(const lab_record_trial *trial, lab_error *error)
{
    char tomorrow[32];
    struct tm parts;
    if (!is_moment(trial->ended))
        return lab_fail(error, HEED_ERR_INVALID,
                        "environment.time is %.40s; it must be like 2026-11-23T02:00:37Z",
                        trial->ended);
    time_t then = time(NULL) + DAY;
    gmtime_r(&then, &parts);
    strftime(tomorrow, sizeof tomorrow, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (strcmp(trial->ended, tomorrow) <= 0)
        return HEED_OK;
    return lab_fail(error, HEED_ERR_INVALID, "environment.time is %.40s, which is in the future",
                    trial->ended);
}

/* "0.1.0" */
static bool is_version(const char *text)
{
    int parts = 0;
    for (size_t digits; (digits = strspn(text, "0123456789")) > 0 && parts < 3; parts++) {
        text += digits;
        text += parts < 2 && *text == '.';
    }
    return parts == 3 && !*text;
}

/* The version that wrote the record made its figures, too, and a build has one version. */
static heed_status check_version(const json_t *file, const lab_record_trial *trial,
                                 lab_error *error)
{
    const char *writer = json_string_value(json_object_get(file, "version"));
    const char *said = trial->environment.heed, *build = trial->environment.build;
    if (said && !is_version(said))
        return lab_fail(error, HEED_ERR_INVALID,
                        "environment.heed is %.40s; it must be a version like %s", said,
                        heed_version());
    if (said && writer && strcmp(said, writer) != 0)
        return lab_fail(error, HEED_ERR_INVALID,
                        "environment.heed is %.40s; by the record's version it is %.40s", said,
                        writer);
    if (said && build && strcmp(build, heed_wisdom_build()) == 0 &&
        strcmp(said, heed_version()) != 0)
        return lab_fail(error, HEED_ERR_INVALID,
                        "environment.heed is %.40s; the version of this build is %s", said,
                        heed_version());
    return HEED_OK;
}

/* A kernel of this build must exist in it. */
static heed_status check_kernel(const lab_record_trial *trial, lab_error *error)
{
    const lab_record_candidate *it = &trial->candidate;
    const char *build = trial->environment.build;
    char name[2 * HEED_NAME_SIZE];
    if (!build || strcmp(build, heed_wisdom_build()) != 0)
        return HEED_OK;
    snprintf(name, sizeof name, "%s%s%s", it->kernel, it->config ? "__" : "",
             it->config ? it->config : "");
    if (heed_kernel_name(cli_kernel_index(it->kernel)) && (!it->config || heed_wisdom_kernel(name)))
        return HEED_OK;
    return lab_fail(error, HEED_ERR_INVALID,
                    "kernel is %.80s, which this build does not have, though the record says that "
                    "it is of this build",
                    name);
}

/* The samples of one side of a comparison; NULL: none. */
static const lab_record_samples *side_of(const lab_record_trial *trial, const char *against,
                                         bool other)
{
    for (size_t i = 0; i < trial->sample_count; i++) {
        const lab_record_samples *it = &trial->samples[i];
        if (it->against && strcmp(it->against, against) == 0 && it->other == other)
            return it;
    }
    return NULL;
}

/* An interval must follow from its pairs of samples. An interval without ends is not checked, and
 * the board itself finds pairs that do not match the samples. */
static heed_status check_interval(const lab_record_trial *trial, const lab_record_comparison *c,
                                  lab_error *error)
{
    const lab_record_samples *a = side_of(trial, c->against, false);
    const lab_record_samples *b = side_of(trial, c->against, true);
    const lab_interval ratio = { c->ratio, c->low, c->high > 0 ? c->high : (double)INFINITY };
    size_t pairs = (size_t)c->pairs;
    if (!(ratio.low > 0) && !isfinite(ratio.high))
        return HEED_OK;
    if (!a || !b)
        return lab_fail(error, HEED_ERR_INVALID,
                        "interval against %s is [%.9g, %.9g], and there are no samples of it",
                        c->against, ratio.low, ratio.high);
    const lab_series series = { .a = a->seconds, .b = b->seconds, .pairs = pairs };
    if (a->count != b->count || pairs > a->count || lab_interval_follows(&series, &ratio))
        return HEED_OK;
    return lab_fail(error, HEED_ERR_INVALID,
                    "interval against %s is %.9g [%.9g, %.9g]; its %zu pair%s of samples do not "
                    "give that",
                    c->against, ratio.estimate, ratio.low, ratio.high, pairs, lab_plural(pairs));
}

heed_status board_claims_check(const json_t *file, const json_t *row, const lab_record_trial *trial,
                               lab_error *error)
{
    heed_status status = check_outcome(row, trial, error);
    if (status == HEED_OK)
        status = check_moment(trial, error);
    if (status == HEED_OK)
        status = check_version(file, trial, error);
    if (status == HEED_OK)
        status = check_kernel(trial, error);
    if (status == HEED_OK && trial->seconds > 0)
        status = check_rates(file, row, trial, error);
    for (size_t i = 0; status == HEED_OK && i < trial->comparison_count; i++)
        status = check_interval(trial, &trial->comparisons[i], error);
    return status;
}
