/*
 * test_propose_openai.c - heed-propose-openai: answers of a model and their use, and secrecy of the
 * key
 */
#include "run_tests.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "propose_scene.h"
#include "scratch.h"

#define KEY "sk-test-0123456789abcdef"

/* Answers one request on a local socket with @body, and keeps the request; before that it answers
 * @busy requests with "busy". */
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

/* Runs heed-propose-openai through a shell that records everything it prints. */
static heed_status ask_model(void **state, const char *url, lab_proposal *proposal,
                             lab_error *error, char *all, size_t size)
{
    char path[SCRATCH_PATH_SIZE], log[SCRATCH_PATH_SIZE], script[4 * SCRATCH_PATH_SIZE];
    const lab_brief brief = propose_scene_brief(LAB_WAY_FULL);
    scratch_path(state, "all.txt", log);
    snprintf(script, sizeof script,
             "#!/bin/sh\nexport OPENAI_API_KEY=" KEY " OPENAI_MODEL=tiny OPENAI_BASE_URL=%s "
             "http_proxy=http://127.0.0.1:9\n{ '%s/heed-propose-openai' 2>&1 1>&3 | tee '%s.err' "
             ">&2; } 3>&1 | "
             "tee '%s'\n",
             url, HEED_PROPOSERS, log, log);
    scratch_script_write(state, "model.sh", script);
    lab_peer *proposer = lab_peer_start(scratch_path(state, "model.sh", path), NULL, NULL);
    heed_status status = lab_proposer_ask(proposer, &brief, 20, proposal, error);
    lab_peer_end(proposer);
    size_t length = scratch_read(log, all, size - 1);
    scratch_path(state, "all.txt.err", log);
    length += scratch_read(log, all + length, size - 1 - length);
    all[length] = '\0';
    return status;
}

#define DOTS "..............................................................."
#define SAYS(text) "{\"choices\":[{\"message\":{\"content\":\"" text "\"}}]}"

/* Possible answers of a model, and their outcome. */
static const struct {
    int code;
    const char *body;
    heed_status status;
    const char *name, *source;
} answers[] = {
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
    { 401, "{\"error\":{\"message\":\"Incorrect API key provided: " KEY "\"}}", HEED_ERR_INVALID,
      "answered 401: Incorrect", NULL },
    { 401, "{\"error\":{\"message\":\"" DOTS DOTS DOTS KEY "\"}}", HEED_ERR_INVALID, "...*",
      NULL }, /* the message is cut off within the key */
};

static stub server;

/* Sends a request to the server, which answers with @code and @body after @busy refusals. The key
 * is shown nowhere, although the server prints it wherever it can. */
static heed_status ask_stub(void **state, int busy, int code, const char *body,
                            lab_proposal *proposal, lab_error *error)
{
    static char all[1 << 18];
    char url[64];
    stub_start(&server, busy, code, body);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", server.port);
    heed_status status = ask_model(state, url, proposal, error, all, sizeof all);
    stub_end(&server);
    assert_true(*all != '\0');
    assert_null(strstr(all, KEY));
    assert_null(strstr(all, "sk-test"));
    assert_null(strstr(error->text, KEY));
    return status;
}

static void test_model(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        lab_proposal proposal;
        lab_error error;
        heed_status status = ask_stub(state, 0, answers[i].code, answers[i].body, &proposal,
                                      &error);
        if (status != answers[i].status)
            fail_msg("case %zu: %s: %s", i, heed_status_name(status), error.text);
        assert_non_null(strstr(server.got, "POST /v1/chat/completions"));
        assert_non_null(strstr(server.got, "Authorization: Bearer " KEY));
        assert_non_null(strstr(server.got, "\"model\":\"tiny\""));
        assert_non_null(strstr(server.got, "make it faster"));
        assert_non_null(strstr(server.got, "int header;"));
        if (status == HEED_OK) {
            assert_string_equal(proposal.name, answers[i].name);
            assert_string_equal(proposal.source, answers[i].source);
            assert_null(strstr(proposal.thought, KEY));
        } else {
            assert_non_null(strstr(error.text, answers[i].name));
        }
        lab_proposal_free(&proposal);
    }
}

/* A request to a busy server is repeated. */
static void test_busy(void **state)
{
    lab_proposal proposal;
    lab_error error;
    heed_status status = ask_stub(state, 1, 200, SAYS("```c\\nint x;\\n```"), &proposal, &error);
    if (status != HEED_OK)
        fail_msg("%s", error.text);
    assert_string_equal(proposal.source, "int x;\n");
    lab_proposal_free(&proposal);
}

/* A very long thought is cut between characters, and an endless answer is abandoned. */
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
    heed_status status = ask_stub(state, 0, 200, body, &proposal, &error);
    if (status != HEED_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strlen(proposal.thought), 1999);
    assert_string_equal(proposal.thought + 1997, "\xc3\xa9");
    lab_proposal_free(&proposal);
    memset(body, ' ', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    assert_int_equal(ask_stub(state, 0, 200, body, &proposal, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "longer than 1024 KiB"));
}

/* Invalid settings are errors; a message shows only the host of an address. */
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

/* A key is sent unencrypted only to this machine, whatever the address looks like. */
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

/* A key with a line break would not be recognized when a server repeats it. */
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

RUN_TESTS_EACH(scratch_open, scratch_close, test_model, test_busy, test_large, test_settings,
               test_unsafe, test_odd_key)
