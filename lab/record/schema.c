/*
 * schema.c - schema.sql and the migrations of later versions, embedded as text
 *
 * The assembler copies the files as they are. HEED_SCHEMA, and HEED_SCHEMA_2 to HEED_SCHEMA_4, are
 * their paths, from CMake, which also declares them as dependencies of this object.
 */
#include "store.h"

#include "lab/base/embed.h"

LAB_EMBED(lab_record_schema, HEED_SCHEMA);
LAB_EMBED(lab_record_schema_2, HEED_SCHEMA_2);
LAB_EMBED(lab_record_schema_3, HEED_SCHEMA_3);
LAB_EMBED(lab_record_schema_4, HEED_SCHEMA_4);
