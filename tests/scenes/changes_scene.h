/*
 * changes_scene.h - tensors of problems that change logits, hide keys and add sinks, for kernels on
 * the emulator, and their results by the formulas of heed.h
 *
 *     changes_begin(&scene, change, "b2 h6/2 s70/130", 0);
 *     changes_define(&scene);
 *     (run the kernel on scene.buffers, and compare)
 *     changes_end(&scene);
 *
 * K, V and operands hold NaN and infinities wherever a key is hidden, and V holds some where only
 * some rows see them. Operands end at an inaccessible page. All functions fail the test on errors.
 */
#ifndef CHANGES_SCENE_H
#define CHANGES_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/kernels/kernel.h"
#include "heed.h"
#include "problem/operand.h"

typedef struct changes_scene {
    heed_problem problem;
    const emulated_kernel *kernel;
    uint64_t random;
    int64_t ahead; /* keys counted by lengths that do not exist */
    heed_buffers buffers;
    double *q, *k, *v; /* with the values in the buffers */
    int64_t v_pitch;   /* distance between two vectors of V */
    bool *seen;        /* [batch, heads, queries, keys] */
    double *o, *lse;   /* expected: [batch, queries, heads, dim_v] and [batch, heads, queries] */
} changes_scene;

/* changes_begin() makes the tensors and operands of a problem with these @sizes (of a spec) and the
 * words of @change. Values depend on @number; if it is even, lengths count keys that do not exist,
 * if the words allow it. changes_end() frees everything allocated by changes_begin() and
 * changes_define(), except the guarded memory of the buffers. */
void changes_begin(changes_scene *s, const emulated_config *change, const char *sizes,
                   size_t number);
void changes_end(changes_scene *s);

/* changes_define() computes scene->seen, scene->o and scene->lse, and puts traps into values that
 * must not be read. */
void changes_define(changes_scene *s);

/* changes_get() reads element @i of @data. changes_data_of() returns the type of a tensor's
 * elements. */
double changes_get(const void *data, heed_data type, int64_t i);
heed_data changes_data_of(heed_type type);

/* changes_sees() returns whether query @i of head @h sees key @j. changes_define_row() computes O
 * and LSE of that query. */
bool changes_sees(const changes_scene *s, int64_t b, int64_t h, int64_t i, int64_t j);
void changes_define_row(const changes_scene *s, int64_t b, int64_t h, int64_t i);

/* changes_key_vector() returns the number of the vector in K and V for key @j of head @kv.
 * changes_has() returns whether the problem has an operand, changes_operand_at() its element.
 * changes_length() returns the number of keys of batch element @b. */
int64_t changes_key_vector(const changes_scene *s, int64_t b, int64_t kv, int64_t j);
bool changes_has(const changes_scene *s, int index);
double changes_operand_at(const changes_scene *s, int index, int64_t b, int64_t h, int64_t i,
                          int64_t j);
int64_t changes_length(const changes_scene *s, int64_t b);

#endif /* CHANGES_SCENE_H */
