/*
 * wisdom_scene.c - a context, some choices, and their text
 */
#include "wisdom_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

heed_context *wisdom_scene_context(void)
{
    heed_context *context;
    const heed_options options = { .size = sizeof options, .threads = 2 };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s", heed_message());
    return context;
}

heed_problem wisdom_scene_problem(const char *spec)
{
    heed_problem problem = { .size = sizeof problem };
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s", heed_message());
    return problem;
}

heed_choice wisdom_scene_choice(double seconds, heed_effort effort)
{
    heed_choice choice = { .seconds = seconds, .effort = effort };
    assert_int_equal(heed_kernel_config(0, 0, choice.name, sizeof choice.name), HEED_OK);
    return choice;
}

void wisdom_scene_add(heed_context *context, const char *spec, double seconds, heed_effort effort)
{
    heed_problem problem = wisdom_scene_problem(spec);
    heed_choice choice = wisdom_scene_choice(seconds, effort);
    assert_int_equal(heed_wisdom_add(context->wisdom, &problem, &choice), HEED_OK);
}

double wisdom_scene_find(heed_context *context, const char *spec, heed_effort effort)
{
    heed_problem problem = wisdom_scene_problem(spec);
    heed_choice choice;
    return heed_wisdom_lookup(context->wisdom, &problem, effort, &choice) ? choice.seconds : 0;
}

size_t wisdom_scene_text(heed_context *context, char text[WISDOM_TEXT_SIZE])
{
    wisdom_scene_add(context, "b2 h8 s512 d64 f16", 0.000125, HEED_MEASURE);
    wisdom_scene_add(context, "b1 h32/8 s1/4096 d192/128 bf16 causal=br scale=0.1", 1.0 / 3,
                     HEED_PATIENT);
    wisdom_scene_add(context, "b2 h4 s33 d7 f32 k=0:28:7", 7e-9, HEED_MEASURE);
    size_t length = heed_wisdom_export(context, text, WISDOM_TEXT_SIZE);
    assert_in_range(length, 1, WISDOM_TEXT_SIZE - 1);
    return length;
}
