/*
 * pack.c - compiles the kernels that come with the library
 *
 *     heed_pack FOLDER LIST [JOBS]
 *
 * LIST has one problem per line, in the syntax of heed_problem_parse(). For each problem and each
 * device of machines.def with one of the architectures below, the planned kernel and the fallback
 * for unaligned addresses are compiled into FOLDER, which is created if needed. JOBS compilers run
 * in parallel, by default one per CPU; 0 only counts the kernels. A line that begins with "all:"
 * means every config that planning would consider.
 *
 * The compiler must not be newer than the oldest driver that heed supports, so that all drivers
 * accept the code. The same sources and the same compiler give the same files.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "append.h"
#include "cuda/append.h"
#include "cuda/backend.h"
#include "cuda/driver/driver.h"
#include "cuda/driver/nvrtc.h"
#include "cuda/gpu.h"
#include "cuda/jit.h"
#include "cuda/prefix.h"
#include "cuda/shipped.h"
#include "plan.h"
#include "problem/problem.h"

static const int archs[] = { 80, 86, 89, 90 };
#define ARCHS (sizeof archs / sizeof *archs)
#define LINE_SIZE 2048
#define JOBS_MAX 256

/* One compilation. */
typedef struct item {
    int arch;
    heed_cuda_facts facts;
} item;

typedef struct item_list {
    item *items;
    size_t count, capacity;
} item_list;

static void end(const char *what, const char *why)
{
    fprintf(stderr, "heed_pack: %s: %s\n", what, why);
    exit(1);
}

static bool equal_code(const heed_cuda_facts *a, const heed_cuda_facts *b)
{
    if (strcmp(a->source, b->source) != 0 || a->define_count != b->define_count ||
        a->launch.registers != b->launch.registers)
        return false;
    for (int i = 0; i < a->define_count; i++)
        if (strcmp(a->defines[i].name, b->defines[i].name) != 0 ||
            a->defines[i].value != b->defines[i].value)
            return false;
    return true;
}

static void add(item_list *list, int arch, const heed_cuda_facts *facts)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].arch == arch && equal_code(&list->items[i].facts, facts))
            return;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        list->items = realloc(list->items, list->capacity * sizeof *list->items);
        if (!list->items)
            end("list", "no memory");
    }
    list->items[list->count++] = (item){ .arch = arch, .facts = *facts };
}

static void add_config(item_list *list, const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config)
{
    heed_cuda_facts facts = { .source = NULL };
    if (heed_cuda_facts_of(kernel, problem, machine, config, &facts) != HEED_OK)
        end(kernel->name, heed_message());
    add(list, machine->gpu->arch, &facts);
}

/* A config and its fallback. */
static void add_both(item_list *list, const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config)
{
    const heed_cuda_code *code = kernel->code;
    const heed_cuda_cut cut = code->cut(problem, machine->gpu, config);
    add_config(list, kernel, problem, machine, config);
    if (cut.launch.aligned)
        add_config(list, cut.fallback_kernel ? cut.fallback_kernel : kernel, problem, machine,
                   &cut.fallback);
}

static void add_chosen(item_list *list, const heed_problem *problem, const heed_machine *machine)
{
    const heed_kernel *best = NULL;
    heed_config config = { { 0 } };
    double least = INFINITY;
    for (size_t i = 0; i < heed_kernel_count(); i++) {
        const heed_kernel *kernel = heed_kernel_at(i);
        const char *why;
        double seconds;
        if (heed_plan_reject(kernel, problem, machine))
            continue;
        heed_config own = heed_plan_best_config(kernel, problem, machine, &seconds, &why);
        if (seconds < least) {
            least = seconds;
            best = kernel;
            config = own;
        }
    }
    if (best)
        add_both(list, best, problem, machine, &config);
}

static void add_considered(item_list *list, const heed_problem *problem,
                           const heed_machine *machine)
{
    const char *why;
    for (size_t k = 0; k < heed_kernel_count(); k++) {
        const heed_kernel *kernel = heed_kernel_at(k);
        if (heed_plan_reject(kernel, problem, machine) || kernel->code == &heed_cuda_naive_code)
            continue;
        for (int i = 0; i < heed_config_count(kernel->algorithm); i++) {
            heed_config config;
            heed_config_at(kernel->algorithm, i, &config);
            if (heed_plan_considers(kernel, problem, machine, &config, &why))
                add_both(list, kernel, problem, machine, &config);
        }
    }
}

static bool is_packed(int arch)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (archs[i] == arch)
            return true;
    return false;
}

/* The launch that appends new keys before attention. */
static void add_append(item_list *list, const heed_problem *problem, int arch)
{
    heed_cuda_facts facts = { .source = "append.cu" };
    facts.define_count = heed_cuda_append_defines(problem, facts.defines);
    add(list, arch, &facts);
}

/* Attention over a prefix, and the launch that merges the two results. */
static void add_prefix(item_list *list, const heed_problem *problem, const heed_machine *machine)
{
    const heed_problem part = heed_prefix_part(problem);
    heed_cuda_facts facts = { .source = "merge.cu" };
    facts.define_count = heed_cuda_merge_defines(part.type, facts.defines);
    add(list, machine->gpu->arch, &facts);
    add_chosen(list, &part, machine);
}

