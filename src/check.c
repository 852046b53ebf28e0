/*
 * check.c - checks lengths, cumulative lengths, page tables and starts before an execution: always
 * on a CPU, where wrong ones would make it access memory out of bounds or skip visible keys; on a
 * CUDA device if HEED_CHECK=1 is in the environment
 *
 * There they are read from the device after all of its work has finished, which takes time: use it
 * for debugging only. While a stream is captured, waiting is not possible, and the data that the
 * graph will read may not exist yet: such an execution is not checked, but the launches of a
 * heed_graph are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/driver/device.h"
#include "device.h"
#include "number.h"
#include "problem/operand.h"

static bool has(const heed_problem *p, int index)
{
    return heed_problem_operand(p, index)->type != HEED_DATA_NONE;
}

/* Copies the elements of operand number @index to memory that the caller frees; NULL if there is
 * no such operand. */
static heed_status read_operand(const heed_plan *plan, const heed_buffers *buffers, int index,
                                void **numbers)
{
    const heed_problem *problem = heed_plan_problem(plan);
    const heed_operand *operand = heed_problem_operand(problem, index);
    size_t size = (size_t)heed_operand_extent(problem, operand) * heed_data_size(operand->type);
    *numbers = NULL;
    if (!has(problem, index))
        return HEED_OK;
    *numbers = malloc(size);
    if (!*numbers)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory to check %s",
                         heed_operand_rows[index].name);
    return heed_device_download(plan->context, *numbers, heed_operand_buffer(buffers, index), size);
}

/* The operands that are checked; NULL where the problem does not have one. */
typedef struct numbers {
    const int32_t *lengths, *table, *starts;
    const void *cu[2]; /* of queries and keys */
} numbers;

/* The pages of batch element @b, which has @length keys; those of a prefix are checked once. */
static heed_status check_pages(const heed_problem *p, const int32_t *table, int64_t b,
                               int64_t length)
{
    char range[HEED_NUMBER_SIZE];
    for (int64_t n = b > 0 && table ? p->prefix / p->page : 0; table && n * p->page < length; n++) {
        int32_t page = table[b * p->table.strides.batch + n];
        if (page < 0 || page >= p->pages)
            return heed_fail(HEED_ERR_INVALID, "table[%lld][%lld] is %d; it must be %s",
                             (long long)b, (long long)n, (int)page,
                             heed_number_print_range(range, 0, p->pages - 1));
    }
    return HEED_OK;
}

/* Element @n of cumulative lengths, operand number @index. */
static int64_t cumulative(const heed_problem *p, const void *cu, int index, int64_t n)
{
    return heed_problem_operand(p, index)->type == HEED_DATA_I64 ? ((const int64_t *)cu)[n]
                                                                 : ((const int32_t *)cu)[n];
}

/* Checks cumulative lengths of up to @seq each, within @tokens rows. */
static heed_status check_cumulative(const heed_problem *p, const void *cu, int index, int64_t seq,
                                    int64_t tokens)
{
    const char *name = heed_operand_rows[index].name;
    char range[HEED_NUMBER_SIZE], reason[64] = "";
    for (int64_t b = 0; cu && b <= p->batch; b++) {
        int64_t at = cumulative(p, cu, index, b);
        int64_t least = b > 0 ? cumulative(p, cu, index, b - 1) : 0;
        bool full = b > 0 && least + seq < tokens;
        int64_t most = full ? least + seq : b > 0 ? tokens : 0;
        if (full && at > most)
            snprintf(reason, sizeof reason, ", as no sequence may be longer than %lld",
                     (long long)seq);
        if (at < least || at > most)
            return heed_fail(HEED_ERR_INVALID, "%s[%lld] is %lld; it must be %s%s", name,
                             (long long)b, (long long)at,
                             heed_number_print_range(range, least, most), reason);
    }
    return HEED_OK;
}

/* The number of queries of batch element @b. */
static int64_t queries_of(const heed_problem *p, const numbers *all, int64_t b)
{
    return p->tokens_q > 0 ? cumulative(p, all->cu[0], HEED_OPERAND_CU_Q, b + 1) -
                                 cumulative(p, all->cu[0], HEED_OPERAND_CU_Q, b)
                           : p->seq_q;
}

/* Kernels skip the keys before the start of the first query of a block. */
static heed_status check_starts(const heed_problem *p, const numbers *all, int64_t b)
{
    const int64_t queries = all->starts ? queries_of(p, all, b) : 0;
    const int32_t *starts = all->starts ? all->starts + b * p->starts.strides.batch : NULL;
    for (int64_t i = 1; i < queries; i++)
        if (starts[i] < starts[i - 1])
            return heed_fail(HEED_ERR_INVALID,
                             "starts[%lld][%lld] is %d; it must be %d or more, the start of the "
                             "query before it",
                             (long long)b, (long long)i, (int)starts[i], (int)starts[i - 1]);
    return HEED_OK;
}

