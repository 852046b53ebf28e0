/*
 * environment.c - reads /proc, /sys and uname
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "environment.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "commit.h" /* made by the build: HEED_COMMIT */
#include "heed.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

/* Copies @text without trailing white space; truncates it if too long. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t length = strcspn(text, "\n");

    while (length > 0 && text[length - 1] == ' ')
        length--;
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

/* The value of the first line of @path that begins with @key and a colon; NULL if none. */
static const char *proc_value(const char *path, const char *key, char *line, int size)
{
    const char *value = NULL;
    FILE *file = fopen(path, "re");

    if (!file)
        return NULL;
    while (!value && fgets(line, size, file)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, strlen(key)) == 0)
            value = colon + 1 + strspn(colon + 1, " \t");
    }
    fclose(file);
    return value;
}

static void read_governor(char *governor, size_t size)
{
    char line[64];
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "re");

    copy_text(governor, size, "unknown");
    if (!file)
        return;
    if (fgets(line, sizeof line, file))
        copy_text(governor, size, line);
    fclose(file);
}

static int allowed_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

int lab_environment_cores(void)
{
    int cores = allowed_cores();

    return cores > 0 ? cores : 1;
}

static void read_kernel(char *kernel, size_t size)
{
    struct utsname name;

    if (uname(&name) == 0)
        snprintf(kernel, size, "%.40s %.50s", name.sysname, name.release);
    else
        snprintf(kernel, size, "unknown");
}

static void read_time(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;

    if (!gmtime_r(&now, &utc) || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        snprintf(text, size, "unknown");
}

void lab_environment_read(lab_environment *environment)
{
    char line[256];
    const char *value;

    memset(environment, 0, sizeof *environment);
    value = proc_value("/proc/cpuinfo", "model name", line, sizeof line);
    copy_text(environment->cpu, sizeof environment->cpu, value ? value : "unknown");
    value = proc_value("/proc/cpuinfo", "cpu MHz", line, sizeof line);
    environment->clock_mhz = value ? strtod(value, NULL) : 0;
    value = proc_value("/proc/meminfo", "MemTotal", line, sizeof line);
    environment->memory_gib = value ? strtod(value, NULL) / (1024.0 * 1024.0) : 0;
    environment->cores_online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    environment->cores_allowed = allowed_cores();
    if (getloadavg(&environment->load, 1) != 1)
        environment->load = -1;
    read_governor(environment->governor, sizeof environment->governor);
    read_kernel(environment->kernel, sizeof environment->kernel);
    copy_text(environment->compiler, sizeof environment->compiler, COMPILER);
    copy_text(environment->heed, sizeof environment->heed, heed_version());
    copy_text(environment->commit, sizeof environment->commit, HEED_COMMIT);
    read_time(environment->time, sizeof environment->time);
}

/* A text, or null if it is unknown. */
static json_t *text_or_null(const char *text)
{
    return strcmp(text, "unknown") == 0 ? json_null() : json_string(text);
}

/* A number, or null if it is unknown. */
static json_t *number_or_null(double value, bool known)
{
    return known ? json_real(value) : json_null();
}

json_t *lab_environment_json(const lab_environment *it)
{
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "cpu",
                     text_or_null(it->cpu), "cores_online", it->cores_online, "cores_allowed",
                     it->cores_allowed > 0 ? json_integer(it->cores_allowed) : json_null(),
                     "governor", text_or_null(it->governor), "clock_mhz",
                     number_or_null(it->clock_mhz, it->clock_mhz > 0), "load",
                     number_or_null(it->load, it->load >= 0), "memory_gib",
                     number_or_null(it->memory_gib, it->memory_gib > 0), "kernel",
                     text_or_null(it->kernel), "compiler", text_or_null(it->compiler), "heed",
                     it->heed, "commit", text_or_null(it->commit), "time", text_or_null(it->time));
}
