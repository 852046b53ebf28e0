/*
 * problem_print.c - print a problem as its canonical spec
 */
#include "../number.h"
#include "operand.h"
#include "problem.h"

/* Adds " h8", or " h8/2" if the two sizes differ. */
static void print_pair(heed_text *text, char letter, int64_t first, int64_t second)
{
    heed_text_add(text, " %c%lld", letter, (long long)first);
    if (second != first)
        heed_text_add(text, "/%lld", (long long)second);
}

static void print_causal(heed_text *text, const heed_problem *problem)
{
    bool top_left = problem->mask == HEED_MASK_CAUSAL_TOP_LEFT;
    const char *aligned = top_left ? "=tl" : "=br";
    heed_text_add(text, " causal%s", top_left && problem->seq_q == problem->seq_k ? "" : aligned);
}

static void print_mask(heed_text *text, const heed_problem *problem)
{
    const heed_window *window = &problem->window;
    if (problem->mask != HEED_MASK_NONE)
        print_causal(text, problem);
    if (window->sides)
        heed_text_add(text, " window=");
    if (window->sides & HEED_WINDOW_LEFT)
        heed_text_add(text, "%lld", (long long)window->left);
    if (window->sides)
        heed_text_add(text, ":");
    if (window->sides & HEED_WINDOW_RIGHT)
        heed_text_add(text, "%lld", (long long)window->right);
    if (problem->chunk)
        heed_text_add(text, " chunk=%lld", (long long)problem->chunk);
}

/* True if an alignment is needed without a causal mask. */
static bool needs_alignment(const heed_problem *problem)
{
    return problem->mask == HEED_MASK_NONE && heed_problem_aligned(problem) &&
           (problem->seq_q != problem->seq_k || heed_problem_varies_q(problem) ||
            heed_problem_varies_k(problem));
}

static void print_pages(heed_text *text, const heed_problem *problem)
{
    heed_text_add(text, " paged=%lld", (long long)problem->page);
    if (problem->pages != heed_problem_all_pages(problem))
        heed_text_add(text, "/%lld", (long long)problem->pages);
}

static void print_varlen(heed_text *text, const heed_problem *problem)
{
    if (problem->tokens_q == 0 && problem->tokens_k == 0)
        return;
    heed_text_add(text, " varlen=%lld", (long long)problem->tokens_q);
    if (problem->tokens_k != problem->tokens_q)
        heed_text_add(text, "/%lld", (long long)problem->tokens_k);
}

static void print_append(heed_text *text, const heed_problem *problem)
{
    if (problem->append != 0)
        heed_text_add(text, " append=%lld%s", (long long)problem->append,
                      problem->append_packed ? ":packed" : "");
    if (problem->rotary != 0)
        heed_text_add(text, " rotary=%lld%s", (long long)problem->rotary,
                      problem->interleaved ? ":interleaved" : "");
}

static void print_operand(heed_text *text, const heed_problem *problem, int index)
{
    const heed_operand_row *row = &heed_operand_rows[index];
    const heed_operand *operand = heed_problem_operand(problem, index);
    unsigned along = operand->along & ~(row->needs & (HEED_ALONG_KEY | HEED_ALONG_PAGE));
    heed_strides dense = heed_operand_dense(problem, operand);
    bool typed = row->type == HEED_DATA_NONE;
    if (operand->type == HEED_DATA_NONE)
        return;
    if (index == HEED_OPERAND_TABLE) { /* implied by pages */
        print_pages(text, problem);
        if (heed_strides_equal(operand->strides, dense))
            return;
    }
    if (row->along & HEED_ALONG_ALONE) { /* implied by packed sequences, and by rotation */
        if (operand->type != row->type)
            heed_text_add(text, " %s=%s", row->word, heed_data_name(operand->type));
        return;
    }
    heed_text_add(text, " %s=%s%s", row->word, typed ? heed_data_name(operand->type) : "",
                  typed ? ":" : "");
    for (int i = 0; heed_along_letters[i] != '\0'; i++)
        if (along & 1U << i)
            heed_text_add(text, "%c", heed_along_letters[i]);
    if (!heed_strides_equal(operand->strides, dense))
        heed_text_add(text, "@%lld:%lld:%lld", (long long)operand->strides.batch,
                      (long long)operand->strides.seq, (long long)operand->strides.head);
}

