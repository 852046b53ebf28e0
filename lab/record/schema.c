/*
 * schema.c - schema.sql as the tool carries it
 *
 * The assembler copies the file as it is. HEED_SCHEMA is its path, from CMake, which also knows
 * that this object depends on it.
 */
#include "store.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".globl lab_record_schema\n.hidden lab_record_schema\nlab_record_schema:\n"
        ".incbin \"" HEED_SCHEMA "\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */
