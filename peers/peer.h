/*
 * peer.h - shared by all rivals written in C: the line protocol of lab/trial/peer/protocol.md
 *
 * A peer fills in a struct of functions and calls peer_main(), which reads requests, loads the
 * tensors, keeps the time, and answers. Tensors are handed out with the dimensions [batch, heads,
 * seq, dim], dense, each aligned to 64 bytes: each head is a matrix of its own, as a matrix library
 * likes it best.
 */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

typedef enum peer_type {
    PEER_F32,
    PEER_F16,
    PEER_BF16,
    PEER_TYPES
} peer_type;
typedef enum peer_mask {
    PEER_FULL,
    PEER_CAUSAL_TL,
    PEER_CAUSAL_BR,
    PEER_MASKS
} peer_mask;

typedef struct peer_problem {
    peer_type type;
    peer_mask mask;
    int64_t batch;
    int64_t heads_q;
    int64_t heads_kv;
    int64_t seq_q;
    int64_t seq_k;
    int64_t dim_qk;
    int64_t dim_v;
    float scale;
} peer_problem;

/* The tensors, in this order where they are counted; O, the output, is the last one. */
typedef enum peer_role {
    PEER_Q,
    PEER_K,
    PEER_V,
    PEER_O,
    PEER_TENSORS
} peer_role;

typedef struct peer_tensors {
    void *q; /* [batch, heads_q, seq_q, dim_qk] */
    void *k; /* [batch, heads_kv, seq_k, dim_qk] */
    void *v; /* [batch, heads_kv, seq_k, dim_v] */
    void *o; /* [batch, heads_q, seq_q, dim_v] */
} peer_tensors;

/* Reasons are texts of at most this many bytes with the null, for people. */
#define PEER_REASON_SIZE 200

/* The answer of a function of the peer. For the last two it has written a reason. */
typedef enum peer_answer {
    PEER_OK,
    PEER_UNSUPPORTED,
    PEER_ERROR
} peer_answer;

typedef struct peer_methods {
    const char *name;
    const char *version;
    unsigned types;    /* bits 1 << peer_type */
    size_t state_size; /* of what the functions get as @state, zero at first */

    /* Gets ready to use @threads threads; once, before all else. @detail (PEER_REASON_SIZE bytes)
     * may receive a line about the set-up. */
    peer_answer (*setup)(void *state, int threads, char *detail, char *reason);

    /* Gets ready for @problem, which is of a type that the peer takes: memory beside the tensors,
     * above all. On failure it has freed what it made. */
    peer_answer (*prepare)(void *state, const peer_problem *problem, char *reason);

    /* Computes O of the problem prepared. */
    void (*run)(void *state, const peer_tensors *tensors);

    /* Frees what prepare() made. */
    void (*release)(void *state);

    /* Frees what setup() made. */
    void (*finish)(void *state);

    /* Best rate of a float32 matrix product of @size cubed, in operations per second; NULL if the
     * peer has none. 0: no memory. */
    double (*sgemm)(void *state, int64_t size);
} peer_methods;

/* peer_main() serves requests until the end of input and returns the exit status for main(). */
int peer_main(const peer_methods *peer);

/* Keys from @begin on, up to @end and without it. */
typedef struct peer_range {
    int64_t begin;
    int64_t end;
} peer_range;

/* peer_visible() returns which keys query @i sees. Neither side decreases from one query to the
 * next. */
peer_range peer_visible(const peer_problem *problem, int64_t i);

/* peer_clock_ns() returns a monotonic time in nanoseconds. */
int64_t peer_clock_ns(void);

/* peer_allocate() returns @count elements of @size bytes, aligned to 64 bytes and not cleared, or
 * NULL; also if the product overflows. Free with free(). */
void *peer_allocate(size_t count, size_t size);

#endif /* PEER_H */
