/*
 * append_scene.h - files of arrays for tests of `heed run` with new keys and rotary embeddings
 */
#ifndef APPEND_SCENE_H
#define APPEND_SCENE_H

/* append_scene_open() opens a scratch.h directory and writes to it Q, K, V, new keys and values,
 * lengths, page tables and angles, the arrays that `heed run` should leave or could be given
 * instead, and others that do not fit. Returns 0, or -1 without a directory. */
int append_scene_open(void **state);

/* Options of `heed run` that name some of the files. */
#define NEW "--k-new K_new.npy --v-new V_new.npy "
#define PACKED "--k-new K_new_packed.npy --v-new V_new_packed.npy "
#define LENGTHS "--lengths lengths.npy "
#define ROTATED "--rotary-cos cos.npy --rotary-sin sin.npy "

#endif /* APPEND_SCENE_H */
