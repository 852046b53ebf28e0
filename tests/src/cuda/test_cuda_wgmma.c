/*
 * test_cuda_wgmma.c - host code of attn_wgmma.cu, and the launches of its plans (fake_cuda.h)
 */
#include "run_tests.h"

#include <string.h>

#include "cuda/backend.h"
#include "cuda/driver/driver.h"
#include "cuda/maps.h"
#include "cuda/sources.h"
#include "cuda_scene.h"
#include "device.h"
#include "expect.h"
#include "plan.h"

/* The sizes of the device code, for a config that is known at run time: macros are expanded at
 * their use. */
#define HEED_TILE_KEYS 64
#define HEED_ROW_GROUPS 1
#define HEED_KEY_GROUPS 1
#include "cuda/kernels/wgmma/sizes.cuh"
#undef HEED_TILE_KEYS
#undef HEED_ROW_GROUPS
#undef HEED_KEY_GROUPS
#undef HEED_BIAS_TILES
#define HEED_ROW_GROUPS (config->value[0])
#define HEED_KEY_GROUPS (config->value[1])
#define HEED_TILE_KEYS (config->value[2])
#define HEED_STAGES (config->value[3])
#define HEED_SCHEDULE (config->value[7])
#define HEED_BIAS_TILES (config->value[9] == 2)
#define HEED_DIM_QK (problem->dim_qk)
#define HEED_DIM_V (problem->dim_v)
#define HEED_MASKED (heed_problem_masked(problem))

static int64_t shared_bytes(const heed_problem *problem, const heed_config *config)
{
    return SHARED_BYTES;
}

static int threads(const heed_config *config)
{
    return THREADS;
}

/* -------------------------------------------------------------------------- */
/* The kernel                                                                 */
/* -------------------------------------------------------------------------- */

/* A library without this source compiles another one: nothing here runs it. */
static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    heed_source source;
    heed_status status = heed_algorithm_cuda_wgmma.facts(kernel, problem, machine, config, result);
    if (!heed_source_find(result->source, &source))
        result->source = "attn_mma.cu";
    return status;
}

static heed_algorithm algorithm;
static const heed_kernel wgmma = { .name = "wgmma",
                                   .backend = HEED_BACKEND_CUDA,
                                   .arch = 90,
                                   .types = 1u << HEED_F16 | 1u << HEED_BF16,
                                   .algorithm = &algorithm,
                                   .code = &heed_cuda_wgmma_code };

static heed_config read_config(const char *text)
{
    heed_config config;
    if (!heed_config_parse(&algorithm, text, &config))
        fail_msg("no config %s", text);
    return config;
}

static const char *const specs[] = {
    "b4 h16 s4096 d64 f16",         "b4 h16 s4096 d64 f16 causal",  "b4 h16 s4096 d8 bf16",
    "b4 h16 s4096 d96 f16 causal",  "b4 h16 s4096 d128 f16",        "b4 h16 s4096 d128 f16 causal",
    "b4 h16 s4096 d192/128 f16",    "b4 h16 s4096 d64/192 bf16",    "b4 h16 s4096 d192 f16 causal",
    "b4 h16 s4096 d160 f16 causal", "b4 h16 s4096 d256 f16 causal", "b4 h16 s4096 d256 f16",
};
#define SPECS (sizeof specs / sizeof *specs)

static heed_machine machine_of(heed_gpu *gpu, int arch)
{
    assert_true(heed_gpu_arch(gpu, arch));
    return (heed_machine){ .backend = HEED_BACKEND_CUDA, .gpu = gpu, .threads = 1 };
}

/* -------------------------------------------------------------------------- */
/* Configs                                                                    */
/* -------------------------------------------------------------------------- */

/* The host requests as much shared memory as the device code lays out, and it fits. Every problem
 * has several configs to choose from. */
static void test_sizes(void **state)
{
    heed_gpu gpu;
    heed_machine machine = machine_of(&gpu, 90);
    for (size_t n = 0; n < SPECS; n++) {
        heed_problem problem = scene_problem(specs[n]);
        int legal = 0;
        for (int i = 0; i < heed_config_count(&algorithm); i++) {
            heed_config config;
            heed_cuda_facts found = { .source = NULL };
            const char *why;
            heed_config_at(&algorithm, i, &config);
            assert_int_equal(facts(&wgmma, &problem, &machine, &config, &found), HEED_OK);
            assert_int_equal(found.launch.smem, shared_bytes(&problem, &config));
            assert_int_equal(found.launch.threads, threads(&config));
            if (!heed_plan_considers(&wgmma, &problem, &machine, &config, &why))
                continue;
            legal++;
            assert_true(found.launch.smem <= gpu.smem_block);
            double seconds = algorithm.cost(&wgmma, &problem, &machine, &config);
            assert_true(seconds > heed_gpu_roofline(&gpu, &problem) && seconds < 1);
        }
        if (legal < 2)
            fail_msg("%s: %d configs", specs[n], legal);
    }
}

