/*
 * doctor_machine.c - checks of `heed doctor`: the machine, libheed and wisdom
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "doctor.h"
#include "report/format.h"
#include "src/device.h"

/* A load above this, in CPUs, counts as busy. */
#define LOAD_BUSY 0.5

/* With less memory than this, large problems fail. */
#define MEMORY_LOW ((uint64_t)1 << 30)

bool doctor_read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, size, file);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
    return read;
}

void doctor_check_cpu(doctor_report *report)
{
    doctor_say(report, DOCTOR_OK, "cpu", NULL, "%s, %s", report->around.cpu, report->around.kernel);
}

/* Writes to @name the features of a context limited to @cpu (NULL: to HEED_CPU; "": not limited).
 * False if there is no context, with the reason in heed_message(). */
static bool features(const char *cpu, char name[64])
{
    heed_context *context;
    heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1, .cpu = cpu };
    if (heed_context_create(&context, &options) != HEED_OK)
        return false;
    snprintf(name, 64, "%s", heed_context_cpu(context));
    heed_context_destroy(context);
    return true;
}

void doctor_check_features(doctor_report *report)
{
    char all[64], used[64];
    if (!features("", all) || !features(NULL, used))
        doctor_say(report, DOCTOR_FAIL, "features", "Correct or unset HEED_CPU", "%s",
                   heed_message());
    else if (strcmp(used, all) != 0)
        doctor_say(report, DOCTOR_WARN, "features", "Unset HEED_CPU to use them all",
                   "%s in use of %s, because of HEED_CPU", used, all);
    else if (strcmp(all, "scalar") == 0)
        doctor_say(report, DOCTOR_WARN, "features",
                   "Expect a tenth of the speed of a machine with AVX2, or less",
                   "none that heed has kernels for: portable C only");
    else
        doctor_say(report, DOCTOR_OK, "features", NULL, "%s", all);
}

/* Describes a cache of the first CPU: "L2 1024K", or "" for an instruction cache. False past the
 * last one. */
static bool describe_cache(int index, char *text, size_t size)
{
    static const char *const files[] = { "level", "type", "size" };
    char values[3][32], path[96];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                 files[i]);
        if (!doctor_read_line(path, values[i], sizeof values[i]))
            return false;
    }
    text[0] = '\0';
    if (strcmp(values[1], "Instruction") != 0)
        snprintf(text, size, "L%s %s", values[0], values[2]);
    return true;
}

void doctor_check_caches(doctor_report *report)
{
    char list[256] = "", cache[80];
    size_t length = 0;
    for (int i = 0; length < sizeof list && describe_cache(i, cache, sizeof cache); i++)
        if (cache[0])
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       length ? ", " : "", cache);
    if (length)
        doctor_say(report, DOCTOR_OK, "caches", NULL, "%s, on the first CPU", list);
    else
        doctor_say(report, DOCTOR_WARN, "caches", "Mount /sys",
                   "unknown: heed assumes common sizes");
}

/* The control group's CPU quota, in CPUs; 0 if there is none. */
static double cpu_quota(void)
{
    char line[64], *end;
    if (!doctor_read_line("/sys/fs/cgroup/cpu.max", line, sizeof line))
        return 0;
    double quota = strtod(line, &end), period = strtod(end, NULL);
    return end != line && period > 0 ? quota / period : 0;
}

void doctor_check_threads(doctor_report *report)
{
    heed_context *context;
    heed_options options = { .size = sizeof options,
                             .device = "cpu",
                             .cpu = "scalar" }; /* a bad HEED_CPU is reported by another check */
    double quota = cpu_quota();
    if (heed_context_create(&context, &options) != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "threads", "Raise the limit on processes: ulimit -u", "%s",
                   heed_message());
        return;
    }
    int threads = heed_context_threads(context), allowed = report->around.cores_allowed;
    heed_context_destroy(context);
    if (quota > 0 && quota < allowed)
        doctor_say(report, DOCTOR_WARN, "threads",
                   "Raise the container's CPU quota, or time with --threads below it",
                   "%d by default; %d CPUs, but a quota of %.2g, so that threads are stopped at "
                   "times",
                   threads, allowed, quota);
    else if (allowed < report->around.cores_online)
        doctor_say(report, DOCTOR_OK, "threads", NULL,
                   "%d by default; this process may use %d of %d CPUs", threads, allowed,
                   report->around.cores_online);
    else
        doctor_say(report, DOCTOR_OK, "threads", NULL, "%d by default, for %d CPUs", threads,
                   allowed);
}