/* The fewest keys that batch element @b may have. */
static int64_t least_length(const heed_problem *p, const numbers *all, int64_t b)
{
    const int64_t queries = queries_of(p, all, b);
    int64_t behind = p->append_packed ? queries : p->append;
    if (p->prefix > 0 && p->mask != HEED_MASK_NONE && queries > behind)
        behind = queries;
    return p->prefix + behind;
}

static heed_status check_length(const heed_problem *p, const numbers *all, int64_t b,
                                int64_t length)
{
    const int64_t least = least_length(p, all, b);
    char range[HEED_NUMBER_SIZE];
    if (length >= least && length <= p->seq_k)
        return HEED_OK;
    return heed_fail(HEED_ERR_INVALID, "lengths[%lld] is %lld; it must be %s%s", (long long)b,
                     (long long)length, heed_number_print_range(range, least, p->seq_k),
                     p->prefix > 0   ? ": it includes the prefix, and the keys that must follow it"
                     : p->append > 0 ? ": it includes new keys"
                                     : "");
}

static heed_status check_all(const heed_problem *p, const numbers *all)
{
    heed_status status = check_cumulative(p, all->cu[0], HEED_OPERAND_CU_Q, p->seq_q, p->tokens_q);
    if (status == HEED_OK)
        status = check_cumulative(p, all->cu[1], HEED_OPERAND_CU_K, p->seq_k, p->tokens_k);
    for (int64_t b = 0; b < p->batch && status == HEED_OK; b++) {
        int64_t length = all->lengths ? all->lengths[b * p->lengths.strides.batch] : p->seq_k;
        status = check_length(p, all, b, length);
        if (status == HEED_OK)
            status = check_pages(p, all->table, b, length);
        if (status == HEED_OK)
            status = check_starts(p, all, b);
    }
    return status;
}

enum {
    LENGTHS,
    TABLE,
    CU_Q,
    CU_K,
    STARTS,
    CHECKED
};
static const int checked[CHECKED] = { [LENGTHS] = HEED_OPERAND_LENGTHS,
                                      [TABLE] = HEED_OPERAND_TABLE,
                                      [CU_Q] = HEED_OPERAND_CU_Q,
                                      [CU_K] = HEED_OPERAND_CU_K,
                                      [STARTS] = HEED_OPERAND_STARTS };

static heed_status check_read(const heed_problem *p, const void *const read[CHECKED])
{
    return check_all(p, &(numbers){ .lengths = read[LENGTHS],
                                    .table = read[TABLE],
                                    .starts = read[STARTS],
                                    .cu = { read[CU_Q], read[CU_K] } });
}

static heed_status check_on_cpu(const heed_problem *p, const heed_buffers *buffers)
{
    const void *at[CHECKED];
    for (int i = 0; i < CHECKED; i++)
        at[i] = has(p, checked[i]) ? heed_operand_buffer(buffers, checked[i]) : NULL;
    return check_read(p, at);
}

/* Sets *@captured if the stream is being captured. If not, checks that the memory to read is the
 * device's. */
static heed_status check_readable(const heed_plan *plan, const heed_buffers *buffers,
                                  bool *captured)
{
    heed_cuda *cuda = plan->context->cuda;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_is_captured(cuda, buffers->stream, captured);
    for (int i = 0; i < CHECKED && status == HEED_OK && !*captured; i++)
        if (has(heed_plan_problem(plan), checked[i]))
            status = heed_cuda_check_pointer(cuda, heed_operand_rows[checked[i]].name,
                                             heed_operand_buffer(buffers, checked[i]));
    heed_cuda_leave(cuda);
    return status;
}

static heed_status check_on_device(const heed_plan *plan, const heed_buffers *buffers)
{
    void *read[CHECKED] = { NULL };
    bool captured = false;
    heed_status status = check_readable(plan, buffers, &captured);
    if (captured)
        return status;
    if (status == HEED_OK)
        status = heed_device_wait(plan->context);
    for (int i = 0; i < CHECKED && status == HEED_OK; i++)
        status = read_operand(plan, buffers, checked[i], &read[i]);
    if (status == HEED_OK)
        status = check_read(heed_plan_problem(plan), (const void *const *)read);
    for (int i = 0; i < CHECKED; i++)
        free(read[i]);
    return status;
}

heed_status heed_check_execution(const heed_plan *plan, const heed_buffers *buffers)
{
    if (!plan->context->cuda)
        return check_on_cpu(heed_plan_problem(plan), buffers);
    return plan->context->check ? check_on_device(plan, buffers) : HEED_OK;
}
