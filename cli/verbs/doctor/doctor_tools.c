/*
 * doctor_tools.c - checks of `heed doctor`: NVIDIA's tools and torch
 *
 * They matter only if there is a GPU.
 */
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "inspect/disassembler.h"

/* A tool, and its use. */
static const struct {
    const char *name;
    const char *use;
    const char *fix;
} tools[] = {
    { "ncu", "hardware counters", "Install Nsight Compute, a part of the CUDA toolkit" },
    { "nvdisasm", "machine code: 'heed inspect' counts no instructions",
      "Install it: pip install nvidia-cuda-nvdisasm in a virtual environment, or the CUDA toolkit; "
      "or name the file in HEED_NVDISASM" },
    { "cuobjdump", "machine code", "Install it: cuda-cuobjdump of the CUDA toolkit" },
    { "compute-sanitizer", "check of the memory that GPU code uses",
      "Install it: cuda-sanitizer of the CUDA toolkit" },
};

void doctor_check_tools(doctor_report *report)
{
    char path[300];
    bool gpu = report->survey.gpu_count > 0;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (lab_tool_find(tools[i].name, path, sizeof path))
            doctor_say(report, DOCTOR_OK, tools[i].name, NULL, "%s", path);
        else if (gpu)
            doctor_say(report, DOCTOR_WARN, tools[i].name, tools[i].fix, "not found: no %s",
                       tools[i].use);
    }
}

/* Reads the version of torch and its CUDA from its files: loading torch takes seconds. */
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
