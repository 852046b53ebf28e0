/*
 * test_on_gpu.c - tests that need a real GPU: graphs, streams, threads, refusals, a lost device
 *
 *     test_on_gpu [NAME...]        all tests, or those whose name begins so
 *
 * Each test runs in a separate process, so that losing the device affects no other test. The last
 * line has the counts; the exit status is 1 if a test failed, 77 if there is no GPU.
 */
#include <stdio.h>
#include <string.h>

#include "on_gpu.h"

static void find_device(void)
{
    const heed_options options = { .size = sizeof options, .device = "cuda" };
    heed_context *context;
    if (heed_context_create(&context, &options) != HEED_OK)
        gpu_skip("%s", heed_message());
    gpu_note("%s", heed_context_device(context));
    heed_context_destroy(context);
}

static const struct {
    const char *name;
    gpu_test_fn *run;
} tests[] = {
    { "known-answers", on_gpu_known_answers },
    { "graphs", on_gpu_graphs },
    { "chains", on_gpu_chains },
    { "two-streams", on_gpu_two_streams },
    { "many-threads", on_gpu_many_threads },
    { "bad-buffers", on_gpu_bad_buffers },
    { "unaligned-pointers", on_gpu_unaligned_pointers },
    { "too-large", on_gpu_too_large },
    { "inherited", on_gpu_inherited },
    { "no-such-device", on_gpu_no_such_device },
    { "another-device", on_gpu_another_device },
    { "lost-device", on_gpu_lost_device },
    { "host-cost", on_gpu_host_cost },
    { "plan-times", on_gpu_plan_times },
};

static bool wanted(const char *name, int argc, char **argv)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++)
        found = found || strncmp(name, argv[i], strlen(argv[i])) == 0;
    return found;
}

int main(int argc, char **argv)
{
    int counts[3] = { 0 }; /* passed, failed, skipped */
    if (on_gpu_child(find_device) != 0)
        return ON_GPU_SKIPPED;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (!wanted(tests[i].name, argc, argv))
            continue;
        printf("%s\n", tests[i].name);
        int code = on_gpu_child(tests[i].run);
        counts[code == 0 ? 0 : code == ON_GPU_SKIPPED ? 2 : 1]++;
    }
    printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
    return counts[1] ? 1 : 0;
}