/* A field of /proc/meminfo in bytes; 0 if it cannot be read. */
static uint64_t memory_field(const char *name)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && bytes == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            bytes = strtoull(line + strlen(name) + 1, NULL, 10) * 1024;
    if (file)
        fclose(file);
    return bytes;
}

void doctor_check_memory(doctor_report *report)
{
    char total[LAB_FORMAT_SIZE], free_now[LAB_FORMAT_SIZE];
    uint64_t available = memory_field("MemAvailable");
    lab_format_bytes(memory_field("MemTotal"), total);
    lab_format_bytes(available, free_now);
    if (available == 0)
        doctor_say(report, DOCTOR_WARN, "memory", "Mount /proc",
                   "unknown: /proc/meminfo cannot be read");
    else if (available < MEMORY_LOW)
        doctor_say(report, DOCTOR_WARN, "memory",
                   "Close other programs: large problems will not fit", "%s, only %s free", total,
                   free_now);
    else
        doctor_say(report, DOCTOR_OK, "memory", NULL, "%s, %s free", total, free_now);
}

/* Frequency boosting: 1 on, 0 off, -1 unknown. */
static int boost_state(void)
{
    char line[16];
    if (doctor_read_line("/sys/devices/system/cpu/intel_pstate/no_turbo", line, sizeof line))
        return line[0] == '0';
    if (doctor_read_line("/sys/devices/system/cpu/cpufreq/boost", line, sizeof line))
        return line[0] == '1';
    return -1;
}

void doctor_check_clock(doctor_report *report)
{
    static const char *const boosts[] = { "boost unknown", "boost off", "boost on" };
    const char *boost = boosts[boost_state() + 1], *governor = report->around.governor;
    if (strcmp(governor, "unknown") == 0)
        doctor_say(report, DOCTOR_OK, "clock", NULL,
                   "%.0f MHz now; no governor is visible, as in most virtual machines",
                   report->around.clock_mhz);
    else if (strcmp(governor, "performance") != 0)
        doctor_say(
            report, DOCTOR_WARN, "clock", "For timing: cpupower frequency-set -g performance",
            "governor %s, %s: the clock follows the load, and timings with it", governor, boost);
    else
        doctor_say(report, DOCTOR_OK, "clock", NULL, "governor %s, %s", governor, boost);
}

void doctor_check_load(doctor_report *report)
{
    const double load = report->around.load;
    if (load < 0)
        doctor_say(report, DOCTOR_WARN, "load", "Mount /proc", "unknown");
    else if (load > LOAD_BUSY)
        doctor_say(report, DOCTOR_WARN, "load",
                   "Wait for the other programs to finish before you time anything",
                   "%.2f in the last minute: the machine is busy, timings will be noisy", load);
    else
        doctor_say(report, DOCTOR_OK, "load", NULL, "%.2f in the last minute", load);
}

/* -------------------------------------------------------------------------- */
/* libheed and wisdom                                                         */
/* -------------------------------------------------------------------------- */

enum {
    DIM = 64
};

/* The probe's memory on the device: one block for Q, K and V, O, and a workspace. */
typedef struct probe_memory {
    void *tensor, *o, *workspace;
} probe_memory;

