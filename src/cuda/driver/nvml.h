/*
 * nvml.h - NVIDIA's management library (NVML): clocks, power, other processes on a GPU
 *
 * It comes with the driver and is loaded on first use. It is only used for figures that are
 * recorded with measurements; without it they are unknown.
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

/* The loaded library: its entries. Those that only return a figure are NULL if missing. */
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

/* heed_nvml_get() sets *@nvml to the process's library, which the first call loads and initializes:
 * the file that HEED_NVML names, else libnvidia-ml.so.1. Returns HEED_OK or HEED_ERR_DEVICE, the
 * same at every call. Thread-safe. */
heed_status heed_nvml_get(const heed_nvml **nvml);

/* heed_nvml_read_state() fills @state with the known figures of the device at @bus_id. Its
 * other_processes counts all that compute there, including the caller. Returns false if there is no
 * library or no such device, or @bus_id is NULL; all figures are unknown then. */
bool heed_nvml_read_state(const char *bus_id, heed_device_state *state);

/* heed_nvml_is_divided() returns true if the device at @bus_id is partitioned into instances
 * (MIG). */
bool heed_nvml_is_divided(const char *bus_id);

#endif /* HEED_CUDA_NVML_H */