/* The names of all configs of the table can be parsed. */
static void test_names(void **state)
{
    for (int i = 0; i < heed_config_count(&algorithm); i++) {
        char name[HEED_NAME_SIZE];
        heed_config config, again;
        heed_config_at(&algorithm, i, &config);
        heed_config_print(&wgmma, &config, name, sizeof name);
        assert_true(heed_config_parse(&algorithm, strstr(name, "__") + 2, &again));
        assert_memory_equal(&config, &again, sizeof config);
    }
}

static void test_what_is_legal(void **state)
{
    static const struct {
        int arch;
        const char *spec, *config, *why; /* NULL: legal and worthwhile */
    } cases[] = {
        { 90, "b1 h4 s256 d64 f16", "r2k1n128s4o2t1c1g1", NULL },
        { 90, "b1 h4 s256 d64 f16 causal scale=-1", "r2k1n128s4o2t1c1g1", NULL },
        { 90, "b1 h6/2 s256 d64 f16", "r2k1n128s4o2t1c1g1", NULL },
        { 90, "b1 h4 s256 d64 f16 acc=f16", "r2k1n128s4o2t1c1g1", NULL },
        { 90, "b1 h4 s256 d64 f16 k=0:4194312:64", "r2k1n128s4o2t1c1g1", NULL },
        { 89, "b1 h4 s256 d64 f16", "r2k1n128s4o2t1c1g1", "compute capability 9.0" },
        { 90, "b1 h4 s256 d68 f16", "r2k1n128s2o2t1c1g1", "not a multiple of 8" },
        { 90, "b1 h4 s256 d264 f16", "r2k1n64s2o2t1c1g1", "above 256" },
        { 90, "b1 h4 s256 d64 f16 k=0:260:64", "r2k1n128s4o2t1c1g1", "strides" },
        { 90, "b2 h4 s256 d64 f16 k=0:256:64", "r2k1n128s4o2t1c1g1", "strides" },
        { 90, "b1 h4 s256 d64 f16", "r3k2n64s2o1t1c1g1", "4 warpgroups" },
        { 90, "b1 h4 s256 d64 f16", "r1k3n64s2o1t1c1g1", "a multiple of the key groups" },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s2o2t1c1g1", "order 2 twice that" },
        { 90, "b1 h4 s256 d64 f16", "r2k1n64s5o3t2c1g1", NULL },
        { 90, "b1 h4 s256 d192 f16 softcap=30", "r2k1n64s3o3t2c1g1", NULL },
        { 90, "b1 h4 s256 d192 f16", "r2k1n64s3o3t2c1g1", "more or fewer instructions" },
        { 90, "b1 h4 s256 d192 f16 visible=k!=q", "r2k1n96s2o2t2c1g1", NULL },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s4o1t1c1g3", NULL },
        { 90, "b1 h4 s256 d64 f16", "r4k1n64s4o1t1c1g3", "two warpgroups that compute" },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s4o2t1c1g3", "not worthwhile: needs more registers" },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s8o1t1c1g3", "two blocks" },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s4o1t1c1g4", NULL },
        { 90, "b1 h4 s256 d64 f16", "r2k1n64s3o1t1c1g4", "one row group" },
        { 90, "b1 h4 s256 d64 f16", "r1k1n64s3o1t1c1g4", "two warpgroups that compute" },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s6o1t1c1g4", "two blocks" },
        { 90, "b1 h4 s256 d64 f16", "r2k1n64s4o3t1c1g1", NULL },
        { 90, "b1 h4 s256 d64 f16", "r2k1n64s4o3t1c2g1", "under a mask" },
        { 90, "b1 h4 s256 d64 f16", "r4k1n64s8o2t2c1g1", "registers" },
        { 90, "b1 h4 s256 d64 f16 causal", "r4k1n64s8o3t2c2g1", NULL },
        { 90, "b1 h4 s256 d64 f16", "r1k2n64s2o1t1c1g2", "blocks of one item" },
        { 90, "b1 h4 s256 d64 f16", "r1k1n64s2o1t2c1g1", "turns" },
        { 90, "b1 h4 s256 d128 f16 causal", "r2k1n64s3o1t1c2g2", "not worthwhile: is for" },
        { 90, "b1 h4 s256 d64 f16", "r3k1n256s2o1t1c1g1", "registers" },
        { 90, "b1 h4 s256 d256 f16", "r2k1n96s2o1t1c1g1", "shared memory" },
        { 90, "b1 h4 s64/4096 d64 f16", "r1k4n64s8o1t1c1g1p8", NULL },
        { 90, "b1 h4 s64/4096 d128 f16 causal=br", "r2k1n128s2o2t2c1g1p8", NULL },
        { 90, "b1 h6/2 s64/4096 d128 f16", "r1k2n64s6o1t1c1g1p8", NULL },
        { 90, "b1 h4 s64/4096 d128 f16 causal=br", "r2k1n128s2o2t2c2g1p8", "the same tiles" },
        { 90, "b1 h4 s64/4096 d128 f16", "r2k1n128s2o2t2c1g2p8", "blocks of one item" },
        { 90, "b1 h4 s64/4096 d64 f16 visible=k%50!=7", "r1k2n64s8o1t1c1g1p8", NULL },
        { 90, "b1 h4 s64/65536 d64 f16 visible=k%50!=7", "r1k2n64s8o1t1c1g1p8", "not listed" },
        { 90, "b1 h4 s4/4096 d64 f16", "r1k4n64s8o1t1c1g1p8", "not worthwhile: blocks of" },
        { 90, "b2 h4 s64/4096 d64 f16 lengths", "r1k4n64s8o1t1c1g1p8", "not worthwhile: does not" },
        { 90, "b2 h4 s128/4096 d64 f16 lengths", "r1k4n64s8o1t1c1g1p8", NULL },
        { 90, "b64 h4 s64/4096 d64 f16", "r1k4n64s8o1t1c1g1p8", "not worthwhile: enough blocks" },
        { 90, "b1 h4 s64/512 d64 f16", "r1k4n64s8o1t1c1g1p8", "not worthwhile: more splits" },
        { 90, "b1 h8 s2147483647/64 d64 f16", "r1k4n64s8o1t1c1g1p8", "32 bits" },
        { 90, "b1 h4 s2147483648/8 d64 f16", "r2k1n128s4o2t1c1g1", "32 bits" },
        { 90, "b1 h4 s256 d64 f16 bias=bf16:hq", "r3k1n64s4o3t2c1g2b2", NULL },
        { 90, "b1 h4 s256 d64 f16 bias=f16:hq", "r2k1n128s3o3t3c1g2b2", NULL },
        { 90, "b1 h4/2 s256 d64 f16 bias=f16:hq", "r3k1n64s4o3t2c1g2b2", NULL },
        { 90, "b1 h6/2 s256 d64 f16 bias=f16:q", "r3k1n64s4o3t2c1g2b2", NULL },
        { 90, "b1 h4/2 s256 d64 f16 bias=f16:q", "r4k1n64s3o3t2c1g2b2", "bias of 16 bits" },
        { 90, "b1 h4 s256 d64 f16 bias=f32:hq", "r4k1n64s3o3t2c1g2b2", "bias of 16 bits" },
        { 90, "b1 h4 s256 d64 f16 bias=f16:h", "r4k1n64s3o3t2c1g2b2", "bias of 16 bits" },
        { 90, "b1 h4 s250 d64 f16 bias=f16:hq", "r4k1n64s3o3t2c1g2b2", "bias of 16 bits" },
        { 90, "b1 h4 s256 d64 f16", "r4k1n64s3o3t2c1g2b2", "bias of 16 bits" },
        { 90, "b1 h4 s256 d64 f16 bias=f16:hq", "r2k1n96s3o3t2c1g2b2", "a multiple of 64 keys" },
        { 90, "b1 h4 s256 d64 f16 bias=f16:hq", "r4k1n64s4o3t2c1g2b2", "shared memory" },
        { 90, "b65536 h32769/10923 s8 d64 f16", "r2k1n128s4o2t1c1g1", "32 bits" },
        { 90, "b1 h4 s256 d256 f16 causal softcap=50", "r2k1n64s2o2t2c1g1", NULL },
        { 90, "b1 h4 s256 d256 f16 shown=bytes:hq", "r2k1n64s2o2t2c1g1", NULL },
        { 90, "b1 h4 s256 d256 f16 bias=f16:hq", "r2k1n64s2o2t2c1g1", "spills registers" },
        { 90, "b1 h4 s256 d128 f16 causal", "r2k1n128s2o2t2c2g2", NULL },
        { 90, "b1 h4 s256 d128 f16 causal window=99:", "r2k1n128s2o2t2c2g2", "first tiles" },
        { 90, "b9 h4 s256 d128 f16 causal varlen=999", "r2k1n64s4o2t2c1g2", "than their mean" },
        { 90, "b9 h4 s256 d128 f16 causal window=9: varlen=999", "r2k1n64s4o2t2c1g2", NULL },
        { 90, "b9 h4 s256 d128 f16 varlen=999", "r1k3n64s6o2t1c1g1", NULL },
        { 90, "b9 h4 s256 d192/128 f16 causal varlen=999", "r2k1n64s3o2t2c2g2", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_gpu gpu;
        heed_machine machine = machine_of(&gpu, cases[i].arch);
        heed_problem problem = scene_problem(cases[i].spec);
        heed_config config = read_config(cases[i].config);
        const char *why = NULL;
        bool fine = heed_plan_considers(&wgmma, &problem, &machine, &config, &why);
        if (fine != !cases[i].why || (!fine && !strstr(why, cases[i].why)))
            fail_msg("%s for %s: %s", cases[i].config, cases[i].spec, fine ? "legal" : why);
        bool slow = !fine && strncmp(why, "not worthwhile: ", 16) == 0;
        assert_true(algorithm.legal(&wgmma, &problem, &machine, &config, &why) == (fine || slow));
    }
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

static fake_launch last;
static heed_cuda_mapped_args last_args; /* of a mapped kernel */
static int launch_count;
static unsigned first_grid;
static unsigned mapped_threads; /* identifies the mapped kernel */

static void note_launch(void *data, const fake_launch *launch)
{
    (void)data;
    last = *launch;
    if (launch_count++ == 0)
        first_grid = launch->grid[0];
    memset(&last_args, 0, sizeof last_args);
    if (launch->block[0] == mapped_threads)
        memcpy(&last_args, launch->args, sizeof last_args);
}

typedef struct trial {
    heed_plan plan;
    heed_config config;
    char *memory;
    heed_buffers buffers;
} trial;

static heed_status trial_begin(trial *t, const char *spec, const char *config)
{
    *t = (trial){ .plan = { .context = scene_open("cuda"), .problem = scene_problem(spec) },
                  .config = read_config(config) };
    void *memory;
    fake->args_size = sizeof(heed_cuda_args);
    fake->hook = note_launch;
    launch_count = 0;
    mapped_threads = (unsigned)threads(&t->config);
    assert_int_equal(heed_device_allocate(t->plan.context, 4096, &memory), HEED_OK);
    t->memory = memory;
    t->buffers = (heed_buffers){ .size = sizeof(heed_buffers),
                                 .q = t->memory,
                                 .k = t->memory + 1024,
                                 .v = t->memory + 2048,
                                 .o = t->memory + 3072 };
    return heed_plan_set(&t->plan, &wgmma, &t->config);
}

static void trial_end(trial *t)
{
    heed_context *context = t->plan.context;
    heed_plan_unset(&t->plan);
    heed_device_free(context, t->memory);
    heed_context_destroy(context);
}

static void execute(trial *t)
{
    if (heed_execute(&t->plan, &t->buffers) != HEED_OK)
        fail_msg("%s", heed_message());
}

static const void *address_of(const heed_cuda_map *map)
{
    fake_map seen;
    memcpy(&seen, map, sizeof seen);
    assert_true(seen.mark == FAKE_MAP_MARK);
    return seen.address;
}

/* One launch, with the addresses of this execution in the maps. */
static void test_one_launch(void **state)
{
    trial t;
    if (trial_begin(&t, "b2 h8/2 s1000 d64 f16 causal", "r2k1n128s4o2t1c1g1") != HEED_OK)
        fail_msg("%s", heed_message());
    int calls = fake->calls;
    execute(&t);
    /* the current context, a push, four pointers, four addresses, the launch */
    assert_int_equal(fake->calls - calls, 11);
    assert_int_equal(launch_count, 1);
    assert_int_equal(last.block[0], 3 * 128);
    assert_int_equal(last.smem, shared_bytes(&t.plan.problem, &t.config));
    assert_int_equal(last.grid[0], 2 * 2 * 32); /* batch, key/value heads, 4000 rows by 128 */
    assert_ptr_equal(address_of(&last_args.q), t.buffers.q);
    assert_ptr_equal(address_of(&last_args.k), t.buffers.k);
    assert_ptr_equal(address_of(&last_args.v), t.buffers.v);
    assert_ptr_equal(address_of(&last_args.o), t.buffers.o);
    assert_ptr_equal(last_args.args.o, t.buffers.o);
    assert_null(last_args.args.lse);
    assert_int_equal(last_args.args.rows, 4000);
    assert_int_equal(last_args.args.group.value, 4);
    assert_int_equal(last_args.share.value, 1);
    t.buffers.k = t.memory + 512;
    execute(&t);
    assert_ptr_equal(address_of(&last_args.k), t.buffers.k);
    trial_end(&t);
}

/* Groups that do not divide 64 are separate heads that share a key/value head. */
static void test_groups_that_are_not_packed(void **state)
{
    trial t;
    assert_int_equal(trial_begin(&t, "b2 h6/2 s1000 d64 f16", "r2k1n128s4o2t1c1g1"), HEED_OK);
    execute(&t);
    assert_int_equal(last_args.args.rows, 1000);
    assert_int_equal(last_args.args.heads, 12);
    assert_int_equal(last_args.args.heads_kv.value, 6);
    assert_int_equal(last_args.args.group.value, 1);
    assert_int_equal(last_args.share.value, 3);
    assert_int_equal(last.grid[0], 12 * 8);
    trial_end(&t);
}

/* Blocks that share keys store parts, which a second launch merges: four rows per block. */
static void test_splits(void **state)
{
    const int64_t parts = 8 * 6 * 100;
    trial t;
    void *memory;
    heed_cuda_args args;
    assert_int_equal(trial_begin(&t, "b1 h6/2 s100/4096 d64 f16", "r1k4n64s8o1t1c1g1p8"), HEED_OK);
    size_t size = t.plan.workspace_size;
    assert_int_equal(size, parts * (64 + 1) * (int64_t)sizeof(float));
    assert_int_equal(heed_device_allocate(t.plan.context, size, &memory), HEED_OK);
    t.buffers.workspace = memory;
    t.buffers.workspace_size = size;
    execute(&t);
    assert_int_equal(launch_count, 2);
    assert_int_equal(first_grid, 6 * 2 * 8);
    assert_int_equal(last.grid[0], 6 * 100 / 4);
    assert_int_equal(last.block[0], 128);
    memcpy(&args, last.kept, sizeof args);
    assert_int_equal(args.splits.value, 8);
    assert_int_equal(args.share, 3);
    assert_null(args.arrived);
    assert_ptr_equal(args.partial, memory);
    assert_ptr_equal(args.partial_lse, args.partial + parts * 64);
    heed_device_free(t.plan.context, memory);
    trial_end(&t);
}

/* A bias whose tiles are copied has a map too, and another kernel takes over if its address is not
 * a multiple of 16. */
static void test_bias_tiles(void **state)
{
    trial t;
    const char *spec = "b2 h4/2 s256 d64 f16 bias=bf16:hq";
    assert_int_equal(trial_begin(&t, spec, "r4k1n64s3o3t2c1g2b2"), HEED_OK);
    t.buffers.bias = t.memory + 512;
    execute(&t);
    assert_int_equal(last.block[0], 5 * 128);
    assert_int_equal(last.smem, shared_bytes(&t.plan.problem, &t.config));
    assert_ptr_equal(address_of(&last_args.bias), t.buffers.bias);
    assert_ptr_equal(address_of(&last_args.v), t.buffers.v);
    assert_ptr_equal(last_args.args.changes.sources[0].data, t.buffers.bias);
    t.buffers.bias = t.memory + 520;
    execute(&t);
    assert_int_equal(last.block[0], 128);
    trial_end(&t);
}

/* At most one block for each of the 132 multiprocessors. */
static void test_blocks_in_turn(void **state)
{
    trial t;
    assert_int_equal(trial_begin(&t, "b4 h16 s4096 d64 f16", "r3k1n128s3o3t2c1g2"), HEED_OK);
    execute(&t);
    assert_int_equal(last.grid[0], 132);
    assert_int_equal(last_args.args.heads * last_args.args.blocks, 64 * 22);
    trial_end(&t);
    assert_int_equal(trial_begin(&t, "b1 h2 s4096 d64 f16", "r3k1n128s3o3t2c1g2"), HEED_OK);
    execute(&t);
    assert_int_equal(last.grid[0], 44);
    trial_end(&t);
}

/* Another kernel takes over if an address is not a multiple of 16, even if the stride between keys
 * exceeds that kernel's usual limit. */
static void test_misaligned_pointers(void **state)
{
    static const char *const odd[] = { "b1 h4 s256 d64 f16", "b1 h1 s256 d64 f16 k=0:4194312:0" };
    for (int i = 0; i < 2; i++) {
        trial t;
        assert_int_equal(trial_begin(&t, odd[i], "r2k1n128s4o2t1c1g1"), HEED_OK);
        execute(&t);
        assert_int_equal(last.block[0], 3 * 128);
        t.buffers.v = (const char *)t.buffers.v + 2;
        execute(&t);
        assert_int_equal(last.block[0], 128);
        heed_cuda_args args;
        memcpy(&args, last.kept, sizeof args);
        assert_ptr_equal(args.v, t.buffers.v);
        assert_int_equal(args.blocks, 4);
        assert_int_equal(last.grid[0], args.blocks * args.heads);
        trial_end(&t);
    }
}

/* The maps are in the arguments that a graph stores. */
static void test_captured(void **state)
{
    trial t;
    void *stream;
    cu_graph *graph;
    cu_graph_exec *exec;
    const heed_driver *driver;
    cu_context *context, *popped;
    assert_int_equal(trial_begin(&t, "b1 h4 s256 d64 f16", "r2k1n128s4o2t1c1g1"), HEED_OK);
    assert_int_equal(heed_driver_get(&driver), HEED_OK);
    fake->args_size = sizeof(heed_cuda_mapped_args);
    assert_int_equal(driver->primary_retain(&context, 0), CU_SUCCESS);
    assert_int_equal(driver->context_push(context), CU_SUCCESS);
    assert_int_equal(driver->stream_create((cu_stream **)&stream, CU_STREAM_APART), CU_SUCCESS);
    assert_int_equal(driver->capture_begin(stream, CU_CAPTURE_THREAD_LOCAL), CU_SUCCESS);
    t.buffers.stream = stream;
    execute(&t);
    assert_int_equal(driver->capture_end(stream, &graph), CU_SUCCESS);
    assert_int_equal(launch_count, 0);
    fake->hook = NULL; /* the arguments have been moved */
    assert_int_equal(driver->graph_instantiate(&exec, graph, 0), CU_SUCCESS);
    assert_int_equal(driver->graph_launch(exec, stream), CU_SUCCESS);
    heed_cuda_mapped_args kept;
    memcpy(&kept, fake->last.kept, sizeof kept);
    assert_ptr_equal(address_of(&kept.v), t.buffers.v);
    driver->graph_exec_destroy(exec);
    driver->graph_destroy(graph);
    driver->stream_destroy(stream);
    driver->context_pop(&popped);
    driver->primary_release(0);
    trial_end(&t);
}

/* Every call made by planning or execution fails once: an error, and nothing leaks. */
static void test_failures(void **state)
{
    static const char *const names[] = { "cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress" };
    for (int i = 0; i < 8; i++) {
        trial t;
        static const char *const words[] = { "mapping", "CUDA_ERROR_INVALID_VALUE", NULL };
        scene_fail_at(names[i / 4], i % 4 + 1, 1);
        heed_status status = trial_begin(&t, "b1 h4 s256 d64 f16", "r2k1n128s4o2t1c1g1");
        if (status == HEED_OK)
            status = heed_execute(&t.plan, &t.buffers);
        assert_true(is_refused(names[i / 4], status, HEED_ERR_DEVICE, words));
        assert_int_equal(launch_count, 0);
        assert_int_equal(fake->depth, 0);
        scene_fail_at(NULL, 0, 0);
        trial_end(&t);
    }
}

int main(void)
{
    algorithm = heed_algorithm_cuda_wgmma;
    algorithm.facts = facts;
    return run_test_list(TEST_LIST_EACH(scene_reset, scene_check, test_sizes, test_names,
                                        test_what_is_legal, test_one_launch,
                                        test_groups_that_are_not_packed, test_splits,
                                        test_bias_tiles, test_blocks_in_turn,
                                        test_misaligned_pointers, test_captured, test_failures),
                         scene_begin_uncached, NULL);
}
