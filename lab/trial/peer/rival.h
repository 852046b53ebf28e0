/*
 * rival.h - a rival: the requests of protocol.md as functions
 *
 * A rival may refuse, fail, or be lost; then it has a reason, and the caller continues with the
 * next one. A rival lost on one problem is restarted for the next, a few times.
 */
#ifndef LAB_RIVAL_H
#define LAB_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "peer.h"

typedef enum lab_answer {
    LAB_ANSWER_OK = 0,
    LAB_ANSWER_UNSUPPORTED, /* it reported that it cannot do that */
    LAB_ANSWER_ERROR,       /* it failed, or its reply is invalid */
    LAB_ANSWER_LOST         /* it has ended, see lab_rival.lost */
} lab_answer;

#define LAB_RIVAL_TEXT_SIZE 200
#define LAB_RIVAL_DEVICE_SIZE 16
#define LAB_RIVAL_BACKENDS_MAX 8

typedef struct lab_rival {
    lab_found found;
    int threads;
    char device[LAB_RIVAL_DEVICE_SIZE]; /* device to compute on; "": the CPU, timed by blocks */
    bool (*interrupted)(void);
    lab_peer *peer; /* NULL: not started, or lost */
    int starts;
    lab_peer_state lost;               /* of the last lost peer; LAB_PEER_READY: none */
    char reason[LAB_PEER_REASON_SIZE]; /* of the last answer other than LAB_ANSWER_OK */
    char version[LAB_RIVAL_TEXT_SIZE];
    char detail[LAB_RIVAL_TEXT_SIZE]; /* of hello */
    char method[LAB_RIVAL_TEXT_SIZE]; /* detail of the last prepare */
    bool ceiling;                     /* supports lab_rival_sgemm() */
    bool period;                      /* supports lab_rival_data.period */
    bool behind;                      /* supports lab_rival_data.behind */
    char backends[LAB_RIVAL_BACKENDS_MAX]
                 [LAB_PEER_NAME_SIZE]; /* its backends, each a separate rival */
    size_t backend_count;              /* 0: no separate backends */
    int o_fd;                          /* the file for O; -1: nothing is prepared */
    size_t o_size;
} lab_rival;

/* lab_rival_open() starts the peer @found, to use @threads threads, and sends hello. The peer
 * computes on @device, such as "cuda:0" or "cpu", and is timed by replays (LAB_ANSWER_UNSUPPORTED
 * if it does not support that); with "" on the CPU, timed by blocks. Close @rival in any case. */
lab_answer lab_rival_open(lab_rival *rival, const lab_found *found, int threads, const char *device,
                          bool (*interrupted)(void));

/* lab_rival_close() ends the peer. */
void lab_rival_close(lab_rival *rival);

/* A dense operand of a problem, or an array for its expressions. */
typedef struct lab_rival_operand {
    const char *name;  /* of the field: "bias", "slopes", "sinks", "starts", "shown", ... */
    const char *array; /* ... or of the array; NULL for an operand */
    const char *type;  /* of its elements in the spec: "f32", "i32", "bits", ... */
    int64_t shape[4]; /* [batch, heads, queries, keys], 1 where broadcast; for an array its sizes */
    int rank;
    void *data;
    size_t size; /* bytes */
} lab_rival_operand;
#define LAB_RIVAL_OPERANDS_MAX 17

/* The data of a problem for peers: Q, K and V dense, [batch, seq, heads, dim], or [tokens, heads,
 * dim] if packed; paged K and V as their pool, [pages, page, heads, dim]. V is ignored if it is a
 * part of K. */
typedef struct lab_rival_data {
    const void *q;
    const void *k;
    const void *v;
    const lab_rival_operand *operands;
    int operand_count;
    int64_t period;      /* element i of a tensor is number i modulo this; 0: all are given */
    const char *backend; /* one of lab_rival.backends, or NULL */
    const char *behind;  /* PTX of a kernel to run before each call of a replay; NULL: none */
} lab_rival_data;

/* lab_rival_prepare() passes the normalized @problem, whose strides are ignored, and the dense
 * data; @copies as in protocol.md. */
lab_answer lab_rival_prepare(lab_rival *rival, const heed_problem *problem,
                             const lab_rival_data *data, int64_t copies);

/* lab_rival_run() runs a block of @calls calls after @warmup untimed ones and writes seconds per
 * call to *@seconds. @expected is the expected total time: the peer gets ten times that, and at
 * least a minute. */
lab_answer lab_rival_run(lab_rival *rival, int64_t warmup, int64_t calls, double expected,
                         double *seconds);

/* lab_rival_replay() is for rivals on a device: @replays runs of a sequence of @calls calls,
 * captured once, after @warmup untimed ones. Writes device seconds per call. */
lab_answer lab_rival_replay(lab_rival *rival, int64_t calls, int64_t warmup, int64_t replays,
                            double expected, double *seconds);

/* lab_rival_eager() times @calls single calls, at most LAB_RIVAL_EAGER_MAX, each from launch to
 * completion, and writes their seconds to @seconds. */
#define LAB_RIVAL_EAGER_MAX 1000
lab_answer lab_rival_eager(lab_rival *rival, int64_t calls, double expected, double *seconds);

/* lab_rival_check() writes O of the last call, dense, to @o of @size bytes: all of it, or if @rows
 * is not NULL only @count rows, at most LAB_RIVAL_ROWS_MAX, numbered [batch, head, seq] as in the
 * LSE, one after another. */
#define LAB_RIVAL_ROWS_MAX 1000
lab_answer lab_rival_check(lab_rival *rival, const int64_t *rows, int64_t count, void *o,
                           size_t size);

/* lab_rival_pause() stops the rival's processes until the next request, so they cannot disturb
 * heed. */
void lab_rival_pause(lab_rival *rival);

/* lab_rival_release() releases the problem. */
void lab_rival_release(lab_rival *rival);

/* lab_rival_sgemm() writes the rival's best rate of a float32 matrix product of @size cubed to
 * *@flops. */
lab_answer lab_rival_sgemm(lab_rival *rival, int64_t size, double *flops);

#endif /* LAB_RIVAL_H */
