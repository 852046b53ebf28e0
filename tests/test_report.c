/*
 * test_report.c - `heed report` as people call it: its figures, its warnings, and what it refuses
 */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lab/report/format.h"
#include "record_scene.h"
#include "run_heed.h"
#include "scratch.h"
#include "well_formed.h"

#define RECORD HEED_SOURCE_DIR "/tests/data/bench-record.json"
#define H200 HEED_SOURCE_DIR "/benchmarks/nvidia-h200/2026-11-21/"
#define PAGE_MAX 4000000

static const run_heed_way way = { HEED_PROGRAM, "HEED_BOARD=\"$PWD/board.db\"" };
static char page[PAGE_MAX];

#define EXPECT(state, table) run_heed_rows(state, &way, table, sizeof(table) / sizeof(table)[0])

/* -------------------------------------------------------------------------- */
/* Helpers                                                                    */
/* -------------------------------------------------------------------------- */

static const char *read_page(void **state, const char *name)
{
    char path[SCRATCH_PATH_SIZE];
    memset(page, 0, sizeof page);
    scratch_read(scratch_path(state, name, path), page, sizeof page - 1);
    return page;
}

static void must_be_sound(const char *text)
{
    const char *fault = well_formed(text);
    if (fault)
        fail_msg("%s", fault);
}

static void must_say(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in it", part);
}

static void must_not_say(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in it: %.120s", part, strstr(text, part));
}

/* Makes the page @name of what @operands name, and returns it. */
static const char *make_page(void **state, const char *operands, const char *name)
{
    char line[2 * SCRATCH_PATH_SIZE];
    snprintf(line, sizeof line, "heed report -o %s %s", name, operands);
    run_heed_must(state, &way, line, 0);
    const char *text = read_page(state, name);
    if (strstr(name, ".html"))
        must_be_sound(text);
    return text;
}

static json_t *load(const char *path)
{
    json_t *json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return json;
}

static void save(void **state, json_t *json, const char *name)
{
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(json_dump_file(json, scratch_path(state, name, path), JSON_INDENT(1)), 0);
    json_decref(json);
}

static json_t *row_of(json_t *record, size_t index)
{
    return json_array_get(json_object_get(record, "rows"), index);
}

static json_t *rival_of(json_t *record, size_t row, size_t index)
{
    return json_array_get(json_object_get(row_of(record, row), "rivals"), index);
}

/* -------------------------------------------------------------------------- */
/* Figures                                                                    */
/* -------------------------------------------------------------------------- */

/* Every figure of a long record is on the page, as the record has it. */
static void shows_the_figures_of_a_record(void **state)
{
    json_t *record = load(H200 "rivals-cold-171012.json"), *row, *rival;
    const char *text = make_page(state, H200 "rivals-cold-171012.json", "h.html");
    size_t i, j;
    char wanted[160], time[LAB_FORMAT_SIZE];
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        double p50 = json_number_value(json_object_get(json_object_get(row, "seconds"), "p50"));
        snprintf(wanted, sizeof wanted, "<td>%s</td><td class=\"r\">%s</td>",
                 json_string_value(json_object_get(row, "problem")), lab_format_seconds(p50, time));
        must_say(text, wanted);
        json_array_foreach(json_object_get(row, "rivals"), j, rival)
        {
            const json_t *c = json_object_get(rival, "comparison");
            double high = json_number_value(json_object_get(c, "high"));
            int decimals = high < 9.9995 ? 3 : 1;
            snprintf(wanted, sizeof wanted, "<td class=\"r\">%.3fx</td><td>%.*f to %.*f</td>",
                     json_number_value(json_object_get(c, "ratio")), decimals,
                     json_number_value(json_object_get(c, "low")), decimals, high);
            must_say(text, wanted);
        }
    }
    json_decref(record);
    static const char *const parts[] = {
        "bc6c3a46e70d",
        "sm_90-driver13.0-nvrtc13.0",
        "manifest ff7fd579f15b, as in the .lock",
        "power cap, during 23 of 39 problems",
        "<h3>Software</h3>",
        "of driver 580.159.04",
        "<td>torch-cudnn</td><td class=\"r\">39</td><td class=\"r\"><span class=\"good\">35</span>",
        "power 126 to 561 W",
        "Hodges and Lehmann",
        "Cold: calls rotate",
        "bound by",
    };
    for (i = 0; i < sizeof parts / sizeof *parts; i++)
        must_say(text, parts[i]);
    must_not_say(text, "Untrusted");
    must_not_say(text, "Unverified");
    must_not_say(text, "History");
}

