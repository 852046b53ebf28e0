/*
 * test_report_refusals.c - records that `heed report` refuses, and odd but harmless ones
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_scene.h"
#include "scratch.h"

#define EXPECT(state, table) \
    run_heed_rows(state, &report_scene_way, table, sizeof(table) / sizeof(table)[0])

/* -------------------------------------------------------------------------- */
/* Hostile names                                                              */
/* -------------------------------------------------------------------------- */

#define EVIL "</td><script>alert('x')</script>\"><img src=x onerror=\"y\">|**"
static const char evil[] = EVIL "\n\033[31m&";
static const char evil_line[] = EVIL "&";

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
    json_t *record = report_scene_load(REPORT_RECORD);
    put_evil(record, of_record);
    put_evil(json_object_get(record, "environment"), of_environment);
    json_object_set_new(json_object_get(record, "device_facts"), "features", json_string(evil));
    for (size_t i = 0; i < 4; i++)
        put_evil(report_scene_row(record, i), of_row);
    json_object_set_new(report_scene_row(record, 0), "of_roofline", json_real(0.5));
    put_evil(report_scene_rival(record, 0, 0), of_rival);
    put_evil(report_scene_rival(record, 0, 1), of_rival);
    put_evil(json_array_get(json_object_get(record, "rivals"), 0), of_peer);
    put_evil(json_object_get(json_object_get(report_scene_row(record, 0), "replay"), "state"),
             of_state);
    report_scene_save(state, record, name);
}

static void must_be_harmless(const char *text)
{
    report_scene_lacks(text, "<script");
    report_scene_lacks(text, "<img");
    report_scene_lacks(text, "\033");
}

static void escapes_hostile_names(void **state)
{
    save_evil(state, "evil.json");
    must_be_harmless(report_scene_page(state, "--title \"</title><script>\" evil.json", "e.html"));
    report_scene_says(report_scene_last(), "&lt;script&gt;alert(&#39;x&#39;)");
    must_be_harmless(report_scene_page(state, "evil.json " REPORT_RECORD, "e.html"));
    must_be_harmless(report_scene_page(state, "--markdown evil.json", "e.md"));
    must_be_harmless(report_scene_page(state, "--brief evil.json", "e.md"));
    run_heed_must(state, &report_scene_way, "cp evil.json '<script>.json'", 0);
    must_be_harmless(report_scene_page(state, "'<script>.json'", "e.html"));
}

/* Names on a board are a single line without terminal escapes. */
static void save_evil_record(void **state, const char *words)
{
    json_t *record = report_scene_load(REPORT_RECORD);
    for (size_t i = 0; i < 3; i++) {
        json_object_set_new(report_scene_row(record, i), "kernel", json_string(words));
        json_object_set_new(report_scene_row(record, i), "reason", json_string(words));
    }
    json_object_set_new(report_scene_rival(record, 0, 0), "name", json_string(words));
    json_object_set_new(record, "device", json_string(words));
    json_object_set_new(json_object_get(record, "environment"), "commit", json_string(words));
    report_scene_save(state, record, "evil.json");
}

static void escapes_hostile_names_of_the_board(void **state)
{
    save_evil_record(state, evil);
    run_heed_must(state, &report_scene_way, "heed board add --board evil.db evil.json", 7);
    save_evil_record(state, evil_line);
    run_heed_must(state, &report_scene_way, "heed board add --board evil.db evil.json", 0);
    must_be_harmless(report_scene_page(state, "--board evil.db", "b.html"));
    report_scene_says(report_scene_last(), "&lt;script&gt;alert");
    must_be_harmless(report_scene_page(state, "--markdown --board evil.db", "b.md"));
}

/* -------------------------------------------------------------------------- */
/* Refusals                                                                   */
/* -------------------------------------------------------------------------- */

#define TWENTY "xxxxxxxxxxxxxxxxxxxx"
#define LONG "\"" TWENTY TWENTY TWENTY TWENTY "xxxxxxxxxxxxxxxx\"" /* 96 bytes */

typedef struct change {
    const char *path;  /* path of a member: keys and indices separated by points */
    const char *value; /* JSON; NULL: the member is removed */
    const char *said;
} change;

