/*
 * test_propose.c - proposers: their requests, and the parts of their answers that are used
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "propose_scene.h"
#include "scratch.h"

static json_t *request_of(const lab_brief *brief)
{
    json_t *json = lab_brief_request(brief);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    assert_true(strlen(text) < 65536);
    free(text);
    return json;
}

static void test_ways(void **state)
{
    static const char *const members[] = { "insights", "thoughts", "history", "operator", "other" };
    static const int known[LAB_WAYS] = { 0, 2, 5 };
    for (int way = 0; way < LAB_WAYS; way++) {
        const lab_brief brief = propose_scene_brief((lab_way)way);
        json_t *json = request_of(&brief);
        assert_string_equal(json_string_value(json_object_get(json, "way")),
                            lab_way_name((lab_way)way));
        assert_string_equal(json_string_value(json_object_get(json, "protocol")), "heed.propose/1");
        for (int i = 0; i < 5; i++)
            assert_int_equal(json_object_get(json, members[i]) != NULL, i < known[way]);
        assert_int_equal(json_array_size(json_object_get(json, "tried")), 2);
        json_decref(json);
    }
}

/* The best source's limits are given as findings and figures, unless insights are disabled. */
static void test_insights(void **state)
{
    lab_brief brief = propose_scene_brief(LAB_WAY_FREE);
    json_t *json = request_of(&brief);
    assert_null(json_object_get(json, "findings"));
    assert_null(json_object_get(json, "counters"));
    json_decref(json);
    brief.way = LAB_WAY_INSIGHT;
    json = request_of(&brief);
    const json_t *words = json_object_get(json, "findings");
    assert_int_equal(json_array_size(words), 2);
    assert_string_equal(json_string_value(json_array_get(words, 1)), "exp_bound");
    assert_true(json_real_value(json_object_get(json_object_get(json, "counters"), "exp")) == 0.75);
    assert_int_equal(json_object_size(json_object_get(json, "counters")), 2);
    assert_true(json_real_value(json_object_get(json_object_get(json, "effects"), "no-exp")) ==
                0.125);
    json_decref(json);
    brief.counter_count = brief.effect_count = 0;
    json = request_of(&brief);
    assert_int_equal(json_object_size(json_object_get(json, "effects")), 0);
    json_decref(json);
}

/* Logs: no directories, no control characters, and 8 KiB in total. */
static void test_logs(void **state)
{
    enum {
        KERNELS = 6,
        LONG = 20000
    };
    static char log[LONG + 1];
    lab_tried history[KERNELS];
    size_t total = 0;
    lab_brief brief = propose_scene_brief(LAB_WAY_FULL);
    snprintf(log, sizeof log, "/home/somebody/secret/x.c:1: error\n\x1b[31mred\x1b[0m\n");
    for (size_t i = strlen(log); i < LONG; i++)
        log[i] = i % 80 == 79 ? '\n' : 'x';
    for (int i = 0; i < KERNELS; i++)
        history[i] = (lab_tried){ .name = "k", .verdict = "compile", .log = log };
    brief.history = history;
    brief.history_count = KERNELS;
    json_t *json = request_of(&brief);
    const json_t *list = json_object_get(json, "history");
    assert_int_equal(json_array_size(list), KERNELS);
    for (int i = 0; i < KERNELS; i++) {
        const json_t *one = json_object_get(json_array_get(list, (size_t)i), "log");
        total += json_string_length(one);
        if (json_is_string(one)) {
            assert_null(strstr(json_string_value(one), "somebody"));
            assert_null(strchr(json_string_value(one), '\x1b'));
        }
    }
    assert_in_range(total, LAB_PROPOSE_LOGS - 200, LAB_PROPOSE_LOGS);
    assert_non_null(json_string_value(
        json_object_get(json_array_get(list, KERNELS - 1), "log"))); /* of the newest one */
    json_decref(json);
}

/* A request that is too long for a line first loses its history, and then fails. */
static void test_long(void **state)
{
    char *source = malloc(LAB_PROPOSE_SOURCE + 1);
    lab_brief brief = propose_scene_brief(LAB_WAY_FULL);
    lab_error error;
    lab_proposal proposal;
    memset(source, '\\', LAB_PROPOSE_SOURCE); /* twice as long in JSON */
    source[LAB_PROPOSE_SOURCE] = '\0';
    brief.current.source = source;
    brief.origin = source;
    json_t *json = request_of(&brief);
    assert_null(json_object_get(json, "other"));
    json_decref(json);
    memset(source, '\x01', LAB_PROPOSE_SOURCE); /* six times */
    assert_null(lab_brief_request(&brief));
    lab_peer *proposer = lab_peer_start("/bin/cat", NULL, NULL);
    assert_int_equal(lab_proposer_ask(proposer, &brief, 1, &proposal, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "too long"));
    lab_peer_end(proposer);
    free(source);
}

/* ---- Answers ---- */

/* Runs a script that answers with @reply, and waits for at most @seconds. */
static heed_status ask_script(void **state, const char *reply, double seconds,
                              lab_proposal *proposal, lab_error *error)
{
    char path[SCRATCH_PATH_SIZE], script[4096];
    const lab_brief brief = propose_scene_brief(LAB_WAY_FULL);
    snprintf(script, sizeof script, "#!/bin/sh\nwhile read -r line; do\n%s\ndone\n", reply);
    scratch_script_write(state, "proposer.sh", script);
    lab_peer *proposer = lab_peer_start(scratch_path(state, "proposer.sh", path), NULL, NULL);
    heed_status status = lab_proposer_ask(proposer, &brief, seconds, proposal, error);
    lab_peer_end(proposer);
    return status;
}

