/*
 * fake_emulator.c - launches of the fake driver on the emulator
 */
#include "fake_emulator.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/driver/driver.h"
#include "cuda/kernels/append_args.cuh"
#include "cuda/kernels/merge_args.cuh"
#include "emulator/emulator.h"
#include "emulator/kernels/append.h"
#include "emulator/kernels/kernel.h"
#include "emulator/kernels/merge.h"
#include "emulator/map.h"

/* -------------------------------------------------------------------------- */
/* Libraries                                                                  */
/* -------------------------------------------------------------------------- */

/* The section headers are the last part of the file. */
static size_t image_size(const char *image)
{
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    if (header.e_type != ET_DYN || header.e_shoff == 0)
        return 0;
    return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

/* The loader knows libraries by their names, so each gets its own file, which is only needed until
 * it is loaded. */
void *fake_library_open(const char *image)
{
    char path[PATH_MAX];
    void *library = NULL;
    size_t size = image_size(image);
    if (size == 0)
        return NULL;
    fake_temporary(path);
    int file = mkstemp(path);
    if (file >= 0 && write(file, image, size) == (ssize_t)size)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "fake_cuda: a module cannot be loaded: %s\n",
                file < 0 ? strerror(errno) : dlerror());
    if (file >= 0) {
        unlink(path);
        close(file);
    }
    return library;
}

/* Where the description of a library has a function. */
typedef struct place {
    const char *name;
    size_t offset;
    size_t args_size;
} place;

static const place places[] = {
    { "heed_attend", offsetof(emulated_kernel, run), sizeof(heed_cuda_args) },
    { "heed_list", offsetof(emulated_kernel, list), sizeof(heed_cuda_args) },
    { "heed_combine", offsetof(emulated_kernel, combine), sizeof(heed_cuda_args) },
    { "heed_append_wide", offsetof(emulated_append, wide), sizeof(heed_cuda_append_args) },
    { "heed_append_any", offsetof(emulated_append, any), sizeof(heed_cuda_append_args) },
    { "heed_merge_wide", offsetof(emulated_merge, wide), sizeof(heed_cuda_merge_args) },
    { "heed_merge_any", offsetof(emulated_merge, any), sizeof(heed_cuda_merge_args) },
};

fake_code fake_library_code(void *library, const char *name)
{
    fake_code code = { .kernel = NULL };
    const char *described = library ? dlsym(library, "emulated") : NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && described; i++) {
        if (strcmp(places[i].name, name) != 0)
            continue;
        memcpy(&code.kernel, described + places[i].offset, sizeof code.kernel);
        code.args_size = places[i].args_size;
    }
    if (code.kernel && strcmp(name, "heed_attend") == 0) {
        const emulated_kernel *kernel = (const void *)described;
        code.cluster = kernel->cluster;
        code.mapped = kernel->mapped > 0;
        code.args_size = code.mapped ? sizeof(heed_cuda_mapped_args) : code.args_size;
    }
    return code;
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

/* The emulator's map of the same boxes. Those that it does not have become maps of nothing, which
 * it refuses to copy with. */
static void convert_map(heed_cuda_map *map)
{
    fake_map from;
    memcpy(&from, map, sizeof from);
    int64_t dims[4], strides[3];
    int box[4];
    bool known = from.mark == FAKE_MAP_MARK && 16U << from.swizzle == 2 * from.box[0] &&
                 from.fill == CU_MAP_ZEROS;
    for (int i = 0; i < 4; i++) {
        dims[i] = known ? (int64_t)from.dims[i] : 0;
        box[i] = known ? (int)from.box[i] : 0;
    }
    for (int i = 0; i < 3; i++)
        strides[i] = known ? (int64_t)from.strides[i] : 0;
    emulator_map(map, known ? from.address : NULL, dims, strides, box);
}

static void convert_maps(heed_cuda_mapped_args *args)
{
    heed_cuda_map *const maps[] = { &args->q, &args->k, &args->v, &args->o, &args->bias };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        convert_map(maps[i]);
}

/* Adds a line for each launch to the file that FAKE_CUDA_TRACE names. */
static void trace(const emulator_launch *launch, const char *function)
{
    const char *path = getenv("FAKE_CUDA_TRACE");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %u\n", function, launch->grid[0]);
    fclose(file);
}

static bool run(const emulator_launch *launch, const char *function)
{
    trace(launch, function);
    emulator_report report;
    const char *why = emulator_run(launch, &report) ? report.uninitialised_at
                                                    : emulator_complaint(&report);
    if (*why)
        fprintf(stderr, "fake_cuda: %s: %s\n", function, why);
    return !*why;
}

bool fake_emulate(const fake_code *code, const fake_launch *launch)
{
    _Alignas(heed_cuda_mapped_args) unsigned char args[FAKE_ARGS_MAX];
    memcpy(args, launch->args, code->args_size);
    if (code->mapped)
        convert_maps((heed_cuda_mapped_args *)(void *)args);
    const emulator_launch it = {
        .kernel = code->kernel,
        .args = args,
        .grid = { launch->grid[0], launch->grid[1], launch->grid[2] },
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .shared_bytes = launch->smem,
        .seed = launch->grid[0],
        .cluster = code->cluster,
    };
    return run(&it, launch->function);
}
