/*
 * ablate.c - the table of ablations, and the interpretation of measured effects
 */
#include "ablate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/ablation.h"

/* clang-format off */
static const lab_ablation ablations[] = {
    { "no-exp", ABLATE_NO_EXP, LAB_ABLATE_OUT, true, "exponentials", NULL },
    { "no-products", ABLATE_NO_PRODUCTS, LAB_ABLATE_OUT, true, "products", NULL },
    { "no-loads", ABLATE_NO_LOADS, LAB_ABLATE_OUT, true, "loads of K and V", NULL },
    { "divergent", ABLATE_DIVERGENT, LAB_ABLATE_MORE, false, "exponentials, in branches that diverge",
      "half as many exponentials" },
    { "mispredicted", ABLATE_MISPREDICTED, LAB_ABLATE_BADLY, false, "exponentials without branches",
      NULL },
    { "extra-barrier", ABLATE_EXTRA_BARRIER, LAB_ABLATE_MORE, false, "a barrier in each step",
      "one barrier less" },
    { "half-stages", 0, LAB_ABLATE_MORE, false, "stages, half as many", "twice the stages" },
    { "strided", ABLATE_STRIDED, LAB_ABLATE_BADLY, false, "loads along rows", NULL },
    { "unswizzled", ABLATE_UNSWIZZLED, LAB_ABLATE_BADLY, false, "the swizzle of shared memory", NULL },
    { "no-staging", ABLATE_NO_STAGING, LAB_ABLATE_BADLY, false, "gathering operands in fast memory", NULL },
    { "no-overlap", ABLATE_NO_OVERLAP, LAB_ABLATE_BADLY, false, "loading ahead", NULL },
    { "in-order", 0, LAB_ABLATE_BADLY, false, "products beside the softmax", NULL },
    { "over-unrolled", ABLATE_UNROLLED, LAB_ABLATE_BADLY, false, "a short main loop", NULL },
    { "masked", ABLATE_MASKED, LAB_ABLATE_BADLY, false, "masking only where it is needed", NULL },
    { "tiny-blocks", ABLATE_TINY_BLOCKS, LAB_ABLATE_BADLY, false, "the size of blocks", NULL },
    { LAB_ABLATE_ONE_THREAD, 0, LAB_ABLATE_BADLY, false, "more than one thread", NULL },
};
/* clang-format on */

const lab_ablation *lab_ablation_at(size_t index)
{
    return index < sizeof ablations / sizeof *ablations ? &ablations[index] : NULL;
}

const lab_ablation *lab_ablation_find(const char *name)
{
    for (size_t i = 0; lab_ablation_at(i); i++)
        if (strcmp(ablations[i].name, name) == 0)
            return &ablations[i];
    return NULL;
}

/* Returns true if @name is one of the words of the line at @line. */
static bool line_has(const char *line, const char *name)
{
    size_t length = strlen(name), end = strcspn(line, "\n");
    for (const char *at = line; at < line + end;) {
        size_t word = strcspn(at, " \n");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

bool lab_ablate_declared(const char *text, const char *name)
{
    static const char mark[] = "@ablate ";
    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark))
        if (line_has(at + strlen(mark), name))
            return true;
    return false;
}

/* ---- Ablations that are configs ---- */

/* Knob values by letter, as in names of configs; "s/2" halves the current value. */
static const struct {
    const char *kernel; /* the end of its name */
    const char *name;
    const char *changes[4];
} configs[] = {
    { "_tile", "tiny-blocks", { "m32n64" } },
    { "_few", "tiny-blocks", { "m4" } },
    { "_mma", "tiny-blocks", { "m16w1", "m32w2", "m64w4" } },
    { "_mma", "half-stages", { "s/2" } },
    { "_wgmma", "tiny-blocks", { "r1t1c1", "r1t1c1g1", "r1k1t1c1g1", "r1k1t1c1g1o1" } },
    { "_wgmma", "half-stages", { "s/2" } },
    { "_mma", "in-order", { "o1" } },
    { "_wgmma", "in-order", { "o3" } },
};
#define CONFIGS (sizeof configs / sizeof *configs)

