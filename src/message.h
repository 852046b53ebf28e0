/*
 * message.h - the calling thread's message (error.c)
 */
#ifndef HEED_MESSAGE_H
#define HEED_MESSAGE_H

#include "heed.h"

/* heed_fail() formats the text that heed_message() returns, and returns @status, so a check reads
 * "return heed_fail(HEED_ERR_INVALID, "batch is %lld; it must be 1 or more", ...)". heed_note()
 * sets it without failing. */
#define HEED_MESSAGE_SIZE 1024
heed_status heed_fail(heed_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void heed_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* HEED_MESSAGE_H */
