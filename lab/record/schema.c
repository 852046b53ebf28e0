/*
 * schema.c - schema.sql and what later versions add to it, as the tool carries them
 *
 * The assembler copies the files as they are. HEED_SCHEMA, and HEED_SCHEMA_2 to HEED_SCHEMA_4,
 * are their paths, from CMake, which also knows that this object depends on them.
 */
#include "store.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".globl lab_record_schema\n.hidden lab_record_schema\nlab_record_schema:\n"
        ".incbin \"" HEED_SCHEMA "\"\n"
        ".byte 0\n"
        ".globl lab_record_schema_2\n.hidden lab_record_schema_2\nlab_record_schema_2:\n"
        ".incbin \"" HEED_SCHEMA_2 "\"\n"
        ".byte 0\n"
        ".globl lab_record_schema_3\n.hidden lab_record_schema_3\nlab_record_schema_3:\n"
        ".incbin \"" HEED_SCHEMA_3 "\"\n"
        ".byte 0\n"
        ".globl lab_record_schema_4\n.hidden lab_record_schema_4\nlab_record_schema_4:\n"
        ".incbin \"" HEED_SCHEMA_4 "\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */
