/*
 * test_configs.c - compiles every config of every CUDA kernel for every architecture: none may
 * spill, except some of attn_wgmma that spill a little and are the fastest nonetheless, and every
 * legal one must fit on a multiprocessor
 *
 * The code does not depend on lengths, splits and strides, so configs are compiled for each head
 * dim, mask and type. The work is divided among processes, since a compiler that crashes or holds a
 * lock must not stop the others. Compiled code is cached in the build directory, so only changed
 * code is compiled again.
 *
 * sm_80 and sm_89 run the same machine code, and code compiled for either takes about as many
 * registers: the same number in two of three cases, never 32 more. So a config that is legal on
 * both is compiled for sm_80 and checked against both. It is also compiled for sm_89 if registers
 * are short, or with HEED_TEST_ALL in the environment.
 *
 *     test_configs [sample]
 *
 * With "sample" the test checks one config in 128, always the same ones, and one of each kernel for
 * each architecture.
 */
#include "run_tests.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config_specs.h"
#include "cuda/backend.h"
#include "cuda/gpu.h"
#include "inspect/cubin.h"
#include "jit_scene.h"
#include "lab/tensor/random.h"
#include "problem/operand.h"
#include "problems.h"

/* Exceeds the number of registers that any kernel ever needed on sm_89 in addition to those on
 * sm_80. */
#define REGISTERS_APART 32
#define REGISTERS_MAX 255

/* Bytes that configs of attn_wgmma may spill although others do not, since those take longer: order
 * 2 under a mask tensor, or with a softcap where values have more than 192 columns; and four row
 * groups with a softcap. */
#define STEP_SPILLS 64
#define CAP_SPILLS 96

/* One config in this many is tried: in a build that is slow, and in a sample. */
#ifndef CONFIGS_EVERY
#define CONFIGS_EVERY 1
#endif
#define SAMPLE_EVERY 128
#define SAMPLE_SEED 18

/* One compilation. */
typedef struct item {
    const char *spec;
    int arch;
    size_t like; /* sm_89: 1 + the item that has the same code for sm_80; 0: none */
    heed_cuda_facts facts;
} item;

static item *items;
static size_t count;

static bool equal_code(const heed_cuda_facts *a, const heed_cuda_facts *b)
{
    if (strcmp(a->source, b->source) != 0 || strcmp(a->launch.entry, b->launch.entry) != 0 ||
        a->define_count != b->define_count || a->launch.registers != b->launch.registers ||
        a->launch.threads != b->launch.threads || a->launch.smem != b->launch.smem)
        return false;
    for (int i = 0; i < a->define_count; i++)
        if (strcmp(a->defines[i].name, b->defines[i].name) != 0 ||
            a->defines[i].value != b->defines[i].value)
            return false;
    return true;
}

/* Adds the code of @name, a kernel with its config, unless another config has the same code.
 * Returns false if it does not support the problem, or if planning would not choose it. */
static bool add_item(const char *name, const char *spec, int arch)
{
    heed_problem problem = parsed(spec);
    heed_cuda_facts facts;
    heed_status status = heed_cuda_facts_find(name, &problem, arch, &facts);
    if (status == HEED_ERR_UNSUPPORTED || (status == HEED_OK && facts.unworthy))
        return false;
    if (status != HEED_OK)
        fail_msg("%s: %s", name, heed_message());
    size_t like = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].arch == arch && equal_code(&items[i].facts, &facts))
            return true;
        if (arch == 89 && items[i].arch == 80 && equal_code(&items[i].facts, &facts))
            like = i + 1;
    }
    item *more = realloc(items, (count + 1) * sizeof *items);
    assert_non_null(more);
    items = more;
    items[count++] = (item){ .spec = spec, .arch = arch, .like = like, .facts = facts };
    return true;
}

/* Adds the config that takes over if addresses are not aligned, which planning does not list; it
 * may belong to another kernel. */
