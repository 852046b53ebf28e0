/*
 * wisdom.h - shared by the three wisdom sources: the table, its text format, and its files
 */
#ifndef HEED_WISDOM_H
#define HEED_WISDOM_H

#include <pthread.h>

#include "internal.h"

/* Longest wisdom text that is read or saved, in bytes. */
#define HEED_WISDOM_SIZE_MAX ((size_t)16 << 20)

typedef struct heed_wisdom_entry {
    heed_problem problem; /* normalized */
    heed_choice choice;
} heed_wisdom_entry;

/* Entries in the order in which their problems were added, and a hash table of their indices + 1, 0
 * where free. The number of slots is a power of two, at least twice the number of entries. */
struct heed_wisdom {
    pthread_mutex_t mutex;
    heed_wisdom_entry *entries;
    size_t count;
    size_t capacity;
    size_t *slots;
    size_t slot_count;
};

/* wisdom.c; the caller holds the mutex. heed_wisdom_reserve() makes room for @extra more problems,
 * so that many calls of heed_wisdom_put() cannot fail. heed_wisdom_put() keeps an earlier choice
 * that took more effort. */
heed_status heed_wisdom_reserve(heed_wisdom *wisdom, size_t extra);
void heed_wisdom_put(heed_wisdom *wisdom, const heed_problem *problem, const heed_choice *choice);

/* wisdom_text.c. heed_wisdom_read() imports @length bytes of any content; @source names their
 * origin in messages. heed_wisdom_write() is heed_wisdom_export() for a caller that holds the
 * mutex. */
heed_status heed_wisdom_read(heed_context *context, const char *source, const char *text,
                             size_t length, size_t *taken, size_t *skipped);
size_t heed_wisdom_write(heed_context *context, char *text, size_t size);

#endif /* HEED_WISDOM_H */
