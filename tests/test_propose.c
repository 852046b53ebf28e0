/*
 * test_propose.c - proposers: what they are told, what of their answers is taken, and keys that
 * stay where they are
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/search/propose.h"
#include "lab/search/source.h"
#include "scratch.h"

static const char origin[] = "/* heed:region a */\none\n/* heed:or\ntwo\n*/\n/* heed:end */\n"
                             "/* heed:region b */\nred\n/* heed:or\nblue\n*/\n/* heed:or\ngreen\n"
                             "*/\n/* heed:end */\n";

static lab_appeal appeal_of(lab_way way)
{
    static const char *const problems[] = { "b1 h1 s8 d8 f32" };
    static const char *const insights[] = { "it spills" };
    static const char *const findings[] = { "spills", "exp_bound" };
    static const lab_clue counters[] = { { "local", 4096 }, { "exp", 0.75 } };
    static const lab_clue effects[] = { { "no-exp", 0.125 } };
    static lab_tried history[] = {
        { .name = "first",
          .source = "int one;",
          .thought = "begin",
          .verdict = "ok",
          .seconds = 2 },
        { .name = "second", .source = "int two;", .verdict = "compile", .log = "an error" },
    };
    return (lab_appeal){ .way = way,
                         .task = "make it faster",
                         .language = "c",
                         .header = "int header;",
                         .problems = problems,
                         .problem_count = 1,
                         .device = "a machine",
                         .origin = origin,
                         .current = { .name = "best", .source = origin, .seconds = 1 },
                         .history = history,
                         .history_count = 2,
                         .insights = insights,
                         .insight_count = 1,
                         .findings = findings,
                         .finding_count = 2,
                         .counters = counters,
                         .counter_count = 2,
                         .effects = effects,
                         .effect_count = 1,
                         .seed = 1,
                         .number = 2 };
}

static json_t *request_of(const lab_appeal *appeal)
{
    char *text = lab_appeal_text(appeal);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    assert_true(strlen(text) < 65536);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static void test_ways(void **state)
{
    static const char *const members[] = { "insights", "thoughts", "history", "operator", "other" };
    static const int known[LAB_WAYS] = { 0, 2, 5 };
    for (int way = 0; way < LAB_WAYS; way++) {
        const lab_appeal appeal = appeal_of((lab_way)way);
        json_t *json = request_of(&appeal);
        assert_string_equal(json_string_value(json_object_get(json, "way")),
                            lab_way_name((lab_way)way));
        assert_string_equal(json_string_value(json_object_get(json, "protocol")), "heed.propose/1");
        for (int i = 0; i < 5; i++)
            assert_int_equal(json_object_get(json, members[i]) != NULL, i < known[way]);
        assert_int_equal(json_array_size(json_object_get(json, "tried")), 2);
        json_decref(json);
    }
}

/* What binds the best source is told in words and figures, unless nothing is to be told. */
static void test_insights(void **state)
{
    lab_appeal appeal = appeal_of(LAB_WAY_FREE);
    json_t *json = request_of(&appeal);
    assert_null(json_object_get(json, "findings"));
    assert_null(json_object_get(json, "counters"));
    json_decref(json);
    appeal.way = LAB_WAY_INSIGHT;
    json = request_of(&appeal);
    const json_t *words = json_object_get(json, "findings");
    assert_int_equal(json_array_size(words), 2);
    assert_string_equal(json_string_value(json_array_get(words, 1)), "exp_bound");
    assert_true(json_real_value(json_object_get(json_object_get(json, "counters"), "exp")) == 0.75);
    assert_int_equal(json_object_size(json_object_get(json, "counters")), 2);
    assert_true(json_real_value(json_object_get(json_object_get(json, "effects"), "no-exp")) ==
                0.125);
    json_decref(json);
    appeal.counter_count = appeal.effect_count = 0;
    json = request_of(&appeal);
    assert_int_equal(json_object_size(json_object_get(json, "effects")), 0);
    json_decref(json);
}

/* Logs: no folders, no control characters, and 8 KiB of them all together. */
static void test_logs(void **state)
{
    enum {
        KERNELS = 6,
        LONG = 20000
    };
    static char log[LONG + 1];
    lab_tried history[KERNELS];
    size_t total = 0;
    lab_appeal appeal = appeal_of(LAB_WAY_FULL);
    snprintf(log, sizeof log, "/home/somebody/secret/x.c:1: error\n\x1b[31mred\x1b[0m\n");
    for (size_t i = strlen(log); i < LONG; i++)
        log[i] = i % 80 == 79 ? '\n' : 'x';
    for (int i = 0; i < KERNELS; i++)
        history[i] = (lab_tried){ .name = "k", .verdict = "compile", .log = log };
    appeal.history = history;
    appeal.history_count = KERNELS;
    json_t *json = request_of(&appeal);
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
        json_object_get(json_array_get(list, KERNELS - 1), "log"))); /* the newest one's */
    json_decref(json);
}