static void add_fallback(const heed_kernel *kernel, const char *spec, int arch)
{
    heed_problem problem = parsed(spec);
    heed_config config;
    heed_gpu gpu;
    char name[HEED_NAME_SIZE];
    const heed_cuda_code *code = kernel->code;
    assert_true(heed_gpu_arch(&gpu, arch));
    if (!(kernel->types & 1u << problem.type))
        return;
    heed_config_at(kernel->algorithm, 0, &config);
    const heed_cuda_cut cut = code->cut(&problem, &gpu, &config);
    if (!cut.launch.aligned || !(kernel->types & 1u << problem.type))
        return;
    heed_config_print(cut.fallback_kernel ? cut.fallback_kernel : kernel, &cut.fallback, name,
                      sizeof name);
    if (!add_item(name, spec, arch))
        fail_msg("%s cannot take over for %s on sm_%d", name, spec, arch);
}

/* Returns whether config number @i of @kernel is tried for architecture number @turn. A kernel for
 * all architectures has nearly the same code on each: of its configs for problems that change
 * logits, hide keys or add sinks each architecture tries one in three, or all with HEED_TEST_ALL in
 * the environment. */
static bool takes_turn(const heed_kernel *kernel, const char *spec, size_t turn, size_t i)
{
    heed_problem problem = parsed(spec);
    return kernel->arch > config_archs[0] || !heed_problem_has_operands(&problem) ||
           i % CONFIG_ARCHS == turn || getenv("HEED_TEST_ALL");
}

static void add_all(const char *spec, size_t turn)
{
    const int arch = config_archs[turn];
    char name[HEED_NAME_SIZE];
    for (size_t kernel = 0; heed_kernel_name(kernel); kernel++) {
        const heed_kernel *row = heed_kernel_at(kernel);
        if (row->backend != HEED_BACKEND_CUDA)
            continue;
        for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++)
            if (takes_turn(row, spec, turn, i))
                add_item(name, spec, arch);
        add_fallback(row, spec, arch);
    }
}

static int64_t most_spills(const item *it)
{
    const heed_problem problem = parsed(it->spec);
    bool wide = problem.dim_v > 192 && problem.softcap > 0;
    const char *config = strstr(it->facts.name, "wgmma__");
    if (config && strstr(config, "__r4") && problem.softcap > 0)
        return CAP_SPILLS;
    return (problem.shown.type != HEED_DATA_NONE || wide) && config && strstr(config, "o2")
               ? STEP_SPILLS
               : 0;
}

/* Returns the error of a kernel in the code, or NULL; the facts apply only to the kernel that is
 * launched. */
static const char *wrong_kernel(const item *it, const heed_gpu *gpu, const lab_cubin_kernel *kernel)
{
    bool launched = strcmp(kernel->name, it->facts.launch.entry) == 0;
    int threads = launched ? it->facts.launch.threads : kernel->max_threads;
    int64_t smem = kernel->smem + (launched ? it->facts.launch.smem : 0);
    int64_t most = launched ? most_spills(it) : 0;
    if (kernel->spill_stores > most || kernel->spill_loads > 2 * most)
        return "registers are spilled";
    if (kernel->max_threads > 0 && threads > kernel->max_threads)
        return "more threads than it was compiled for";
    if (threads > 0 && heed_gpu_resident(gpu, threads, kernel->registers, smem, NULL) < 1)
        return "not one block fits";
    return NULL;
}

/* Returns whether REGISTERS_APART more registers would cause spills or reduce the number of
 * resident blocks. */
static bool is_short(const item *it, const heed_gpu *gpu, const lab_cubin_kernel *kernel)
{
    int more = kernel->registers + REGISTERS_APART;
    return more > REGISTERS_MAX ||
           heed_gpu_resident(gpu, it->facts.launch.threads, more, it->facts.launch.smem, NULL) <
               heed_gpu_resident(gpu, it->facts.launch.threads, kernel->registers,
                                 it->facts.launch.smem, NULL);
}