/* Returns the object that holds the last key of @path, and the key in @key. */
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
    { "rows.0.rivals.0.comparison.verdict", "\"GREAT\"",
      "comparison.verdict is \"GREAT\"; it must be FASTER, SLOWER, EQUIVALENT or AMBIGUOUS" },
    { "rows.0.rivals.0.comparison.verdict", "[]", "comparison.verdict is []; it must be a" },
    { "rows.0.rivals.0.comparison.high", "-1",
      "rows[0].rivals[0].comparison.high is -1; it must be a number above 0" },
    { "rows.0.rivals.0.comparison.low", "\"x\"", "comparison.low is \"x\"; it must be a number" },
    { "rows.0.rivals.0.comparison.margin", "-1", "comparison.margin is -1; it must be a" },
    { "rows.0.rivals.0.comparison.pairs", "1.5", "comparison.pairs is 1.5; it must be a whole" },
    { "rows.0.rivals.0.outcome", "\"fine\"", "rows[0].rivals[0].outcome is \"fine\"" },
    { "rows.0.rivals.0.seconds", "[]", "rows[0].rivals[0].seconds is []; it must be a number" },
    { "rows.0.rivals.0.method", "{}", "rows[0].rivals[0].method is {}; it must be a text" },
    { "rows.0.rivals.0.heed_blocks", "[1, \"x\"]", "rivals[0].heed_blocks[1] is \"x\"; it must" },
    { "rows.0.rivals.0.rival_blocks", "5", "rivals[0].rival_blocks is 5; it must be an array" },
    { "rows.0.rivals.0.replay_calls", "-1", "rows[0].rivals[0].replay_calls is -1" },
    { "rows.0.rivals.1.seconds", "-1", "rows[0].rivals[1].seconds is -1; it must be a number" },
    { "rows.0.seconds.p90", "-1", "rows[0].seconds.p90 is -1; it must be a number above 0" },
    { "rows.0.seconds.p90", "0", "rows[0].seconds.p90 is 0; it must be a number above 0" },
    { "rows.0.seconds.p90", "[]", "rows[0].seconds.p90 is []; it must be a number above 0" },
    { "rows.0.seconds.mean", "\"x\"", "rows[0].seconds.mean is \"x\"; it must be a number" },
    { "rows.0.of_ceiling", "-1", "rows[0].of_ceiling is -1; it must be a number above 0" },
    { "rows.0.samples", "{}", "rows[0].samples is {}; it must be an array" },
    { "rows.0.reason", "7", "rows[0].reason is 7; it must be a text" },
    { "rows.0.label", "7", "rows[0].label is 7; it must be a text" },
    { "rows.0.kernel", "7", "rows[0].kernel is 7; it must be a text" },
    { "rows.0.kernel", LONG, "it must be a text of at most 95 bytes" },
    { "rows.0.copies", "-1", "rows[0].copies is -1; it must be a number from 0 on" },
    { "rows.0.replay.calls", "\"x\"", "rows[0].replay.calls is \"x\"; it must be a number" },
    { "rows.0.replay.hot", "-1", "rows[0].replay.hot is -1; it must be a number above 0" },
    { "rows.0.replay.eager", "[]", "rows[0].replay.eager is []; it must be an object" },
    { "rows.0.replay.state.memory_clock_hz", "\"x\"", "replay.state.memory_clock_hz is \"x\"" },
    { "rows.2.seconds", "{\"p50\": -1}", "rows[2].seconds.p50 is -1; it must be a number" },
    { "device_facts", "[]", "device_facts is []; it must be an object" },
    { "device_facts.backend", "\"rocm\"",
      "device_facts.backend is \"rocm\"; it must be cpu or cuda" },
    { "device_facts.clock_hz", "-1", "device_facts.clock_hz is -1; it must be a number above" },
    { "rivals.0.name", "7", "rivals[0].name is 7; it must be a text" },
    { "rivals.0.version", "7", "rivals[0].version is 7; it must be a text" },
    { "seed", "1.5", "seed is 1.5; it must be a whole number up to 2^53" },
    { "build", "7", "build is 7; it must be a text" },
    { "environment.commit", "[]", "environment.commit is []; it must be a text" },
};

/* Writes bad.json, a record with one change. */
static void save_changed(void **state, const change *it)
{
    char key[64];
    json_t *record = report_scene_load(REPORT_RECORD), *parent = find(record, it->path, key);
    if (it->value)
        json_object_set_new(parent, key, json_loads(it->value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(parent, key);
    report_scene_save(state, record, "bad.json");
}

/* The board reads records like the page does, with the same errors. It keeps its earlier rows. */
static void refuses_bad_fields(void **state)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *path = changes[i].path;
        const char before[] = { strncmp(path, "rows.", 5) ? '0' : path[5], '\n', '\0' };
        const run_heed_row rows[] = {
            { "heed report bad.json", 7, "", changes[i].said },
            { "rm -f bad.db; heed board add --board bad.db bad.json", 7, "", changes[i].said },
            { "heed board --board bad.db --csv --all | grep -c 'NVIDIA Test'", before[0] == '0',
              before, NULL },
        };
        save_changed(state, &changes[i]);
        EXPECT(state, rows);
    }
}

