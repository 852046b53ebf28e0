/*
 * machine.c - detect the machine: name, features in use, number of CPUs
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "features.h"

#ifdef HEED_X86
#include <cpuid.h>

/* AMD's cores (Zen 4 and 5) execute as many of these instructions as float32 FMAs, each with two
 * products a lane. Intel's (Sapphire Rapids: 243 GFLOP/s against 497) execute a quarter as many. */
static double detect_bf16_speed(void)
{
    return __builtin_cpu_is("amd") ? 2.0 : 0.5;
}

/* The brand string, 48 bytes in three leaves, without the blanks that pad it. */
static bool brand_string(char *name, size_t size)
{
    unsigned words[13] = { 0 };
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return false;
    const char *begin = (const char *)words;
    begin += strspn(begin, " ");
    size_t length = strlen(begin);
    while (length && begin[length - 1] == ' ')
        length--;
    snprintf(name, size, "%.*s", (int)length, begin);
    return length > 0;
}
#else
static double detect_bf16_speed(void)
{
    return 1.0;
}

static bool brand_string(char *name, size_t size)
{
    (void)name;
    (void)size;
    return false;
}
#endif

static void detect_device(char *name, size_t size)
{
    struct utsname system;
    if (brand_string(name, size))
        return;
    if (uname(&system) == 0)
        snprintf(name, size, "%.*s CPU", (int)size - 5, system.machine);
    else
        snprintf(name, size, "unknown CPU");
}

/* The control group's CPU quota in CPUs, rounded up; 0 if there is none. */
static int quota_cpus(void)
{
    long long quota = 0;
    long long period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!file)
        return 0;
    int fields = fscanf(file, "%lld %lld", &quota, &period); /* "max 100000" gives none */
    fclose(file);
    if (fields != 2 || quota <= 0 || period <= 0 || quota / period > 1024)
        return 0;
    return (int)((quota + period - 1) / period);
}

static int available_cpus(void)
{
    cpu_set_t set;
    int cpus = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cpus = CPU_COUNT(&set);
    if (cpus < 1)
        cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int quota = quota_cpus();
    if (quota && quota < cpus)
        cpus = quota;
    return cpus < 1 ? 1 : cpus > 1024 ? 1024 : cpus;
}

/* "scalar, avx2, avx512, avx512bf16 or amx" */
static void list_features(const heed_cpu_feature *table, heed_text *text)
{
    for (const heed_cpu_feature *row = table; row->name; row++)
        heed_text_add(text, "%s%s", row == table ? "" : row[1].name ? ", " : " or ", row->name);
}

/* Removes from *@features all that @cpu does not name. */
static heed_status mask_features(unsigned *features, const char *cpu)
{
    const char *field = "cpu";
    unsigned allowed;
    if (!cpu) {
        field = "HEED_CPU";
        cpu = getenv(field);
    }
    if (!cpu || !*cpu)
        return HEED_OK;
    if (!heed_cpu_allowed(heed_cpu_features, cpu, &allowed)) {
        char names[HEED_MESSAGE_SIZE];
        heed_text list = { .data = names, .size = sizeof names };
        list_features(heed_cpu_features, &list);
        return heed_fail(HEED_ERR_INVALID, "%s is \"%.40s\"; it must be %s", field, cpu, names);
    }
    *features &= allowed;
    return HEED_OK;
}

heed_status heed_machine_detect(heed_machine *machine, const char *cpu, int threads)
{
    memset(machine, 0, sizeof *machine);
    machine->features = heed_cpu_detect(heed_cpu_features);
    heed_status status = mask_features(&machine->features, cpu);
    if (status != HEED_OK)
        return status;
    heed_cpu_print(heed_cpu_features, machine->features, machine->cpu);
    detect_device(machine->device, sizeof machine->device);
    machine->bf16_speed = detect_bf16_speed();
    machine->threads = threads ? threads : available_cpus();
    return HEED_OK;
}