/* Returns the error of the code on the device of @it, or NULL. Sets *@short_of_registers, if not
 * NULL, to the result of is_short(). */
static const char *wrong_code(const item *it, const heed_cubin *code, bool *short_of_registers)
{
    heed_gpu gpu;
    lab_cubin cubin;
    lab_error error = { "" };
    if (code->ptx || lab_cubin_read(&cubin, code->data, code->size, it->facts.name, &error))
        return "no machine code that can be read";
    lab_cubin_spills(&cubin, code->log);
    const char *wrong = heed_gpu_arch(&gpu, it->arch) ? NULL : "no such architecture";
    bool found = false;
    for (size_t i = 0; i < cubin.count && !wrong; i++) {
        bool launched = strcmp(cubin.kernels[i].name, it->facts.launch.entry) == 0;
        wrong = wrong_kernel(it, &gpu, &cubin.kernels[i]);
        found = found || launched;
        if (launched && short_of_registers)
            *short_of_registers = is_short(it, &gpu, &cubin.kernels[i]);
    }
    lab_cubin_free(&cubin);
    return wrong || found ? wrong : "the code has no such entry";
}

/* Compiles the item for @arch and returns the error, or NULL. */
static const char *wrong_build(const item *it, int arch, bool *short_of_registers)
{
    heed_cubin code;
    const heed_build build = heed_cuda_facts_build(&it->facts, arch);
    heed_status status = heed_jit_build(&build, &code);
    const char *wrong = status == HEED_OK ? wrong_code(it, &code, short_of_registers)
                                          : heed_message();
    heed_cubin_free(&code);
    return wrong;
}

static const char *wrong_item(const item *it)
{
    return wrong_build(it, it->arch, NULL);
}

/* Like wrong_item(), but compiles the code for sm_80, which is usually cached. If registers are
 * short, the item is compiled for sm_89 as well, and *@compiled is set. */
static const char *wrong_alike(const item *it, bool *compiled)
{
    bool short_of_registers = false;
    const char *wrong = wrong_build(it, 80, &short_of_registers);
    *compiled = !wrong && short_of_registers;
    return *compiled ? wrong_item(it) : wrong;
}

/* Keeps one item in @every, and the first of each source for each architecture. */
static void thin_out(int64_t every)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < kept; k++)
            known = known || (items[k].arch == items[i].arch &&
                              strcmp(items[k].facts.source, items[i].facts.source) == 0);
        if (!known || lab_random_below(SAMPLE_SEED, i, every) == 0)
            items[kept++] = items[i];
    }
    count = kept;
}

/* State shared by the processes. */
typedef struct work {
    atomic_size_t next, done, alike, failures;
} work;

static void run_items(work *shared)
{
    size_t i;
    while ((i = atomic_fetch_add(&shared->next, 1)) < count) {
        bool compiled = true;
        const char *wrong = items[i].like && !getenv("HEED_TEST_ALL")
                                ? wrong_alike(&items[i], &compiled)
                                : wrong_item(&items[i]);
        atomic_fetch_add(&shared->done, 1);
        atomic_fetch_add(&shared->alike, !compiled);
        if (!wrong)
            continue;
        atomic_fetch_add(&shared->failures, 1);
        fprintf(stderr, "%s for %s on sm_%d: %s\n", items[i].facts.name, items[i].spec,
                items[i].arch, wrong);
    }
}

