/*
 * library.c - heed's own sources, as the tool carries them, and how its kernels are launched
 *
 * The assembler copies the files as they are. HEED_LIBRARY is a list of them that CMake makes, a
 * row HEED_FILE(symbol, path in the tree, path on this machine) for each.
 */
#include "library.h"

#include <stdlib.h>
#include <string.h>

#include "src/cuda/facts.h"
#include "wisdom_line.h"

/* clang-format off */
#define HEED_FILE(symbol, path, place)                                \
    __asm__(".pushsection .rodata\n"                                  \
            ".globl " #symbol "\n.hidden " #symbol "\n" #symbol ":\n" \
            ".incbin \"" place "\"\n"                                 \
            ".byte 0\n"                                               \
            ".popsection\n");
#include HEED_LIBRARY
#undef HEED_FILE

#define HEED_FILE(symbol, path, place) extern const char symbol[] __attribute__((visibility("hidden")));
#include HEED_LIBRARY
#undef HEED_FILE

static const lab_record_file files[] = {
#define HEED_FILE(symbol, path, place) { path, symbol },
#include HEED_LIBRARY
#undef HEED_FILE
};
/* clang-format on */

static const lab_record_library sources = { files, sizeof files / sizeof *files };

const lab_record_library *cli_library_sources(void)
{
    return &sources;
}

/* The number behind "sm_" in features such as "sm_90-driver13.0-nvrtc13.0"; 0: there is none. */
static int arch_of(const char *features)
{
    const char *at = features ? strstr(features, "sm_") : NULL;
    return at ? atoi(at + 3) : 0;
}

bool cli_library_describe(const lab_record_trial *trial, char *words, size_t size)
{
    char name[2 * HEED_NAME_SIZE], text[LAB_LAUNCH_SIZE];
    heed_cuda_facts facts;
    lab_knob knobs[LAB_KNOBS_MAX];
    const char *config = trial->candidate.config, *build = trial->environment.build;
    int arch = arch_of(trial->environment.features);
    snprintf(name, sizeof name, "%.95s%s%.95s", trial->candidate.kernel,
             config && *config ? "__" : "", config ? config : "");
    if (strcmp(trial->device.backend, "cuda") != 0 || !build ||
        strcmp(build, heed_wisdom_build()) != 0 ||
        heed_cuda_facts_find(name, trial->problem, arch, &facts) != HEED_OK ||
        facts.define_count > LAB_KNOBS_MAX)
        return false;
    for (int i = 0; i < facts.define_count; i++)
        knobs[i] = (lab_knob){ .name = facts.defines[i].name, .value = facts.defines[i].value };
    const lab_launch launch = { .entry = facts.entry,
                                .threads = facts.threads,
                                .smem = facts.smem,
                                .registers = facts.registers,
                                .rows = facts.rows,
                                .splits = facts.splits,
                                .mapped = facts.mapped,
                                .aligned = facts.aligned,
                                .window = facts.window,
                                .in_turn = facts.in_turn };
    return lab_launch_print(&launch, facts.source, knobs, (size_t)facts.define_count, text) &&
           snprintf(words, size, "%s", text) < (int)size;
}
