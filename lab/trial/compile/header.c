/*
 * header.c - heed_candidate.h embedded as text, for the compilation of candidates
 *
 * HEED_CANDIDATE_HEADER is its path, from CMake.
 */
#include "lab/trial/compile/compile.h"

#include "lab/base/embed.h"

LAB_EMBED(lab_text_candidate, HEED_CANDIDATE_HEADER);

const char *lab_candidate_header(void)
{
    return lab_text_candidate;
}
