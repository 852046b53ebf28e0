/*
 * contest.c - decides whether a kernel replaces another one, with the laboratory as a library
 *
 * A challenger and a champion take turns on each problem. The challenger wins if it is clearly
 * faster on some problems and slower on none, and again on fresh samples: `heed tune` and
 * `heed evolve` use the same rule. duel.c shows how kernels pass all gates before they are timed;
 * here each is checked only on its problem. The program is built in heed's tree, where the
 * laboratory is a static library (lab/).
 *
 *     ./contest fwd_any_avx2_tile fwd_any_scalar_row "b1 h8 s512 d64 f32" "b1 h8 s64 d64 f32"
 */
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"
#include "lab/bench/pair.h"
#include "lab/measure/champion.h"

#define SECONDS 0.5 /* per problem and round */
#define PROBLEMS_MAX 8

typedef struct contest {
    lab_bench bench;
    const char *kernels[2]; /* the challenger, the champion */
    lab_bench_source sources[PROBLEMS_MAX];
    lab_bench_pair pairs[LAB_ROUNDS][PROBLEMS_MAX];
    lab_bout bouts[PROBLEMS_MAX];
    size_t count;
} contest;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "contest: %s: %s\n", what, why);
    return 1;
}

/* Times one problem in one round. A pair that cannot be timed ends the contest. */
static heed_status play(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel)
{
    contest *it = data;
    lab_bench_pair *pair = &it->pairs[round][index];
    *pair = (lab_bench_pair){ .names = { it->kernels[0], it->kernels[1] } };
    heed_status status = lab_bench_pair_run(pair, &it->bench, &it->sources[index], &options);
    if (status == HEED_OK && pair->outcome == LAB_BENCH_OK && !pair->same) {
        *duel = &pair->duel;
        return HEED_OK;
    }
    fail("timing", status != HEED_OK ? heed_message()
                   : pair->same      ? "both are the same kernel"
                                     : pair->reason);
    return status != HEED_OK ? status : HEED_ERR_UNSUPPORTED;
}

static void print_round(const contest *it, int round)
{
    for (size_t i = 0; i < it->count; i++) {
        const lab_bench_pair *pair = &it->pairs[round][i];
        const lab_comparison *found = &it->bouts[i].compared[round];
        if (it->bouts[i].rounds > round)
            printf("round %d, problem %zu: %s is %s: ratio %.3f [%.3f, %.3f] to %s\n", round + 1,
                   i + 1, pair->planned[0], lab_compared_name(found->verdict),
                   found->ratio.estimate, found->ratio.low, found->ratio.high, pair->planned[1]);
    }
}

static int hold(contest *it)
{
    lab_contest rule = { .bouts = it->bouts, .count = it->count, .play = play, .data = it };
    rule.wins = it->count < LAB_CHAMPION_WINS ? it->count : LAB_CHAMPION_WINS;
    for (int round = 0; round < LAB_ROUNDS && lab_contest_players(&rule, round) > 0; round++) {
        const lab_duel_options options = { .seconds = SECONDS, .seed = 1 + (uint64_t)round };
        if (lab_contest_round(&rule, round, &options) != HEED_OK)
            return 1;
        print_round(it, round);
    }
    printf("%s %s: %s\n", it->kernels[0],
           lab_bout_won(&it->bouts[0]) ? "replaces the champion" : "does not replace the champion",
           it->bouts[0].decision.reason);
    return 0;
}

int main(int argc, char **argv)
{
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1 };
    static contest it = { .bench = { .seed = 1, .host_threads = 1 } };
    if (argc < 4 || argc > 3 + PROBLEMS_MAX) {
        fprintf(stderr, "usage: contest CHALLENGER CHAMPION SPEC..., 1 to %d problems\n",
                PROBLEMS_MAX);
        return 2;
    }
    it.kernels[0] = argv[1];
    it.kernels[1] = argv[2];
    for (it.count = 0; it.count < (size_t)argc - 3; it.count++)
        if (heed_problem_parse(&it.sources[it.count].problem, argv[3 + it.count]) != HEED_OK)
            return fail(argv[3 + it.count], heed_message());
    if (heed_context_create(&it.bench.context, &options) != HEED_OK)
        return fail("context", heed_message());
    int result = hold(&it);
    for (int round = 0; round < LAB_ROUNDS; round++)
        for (size_t i = 0; i < it.count; i++)
            lab_bench_pair_free(&it.pairs[round][i]);
    heed_context_destroy(it.bench.context);
    return result;
}
