/*
 * peer.h - a peer: a child process that answers requests of one JSON line each (protocol.md)
 *
 * A peer may be absent, hang, crash, flood its output or print garbage. Each of these ends the
 * peer, never heed, and becomes a state with a reason. File descriptors 0 to 2 of the calling
 * process must be open. Use one peer from one thread.
 */
#ifndef LAB_PEER_H
#define LAB_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "heed.h"

/* The state of a peer. All but the first are final. */
typedef enum lab_peer_state {
    LAB_PEER_READY = 0,
    LAB_PEER_ABSENT,      /* could not be started */
    LAB_PEER_HUNG,        /* no reply in time: killed */
    LAB_PEER_CRASHED,     /* ended by itself */
    LAB_PEER_FLOODED,     /* a line without end: killed */
    LAB_PEER_GARBAGE,     /* printed something other than one reply per request: killed */
    LAB_PEER_INTERRUPTED, /* the caller interrupted it: killed */
    LAB_PEER_BROKEN       /* no memory for a request: killed */
} lab_peer_state;

/* Maximum length of a line in either direction, with its newline, and of the stderr that is kept.
 */
#define LAB_PEER_LINE_SIZE 65536
#define LAB_PEER_STDERR_SIZE 8192
#define LAB_PEER_REASON_SIZE 400

typedef struct lab_peer lab_peer;

/* lab_peer_start() starts the program @path in a new process group, by @interpreter, searched in
 * PATH, unless that is NULL. @interrupted is called every 0.1 s while waiting: true ends the peer;
 * NULL: never. Returns NULL if there is no memory, else a peer, to be ended with lab_peer_end():
 * one that could not be started is LAB_PEER_ABSENT. */
lab_peer *lab_peer_start(const char *path, const char *interpreter, bool (*interrupted)(void));

/* lab_peer_ask() sends @request, an object that it releases, and waits up to @seconds for the
 * reply, which the caller then owns: an object whose "status" is "ok", "unsupported" or "error".
 * Returns NULL if the peer's state is or becomes other than LAB_PEER_READY. A paused peer is
 * resumed first. */
json_t *lab_peer_ask(lab_peer *peer, json_t *request, double seconds);

/* lab_peer_pause() stops the processes of @peer until the next lab_peer_ask(). */
void lab_peer_pause(lab_peer *peer);

/* The state of @peer, and its reason: "" while it is ready, else one line that has been through
 * lab_peer_tame(). */
lab_peer_state lab_peer_state_of(const lab_peer *peer);
const char *lab_peer_reason(const lab_peer *peer);

/* lab_peer_stderr() returns the beginning of @peer's stderr output so far, which @peer owns. */
const char *lab_peer_stderr(const lab_peer *peer);

/* lab_peer_tame() turns @text, written by a peer, into one harmless line: replaces control
 * characters by spaces. */
void lab_peer_tame(char *text);

/* lab_peer_end() requests that @peer quits, kills it if it does not within two seconds, and frees
 * it. NULL is ignored. */
void lab_peer_end(lab_peer *peer);

/* The available peers. */

#define LAB_PEER_NAME_SIZE 32
#define LAB_PEER_PATH_SIZE 1024

typedef struct lab_found {
    char name[LAB_PEER_NAME_SIZE]; /* without _peer and .py */
    char path[LAB_PEER_PATH_SIZE];
    char interpreter[LAB_PEER_PATH_SIZE]; /* "" for a program */
} lab_found;

/* lab_peers_find() searches for peers as in protocol.md: in the folders of HEED_PEERS, then those
 * around the running program. Writes an array sorted by name to *@found, which the caller frees,
 * and its length to *@count, which may be 0. Returns HEED_OK or HEED_ERR_NO_MEMORY. */
heed_status lab_peers_find(lab_found **found, size_t *count);

/* lab_peer_name_of() writes the name of a peer file, such as "torch" for "torch_peer.py", to @name.
 * Returns false if a file named @file is not a peer. */
bool lab_peer_name_of(const char *file, char name[LAB_PEER_NAME_SIZE]);

#endif /* LAB_PEER_H */