/* The value in @changes for the knob @letter, whose current value is @now. */
static long changed_value(const char *changes, char letter, long now)
{
    const char *at = strchr(changes, letter);
    if (!at)
        return now;
    return at[1] == '/' ? now / strtol(at + 2, NULL, 10) : strtol(at + 1, NULL, 10);
}

/* Writes the name of @kernel with @changes applied. */
static void change(const char *kernel, const char *changes, char changed[LAB_ABLATE_NAME_SIZE])
{
    const char *at = strstr(kernel, "__") + 2;
    size_t used = (size_t)(at - kernel);
    memcpy(changed, kernel, used);
    while (isalpha((unsigned char)*at) && used + 24 < LAB_ABLATE_NAME_SIZE) {
        char letter = *at++, *end;
        long value = strtol(at, &end, 10);
        used += (size_t)snprintf(changed + used, LAB_ABLATE_NAME_SIZE - used, "%c%ld", letter,
                                 changed_value(changes, letter, value));
        at = end;
    }
    changed[used] = '\0';
    if (strcmp(changed, kernel) == 0)
        *changed = '\0';
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}

bool lab_ablate_config(const char *kernel, const char *name, size_t index,
                       char changed[LAB_ABLATE_NAME_SIZE])
{
    const char *mark = strstr(kernel, "__");
    *changed = '\0';
    for (size_t i = 0; mark && strlen(kernel) < LAB_ABLATE_NAME_SIZE - 24 && i < CONFIGS; i++) {
        if (!ends_with(kernel, (size_t)(mark - kernel), configs[i].kernel) ||
            strcmp(configs[i].name, name) != 0)
            continue;
        if (index >= sizeof configs[i].changes / sizeof *configs[i].changes ||
            !configs[i].changes[index])
            return false;
        change(kernel, configs[i].changes[index], changed);
        return true;
    }
    return false;
}

/* ---- Ablations that do not apply to a kernel ---- */

