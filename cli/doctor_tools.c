/*
 * doctor_tools.c - the checks of `heed doctor` that look for NVIDIA's tools and for torch
 *
 * They are wanted where there is a GPU, and no loss where there is none.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "inspect/disassembler.h"

/* A tool, what it is for, and where it may lie beside PATH and CUDA's folders. */
static const struct {
    const char *name;
    const char *use;
    const char *fix;
    const char *pattern; /* of glob(3); NULL: none */
} tools[] = {
    { "ncu", "hardware counters", "Install Nsight Compute, which the CUDA toolkit has",
      "/opt/nvidia/nsight-compute/*/ncu" },
    { "nvdisasm", "machine code: 'heed inspect' counts no instructions",
      "Install it: pip install nvidia-cuda-nvdisasm in a virtual environment, or the CUDA toolkit; "
      "or name the file in HEED_NVDISASM",
      NULL },
    { "cuobjdump", "machine code", "Install it: cuda-cuobjdump of the CUDA toolkit", NULL },
    { "compute-sanitizer", "check of the memory that GPU code uses",
      "Install it: cuda-sanitizer of the CUDA toolkit",
      "/usr/local/cuda*/compute-sanitizer/compute-sanitizer" },
};

/* The last executable file that matches @pattern, as the highest version is; false if none does. */
static bool find_pattern(const char *pattern, char *path, size_t size)
{
    glob_t files;
    bool found = false;
    if (glob(pattern, 0, NULL, &files) != 0)
        return false;
    for (size_t i = files.gl_pathc; i > 0 && !found; i--) {
        snprintf(path, size, "%s", files.gl_pathv[i - 1]);
        found = access(path, X_OK) == 0;
    }
    globfree(&files);
    return found;
}

/* Looks for @name in the folders of @list, which colons separate. */
static bool find_in_list(const char *list, const char *name, char *path, size_t size)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");
        snprintf(path, size, "%.*s/%s", (int)length, list, name);
        if (length && access(path, X_OK) == 0)
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Disassemblers are in packages of Python too. */
static bool find_disassembler(const char *name, char *path, size_t size)
{
    lab_disassembler tool;
    bool wanted = strcmp(name, "nvdisasm") == 0 || strcmp(name, "cuobjdump") == 0;
    if (!wanted || !lab_disassembler_find_named(&tool, name))
        return false;
    snprintf(path, size, "%s", tool.path);
    return true;
}

/* The one that HEED_NVDISASM names, whatever else there is. */
static bool is_named(const char *name)
{
    const char *wish = getenv("HEED_NVDISASM");
    return wish && *wish && strcmp(name, "nvdisasm") == 0;
}

static bool find_tool(const char *name, const char *pattern, char *path, size_t size)
{
    static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
    char text[512];
    if (is_named(name)) {
        snprintf(path, size, "%s", getenv("HEED_NVDISASM"));
        return access(path, X_OK) == 0;
    }
    if (find_in_list(getenv("PATH"), name, path, size))
        return true;
    for (int i = 0; i < 2; i++) {
        const char *folder = getenv(variables[i]);
        snprintf(text, sizeof text, "%s/bin", folder ? folder : "");
        if (folder && find_in_list(text, name, path, size))
            return true;
    }
    snprintf(text, sizeof text, "/usr/local/cuda*/bin/%s", name);
    return find_pattern(text, path, size) || (pattern && find_pattern(pattern, path, size)) ||
           find_disassembler(name, path, size);
}

bool doctor_find_tool(const char *name, char *path, size_t size)
{
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0)
            return find_tool(name, tools[i].pattern, path, size);
    return false;
}

void doctor_check_tools(doctor_report *report)
{
    char path[300];
    bool gpu = report->survey.gpu_count > 0;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (find_tool(tools[i].name, tools[i].pattern, path, sizeof path))
            doctor_say(report, DOCTOR_OK, tools[i].name, NULL, "%s", path);
        else if (gpu)
            doctor_say(report, DOCTOR_WARN, tools[i].name, tools[i].fix, "not found: no %s",
                       tools[i].use);
    }
}

/* torch's own note of its version and CUDA, without loading it, which takes seconds. */
static bool ask_torch(char *line, int size)
{
    static const char script[] = "import importlib.util as u, os; "
                                 "p = u.find_spec('torch').submodule_search_locations[0]; s = {}; "
                                 "exec(open(os.path.join(p, 'version.py')).read(), s); "
                                 "print(s['__version__'], s.get('cuda') or 'without', p)";
    char command[1024];
    snprintf(command, sizeof command, "\"${HEED_PYTHON:-python3}\" -c \"%s\" 2>/dev/null", script);
    FILE *answer = popen(command, "re"); /* NOLINT(cert-env33-c) */
    bool told = answer && fgets(line, size, answer);
    if (answer)
        pclose(answer);
    if (told)
        line[strcspn(line, "\n")] = '\0';
    return told;
}

void doctor_check_torch(doctor_report *report)
{
    char line[400] = "", version[64], cuda[32], folder[256];
    bool gpu = report->survey.gpu_count > 0;
    bool told = ask_torch(line, sizeof line) &&
                sscanf(line, "%63s %31s %255[^\n]", version, cuda, folder) == 3;
    if (!told && gpu)
        doctor_say(report, DOCTOR_WARN, "torch",
                   "Install it: python3 -m pip install torch; HEED_PYTHON names the Python that "
                   "has it",
                   "not found: 'heed bench' lacks its rivals on the GPU");
    else if (told && gpu && strcmp(cuda, "without") == 0)
        doctor_say(report, DOCTOR_WARN, "torch", "Install a build of torch with CUDA",
                   "%s without CUDA, %s: no rival on the GPU", version, folder);
    else if (told)
        doctor_say(report, DOCTOR_OK, "torch", NULL, "%s, CUDA %s, %s", version, cuda, folder);
}
