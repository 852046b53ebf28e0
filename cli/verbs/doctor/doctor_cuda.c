/*
 * doctor_cuda.c - checks of `heed doctor`: NVIDIA's driver, compiler, GPUs and tools, and torch
 *
 * All of them are optional: without a GPU heed works on the CPU, and nothing here is a failure
 * unless HEED_DEVICE requests a GPU.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "inspect/disassembler.h"
#include "report/format.h"

/* True if the file @path begins with @start. */
static bool file_starts(const char *path, const char *start)
{
    char line[32];
    return doctor_read_line(path, line, sizeof line) && strncmp(line, start, strlen(start)) == 0;
}

/* True if an NVIDIA display or compute controller is on the bus, with or without a driver. */
static bool see_gpu(void)
{
    char path[256];
    glob_t found;
    bool seen = false;
    if (glob("/sys/bus/pci/devices/*", 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !seen; i++) {
        snprintf(path, sizeof path, "%s/vendor", found.gl_pathv[i]);
        bool vendor = file_starts(path, "0x10de");
        snprintf(path, sizeof path, "%s/class", found.gl_pathv[i]);
        seen = vendor && file_starts(path, "0x03");
    }
    globfree(&found);
    return seen;
}

static bool wanted(void)
{
    const char *device = getenv("HEED_DEVICE");
    return device && strncmp(device, "cuda", 4) == 0;
}

static void say_driver(doctor_report *report, const heed_survey *survey)
{
    const heed_survey_part *driver = &survey->driver;
    const char *wish = getenv("HEED_LIBCUDA");
    doctor_level missing = wanted() ? DOCTOR_FAIL : DOCTOR_WARN;
    if (driver->found && survey->gpu_count)
        doctor_say(report, DOCTOR_OK, "driver", NULL, "%s", driver->text);
    else if (driver->found)
        doctor_say(report, missing, "driver",
                   "Give this process a GPU: the container's --gpus all, CUDA_VISIBLE_DEVICES",
                   "%s; it sees no GPU", driver->text);
    else if (wish && *wish)
        doctor_say(report, missing, "driver", "Correct or unset HEED_LIBCUDA", "%s", driver->text);
    else if (see_gpu())
        doctor_say(report, missing, "driver",
                   "Install or update NVIDIA's driver; in a container, run it with --gpus all",
                   "there is a GPU, but %s", driver->text);
    else if (wanted())
        doctor_say(report, DOCTOR_FAIL, "driver", "Unset HEED_DEVICE, or install NVIDIA's driver",
                   "HEED_DEVICE asks for a GPU, but %s", driver->text);
    else
        doctor_say(report, DOCTOR_OK, "driver", NULL,
                   "no NVIDIA GPU and no driver: heed uses the CPU");
}

/* A driver accepts code from every compiler of its major version, but not always from a later
 * one. */
static bool is_too_new(const heed_survey_part *nvrtc, const heed_survey_part *driver)
{
    return nvrtc->found && driver->found && nvrtc->version / 1000 > driver->version / 1000;
}

static void say_nvrtc(doctor_report *report, const heed_survey *survey)
{
    static const char fix[] = "Install the CUDA toolkit, or in a virtual environment of Python "
                              "nvidia-cuda-nvrtc (for a driver of CUDA 12 "
                              "nvidia-cuda-nvrtc-cu12); or name the file in HEED_NVRTC";
    static const char newer[] =
        "Update the driver, or name in HEED_NVRTC a compiler of the driver's version (for CUDA 12: "
        "pip install nvidia-cuda-nvrtc-cu12)";
    if (is_too_new(&survey->nvrtc, &survey->driver))
        doctor_say(report, DOCTOR_WARN, "NVRTC", newer,
                   "the driver for CUDA %d.%d may refuse the code of a newer compiler: %s",
                   survey->driver.version / 1000, survey->driver.version % 1000 / 10,
                   survey->nvrtc.text);
    else if (survey->nvrtc.found)
        doctor_say(report, DOCTOR_OK, "NVRTC", NULL, "%s", survey->nvrtc.text);
    else if (getenv("HEED_NVRTC"))
        doctor_say(report, DOCTOR_FAIL, "NVRTC", "Correct or unset HEED_NVRTC", "%s",
                   survey->nvrtc.text);
    else if (survey->gpu_count && survey->shipped.found)
        doctor_say(report, DOCTOR_WARN, "NVRTC", fix, "only precompiled kernels can run: %s",
                   survey->nvrtc.text);
    else if (survey->gpu_count)
        doctor_say(report, DOCTOR_FAIL, "NVRTC", fix, "%s", survey->nvrtc.text);
    else
        doctor_say(report, DOCTOR_OK, "NVRTC", NULL,
                   "not found: GPUs and 'heed inspect' would need it");
}

static void say_shipped(doctor_report *report, const heed_survey *survey)
{
    if (survey->shipped.found)
        doctor_say(report, DOCTOR_OK, "kernels", NULL, "%s", survey->shipped.text);
}

static void say_nvml(doctor_report *report, const heed_survey *survey)
{
    if (survey->nvml.found)
        doctor_say(report, DOCTOR_OK, "NVML", NULL, "%s", survey->nvml.text);
    else if (survey->gpu_count)
        doctor_say(
            report, DOCTOR_WARN, "NVML", "Install libnvidia-ml.so.1, which comes with the driver",
            "clocks, power and other users of the GPU will be unknown: %s", survey->nvml.text);
}

/* -------------------------------------------------------------------------- */
/* A GPU                                                                      */
/* -------------------------------------------------------------------------- */

/* True if the clocks are throttled for a reason other than the usual ones. */
static bool is_throttled(const heed_device_state *state)
{
    return *state->throttle && strcmp(state->throttle, "none") != 0 &&
           strcmp(state->throttle, "idle") != 0;
}

static void say_use(doctor_report *report, const heed_survey_gpu *gpu)
{
    const heed_device_state *state = &gpu->state;
    if (state->other_processes > 0)
        doctor_say(report, DOCTOR_WARN, gpu->device,
                   "Wait for the other programs to finish before you time anything",
                   "%d process%s compute%s on it: timings will be noisy", state->other_processes,
                   state->other_processes == 1 ? "" : "es", state->other_processes == 1 ? "s" : "");
    if (is_throttled(state))
        doctor_say(report, DOCTOR_WARN, gpu->device,
                   "Cool it, or raise its limits: nvidia-smi -q -d PERFORMANCE",
                   "its clocks are throttled: %s", state->throttle);
    if (state->sm_clock_hz > 0)
        doctor_say(report, DOCTOR_OK, gpu->device, NULL,
                   "%.0f MHz, memory %.0f MHz, %.0f W, %.0f C", state->sm_clock_hz / 1e6,
                   state->memory_clock_hz / 1e6, state->power_w, state->temperature_c);
}

static void say_answer(doctor_report *report, const heed_survey_gpu *gpu)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = gpu->device };
    if (heed_context_create(&context, &options) != HEED_OK)
        context = NULL;
    doctor_probe(report, gpu->device, "If nothing else failed above, report this as a bug",
                 context);
    heed_context_destroy(context);
}

