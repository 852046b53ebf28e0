/*
 * record_scene.c - synthetic trials for tests of the leaderboard
 */
#include "record_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void fill_samples(record_scene *scene, int number)
{
    for (int i = 0; i < 16; i++)
        scene->seconds[i] = 1e-5 * (1 + number) + 1e-8 * i;
    for (int i = 0; i < 4; i++)
        scene->others[i] = 1.5 * scene->seconds[i];
    scene->samples[0] = (lab_record_samples){
        .kind = LAB_RECORD_COLD, .calls = 100, .seconds = scene->seconds, .count = 16
    };
    scene->samples[1] = (lab_record_samples){
        .against = "torch-flash", .kind = LAB_RECORD_COLD, .seconds = scene->seconds, .count = 4
    };
    scene->samples[2] = scene->samples[1];
    scene->samples[2].other = true;
    scene->samples[2].seconds = scene->others;
}

/* Comparisons, gates and facts. */
static void fill_findings(record_scene *scene)
{
    scene->comparisons[0] = (lab_record_comparison){
        .against = "torch-flash",
        .version = "2.11.0",
        .method = "flash",
        .outcome = "ok",
        .seconds = scene->others[0],
        .ratio = 1.5,
        .low = 1.4,
        .high = 1.6,
        .margin = 0.01,
        .verdict = "FASTER",
        .pairs = 4,
    };
    scene->comparisons[1] = (lab_record_comparison){ .against = "xformers",
                                                     .outcome = "refused",
                                                     .reason = "not installed" };
    scene->gates[0] = (lab_record_gate){ .name = "error", .passed = true, .seed = 7 };
    scene->gates[1] = (lab_record_gate){ .name = "verify", .passed = true, .detail = "0 ulp" };
    scene->facts[0] = (lab_record_fact){ .name = "power_w", .number = 123.5 };
    scene->facts[1] = (lab_record_fact){ .name = "throttle", .text = "none" };
    scene->facts[2] = (lab_record_fact){ .name = "clock_hz", .number = 1.98e9 };
}

void record_scene_make(record_scene *scene, int64_t run, int number)
{
    memset(scene, 0, sizeof *scene);
    assert_int_equal(heed_problem_parse(&scene->problem, "b1 h8 s512 d64 f16"), HEED_OK);
    snprintf(scene->config, sizeof scene->config, "m%dn64", number);
    fill_samples(scene, number);
    fill_findings(scene);
    scene->trial = (lab_record_trial){
        .run = run,
        .candidate = { .kernel = "fwd_16bit_sm80_mma",
                       .config = scene->config,
                       .language = "cuda",
                       .source = "__global__ void heed() {}",
                       .proposer = "sweep",
                       .seed = 42,
                       .thought = "fewer registers" },
        .problem = &scene->problem,
        .device = { .name = "NVIDIA H200", .backend = "cuda", .memory_bytes = 1.5e11 },
        .environment = { .features = "sm_90-driver13.0-nvrtc13.0",
                         .threads = 1,
                         .build = "0123456789ab-gcc12.2.0",
                         .heed = "0.1.0",
                         .commit = "503eb534e5cd-dirty",
                         .driver = "13.0",
                         .nvrtc = "13.0" },
        .artifact = { .sha256 = "00",
                      .form = "cubin",
                      .bytes = 4096,
                      .registers = 128,
                      .spill_bytes = 0,
                      .shared_bytes = 49152 },
        .seed = 1,
        .verdict = LAB_RECORD_OK,
        .confirmed = true,
        .timing = LAB_RECORD_COLD,
        .seconds = scene->seconds[8],
        .p90 = scene->seconds[14],
        .of_roofline = 0.5,
        .samples = scene->samples,
        .sample_count = 3,
        .comparisons = scene->comparisons,
        .comparison_count = 2,
        .gates = scene->gates,
        .gate_count = 2,
        .facts = scene->facts,
        .fact_count = 3,
    };
}

