/*
 * openblas_peer.c - the rival openblas: attention with a matrix library, two products and a softmax
 *
 * S = scale * Q K^T by cblas_sgemm, softmax of the rows of S, O = P V by cblas_sgemm. A task is a
 * tile of queries of one head with complete rows of scores, which stay in the L2 cache; tasks are
 * distributed over threads, each of which calls the library single-threaded. If there are fewer
 * tasks than threads, the library's own threads work instead.
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "softmax.h"
#include "team.h"

/* Bytes of scores of a task, and rows of its tile: from measurements on Zen 4 and 5, where larger
 * tiles gain nothing and smaller ones slow down the products. */
enum {
    TILE_BYTES = 2 << 20,
    TILE_ROWS_MIN = 64,
    TILE_ROWS_CAUSAL = 128,
    TASKS_PER_THREAD = 4
};

typedef struct blas {
    peer_team *team;
    int threads;
    softmax_row *softmax;
    peer_problem problem;
    int64_t rows;  /* queries of a tile */
    int64_t tiles; /* of a head */
    float *scores; /* per thread, a tile of scores and a factor for each of its rows */
    int64_t per_thread;
    const peer_tensors *tensors;
} blas;

static softmax_row *best_softmax(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return softmax_row_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return softmax_row_avx2;
#endif
    return softmax_row_base;
}

/* The arguments of a task. */
typedef struct tile {
    const float *q; /* its first row */
    const float *k; /* the first key that it sees */
    const float *v;
    float *o;
    float *scores;
    float *factors; /* of its rows of O */
    int64_t first;  /* query */
    int64_t rows;
    int64_t begin; /* that key */
    int64_t keys;  /* one past the last key that it sees */
} tile;

/* Computes S = scale * log2(e) * Q K^T, so that the softmax can use powers of two. */
static void score(const blas *self, const tile *t)
{
    const peer_problem *p = &self->problem;
    float scale = p->scale * 1.44269504f;

    if (t->rows == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)t->keys, (int)p->dim_qk, scale, t->k,
                    (int)p->dim_qk, t->q, 1, 0, t->scores, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)t->rows, (int)t->keys,
                    (int)p->dim_qk, scale, t->q, (int)p->dim_qk, t->k, (int)p->dim_qk, 0, t->scores,
                    (int)t->keys);
}

/* Computes O = P V, not yet divided by the sums. */
static void combine(const blas *self, const tile *t)
{
    const peer_problem *p = &self->problem;

    if (t->rows == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, (int)t->keys, (int)p->dim_v, 1, t->v, (int)p->dim_v,
                    t->scores, 1, 0, t->o, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)t->rows, (int)p->dim_v,
                    (int)t->keys, 1, t->scores, (int)t->keys, t->v, (int)p->dim_v, 0, t->o,
                    (int)p->dim_v);
}

/* Computes the softmax of row @i of the tile without its final division, which is applied to O;
 * returns the factor for it. */
static float soften(const blas *self, const tile *t, int64_t i)
{
    float *row = t->scores + i * t->keys;
    peer_range seen = peer_visible(&self->problem, t->first + i);
    int64_t before = seen.begin - t->begin, keys = seen.end - seen.begin;
    float sum = keys > 0 ? self->softmax(row + before, keys) : 0;

    memset(row, 0, (size_t)before * sizeof *row);
    memset(row + before + keys, 0, (size_t)(t->keys - before - keys) * sizeof *row);
    return sum > 0 ? 1 / sum : 0;
}

static tile tile_at(const blas *self, int64_t index, int thread)
{
    const peer_problem *p = &self->problem;
    int64_t head = index / self->tiles;
    int64_t kv = head / p->heads_q * p->heads_kv + head % p->heads_q / (p->heads_q / p->heads_kv);
    /* With a causal mask the last tiles are the longest, so they come first. */
    int64_t first = (self->tiles - 1 - index % self->tiles) * self->rows;
    int64_t rows = p->seq_q - first < self->rows ? p->seq_q - first : self->rows;
    int64_t row = head * p->seq_q + first;
    float *scores = self->scores + thread * self->per_thread;
    int64_t begin = peer_visible(p, first).begin;

    return (tile){ .q = (const float *)self->tensors->q + row * p->dim_qk,
                   .k = (const float *)self->tensors->k + (kv * p->seq_k + begin) * p->dim_qk,
                   .v = (const float *)self->tensors->v + (kv * p->seq_k + begin) * p->dim_v,
                   .o = (float *)self->tensors->o + row * p->dim_v,
                   .scores = scores,
                   .factors = scores + self->rows * p->seq_k,
                   .first = first,
                   .rows = rows,
                   .begin = begin,
                   .keys = peer_visible(p, first + rows - 1).end - begin };
}

static void tile_task(void *data, int64_t index, int thread)
{
    const blas *self = data;
    tile t = tile_at(self, index, thread);
    int64_t dim = self->problem.dim_v;

    if (t.keys > 0)
        score(self, &t);
    for (int64_t i = 0; i < t.rows; i++)
        t.factors[i] = soften(self, &t, i);
    if (t.keys == 0)
        memset(t.o, 0, (size_t)(t.rows * dim) * sizeof *t.o);
    else
        combine(self, &t);
    for (int64_t i = 0; i < t.rows; i++)
        for (int64_t d = 0; d < dim; d++)
            t.o[i * dim + d] *= t.factors[i];
}

