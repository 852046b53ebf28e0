/*
 * tools.c - finds NVIDIA's tools
 */
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "disassembler.h"

/* Places of tools other than PATH and CUDA's folders, as glob(3) patterns. */
static const struct {
    const char *name, *pattern;
} places[] = {
    { "ncu", "/opt/nvidia/nsight-compute/*/ncu" },
    { "compute-sanitizer", "/usr/local/cuda*/compute-sanitizer/compute-sanitizer" },
};

/* Disassemblers are also in Python packages. */
static bool find_disassembler(const char *name, char *path, size_t size)
{
    lab_disassembler tool;
    bool wanted = strcmp(name, "nvdisasm") == 0 || strcmp(name, "cuobjdump") == 0;
    if (!wanted || !lab_disassembler_find_named(&tool, name))
        return false;
    snprintf(path, size, "%s", tool.path);
    return true;
}

/* True if HEED_NVDISASM names this tool. */
static bool is_named(const char *name)
{
    const char *wish = getenv("HEED_NVDISASM");
    return wish && *wish && strcmp(name, "nvdisasm") == 0;
}

bool lab_tool_find(const char *name, char *path, size_t size)
{
    static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
    char text[512];
    if (is_named(name)) {
        snprintf(path, size, "%s", getenv("HEED_NVDISASM"));
        return access(path, X_OK) == 0;
    }
    if (lab_path_find(getenv("PATH"), name, lab_path_is_program, path, size))
        return true;
    for (int i = 0; i < 2; i++) {
        const char *folder = getenv(variables[i]);
        snprintf(text, sizeof text, "%s/bin", folder ? folder : "");
        if (folder && lab_path_find(text, name, lab_path_is_program, path, size))
            return true;
    }
    snprintf(text, sizeof text, "/usr/local/cuda*/bin/%s", name);
    bool found = lab_path_match(text, path, size);
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        found = strcmp(places[i].name, name) == 0 && lab_path_match(places[i].pattern, path, size);
    return found || find_disassembler(name, path, size);
}