/* What is too long for a line loses its history first, and then fails. */
static void test_long(void **state)
{
    char *source = malloc(LAB_PROPOSE_SOURCE + 1);
    lab_appeal appeal = appeal_of(LAB_WAY_FULL);
    lab_error error;
    lab_proposal proposal;
    memset(source, '\\', LAB_PROPOSE_SOURCE); /* twice as long in JSON */
    source[LAB_PROPOSE_SOURCE] = '\0';
    appeal.current.source = source;
    appeal.origin = source;
    json_t *json = request_of(&appeal);
    assert_null(json_object_get(json, "other"));
    json_decref(json);
    memset(source, '\x01', LAB_PROPOSE_SOURCE); /* six times */
    assert_null(lab_appeal_text(&appeal));
    lab_proposer *proposer = lab_proposer_start("/bin/cat", NULL);
    assert_int_equal(lab_proposer_ask(proposer, &appeal, 1, &proposal, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "too long"));
    lab_proposer_end(proposer);
    free(source);
}

/* ---- Answers ---- */

/* Asks a script that answers with @reply, and waits for so many @seconds. */
static heed_status ask_script(void **state, const char *reply, double seconds,
                              lab_proposal *proposal, lab_error *error)
{
    char path[SCRATCH_PATH_SIZE], script[4096];
    const lab_appeal appeal = appeal_of(LAB_WAY_FULL);
    snprintf(script, sizeof script, "#!/bin/sh\nwhile read -r line; do\n%s\ndone\n", reply);
    scratch_script_write(state, "proposer.sh", script);
    lab_proposer *proposer = lab_proposer_start(scratch_path(state, "proposer.sh", path), NULL);
    heed_status status = lab_proposer_ask(proposer, &appeal, seconds, proposal, error);
    lab_proposer_end(proposer);
    return status;
}

static void test_answers(void **state)
{
    static const struct {
        const char *reply;
        heed_status status;
        const char *words;
    } cases[] = {
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
        { "echo hello", HEED_ERR_SYSTEM, "no reply" },
        { "exit 3", HEED_ERR_SYSTEM, "status 3" },
        { "sleep 20", HEED_ERR_SYSTEM, "in time" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_proposal proposal;
        lab_error error;
        bool hangs = strcmp(cases[i].words, "in time") == 0;
        heed_status status = ask_script(state, cases[i].reply, hangs ? 1 : 20, &proposal, &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].words))
            fail_msg("%s gave %s: %s", cases[i].reply, heed_status_name(status), error.text);
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
    lab_proposer *proposer = lab_proposer_start(path, NULL);
    lab_appeal appeal = appeal_of(LAB_WAY_FREE);
    appeal.history = history;
    appeal.history_count = 0;
    for (int i = 0; i < CHOICES; i++) {
        heed_status status = lab_proposer_ask(proposer, &appeal, 10, &proposals[i], &error);
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
        appeal.history_count++;
    }
    assert_int_equal(lab_proposer_ask(proposer, &appeal, 10, &last, &error), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "all 6"));
    appeal.origin = "int x;";
    assert_int_equal(lab_proposer_ask(proposer, &appeal, 10, &last, &error), HEED_ERR_UNSUPPORTED);
    lab_proposer_end(proposer);
    for (int i = 0; i < CHOICES; i++)
        lab_proposal_free(&proposals[i]);
}

