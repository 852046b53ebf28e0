/*
 * sources.c - heed's own sources, as the laboratory carries them, and how its kernels are launched
 *
 * The assembler copies the files as they are. HEED_LIBRARY is a list of them that CMake makes, a
 * row HEED_FILE(symbol, path in the tree, path on this machine) for each.
 */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "inspect/cubin.h"
#include "src/cuda/facts.h"
#include "src/wisdom_line.h"
#include "trial/launch.h"

#define HEED_FILE(symbol, path, place) LAB_EMBED(symbol, place);
#include HEED_LIBRARY
#undef HEED_FILE

static const lab_record_file files[] = {
#define HEED_FILE(symbol, path, place) { path, symbol },
#include HEED_LIBRARY
#undef HEED_FILE
};

static const lab_record_library sources = { files, sizeof files / sizeof *files };

const lab_record_library *lab_build_sources(void)
{
    return &sources;
}

/* The number behind "sm_" in features such as "sm_90-driver13.0-nvrtc13.0"; 0: there is none. */
static int arch_of(const char *features)
{
    const char *at = features ? strstr(features, "sm_") : NULL;
    return at ? atoi(at + 3) : 0;
}

/* The words for how @facts launch; "" if they do not fit. */
static void describe_launch(const heed_cuda_facts *facts, char words[LAB_RECORD_LAUNCH_SIZE])
{
    char text[LAB_LAUNCH_SIZE];
    lab_knob knobs[LAB_KNOBS_MAX];
    if (facts->define_count > LAB_KNOBS_MAX)
        return;
    for (int i = 0; i < facts->define_count; i++)
        knobs[i] = (lab_knob){ .name = facts->defines[i].name, .value = facts->defines[i].value };
    if (lab_launch_print(&facts->launch, facts->source, knobs, (size_t)facts->define_count, text))
        snprintf(words, LAB_RECORD_LAUNCH_SIZE, "%s", text);
}

/* The compiler's product: it ran just now, so the cache has it. */
static void describe_code(const heed_cuda_facts *facts, int arch, lab_record_described *described)
{
    heed_cubin built;
    lab_cubin cubin;
    lab_error error;
    lab_record_artifact *artifact = &described->artifact;
    const heed_build build = heed_cuda_facts_build(facts, arch);
    if (heed_jit_build(&build, &built) == HEED_OK) {
        lab_record_hash(built.data, built.size, described->sha256);
        *artifact = (lab_record_artifact){ .sha256 = described->sha256,
                                           .form = built.ptx ? "ptx" : "cubin",
                                           .bytes = (int64_t)built.size,
                                           .registers = -1,
                                           .spill_bytes = -1,
                                           .shared_bytes = facts->launch.smem };
        if (!built.ptx &&
            lab_cubin_read(&cubin, built.data, built.size, facts->name, &error) == HEED_OK) {
            lab_cubin_spills(&cubin, built.log);
            for (size_t i = 0; i < cubin.count; i++) {
                const lab_cubin_kernel *kernel = &cubin.kernels[i];
                if (strcmp(kernel->name, facts->launch.entry) != 0)
                    continue;
                artifact->registers = kernel->registers;
                artifact->spill_bytes = kernel->spill_stores < 0 || kernel->spill_loads < 0
                                            ? -1
                                            : kernel->spill_stores + kernel->spill_loads;
            }
            lab_cubin_free(&cubin);
        }
    }
    heed_cubin_free(&built);
}

void lab_build_describe(const lab_record_trial *trial, lab_record_described *described)
{
    char name[2 * HEED_NAME_SIZE];
    heed_cuda_facts facts;
    const char *config = trial->candidate.config, *build = trial->environment.build;
    const char *cache = getenv("HEED_CACHE_LIMIT");
    int arch = arch_of(trial->environment.features);
    snprintf(name, sizeof name, "%.95s%s%.95s", trial->candidate.kernel,
             config && *config ? "__" : "", config ? config : "");
    if (strcmp(trial->device.backend, "cuda") != 0 || !build ||
        strcmp(build, heed_wisdom_build()) != 0 ||
        heed_cuda_facts_find(name, trial->problem, arch, &facts) != HEED_OK)
        return;
    describe_launch(&facts, described->launch);
    if (trial->verdict == LAB_RECORD_OK && !(cache && strcmp(cache, "0") == 0))
        describe_code(&facts, arch, described);
}
