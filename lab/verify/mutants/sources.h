/*
 * sources.h - the suite's candidates in C
 *
 * They are compiled, held and tried as the sources of `heed evolve` are: see lab_selftest_sources.
 * The first line of each file says what it does and what stops it.
 */
#ifndef LAB_MUTANTS_SOURCES_H
#define LAB_MUTANTS_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lab_mutant_source {
    const char *name;
    const char *does;
    const char *gate; /* that is meant to stop it: see lab_judge_name(); NULL: it is honest */
    const char *spec;
    const char *text; /* of its file; lab_mutant_source_whole() is compiled */
} lab_mutant_source;

/* lab_mutant_source_at() returns the @index-th source; NULL past the last. */
const lab_mutant_source *lab_mutant_source_at(size_t index);

/* lab_mutant_source_whole() returns what is compiled where the candidate's file says @own, to be
 * freed; NULL: no memory. */
char *lab_mutant_source_whole(const char *own);

#endif /* LAB_MUTANTS_SOURCES_H */