static void test_every_config_fits(void **state)
{
    const int64_t *every = *state;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    work *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    assert_true(shared != MAP_FAILED);
    jit_scene_compiler();
    for (size_t i = 0; i < CONFIG_ARCHS * CONFIG_SPECS; i++)
        add_all(config_specs[i % CONFIG_SPECS], i / CONFIG_SPECS);
    const size_t all = count;
    thin_out(*every);
    fflush(NULL);
    for (long i = 0; i < cpus; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            run_items(shared);
            _exit(0);
        }
    }
    int status;
    bool ended_well = true;
    while (wait(&status) > 0)
        ended_well = ended_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    print_message("%zu of %zu checked, %zu of sm_89 with the code of sm_80\n", (size_t)shared->done,
                  all, (size_t)shared->alike);
    assert_true(ended_well);
    assert_int_equal(shared->done, count);
    assert_int_equal(shared->failures, 0);
    munmap(shared, sizeof *shared);
    free(items);
    items = NULL;
    count = 0;
}

static void assert_wrong(const item *it, const char *expected)
{
    const char *wrong = wrong_item(it);
    if (!expected ? wrong != NULL : !wrong || !strstr(wrong, expected))
        fail_msg("\"%s\" instead of \"%s\"", wrong ? wrong : "", expected ? expected : "");
}

static void test_what_is_wrong_is_found(void **state)
{
    item good = { .spec = "b4 h16 s4096 d64 f16 causal", .arch = 89 };
    bool compiled;
    jit_scene_compiler();
    heed_problem problem = parsed(good.spec);
    assert_int_equal(heed_cuda_facts_find("fwd_16bit_sm80_mma", &problem, 89, &good.facts),
                     HEED_OK);
    assert_wrong(&good, NULL);
    item bad = good;
    for (int i = 0; i < bad.facts.define_count; i++)
        if (strcmp(bad.facts.defines[i].name, "HEED_BLOCKS_PER_SM") == 0)
            bad.facts.defines[i].value = 8; /* blocks per multiprocessor, which share registers */
    assert_wrong(&bad, "spilled");
    assert_non_null(wrong_alike(&bad, &compiled));
    assert_false(compiled);
    bad = good;
    bad.facts.launch.smem = 99 * 1024 + 1;
    assert_wrong(&bad, "not one block fits");
    bad = good;
    bad.facts.launch.threads *= 2;
    assert_wrong(&bad, "more threads");
    bad = good;
    bad.facts.launch.entry = "heed_other";
    assert_wrong(&bad, "no such entry");
    bad = good;
    bad.facts.define_count = 0;
    assert_wrong(&bad, "attn_mma.cu");
}

/* The number of splits does not change the code: there is one code per config without knob p. */
static void test_splits_share_code(void **state)
{
    static char stems[512][HEED_NAME_SIZE];
    size_t stem_count = 0, configs = 0, kernel = 0;
    char name[HEED_NAME_SIZE];
    while (strcmp(heed_kernel_name(kernel), "fwd_16bit_sm80_mma") != 0)
        kernel++;
    for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++) {
        if (!add_item(name, "b1 h1 s1/65536 d64 f16", 89))
            continue;
        configs++;
        char *split = strchr(strstr(name, "__"), 'p');
        assert_non_null(split);
        size_t length = 1 + strspn(split + 1, "0123456789");
        memmove(split, split + length, strlen(split + length) + 1);
        size_t known = 0;
        while (known < stem_count && strcmp(stems[known], name) != 0)
            known++;
        assert_true(known < 512);
        if (known == stem_count)
            memcpy(stems[stem_count++], name, sizeof name);
    }
    assert_true(configs > stem_count && stem_count > 1);
    assert_int_equal(count, stem_count);
    free(items);
    items = NULL;
    count = 0;
}

int main(int argc, char **argv)
{
    bool sample = argc > 1 && strcmp(argv[1], "sample") == 0;
    int64_t every = sample ? SAMPLE_EVERY : CONFIGS_EVERY;
    setenv("HEED_CACHE", HEED_BUILD_DIR "/cubins", 1);
    test_list tests = TEST_LIST(test_splits_share_code, test_what_is_wrong_is_found,
                                test_every_config_fits);
    tests.state = &every;
    return run_test_list(tests, NULL, NULL);
}
