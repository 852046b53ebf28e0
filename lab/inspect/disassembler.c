/*
 * disassembler.c - finds NVIDIA's disassemblers and other tools
 */
#include "inspect/disassembler.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "src/cuda/driver/places.h"

#define WHEEL_13 "/lib/python3*/site-packages/nvidia/cu1[3-9]/bin/"
#define WHEEL_12 "/lib/python3*/site-packages/nvidia/cuda_*/bin/"
#define DEBIAN_13 "/lib/python3*/dist-packages/nvidia/cu1[3-9]/bin/"
#define TRITON "/lib/python3*/*-packages/triton/backends/nvidia/bin/"

/* Folders, as glob(3) patterns to which the program's name is appended. */
static const struct {
    const char *name;
    heed_root kind;
    const char *variable;
    const char *pattern;
} places[] = {
    { "CUDA_HOME", HEED_ROOT_FOLDER, "CUDA_HOME", "/bin/" },
    { "CUDA_PATH", HEED_ROOT_FOLDER, "CUDA_PATH", "/bin/" },
    { "VIRTUAL_ENV", HEED_ROOT_FOLDER, "VIRTUAL_ENV", WHEEL_13 },
    { "VIRTUAL_ENV", HEED_ROOT_FOLDER, "VIRTUAL_ENV", WHEEL_12 },
    { "VIRTUAL_ENV", HEED_ROOT_FOLDER, "VIRTUAL_ENV", TRITON },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", "/bin/" },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", WHEEL_13 },
    { "CONDA_PREFIX", HEED_ROOT_FOLDER, "CONDA_PREFIX", TRITON },
    { "python3", HEED_ROOT_PYTHON, NULL, WHEEL_13 },
    { "python3", HEED_ROOT_PYTHON, NULL, WHEEL_12 },
    { "python3", HEED_ROOT_PYTHON, NULL, DEBIAN_13 },
    { "python3", HEED_ROOT_PYTHON, NULL, TRITON },
    { "python3", HEED_ROOT_REAL, NULL, WHEEL_13 },
    { "python3", HEED_ROOT_REAL, NULL, WHEEL_12 },
    { "python3", HEED_ROOT_REAL, NULL, TRITON },
    { "python3 of the user", HEED_ROOT_FOLDER, "HOME", "/.local" WHEEL_13 },
    { "python3 of the user", HEED_ROOT_FOLDER, "HOME", "/.local" WHEEL_12 },
    { "python3 of the user", HEED_ROOT_FOLDER, "HOME", "/.local" TRITON },
    { "python3 of the system", HEED_ROOT_FIXED, NULL, "/usr/local" DEBIAN_13 },
    { "python3 of the system", HEED_ROOT_FIXED, NULL, "/usr/local" TRITON },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda/bin/" },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda-*/bin/" },
    { "/usr/local/cuda", HEED_ROOT_FIXED, NULL, "/usr/local/cuda*/compute-sanitizer/" },
    { "/opt/nvidia", HEED_ROOT_FIXED, NULL, "/opt/nvidia/nsight-compute/*/" }, /* ncu */
};

/* cuobjdump runs nvdisasm, so it comes second. */
static const char *const programs[] = { "nvdisasm", "cuobjdump" };

/* Finds the last match, which has the highest version. */
static bool find_in_place(size_t place, const char *name, char *path, size_t size)
{
    char root[PATH_MAX], pattern[PATH_MAX];
    return heed_root_find(places[place].kind, places[place].variable, root) &&
           heed_root_pattern(root, places[place].pattern, name, pattern) &&
           lab_path_match(pattern, path, size);
}

static bool is_object_tool(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "cuobjdump", strlen("cuobjdump")) == 0;
}

/* Looks for a program in PATH, then in all places. */
static bool find_named(lab_disassembler *tool, const char *name)
{
    *tool = (lab_disassembler){ .object_tool = is_object_tool(name), .place = "PATH" };
    if (lab_path_find(getenv("PATH"), name, lab_path_is_program, tool->path, sizeof tool->path))
        return true;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        tool->place = places[i].name;
        if (find_in_place(i, name, tool->path, sizeof tool->path))
            return true;
    }
    return false;
}

heed_status lab_disassembler_find(lab_disassembler *tool, lab_error *error)
{
    const char *wish = getenv("HEED_NVDISASM");
    *tool = (lab_disassembler){ .place = "HEED_NVDISASM" };
    if (wish && *wish) {
        snprintf(tool->path, sizeof tool->path, "%s", wish);
        tool->object_tool = is_object_tool(wish);
        return lab_path_is_program(wish)
                   ? HEED_OK
                   : lab_fail(error, HEED_ERR_DEVICE,
                              "HEED_NVDISASM=%s is not a program; correct or unset it", wish);
    }
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (find_named(tool, programs[i]))
            return HEED_OK;
    return lab_fail(error, HEED_ERR_DEVICE,
                    "no disassembler was found; install nvdisasm (pip install nvidia-cuda-nvdisasm "
                    "in a virtual environment, or the CUDA toolkit), or name the file in "
                    "HEED_NVDISASM");
}

bool lab_tool_find(const char *name, char *path, size_t size)
{
    const char *wish = getenv("HEED_NVDISASM");
    lab_disassembler tool;
    if (wish && *wish && strcmp(name, programs[0]) == 0) {
        snprintf(path, size, "%s", wish);
        return lab_path_is_program(path);
    }
    return find_named(&tool, name) && (size_t)snprintf(path, size, "%s", tool.path) < size;
}

void lab_disassembler_arguments(const lab_disassembler *tool, const char *file,
                                const char *arguments[LAB_DISASSEMBLER_ARGUMENTS])
{
    arguments[0] = tool->path;
    arguments[1] = tool->object_tool ? "-sass" : "-c";
    arguments[2] = file;
    arguments[3] = NULL;
}
