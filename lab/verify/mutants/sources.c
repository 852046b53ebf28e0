/*
 * sources.c - the suite's candidates in C: cheats that the path of evolve must stop, and honest
 * ones
 *
 * sources.def lists them. The assembler embeds the files of sources/ unchanged. Each is compiled
 * after the honest candidate plain.c, whose function is renamed to compute(), and common.h, which
 * has shared functions. ROOMS is the number of rooms of a set (wire.h), OUTPUT the first of those
 * for outputs. HEED_MUTANT_SOURCES is their folder and HEED_MUTANT_PLAIN the path of
 * plain.c, from CMake.
 */
#include "lab/verify/mutants/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/embed.h"
#include "lab/tensor/view.h"

#define SPEC "b1 h1 s16 d16 f32"
#define CAUSAL "b1 h1 s16 d16 f32 causal"
#define BIASED "b1 h1 s16 d16 f32 bias=f32"
#define GAPS "b1 h1 s16 d16 f32 o=512:32:16"

LAB_EMBED(text_plain, HEED_MUTANT_PLAIN);
LAB_EMBED(text_common, HEED_MUTANT_SOURCES "/common.h");

#define SOURCE(folder, name, does, gate, spec) \
    LAB_EMBED(text_##name, HEED_MUTANT_SOURCES "/" #folder "/" #name ".c");
#include "lab/verify/mutants/sources.def"
#undef SOURCE

const lab_mutant lab_mutants_sources[] = {
#define SOURCE(folder, kernel, what, judge, problem) \
    { .name = #kernel, .does = what, .gate = judge, .spec = problem, .source = text_##kernel },
#include "lab/verify/mutants/sources.def"
#undef SOURCE
    { .name = "plain_source", .does = "computes", .spec = CAUSAL, .source = "" },
    { .name = NULL },
};

char *lab_mutant_source_whole(const char *own)
{
    bool calls = strstr(own, "heed_candidate_run"); /* or its constructor cheats */
    size_t size = strlen(text_plain) + strlen(text_common) + strlen(own) + 200;
    char *text = malloc(size);
    if (text)
        snprintf(text, size,
                 "#define _GNU_SOURCE\n#define ROOMS %d\n#define OUTPUT %d\n%s%s\n%s\n%s",
                 LAB_BLOCKS, LAB_O, calls ? "#define heed_candidate_run compute\n" : "", text_plain,
                 calls ? text_common : "", own);
    return text;
}
