/*
 * peer_tensors.h - a peer's tensors: [batch, seq, heads, dim] in files, [batch, heads, seq, dim] in
 * memory
 */
#ifndef PEER_TENSORS_H
#define PEER_TENSORS_H

#include "peer.h"

/* peer_tensors_load() makes @copies copies of the tensors of @problem: inputs from the files
 * @paths, by role, and O zero. On failure it has written the reason. In either case free *@tensors
 * with peer_tensors_free(). */
peer_answer peer_tensors_load(peer_tensors **tensors, const peer_problem *problem, int64_t copies,
                              const char *const paths[PEER_TENSORS], char *reason);

/* peer_tensors_store() writes O to the file @path. */
peer_answer peer_tensors_store(const peer_tensors *tensors, const peer_problem *problem,
                               const char *path, char *reason);

/* peer_tensors_free() frees all copies; NULL is ignored. */
void peer_tensors_free(peer_tensors *tensors, int64_t copies);

#endif /* PEER_TENSORS_H */
