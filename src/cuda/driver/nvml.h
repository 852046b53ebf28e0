/*
 * nvml.h - NVIDIA's management library: clocks, power, who else uses a GPU
 *
 * It comes with the driver and is loaded when it is first needed. Nothing depends on it but what is
 * recorded beside a measurement, so where it is absent figures are unknown.
 */
#ifndef HEED_CUDA_NVML_H
#define HEED_CUDA_NVML_H

#include "../../device.h"
#include "../../internal.h"

typedef struct nvml_device nvml_device;

/* A process on a GPU. */
typedef struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned instance;
    unsigned compute_instance;
} nvml_process;

/* The loaded library: its entries, those that only tell a figure NULL if it lacks them. */
typedef struct heed_nvml {
    int (*init)(void);
    const char *(*error_string)(int result);
    int (*handle)(const char *bus_id, nvml_device **device);
    int (*driver_version)(char *text, unsigned size);
    int (*clock)(nvml_device *device, int type, unsigned *mhz);
    int (*power)(nvml_device *device, unsigned *milliwatts);
    int (*temperature)(nvml_device *device, int sensor, unsigned *celsius);
    int (*throttle)(nvml_device *device, unsigned long long *reasons);
    int (*processes)(nvml_device *device, unsigned *count, nvml_process *processes);
    int (*mig_mode)(nvml_device *device, unsigned *current, unsigned *pending);

    void *library;
    char release[96]; /* of the driver, such as "580.65.06" */
} heed_nvml;

/* heed_nvml_get() sets *@nvml to the process's library, which the first call loads and starts: the
 * file that HEED_NVML names, else libnvidia-ml.so.1. Returns HEED_OK or HEED_ERR_DEVICE, the same
 * at every call. Any thread. */
heed_status heed_nvml_get(const heed_nvml **nvml);

/* heed_nvml_read_state() fills @state with what is known of the device at @bus_id. Its
 * other_processes are all that compute there, the caller's own included. Returns false if there is
 * no library or no such device, or @bus_id is NULL; all is unknown then. */
bool heed_nvml_read_state(const char *bus_id, heed_device_state *state);

/* heed_nvml_is_divided() says whether the device at @bus_id is divided into instances (MIG). */
bool heed_nvml_is_divided(const char *bus_id);

#endif /* HEED_CUDA_NVML_H */
