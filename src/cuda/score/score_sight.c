/*
 * score_sight.c - print the steps that decide which keys are visible as device code over intervals
 *
 * sight.cuh calls this code with the intervals of a tile's queries, keys and so on; for each step
 * it computes the interval of its possible values.
 */
#include "score_parts.h"

/* Names of element types in sight.cuh. */
static const char *const types[] = {
    [HEED_DATA_F32] = "SIGHT_F32",    [HEED_DATA_F16] = "SIGHT_F16",
    [HEED_DATA_BF16] = "SIGHT_BF16",  [HEED_DATA_I32] = "SIGHT_I32",
    [HEED_DATA_BYTES] = "SIGHT_BYTE", [HEED_DATA_BITS] = "SIGHT_BIT",
};

/* Prints an interval that does not depend on other steps; returns false if step @i has inputs. */
static bool print_known(const heed_score *p, int i)
{
    static const char *const leaves[] = {
        [HEED_OP_SCORE] = "interval_any(HEED_KIND_FLOAT)",
        [HEED_OP_QUERY] = "of->query",
        [HEED_OP_POSITION] = "of->position",
        [HEED_OP_KEY] = "of->key",
        [HEED_OP_HEAD] = "of->head",
        [HEED_OP_BATCH] = "of->batch",
    };
    const heed_step *step = heed_score_step(p, i);
    if (step->op < HEED_OP_SCORE) {
        PRINT(p, step->op == HEED_OP_FLOAT ? "interval_of_real(" : "interval_of_whole(");
        heed_score_print_value(p, i, true);
        PRINT(p, ")");
    } else if (step->op < HEED_OP_LOAD) {
        PRINT(p, "%s", leaves[step->op]);
    }
    return step->op < HEED_OP_LOAD;
}

/* Prints a line for the interval of step @i. */
static void print_interval(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    const bool loads = step->op == HEED_OP_LOAD;
    PRINT(p, "    v[%d] = ", i);
    if (!print_known(p, i)) {
        if (loads)
            PRINT(p, "sight_load(&args->changes.sources[%d], %s, %d", step->value.whole,
                  types[heed_score_type_of(p, i)], p->program.sources[step->value.whole].rank);
        else
            PRINT(p, "interval_apply((heed_op)%d, (heed_kind)%d, (heed_kind)%d", (int)step->op,
                  (int)step->kind, (int)heed_score_step(p, step->a)->kind);
        for (int k = 0; k < (loads ? 4 : 3); k++)
            PRINT(p, ", v[%d]", from[k] >= 0 ? from[k] : step->a);
        PRINT(p, ")");
    }
    PRINT(p, ";\n");
}

/* Prints the intervals of steps that decide which keys are visible: those of the key, or the
 * others. */
static void print_intervals(const heed_score *p, bool of_key)
{
    bool needed[HEED_STEPS_MAX];
    PRINT(p,
          "HEED_DEVICE void sight_of_%s(const heed_cuda_args *args, const sight_pairs *of,\n"
          "                               heed_bounds v[STEPS_SEEN])\n{\n"
          "    (void)args;\n    (void)of;\n    (void)v;\n",
          of_key ? "keys" : "rows");
    heed_program_needed(&p->program, p->program.visible, needed);
    for (int i = 0; i <= p->program.visible; i++)
        if (needed[i] && of_key == !!(p->marks[i] & OF_KEY))
            print_interval(p, i);
    PRINT(p, "}\n\n");
}

void heed_score_print_sight(const heed_score *p)
{
    if (p->program.visible < 0 || !heed_score_bounded(p, p->program.visible))
        return;
    PRINT(p, "#if HEED_LISTS\n\n#define STEPS_SEEN %d\n\n", p->program.visible + 1);
    print_intervals(p, false);
    print_intervals(p, true);
    PRINT(p, "#endif\n\n");
}