/* Told that the best source spills, it turns that way first which the guide would. */
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
    lab_proposer *proposer = lab_proposer_start(path, NULL);
    lab_tried history[2];
    lab_proposal proposals[2];
    lab_appeal appeal = appeal_of(LAB_WAY_FULL);
    appeal.origin = regions;
    appeal.current = (lab_tried){ .name = "origin", .source = regions };
    appeal.findings = binds;
    appeal.finding_count = 2;
    appeal.history = history;
    appeal.history_count = 0;
    bool seen[2] = { false, false };
    for (int i = 0; i < 2; i++) {
        heed_status status = lab_proposer_ask(proposer, &appeal, 10, &proposals[i], &error);
        if (status != HEED_OK)
            fail_msg("%s", error.text);
        for (int j = 0; j < 2; j++)
            seen[j] |= strstr(proposals[i].source, better[j]) != NULL;
        history[i] = (lab_tried){ .name = proposals[i].name, .source = proposals[i].source };
        appeal.history_count++;
    }
    lab_proposer_end(proposer);
    if (!seen[0] || !seen[1])
        fail_msg("%s%s", proposals[0].source, proposals[1].source);
    for (int i = 0; i < 2; i++)
        lab_proposal_free(&proposals[i]);
}

/* ---- A model's server ---- */

#ifdef HEED_HAS_OPENAI
#define KEY "sk-test-0123456789abcdef"

/* Answers one request on a socket of this machine with @body, and keeps what it was sent; says
 * before to as many as @busy that it has no time. */
typedef struct stub {
    int busy;
    int listener;
    int port;
    int code;
    const char *body;
    char got[1 << 18];
    pthread_t thread;
} stub;

static void serve_one(stub *it, int code, const char *body)
{
    size_t length = 0;
    int client = accept(it->listener, NULL, NULL);
    for (;;) {
        ssize_t now = recv(client, it->got + length, sizeof it->got - 1 - length, 0);
        if (now <= 0)
            break;
        length += (size_t)now;
        it->got[length] = '\0';
        const char *end = strstr(it->got, "\r\n\r\n"), *size = strstr(it->got, "Content-Length: ");
        if (end && size && strlen(end + 4) >= strtoul(size + 16, NULL, 10))
            break;
        if (strstr(it->got, "100-continue"))
            send(client, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
    }
    char head[200];
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Stub\r\nContent-Length: %zu\r\nLocation: http://127.0.0.1:1/\r\n"
             "Connection: close\r\n\r\n",
             code, strlen(body));
    send(client, head, strlen(head), MSG_NOSIGNAL);
    send(client, body, strlen(body), MSG_NOSIGNAL);
    close(client);
}

static void *serve(void *data)
{
    stub *it = data;
    for (int i = 0; i < it->busy; i++)
        serve_one(it, 429, "{\"error\":{\"message\":\"too many\"}}");
    serve_one(it, it->code, it->body);
    return NULL;
}

static void stub_start(stub *it, int busy, int code, const char *body)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    memset(it, 0, sizeof *it);
    it->busy = busy;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    it->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(it->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(it->listener, 1), 0);
    assert_int_equal(getsockname(it->listener, (struct sockaddr *)&address, &size), 0);
    it->port = ntohs(address.sin_port);
    it->code = code;
    it->body = body;
    assert_int_equal(pthread_create(&it->thread, NULL, serve, it), 0);
}

static void stub_end(stub *it)
{
    shutdown(it->listener, SHUT_RDWR);
    pthread_join(it->thread, NULL);
    close(it->listener);
}

/* Asks heed-propose-openai, through a shell that keeps all that it prints. */
static heed_status ask_model(void **state, const char *url, lab_proposal *proposal,
                             lab_error *error, char *all, size_t size)
{
    char path[SCRATCH_PATH_SIZE], log[SCRATCH_PATH_SIZE], script[4 * SCRATCH_PATH_SIZE];
    const lab_appeal appeal = appeal_of(LAB_WAY_FULL);
    scratch_path(state, "all.txt", log);
    snprintf(script, sizeof script,
             "#!/bin/sh\nexport OPENAI_API_KEY=" KEY " OPENAI_MODEL=tiny OPENAI_BASE_URL=%s "
             "http_proxy=http://127.0.0.1:9\n{ '%s/heed-propose-openai' 2>&1 1>&3 | tee '%s.err' "
             ">&2; } 3>&1 | "
             "tee '%s'\n",
             url, HEED_PROPOSERS, log, log);
    scratch_script_write(state, "model.sh", script);
    lab_proposer *proposer = lab_proposer_start(scratch_path(state, "model.sh", path), NULL);
    heed_status status = lab_proposer_ask(proposer, &appeal, 20, proposal, error);
    lab_proposer_end(proposer);
    size_t length = scratch_read(log, all, size - 1);
    scratch_path(state, "all.txt.err", log);
    length += scratch_read(log, all + length, size - 1 - length);
    all[length] = '\0';
    return status;
}

