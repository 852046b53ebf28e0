/*
 * gate_code.c - what the machine code of a kernel says of itself, and what the hardware counts
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "gate_criteria.h"
#include "inspect/cubin.h"
#include "src/cuda/facts.h"

static const char no_gpu[] = "a CPU has no such figure: ask with --device cuda";

/* -------------------------------------------------------------------------- */
/* Spills                                                                     */
/* -------------------------------------------------------------------------- */

/* Bytes of spills per thread of the kernel that @facts launch; negative: not known. */
static int64_t spills_of(const heed_cuda_facts *facts, int arch)
{
    int64_t spills = -1;
    heed_cubin built;
    lab_cubin cubin;
    lab_error error;
    const heed_build build = heed_cuda_facts_build(facts, arch);
    if (heed_jit_build(&build, &built) != HEED_OK)
        return -1;
    if (!built.ptx &&
        lab_cubin_read(&cubin, built.data, built.size, facts->name, &error) == HEED_OK) {
        lab_cubin_spills(&cubin, built.log);
        for (size_t i = 0; i < cubin.count; i++)
            if (strcmp(cubin.kernels[i].name, facts->entry) == 0 &&
                cubin.kernels[i].spill_stores >= 0 && cubin.kernels[i].spill_loads >= 0)
                spills = cubin.kernels[i].spill_stores + cubin.kernels[i].spill_loads;
        lab_cubin_free(&cubin);
    }
    heed_cubin_free(&built);
    return spills;
}

void criterion_spills(criterion *it, const bench_run *bench)
{
    int arch = heed_device_arch(bench->context);
    int64_t worst = 0;
    size_t known = 0;
    const char *name = "";
    if (!arch) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        const bench_row *row = &bench->rows[i];
        heed_cuda_facts facts;
        int64_t spills = -1;
        if (heed_cuda_facts_find(row->kernel, &row->source->problem, arch, &facts) == HEED_OK)
            spills = spills_of(&facts, arch);
        if (spills < 0) {
            criterion_set(it, CRITERION_UNKNOWN, "not known of '%s' for sm_%d", row->kernel, arch);
            return;
        }
        known++;
        if (spills > worst || i == 0) {
            worst = spills;
            name = row->kernel;
        }
    }
    criterion_set(it,
                  known == 0  ? CRITERION_UNKNOWN
                  : worst > 0 ? CRITERION_FAIL
                              : CRITERION_PASS,
                  "%lld bytes a thread at most, %s, of %zu problems", (long long)worst, name,
                  known);
}

/* -------------------------------------------------------------------------- */
/* Bank conflicts                                                             */
/* -------------------------------------------------------------------------- */

/* Of the wavefronts of ordinary loads and stores of shared memory, so many may be conflicts. */
#define CONFLICTS_MAX 0.05

#define CONFLICTS "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
#define WAVEFRONTS "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"

#define ERROR_MARK "==ERROR== "

/* Takes the next cell of a line of CSV, in place; NULL at its end. */
static char *next_cell(char **at)
{
    char *start = *at, *end;
    if (!start || !*start || *start == '\n')
        return NULL;
    if (*start == '"') {
        end = strchr(++start, '"');
        if (!end)
            return NULL;
        *end++ = '\0';
    } else {
        end = start + strcspn(start, ",\n");
    }
    *at = *end == ',' ? end + 1 : NULL;
    *end = '\0';
    return start;
}

/* A count, with commas between its thousands; negative: it is none. */
static double count_of(const char *text)
{
    char digits[64];
    size_t length = 0;
    for (; *text && length < sizeof digits - 1; text++)
        if (*text != ',')
            digits[length++] = *text;
    digits[length] = '\0';
    char *end;
    double value = strtod(digits, &end);
    return length > 0 && !*end ? value : -1;
}

/* Which cells of the lines are the two counts. */
typedef struct columns {
    int conflicts, wavefronts; /* from 0; -1: not seen yet */
} columns;

