/*
 * peer.c - starts a child, sends it requests with deadlines, and always ends it
 */
#define _GNU_SOURCE /* environ, memrchr() */
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/base/control.h"
#include "lab/base/path.h"
#include "lab/trial/process.h"
#include "measure.h"

/* Time limit for a peer to quit, or to end after it closed its output; and the interval of checks
 * for an interrupt. */
#define QUIT_SECONDS 2.0
#define EXIT_NS INT64_C(1000000000)
#define LOOK_MS 100

struct lab_peer {
    lab_peer_state state;
    lab_process process;
    bool paused;
    bool (*interrupted)(void);
    size_t line_length;
    lab_inlet complaints; /* its stderr */
    char line[LAB_PEER_LINE_SIZE];
    char stderr_text[LAB_PEER_STDERR_SIZE];
    char reason[LAB_PEER_REASON_SIZE];
};

void lab_peer_tame(char *text)
{
    lab_control_replace(text, ' ');
}

/* Kills the process group, closes the channels, and returns the wait status. */
static int reap(lab_peer *peer)
{
    int status = peer->process.pid > 0 ? lab_process_reap(peer->process.pid) : 0;

    peer->process.pid = 0;
    lab_process_close(&peer->process);
    return status;
}

/* Kills the peer, and sets @state and the reason. */
static void give_up(lab_peer *peer, lab_peer_state state, const char *reason)
{
    reap(peer);
    peer->state = state;
    snprintf(peer->reason, sizeof peer->reason, "%s", reason);
}

/* The last line of stderr, for a reason; "" if none. */
static const char *last_words(lab_peer *peer)
{
    size_t length = peer->complaints.length;

    while (length > 0 && peer->stderr_text[length - 1] == '\n')
        peer->stderr_text[--length] = '\0';
    peer->complaints.length = length;
    const char *newline = memrchr(peer->stderr_text, '\n', length);
    return newline ? newline + 1 : peer->stderr_text;
}

/* Called when stdout has ended: sets the reason by how the peer ended. */
static void explain_end(lab_peer *peer)
{
    char how[96] = "closed its output";
    bool ended = lab_process_await(peer->process.pid, heed_clock_ns() + EXIT_NS);
    struct pollfd err = { .fd = peer->process.err, .events = POLLIN };

    while (poll(&err, 1, 0) > 0) {
        lab_inlet_read(&peer->complaints, &peer->process.err);
        err.fd = peer->process.err;
    }
    int status = reap(peer);
    if (ended && WIFSIGNALED(status))
        snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    if (ended && WIFEXITED(status))
        snprintf(how, sizeof how, "exited with status %d without an answer", WEXITSTATUS(status));
    const char *words = last_words(peer);
    peer->state = LAB_PEER_CRASHED;
    snprintf(peer->reason, sizeof peer->reason, "%s%s%.200s", how, words[0] ? ": " : "", words);
    lab_peer_tame(peer->reason);
}

/* Reads available stdout. */
static void read_stdout(lab_peer *peer)
{
    size_t room = sizeof peer->line - peer->line_length;
    ssize_t got = read(peer->process.out, peer->line + peer->line_length, room);

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        explain_end(peer);
        return;
    }
    peer->line_length += (size_t)got;
    if (peer->line_length == sizeof peer->line && !memchr(peer->line, '\n', peer->line_length))
        give_up(peer, LAB_PEER_FLOODED, "wrote more than 64 KiB without ending the line");
}

