/*
 * roofline.c - roofline model: the lower bound of a problem's time on a device, and the unit that
 * sets it
 */
#include <string.h>

#include "base/planner.h"
#include "roofline.h"

#define CALL_SECONDS 1e-8 /* less than a call of an empty function takes */

const char *lab_roof_name(lab_roof unit)
{
    static const char *const names[] = {
        [LAB_ROOF_MATRIX] = "matrix", [LAB_ROOF_EXP] = "exp",     [LAB_ROOF_FMA] = "fma",
        [LAB_ROOF_MEMORY] = "memory", [LAB_ROOF_CACHE] = "cache", [LAB_ROOF_LAUNCH] = "launch",
    };
    return names[unit];
}

static double seconds_of(double work, double rate)
{
    return rate > 0 ? work / rate : 0;
}

/* True if values of operands determine which keys are hidden. Then their number does not follow
 * from the problem alone. */
static bool hides_by_values(const heed_problem *problem)
{
    return problem->starts.type || problem->shown.type || problem->lengths.type ||
           problem->visible[0];
}

/* The bytes that a call needs if values hide all keys: those values, and O. */
static double bytes_of_hidden(const heed_problem *problem)
{
    heed_problem with = *problem, without;
    with.bias = with.slopes = with.sinks = (heed_operand){ 0 };
    memset(with.arrays, 0, sizeof with.arrays);
    memset(with.score, 0, sizeof with.score);
    memset(with.visible, 0, sizeof with.visible);
    without = with;
    without.starts = without.shown = without.lengths = (heed_operand){ 0 };
    double o = (double)problem->batch * (double)problem->seq_q * (double)problem->heads_q *
               (double)problem->dim_v;
    return heed_problem_bytes(&with) - heed_problem_bytes(&without) +
           o * (double)heed_type_size(problem->type);
}

lab_work lab_roofline_work(const heed_problem *problem)
{
    double width = (double)problem->dim_qk + (double)problem->dim_v;
    if (hides_by_values(problem))
        return (lab_work){ .bytes = bytes_of_hidden(problem) };
    return (lab_work){ .flops = heed_problem_flops(problem),
                       .pairs = heed_problem_flops(problem) / (2 * width),
                       .bytes = heed_problem_bytes(problem) };
}

/* The slowest unit other than @without. */
static lab_roof longest(const lab_floor *floor, lab_roof without)
{
    lab_roof binds = LAB_ROOF_LAUNCH;
    for (int i = 0; i < LAB_ROOFS; i++)
        if (i != (int)without && floor->units[i] > floor->units[binds])
            binds = (lab_roof)i;
    return binds;
}

/* The rate of float32 products as a share of the 16-bit rate; that of TF32 is a half. */
#define FULL_SHARE (1.0 / 6)
#define TF32_SHARE (1.0 / 2)
#define BF16X3_SHARE (1.0 / 3)

/* Ceilings of a GPU have its architecture in features. */
static bool is_gpu(const lab_ceilings *ceilings)
{
    return strncmp(ceilings->features, "sm_", 3) == 0;
}

double lab_roofline_matrix(const heed_problem *problem, const lab_ceilings *ceilings)
{
    static const double shares[HEED_PRODUCTS_COUNT] = { [HEED_PRODUCTS_FULL] = FULL_SHARE,
                                                        [HEED_PRODUCTS_TF32] = TF32_SHARE,
                                                        [HEED_PRODUCTS_BF16X3] = BF16X3_SHARE };
    const double own = ceilings->matrix[problem->type];
    if (problem->type != HEED_F32 || own == 0 || !is_gpu(ceilings))
        return own;
    const double made = shares[problem->products] * ceilings->matrix[HEED_BF16];
    return own > made ? own : made;
}

lab_floor lab_roofline_floor(const heed_problem *problem, const lab_ceilings *ceilings)
{
    const lab_work work = lab_roofline_work(problem);
    return lab_roofline_floor_of(problem, &work, ceilings);
}

