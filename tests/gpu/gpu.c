/*
 * gpu.c - attention on a GPU, and reference results
 */
#include "gpu.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The exit status of a test's process: see test_on_gpu.c. */
#define EXIT_FAILED 1
#define EXIT_SKIPPED 77

/* -------------------------------------------------------------------------- */
/* Verdicts                                                                   */
/* -------------------------------------------------------------------------- */

void gpu_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("    FAIL ");
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    fflush(stdout);
    _Exit(EXIT_FAILED);
}

void gpu_skip(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("    skipped: ");
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    fflush(stdout);
    _Exit(EXIT_SKIPPED);
}

void gpu_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("    ");
    vprintf(format, list);
    putchar('\n');
    va_end(list);
}

void gpu_expect(heed_status status, heed_status expected, const char *what)
{
    if (status != expected)
        gpu_fail("%s returned %s instead of %s: %s", what, heed_status_name(status),
                 heed_status_name(expected), heed_message());
}

/* -------------------------------------------------------------------------- */
/* Contexts and plans                                                         */
/* -------------------------------------------------------------------------- */

static const char *device_wanted(void)
{
    const char *device = getenv("HEED_DEVICE");
    return device && strncmp(device, "cuda", 4) == 0 ? device : "cuda";
}

heed_context *gpu_context(void)
{
    const heed_options options = { .size = sizeof options, .device = device_wanted() };
    heed_context *context;
    gpu_expect(heed_context_create(&context, &options), HEED_OK, "heed_context_create");
    return context;
}

heed_plan *gpu_plan(heed_context *context, const char *spec, const char *kernel)
{
    heed_problem problem;
    heed_plan *plan;
    gpu_expect(heed_problem_parse(&problem, spec), HEED_OK, spec);
    heed_status status = kernel ? heed_plan_create_named(&plan, context, &problem, kernel)
                                : heed_plan_create(&plan, context, &problem, HEED_ESTIMATE);
    if (status == HEED_ERR_UNSUPPORTED)
        return NULL;
    gpu_expect(status, HEED_OK, spec);
    return plan;
}

/* -------------------------------------------------------------------------- */
/* Values: numbers of size 1/4 to 2, in any element type                      */
/* -------------------------------------------------------------------------- */