void record_scene_time(record_scene *scene, double seconds, lab_record_timing timing)
{
    for (int i = 0; i < 16; i++)
        scene->seconds[i] = seconds * (1 + 1e-3 * (i - 8));
    for (int i = 0; i < 4; i++)
        scene->others[i] = 1.5 * scene->seconds[i];
    for (int i = 0; i < 3; i++)
        scene->samples[i].kind = timing;
    scene->trial.timing = timing;
    scene->trial.seconds = scene->seconds[8];
    scene->trial.p90 = scene->seconds[14];
    scene->comparisons[0].seconds = scene->others[0];
}

lab_record *record_scene_open(const char *path, lab_record_mode mode)
{
    lab_record *record;
    lab_error error;
    if (lab_record_open(&record, path, mode, &error) != HEED_OK)
        fail_msg("%s", error.text);
    return record;
}

int64_t record_scene_begin(lab_record *record, const char *key)
{
    const lab_record_work work = { .key = key, .verb = "sweep", .command = "heed sweep" };
    lab_error error;
    int64_t run;
    bool resumed;
    if (lab_record_begin(record, &work, &run, &resumed, &error) != HEED_OK)
        fail_msg("%s", error.text);
    return run;
}

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

typedef struct row_list {
    record_row *rows;
    size_t size, count;
} row_list;

static void keep_text(record_row *to, int index, const char **text)
{
    if (!*text)
        return;
    snprintf(to->texts[index], sizeof to->texts[index], "%s", *text);
    *text = to->texts[index];
}

static heed_status keep_row(void *data, const lab_record_row *row)
{
    row_list *list = data;
    if (list->count++ >= list->size)
        return HEED_OK;
    record_row *to = &list->rows[list->count - 1];
    to->row = *row;
    const char **const texts[] = { &to->row.problem,  &to->row.device,  &to->row.backend,
                                   &to->row.features, &to->row.build,   &to->row.kernel,
                                   &to->row.config,   &to->row.verdict, &to->row.reason,
                                   &to->row.timing,   &to->row.against, &to->row.compared,
                                   &to->row.heed,     &to->row.commit,  &to->row.ended,
                                   &to->row.trusted };
    for (int i = 0; i < 16; i++)
        keep_text(to, i, texts[i]);
    return HEED_OK;
}

size_t record_scene_rows(lab_record *record, const lab_record_filter *filter, record_row *rows,
                         size_t size)
{
    row_list list = { rows, size, 0 };
    lab_error error;
    if (lab_record_visit(record, filter, keep_row, &list, &error) != HEED_OK)
        fail_msg("%s", error.text);
    return list.count;
}

size_t record_scene_count(lab_record *record, const lab_record_filter *filter)
{
    return record_scene_rows(record, filter, NULL, 0);
}

/* -------------------------------------------------------------------------- */
/* Expectations                                                               */
/* -------------------------------------------------------------------------- */

void record_expect(heed_status status, const lab_error *error)
{
    if (status != HEED_OK)
        fail_msg("%s: %s", heed_status_name(status), error->text);
}

void record_refused(heed_status status, heed_status wanted, const lab_error *error,
                    const char *part)
{
    if (status != wanted || !strstr(error->text, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", heed_status_name(status), error->text, part);
}

int64_t record_append(lab_record *record, const lab_record_trial *trial)
{
    lab_error error;
    int64_t id = 0;
    record_expect(lab_record_append(record, trial, &id, &error), &error);
    assert_true(id > 0);
    return id;
}

static heed_status look(void *data, const lab_record_field *field)
{
    record_looked *want = data;
    if (strcmp(field->section, want->section) != 0 || strcmp(field->name, want->name) != 0 ||
        field->row != want->row)
        return HEED_OK;
    want->found++;
    want->field = *field;
    snprintf(want->text, sizeof want->text, "%s", field->text ? field->text : "");
    for (size_t i = 0; i < field->count && i < 16; i++)
        want->samples[i] = field->samples[i];
    return HEED_OK;
}

record_looked record_show(lab_record *record, int64_t id, const char *section, size_t row,
                          const char *name)
{
    record_looked want = { .section = section, .name = name, .row = row };
    lab_error error;
    record_expect(lab_record_show(record, id, look, &want, &error), &error);
    assert_int_equal(want.found, 1);
    return want;
}