static void refuses_bad_files(void **state)
{
    static const run_heed_row lines[] = {
        { "echo '{' >bad.json; heed report bad.json", 7, "", "bad.json: line " },
        { "echo '[]' >bad.json; heed report bad.json", 7, "", "schema is missing" },
        { "head -c 900 '" REPORT_RECORD "' >bad.json; heed report bad.json", 7, "",
          "cannot be read as JSON: " },
        { "printf '{\"schema\":\"\\\\u0000\"}' >nul.json; heed report nul.json", 7, "",
          "nul.json: line 1: cannot be read as JSON: a string has the character \\u0000" },
        { "printf '{\"a\\\\u0000\":1}' >nul.json; heed report nul.json", 7, "",
          "a name has the character \\u0000" },
        { ": >bad.json; heed report bad.json", 7, "", "bad.json: line " },
        { "heed report none.json", 3, "", "none.json: No such file" },
        { "mkdir -p empty; heed report empty", 3, "", "empty: no record in it" },
        { "heed report --json --markdown '" REPORT_RECORD "'", 2, "heed.error/1",
          "--json cannot be used with" },
        { "heed report --brief", 2, "", "--brief is for records" },
        { "heed report --brieff", 2, "", "did you mean" },
        /* An existing page is kept, whatever happens. */
        { "echo old >page; heed report -o page bad.json; cat page; ls page.*", 2, "old\n", NULL },
        { "heed report -o no/such/page '" REPORT_RECORD "'", 3, "", "no/such/page: No such file" },
        { "if [ -e /dev/full ]; then heed report -o /dev/full '" REPORT_RECORD "'; [ $? = 3 ]; "
          "else echo No space left >&2; fi",
          0, "", "No space left" },
        { "heed report -o page '" REPORT_RECORD "' && head -1 page", 0, "<!DOCTYPE html>\n",
          "page" },
        { "heed report -o - '" REPORT_RECORD "' | head -1", 0, "<!DOCTYPE html>\n", "" },
        { "heed report --help", 0, "Usage: heed report [OPTION]... [RECORD | FOLDER]...", "" },
    };
    EXPECT(state, lines);
}

/* Shell command for the hash of the parts of r.json. */
#define HASH "hash=$(sed 's/.*\"manifest\":\"\\([0-9a-f]*\\)\".*/\\1/' r.json); "

/* The parts of a record must match its hash. */
static void looks_at_the_manifest(void **state)
{
    static const run_heed_row lines[] = {
        { "cp '" HEED_H200_RECORD "' r.json; heed report -m r.json | grep -c '## Software'", 0,
          "1\n", "" },
        { HASH "heed doctor --check r.json --json | grep -c '\"then\": \"'${hash%${hash#????????}}",
          0, "1\n", "" },
        { "sed 's/\"2.11.0\"/\"2.12.0\"/' r.json >part.json; heed report part.json", 7, "",
          "part.json: its parts do not have the hash that \"manifest\" says" },
        { HASH "sed \"s/$hash/$(echo $hash | tr 0-9a-f 1-9a-f0)/\" r.json >hash.json; "
               "heed report hash.json",
          7, "", "hash.json: its parts do not have the hash" },
        { "heed doctor --check part.json", 7, "", "part.json: its parts do not have the hash" },
        { "sed 's,heed.bench/1,heed.bench/2,' r.json >later.json; heed doctor --check later.json",
          7, "", "later.json: its schema is not heed.manifest/1" },
        { "sed 's/,\"parts\":.*/}/' r.json >old.json; heed doctor --check old.json", 7, "",
          "old.json: it is a record without parts" },
        /* Records are larger than manifests. */
        { HASH
          "head -c 2000000 /dev/zero | tr '\\0' ' ' >>r.json; heed doctor --check r.json --json | "
          "grep -c '\"then\": \"'${hash%${hash#????????}}",
          0, "1\n", "" },
        { HASH "sed 's/,\"parts\":.*/}/' r.json >none.json; heed report -m none.json | grep -c "
               "\"manifest ${hash%${hash#????????????}}[.]\"",
          0, "1\n", "" },
    };
    EXPECT(state, lines);
}

RUN_TESTS_EACH(scratch_open, scratch_close, escapes_hostile_names,
               escapes_hostile_names_of_the_board, refuses_bad_fields, refuses_bad_files,
               looks_at_the_manifest)
