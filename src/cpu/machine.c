/*
 * machine.c - the machine as data: name, features, CPUs
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../internal.h"

#ifdef HEED_X86
#include <cpuid.h>
#endif

static const char *const level_names[] = {
    [HEED_CPU_SCALAR] = "scalar",
    [HEED_CPU_AVX2] = "avx2",
    [HEED_CPU_AVX512] = "avx512",
    [HEED_CPU_AVX512BF16] = "avx512bf16",
};
#define LEVELS (sizeof level_names / sizeof *level_names)

const char *heed_cpu_level_name(heed_cpu_level level)
{
    return (size_t)level < LEVELS ? level_names[level] : "unknown";
}

#ifdef HEED_X86
/* clang 14 cannot be asked for F16C by name. */
static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

static heed_cpu_level detect_level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
        return HEED_CPU_SCALAR;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return HEED_CPU_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? HEED_CPU_AVX512BF16 : HEED_CPU_AVX512;
}

/* AMD's cores (Zen 4 and 5) do as many of these instructions as of float32 FMA, each with two
 * products a lane. Intel's (Sapphire Rapids: 243 GFLOP/s against 497) do a quarter as many. */
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
static heed_cpu_level detect_level(void)
{
    return HEED_CPU_SCALAR;
}

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

/* CPUs that a control group's quota amounts to, rounded up; 0 if there is none. */
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

static heed_status mask_level(heed_cpu_level *level, const char *cpu)
{
    const char *field = "cpu";
    if (!cpu) {
        field = "HEED_CPU";
        cpu = getenv(field);
    }
    if (!cpu || !*cpu)
        return HEED_OK;
    for (size_t i = 0; i < LEVELS; i++) {
        if (strcmp(cpu, level_names[i]) != 0)
            continue;
        if ((heed_cpu_level)i < *level)
            *level = (heed_cpu_level)i;
        return HEED_OK;
    }
    return heed_fail(HEED_ERR_INVALID,
                     "%s is \"%.40s\"; it must be scalar, avx2, avx512 or avx512bf16", field, cpu);
}

heed_status heed_machine_detect(heed_machine *machine, const char *cpu, int threads)
{
    memset(machine, 0, sizeof *machine);
    machine->cpu = detect_level();
    heed_status status = mask_level(&machine->cpu, cpu);
    if (status != HEED_OK)
        return status;
    machine->level = (int)machine->cpu;
    detect_device(machine->device, sizeof machine->device);
    machine->bf16_speed = detect_bf16_speed();
    machine->threads = threads ? threads : available_cpus();
    return HEED_OK;
}
