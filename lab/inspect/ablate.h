/*
 * ablate.h - bottlenecks of a kernel, found by ablation
 *
 * A kernel is timed against itself with one thing removed, added or done badly. A change that
 * affects its time touches a limit of the kernel; one that does not is irrelevant. Removing a thing
 * gives an upper bound of its cost, and so of the possible gain. Doing one more of it shows
 * approximately what one costs. Doing a thing badly shows the benefit of doing it well, and that
 * nothing is left to gain there.
 *
 * This file has the table of ablations, the kernels that they apply to, and the interpretation of
 * measured effects. Builds are made with src/ablation.h, and timed by the command line.
 */
#ifndef LAB_ABLATE_H
#define LAB_ABLATE_H

#include <stdbool.h>
#include <stddef.h>

/* How an ablation changes a kernel. */
typedef enum lab_ablate_kind {
    LAB_ABLATE_OUT,  /* leaves something out */
    LAB_ABLATE_MORE, /* does more of something, or has less of what helps it */
    LAB_ABLATE_BADLY /* does badly what it does well */
} lab_ablate_kind;

typedef struct lab_ablation {
    const char *name;
    int number; /* the build's ABLATE_ number; 0: it is a config, or one thread */
    lab_ablate_kind kind;
    bool wrong;           /* results are wrong */
    const char *what;     /* the thing removed, repeated or done badly: "exponentials" */
    const char *opposite; /* the reverse of doing more: "one barrier less" */
} lab_ablation;

/* lab_ablation_at() returns the @index-th ablation, NULL past the end; lab_ablation_find() the one
 * named @name, or NULL. */
const lab_ablation *lab_ablation_at(size_t index);
const lab_ablation *lab_ablation_find(const char *name);

/* The name of an ablation that all kernels have on a CPU with several threads. */
#define LAB_ABLATE_ONE_THREAD "one-thread"

/* lab_ablate_declared() returns true if the kernel's source @text declares @name in a line with
 * "@ablate". */
bool lab_ablate_declared(const char *text, const char *name);

#define LAB_ABLATE_NAME_SIZE 128

/* lab_ablate_config() writes the @index-th config for the ablation @name of @kernel, a name with
 * config ("fwd_16bit_sm80_mma__m128..."), to @changed; use the first one that the planner accepts.
 * Returns false past the last, and writes "" if the config would be the same. */
bool lab_ablate_config(const char *kernel, const char *name, size_t index,
                       char changed[LAB_ABLATE_NAME_SIZE]);

/* lab_ablate_unfit() returns why the ablation @name does not apply to @kernel, with or without a
 * config, as text to follow "not applicable: ". */
const char *lab_ablate_unfit(const char *kernel, const char *name);

/* A measured effect. The ratio is time with the ablation over time without; low and high are the
 * ends of its interval. */
typedef struct lab_effect {
    char name[24];
    double ratio;
    double low, high;
    double margin; /* a difference up to this share counts as none */
} lab_effect;

/* Its verdict. */
typedef enum lab_effect_word {
    LAB_EFFECT_UNCLEAR, /* the interval is too wide */
    LAB_EFFECT_NONE,
    LAB_EFFECT_SLOWER, /* the kernel with the ablation is slower */
    LAB_EFFECT_FASTER
} lab_effect_word;
lab_effect_word lab_effect_of(const lab_effect *effect);

/* lab_effect_word_name() returns "unclear", "none", "slower" or "faster". */
const char *lab_effect_word_name(lab_effect_word word);

/* lab_effect_value() returns the effect as a share of the kernel's time, positive in the expected
 * direction: 0.12 for 12 % faster if something was removed, for 12 % slower otherwise. lab_clues
 * (lab/search/guide.h) uses it. */
double lab_effect_value(const lab_effect *effect);

/* lab_effect_gain() returns the maximum share of the kernel's time that the opposite of the
 * ablation could save, by the end of the interval. That is an upper bound if something was removed,
 * and an estimate if more was done, as one less may not save what one more costs. */
double lab_effect_gain(const lab_effect *effect);

/* lab_effect_say() writes the interpretation of the effect to @text, one sentence without a full
 * stop. */
void lab_effect_say(const lab_effect *effect, char *text, size_t size);

/* lab_effects_rank() sorts @count effects: clear ones first, larger ones before smaller. */
void lab_effects_rank(lab_effect *effects, size_t count);

#endif /* LAB_ABLATE_H */
