/*
 * nvrtc.c - NVIDIA's runtime compiler (NVRTC), found and loaded on first use
 */
#include "nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "places.h"

/* -------------------------------------------------------------------------- */
/* One library                                                                */
/* -------------------------------------------------------------------------- */

/* Entries and the fields that point to them. */
static const struct {
    const char *name;
    size_t field;
} entries[] = {
    { "nvrtcVersion", offsetof(heed_nvrtc, version) },
    { "nvrtcGetNumSupportedArchs", offsetof(heed_nvrtc, arch_count) },
    { "nvrtcGetSupportedArchs", offsetof(heed_nvrtc, archs) },
    { "nvrtcGetErrorString", offsetof(heed_nvrtc, error) },
    { "nvrtcCreateProgram", offsetof(heed_nvrtc, create) },
    { "nvrtcDestroyProgram", offsetof(heed_nvrtc, destroy) },
    { "nvrtcCompileProgram", offsetof(heed_nvrtc, compile) },
    { "nvrtcGetProgramLogSize", offsetof(heed_nvrtc, log_size) },
    { "nvrtcGetProgramLog", offsetof(heed_nvrtc, log) },
    { "nvrtcGetCUBINSize", offsetof(heed_nvrtc, cubin_size) },
    { "nvrtcGetCUBIN", offsetof(heed_nvrtc, cubin) },
    { "nvrtcGetPTXSize", offsetof(heed_nvrtc, ptx_size) },
    { "nvrtcGetPTX", offsetof(heed_nvrtc, ptx) },
};

/* Functions as data pointers, which POSIX allows but ISO C does not define. */
static bool find_entries(heed_nvrtc *nvrtc, char *why, size_t size)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(nvrtc->library, entries[i].name);
        if (!entry) {
            snprintf(why, size, "it has no %s; NVRTC 11.2 or later is needed", entries[i].name);
            return false;
        }
        memcpy((char *)nvrtc + entries[i].field, &entry, sizeof entry);
    }
    return true;
}

static bool ask_about_itself(heed_nvrtc *nvrtc, char *why, size_t size)
{
    int count = 0;
    bool answers = nvrtc->version(&nvrtc->major, &nvrtc->minor) == NVRTC_SUCCESS &&
                   nvrtc->arch_count(&count) == NVRTC_SUCCESS;
    if (answers && (count < 1 || count > HEED_NVRTC_ARCHS_MAX)) {
        snprintf(why, size, "it supports %d architectures; 1 to %d are expected", count,
                 HEED_NVRTC_ARCHS_MAX);
        return false;
    }
    if (!answers || nvrtc->archs(nvrtc->supported) != NVRTC_SUCCESS) {
        snprintf(why, size, "it does not return its version and architectures");
        return false;
    }
    nvrtc->supported_count = count;
    return true;
}

/* Stores the library's path, and loads the library that it opens by SONAME when it compiles: the
 * loader does not search Python packages. */
static void find_neighbour(heed_nvrtc *nvrtc)
{
    const struct link_map *map = NULL;
    char path[PATH_MAX + 64];
    struct stat info;
    if (dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name)
        return;
    snprintf(nvrtc->path, sizeof nvrtc->path, "%s", map->l_name);
    if (stat(nvrtc->path, &info) == 0)
        nvrtc->file_size = (long long)info.st_size;
    const char *slash = strrchr(nvrtc->path, '/');
    int folder = slash ? (int)(slash - nvrtc->path) : 0;
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", folder, nvrtc->path,
             nvrtc->major, nvrtc->minor);
    dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* if it is elsewhere, NVRTC finds it itself */
}

/* Opens the library @name into *@nvrtc, or writes the reason to @why. Never closes a library that
 * was opened: CUDA's libraries do not support that well. */
static bool open_library(heed_nvrtc *nvrtc, const char *name, int mode, char *why, size_t size)
{
    heed_nvrtc found = { .library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | mode) };
    if (!found.library) {
        const char *reason = dlerror();
        snprintf(why, size, "%s", reason ? reason : "not loaded");
        return false;
    }
    if (!find_entries(&found, why, size) || !ask_about_itself(&found, why, size))
        return false;
    find_neighbour(&found);
    snprintf(why, size, "NVRTC %d.%d", found.major, found.minor);
    *nvrtc = found;
    return true;
}

