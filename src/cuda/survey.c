/*
 * survey.c - which parts of CUDA this machine has, for reports on missing ones
 */
#include "../survey.h"

#include <stdio.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/nvml.h"
#include "driver/nvrtc.h"
#include "shipped.h"

static void note_failure(heed_survey_part *part)
{
    part->found = false;
    snprintf(part->text, sizeof part->text, "%s", heed_message());
}

static const heed_driver *look_for_driver(heed_survey_part *part)
{
    const heed_driver *driver;
    part->found = heed_driver_get(&driver) == HEED_OK;
    if (!part->found) {
        note_failure(part);
        return NULL;
    }
    part->version = driver->version;
    snprintf(part->text, sizeof part->text, "for CUDA %d.%d, %s", driver->version / 1000,
             driver->version % 1000 / 10, driver->path);
    return driver;
}

static void look_for_nvrtc(heed_survey_part *part)
{
    const heed_nvrtc *nvrtc;
    part->found = heed_nvrtc_get(&nvrtc) == HEED_OK;
    if (!part->found) {
        note_failure(part);
        return;
    }
    part->version = 1000 * nvrtc->major + 10 * nvrtc->minor;
    snprintf(part->text, sizeof part->text, "%d.%d, %s (%s), for sm_%d to sm_%d", nvrtc->major,
             nvrtc->minor, nvrtc->path, nvrtc->place, nvrtc->supported[0],
             nvrtc->supported[nvrtc->supported_count - 1]);
}

static void look_for_shipped(heed_survey_part *part)
{
    char folder[PATH_MAX];
    int major, minor;
    part->found = heed_shipped_compiler(&major, &minor) && heed_shipped_folder(folder);
    if (!part->found)
        return;
    part->version = 1000 * major + 10 * minor;
    snprintf(part->text, sizeof part->text, "compiled by NVRTC %d.%d, in %s", major, minor, folder);
}

static void look_for_nvml(heed_survey_part *part)
{
    const heed_nvml *nvml;
    part->found = heed_nvml_get(&nvml) == HEED_OK;
    if (part->found)
        snprintf(part->text, sizeof part->text, "of driver %s", nvml->release);
    else
        note_failure(part);
}

/* An attribute of a device; 0 if unknown. */
static int ask(const heed_driver *driver, int device, int attribute)
{
    int value = 0;
    return driver->device_attribute(&value, attribute, device) == CU_SUCCESS ? value : 0;
}

static bool look_at_gpu(const heed_driver *driver, int ordinal, heed_survey_gpu *gpu)
{
    static const char *const modes[] = { "shared", "exclusive", "prohibited", "exclusive" };
    char bus_id[32];
    int device;
    *gpu = (heed_survey_gpu){ .arch = 0 };
    if (driver->device_get(&device, ordinal) != CU_SUCCESS ||
        driver->device_name(gpu->name, sizeof gpu->name, device) != CU_SUCCESS ||
        driver->device_memory(&gpu->memory, device) != CU_SUCCESS ||
        driver->device_bus_id(bus_id, sizeof bus_id, device) != CU_SUCCESS)
        return false;
    snprintf(gpu->device, sizeof gpu->device, "cuda:%d", ordinal);
    gpu->arch = 10 * ask(driver, device, CU_DEVICE_MAJOR) + ask(driver, device, CU_DEVICE_MINOR);
    gpu->old = gpu->arch < HEED_ARCH_NEEDED;
    gpu->multiprocessors = ask(driver, device, CU_DEVICE_MULTIPROCESSORS);
    gpu->mode = modes[ask(driver, device, CU_DEVICE_COMPUTE_MODE) & 3];
    gpu->divided = heed_nvml_is_divided(bus_id);
    heed_nvml_read_state(bus_id, &gpu->state);
    return true;
}

void heed_survey_take(heed_survey *survey)
{
    int count = 0;
    memset(survey, 0, sizeof *survey);
    const heed_driver *driver = look_for_driver(&survey->driver);
    look_for_nvrtc(&survey->nvrtc);
    look_for_shipped(&survey->shipped);
    look_for_nvml(&survey->nvml);
    if (!driver || driver->empty || driver->device_count(&count) != CU_SUCCESS)
        return;
    for (int i = 0; i < count && survey->gpu_count < HEED_SURVEY_GPUS_MAX; i++)
        survey->gpu_count += look_at_gpu(driver, i, &survey->gpus[survey->gpu_count]);
}
