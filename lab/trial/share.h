/*
 * share.h - files in memory shared by two processes
 */
#ifndef LAB_SHARE_H
#define LAB_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* lab_share() returns a descriptor of a file in memory of @size bytes; with @data not NULL it has
 * that content and is sealed. It is freed when the last process closes it, whatever happens to
 * heed. -1 on failure. */
int lab_share(const char *name, const void *data, size_t size);

/* lab_share_read() reads all of such a file. Returns false if it does not have @size bytes, or on a
 * failure. */
bool lab_share_read(int fd, void *data, size_t size);

#endif /* LAB_SHARE_H */