/* -------------------------------------------------------------------------- */
/* Places                                                                     */
/* -------------------------------------------------------------------------- */

typedef struct search_place {
    const char *name;
    heed_root kind;
    const char *variable;
    const char *pattern; /* of glob(3) */
} search_place;

#define LIBRARY "/libnvrtc.so.[1-9]*"
#define WHEEL_12 "/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib" LIBRARY
#define WHEEL_13 "/lib/python3*/site-packages/nvidia/cu1[3-9]/lib" LIBRARY
#define DEBIAN_12 "/lib/python3*/dist-packages/nvidia/cuda_nvrtc/lib" LIBRARY
#define DEBIAN_13 "/lib/python3*/dist-packages/nvidia/cu1[3-9]/lib" LIBRARY

static const search_place places[] = {
    { "HEED_NVRTC", HEED_ROOT_FILE, "HEED_NVRTC", NULL },
    { "this process", HEED_ROOT_LOADED, NULL, NULL },
    { "VIRTUAL_ENV", HEED_ROOT_FOLDER, "VIRTUAL_ENV", WHEEL_13 },
    { "VIRTUAL_ENV", HEED_ROOT_FOLDER, "VIRTUAL_ENV", WHEEL_12 },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", WHEEL_13 },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", WHEEL_12 },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", "/lib" LIBRARY },
    { "python3", HEED_ROOT_PYTHON, NULL, WHEEL_13 },
    { "python3", HEED_ROOT_PYTHON, NULL, WHEEL_12 },
    { "python3", HEED_ROOT_PYTHON, NULL, DEBIAN_13 },
    { "python3", HEED_ROOT_PYTHON, NULL, DEBIAN_12 },
    { "python3", HEED_ROOT_REAL, NULL, WHEEL_13 },
    { "python3", HEED_ROOT_REAL, NULL, WHEEL_12 },
    { "python3 of the user", HEED_ROOT_FOLDER, "HOME", "/.local" WHEEL_13 },
    { "python3 of the user", HEED_ROOT_FOLDER, "HOME", "/.local" WHEEL_12 },
    { "python3 of the system", HEED_ROOT_FIXED, NULL, "/usr/local" DEBIAN_13 },
    { "python3 of the system", HEED_ROOT_FIXED, NULL, "/usr/local" DEBIAN_12 },
    { "CUDA_HOME", HEED_ROOT_FOLDER, "CUDA_HOME", "/lib64" LIBRARY },
    { "CUDA_HOME", HEED_ROOT_FOLDER, "CUDA_HOME", "/lib" LIBRARY },
    { "CUDA_HOME", HEED_ROOT_FOLDER, "CUDA_HOME", "/targets/*/lib" LIBRARY },
    { "CUDA_PATH", HEED_ROOT_FOLDER, "CUDA_PATH", "/lib64" LIBRARY },
    { "CUDA_PATH", HEED_ROOT_FOLDER, "CUDA_PATH", "/lib" LIBRARY },
    { "CUDA_PATH", HEED_ROOT_FOLDER, "CUDA_PATH", "/targets/*/lib" LIBRARY },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda/lib64" LIBRARY },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda/lib" LIBRARY },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda-*/lib64" LIBRARY },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda-*/lib" LIBRARY },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda-*/targets/*/lib" LIBRARY },
    { "the system", HEED_ROOT_SYSTEM, NULL, NULL },
};

/* Names of the library. CUDA 11.2 to 11.8 all use 11.2. */
static const char *const sonames[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" };

/* -------------------------------------------------------------------------- */
/* The search                                                                 */
/* -------------------------------------------------------------------------- */

static void note_try(heed_nvrtc_search *search, const char *place, const char *path,
                     const char *outcome)
{
    if (search->count == HEED_NVRTC_TRIES_MAX)
        return;
    heed_nvrtc_try *try = &search->tries[search->count++];
    try->place = place;
    snprintf(try->path, sizeof try->path, "%s", path);
    snprintf(try->outcome, sizeof try->outcome, "%s", outcome);
}

static bool try_library(heed_nvrtc *nvrtc, heed_nvrtc_search *search, const char *place,
                        const char *name, int mode)
{
    char why[256];
    bool good = open_library(nvrtc, name, mode, why, sizeof why);
    note_try(search, place, good ? nvrtc->path : name, why);
    if (good)
        nvrtc->place = place;
    return good;
}

static bool try_sonames(heed_nvrtc *nvrtc, heed_nvrtc_search *search, const char *place, int mode)
{
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++)
        if (try_library(nvrtc, search, place, sonames[i], mode))
            return true;
    return false;
}