static const struct {
    const char *kernel; /* the end of its name; "" for any */
    const char *name;
    const char *why;
} reasons[] = {
    { "_mma", "half-stages", "two stages are the least that loading ahead needs" },
    { "_mma", "in-order", "its products and softmax are one after the other in this config" },
    { "_wgmma", "no-staging",
      "its tensor instruction reads keys and values in shared memory alone" },
    { "_wgmma", "half-stages", "it has as few stages as its groups of warps need" },
    { "_wgmma", "in-order", "its products and softmax are one after the other in this config" },
    { "_mla", "strided", "its copies are of whole boxes" },
    { "_mla", "unswizzled", "its copies and its tensor instruction share one layout" },
    { "_mla", "no-staging", "its tensor instruction reads keys and values in shared memory alone" },
    { "_mla", "no-overlap", "its groups of warps have a tile each: there are two at least" },
    { "_mla", "half-stages", "its groups of warps have a stage each" },
    { "_mla", "in-order",
      "the products of one group of warps are beside the softmax of the other" },
    { "_mla", "over-unrolled", "a turn of its loop has two tiles; registers hold no more" },
    { "f32_sm80_wide", "strided", "neighbours load columns of one row only in panels" },
    { "f32_sm80_wide", "no-staging", "its rows of weights are in shared memory anyway" },
    { "f32_sm80_wide", "half-stages", "two stages are the least that loading ahead needs" },
    { "f32_sm80_wide", "in-order", "its products and softmax are one after the other" },
    { "f32_sm80_wide", "over-unrolled", "a turn of its loop has 192 products" },
    { "f32_sm80_wide", "masked", "it masks only while it computes weights, in all tiles" },
    { "_wide", "strided", "its copies are of whole boxes" },
    { "_wide", "unswizzled", "its copies and its tensor instruction share one layout" },
    { "_wide", "no-staging",
      "its tensor instruction reads keys and values in shared memory alone" },
    { "_wide", "no-overlap", "a slot of its rings is free when the next piece is multiplied" },
    { "_wide", "half-stages", "its rings have as many slots as there is room for" },
    { "_wide", "in-order", "its products and softmax are one after the other" },
    { "_wide", "over-unrolled", "its loops over pieces cover a whole tile" },
    { "_amx_tile", "over-unrolled", "a turn of its loop is five instructions on whole tiles" },
    { "_naive", "unswizzled", "it uses no shared memory" },
    { "_naive", "no-staging", "nothing is staged: elements are read in place" },
    { "_naive", "no-overlap", "it loads nothing ahead" },
    { "_naive", "in-order", "its products and softmax are one after the other" },
    { "_naive", "half-stages", "it has no stages" },
    { "_naive", "masked", "it masks nothing: a row ends with the last key that it sees" },
    { "_few", "masked", "it masks nothing: a row ends with the last key that it sees" },
    { "_row", "no-overlap", "it prefetches nothing" },
    { "_row", "masked", "it masks nothing: a row ends with the last key that it sees" },
    { "amx_tile", "no-staging", "rows that a tile register loads must be evenly spaced" },
    { "bf16_tile", "no-staging", "keys are pairs of bfloat16, which must be assembled first" },
    { "_tile", "in-order", "a thread does one thing after another" },
    { "_few", "in-order", "a thread does one thing after another" },
    { "_row", "in-order", "a thread does one thing after another" },
    { "_tile", "unswizzled", "a CPU's caches have no banks that rows of a tile could share" },
    { "_few", "unswizzled", "a CPU's caches have no banks that rows of a tile could share" },
    { "_row", "unswizzled", "a CPU's caches have no banks that rows of a tile could share" },
    { "_tile", "half-stages", "a CPU's caches have no stages" },
    { "_few", "half-stages", "a CPU's caches have no stages" },
    { "_row", "half-stages", "a CPU's caches have no stages" },
    { "_tile", "divergent", "lanes of a vector cannot branch separately" },
    { "_few", "divergent", "lanes of a vector cannot branch separately" },
    { "_row", "divergent", "lanes of a vector cannot branch separately" },
    { "_mma", "mispredicted", "is for a CPU: a GPU predicts no branches" },
    { "_wgmma", "mispredicted", "is for a CPU: a GPU predicts no branches" },
    { "_mla", "mispredicted", "is for a CPU: a GPU predicts no branches" },
    { "_wide", "mispredicted", "is for a CPU: a GPU predicts no branches" },
    { "_naive", "mispredicted", "is for a CPU: a GPU predicts no branches" },
    { "_mma", LAB_ABLATE_ONE_THREAD, "is for a CPU" },
    { "_wgmma", LAB_ABLATE_ONE_THREAD, "is for a CPU" },
    { "_mla", LAB_ABLATE_ONE_THREAD, "is for a CPU" },
    { "_wide", LAB_ABLATE_ONE_THREAD, "is for a CPU" },
    { "_naive", LAB_ABLATE_ONE_THREAD, "is for a CPU" },
    { "", LAB_ABLATE_ONE_THREAD, "there is only one thread" },
    { "", "tiny-blocks", "no config with smaller blocks can do this problem" },
};

const char *lab_ablate_unfit(const char *kernel, const char *name)
{
    const char *mark = strstr(kernel, "__");
    size_t length = mark ? (size_t)(mark - kernel) : strlen(kernel);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].name, name) == 0 && ends_with(kernel, length, reasons[i].kernel))
            return reasons[i].why;
    return "the kernel has no such build";
}

/* ---- The meaning of an effect ---- */

lab_effect_word lab_effect_of(const lab_effect *effect)
{
    double above = 1 + effect->margin, below = 1 / (1 + effect->margin);
    if (effect->low > above)
        return LAB_EFFECT_SLOWER;
    if (effect->high < below)
        return LAB_EFFECT_FASTER;
    return effect->low >= below && effect->high <= above ? LAB_EFFECT_NONE : LAB_EFFECT_UNCLEAR;
}

