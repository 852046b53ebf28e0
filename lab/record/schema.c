/*
 * schema.c - schema.sql and what later versions add to it, as the tool carries them
 *
 * The assembler copies the files as they are. HEED_SCHEMA, and HEED_SCHEMA_2 to HEED_SCHEMA_4,
 * are their paths, from CMake, which also knows that this object depends on them.
 */
#include "store.h"

#include "lab/base/embed.h"

LAB_EMBED(lab_record_schema, HEED_SCHEMA);
LAB_EMBED(lab_record_schema_2, HEED_SCHEMA_2);
LAB_EMBED(lab_record_schema_3, HEED_SCHEMA_3);
LAB_EMBED(lab_record_schema_4, HEED_SCHEMA_4);
