/*
 * require.h - conditions that must hold for every input of a fuzz target
 */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* require() ends the program with @what on standard error if @holds is false, so that the fuzzer
 * keeps the input. */
static inline void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

#endif /* REQUIRE_H */