/* The least exponent and the fraction, as bits. */
static const struct {
    unsigned exponent;
    unsigned fraction;
    unsigned sign;
} formats[] = {
    [HEED_F32] = { 125, 23, 31 }, [HEED_F16] = { 13, 10, 15 }, [HEED_BF16] = { 125, 7, 15 }
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint32_t random_bits(heed_type type, uint64_t *state)
{
    uint64_t random = next_random(state);
    uint32_t fraction = (uint32_t)(random >> 32) & ((1u << formats[type].fraction) - 1);
    uint32_t exponent = formats[type].exponent + (uint32_t)(random & 0xff) % 3;
    return (uint32_t)(random >> 8 & 1) << formats[type].sign | exponent << formats[type].fraction |
           fraction;
}

/* A number that is neither infinite nor NaN. */
static double value_of(heed_type type, const unsigned char *data, size_t index)
{
    uint32_t bits = 0;
    memcpy(&bits, data + index * heed_type_size(type), heed_type_size(type));
    uint32_t fraction = bits & ((1u << formats[type].fraction) - 1);
    uint32_t width = formats[type].sign - formats[type].fraction;
    int exponent = (int)(bits >> formats[type].fraction & ((1u << width) - 1));
    int bias = (1 << (width - 1)) - 1;
    if (exponent == (1 << width) - 1)
        return NAN;
    double one = exponent ? 1.0 : 0.0;
    double size = ldexp(one + ldexp(fraction, -(int)formats[type].fraction),
                        (exponent ? exponent : 1) - bias);
    return bits >> formats[type].sign & 1 ? -size : size;
}

/* Makes Q, K or V from @seed. */
static unsigned char *make_values(const gpu_scene *scene, int index, uint64_t seed)
{
    size_t element = heed_type_size(scene->problem.type);
    uint64_t state = seed * 4 + (uint64_t)index;
    unsigned char *data = malloc(scene->size[index]);
    if (!data)
        gpu_fail("not enough memory");
    for (size_t at = 0; at < scene->size[index]; at += element) {
        uint32_t bits = random_bits(scene->problem.type, &state);
        memcpy(data + at, &bits, element);
    }
    return data;
}

/* -------------------------------------------------------------------------- */
/* Scenes                                                                     */
/* -------------------------------------------------------------------------- */

static void *allocate(heed_context *context, size_t size)
{
    void *memory = NULL;
    gpu_expect(heed_device_allocate(context, size, &memory), HEED_OK, "heed_device_allocate");
    return memory;
}

static size_t elements(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (size_t)(a * b * c * d);
}

gpu_scene gpu_scene_create(heed_context *context, const heed_plan *plan, uint64_t seed)
{
    const heed_problem *p = heed_plan_problem(plan);
    size_t element = heed_type_size(p->type);
    gpu_scene scene = { .context = context, .problem = *p };
    scene.size[0] = elements(p->batch, p->seq_q, p->heads_q, p->dim_qk) * element;
    scene.size[1] = elements(p->batch, p->seq_k, p->heads_kv, p->dim_qk) * element;
    scene.size[2] = elements(p->batch, p->seq_k, p->heads_kv, p->dim_v) * element;
    scene.size[3] = elements(p->batch, p->seq_q, p->heads_q, p->dim_v) * element;
    scene.rows = elements(p->batch, p->heads_q, p->seq_q, 1);
    scene.buffers = (heed_buffers){
        .size = sizeof(heed_buffers),
        .q = allocate(context, scene.size[0]),
        .k = allocate(context, scene.size[1]),
        .v = allocate(context, scene.size[2]),
        .o = allocate(context, scene.size[3]),
        .lse = allocate(context, scene.rows * sizeof(float)),
        .workspace_size = heed_plan_workspace_size(plan),
    };
    if (scene.buffers.workspace_size)
        scene.buffers.workspace = allocate(context, scene.buffers.workspace_size);
    gpu_scene_fill(&scene, seed);
    gpu_scene_poison(&scene);
    return scene;
}

void gpu_scene_destroy(gpu_scene *scene)
{
    heed_device_free(scene->context, (void *)(uintptr_t)scene->buffers.q);
    heed_device_free(scene->context, (void *)(uintptr_t)scene->buffers.k);
    heed_device_free(scene->context, (void *)(uintptr_t)scene->buffers.v);
    heed_device_free(scene->context, scene->buffers.o);
    heed_device_free(scene->context, scene->buffers.lse);
    heed_device_free(scene->context, scene->buffers.workspace);
    memset(scene, 0, sizeof *scene);
}

static void upload(heed_context *context, const void *to, const void *from, size_t size)
{
    gpu_expect(heed_device_upload(context, (void *)(uintptr_t)to, from, size), HEED_OK,
               "heed_device_upload");
}

void gpu_scene_fill(gpu_scene *scene, uint64_t seed)
{
    const void *const inputs[] = { scene->buffers.q, scene->buffers.k, scene->buffers.v };
    scene->seed = seed;
    for (int i = 0; i < 3; i++) {
        unsigned char *values = make_values(scene, i, seed);
        upload(scene->context, inputs[i], values, scene->size[i]);
        free(values);
    }
}

size_t gpu_scene_output_size(const gpu_scene *scene)
{
    return scene->size[3] + scene->rows * sizeof(float);
}

void gpu_scene_poison(gpu_scene *scene)
{
    unsigned char *ones = malloc(gpu_scene_output_size(scene));
    if (!ones)
        gpu_fail("not enough memory");
    memset(ones, 0xff, gpu_scene_output_size(scene));
    upload(scene->context, scene->buffers.o, ones, scene->size[3]);
    upload(scene->context, scene->buffers.lse, ones, scene->rows * sizeof(float));
    free(ones);
}

unsigned char *gpu_scene_take(const gpu_scene *scene)
{
    unsigned char *output = malloc(gpu_scene_output_size(scene));
    if (!output)
        gpu_fail("not enough memory");
    gpu_expect(heed_device_download(scene->context, output, scene->buffers.o, scene->size[3]),
               HEED_OK, "heed_device_download of O");
    gpu_expect(heed_device_download(scene->context, output + scene->size[3], scene->buffers.lse,
                                    scene->rows * sizeof(float)),
               HEED_OK, "heed_device_download of LSE");
    return output;
}

unsigned char *gpu_run(const heed_plan *plan, gpu_scene *scene)
{
    gpu_expect(heed_execute(plan, &scene->buffers), HEED_OK, "heed_execute");
    gpu_expect(heed_device_wait(scene->context), HEED_OK, "heed_device_wait");
    return gpu_scene_take(scene);
}

/* -------------------------------------------------------------------------- */
/* The answer                                                                 */
/* -------------------------------------------------------------------------- */

/* The CPU's result for the same values. */
static unsigned char *compute_answer(const gpu_scene *scene)
{
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    heed_context *context;
    heed_plan *plan;
    unsigned char *values[3], *output = malloc(gpu_scene_output_size(scene));
    gpu_expect(heed_context_create(&context, &options), HEED_OK, "a context for the CPU");
    gpu_expect(heed_plan_create(&plan, context, &scene->problem, HEED_ESTIMATE), HEED_OK,
               "a plan for the CPU");
    size_t size = heed_plan_workspace_size(plan);
    void *workspace = size ? allocate(context, size) : NULL;
    for (int i = 0; i < 3; i++)
        values[i] = make_values(scene, i, scene->seed);
    float *lse = calloc(scene->rows, sizeof *lse);
    if (!output || !lse)
        gpu_fail("not enough memory");
    const heed_buffers buffers = { .size = sizeof buffers,
                                   .q = values[0],
                                   .k = values[1],
                                   .v = values[2],
                                   .o = output,
                                   .lse = lse,
                                   .workspace = workspace,
                                   .workspace_size = size };
    gpu_expect(heed_execute(plan, &buffers), HEED_OK, "attention on the CPU");
    memcpy(output + scene->size[3], lse, scene->rows * sizeof *lse);
    free(lse);
    for (int i = 0; i < 3; i++)
        free(values[i]);
    heed_device_free(context, workspace);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return output;
}

/* Two roundings of outputs up to 2, times two; a wrong kernel is off by far more. `heed verify`
 * checks the details. */
void gpu_scene_check(const gpu_scene *scene, const unsigned char *output, const char *what)
{
    static const double allowed[] = { [HEED_F32] = 1e-4, [HEED_F16] = 5e-3, [HEED_BF16] = 4e-2 };
    heed_type type = scene->problem.type;
    unsigned char *answer = compute_answer(scene);
    for (size_t i = 0; i < scene->size[3] / heed_type_size(type); i++) {
        double got = value_of(type, output, i), expected = value_of(type, answer, i);
        if (!(fabs(got - expected) <= allowed[type]))
            gpu_fail("%s: element %zu of O is %g instead of %g", what, i, got, expected);
    }
    for (size_t i = 0; i < scene->rows; i++) {
        double got = value_of(HEED_F32, output + scene->size[3], i);
        double expected = value_of(HEED_F32, answer + scene->size[3], i);
        if (!(fabs(got - expected) <= 1e-3))
            gpu_fail("%s: LSE %zu is %g instead of %g", what, i, got, expected);
    }
    free(answer);
}

/* -------------------------------------------------------------------------- */
/* The driver                                                                 */
/* -------------------------------------------------------------------------- */

typedef struct driver {
    int (*init)(unsigned flags);
    int (*device_count)(int *count);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
} driver;

/* Sets @function, a pointer to a function pointer, to the entry @name of the driver that the
 * library uses. */
static void find_entry(void *library, const char *name, void *function)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found)
        gpu_fail("the driver has no %s", name);
    memcpy(function, &found, sizeof found);
}

