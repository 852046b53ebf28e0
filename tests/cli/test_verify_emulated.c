/*
 * test_verify_emulated.c - `heed verify` of all of the CUDA backend on the fake device, whose
 * kernels run on the emulator
 *
 * Planning, options of the compiler, arguments, tensor maps, workspaces, lists and merges are those
 * of the library. The device has few multiprocessors and low clocks, so small problems take it long
 * enough for lists of tiles, and for splits.
 *
 * test_verify_emulated random COUNT SEED verifies COUNT random problems instead.
 */
#include "run_tests.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "lab/tensor/random.h"
#include "random_spec.h"
#include "run_heed.h"
#include "scratch.h"

/* Variables of the device, besides its multiprocessors and their clock. */
#define DEVICE                                                                             \
    "HEED_LIBCUDA=" FAKE_CUDA " HEED_NVRTC=" FAKE_CUDA " HEED_NVML=" FAKE_CUDA             \
    " HEED_DEVICE=cuda HEED_CACHE_LIMIT=100000 FAKE_CUDA_EMULATES=1 FAKE_CUDA_L2=1000000 " \
    "FAKE_CUDA_MEMORY_CLOCK=1000 FAKE_CUDA_TRACE=launches.txt "

static const run_heed_way usual = { HEED_PROGRAM,
                                    DEVICE "FAKE_CUDA_MULTIPROCESSORS=4 FAKE_CUDA_CLOCK=1000" };

/* The gates that call the kernel just a few times, aligned and not, and in parts of the batch. */
#define VERIFY                                                                                   \
    "heed verify --time-limit 1000000 --gate error --gate lse --gate canaries --gate unaligned " \
    "--gate batch "

/* -------------------------------------------------------------------------- */
/* Each kernel and feature                                                    */
/* -------------------------------------------------------------------------- */

/* A kernel, a problem, and a function that must be launched besides heed_attend: else the row would
 * not test what it is for. */
typedef struct row {
    const char *kernel, *spec;
    const char *function; /* NULL: none */
} row;

static const row rows[] = {
    { "fwd_any_sm80_naive", "b2 h2/1 s3/40 d16 f32 lengths causal=br sinks layout=bhsd", NULL },
    { "fwd_16bit_sm80_mma__m64n64w4k1s2q2o1b3p1l1a1",
      "b3 h2/1 s70/300 d64 f16 causal=br shown=bytes:b visible=abs(q-k+300-60*batch)<30",
      "heed_list" },
    { "fwd_16bit_sm80_mma__m16n32w1k4s2q2o1b2p2l1a1",
      "b3 h4/2 s5/100 d40/64 bf16 lengths sinks softcap=20 paged=25/20", NULL },
    { "fwd_16bit_sm80_mma", "b4 h4/2 s9/90 d40 f16 varlen=20/150 starts=bq window=40:3 align=br",
      NULL },
    { "fwd_f32_sm80_mma", "b3 h4/2 s4/33 d24 f32 prefix=16 lengths causal=br sinks=bh",
      "heed_merge_wide" },
    { "fwd_16bit_sm90_wgmma",
      "b3 h4/2 s70/200 d64 f16 causal=br starts shown=bits:q scale=-0.3 visible=k%50!=7",
      "heed_list" },
    { "fwd_16bit_sm90_wgmma",
      "b4 h4/2 s40/64 d64 bf16 varlen=70/0 lengths causal=br append=3 rotary=32 paged=16/20",
      "heed_append_wide" },
    { "fwd_16bit_sm90_wgmma__r1k2n64s8o1t1c1g1p4", "b2 h2/1 s20/300 d64 f16 bias=f16:hq lengths",
      "heed_combine" },
    { "fwd_16bit_sm90_wgmma__r1k2n64s8o1t1c1g1",
      "b3 h2 s3/128 d64 f16 invariant chunk=50 align=br layout=sbhd visible=k%50!=7", "heed_list" },
    { "fwd_16bit_sm90_mla", "b2 h16/1 s2/128 d576/512 bf16 shared lengths causal=br paged=32/9",
      "heed_combine" },
    { "fwd_16bit_sm90_wide", "b2 h2/1 s30/130 d320/264 f16 causal=br", "heed_combine" },
    { "fwd_f32_sm80_wide", "b1 h2/1 s20/190 d264 f32 causal=br", "heed_combine" },
};

