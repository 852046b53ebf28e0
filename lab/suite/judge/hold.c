/*
 * hold.c - the sandbox and environment of a Python solution
 */
#include "lab/suite/judge/hold.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)4 << 30)
#define DEVICES_MAX 64
#define DEVICE_SIZE 300

static void add_variable(lab_hold_environment *all, const char *name, const char *value)
{
    if (!value || all->count >= LAB_HOLD_VARIABLES)
        return;
    char *text = all->text[all->count];
    if (snprintf(text, LAB_HOLD_VARIABLE_SIZE, "%s=%s", name, value) < LAB_HOLD_VARIABLE_SIZE)
        all->list[all->count++] = text;
    all->list[all->count] = NULL;
}

void lab_hold_environment_make(const char *folder, lab_hold_environment *all)
{
    static const char *const kept[] = { "PATH",
                                        "LD_LIBRARY_PATH",
                                        "CUDA_HOME",
                                        "CUDA_PATH",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "TORCH_CUDA_ARCH_LIST",
                                        "PYTHONPATH",
                                        "HEED_LIBRARY" };
    static const char *const own[] = { "HOME",
                                       "TMPDIR",
                                       "TORCH_EXTENSIONS_DIR",
                                       "XDG_CACHE_HOME",
                                       "TRITON_CACHE_DIR",
                                       "CUDA_CACHE_PATH",
                                       "TORCHINDUCTOR_CACHE_DIR" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        add_variable(all, kept[i], getenv(kept[i]));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add_variable(all, own[i], folder);
    add_variable(all, "TORCHINDUCTOR_COMPILE_THREADS", "1"); /* no worker processes */
    add_variable(all, "PYTHONDONTWRITEBYTECODE", "1");
}

/* Adds the GPUs in /dev, including those of WSL. Disks and /dev/shm, whose content would outlive
 * the solution, remain inaccessible. */
static size_t add_devices(lab_access *access, char names[DEVICES_MAX][DEVICE_SIZE])
{
    size_t count = 0;
    DIR *directory = opendir("/dev");
    const struct dirent *entry;
    while (directory && count < DEVICES_MAX && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, "nvidia", 6) != 0 && strcmp(entry->d_name, "dxg") != 0)
            continue;
        snprintf(names[count], DEVICE_SIZE, "/dev/%s", entry->d_name);
        access[count] = (lab_access){ .path = names[count], .device = true };
        count++;
    }
    if (directory)
        closedir(directory);
    return count;
}

bool lab_hold_sandbox(const char *folder, lab_sandbox *sandbox)
{
    const lab_access always[] = { { .path = "/" },
                                  { .path = folder, .write = true },
                                  { .path = "/dev/null", .write = true },
                                  { .path = "/dev/zero", .write = true },
                                  { .path = "/dev/full", .write = true } };
    const size_t count = sizeof always / sizeof *always;
    lab_access access[sizeof always / sizeof *always + DEVICES_MAX];
    char names[DEVICES_MAX][DEVICE_SIZE];
    memcpy(access, always, sizeof always);
    const size_t devices = add_devices(access + count, names);
    *sandbox = (lab_sandbox){ .protections = lab_protections_find(),
                              .resources = { .file_size = FILE_MAX },
                              .filter = LAB_FILTER_DEVICE,
                              .threads = true };
    return lab_sandbox_create(sandbox, access, count + devices);
}