/* Tries the files that match, the one with the highest version first. */
static bool try_pattern(heed_nvrtc *nvrtc, heed_nvrtc_search *search, const search_place *place)
{
    char root[PATH_MAX], pattern[PATH_MAX];
    if (!heed_root_find(place->kind, place->variable, root))
        return false; /* a variable that is not set is no place */
    if (!heed_root_pattern(root, place->pattern, "", pattern)) {
        note_try(search, place->name, root, "the path is too long");
        return false;
    }
    glob_t files;
    bool good = false;
    if (glob(pattern, 0, NULL, &files) != 0)
        files.gl_pathc = 0;
    for (size_t i = files.gl_pathc; i > 0 && !good; i--)
        good = try_library(nvrtc, search, place->name, files.gl_pathv[i - 1], 0);
    if (files.gl_pathc == 0)
        note_try(search, place->name, pattern, "no such file");
    else
        globfree(&files);
    return good;
}

static bool try_place(heed_nvrtc *nvrtc, heed_nvrtc_search *search, const search_place *place)
{
    const char *value;
    switch (place->kind) {
    case HEED_ROOT_FILE:
        value = getenv(place->variable);
        return value && *value && try_library(nvrtc, search, place->name, value, 0);
    case HEED_ROOT_LOADED:
        return try_sonames(nvrtc, search, place->name, RTLD_NOLOAD);
    case HEED_ROOT_SYSTEM:
        return try_sonames(nvrtc, search, place->name, 0);
    case HEED_ROOT_FOLDER:
    case HEED_ROOT_PYTHON:
    case HEED_ROOT_REAL:
    case HEED_ROOT_FIXED:
        break;
    }
    return try_pattern(nvrtc, search, place);
}

heed_status heed_nvrtc_load(heed_nvrtc *nvrtc, heed_nvrtc_search *search)
{
    *nvrtc = (heed_nvrtc){ .library = NULL };
    search->count = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (try_place(nvrtc, search, &places[i]))
            return HEED_OK;
        if (places[i].kind == HEED_ROOT_FILE && search->count > 0)
            return heed_fail(HEED_ERR_DEVICE, "HEED_NVRTC=%s is not NVRTC: %s",
                             getenv(places[i].variable), search->tries[0].outcome);
    }
    return heed_fail(
        HEED_ERR_DEVICE,
        "NVRTC, CUDA's run-time compiler, was not found in %d places; install it "
        "(pip install nvidia-cuda-nvrtc in a virtual environment, or the CUDA toolkit), or "
        "name the file libnvrtc.so.* in HEED_NVRTC",
        search->count);
}

/* -------------------------------------------------------------------------- */
/* The process's one                                                          */
/* -------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    heed_status status;
    char message[1024];
    heed_nvrtc nvrtc;
    heed_nvrtc_search search;
} process = { .once = PTHREAD_ONCE_INIT };

static void load_once(void)
{
    process.status = heed_nvrtc_load(&process.nvrtc, &process.search);
    if (process.status != HEED_OK)
        snprintf(process.message, sizeof process.message, "%s", heed_message());
}

heed_status heed_nvrtc_get(const heed_nvrtc **nvrtc)
{
    pthread_once(&process.once, load_once);
    *nvrtc = process.status == HEED_OK ? &process.nvrtc : NULL;
    return process.status == HEED_OK ? HEED_OK : heed_fail(process.status, "%s", process.message);
}
