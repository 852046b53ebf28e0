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
#define LAB_RIVAL_DEVICE_SIZE 16
#define LAB_RIVAL_BACKENDS_MAX 8

typedef struct lab_rival {
    lab_found found;
    int threads;
    char device[LAB_RIVAL_DEVICE_SIZE]; /* that it must compute on; "": the CPU, timed by blocks */
    bool (*interrupted)(void);
    lab_peer *peer; /* NULL: not started, or lost */
    int starts;
    lab_peer_state lost; /* of the peer that was lost last; LAB_PEER_READY: none was */
    char reason[LAB_PEER_REASON_SIZE]; /* of the last answer other than LAB_ANSWER_OK */
    char version[LAB_RIVAL_TEXT_SIZE];
    char detail[LAB_RIVAL_TEXT_SIZE];                          /* of hello */
    char method[LAB_RIVAL_TEXT_SIZE];                          /* detail of the last prepare */
    bool ceiling;                                              /* answers lab_rival_sgemm() */
    bool period;                                               /* takes lab_rival_data.period */
    bool behind;                                               /* takes lab_rival_data.behind */
    char backends[LAB_RIVAL_BACKENDS_MAX][LAB_PEER_NAME_SIZE]; /* its ways to compute, each a rival
                                                                  of its own */
    size_t backend_count;                                      /* 0: it has one way */
    int o_fd; /* the file for O; -1: nothing is prepared */
    size_t o_size;
} lab_rival;

/* lab_rival_open() starts the peer @found, to use @threads threads, and says hello. @rival is to be
 * closed whatever the answer. */
lab_answer lab_rival_open(lab_rival *rival, const lab_found *found, int threads,
                          bool (*interrupted)(void));

/* lab_rival_open_device() is the same for a peer that computes on @device, "cuda:0" say, or on
 * "cpu", and is timed by replays there. LAB_ANSWER_UNSUPPORTED if the peer knows nothing of that.
 */
lab_answer lab_rival_open_device(lab_rival *rival, const lab_found *found, int threads,
                                 const char *device, bool (*interrupted)(void));

/* lab_rival_close() ends the peer. */
void lab_rival_close(lab_rival *rival);

/* An operand of a problem or an array that its expressions read, dense. */
typedef struct lab_rival_operand {
    const char *name;  /* of the field: "bias", "slopes", "sinks", "starts", "shown", ... */
    const char *array; /* ... or of the array, NULL of an operand */
    const char *type;  /* of its elements in the spec: "f32", "i32", "bits", ... */
    int64_t shape[4];  /* [batch, heads, queries, keys], 1 along which it is the same; of an array
                          its  sizes */
    int rank;
    void *data;
    size_t size; /* bytes */
} lab_rival_operand;
#define LAB_RIVAL_OPERANDS_MAX 17

/* The data of a problem as peers get them: Q, K and V dense, [batch, seq, heads, dim]; where they
 * are packed [tokens, heads, dim]; K and V in pages as their pool, [pages, page, heads, dim]. V is
 * not looked at where it is a part of K. */
typedef struct lab_rival_data {
    const void *q;
    const void *k;
    const void *v;
    const lab_rival_operand *operands;
    int operand_count;
    int64_t period;      /* element i of a tensor is number i modulo this; 0: there are all */
    const char *backend; /* one of lab_rival.backends, or NULL */
    const char *behind;  /* PTX of a kernel to stand before each call of a replay; NULL: none */
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

/* lab_rival_replay() is for rivals on a device: @replays runs of a sequence of @calls calls that is
 * captured once, after @warmup untimed ones. Writes seconds of the device per call. */
lab_answer lab_rival_replay(lab_rival *rival, int64_t calls, int64_t warmup, int64_t replays,
                            double expected, double *seconds);

/* lab_rival_eager() times @calls single calls, LAB_RIVAL_EAGER_MAX at most, each from its start to
 * its completion, and writes their seconds to @seconds. */
#define LAB_RIVAL_EAGER_MAX 1000
lab_answer lab_rival_eager(lab_rival *rival, int64_t calls, double expected, double *seconds);

/* lab_rival_check() writes O of the last call, dense, to @o, which has room for @size bytes: all of
 * O. */
lab_answer lab_rival_check(lab_rival *rival, void *o, size_t size);

/* lab_rival_check_rows() writes @count rows of that O alone, LAB_RIVAL_ROWS_MAX at most, numbered
 * [batch, head, seq] as in the LSE, one after another to @o. */
#define LAB_RIVAL_ROWS_MAX 1000
lab_answer lab_rival_check_rows(lab_rival *rival, const int64_t *rows, int64_t count, void *o,
                                size_t size);

/* lab_rival_pause() stops the rival's processes until the next request, so that they cannot disturb
 * heed. */
void lab_rival_pause(lab_rival *rival);

/* lab_rival_release() drops the problem. */
void lab_rival_release(lab_rival *rival);

/* lab_rival_sgemm() writes the rival's best rate of a float32 matrix product of @size cubed to
 * *@flops. */
lab_answer lab_rival_sgemm(lab_rival *rival, int64_t size, double *flops);

#endif /* LAB_RIVAL_H */