/* The geometric mean is that of the ratios, and the marks are as many as there are figures. */
static void json_has_the_same(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    run_heed_must(state, &way, "heed report --json -o r.json '" H200 "rivals-cold-171012.json'", 0);
    json_t *record = load(H200 "rivals-cold-171012.json"), *row;
    json_t *report = load(scratch_path(state, "r.json", path));
    const json_t *set = json_array_get(json_object_get(report, "sets"), 0);
    assert_string_equal(json_string_value(json_object_get(report, "schema")), "heed.report/1");
    assert_string_equal(json_string_value(json_object_get(set, "device")), "NVIDIA H200");
    assert_int_equal(json_array_size(json_object_get(set, "rows")), 39);
    double logs = 0;
    size_t i;
    json_array_foreach(json_object_get(record, "rows"), i, row)
    {
        const json_t *mine = json_array_get(json_object_get(set, "rows"), i);
        const json_t *cudnn = json_array_get(json_object_get(row, "rivals"), 2);
        double ratio = json_number_value(
            json_object_get(json_object_get(cudnn, "comparison"), "ratio"));
        const json_t *rival = json_array_get(json_object_get(mine, "rivals"), 2);
        assert_true(json_equal(json_object_get(mine, "problem"), json_object_get(row, "problem")));
        assert_true(json_number_value(json_object_get(rival, "ratio")) == ratio);
        assert_true(json_number_value(json_object_get(mine, "p50")) ==
                    json_number_value(json_object_get(json_object_get(row, "seconds"), "p50")));
        logs += log(ratio);
    }
    double mean = json_number_value(
        json_object_get(json_object_get(set, "geometric_means"), "torch-cudnn"));
    assert_true(fabs(mean - exp(logs / (double)i)) < 1e-8);
    json_decref(report);
    json_decref(record);
}

/* -------------------------------------------------------------------------- */
/* Doubts                                                                     */
/* -------------------------------------------------------------------------- */

