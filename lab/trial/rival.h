/*
 * rival.h - a peer with manners: the requests of protocol.md as functions
 *
 * A rival may refuse, fail, or be lost; then its reason says why, and the caller goes on with the
 * next one. A rival that was lost in one problem is started again for the next, a few times.
 */
#ifndef LAB_RIVAL_H
#define LAB_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "find.h"
#include "heed.h"
#include "peer.h"

typedef enum lab_answer {
    LAB_ANSWER_OK = 0,
    LAB_ANSWER_UNSUPPORTED, /* it cannot do that, and says so */
    LAB_ANSWER_ERROR,       /* it failed, or its reply makes no sense */
    LAB_ANSWER_LOST         /* it is no more: lab_rival.lost says how */
} lab_answer;

#define LAB_RIVAL_TEXT_SIZE 200

typedef struct lab_rival {
    lab_found found;
    int threads;
    bool (*interrupted)(void);
    lab_peer *peer; /* NULL: not started, or lost */
    int starts;
    lab_peer_state lost; /* of the peer that was lost last; LAB_PEER_READY: none was */
    char reason[LAB_PEER_REASON_SIZE]; /* of the last answer other than LAB_ANSWER_OK */
    char version[LAB_RIVAL_TEXT_SIZE];
    char detail[LAB_RIVAL_TEXT_SIZE]; /* of hello */
    char method[LAB_RIVAL_TEXT_SIZE]; /* detail of the last prepare */
    bool ceiling;                     /* answers lab_rival_sgemm() */
    int o_fd;                         /* the file for O; -1: nothing is prepared */
    size_t o_size;
} lab_rival;

/* lab_rival_open() starts the peer @found, to use @threads threads, and says hello. @rival is to be
 * closed whatever the answer. */
lab_answer lab_rival_open(lab_rival *rival, const lab_found *found, int threads,
                          bool (*interrupted)(void));

/* lab_rival_close() ends the peer. */
void lab_rival_close(lab_rival *rival);

/* The data of a problem as peers get them: dense, [batch, seq, heads, dim]. */
typedef struct lab_rival_data {
    const void *q;
    const void *k;
    const void *v;
} lab_rival_data;

/* lab_rival_prepare() hands over the normalized @problem, whose strides do not matter, and the
 * dense data; @copies as in protocol.md. */
lab_answer lab_rival_prepare(lab_rival *rival, const heed_problem *problem,
                             const lab_rival_data *data, int64_t copies);

/* lab_rival_run() runs a block of @calls calls after @warmup untimed ones and writes seconds per
 * call to *@seconds. @expected is how long all of that may take: the peer is given ten times as
 * long, and never less than a minute. */
lab_answer lab_rival_run(lab_rival *rival, int64_t warmup, int64_t calls, double expected,
                         double *seconds);

/* lab_rival_check() writes O of the last call, dense, to @o, which has room for @size bytes: all of
 * O. */
lab_answer lab_rival_check(lab_rival *rival, void *o, size_t size);

/* lab_rival_pause() stops the rival's processes until the next request, so that they cannot disturb
 * heed. */
void lab_rival_pause(lab_rival *rival);

/* lab_rival_release() drops the problem. */
void lab_rival_release(lab_rival *rival);

/* lab_rival_sgemm() writes the rival's best rate of a float32 matrix product of @size cubed to
 * *@flops. */
lab_answer lab_rival_sgemm(lab_rival *rival, int64_t size, double *flops);

#endif /* LAB_RIVAL_H */