static void test_answers(void **state)
{
    static const text_code cases[] = {
        { "echo '{\"status\":\"ok\",\"name\":\"n-1\",\"source\":\"int x;\"}'", HEED_OK, "" },
        { "echo '{\"status\":\"ok\",\"name\":\"../x\",\"source\":\"int x;\"}'", HEED_ERR_INVALID,
          "name" },
        { "echo '{\"status\":\"ok\",\"name\":\"n\",\"source\":\"\"}'", HEED_ERR_INVALID, "source" },
        { "echo '{\"status\":\"ok\",\"name\":\"n\",\"source\":7}'", HEED_ERR_INVALID, "source" },
        { "printf '{\"status\":\"ok\",\"name\":\"n\",\"source\":\"%030000d\"}\\n' 0",
          HEED_ERR_INVALID, "24 KiB" },
        { "echo '{\"status\":\"unsupported\",\"reason\":\"no more\"}'", HEED_ERR_UNSUPPORTED,
          "no more" },
        { "echo '{\"status\":\"error\",\"reason\":\"busy\"}'", HEED_ERR_INVALID, "busy" },
        { "echo hello", HEED_ERR_SYSTEM, "not a reply" },
        { "exit 3", HEED_ERR_SYSTEM, "status 3" },
        { "sleep 20", HEED_ERR_SYSTEM, "in time" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_proposal proposal;
        lab_error error;
        bool hangs = strcmp(cases[i].wanted, "in time") == 0;
        heed_status status = ask_script(state, cases[i].given, hangs ? 1 : 20, &proposal, &error);
        if ((int)status != cases[i].code || !strstr(error.text, cases[i].wanted))
            fail_msg("%s gave %s: %s", cases[i].given, heed_status_name(status), error.text);
        lab_proposal_free(&proposal);
    }
}

/* Every choice is proposed once, neighbours first; then there are no more. */
static void test_regions(void **state)
{
    enum {
        CHOICES = 5
    };
    lab_tried history[CHOICES];
    lab_proposal proposals[CHOICES], last;
    lab_error error;
    char path[1024];
    lab_proposer_find(HEED_PROPOSERS "/heed-propose-regions", path, sizeof path);
    lab_peer *proposer = lab_peer_start(path, NULL, NULL);
    lab_brief brief = propose_scene_brief(LAB_WAY_FREE);
    brief.history = history;
    brief.history_count = 0;
    for (int i = 0; i < CHOICES; i++) {
        heed_status status = lab_proposer_ask(proposer, &brief, 10, &proposals[i], &error);
        if (status != HEED_OK)
            fail_msg("%s", error.text);
        assert_null(strstr(proposals[i].source, "heed:or"));
        assert_true((strstr(proposals[i].source, "one") != NULL) !=
                    (strstr(proposals[i].source, "two") != NULL));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(proposals[j].source, proposals[i].source);
        bool neighbour = strstr(proposals[i].source, "one") || strstr(proposals[i].source, "red");
        assert_int_equal(neighbour, i < 3);
        assert_true(*proposals[i].thought != '\0');
        history[i] = (lab_tried){ .name = proposals[i].name, .source = proposals[i].source };
        brief.history_count++;
    }
    assert_int_equal(lab_proposer_ask(proposer, &brief, 10, &last, &error), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "all 6"));
    brief.origin = "int x;";
    assert_int_equal(lab_proposer_ask(proposer, &brief, 10, &last, &error), HEED_ERR_UNSUPPORTED);
    lab_peer_end(proposer);
    for (int i = 0; i < CHOICES; i++)
        lab_proposal_free(&proposals[i]);
}

/* If the best source spills, the first proposal is the one that the guide prefers. */
static void test_findings(void **state)
{
    static const char regions[] = "/* heed:region order */\n#define ORDER 1\n/* heed:or\n"
                                  "#define ORDER 2\n*/\n/* heed:end */\n"
                                  "/* heed:region rows */\n#define ROWS 64\n/* heed:or\n"
                                  "#define ROWS 128\n*/\n/* heed:or\n#define ROWS 32\n*/\n"
                                  "/* heed:end */\n"
                                  "/* heed:region registers */\n#define CAP 96\n/* heed:or\n"
                                  "#define CAP 64\n*/\n/* heed:or\n#define CAP 0\n*/\n"
                                  "/* heed:end */\n";
    static const char *const binds[] = { "boredom", "spills" };
    static const char *const better[] = { "ROWS 32", "CAP 0" };
    char path[1024];
    lab_error error;
    lab_proposer_find(HEED_PROPOSERS "/heed-propose-regions", path, sizeof path);
    lab_peer *proposer = lab_peer_start(path, NULL, NULL);
    lab_tried history[2];
    lab_proposal proposals[2];
    lab_brief brief = propose_scene_brief(LAB_WAY_FULL);
    brief.origin = regions;
    brief.current = (lab_tried){ .name = "origin", .source = regions };
    brief.findings = binds;
    brief.finding_count = 2;
    brief.history = history;
    brief.history_count = 0;
    bool seen[2] = { false, false };
    for (int i = 0; i < 2; i++) {
        heed_status status = lab_proposer_ask(proposer, &brief, 10, &proposals[i], &error);
        if (status != HEED_OK)
            fail_msg("%s", error.text);
        for (int j = 0; j < 2; j++)
            seen[j] |= strstr(proposals[i].source, better[j]) != NULL;
        history[i] = (lab_tried){ .name = proposals[i].name, .source = proposals[i].source };
        brief.history_count++;
    }
    lab_peer_end(proposer);
    if (!seen[0] || !seen[1])
        fail_msg("%s%s", proposals[0].source, proposals[1].source);
    for (int i = 0; i < 2; i++)
        lab_proposal_free(&proposals[i]);
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_ways, test_insights, test_logs, test_long,
               test_answers, test_regions, test_findings)
