/*
 * problem_print.c - a problem as its canonical spec
 */
#include "number.h"
#include "problem.h"

/* Adds " h8", or " h8/2" if the two sizes differ. */
static void print_pair(heed_text *text, char letter, int64_t first, int64_t second)
{
    heed_text_add(text, " %c%lld", letter, (long long)first);
    if (second != first)
        heed_text_add(text, "/%lld", (long long)second);
}

static void print_mask(heed_text *text, const heed_problem *problem)
{
    if (problem->mask == HEED_MASK_NONE)
        return;
    bool top_left = problem->mask == HEED_MASK_CAUSAL_TOP_LEFT;
    const char *aligned = top_left ? "=tl" : "=br";
    heed_text_add(text, " causal%s", top_left && problem->seq_q == problem->seq_k ? "" : aligned);
}

static void print_scale(heed_text *text, const heed_problem *problem)
{
    if (problem->scale != 0.0F && problem->scale != heed_scale_default(problem->dim_qk)) {
        char number[HEED_NUMBER_SIZE];
        heed_number_print_float(number, problem->scale);
        heed_text_add(text, " scale=%s", number);
    }
}

/* Are the strides of @tensor those of the dense @layout? */
static bool has_layout(const heed_tensor *tensor, const char *layout)
{
    heed_strides dense = heed_strides_normal(tensor, heed_layout_strides(tensor, layout));
    return heed_strides_equal(heed_strides_normal(tensor, tensor->strides), dense);
}

static bool all_have_layout(const heed_problem *problem, const char *layout)
{
    for (int i = 0; i < HEED_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (!has_layout(&tensor, layout))
            return false;
    }
    return true;
}

static void print_strides(heed_text *text, const heed_problem *problem)
{
    for (const char *const *layout = heed_layouts; *layout != NULL; layout++) {
        if (all_have_layout(problem, *layout)) {
            if (layout != heed_layouts)
                heed_text_add(text, " layout=%s", *layout);
            return;
        }
    }
    for (int i = 0; i < HEED_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (!has_layout(&tensor, heed_layouts[0])) {
            heed_strides strides = heed_strides_normal(&tensor, tensor.strides);
            heed_text_add(text, " %s=%lld:%lld:%lld", tensor.role->name, (long long)strides.batch,
                          (long long)strides.seq, (long long)strides.head);
        }
    }
}

size_t heed_problem_print(const heed_problem *problem, char *text, size_t size)
{
    heed_problem normal;
    if (heed_problem_read(&normal, problem) != HEED_OK)
        return heed_text_none(text, size);
    heed_text out = { .data = text, .size = size };
    heed_fault fault;
    if (!heed_problem_find_fault(&normal, &fault))
        heed_problem_normalize_own(&normal);
    heed_text_add(&out, "b%lld", (long long)normal.batch);
    print_pair(&out, 'h', normal.heads_q, normal.heads_kv);
    print_pair(&out, 's', normal.seq_q, normal.seq_k);
    print_pair(&out, 'd', normal.dim_qk, normal.dim_v);
    heed_text_add(&out, " %s", heed_type_name(normal.type));
    print_mask(&out, &normal);
    print_scale(&out, &normal);
    if (normal.accumulate == HEED_ACC_F16)
        heed_text_add(&out, " acc=f16");
    print_strides(&out, &normal);
    return out.length;
}
