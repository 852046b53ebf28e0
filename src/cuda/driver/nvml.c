/*
 * nvml.c - NVIDIA's management library (NVML): clocks, power, other processes on a GPU
 */
#include "nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML_SUCCESS 0
#define NVML_TOO_SMALL 7
#define CLOCK_SM 1
#define CLOCK_MEMORY 2
#define PROCESSES_MAX 64

/* -------------------------------------------------------------------------- */
/* Loading                                                                    */
/* -------------------------------------------------------------------------- */

/* Entries, with alternative names in other library versions. An entry that only returns a figure
 * may be absent; then the figure is unknown. */
static const struct {
    const char *name, *other_name;
    bool needed;
    size_t field;
} entries[] = {
    { "nvmlInit_v2", NULL, true, offsetof(heed_nvml, init) },
    { "nvmlErrorString", NULL, true, offsetof(heed_nvml, error_string) },
    { "nvmlDeviceGetHandleByPciBusId_v2", NULL, true, offsetof(heed_nvml, handle) },
    { "nvmlSystemGetDriverVersion", NULL, false, offsetof(heed_nvml, driver_version) },
    { "nvmlDeviceGetClockInfo", NULL, false, offsetof(heed_nvml, clock) },
    { "nvmlDeviceGetPowerUsage", NULL, false, offsetof(heed_nvml, power) },
    { "nvmlDeviceGetTemperature", NULL, false, offsetof(heed_nvml, temperature) },
    { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", false,
      offsetof(heed_nvml, throttle) },
    { "nvmlDeviceGetComputeRunningProcesses_v3", NULL, false, offsetof(heed_nvml, processes) },
    { "nvmlDeviceGetMigMode", NULL, false, offsetof(heed_nvml, mig_mode) },
};

/* Functions as data pointers, which POSIX allows but ISO C does not define. */
static heed_status find_entries(heed_nvml *nvml, const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(nvml->library, entries[i].name);
        if (!entry && entries[i].other_name)
            entry = dlsym(nvml->library, entries[i].other_name);
        if (!entry && entries[i].needed)
            return heed_fail(HEED_ERR_DEVICE, "%s has no %s", name, entries[i].name);
        memcpy((char *)nvml + entries[i].field, &entry, sizeof entry);
    }
    return HEED_OK;
}

static heed_status load(heed_nvml *nvml)
{
    const char *wish = getenv("HEED_NVML");
    const char *name = wish && *wish ? wish : "libnvidia-ml.so.1";
    *nvml = (heed_nvml){ .library = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
    if (!nvml->library) {
        const char *reason = dlerror();
        return heed_fail(HEED_ERR_DEVICE, "there is no NVML: %s",
                         reason ? reason : "libnvidia-ml.so.1 cannot be loaded");
    }
    heed_status status = find_entries(nvml, name);
    if (status != HEED_OK)
        return status;
    int result = nvml->init();
    if (result != NVML_SUCCESS)
        return heed_fail(HEED_ERR_DEVICE, "NVML does not start: %s", nvml->error_string(result));
    if (!nvml->driver_version ||
        nvml->driver_version(nvml->release, sizeof nvml->release) != NVML_SUCCESS)
        snprintf(nvml->release, sizeof nvml->release, "unknown");
    return HEED_OK;
}

static struct {
    pthread_once_t once;
    heed_status status;
    char message[512];
    heed_nvml nvml;
} process = { .once = PTHREAD_ONCE_INIT };

static void load_once(void)
{
    process.status = load(&process.nvml);
    if (process.status != HEED_OK)
        snprintf(process.message, sizeof process.message, "%s", heed_message());
}

heed_status heed_nvml_get(const heed_nvml **nvml)
{
    pthread_once(&process.once, load_once);
    *nvml = &process.nvml;
    return process.status == HEED_OK ? HEED_OK : heed_fail(process.status, "%s", process.message);
}

/* -------------------------------------------------------------------------- */
/* A device                                                                   */
/* -------------------------------------------------------------------------- */

/* Bits of the reasons for reduced clocks. */
static const struct {
    unsigned long long bit;
    const char *name;
} reasons[] = {
    { 0x1, "idle" },
    { 0x2, "set clocks" },
    { 0x4, "power cap" },
    { 0x8, "hardware slowdown" },
    { 0x10, "sync boost" },
    { 0x20, "thermal" },
    { 0x40, "hardware thermal" },
    { 0x80, "power brake" },
    { 0x100, "display clocks" },
};

static void describe_throttle(unsigned long long bits, char *out, size_t size)
{
    heed_text text = { out, size, 0 };
    out[0] = '\0';
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (bits & reasons[i].bit)
            heed_text_add(&text, "%s%s", text.length ? ", " : "", reasons[i].name);
        bits &= ~reasons[i].bit;
    }
    if (bits)
        heed_text_add(&text, "%sreason 0x%llx", text.length ? ", " : "", bits);
    if (text.length == 0)
        heed_text_add(&text, "none");
}

/* The device at @bus_id; NULL if it cannot be queried. */
static nvml_device *find_device(const heed_nvml **nvml, const char *bus_id)
{
    nvml_device *device = NULL;
    if (!bus_id || heed_nvml_get(nvml) != HEED_OK ||
        (*nvml)->handle(bus_id, &device) != NVML_SUCCESS)
        return NULL;
    return device;
}

static double read_clock(const heed_nvml *nvml, nvml_device *device, int type)
{
    unsigned mhz;
    return nvml->clock && nvml->clock(device, type, &mhz) == NVML_SUCCESS ? 1e6 * mhz : -1;
}

/* The count is correct even if not all processes fit. */
static int count_processes(const heed_nvml *nvml, nvml_device *device)
{
    nvml_process list[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    int result = nvml->processes ? nvml->processes(device, &count, list) : -1;
    return result == NVML_SUCCESS || result == NVML_TOO_SMALL ? (int)count : -1;
}

bool heed_nvml_read_state(const char *bus_id, heed_device_state *state)
{
    const heed_nvml *nvml;
    unsigned value;
    unsigned long long bits;
    *state = (heed_device_state){ .sm_clock_hz = -1,
                                  .memory_clock_hz = -1,
                                  .power_w = -1,
                                  .temperature_c = -1,
                                  .other_processes = -1 };
    nvml_device *device = find_device(&nvml, bus_id);
    if (!device)
        return false;
    state->sm_clock_hz = read_clock(nvml, device, CLOCK_SM);
    state->memory_clock_hz = read_clock(nvml, device, CLOCK_MEMORY);
    if (nvml->power && nvml->power(device, &value) == NVML_SUCCESS)
        state->power_w = 1e-3 * value;
    if (nvml->temperature && nvml->temperature(device, 0, &value) == NVML_SUCCESS)
        state->temperature_c = value;
    if (nvml->throttle && nvml->throttle(device, &bits) == NVML_SUCCESS)
        describe_throttle(bits, state->throttle, sizeof state->throttle);
    state->other_processes = count_processes(nvml, device);
    return true;
}

bool heed_nvml_is_divided(const char *bus_id)
{
    const heed_nvml *nvml;
    unsigned current = 0, pending;
    nvml_device *device = find_device(&nvml, bus_id);
    return device && nvml->mig_mode && nvml->mig_mode(device, &current, &pending) == NVML_SUCCESS &&
           current == 1;
}