/* What a model may say, and what becomes of it. The key is in none of it, though the server prints
 * it wherever it can. */
static void test_model(void **state)
{
#define DOTS "..............................................................."
#define SAYS(text) "{\"choices\":[{\"message\":{\"content\":\"" text "\"}}]}"
    static const struct {
        int code;
        const char *body;
        heed_status status;
        const char *name, *source;
    } cases[] = {
        { 200,
          SAYS("{\\\"name\\\":\\\"fast\\\",\\\"thought\\\":\\\"t " KEY "\\\",\\\"source\\\":"
               "\\\"int fast;\\\"}"),
          HEED_OK, "fast", "int fast;" },
        { 200, SAYS("```json\\n{\\\"name\\\":\\\"f 2\\\",\\\"code\\\":\\\"int two;\\\"}\\n```"),
          HEED_OK, "f-2", "int two;" },
        { 200, SAYS("Sure!\\n**Name:** third\\nThought: less work\\n```c\\nint three;\\n```\\n"),
          HEED_OK, "third", "int three;\n" },
        { 200, SAYS("```c\\nint key = \\\"" KEY "\\\";\\n```"), HEED_OK, "proposal-2",
          "int key = \"************************\";\n" },
        { 200, SAYS("I cannot do that."), HEED_ERR_INVALID, "no source", NULL },
        { 200, "{}", HEED_ERR_INVALID, "choices", NULL },
        { 200, KEY, HEED_ERR_INVALID, "choices", NULL },
        { 200, "{\"error\":{\"message\":\"no such model\"}}", HEED_ERR_INVALID,
          "content: no such model", NULL },
        { 302, "", HEED_ERR_INVALID, "answered 302", NULL },
        { 401, "{\"error\":{\"message\":\"Incorrect API key provided: " KEY "\"}}",
          HEED_ERR_INVALID, "answered 401: Incorrect", NULL },
        { 401, "{\"error\":{\"message\":\"" DOTS DOTS DOTS KEY "\"}}", HEED_ERR_INVALID, "...*",
          NULL }, /* the message is cut off within the key */
    };
    static stub server;
    static char all[1 << 18];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_proposal proposal;
        lab_error error;
        char url[64];
        stub_start(&server, 0, cases[i].code, cases[i].body);
        snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", server.port);
        heed_status status = ask_model(state, url, &proposal, &error, all, sizeof all);
        stub_end(&server);
        if (status != cases[i].status)
            fail_msg("case %zu: %s: %s", i, heed_status_name(status), error.text);
        assert_non_null(strstr(server.got, "POST /v1/chat/completions"));
        assert_non_null(strstr(server.got, "Authorization: Bearer " KEY));
        assert_non_null(strstr(server.got, "\"model\":\"tiny\""));
        assert_non_null(strstr(server.got, "make it faster"));
        assert_non_null(strstr(server.got, "int header;"));
        assert_true(*all != '\0');
        assert_null(strstr(all, KEY));
        assert_null(strstr(all, "sk-test"));
        assert_null(strstr(error.text, KEY));
        if (status == HEED_OK) {
            assert_string_equal(proposal.name, cases[i].name);
            assert_string_equal(proposal.source, cases[i].source);
            assert_null(strstr(proposal.thought, KEY));
        } else {
            assert_non_null(strstr(error.text, cases[i].name));
        }
        lab_proposal_free(&proposal);
    }
}

/* Asks a server that answers with @body once it is no longer @busy. */
static heed_status ask_stub(void **state, int busy, const char *body, lab_proposal *proposal,
                            lab_error *error)
{
    static stub server;
    static char all[1 << 18];
    char url[64];
    stub_start(&server, busy, 200, body);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", server.port);
    heed_status status = ask_model(state, url, proposal, error, all, sizeof all);
    stub_end(&server);
    assert_null(strstr(all, KEY));
    return status;
}