/* Sends a part of @text, starting at *@sent. */
static void write_stdin(lab_peer *peer, const char *text, size_t length, size_t *sent)
{
    ssize_t put = send(peer->process.in, text + *sent, length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (put >= 0)
        *sent += (size_t)put;
    else if (errno != EINTR && errno != EAGAIN)
        *sent = length; /* closed: stdout, or its end, will give the reason */
}

/* Transfers data on all three channels until there is a whole line, or the peer is no longer ready.
 */
static void converse(lab_peer *peer, const char *text, size_t length, int64_t deadline)
{
    size_t sent = 0;

    while (peer->state == LAB_PEER_READY && !memchr(peer->line, '\n', peer->line_length)) {
        struct pollfd fds[3] = { { .fd = peer->process.out, .events = POLLIN },
                                 { .fd = peer->process.err, .events = POLLIN },
                                 { .fd = sent < length ? peer->process.in : -1,
                                   .events = POLLOUT } };
        int64_t left_ms = (deadline - heed_clock_ns()) / 1000000;
        if (left_ms < 0) {
            give_up(peer, LAB_PEER_HUNG, "gave no answer in time");
            return;
        }
        if (peer->interrupted && peer->interrupted()) {
            give_up(peer, LAB_PEER_INTERRUPTED, "was interrupted");
            return;
        }
        if (poll(fds, 3, left_ms < LOOK_MS ? (int)left_ms + 1 : LOOK_MS) <= 0)
            continue;
        if (fds[1].revents)
            lab_inlet_read(&peer->complaints, &peer->process.err);
        if (fds[2].revents)
            write_stdin(peer, text, length, &sent);
        if (fds[0].revents)
            read_stdout(peer);
    }
}

/* The reply in the received line, or NULL, with the peer marked as printing garbage. */
static json_t *take_reply(lab_peer *peer)
{
    static const char *const statuses[] = { "ok", "unsupported", "error" };
    size_t length = (size_t)((char *)memchr(peer->line, '\n', peer->line_length) - peer->line);
    json_t *reply = json_loadb(peer->line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *status = json_string_value(json_object_get(reply, "status"));
    bool known = false;

    for (size_t i = 0; status && i < sizeof statuses / sizeof statuses[0]; i++)
        known = known || strcmp(status, statuses[i]) == 0;
    if (known && length + 1 == peer->line_length) {
        peer->line_length = 0;
        return reply;
    }
    json_decref(reply);
    give_up(peer, LAB_PEER_GARBAGE,
            known ? "printed more than it was asked for" : "printed a line that is not a reply");
    return NULL;
}

/* Rejects output without a request. */
static void refuse_unasked(lab_peer *peer)
{
    struct pollfd out = { .fd = peer->process.out, .events = POLLIN };

    if (peer->line_length == 0 && poll(&out, 1, 0) > 0)
        read_stdout(peer); /* or its end, which counts as a crash */
    if (peer->state == LAB_PEER_READY && peer->line_length > 0)
        give_up(peer, LAB_PEER_GARBAGE, "spoke before it was asked");
}

json_t *lab_peer_ask(lab_peer *peer, json_t *request, double seconds)
{
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;

    json_decref(request);
    if (peer->state == LAB_PEER_READY && (length == 0 || length >= LAB_PEER_LINE_SIZE))
        give_up(peer, LAB_PEER_BROKEN,
                text ? "the request is too long" : "no memory for a request");
    if (peer->state == LAB_PEER_READY)
        refuse_unasked(peer);
    if (peer->state == LAB_PEER_READY) {
        if (peer->paused)
            kill(-peer->process.pid, SIGCONT);
        peer->paused = false;
        text[length] = '\n'; /* replaces the null */
        converse(peer, text, length + 1, heed_clock_ns() + (int64_t)(seconds * 1e9));
    }
    free(text);
    return peer->state == LAB_PEER_READY ? take_reply(peer) : NULL;
}

void lab_peer_pause(lab_peer *peer)
{
    if (peer->process.pid > 0 && !peer->paused)
        peer->paused = kill(-peer->process.pid, SIGSTOP) == 0;
}

lab_peer_state lab_peer_state_of(const lab_peer *peer)
{
    return peer->state;
}

const char *lab_peer_reason(const lab_peer *peer)
{
    return peer->reason;
}

const char *lab_peer_stderr(const lab_peer *peer)
{
    return peer->stderr_text;
}

/* Starts the program. Returns an errno value. */
static int start(lab_peer *peer, const char *name, const char *script)
{
    char path[PATH_MAX];
    const char *const arguments[] = { name, script, NULL };
    const lab_process_command process = { .path = path,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { -1, -1, -1 } };

    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else if (!lab_path_find(getenv("PATH"), name, lab_path_is_program, path, sizeof path))
        return ENOENT;
    return lab_process_start(&peer->process, &process);
}

lab_peer *lab_peer_start(const char *path, const char *interpreter, bool (*interrupted)(void))
{
    const char *name = interpreter ? interpreter : path;
    lab_peer *peer = calloc(1, sizeof *peer);

    if (!peer)
        return NULL;
    peer->process = (lab_process){ .in = -1, .out = -1, .err = -1 };
    peer->interrupted = interrupted;
    peer->complaints = (lab_inlet){ .text = peer->stderr_text, .size = sizeof peer->stderr_text };
    int error = start(peer, name, interpreter ? path : NULL);
    if (error != 0) {
        peer->state = LAB_PEER_ABSENT;
        snprintf(peer->reason, sizeof peer->reason, "%.200s cannot be started: %s", name,
                 strerror(error));
        lab_peer_tame(peer->reason);
    }
    return peer;
}

void lab_peer_end(lab_peer *peer)
{
    if (!peer)
        return;
    peer->interrupted = NULL; /* at most two seconds, even after Ctrl-C */
    json_decref(lab_peer_ask(peer, json_pack("{s:s}", "op", "quit"), QUIT_SECONDS));
    lab_close_fd(&peer->process.in);
    if (peer->process.pid > 0)
        lab_process_await(peer->process.pid, heed_clock_ns() + EXIT_NS);
    reap(peer);
    free(peer);
}