static void print_array(heed_text *text, const heed_array *array)
{
    if (array->name[0] == '\0')
        return;
    heed_text_add(text, " array=%.*s:%s", HEED_ARRAY_NAME_SIZE, array->name,
                  heed_data_name(array->type));
    for (int i = 0; i < array->rank && i < HEED_ARRAY_RANK_MAX; i++)
        heed_text_add(text, "%c%lld", i == 0 ? ':' : 'x', (long long)array->size[i]);
}

/* Prints everything that changes logits. */
static void print_modifiers(heed_text *text, const heed_problem *problem)
{
    if (problem->softcap != 0) {
        char number[HEED_NUMBER_SIZE];
        heed_number_print_float(number, problem->softcap);
        heed_text_add(text, " softcap=%s", number);
    }
    print_varlen(text, problem);
    if (problem->prefix != 0)
        heed_text_add(text, " prefix=%lld", (long long)problem->prefix);
    print_append(text, problem);
    for (int i = 0; i < HEED_OPERANDS; i++)
        print_operand(text, problem, i);
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        print_array(text, &problem->arrays[i]);
    if (problem->score[0] != '\0')
        heed_text_add(text, " score=%.*s", HEED_EXPRESSION_SIZE, problem->score);
    if (problem->visible[0] != '\0')
        heed_text_add(text, " visible=%.*s", HEED_EXPRESSION_SIZE, problem->visible);
    if (needs_alignment(problem))
        heed_text_add(text, problem->align == HEED_ALIGN_BOTTOM_RIGHT ? " align=br" : " align=tl");
}

static void print_scale(heed_text *text, const heed_problem *problem)
{
    if (problem->scale != 0.0F && problem->scale != heed_scale_default(problem->dim_qk)) {
        char number[HEED_NUMBER_SIZE];
        heed_number_print_float(number, problem->scale);
        heed_text_add(text, " scale=%s", number);
    }
}

/* True if the strides of @tensor are those of the dense @layout. */
static bool has_layout(const heed_tensor *tensor, const char *layout)
{
    heed_strides dense = heed_strides_normal(tensor, heed_layout_strides(tensor, layout));
    return heed_strides_equal(heed_strides_normal(tensor, tensor->strides), dense);
}

/* True if the strides of a tensor are implied by another tensor's, or there is no such tensor. */
static bool follows(const heed_problem *problem, int role)
{
    return (role == HEED_ROLE_V && problem->shared) || !heed_problem_has(problem, role);
}

static bool all_have_layout(const heed_problem *problem, const char *layout)
{
    for (int i = 0; i < HEED_ALL_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (!follows(problem, i) && !has_layout(&tensor, layout))
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
    for (int i = 0; i < HEED_ALL_TENSORS; i++) {
        heed_tensor tensor = heed_problem_tensor(problem, i);
        if (!follows(problem, i) && !has_layout(&tensor, heed_layouts[0])) {
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
    heed_text_add(&out, " %s%s", heed_type_name(normal.type), normal.shared ? " shared" : "");
    print_mask(&out, &normal);
    print_modifiers(&out, &normal);
    print_scale(&out, &normal);
    if (normal.accumulate == HEED_ACC_F16)
        heed_text_add(&out, " acc=f16");
    if (normal.products != HEED_PRODUCTS_FULL)
        heed_text_add(&out, " products=%s", heed_products_name(normal.products));
    if (normal.invariant)
        heed_text_add(&out, " invariant");
    print_strides(&out, &normal);
    return out.length;
}
