/*
 * device.c - the suite for CUDA kernels
 */
#include "lab/verify/mutants/suite.h"

#include "lab/base/embed.h"
#include "lab/base/mask.h"

#define WARPS 4
#define TILE 32

#define SPEC "b1 h2 s10/40 d8/16 f16"
#define CAUSAL "b1 h2 s10/40 d8/16 f16 causal=br"

/* clang-format off */
const lab_mutant lab_mutants_device[] = {
    { .name = "half-the-logits", .does = "halves the logits", .mistake = 1,
      .spec = SPEC, .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "positive-scale", .does = "ignores the sign of the scale", .mistake = 2,
      .spec = "b1 h2 s10/40 d8/16 f16 scale=-0.2", .inputs = "needle", .gate = "error", .unlocked = true },
    { .name = "drops-last-tile", .does = "drops the last tile of keys", .mistake = 3,
      .spec = SPEC, .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "one-key-more", .does = "sees one key too many", .mistake = 4,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal", .unlocked = true },
    { .name = "unmasked-tail", .does = "counts the zero keys that pad the last tile", .mistake = 5,
      .spec = SPEC, .inputs = "normal", .gate = "lse", .unlocked = true },
    { .name = "interleaved-heads", .does = "maps grouped heads by modulo instead of division", .mistake = 6,
      .spec = "b1 h4/2 s20 d8/16 f16", .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "first-keys", .does = "uses the keys of the first batch element for all", .mistake = 7,
      .spec = "b3 h2 s20 d8/16 f16", .inputs = "normal", .gate = "batch", .unlocked = true },
    { .name = "stale-output", .does = "does not scale the output down when the maximum rises", .mistake = 8,
      .spec = SPEC, .inputs = "rising", .gate = "error", .unlocked = true },
    { .name = "no-maximum", .does = "does not subtract the maximum", .mistake = 9,
      .spec = SPEC, .inputs = "large", .gate = "finite", .unlocked = true },
    { .name = "f16-sums", .does = "sums in f16", .mistake = 10,
      .spec = "b1 h1 s2/2048 d8/16 f16", .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "base-2-lse", .does = "returns the LSE in base 2", .mistake = 11,
      .spec = SPEC, .inputs = "normal", .gate = "merged", .unlocked = true },
    { .name = "masked-by-zero", .does = "masks by a weight of 0", .mistake = 12,
      .spec = CAUSAL, .inputs = "masked", .gate = "finite", .unlocked = true },
    { .name = "nan-for-empty", .does = "returns NaN for rows that see no key", .mistake = 13,
      .spec = "b1 h2 s12/6 d8/16 f16 causal=br", .inputs = "normal", .gate = "finite", .unlocked = true },
    { .name = "no-barrier", .does = "does not wait for the tile", .mistake = 14,
      .spec = "b2 h4 s100 d8/16 f16", .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "past-the-end", .does = "writes past the end of O", .mistake = 15,
      .spec = SPEC, .inputs = "needle", .gate = "executes", .unlocked = true },
    { .name = "reads-past", .does = "reads past the end of K and V", .mistake = 16,
      .spec = SPEC, .inputs = "needle", .gate = "executes", .unlocked = true },
    { .name = "leaves-a-mark", .does = "uses K as scratch after its last read", .mistake = 17,
      .spec = SPEC, .inputs = "needle", .gate = "inputs", .unlocked = true },
    { .name = "no-first-row", .does = "leaves the first row unwritten", .mistake = 18,
      .spec = SPEC, .inputs = "normal", .gate = "written", .unlocked = true },
    { .name = "after-warm-up", .does = "works in its first ten calls", .mistake = 19,
      .spec = SPEC, .inputs = "normal", .gate = "fresh", .unlocked = true },
    { .name = "old-bit", .does = "keeps a bit of the old contents of its output", .mistake = 20,
      .spec = SPEC, .inputs = "normal", .gate = "deterministic", .unlocked = true },
    { .name = "8-bit-weights", .does = "rounds weights to eight bits", .mistake = 21,
      .spec = SPEC, .inputs = "normal", .gate = "error", .unlocked = true },
    { .name = "swapped-columns", .does = "swaps two columns", .mistake = 22,
      .spec = SPEC, .inputs = "impulse", .gate = "error", .unlocked = true },
    { .name = "lazy-without-lse", .does = "writes zeros if no LSE is requested", .mistake = 23,
      .spec = SPEC, .inputs = "normal", .gate = "optional-lse", .unlocked = true },
    { .name = NULL },
};
/* clang-format on */

/* HEED_ATTEND is the path of the file, from CMake. */
LAB_EMBED(lab_text_attend, HEED_ATTEND);

const char *lab_device_source(void)
{
    return lab_text_attend;
}

lab_device_code lab_device_code_of(const heed_problem *problem, int mistake)
{
    return (lab_device_code){
        .defines = { { "HEED_CAUSAL", lab_masked(problem) },
                     { "HEED_DIM_QK", problem->dim_qk },
                     { "HEED_DIM_V", problem->dim_v },
                     { "HEED_W", WARPS },
                     { "HEED_MISTAKE", mistake } },
        .entry = "heed_attend",
        .threads = 32 * WARPS,
        .rows = WARPS,
        .smem = TILE * (problem->dim_qk + problem->dim_v) * (int64_t)sizeof(float),
    };
}
