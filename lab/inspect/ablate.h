/*
 * ablate.h - bottlenecks of a kernel, found by ablation
 *
 * A kernel is timed beside itself with one thing taken out, added or done badly. A change that
 * changes its time touches a limit of the kernel; one that does not, does not. Leaving a thing out
 * says what it costs at most, and so what anybody could gain there; doing one more of the same says
 * about what the one costs; doing badly what is done well says what that is worth, and shows that
 * nothing is left to gain.
 *
 * This is the vocabulary, which kernel has which, and what a measured effect says. How kernels are
 * built so is cuda/kernels/ablate.cuh, and the command line times them.
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
    int number; /* of the build: an ABLATE_ number; 0: it is a config, or one thread */
    lab_ablate_kind kind;
    bool wrong;           /* the results are */
    const char *what;     /* is left out, done more of, or is worth something: "exponentials" */
    const char *opposite; /* of doing more: "one barrier less" */
} lab_ablation;

/* lab_ablation_at() returns the @index-th ablation, NULL past the end; lab_ablation_find() that of
 * @name, or NULL. */
const lab_ablation *lab_ablation_at(size_t index);
const lab_ablation *lab_ablation_find(const char *name);

/* The name of an ablation that all kernels have on a CPU with several threads. */
#define LAB_ABLATE_ONE_THREAD "one-thread"

/* lab_ablate_declared() says whether the kernel's source @text declares @name in a line with
 * "@ablate". */
bool lab_ablate_declared(const char *text, const char *name);

#define LAB_ABLATE_NAME_SIZE 128

/* lab_ablate_config() writes the @index-th config that is the ablation @name of @kernel, a kernel
 * and its config ("fwd_16bit_sm80_mma__m128..."), to @changed; the first one that a planner takes
 * is meant. Returns false past the last, with "" for one that is no other config. */
bool lab_ablate_config(const char *kernel, const char *name, size_t index,
                       char changed[LAB_ABLATE_NAME_SIZE]);

/* lab_ablate_unfit() says why there is no ablation @name of @kernel, with or without a config,
 * where it has none: in words that go on after "not applicable: ". */
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
    LAB_EFFECT_UNCLEAR, /* the interval is too wide to say */
    LAB_EFFECT_NONE,
    LAB_EFFECT_SLOWER, /* the kernel with the ablation is */
    LAB_EFFECT_FASTER
} lab_effect_word;
lab_effect_word lab_effect_of(const lab_effect *effect);

/* lab_effect_word_name() returns "unclear", "none", "slower" or "faster". */
const char *lab_effect_word_name(lab_effect_word word);

/* lab_effect_value() returns the effect as a share of the time of the kernel, positive if it is as
 * one expects: 0.12 for 12 % faster where something was left out, for 12 % slower elsewhere. So
 * lab_clues (lab/search/guide.h) has it. */
double lab_effect_value(const lab_effect *effect);

/* lab_effect_gain() returns which share of the time of the kernel the opposite of the ablation
 * could save at most: by the end of the interval, so surely not more where something was left out;
 * about, where more was done, for the next one may not cost what the one more did. */
double lab_effect_gain(const lab_effect *effect);

/* lab_effect_say() writes what the effect says to @text, one sentence without a full stop. */
void lab_effect_say(const lab_effect *effect, char *text, size_t size);

/* lab_effects_rank() sorts @count effects: those that are clear first, the larger the earlier. */
void lab_effects_rank(lab_effect *effects, size_t count);

#endif /* LAB_ABLATE_H */
