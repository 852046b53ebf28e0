/*
 * guide.c - weights for moves of a search
 */
#include "lab/search/guide.h"

/* ---- Remedies ---- */

#define REGION LAB_GUIDE_REGION

/* Other knobs keep their weights. */
static const lab_guide_rule rules[] = {
    { LAB_FINDING_SPILLS, LAB_KNOB_REGISTERS, 0.1, 6, "a higher cap keeps them in registers" },
    { LAB_FINDING_SPILLS, LAB_KNOB_ROWS, 6, 0.1, "a smaller tile needs fewer registers" },
    { LAB_FINDING_SPILLS, LAB_KNOB_KEYS, 6, 0.1, "so does a shorter one" },
    { LAB_FINDING_SPILLS, LAB_KNOB_ORDER, 2, 0.5, "steps that overlap hold two tiles of scores" },
    { LAB_FINDING_SPILLS, LAB_KNOB_THREADS, 1, 1.5, "more threads share a tile" },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_REGISTERS, 3, 0.3, "fewer per thread allow more warps" },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_ROWS, 3, 0.5, "smaller blocks leave room for another" },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_KEYS, 2, 0.7, "so do shorter tiles" },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_STAGES, 3, 0.5, "so do fewer of them" },
    { LAB_FINDING_LOW_OCCUPANCY, LAB_KNOB_THREADS, 0.7, 2, "a block brings more warps" },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_STAGES, 5, 0.2, "each stage takes shared memory" },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_KEYS, 4, 0.3, "a shorter tile makes each stage smaller" },
    { LAB_FINDING_SMEM_BOUND, LAB_KNOB_ROWS, 2, 0.5, "it holds fewer rows of queries" },
    { LAB_FINDING_EXP_BOUND, LAB_KNOB_ORDER, 2, 4, "products of one tile hide the other's" },
    { LAB_FINDING_EXP_BOUND, REGION, 3, 3, "how they are made is in the code" },
    { LAB_FINDING_TENSOR_BOUND, LAB_KNOB_ORDER, 1, 2, "weights are made while products run" },
    { LAB_FINDING_TENSOR_BOUND, LAB_KNOB_ROWS, 0.7, 2, "larger products come nearer to the rate" },
    { LAB_FINDING_TENSOR_BOUND, REGION, 2, 2, "how they are made is in the code" },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_ROWS, 0.3, 4, "more rows use what was loaded once" },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_STAGES, 0.5, 2, "more loads are in flight" },
    { LAB_FINDING_MEMORY_BOUND, LAB_KNOB_SPLITS, 1, 3, "more multiprocessors load" },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_STAGES, 0.3, 4, "data loaded earlier are there in time" },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_ORDER, 0.7, 3, "steps that overlap do not wait" },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_THREADS, 0.5, 2, "others run while one waits" },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_SPLITS, 0.5, 3, "shorter chains, more of them" },
    { LAB_FINDING_LATENCY_BOUND, LAB_KNOB_ROWS, 2, 1, "smaller blocks, more of them" },
    { LAB_FINDING_UNCOALESCED, REGION, 4, 4, "the code decides which lane loads what" },
    { LAB_FINDING_UNCOALESCED, LAB_KNOB_KEYS, 1, 2, "longer tiles are loaded in longer runs" },
    { LAB_FINDING_BANK_CONFLICTS, REGION, 4, 4, "the code decides the layout of tiles" },
    { LAB_FINDING_BANK_CONFLICTS, LAB_KNOB_KEYS, 1.5, 1.5,
      "tiles of another length have another layout" },
    { LAB_FINDING_FEW_BLOCKS, LAB_KNOB_ROWS, 4, 0.3, "blocks of fewer rows are more" },
    { LAB_FINDING_FEW_BLOCKS, LAB_KNOB_SPLITS, 0.3, 4, "blocks that share keys are more" },
    { LAB_FINDING_FEW_BLOCKS, LAB_KNOB_THREADS, 1.5, 0.7, "blocks may be smaller" },
    { LAB_FINDING_IDLE_STAGES, LAB_KNOB_STAGES, 4, 0.3, "fewer suffice, and free shared memory" },
    { LAB_FINDING_IDLE_STAGES, LAB_KNOB_ORDER, 3, 0.5, "a simpler order needs fewer registers" },
};
#define RULES (sizeof rules / sizeof *rules)

const lab_guide_rule *lab_guide_rule_at(size_t index)
{
    return index < RULES ? &rules[index] : NULL;
}

double lab_guide_advice(int role, bool up, unsigned findings)
{
    double factor = 1;
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].role == role && (findings >> rules[i].finding & 1))
            factor *= up ? rules[i].up : rules[i].down;
    return factor;
}

/* A prior of three attempts with one success, then the observed outcomes. A failure costs a whole
 * evaluation and teaches little, so it counts more than a useless move. */
static double credit(const int seen[LAB_GAINS])
{
    double made = 3 + seen[LAB_GAIN_BETTER] + seen[LAB_GAIN_NONE] + 1.5 * seen[LAB_GAIN_FAILED];
    return 3 * (1 + seen[LAB_GAIN_BETTER]) / made;
}

/* ---- Moves ---- */

lab_move lab_move_at(const lab_space *space, int number)
{
    int knobs = 2 * space->knob_count;
    if (number >= knobs)
        return (lab_move){ .knob = -1, .region = number - knobs };
    return (lab_move){ .knob = number / 2, .up = number % 2 };
}

static int move_number(const lab_space *space, const lab_move *move)
{
    return move->knob < 0 ? 2 * space->knob_count + move->region : 2 * move->knob + move->up;
}

void lab_guide_learn(lab_guide *guide, const lab_space *space, const lab_move *move, lab_gain gain)
{
    guide->seen[move_number(space, move)][gain]++;
}

int lab_guide_weigh(const lab_guide *guide, const lab_space *space, const lab_point *point,
                    unsigned findings, int regions, double weights[LAB_MOVES])
{
    int knobs = 2 * space->knob_count;
    for (int i = 0; i < knobs + regions; i++) {
        const lab_move move = lab_move_at(space, i);
        int role = move.knob < 0 ? REGION : (int)space->knobs[move.knob].role;
        weights[i] = credit(guide->seen[i]) * lab_guide_advice(role, move.up, findings);
        if (move.knob >= 0 &&
            point->at[move.knob] == (move.up ? space->knobs[move.knob].count - 1 : 0))
            weights[i] = 0;
    }
    return knobs + regions;
}
