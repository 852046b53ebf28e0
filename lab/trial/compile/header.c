/*
 * header.c - heed_candidate.h as text, which candidates are compiled with
 *
 * The assembler copies the file into the constants as it is. HEED_CANDIDATE_HEADER is its path,
 * from CMake.
 */
#include "lab/trial/compile/compile.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".globl lab_text_candidate\n.hidden lab_text_candidate\n"
        "lab_text_candidate:\n"
        ".incbin \"" HEED_CANDIDATE_HEADER "\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */

extern const char lab_text_candidate[] __attribute__((visibility("hidden")));

const char *lab_candidate_header(void)
{
    return lab_text_candidate;
}
