/*
 * launch.h - launch parameters of device code as text
 *
 *     source=attn_mma.cu entry=fwd threads=128 smem=49152 registers=0 rows=64 splits=1 mapped=0
 *     aligned=1 window=0 in_turn=0 paired=0 resident=1 -DTILE_M=64 -DTILE_N=32
 */
#ifndef LAB_LAUNCH_H
#define LAB_LAUNCH_H

#include "lab/trial/candidate.h"

#define LAB_LAUNCH_SIZE 4096

/* A number of a launch: its name in the text, and the values that a candidate may use. */
typedef struct lab_launch_field {
    const char *name;
    size_t offset, size; /* in heed_launch_facts: a bool, int or int64_t */
    int64_t least, most;
    bool optional; /* stored texts may lack it; then it is 0 */
    bool quiet;    /* omitted in the text if 0 */
} lab_launch_field;

#define LAB_LAUNCH_FIELDS 13
extern const lab_launch_field lab_launch_fields[LAB_LAUNCH_FIELDS];

/* lab_launch_find() returns the field with the name of @length letters at @name; -1: none.
 * lab_launch_get() and lab_launch_set() read and write one; a value that is too large is clamped to
 * the maximum, which no candidate may use. */
int lab_launch_find(const char *name, size_t length);
int64_t lab_launch_get(const heed_launch_facts *launch, int field);
void lab_launch_set(heed_launch_facts *launch, int field, int64_t value);

/* The parsed launch. Names point into @text: do not copy it. */
typedef struct lab_launched {
    heed_launch_facts launch;
    const char *source; /* heed's source file with the kernel; NULL: the candidate's */
    lab_knob knobs[LAB_KNOBS_MAX];
    size_t knob_count;
    char text[LAB_LAUNCH_SIZE];
} lab_launched;

/* lab_launch_print() writes the text for a kernel in @source, which may be NULL, to @words. Returns
 * false if it does not fit. */
bool lab_launch_print(const heed_launch_facts *launch, const char *source, const lab_knob *knobs,
                      size_t knob_count, char words[LAB_LAUNCH_SIZE]);

/* lab_launch_parse() parses it. If it is invalid or a field is missing, returns false, with *@bad,
 * the invalid word, pointing into @launched. */
bool lab_launch_parse(lab_launched *launched, const char *words, const char **bad);

#endif /* LAB_LAUNCH_H */
