/*
 * doctor_cuda.c - checks of `heed doctor`: NVIDIA's driver, compiler and GPUs
 *
 * All of them are optional: without a GPU heed works on the CPU, and nothing here is a failure
 * unless HEED_DEVICE requests a GPU.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "report/format.h"

/* True if the file @path begins with @start. */
static bool file_starts(const char *path, const char *start)
{
    char line[32] = "";
    FILE *file = fopen(path, "re");
    bool same = file && fgets(line, sizeof line, file) && strncmp(line, start, strlen(start)) == 0;
    if (file)
        fclose(file);
    return same;
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
    bool right = false;
    heed_status status = heed_context_create(&context, &options);
    if (status == HEED_OK)
        status = doctor_probe(context, &right);
    if (status != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, gpu->device,
                   "If nothing else failed above, report this as a bug",
                   "a known answer could not be computed: %s", heed_message());
    else if (!right)
        doctor_say(report, DOCTOR_FAIL, gpu->device,
                   "Report this as a bug, with the output of 'heed verify'",
                   "a known answer came out wrong");
    else
        doctor_say(report, DOCTOR_OK, gpu->device, NULL, "a known answer came out right");
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
    heed_survey_take(survey);
    say_driver(report, survey);
    say_nvrtc(report, survey);
    say_shipped(report, survey);
    say_nvml(report, survey);
    for (int i = 0; i < survey->gpu_count && !cli_interrupted(); i++)
        check_gpu(report, &survey->gpus[i], survey->nvrtc.found || survey->shipped.found);
}
