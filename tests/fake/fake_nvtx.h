/*
 * fake_nvtx.h - the ranges recorded by the tool of fake_nvtx.c
 */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

#include <pthread.h>
#include <stdint.h>

typedef struct fake_nvtx_record {
    char kind; /* 'p' a range begins, 'l' the last one ends, 'b' invalid */
    pthread_t thread;
    uint32_t category;
    char text[600];
} fake_nvtx_record;

/* Found by dlsym(): the @index-th event, 0 if there are fewer; the name of the domain, empty if
 * there is none, and its number of categories. */
typedef int fake_nvtx_event_fn(int index, fake_nvtx_record *record);
typedef const char *fake_nvtx_domain_fn(int *named);

fake_nvtx_event_fn fake_nvtx_event;
fake_nvtx_domain_fn fake_nvtx_domain;

#endif /* FAKE_NVTX_H */