/* Returns whether the file of launches has one of @function. */
static bool was_launched(const char *launches, const char *function)
{
    size_t length = strlen(function);
    for (const char *at = launches; (at = strstr(at, function)); at += length)
        if ((at == launches || at[-1] == '\n') && at[length] == ' ')
            return true;
    return false;
}

static void test_kernels(void **state)
{
    static char launches[RUN_HEED_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        char line[1024], path[SCRATCH_PATH_SIZE];
        unlink(scratch_path(state, "launches.txt", path));
        snprintf(line, sizeof line, VERIFY "--inputs normal --kernel %s '%s'", r->kernel, r->spec);
        run_heed_says(state, &usual, line, 0, "1 passed, 0 failed, 0 skipped");
        scratch_text_read(state, "launches.txt", launches, sizeof launches);
        if (r->function && !was_launched(launches, r->function))
            fail_msg("%s: %s: %s was not launched", r->kernel, r->spec, r->function);
    }
}

/* -------------------------------------------------------------------------- */
/* Random problems                                                            */
/* -------------------------------------------------------------------------- */

#define BATCH 8             /* problems that share a device, and a process of heed */
#define RANDOM_WORK 8000000 /* multiplications of a problem; */
#define NAIVE_WORK 300000   /* of one for the naive kernel, which takes long on the emulator */
#define NAIVE_EVERY 4       /* batches */

typedef struct random_run {
    int64_t count;
    uint64_t seed;
} random_run;

/* Writes the specs of a batch, one per line. */
static void write_specs(const char *path, uint64_t seed, int64_t count, int64_t work)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int64_t i = 0; i < count; i++) {
        char spec[HEED_SPEC_SIZE];
        random_spec(lab_random_stream(seed, (uint64_t)i), work, spec);
        fprintf(file, "%s\n", spec);
    }
    assert_int_equal(fclose(file), 0);
}

/* Appends the options that name the naive kernel, or all other CUDA kernels. */
static void add_kernels(char *line, size_t size, bool naive)
{
    const heed_kernel *kernel;
    for (size_t i = 0; (kernel = heed_kernel_at(i)); i++) {
        size_t length = strlen(line);
        if (kernel->backend == HEED_BACKEND_CUDA &&
            naive == (strstr(kernel->name, "naive") != NULL))
            snprintf(line + length, size - length, " --kernel %s", kernel->name);
    }
}

/* Verifies a batch on a device that depends on the seed. */
static bool verify_batch(void **directory, uint64_t seed, int64_t count, bool naive)
{
    static heed_said said;
    static const int clocks[] = { 100, 1000, 10000, 1000000 };
    char variables[2048], path[SCRATCH_PATH_SIZE];
    char line[2048] = VERIFY "--gate finite --gate appended --quick --deadline 600 --jobs 2 "
                             "--shapes specs.txt";
    uint64_t draw = lab_random_bits(seed, BATCH);
    snprintf(variables, sizeof variables, DEVICE "FAKE_CUDA_MULTIPROCESSORS=%d FAKE_CUDA_CLOCK=%d",
             1 + (int)(draw % 8), clocks[draw / 8 % 4]);
    const run_heed_way way = { HEED_PROGRAM, variables };
    write_specs(scratch_path(directory, "specs.txt", path), seed, count,
                naive ? NAIVE_WORK : RANDOM_WORK);
    add_kernels(line, sizeof line, naive);
    run_heed(directory, &way, line, &said);
    printf("%s", said.out);
    if (said.code != 0)
        printf("FAILED with %s\n%s", variables, said.err);
    fflush(stdout);
    return said.code == 0;
}

static void test_random_problems(void **state)
{
    const random_run *run = *state;
    void *directory = NULL;
    int failed = 0;
    scratch_open(&directory);
    for (int64_t i = 0; i < run->count; i += BATCH) {
        int64_t left = run->count - i;
        failed += !verify_batch(&directory, lab_random_stream(run->seed, (uint64_t)i),
                                left < BATCH ? left : BATCH, i / BATCH % NAIVE_EVERY == 0);
    }
    scratch_close(&directory);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "random") == 0) {
        random_run run = { strtoll(argv[2], NULL, 10), strtoull(argv[3], NULL, 10) };
        test_list random = TEST_LIST(test_random_problems);
        random.state = &run;
        return run_test_list(random, NULL, NULL);
    }
    return run_test_list(TEST_LIST_EACH(scratch_open, scratch_close, test_kernels), NULL, NULL);
}
