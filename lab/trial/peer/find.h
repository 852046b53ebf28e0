/*
 * find.h - finds the available peers
 */
#ifndef LAB_FIND_H
#define LAB_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "heed.h"

#define LAB_PEER_NAME_SIZE 32
#define LAB_PEER_PATH_SIZE 1024

typedef struct lab_found {
    char name[LAB_PEER_NAME_SIZE]; /* without _peer and .py */
    char path[LAB_PEER_PATH_SIZE];
    char interpreter[LAB_PEER_PATH_SIZE]; /* "" for a program */
} lab_found;

/* lab_peers_find() searches for peers as in protocol.md: in the folders of HEED_PEERS, then those
 * around the running program. Writes an array sorted by name to *@found, which the caller frees,
 * and its length to *@count, which may be 0. Returns HEED_OK or HEED_ERR_NO_MEMORY. */
heed_status lab_peers_find(lab_found **found, size_t *count);

/* lab_peer_name_of() writes the name of a peer file, such as "torch" for "torch_peer.py", to @name.
 * Returns false if a file named @file is not a peer. */
bool lab_peer_name_of(const char *file, char name[LAB_PEER_NAME_SIZE]);

#endif /* LAB_FIND_H */
