/*
 * launch.h - how device code is compiled and launched, as words that can be kept
 *
 *     source=attn_mma.cu entry=fwd threads=128 smem=49152 registers=0 rows=64 splits=1 mapped=0
 *     aligned=1 window=0 in_turn=0 paired=0 resident=1 -DTILE_M=64 -DTILE_N=32
 */
#ifndef LAB_LAUNCH_H
#define LAB_LAUNCH_H

#include "lab/trial/candidate.h"

#define LAB_LAUNCH_SIZE 4096

/* A number of a launch: its name in words, and the values that a candidate may ask for. */
typedef struct lab_launch_field {
    const char *name;
    size_t offset, size; /* in heed_launch_facts: a bool, int or int64_t */
    int64_t least, most;
    bool optional; /* words that were kept may lack it, and then it is 0 */
    bool quiet;    /* if it is 0, no word says so */
} lab_launch_field;

#define LAB_LAUNCH_FIELDS 12
extern const lab_launch_field lab_launch_fields[LAB_LAUNCH_FIELDS];

/* lab_launch_find() returns the field whose name are the @length letters at @name; -1: there is
 * none. lab_launch_get() and lab_launch_set() read and write one; a value that is too large for it
 * becomes the largest, which no candidate may ask for. */
int lab_launch_find(const char *name, size_t length);
int64_t lab_launch_get(const heed_launch_facts *launch, int field);
void lab_launch_set(heed_launch_facts *launch, int field, int64_t value);

/* The launch by the words. Names lie in @text: do not copy it. */
typedef struct lab_launched {
    heed_launch_facts launch;
    const char
        *source; /* the file of heed's own that the kernel is in; NULL: it is the candidate's */
    lab_knob knobs[LAB_KNOBS_MAX];
    size_t knob_count;
    char text[LAB_LAUNCH_SIZE];
} lab_launched;

/* lab_launch_print() writes the words for a kernel in @source, which may be NULL, to @words.
 * Returns false if they do not fit. */
bool lab_launch_print(const heed_launch_facts *launch, const char *source, const lab_knob *knobs,
                      size_t knob_count, char words[LAB_LAUNCH_SIZE]);

/* lab_launch_parse() reads them. False, with the word that is not understood at *@bad, which lies
 * in
 * @launched, if they are not such words, or a field is missing. */
bool lab_launch_parse(lab_launched *launched, const char *words, const char **bad);

#endif /* LAB_LAUNCH_H */