const char *lab_effect_word_name(lab_effect_word word)
{
    static const char *const names[] = { "unclear", "none", "slower", "faster" };
    return names[word];
}

double lab_effect_value(const lab_effect *effect)
{
    const lab_ablation *it = lab_ablation_find(effect->name);
    double slower = effect->ratio - 1;
    return it && it->kind == LAB_ABLATE_OUT ? -slower : slower;
}

double lab_effect_gain(const lab_effect *effect)
{
    const lab_ablation *it = lab_ablation_find(effect->name);
    double gain = it && it->kind == LAB_ABLATE_MORE ? 1 - 1 / effect->high : 1 - effect->low;
    return isfinite(effect->high) && gain > 0 ? gain : 0;
}

/* The absolute change in time, as a percentage of the kernel's time. */
static double percent(double ratio)
{
    return 100 * fabs(ratio - 1);
}

static void say_out(const lab_effect *effect, const char *what, char *text, size_t size)
{
    double most = 100 * lab_effect_gain(effect);
    lab_effect_word word = lab_effect_of(effect);
    if (word == LAB_EFFECT_SLOWER)
        snprintf(text, size, "%s are hidden behind something else: without them it is no faster",
                 what);
    else if (word == LAB_EFFECT_FASTER)
        snprintf(text, size, "%s cost %.1f %% of the time, %.1f %% at most", what,
                 percent(effect->ratio), most);
    else
        snprintf(text, size, "%s cost %.1f %% of the time at most", what, most);
}

static void say_more(const lab_effect *effect, const lab_ablation *it, char *text, size_t size)
{
    lab_effect_word word = lab_effect_of(effect);
    if (word == LAB_EFFECT_FASTER)
        snprintf(text, size, "faster so: %s are worth trying in earnest", it->what);
    else
        snprintf(text, size, "%s could gain about %.1f %% at most", it->opposite,
                 100 * lab_effect_gain(effect));
}

static void say_badly(const lab_effect *effect, const char *what, char *text, size_t size)
{
    switch (lab_effect_of(effect)) {
    case LAB_EFFECT_SLOWER:
        snprintf(text, size, "%s: worth %.1f %%, and in place", what, percent(effect->ratio));
        break;
    case LAB_EFFECT_FASTER:
        snprintf(text, size, "%s: it is faster without, by %.1f %%", what, percent(effect->ratio));
        break;
    case LAB_EFFECT_NONE:
        snprintf(text, size, "%s: does not matter here", what);
        break;
    default:
        snprintf(text, size, "%s: worth %.1f %% at most", what,
                 effect->high > 1 ? percent(effect->high) : 0.0);
    }
}

void lab_effect_say(const lab_effect *effect, char *text, size_t size)
{
    const lab_ablation *it = lab_ablation_find(effect->name);
    if (!it || !isfinite(effect->high))
        snprintf(text, size, "too few pairs to say anything");
    else if (it->kind == LAB_ABLATE_OUT)
        say_out(effect, it->what, text, size);
    else if (it->kind == LAB_ABLATE_MORE)
        say_more(effect, it, text, size);
    else
        say_badly(effect, it->what, text, size);
}

/* ---- Ranking ---- */

static double weight_of(const lab_effect *effect)
{
    return effect->ratio > 0 ? fabs(log(effect->ratio)) : 0;
}

static int order(const void *left, const void *right)
{
    const lab_effect *a = left, *b = right;
    lab_effect_word words[] = { lab_effect_of(a), lab_effect_of(b) };
    bool a_clear = words[0] >= LAB_EFFECT_SLOWER, b_clear = words[1] >= LAB_EFFECT_SLOWER;
    if (a_clear != b_clear)
        return a_clear ? -1 : 1;
    return weight_of(a) > weight_of(b) ? -1 : weight_of(a) < weight_of(b);
}

void lab_effects_rank(lab_effect *effects, size_t count)
{
    qsort(effects, count, sizeof *effects, order);
}
