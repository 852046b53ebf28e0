/*
 * fake_nvml.c - the management library of fake_cuda.h: one kind of GPU, used by two processes
 */
#include <stdio.h>
#include <string.h>

#include "cuda/driver/nvml.h"
#include "fake_cuda.h"

extern fake_cuda fake_cuda_controls;

struct nvml_device {
    int index;
};

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    return 0;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    return result ? "some error" : "no error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "999.99");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device **device)
{
    static nvml_device devices[8];
    unsigned bus;
    if (sscanf(bus_id, "0000:%x:00.0", &bus) != 1 || bus < 0x18 ||
        bus - 0x18 >= (unsigned)fake_cuda_controls.devices)
        return 6;
    *device = &devices[bus - 0x18];
    return 0;
}

int nvmlDeviceGetClockInfo(nvml_device *device, int type, unsigned *mhz);
int nvmlDeviceGetClockInfo(nvml_device *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1755 : 3201;
    return 0;
}

int nvmlDeviceGetPowerUsage(nvml_device *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(nvml_device *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 654321;
    return 0;
}

int nvmlDeviceGetTemperature(nvml_device *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(nvml_device *device, int sensor, unsigned *celsius)
{
    (void)device;
    (void)sensor;
    *celsius = 51;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 0x4 | 0x20 | 0x8000;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device *device, unsigned *count,
                                            nvml_process *processes);
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device *device, unsigned *count,
                                            nvml_process *processes)
{
    (void)device;
    memset(processes, 0, 2 * sizeof *processes);
    *count = 2;
    return 0;
}

int nvmlDeviceGetMigMode(nvml_device *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(nvml_device *device, unsigned *current, unsigned *pending)
{
    (void)device;
    *current = *pending = 0;
    return 0;
}