lab_floor lab_roofline_floor_of(const heed_problem *problem, const lab_work *work,
                                const lab_ceilings *ceilings)
{
    bool fits = heed_problem_bytes(problem) <= ceilings->cache_bytes && ceilings->cache > 0;
    lab_floor floor = { .units = { [LAB_ROOF_MATRIX] = seconds_of(
                                       work->flops, lab_roofline_matrix(problem, ceilings)),
                                   [LAB_ROOF_EXP] = seconds_of(work->pairs, ceilings->exp),
                                   [LAB_ROOF_FMA] = seconds_of(work->pairs, ceilings->fma),
                                   [LAB_ROOF_MEMORY] = seconds_of(work->bytes, ceilings->memory),
                                   [LAB_ROOF_CACHE] = seconds_of(work->bytes, ceilings->cache),
                                   [LAB_ROOF_LAUNCH] = ceilings->launch } };
    floor.cold_binds = longest(&floor, LAB_ROOF_CACHE);
    floor.hot_binds = longest(&floor, fits ? LAB_ROOF_MEMORY : LAB_ROOF_CACHE);
    floor.cold = floor.units[floor.cold_binds];
    floor.hot = floor.units[floor.hot_binds];
    return floor;
}

bool lab_roofline_allows(const heed_problem *problem, const lab_ceilings *ceilings, bool cold,
                         double seconds, double margin, lab_error *why)
{
    lab_ceilings hard = *ceilings;
    hard.exp = hard.fma = 0;
    const lab_floor floor = lab_roofline_floor(problem, &hard);
    double least = cold ? floor.cold : floor.hot;
    lab_roof binds = cold ? floor.cold_binds : floor.hot_binds;
    if (seconds * margin >= least)
        return true;
    lab_fail(why, HEED_ERR_INVALID,
             "seconds is %.4g, or %.4g FLOP/s; %.60s needs at least %.4g (%s), and less than %.3g "
             "of that is not a measurement error",
             seconds, heed_problem_flops(problem) / seconds, ceilings->device, least,
             lab_roof_name(binds), 1 / margin);
    return false;
}

lab_ceilings lab_roofline_cpu(const char *features, int threads, bool any)
{
    /* Operations per cycle and core: two units, two operations per multiply-add; for bf16 those of
     * the dot product or of AMX, the best known, for f16 and all others too. */
    static const struct {
        const char *features;
        double cycle[HEED_TYPE_COUNT]; /* by heed_type */
    } levels[] = {
        { "scalar", { [HEED_F32] = 16, [HEED_F16] = 16, [HEED_BF16] = 16 } },
        { "avx2", { [HEED_F32] = 32, [HEED_F16] = 32, [HEED_BF16] = 32 } },
        { "avx512", { [HEED_F32] = 64, [HEED_F16] = 64, [HEED_BF16] = 64 } },
        { "avx512bf16", { [HEED_F32] = 64, [HEED_F16] = 64, [HEED_BF16] = 128 } },
        { "amx", { [HEED_F32] = 64, [HEED_F16] = 64, [HEED_BF16] = 2048 } },
        { "", { [HEED_F32] = 64, [HEED_F16] = 2048, [HEED_BF16] = 2048 } },
    };
    lab_ceilings ceilings = { .device = "a CPU", .launch = CALL_SECONDS };
    bool known = !any && lab_cpu_has(features, "scalar");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (int type = 0; type < HEED_TYPE_COUNT; type++) {
            double rate = levels[i].cycle[type] * LAB_ROOFLINE_CLOCK * (threads > 1 ? threads : 1);
            bool counts = known ? lab_cpu_has(features, levels[i].features) : true;
            if (counts && rate > ceilings.matrix[type])
                ceilings.matrix[type] = rate;
        }
    return ceilings;
}
