/*
 * peer.h - a peer: a child process that is asked one JSON line at a time (protocol.md)
 *
 * A peer may be absent, hang, crash, flood its output or print garbage. Each of these ends the
 * peer, never heed: it becomes a state with a reason. File descriptors 0 to 2 of the calling
 * process must be open. Use one peer from one thread.
 */
#ifndef LAB_PEER_H
#define LAB_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The state of a peer. All but the first are final. */
typedef enum lab_peer_state {
    LAB_PEER_READY = 0,
    LAB_PEER_ABSENT,      /* could not be started */
    LAB_PEER_HUNG,        /* gave no answer in time: killed */
    LAB_PEER_CRASHED,     /* ended by itself */
    LAB_PEER_FLOODED,     /* a line without end: killed */
    LAB_PEER_GARBAGE,     /* printed something else than one reply to a request: killed */
    LAB_PEER_INTERRUPTED, /* the caller lost patience: killed */
    LAB_PEER_BROKEN       /* no memory for the conversation: killed */
} lab_peer_state;

/* The largest line either way, with its newline, and the part of stderr that is kept. */
#define LAB_PEER_LINE_SIZE 65536
#define LAB_PEER_STDERR_SIZE 8192
#define LAB_PEER_REASON_SIZE 400

typedef struct lab_peer lab_peer;

/* How to start a peer. */
typedef struct lab_peer_command {
    const char *path;        /* of the program */
    const char *interpreter; /* that runs it, looked for in PATH; NULL: none */
    bool (*interrupted)(
        void); /* asked every 0.1 s while waiting: true ends the peer. NULL: never */
} lab_peer_command;

/* lab_peer_start() starts a peer in a process group of its own. Returns NULL if there is no memory,
 * else a peer to be given to lab_peer_end(): one that could not be started is LAB_PEER_ABSENT. */
lab_peer *lab_peer_start(const lab_peer_command *command);

/* lab_peer_ask() sends @request, an object that it releases, and waits up to @seconds for the
 * reply, which the caller then owns: an object whose "status" is "ok", "unsupported" or "error".
 * Returns NULL if the peer is or comes to be in another state than LAB_PEER_READY. A paused peer
 * goes on first. */
json_t *lab_peer_ask(lab_peer *peer, json_t *request, double seconds);

/* lab_peer_pause() stops the processes of @peer until the next lab_peer_ask(). */
void lab_peer_pause(lab_peer *peer);

/* The state of @peer, and its reason: "" while it is ready, else one line that has been through
 * lab_peer_tame(). */
lab_peer_state lab_peer_state_of(const lab_peer *peer);
const char *lab_peer_reason(const lab_peer *peer);

/* lab_peer_stderr() returns the beginning of what @peer wrote to its stderr so far. It belongs to
 * @peer. */
const char *lab_peer_stderr(const lab_peer *peer);

/* lab_peer_tame() makes one line of @text, which a peer wrote, and nothing that a terminal would
 * obey: it puts blanks in place of control characters. */
void lab_peer_tame(char *text);

/* lab_peer_end() asks @peer to quit, kills it if it does not within two seconds, and frees it. NULL
 * is ignored. */
void lab_peer_end(lab_peer *peer);

#endif /* LAB_PEER_H */
