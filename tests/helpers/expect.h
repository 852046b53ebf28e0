/*
 * expect.h - functions shared by tests of bad input
 */
#ifndef HEED_TESTS_EXPECT_H
#define HEED_TESTS_EXPECT_H

#include <stdio.h>
#include <string.h>

#include "heed.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A valid problem, to be modified. */
#define VALID_PROBLEM                                                                            \
    {                                                                                            \
        .size = sizeof(heed_problem), .type = HEED_F32, .batch = 2, .heads_q = 4, .heads_kv = 2, \
        .seq_q = 5, .seq_k = 7, .dim_qk = 8, .dim_v = 8                                          \
    }

/* Checks that a call returned @wanted, with a message that contains all of the @words, which end
 * with NULL. Returns 1 if so; else reports @tried and the result on stderr, and returns 0. */
static inline int is_refused(const char *tried, heed_status status, heed_status wanted,
                             const char *const words[])
{
    if (status != wanted) {
        fprintf(stderr, "%s gave \"%s\" instead of \"%s\"\n", tried, heed_status_name(status),
                heed_status_name(wanted));
        return 0;
    }
    for (int i = 0; words[i]; i++) {
        if (!strstr(heed_message(), words[i])) {
            fprintf(stderr, "%s: the message \"%s\" does not say \"%s\"\n", tried, heed_message(),
                    words[i]);
            return 0;
        }
    }
    return 1;
}

#endif /* HEED_TESTS_EXPECT_H */