static driver load_driver(void)
{
    const char *path = getenv("HEED_LIBCUDA");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    driver d;
    find_entry(library, "cuInit", &d.init);
    find_entry(library, "cuDeviceGetCount", &d.device_count);
    find_entry(library, "cuDevicePrimaryCtxRetain", &d.retain);
    find_entry(library, "cuCtxSetCurrent", &d.set_current);
    find_entry(library, "cuStreamCreate", &d.stream_create);
    find_entry(library, "cuStreamSynchronize", &d.stream_wait);
    find_entry(library, "cuStreamDestroy_v2", &d.stream_destroy);
    return d;
}

static void check(int result, const char *what)
{
    if (result != 0)
        gpu_fail("%s: the driver returned %d", what, result);
}

#define NON_BLOCKING 1 /* does not synchronize with the default stream */

void *gpu_stream_create(heed_context *context)
{
    driver d = load_driver();
    const char *colon = strchr(device_wanted(), ':');
    void *primary = NULL, *stream = NULL;
    (void)context; /* keeps the primary context alive */
    check(d.retain(&primary, colon ? atoi(colon + 1) : 0), "retaining the primary context");
    check(d.set_current(primary), "making it current");
    check(d.stream_create(&stream, NON_BLOCKING), "creating a stream");
    return stream;
}

void gpu_stream_wait(void *stream)
{
    check(load_driver().stream_wait(stream), "waiting for a stream");
}

void gpu_stream_destroy(void *stream)
{
    check(load_driver().stream_destroy(stream), "destroying a stream");
}

int gpu_device_count(void)
{
    driver d = load_driver();
    int count = 0;
    check(d.init(0), "starting");
    check(d.device_count(&count), "counting devices");
    return count;
}