static void says_what_speaks_against(void **state)
{
    json_t *record = load(RECORD);
    json_t *environment = json_object_get(record, "environment");
    json_object_set_new(environment, "load", json_real(3.5));
    json_object_set_new(record, "replay", json_false());
    json_object_set_new(row_of(record, 1), "error", json_real(7));
    json_t *status = json_object_get(json_object_get(row_of(record, 0), "replay"), "state");
    json_object_set_new(status, "throttle", json_string("too hot"));
    json_object_set_new(status, "other_processes", json_integer(3));
    save(state, record, "doubtful.json");
    const char *text = make_page(state, "doubtful.json", "d.html");
    static const char *const parts[] = {
        "made by sources with changes on top of commit 503eb534e5cd-dirty",
        "The load average was 3.50",
        "Others than heed and its rivals used the device during 1 of 4 problems",
        "The clocks were held down by: too hot, during 1 of 4",
        "Unsteady: p90 is more than 10 % above the median in 2 of 4 problems, most in b1 h8 s512",
        "Unverified: what torch-flash computed in b1 h8 s512 d64 f16",
        "Untrusted: what heed computed in layer1. b1 h8 s512 d64 f16",
        "No figure of xformers in b1 h8 s512 d64 f16 (refused): not installed",
        "No figure of fwd_16bit_sm80_mma__m64n64 in b1 h8 s512 d128 f16 (wrong): row 3 is off",
        "No figure of heed in b1 h8 s512 d512 f16 (refused): none",
        "torch-flash (flash), unverified",
        "fwd_16bit_sm80_mma__m32n64, untrusted",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        must_say(text, parts[i]);
}

/* -------------------------------------------------------------------------- */
/* Hostile names                                                              */
/* -------------------------------------------------------------------------- */

static const char evil[] =
    "</td><script>alert('x')</script>\"><img src=x onerror=\"y\">|**\n\033[31m&";

static void put_evil(json_t *object, const char *const *names)
{
    for (; *names; names++)
        json_object_set_new(object, *names, json_string(evil));
}

static void save_evil(void **state, const char *name)
{
    static const char *const of_record[] = { "device", "build", "cpu", "effort", "manifest", NULL };
    static const char *const of_environment[] = { "cpu", "kernel", "commit", "heed", "time", NULL };
    static const char *const of_row[] = { "label", "kernel", "reason", "bound_by", NULL };
    static const char *const of_rival[] = { "name", "reason", "method", NULL };
    static const char *const of_peer[] = { "name", "version", "detail", "reason", NULL };
    static const char *const of_state[] = { "throttle", NULL };
    json_t *record = load(RECORD);
    put_evil(record, of_record);
    put_evil(json_object_get(record, "environment"), of_environment);
    json_object_set_new(json_object_get(record, "device_facts"), "features", json_string(evil));
    for (size_t i = 0; i < 4; i++)
        put_evil(row_of(record, i), of_row);
    json_object_set_new(row_of(record, 0), "of_roofline", json_real(0.5));
    put_evil(rival_of(record, 0, 0), of_rival);
    put_evil(rival_of(record, 0, 1), of_rival);
    put_evil(json_array_get(json_object_get(record, "rivals"), 0), of_peer);
    put_evil(json_object_get(json_object_get(row_of(record, 0), "replay"), "state"), of_state);
    save(state, record, name);
}

static void must_be_harmless(const char *text)
{
    must_not_say(text, "<script");
    must_not_say(text, "<img");
    must_not_say(text, "\033");
}

static void escapes_hostile_names(void **state)
{
    save_evil(state, "evil.json");
    must_be_harmless(make_page(state, "--title \"</title><script>\" evil.json", "e.html"));
    must_say(page, "&lt;script&gt;alert(&#39;x&#39;)");
    must_be_harmless(make_page(state, "evil.json " RECORD, "e.html"));
    must_be_harmless(make_page(state, "--markdown evil.json", "e.md"));
    must_be_harmless(make_page(state, "--brief evil.json", "e.md"));
    run_heed_must(state, &way, "cp evil.json '<script>.json'", 0);
    must_be_harmless(make_page(state, "'<script>.json'", "e.html"));
}

static void escapes_hostile_names_of_the_board(void **state)
{
    json_t *record = load(RECORD);
    for (size_t i = 0; i < 3; i++) {
        json_object_set_new(row_of(record, i), "kernel", json_string(evil));
        json_object_set_new(row_of(record, i), "reason", json_string(evil));
    }
    json_object_set_new(rival_of(record, 0, 0), "name", json_string(evil));
    json_object_set_new(record, "device", json_string(evil));
    json_object_set_new(json_object_get(record, "environment"), "commit", json_string(evil));
    save(state, record, "evil.json");
    run_heed_must(state, &way, "heed board add --board evil.db evil.json", 0);
    must_be_harmless(make_page(state, "--board evil.db", "b.html"));
    must_say(page, "&lt;script&gt;alert");
    must_be_harmless(make_page(state, "--markdown --board evil.db", "b.md"));
}

/* -------------------------------------------------------------------------- */
/* What is refused                                                            */
/* -------------------------------------------------------------------------- */

typedef struct change {
    const char *path;  /* of a member: keys and indices between points */
    const char *value; /* JSON; NULL: the member is removed */
    const char *said;
} change;

/* The object that holds the last key of @path; the key in @key. */
static json_t *find(json_t *json, const char *path, char key[64])
{
    for (;;) {
        size_t length = strcspn(path, ".");
        snprintf(key, 64, "%.*s", (int)length, path);
        if (!path[length])
            return json;
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
                                   : json_object_get(json, key);
        assert_non_null(json);
        path += length + 1;
    }
}

static void refuses_bad_fields(void **state)
{
    static const change changes[] = {
        { "schema", "\"heed.bench/2\"", "bad.json: schema is heed.bench/2; heed.bench/1 is what" },
        { "schema", NULL, "schema is missing" },
        { "device", NULL, "device is missing; it must be a text" },
        { "device", "7", "device is 7; it must be a text" },
        { "cold", "\"yes\"", "cold is \"yes\"; it must be true or false" },
        { "threads", "-1", "threads is -1; it must be a number from 0 on" },
        { "threads", "1.5", "threads is 1.5; it must be a whole number" },
        { "environment", "[]", "environment is []; it must be an object" },
        { "environment.time", NULL, "environment.time is missing" },
        { "device_facts.features", "[1]", "device_facts.features is [1]" },
        { "rows", "{}", "rows is {}; it must be an array" },
        { "rows.0.problem", "\"b1 h8\"", "rows[0].problem: " },
        { "rows.1.outcome", "\"fine\"", "rows[1].outcome is \"fine\"; it must be ok, refused" },
        { "rows.0.seconds", "null", "rows[0].seconds is null; it must be an object" },
        { "rows.0.seconds.p50", "0", "rows[0].seconds.p50 is 0; it must be a number above 0" },
        { "rows.0.seconds.p90", "\"x\"", "rows[0].seconds.p90 is \"x\"" },
        { "rows.0.error", "-3", "rows[0].error is -3" },
        { "rows.0.replay.eager.p50", "-1", "rows[0].replay.eager.p50 is -1" },
        { "rows.0.replay.state.throttle", "1", "rows[0].replay.state.throttle is 1" },
        { "rows.0.rivals", "1", "rows[0].rivals is 1; it must be an array" },
        { "rows.0.rivals.0.name", NULL, "rows[0].rivals[0].name is missing" },
        { "rows.0.rivals.0.comparison", "null", "rows[0].rivals[0].comparison is null" },
        { "rows.0.rivals.0.comparison.ratio", "0", "rows[0].rivals[0].comparison.ratio is 0" },
        { "rows.0.rivals.0.comparison.ratio", "9",
          "rows[0].rivals[0].comparison.ratio is 9; it must be between low and high" },
        { "rows.0.rivals.0.comparison.verdict", "\"GREAT\"", "verdict is \"GREAT\"" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char key[64];
        json_t *record = load(RECORD), *holder = find(record, changes[i].path, key);
        if (changes[i].value)
            json_object_set_new(holder, key, json_loads(changes[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(holder, key);
        save(state, record, "bad.json");
        const run_heed_row row = { "heed report bad.json", 7, "", changes[i].said };
        run_heed_rows(state, &way, &row, 1);
    }
}

static void refuses_bad_files(void **state)
{
    static const run_heed_row lines[] = {
        { "echo '{' >bad.json; heed report bad.json", 7, "", "bad.json: line " },
        { "echo '[]' >bad.json; heed report bad.json", 7, "", "schema is missing" },
        { "head -c 900 '" RECORD "' >bad.json; heed report bad.json", 7, "", "not JSON" },
        { ": >bad.json; heed report bad.json", 7, "", "bad.json: line " },
        { "heed report none.json", 3, "", "none.json: No such file" },
        { "mkdir -p empty; heed report empty", 3, "", "empty: no record in it" },
        { "heed report --json --markdown '" RECORD "'", 2, "", "--json cannot be used with" },
        { "heed report --brief", 2, "", "--brief is for records" },
        { "heed report --brieff", 2, "", "did you mean" },
        /* A page that is there stays, whatever happens. */
        { "echo old >page; heed report -o page bad.json; cat page; ls page.*", 2, "old\n", NULL },
        { "heed report -o no/such/page '" RECORD "'", 3, "", "no/such/page: No such file" },
        { "[ ! -e /dev/full ] || { heed report -o /dev/full '" RECORD "'; [ $? = 3 ]; }", 0, "",
          NULL },
        { "heed report -o page '" RECORD "' && head -1 page", 0, "<!DOCTYPE html>\n", "page" },
        { "heed report -o - '" RECORD "' | head -1", 0, "<!DOCTYPE html>\n", "" },
        { "heed report --help", 0, "Usage: heed report [OPTION]... [RECORD | FOLDER]...", "" },
    };
    EXPECT(state, lines);
}

/* The manifest beside a record must be the one that it names. */
static void looks_at_the_manifest(void **state)
{
    static const run_heed_row lines[] = {
        { "cp '" H200 "'rivals-cold-171012.* .; heed report -m rivals-cold-171012.json | "
          "grep -c '## Software'",
          0, "1\n", "" },
        { "sed -i 's/\"2.11.0\"/\"2.12.0\"/' rivals-cold-171012.lock; "
          "heed report rivals-cold-171012.json",
          7, "", "its hash does not fit its parts" },
        { "sed -i 's/\"manifest\": \"ff7f/\"manifest\": \"ff70/' rivals-cold-171012.json; "
          "cp '" H200 "'rivals-cold-171012.lock .; heed report rivals-cold-171012.json",
          7, "", "its hash is ff7fd579f15b; the record beside it refers to ff70d579f15b" },
        { "rm *.lock; heed report -m rivals-cold-171012.json | grep -c 'whose .lock is not'", 0,
          "1\n", "" },
    };
    EXPECT(state, lines);
}

/* -------------------------------------------------------------------------- */
/* Several records                                                            */
/* -------------------------------------------------------------------------- */

static void save_faster(void **state, const char *name, const char *time, double p50, bool cold)
{
    json_t *record = load(RECORD);
    json_object_set_new(json_object_get(record, "environment"), "time", json_string(time));
    json_object_set_new(json_object_get(row_of(record, 0), "seconds"), "p50", json_real(p50));
    json_object_set_new(record, "cold", json_boolean(cold));
    save(state, record, name);
}

static void puts_two_beside_each_other(void **state)
{
    save_faster(state, "after.json", "2026-02-02T03:04:05Z", 2.5e-6, true);
    const char *text = make_page(state, "after.json " RECORD, "h.html");
    must_say(text, "<h2>History: NVIDIA Test before and after</h2>");
    must_say(text, "a difference here proves nothing and has no verdict");
    must_say(text, "<td>b1 h8 s512 d64 f16</td><td class=\"r\">5.00 us</td><td class=\"r\">2.50 us"
                   "</td><td class=\"r\">2.00x</td>");
    char *section = strstr(page, "<h2>History"), *end = strstr(section + 4, "<h2>");
    assert_non_null(end);
    *end = '\0';
    must_not_say(section, "FASTER");
    must_not_say(section, "SLOWER");
    json_t *report = run_heed_json(state, &way, "heed report --json after.json '" RECORD "'", 0);
    const json_t *pair = json_array_get(json_object_get(report, "history"), 0);
    assert_true(json_is_null(json_object_get(pair, "verdict")));
    assert_string_equal(json_string_value(json_object_get(pair, "before")), RECORD);
    const json_t *row = json_array_get(json_object_get(pair, "rows"), 0);
    assert_true(json_number_value(json_object_get(row, "before_over_after")) == 2);
    json_decref(report);

    save_faster(state, "hot.json", "2026-02-02T03:04:05Z", 2.5e-6, false);
    must_not_say(make_page(state, "hot.json " RECORD, "h.html"), "<h2>History");
    must_say(page, "None of these records stand beside each other");
}

/* Of a folder the newest date, and of what was measured twice there the last. */
static void takes_the_newest_of_a_folder(void **state)
{
    static const run_heed_row lines[] = {
        { "mkdir -p b/dev/2026-01-01 b/dev/2026-01-02 b/dev/2026-01-03 b/other/2026-01-01; "
          "touch b/dev/2026-01-03/notes.md",
          0, "", "" },
        { "cp '" RECORD "' b/dev/2026-01-01/old.json", 0, "", "" },
    };
    EXPECT(state, lines);
    save_faster(state, "b/dev/2026-01-02/z.json", "2026-01-02T01:00:00Z", 3e-6, true);
    save_faster(state, "b/dev/2026-01-02/a.json", "2026-01-02T02:00:00Z", 4e-6, true);
    json_t *report = run_heed_json(state, &way, "heed report --json b", 0);
    const json_t *sets = json_object_get(report, "sets");
    assert_int_equal(json_array_size(sets), 1);
    const json_t *set = json_array_get(sets, 0), *rows = json_object_get(set, "rows");
    assert_int_equal(json_array_size(json_object_get(set, "records")), 2);
    assert_int_equal(json_array_size(rows), 4);
    assert_true(json_number_value(json_object_get(json_array_get(rows, 0), "p50")) == 4e-6);
    json_decref(report);
    make_page(state, "b", "f.html");
    must_say(page,
             "b/dev/2026-01-02/z.json, of 2026-01-02T01:00:00Z: all of it was measured again");
    must_not_say(page, "old.json");
}

/* -------------------------------------------------------------------------- */
/* The board                                                                  */
/* -------------------------------------------------------------------------- */

static void shows_the_board(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    save_faster(state, "first.json", "2026-02-02T03:04:05Z", 4e-6, true);
    json_t *record = load(scratch_path(state, "first.json", path)); /* wrong, but quick */
    json_object_set_new(row_of(record, 2), "seconds", json_pack("{s:f}", "p50", 1e-9));
    save(state, record, "later.json");
    static const run_heed_row lines[] = {
        { "heed report | grep -c 'There is no board yet: the file does not exist'", 0, "1\n",
          "There is no board yet" },
        { "heed board add later.json '" RECORD "'", 0, "", NULL },
        { "heed report -o b.html", 0, "", "written to b.html" },
        { "heed report '" RECORD "' | grep -c '<h2>The board'", 1, "0\n", "" },
        { "heed report --board board.db '" RECORD "' | grep -c '<h2>The board'", 0, "1\n", "" },
        { "sed 's/not installed/not xnstalled/' board.db >d.db; heed report --board d.db", 7,
          "Damaged and left out: ", "d.db: damaged: the content of " },
        { "head -c 9000 board.db >d.db; heed report --board d.db -o d.html; ls d.html", 2, "",
          "d.db: damaged" },
        { "echo rubbish >r.db; heed report --board r.db", 7, "", "r.db: not a board of heed" },
    };
    EXPECT(state, lines);
    const char *text = read_page(state, "b.html");
    must_be_sound(text);
    static const char *const parts[] = {
        "6 trials, 4 of them right, timed, and confirmed",
        "NVIDIA Test (cuda, sm_90-driver13.0-nvrtc12.9), 1 thread",
        "<td class=\"r\"><span class=\"bold\">4.00 us</span></td>",
        "torch-flash 2.00x",
        "<td>wrong</td><td class=\"r\">2</td>",
        "<td>ok</td><td class=\"r\">4</td>",
        "untested",
        "The best so far of each problem, over time",
        "trial 1, 2026-02-02T03:04:05: 4.00 us",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        must_say(text, parts[i]);
    json_t *report = run_heed_json(state, &way, "heed report --json", 0);
    const json_t *board = json_object_get(report, "board");
    assert_int_equal(json_integer_value(json_object_get(board, "trials")), 6);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(board, "verdicts"), "wrong")), 2);
    json_decref(report);
}

/* Trials whose code is known: the second is slower and takes fewer registers, the third is beaten
 * in everything, the gates that judged the fourth had let a wrong kernel pass, and nobody confirmed
 * the fifth. */
static void shows_whom_nobody_beats(void **state)
{
    static const struct {
        int64_t registers;
        bool trusted, confirmed;
    } trials[] = {
        { 128, true, true }, { 96, true, true }, { 130, true, true },
        { 8, false, true },  { 8, true, false },
    };
    char path[SCRATCH_PATH_SIZE], hash[3];
    const lab_record_selftest failed = { .backend = "cuda", .suite = "s", .killed = 1, .wrong = 2 };
    lab_error error;
    int64_t selftest;
    lab_record *record = record_scene_open(scratch_path(state, "board.db", path), LAB_RECORD_WRITE);
    int64_t run = record_scene_begin(record, "sweep");
    record_expect(lab_record_selftest_add(record, &failed, &selftest, &error), &error);
    for (int i = 0; i < 5; i++) {
        record_scene scene;
        record_scene_make(&scene, run, i);
        snprintf(hash, sizeof hash, "%02d", i);
        scene.trial.artifact.sha256 = hash;
        scene.trial.artifact.registers = trials[i].registers;
        scene.trial.selftest = trials[i].trusted ? 0 : selftest;
        scene.trial.confirmed = trials[i].confirmed;
        record_append(record, &scene.trial);
    }
    lab_record_close(record);
    json_t *report = run_heed_json(state, &way, "heed report --json", 0);
    const json_t *ranked = json_object_get(json_object_get(report, "board"), "ranked");
    static const struct {
        bool leads, front;
    } wanted[] = { { true, true }, { false, true }, { false, false } };
    assert_int_equal(json_array_size(ranked), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *trial = json_array_get(ranked, i);
        assert_int_equal(json_is_true(json_object_get(trial, "leads")), wanted[i].leads);
        assert_int_equal(json_is_true(json_object_get(trial, "front")), wanted[i].front);
    }
    json_decref(report);
    const char *text = make_page(state, "--board board.db", "p.html");
    must_say(text, "Untrusted and not ranked: 1 trial, made while");
    must_say(text, "<h3>The Pareto front</h3>");
    must_say(text, "5 trials, 3 of them right, timed, and confirmed");
    must_say(text, "<td class=\"r\">96</td>");
    must_not_say(text, "<td class=\"r\">130</td>");
    must_not_say(text, "m3n64");
    must_not_say(text, "m4n64");
}

/* A board without a trial is no fault. */
static void shows_an_empty_board(void **state)
{
    static const run_heed_row lines[] = {
        { "echo '{\"schema\": \"heed.bench/1\", \"device\": \"x\", \"rows\": []}' >no.json; "
          "heed board add no.json",
          0, "", NULL },
        { "heed report -m", 0, "There is no trial on the board.", "" },
        { "heed report --json", 0, "\"trials\": 0", "" },
    };
    EXPECT(state, lines);
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(shows_the_figures_of_a_record),
        IN_SCRATCH(json_has_the_same),
        IN_SCRATCH(says_what_speaks_against),
        IN_SCRATCH(escapes_hostile_names),
        IN_SCRATCH(escapes_hostile_names_of_the_board),
        IN_SCRATCH(refuses_bad_fields),
        IN_SCRATCH(refuses_bad_files),
        IN_SCRATCH(looks_at_the_manifest),
        IN_SCRATCH(puts_two_beside_each_other),
        IN_SCRATCH(takes_the_newest_of_a_folder),
        IN_SCRATCH(shows_the_board),
        IN_SCRATCH(shows_whom_nobody_beats),
        IN_SCRATCH(shows_an_empty_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