static heed_status execute(heed_context *context, const heed_plan *plan, probe_memory *memory,
                           const float *values, float *o)
{
    const size_t bytes = DIM * sizeof *values;
    size_t size = heed_plan_workspace_size(plan);
    heed_status status = heed_device_allocate(context, bytes, &memory->tensor);
    if (status == HEED_OK)
        status = heed_device_allocate(context, bytes, &memory->o);
    if (status == HEED_OK)
        status = heed_device_allocate(context, size, &memory->workspace);
    if (status == HEED_OK)
        status = heed_device_upload(context, memory->tensor, values, bytes);
    if (status == HEED_OK)
        status = heed_execute(plan, &(heed_buffers){ .size = sizeof(heed_buffers),
                                                     .q = memory->tensor,
                                                     .k = memory->tensor,
                                                     .v = memory->tensor,
                                                     .o = memory->o,
                                                     .workspace = memory->workspace,
                                                     .workspace_size = size });
    if (status == HEED_OK)
        status = heed_device_wait(context);
    if (status == HEED_OK)
        status = heed_device_download(context, o, memory->o, bytes);
    return status;
}

/* One query that sees one key: O must equal V bit for bit. */
static heed_status compute(heed_context *context, bool *right)
{
    float values[DIM], o[DIM] = { 0 };
    probe_memory memory = { NULL, NULL, NULL };
    heed_problem problem;
    heed_plan *plan;

    for (int i = 0; i < DIM; i++)
        values[i] = (float)i / 8 - 4;
    heed_status status = heed_problem_parse(&problem, "b1 h1 s1 d64 f32");
    if (status == HEED_OK)
        status = heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    if (status != HEED_OK)
        return status;
    status = execute(context, plan, &memory, values, o);
    *right = memcmp(o, values, sizeof o) == 0;
    heed_device_free(context, memory.workspace);
    heed_device_free(context, memory.o);
    heed_device_free(context, memory.tensor);
    heed_plan_destroy(plan);
    return status;
}

void doctor_probe(doctor_report *report, const char *name, const char *fix, heed_context *context)
{
    bool right = false;
    if (!context || compute(context, &right) != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, name, fix, "a known answer could not be computed: %s",
                   heed_message());
    else if (!right)
        doctor_say(report, DOCTOR_FAIL, name,
                   "Report this as a bug, with the output of 'heed verify'",
                   "a known answer came out wrong");
    else
        doctor_say(report, DOCTOR_OK, name, NULL, "a known answer came out right");
}

void doctor_check_library(doctor_report *report)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    doctor_say(report, DOCTOR_OK, "heed", NULL, "%s, commit %s, %s", heed_version(),
               report->around.commit, report->around.compiler);
    heed_status status = heed_context_create(&context, &options);
    if (status != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "kernels", "See the line that names the reason below",
                   "no context: %s", heed_message());
        return;
    }
    doctor_probe(report, "kernels", "Report this as a bug", context);
    heed_context_destroy(context);
}

void doctor_check_wisdom(doctor_report *report)
{
    const char *path = cli_args_text(report->args, "wisdom");
    heed_context *context;
    size_t taken = 0, skipped = 0;
    if (!path)
        return;
    lab_error error;
    heed_options options = cli_machine(report->args);
    heed_status status = cli_context_create(&context, &options);
    if (status != HEED_OK) {
        doctor_say(report, DOCTOR_FAIL, "wisdom", "Correct or unset HEED_DEVICE and HEED_CPU",
                   "no context: %s", heed_message());
        return;
    }
    status = cli_wisdom_load(context, path, &taken, &skipped, &error);
    if (status != HEED_OK)
        doctor_say(report, DOCTOR_FAIL, "wisdom",
                   "Remove the file and measure again: heed plan --effort measure --wisdom FILE",
                   "%s", error.text);
    else if (skipped)
        doctor_say(report, DOCTOR_WARN, "wisdom",
                   "Measure again into a new file: heed plan --effort measure --wisdom FILE",
                   "%s: %zu of %zu line%s fit; the last one that does not: %s", path, taken,
                   taken + skipped, lab_plural((long long)taken + (long long)skipped),
                   heed_message());
    else
        doctor_say(report, DOCTOR_OK, "wisdom", NULL, "%s: %zu line%s, all for this machine", path,
                   taken, lab_plural(taken));
    heed_context_destroy(context);
}