/* Who is busy is asked again. */
static void test_busy(void **state)
{
    lab_proposal proposal;
    lab_error error;
    heed_status status = ask_stub(state, 1, SAYS("```c\\nint x;\\n```"), &proposal, &error);
    if (status != HEED_OK)
        fail_msg("%s", error.text);
    assert_string_equal(proposal.source, "int x;\n");
    lab_proposal_free(&proposal);
}

/* A thought that fills pages is cut, between characters, and an answer without end is given up. */
static void test_large(void **state)
{
    static char body[(2 << 20) + 200];
    lab_proposal proposal;
    lab_error error;
    int length = snprintf(body, sizeof body,
                          "{\"choices\":[{\"message\":{\"content\":\"{"
                          "\\\"source\\\":\\\"int x;\\\",\\\"thought\\\":\\\"a");
    for (int i = 0; i < 50000; i++)
        length += snprintf(body + length, 3, "\xc3\xa9");
    snprintf(body + length, sizeof body - (size_t)length, "\\\"}\"}}]}");
    heed_status status = ask_stub(state, 0, body, &proposal, &error);
    if (status != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strlen(proposal.thought), 1999);
    assert_string_equal(proposal.thought + 1997, "\xc3\xa9");
    lab_proposal_free(&proposal);
    memset(body, ' ', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    assert_int_equal(ask_stub(state, 0, body, &proposal, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "longer than 1024 KiB"));
}

/* What cannot be meant is said, and no more of an address than where it is. */
static void test_settings(void **state)
{
    static const struct {
        const char *url, *words;
        heed_status status;
    } rows[] = {
        { "http://127.0.0.1:9/ HEED_PROPOSE_SECONDS=0", "HEED_PROPOSE_SECONDS is \"0\"",
          HEED_ERR_UNSUPPORTED },
        { "http://127.0.0.1:9/ HEED_PROPOSE_SECONDS=9m", "it must be 1 to 600",
          HEED_ERR_UNSUPPORTED },
        { "http://127.0.0.1:9/$(printf %02001d 0)", "2000 are the most", HEED_ERR_UNSUPPORTED },
        { "ftp://127.0.0.1/", "must begin with https://", HEED_ERR_UNSUPPORTED },
        { "'http://me:secret@127.0.0.1:9/v1?code=secret'",
          "http://127.0.0.1:9/v1: ", HEED_ERR_INVALID },
    };
    static char all[1 << 16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_proposal proposal;
        lab_error error;
        heed_status status = ask_model(state, rows[i].url, &proposal, &error, all, sizeof all);
        if (status != rows[i].status || !strstr(error.text, rows[i].words))
            fail_msg("%s: %s: %s", rows[i].url, heed_status_name(status), error.text);
        assert_null(strstr(all, "secret"));
    }
}

/* A key goes nowhere without encryption but to this machine, whatever the address looks like. */
static void test_unsafe(void **state)
{
    static const char *const urls[] = { "http://example.invalid/v1",
                                        "http://127.0.0.1@192.0.2.1/v1",
                                        "http://localhost.example.invalid/" };
    static char all[1 << 16];
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        lab_proposal proposal;
        lab_error error;
        assert_int_equal(ask_model(state, urls[i], &proposal, &error, all, sizeof all),
                         HEED_ERR_UNSUPPORTED);
        assert_non_null(strstr(error.text, "not encrypted"));
        assert_null(strstr(all, KEY));
    }
}

/* A key with a line break in it would not be found in what a server repeats of it. */
static void test_odd_key(void **state)
{
    static char all[1 << 16];
    lab_proposal proposal;
    lab_error error;
    assert_int_equal(ask_model(state, "http://127.0.0.1:9/ OPENAI_API_KEY=\"a$(printf '\\r\\nb')\"",
                               &proposal, &error, all, sizeof all),
                     HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "control character"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_insights),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_long),
        cmocka_unit_test_setup_teardown(test_answers, scratch_open, scratch_close),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_findings),
#ifdef HEED_HAS_OPENAI
        cmocka_unit_test_setup_teardown(test_model, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_busy, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_large, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_settings, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_unsafe, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_odd_key, scratch_open, scratch_close),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