static void add_line(item_list *list, const char *spec, bool all)
{
    heed_problem problem, normal;
    heed_gpu gpu;
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        heed_problem_read_normal(&normal, &problem) != HEED_OK)
        end(spec, heed_message());
    for (size_t i = 0; heed_gpu_at(&gpu, i, NULL); i++) {
        const heed_machine machine = { .backend = HEED_BACKEND_CUDA, .gpu = &gpu, .threads = 1 };
        if (!is_packed(gpu.arch))
            continue;
        heed_problem rest = heed_append_rest(&normal);
        if (normal.append > 0)
            add_append(list, &normal, gpu.arch);
        if (normal.prefix > 0)
            add_prefix(list, &rest, &machine);
        rest = heed_prefix_rest(&rest);
        (all ? add_considered : add_chosen)(list, &rest, &machine);
    }
}

static void read_list(item_list *list, const char *path)
{
    static const char word[] = "all:";
    char line[LINE_SIZE];
    FILE *file = fopen(path, "re");
    if (!file)
        end(path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        const char *spec = line + strspn(line, " \t");
        bool all = strncmp(spec, word, sizeof word - 1) == 0;
        spec += all ? sizeof word - 1 : 0;
        if (spec[strspn(spec, " \t")] != '\0')
            add_line(list, spec, all);
    }
    fclose(file);
}

/* Returns true if the compiler's log reports spilled registers. */
static bool tells_spills(const char *log)
{
    static const char words[] = " bytes spill stores";
    for (const char *at = log; (at = strstr(at, words)); at += sizeof words)
        if (at - 2 < log || at[-1] != '0' || (at[-2] >= '0' && at[-2] <= '9'))
            return true;
    return false;
}

/* Compiles every @count-th item from @first on; returns the number of failures. */
static int compile_share(const item_list *list, const char *folder, size_t first, size_t count)
{
    int failures = 0;
    for (size_t i = first; i < list->count; i += count) {
        const item *it = &list->items[i];
        const heed_build build = heed_cuda_facts_build(&it->facts, it->arch);
        heed_cubin cubin;
        if (heed_jit_pack(&build, folder, &cubin) != HEED_OK) {
            fprintf(stderr, "heed_pack: sm_%d: %s\n", it->arch, heed_message());
            failures++;
        } else if (tells_spills(cubin.log)) {
            fprintf(stderr, "heed_pack: sm_%d: %s %s spills registers\n", it->arch,
                    it->facts.source, cubin.key);
        }
        heed_cubin_free(&cubin);
    }
    return failures;
}

/* Distributes the items over processes; false if anything failed. */
static bool compile_all(const item_list *list, const char *folder, size_t jobs)
{
    bool good = true;
    int status;
    for (size_t i = 0; i < jobs; i++) {
        pid_t child = fork();
        if (child < 0)
            end("fork", strerror(errno));
        if (child == 0)
            _exit(compile_share(list, folder, i, jobs) > 0);
    }
    while (wait(&status) > 0)
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good;
}

static const heed_nvrtc *find_compiler(void)
{
    const heed_nvrtc *nvrtc;
    if (heed_nvrtc_get(&nvrtc) != HEED_OK)
        end("compiler", heed_message());
    if (nvrtc->major > HEED_DRIVER_NEEDED / 1000) {
        fprintf(
            stderr,
            "heed_pack: %s is NVRTC %d.%d; drivers for CUDA %d.%d, which heed takes, refuse its "
            "code; name one of CUDA %d in HEED_NVRTC\n",
            nvrtc->path, nvrtc->major, nvrtc->minor, HEED_DRIVER_NEEDED / 1000,
            HEED_DRIVER_NEEDED % 1000 / 10, HEED_DRIVER_NEEDED / 1000);
        exit(1);
    }
    return nvrtc;
}

static void print_counts(const item_list *list, const heed_nvrtc *nvrtc)
{
    printf("%zu kernels by NVRTC %d.%d:", list->count, nvrtc->major, nvrtc->minor);
    for (size_t k = 0; k < ARCHS; k++) {
        size_t count = 0;
        for (size_t i = 0; i < list->count; i++)
            count += list->items[i].arch == archs[k];
        printf(" %zu for sm_%d%s", count, archs[k], k + 1 < ARCHS ? "," : "\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    item_list list = { .items = NULL };
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: heed_pack FOLDER LIST [JOBS]\n");
        return 2;
    }
    long jobs = argc > 3 ? strtol(argv[3], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    if (jobs < 0 || jobs > JOBS_MAX)
        end(argc > 3 ? argv[3] : "CPUs", "JOBS must be 0 to 256");
    const heed_nvrtc *nvrtc = find_compiler();
    read_list(&list, argv[2]);
    print_counts(&list, nvrtc);
    if (jobs == 0)
        return 0;
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST)
        end(argv[1], strerror(errno));
    if (!compile_all(&list, argv[1], (size_t)jobs))
        end(argv[1], "some kernels are missing");
    if (!heed_shipped_sign(argv[1], nvrtc->major, nvrtc->minor))
        end(argv[1], strerror(errno));
    free(list.items);
    return 0;
}