/* Adds the counts of a line, if it is one. */
static void read_line(char *line, columns *where, double counts[2])
{
    double found[2] = { -1, -1 };
    int number = 0;
    char *at = line;
    for (char *cell; (cell = next_cell(&at)); number++) {
        if (strcmp(cell, CONFLICTS) == 0)
            where->conflicts = number;
        if (strcmp(cell, WAVEFRONTS) == 0)
            where->wavefronts = number;
        if (number == where->conflicts)
            found[0] = count_of(cell);
        if (number == where->wavefronts)
            found[1] = count_of(cell);
    }
    if (found[0] >= 0 && found[1] >= 0) {
        counts[0] += found[0];
        counts[1] += found[1];
    }
}

/* Lets ncu count a call. False: it counted nothing, @why says what it said. */
static bool count_conflicts(const char *ncu, const bench_run *bench, const bench_row *row,
                            double counts[2], char why[160])
{
    char spec[HEED_SPEC_SIZE], command[4096], self[1024];
    columns where = { -1, -1 };
    char *line = NULL; /* of whatever length: one with all metrics has more than 100 KB */
    size_t room = 0;
    bool told = false; /* the first error is the cause of the others */
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    heed_problem_print(&row->source->problem, spec, sizeof spec);
    snprintf(why, 160, "ncu said nothing that heed understands");
    if (length <= 0)
        return false;
    self[length] = '\0';
    snprintf(command, sizeof command,
             "'%s' --csv --page raw --launch-count 1 --metrics " CONFLICTS "," WAVEFRONTS
             " '%s' verify --together --once --inputs normal --gate error --device %s --kernel %s "
             "'%s' 2>&1",
             ncu, self, bench->device, row->kernel, spec);
    FILE *answer = popen(command, "re"); /* NOLINT(cert-env33-c) */
    while (answer && getline(&line, &room, answer) > 0) {
        if (strstr(line, "ERR_NVGPUCTRPERM"))
            snprintf(why, 160, "ncu may not read counters here (ERR_NVGPUCTRPERM)");
        else if (!told && strncmp(line, ERROR_MARK, strlen(ERROR_MARK)) == 0)
            snprintf(why, 160, "ncu: %.*s", (int)strcspn(line + strlen(ERROR_MARK), "\r\n"),
                     line + strlen(ERROR_MARK));
        else
            read_line(line, &where, counts);
        told |= strstr(line, ERROR_MARK) != NULL;
    }
    if (answer)
        pclose(answer);
    free(line);
    return counts[1] > 0;
}

void criterion_conflicts(criterion *it, const bench_run *bench)
{
    char ncu[300], why[160];
    double worst = 0;
    const char *name = "";
    if (!heed_device_arch(bench->context)) {
        criterion_set(it, CRITERION_UNKNOWN, "%s", no_gpu);
        return;
    }
    if (!doctor_find_tool("ncu", ncu, sizeof ncu)) {
        criterion_set(it, CRITERION_UNKNOWN, "ncu, which counts them, is not here");
        return;
    }
    for (size_t i = 0; i < bench->row_count; i++) {
        double counts[2] = { 0, 0 };
        if (!count_conflicts(ncu, bench, &bench->rows[i], counts, why)) {
            criterion_set(it, CRITERION_UNKNOWN, "%s", why);
            return;
        }
        if (counts[0] / counts[1] >= worst) {
            worst = counts[0] / counts[1];
            name = bench->rows[i].kernel;
        }
    }
    criterion_set(it,
                  bench->row_count == 0    ? CRITERION_UNKNOWN
                  : worst <= CONFLICTS_MAX ? CRITERION_PASS
                                           : CRITERION_FAIL,
                  "%.2f %% of the wavefronts of shared memory at most, %s; %.3g %% is the limit",
                  100 * worst, name, 100 * CONFLICTS_MAX);
}
