/*
 * peer.h - shared by all rivals written in C: the line protocol of lab/trial/peer/protocol.md
 *
 * A peer fills in a struct of functions and calls peer_main(), which reads requests, loads the
 * tensors, times calls, and replies. The peer gets dense tensors with dimensions [batch, heads,
 * seq, dim], each aligned to 64 bytes: each head is a separate matrix, the best layout for a matrix
 * library.
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

/* Tensors, in the order of arrays; O, the output, is the last one. */
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

/* Maximum size of a reason, a text for people, with its terminator. */
#define PEER_REASON_SIZE 200

/* The result of a peer's function. For the last two it has written a reason. */
typedef enum peer_answer {
    PEER_OK,
    PEER_UNSUPPORTED,
    PEER_ERROR
} peer_answer;

typedef struct peer_methods {
    const char *name;
    const char *version;
    unsigned types;    /* bits 1 << peer_type */
    size_t state_size; /* size of the functions' @state, initially zero */

    /* Prepares for @threads threads; called once, first. @detail (PEER_REASON_SIZE bytes) may
     * receive a line about the set-up. */
    peer_answer (*setup)(void *state, int threads, char *detail, char *reason);

    /* Prepares for @problem, which has a type that the peer supports, for example by allocating
     * memory. On failure it has freed its allocations. */
    peer_answer (*prepare)(void *state, const peer_problem *problem, char *reason);

    /* Computes O of the prepared problem. */
    void (*run)(void *state, const peer_tensors *tensors);

    /* Frees memory of prepare(). */
    void (*release)(void *state);

    /* Frees memory of setup(). */
    void (*finish)(void *state);

    /* Best rate of a float32 matrix product of @size cubed, in operations per second, or 0 if there
     * is no memory. NULL if the peer has no such product. */
    double (*sgemm)(void *state, int64_t size);
} peer_methods;

/* peer_main() serves requests until the end of input and returns the exit status for main(). */
int peer_main(const peer_methods *peer);

/* Keys from @begin on, up to but not including @end. */
typedef struct peer_range {
    int64_t begin;
    int64_t end;
} peer_range;

/* peer_visible() returns the keys that query @i sees. Neither end decreases from one query to the
 * next. */
peer_range peer_visible(const peer_problem *problem, int64_t i);

/* peer_clock_ns() returns a monotonic time in nanoseconds. */
int64_t peer_clock_ns(void);

/* peer_allocate() returns @count elements of @size bytes, aligned to 64 bytes and not cleared, or
 * NULL, also if the product overflows. Free with free(). */
void *peer_allocate(size_t count, size_t size);

#endif /* PEER_H */
