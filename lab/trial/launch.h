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

/* The launch by the words. Names lie in @text: do not copy it. */
typedef struct lab_launched {
    lab_launch launch;
    const char
        *source; /* the file of heed's own that the kernel is in; NULL: it is the candidate's */
    lab_knob knobs[LAB_KNOBS_MAX];
    size_t knob_count;
    char text[LAB_LAUNCH_SIZE];
} lab_launched;

/* lab_launch_print() writes the words for a kernel in @source, which may be NULL, to @words.
 * Returns false if they do not fit. */
bool lab_launch_print(const lab_launch *launch, const char *source, const lab_knob *knobs,
                      size_t knob_count, char words[LAB_LAUNCH_SIZE]);

/* lab_launch_parse() reads them. False, with the word that is not understood at *@bad, which lies
 * in
 * @launched, if they are not such words, or a field is missing. */
bool lab_launch_parse(lab_launched *launched, const char *words, const char **bad);

#endif /* LAB_LAUNCH_H */