/* Debian's OpenBLAS selects kernels for older CPUs on some CPUs with AVX-512, which makes it 1.7
 * times slower. The library reads the core type from the environment when it is loaded, so this
 * program executes itself again with a better one. */
static void choose_core_type(char **argv)
{
#if defined(__x86_64__)
    if (getenv("OPENBLAS_CORETYPE") || !__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return;
    if (setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1) == 0)
        execv("/proc/self/exe", argv); /* if this fails, keep the library's choice */
#else
    (void)argv;
#endif
}

static peer_answer setup(void *state, int threads, char *detail, char *reason)
{
    blas *self = state;

    self->threads = threads;
    self->softmax = best_softmax();
    self->team = peer_team_create(threads);
    openblas_set_num_threads(threads);
    snprintf(detail, PEER_REASON_SIZE,
             "core type %s, sgemm and a vectorised softmax on tiles of queries",
             openblas_get_corename());
    if (self->team)
        return PEER_OK;
    snprintf(reason, PEER_REASON_SIZE, "cannot start %d threads", threads);
    return PEER_ERROR;
}

/* Queries of a tile: as many as TILE_BYTES allow, but not so many that threads would lack work, or
 * that most masked scores would be computed. */
static int64_t choose_rows(const peer_problem *p, int threads)
{
    int64_t heads = p->batch * p->heads_q;
    int64_t rows = TILE_BYTES / ((int64_t)sizeof(float) * p->seq_k);

    if (p->mask != PEER_FULL && rows > TILE_ROWS_CAUSAL)
        rows = TILE_ROWS_CAUSAL;
    if (rows > p->seq_q)
        rows = p->seq_q;
    while (rows > TILE_ROWS_MIN &&
           heads * ((p->seq_q + rows - 1) / rows) < threads * TASKS_PER_THREAD)
        rows = (rows + 1) / 2;
    if (rows < TILE_ROWS_MIN)
        rows = TILE_ROWS_MIN;
    return rows < p->seq_q ? rows : p->seq_q;
}

static peer_answer prepare(void *state, const peer_problem *problem, char *reason)
{
    blas *self = state;

    if (problem->seq_q > INT32_MAX || problem->seq_k > INT32_MAX) {
        snprintf(reason, PEER_REASON_SIZE, "the library takes sizes to %d", INT32_MAX);
        return PEER_UNSUPPORTED;
    }
    self->problem = *problem;
    self->rows = choose_rows(problem, self->threads);
    self->tiles = (problem->seq_q + self->rows - 1) / self->rows;
    self->per_thread = self->rows * (problem->seq_k + 1);
    self->scores = peer_allocate((size_t)self->threads * (size_t)self->per_thread, sizeof(float));
    if (self->scores)
        return PEER_OK;
    snprintf(reason, PEER_REASON_SIZE, "no memory for %lld rows of scores per thread",
             (long long)self->rows);
    return PEER_ERROR;
}

static void run(void *state, const peer_tensors *tensors)
{
    blas *self = state;
    int64_t tasks = self->problem.batch * self->problem.heads_q * self->tiles;

    self->tensors = tensors;
    if (tasks >= self->threads) {
        openblas_set_num_threads(1);
        peer_team_run(self->team, tile_task, self, tasks);
        return;
    }
    openblas_set_num_threads(self->threads);
    for (int64_t i = 0; i < tasks; i++)
        tile_task(self, i, 0);
}

static void release(void *state)
{
    blas *self = state;

    free(self->scores);
    self->scores = NULL;
}

static void finish(void *state)
{
    blas *self = state;

    peer_team_destroy(self->team);
}

enum {
    SGEMM_REPEATS = 5
};

static double sgemm(void *state, int64_t size)
{
    blas *self = state;
    size_t count = (size_t)size * (size_t)size;
    float *a = peer_allocate(3 * count, sizeof *a);
    double best = 0;

    if (!a)
        return 0;
    for (size_t i = 0; i < 3 * count; i++)
        a[i] = (float)(i * 2654435761u % 65521) / 65521.0f - 0.5f;
    openblas_set_num_threads(self->threads);
    for (int repeat = 0; repeat <= SGEMM_REPEATS; repeat++) {
        int64_t start = peer_clock_ns();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)size, (int)size, (int)size, 1,
                    a, (int)size, a + count, (int)size, 0, a + 2 * count, (int)size);
        double seconds = (double)(peer_clock_ns() - start) * 1e-9;
        double rate = 2.0 * (double)size * (double)size * (double)size / seconds;
        if (repeat > 0 && rate > best)
            best = rate;
    }
    free(a);
    return best;
}

/* Extracts the version from "OpenBLAS 0.3.21 NO_LAPACKE ...". */
static void read_version(char *version, size_t size)
{
    char word[32] = "";

    sscanf(openblas_get_config(), "%*s %31s", word);
    snprintf(version, size, "%s", word);
}

int main(int argc, char **argv)
{
    char version[32];
    const peer_methods openblas_peer = {
        .name = "openblas",
        .version = version,
        .types = 1u << PEER_F32,
        .state_size = sizeof(blas),
        .setup = setup,
        .prepare = prepare,
        .run = run,
        .release = release,
        .finish = finish,
        .sgemm = sgemm,
    };

    (void)argc;
    choose_core_type(argv);
    read_version(version, sizeof version);
    return peer_main(&openblas_peer);
}
