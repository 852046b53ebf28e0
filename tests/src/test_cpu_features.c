/*
 * test_cpu_features.c - CPU features are a set: any combination of rows, some of which imply others
 */
#include "run_tests.h"

#include <string.h>

#include "cpu/features.h"
#include "plan.h"

/* A CPU with matrix tiles but without the bfloat16 dot product. No linear order of features can
 * describe both this CPU and one with the opposite pair. */
enum {
    VNNI = 1 << 8,
    AMX = 1 << 9
};

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

static const heed_cpu_feature made_up[] = {
    { "scalar", 0, 0, yes },
    { "avx2", HEED_CPU_AVX2, 0, yes },
    { "vnni", VNNI, HEED_CPU_AVX2, yes },
    { "avx512", HEED_CPU_AVX512, HEED_CPU_AVX2, yes },
    { "avx512bf16", HEED_CPU_AVX512BF16, HEED_CPU_AVX512, no },
    { "amx", AMX, HEED_CPU_AVX512, yes },
    { NULL, 0, 0, NULL },
};

static heed_machine machine_with(unsigned features)
{
    heed_machine machine = { .backend = HEED_BACKEND_CPU, .features = features, .threads = 1 };
    heed_cpu_print(made_up, features, machine.cpu);
    return machine;
}

static const char *reject(const heed_machine *machine, unsigned needs)
{
    static const heed_problem problem = { .size = sizeof problem, .type = HEED_BF16 };
    const heed_kernel kernel = {
        .name = "made_up", .backend = HEED_BACKEND_CPU, .features = needs, .types = 1u << HEED_BF16
    };
    return heed_plan_reject(&kernel, &problem, machine);
}

/* A kernel runs if the CPU has all features that it needs, whatever else is missing. */
static void test_matrix_tiles_without_dot_product(void **state)
{
    unsigned found = heed_cpu_detect(made_up);
    assert_int_equal(found, HEED_CPU_AVX2 | VNNI | HEED_CPU_AVX512 | AMX);
    heed_machine machine = machine_with(found);
    assert_string_equal(machine.cpu, "vnni+amx");
    assert_null(reject(&machine, AMX));
    assert_null(reject(&machine, AMX | VNNI));
    assert_null(reject(&machine, HEED_CPU_SCALAR));
    assert_non_null(reject(&machine, HEED_CPU_AVX512BF16));
    assert_non_null(reject(&machine, AMX | HEED_CPU_AVX512BF16));
    char features[HEED_FEATURES_SIZE];
    heed_machine_features(&machine, features);
    assert_string_equal(features, "vnni+amx");
}

/* The opposite pair, which no order of the two could express as well. */
static void test_dot_product_without_matrix_tiles(void **state)
{
    heed_machine machine = machine_with(HEED_CPU_AVX2 | HEED_CPU_AVX512 | HEED_CPU_AVX512BF16);
    assert_string_equal(machine.cpu, "avx512bf16");
    assert_null(reject(&machine, HEED_CPU_AVX512BF16));
    assert_non_null(reject(&machine, AMX));
}

/* A name allows that feature and all that it implies, and nothing else. */
static void test_names_cap(void **state)
{
    static const text_integer cases[] = {
        { "scalar", 0 },
        { "avx2", HEED_CPU_AVX2 },
        { "vnni", VNNI | HEED_CPU_AVX2 },
        { "avx512bf16", HEED_CPU_AVX512BF16 | HEED_CPU_AVX512 | HEED_CPU_AVX2 },
        { "amx", AMX | HEED_CPU_AVX512 | HEED_CPU_AVX2 },
    };
    unsigned allowed;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(heed_cpu_allowed(made_up, cases[i].text, &allowed));
        assert_int_equal(allowed, cases[i].value);
    }
    assert_false(heed_cpu_allowed(made_up, "avx", &allowed));
    assert_false(heed_cpu_allowed(made_up, "", &allowed));
}

/* A feature is not used without those that it implies, even if the CPU has it. */
static void test_needs_what_it_implies(void **state)
{
    heed_cpu_feature table[] = { made_up[0], made_up[3], made_up[5], made_up[6] };
    table[1].detect = no;
    table[1].implies = 0;
    assert_int_equal(heed_cpu_detect(table), 0);
    char text[HEED_FEATURES_SIZE];
    heed_cpu_print(table, 0, text);
    assert_string_equal(text, "scalar");
}

/* The real table: each feature has a distinct bit, follows the rows that it implies, and has a name
 * that fits. */
/* The size of the word for @features, each of which may be there with or without the others that it
 * implies: names of implied features are left out. */
static size_t word_size(unsigned features)
{
    unsigned implied = 0;
    size_t size = 0;
    for (const heed_cpu_feature *row = heed_cpu_features; row->name; row++)
        implied |= row->bit & features ? row->implies : 0;
    for (const heed_cpu_feature *row = heed_cpu_features; row->name; row++)
        size += row->bit & features & ~implied ? strlen(row->name) + 1 : 0;
    return size;
}

static void test_table(void **state)
{
    unsigned before = 0;
    char text[HEED_FEATURES_SIZE];
    assert_string_equal(heed_cpu_features[0].name, "scalar");
    for (const heed_cpu_feature *row = heed_cpu_features; row->name; row++) {
        unsigned allowed;
        assert_int_equal(row->bit & before, 0);
        assert_int_equal(row->implies & ~before, 0);
        before |= row->bit;
        assert_true(heed_cpu_allowed(heed_cpu_features, row->name, &allowed));
        heed_cpu_print(heed_cpu_features, allowed, text);
        assert_string_equal(text, row->name);
    }
    for (unsigned features = 0; features <= before; features++)
        assert_true(word_size(features) <= HEED_FEATURES_SIZE);
    for (size_t i = 0; i < heed_kernel_count(); i++) {
        const heed_kernel *kernel = heed_kernel_at(i);
        assert_int_equal(kernel->features & ~before, 0);
        assert_true((kernel->backend == HEED_BACKEND_CUDA) == (kernel->arch != 0));
    }
}

/* An empty string allows everything, whatever the environment contains. */
static void test_context(void **state)
{
    heed_context *context;
    char all[HEED_FEATURES_SIZE];
    heed_cpu_print(heed_cpu_features, heed_cpu_detect(heed_cpu_features), all);
    assert_int_equal(
        heed_context_create(
            &context, &(heed_options){ .size = sizeof(heed_options), .cpu = "", .threads = 1 }),
        HEED_OK);
    assert_string_equal(heed_context_cpu(context), all);
    heed_context_destroy(context);
    assert_int_equal(heed_context_create(&context, &(heed_options){ .size = sizeof(heed_options),
                                                                    .cpu = "scalar",
                                                                    .threads = 1 }),
                     HEED_OK);
    assert_string_equal(heed_context_cpu(context), "scalar");
    heed_context_destroy(context);
}

RUN_TESTS(test_matrix_tiles_without_dot_product, test_dot_product_without_matrix_tiles,
          test_names_cap, test_needs_what_it_implies, test_table, test_context)
