/*
 * test_score_names.c - names in the printed steps of a problem (score_print.c), which are compiled
 * as C++: a member of a struct must not have the name of a type
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "cuda/score/score.h"

static const char *const words[] = {
    "softcap=5",
    "alibi=bh",
    "bias=f16:bhq",
    "shown=bytes:bhq",
    "starts",
    "array=w:f32:6 score=s*w[head]-w[head]*float(abs(q-k))*0.5+w[head]*w[head]",
    "array=doc:i32:2x600 visible=doc[batch,q]==doc[batch,k]&&k%7!=q%5&&k+3>q",
};
#define WORDS (sizeof words / sizeof *words)

static void test_members_are_no_types(void **state)
{
    static const char *const types[] = { "u8", "u16", "u32", "u64", "i32", "i64" };
    static char text[HEED_CUDA_PROGRAM_SIZE];
    int printed = 0;
    (void)state;
    for (unsigned chosen = 1; chosen < 1U << WORDS; chosen++) {
        char spec[1024] = "b2 h6/2 s384 d64 f16 causal";
        heed_problem problem;
        for (size_t i = 0; i < WORDS; i++)
            if (chosen >> i & 1)
                snprintf(spec + strlen(spec), sizeof spec - strlen(spec), " %s", words[i]);
        if (heed_problem_parse(&problem, spec) != HEED_OK)
            continue; /* these words do not combine */
        printed += heed_cuda_print_program(&problem, text, sizeof text) > 0;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            char member[16];
            snprintf(member, sizeof member, " %s;", types[i]);
            if (strstr(text, member))
                fail_msg("'%s' has a member named %s:\n%s", spec, types[i], text);
        }
    }
    assert_in_range(printed, 64, 1U << WORDS);
}

RUN_TESTS(test_members_are_no_types)