static void check_gpu(doctor_report *report, const heed_survey_gpu *gpu, bool can_compile)
{
    char memory[LAB_FORMAT_SIZE];
    bool prohibited = strcmp(gpu->mode, "prohibited") == 0;
    const char *fix = gpu->old     ? "Use the CPU, or a GPU of compute capability 8.0 or later"
                      : prohibited ? "Permit computing on it: nvidia-smi -c DEFAULT"
                                   : NULL;
    doctor_say(report, fix ? DOCTOR_WARN : DOCTOR_OK, gpu->device, fix,
               "%s, compute capability %d.%d, %d multiprocessors, %s, %s%s", gpu->name,
               gpu->arch / 10, gpu->arch % 10, gpu->multiprocessors,
               lab_format_bytes(gpu->memory, memory), gpu->mode,
               gpu->divided ? ", divided into instances (MIG)" : "");
    if (fix)
        return;
    say_use(report, gpu);
    if (can_compile)
        say_answer(report, gpu);
}

void doctor_check_cuda(doctor_report *report)
{
    heed_survey *survey = &report->survey;
    if (cli_device_check(cli_device(report->args)) != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, "device", "Correct or unset HEED_DEVICE", "%s",
                   heed_message());
    heed_survey_take(survey);
    say_driver(report, survey);
    say_nvrtc(report, survey);
    say_shipped(report, survey);
    say_nvml(report, survey);
    for (int i = 0; i < survey->gpu_count && !cli_interrupted(); i++)
        check_gpu(report, &survey->gpus[i], survey->nvrtc.found || survey->shipped.found);
}

/* -------------------------------------------------------------------------- */
/* NVIDIA's tools, and torch                                                  */
/* -------------------------------------------------------------------------- */

/* A tool, and its use. They matter only if there is a GPU. */
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
