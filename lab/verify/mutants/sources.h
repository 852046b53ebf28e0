/*
 * sources.h - the suite's candidates in C
 *
 * They are compiled, sandboxed and tried like the sources of `heed evolve`: see
 * lab_selftest_sources. The first line of each file describes its behaviour and what stops it.
 */
#ifndef LAB_MUTANTS_SOURCES_H
#define LAB_MUTANTS_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lab_mutant_source {
    const char *name;
    const char *does;
    const char *gate; /* the judge meant to stop it: see lab_judge_name(); NULL: it is honest */
    const char *spec;
    const char *text; /* the text of its file; lab_mutant_source_whole() makes the text to
                       * compile */
} lab_mutant_source;

/* lab_mutant_source_at() returns the @index-th source; NULL past the last. */
const lab_mutant_source *lab_mutant_source_at(size_t index);

/* lab_mutant_source_whole() returns the complete source of a candidate whose file is @own. Free it;
 * NULL if out of memory. */
char *lab_mutant_source_whole(const char *own);

#endif /* LAB_MUTANTS_SOURCES_H */
