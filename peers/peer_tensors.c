/*
 * peer_tensors.c - reads a problem's tensors from files, and writes O to a file
 */
#include "peer_tensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t type_sizes[PEER_TYPES] = { [PEER_F32] = 4, [PEER_F16] = 2, [PEER_BF16] = 2 };

/* A tensor of a request: [batch, seq, heads, dim] in a file. */
typedef struct tensor_shape {
    int64_t batch;
    int64_t heads;
    int64_t seq;
    int64_t dim;
    size_t element;
} tensor_shape;

static tensor_shape shape_of(const peer_problem *p, peer_role role)
{
    bool queries = role == PEER_Q || role == PEER_O;
    return (tensor_shape){ .batch = p->batch,
                           .heads = queries ? p->heads_q : p->heads_kv,
                           .seq = queries ? p->seq_q : p->seq_k,
                           .dim = role == PEER_Q || role == PEER_K ? p->dim_qk : p->dim_v,
                           .element = type_sizes[p->type] };
}

/* Returns the number of elements of a tensor, of a problem that was checked to fit. */
static size_t shape_count(const tensor_shape *s)
{
    return (size_t)(s->batch * s->heads * s->seq * s->dim);
}

/* Copies between [batch, seq, heads, dim] in @file and [batch, heads, seq, dim] in @memory. */
static void swap_heads(const tensor_shape *s, char *file, char *memory, bool to_memory)
{
    size_t row = (size_t)s->dim * s->element;

    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t i = 0; i < s->seq; i++)
            for (int64_t h = 0; h < s->heads; h++) {
                char *outside = file + (size_t)((b * s->seq + i) * s->heads + h) * row;
                char *inside = memory + (size_t)((b * s->heads + h) * s->seq + i) * row;
                memcpy(to_memory ? inside : outside, to_memory ? outside : inside, row);
            }
}

static bool transfer(int fd, char *data, size_t size, bool writing)
{
    while (size > 0) {
        ssize_t moved = writing ? write(fd, data, size) : read(fd, data, size);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return false;
        data += moved;
        size -= (size_t)moved;
    }
    return true;
}

/* Reads the file @path, which must hold exactly the tensor, into @memory. */
static peer_answer load_tensor(const char *path, const tensor_shape *shape, char *memory,
                               char *reason)
{
    size_t size = shape_count(shape) * shape->element;
    char *file = peer_allocate(size, 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool good = file && fd >= 0 && fstat(fd, &status) == 0 && (size_t)status.st_size == size &&
                transfer(fd, file, size, false);

    if (good)
        swap_heads(shape, file, memory, true);
    else
        snprintf(reason, PEER_REASON_SIZE, "cannot read %zu bytes from %.100s", size, path);
    if (fd >= 0)
        close(fd);
    free(file);
    return good ? PEER_OK : PEER_ERROR;
}

static void **place_of(peer_tensors *tensors, peer_role role)
{
    void **places[PEER_TENSORS] = { &tensors->q, &tensors->k, &tensors->v, &tensors->o };
    return places[role];
}

/* Makes copy number @copy: the first one from the files, the others from the first. */
static peer_answer load_copy(peer_tensors *tensors, int64_t copy, const peer_problem *problem,
                             const char *const paths[PEER_TENSORS], char *reason)
{
    for (peer_role role = 0; role < PEER_TENSORS; role++) {
        const tensor_shape shape = shape_of(problem, role);
        size_t size = shape_count(&shape) * shape.element;
        void **tensor = place_of(&tensors[copy], role);
        *tensor = peer_allocate(size, 1);
        if (!*tensor) {
            snprintf(reason, PEER_REASON_SIZE, "no memory for the tensors");
            return PEER_ERROR;
        }
        if (role == PEER_O)
            memset(*tensor, 0, size);
        else if (copy > 0)
            memcpy(*tensor, *place_of(&tensors[0], role), size);
        else if (load_tensor(paths[role], &shape, *tensor, reason) != PEER_OK)
            return PEER_ERROR;
    }
    return PEER_OK;
}

peer_answer peer_tensors_load(peer_tensors **tensors, const peer_problem *problem, int64_t copies,
                              const char *const paths[PEER_TENSORS], char *reason)
{
    peer_answer answer = PEER_OK;

    *tensors = calloc((size_t)copies, sizeof **tensors);
    if (!*tensors) {
        snprintf(reason, PEER_REASON_SIZE, "no memory for the tensors");
        return PEER_ERROR;
    }
    for (int64_t copy = 0; copy < copies && answer == PEER_OK; copy++)
        answer = load_copy(*tensors, copy, problem, paths, reason);
    return answer;
}

peer_answer peer_tensors_store(const peer_tensors *tensors, const peer_problem *problem,
                               const char *path, char *reason)
{
    tensor_shape shape = shape_of(problem, PEER_O);
    size_t size = shape_count(&shape) * shape.element;
    char *file = peer_allocate(size, 1);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    bool good = false;

    if (file && fd >= 0) {
        swap_heads(&shape, file, tensors->o, false);
        good = transfer(fd, file, size, true);
    }
    if (fd >= 0)
        good = close(fd) == 0 && good;
    free(file);
    if (!good)
        snprintf(reason, PEER_REASON_SIZE, "cannot write %zu bytes to %.100s", size, path);
    return good ? PEER_OK : PEER_ERROR;
}

void peer_tensors_free(peer_tensors *tensors, int64_t copies)
{
    for (int64_t i = 0; tensors && i < copies; i++) {
        free(tensors[i].q);
        free(tensors[i].k);
        free(tensors[i].v);
        free(tensors[i].o);
    }
    free(tensors);
}
