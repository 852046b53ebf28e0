/*
 * check.c - lengths and page tables before an execution, where the environment asks: HEED_CHECK=1
 *
 * They are read from the device after all of its work has ended, which takes time and is refused
 * while a stream is captured. So it is for finding a fault of the caller, not for use.
 */
#include <stdlib.h>

#include "device.h"
#include "operand.h"

/* Copies the elements of operand number @index to memory that the caller frees. */
static heed_status read_operand(const heed_plan *plan, const heed_buffers *buffers, int index,
                                int32_t **numbers)
{
    const heed_operand *operand = heed_problem_operand(&plan->problem, index);
    size_t size = (size_t)heed_operand_extent(&plan->problem, operand) * sizeof **numbers;
    *numbers = NULL;
    if (operand->type == HEED_DATA_NONE)
        return HEED_OK;
    *numbers = malloc(size);
    if (!*numbers)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory to check %s",
                         heed_operand_rows[index].name);
    return heed_device_download(plan->context, *numbers, heed_operand_buffer(buffers, index), size);
}

/* The pages of batch element @b, which has @length keys. */
static heed_status check_pages(const heed_problem *p, const int32_t *table, int64_t b,
                               int64_t length)
{
    for (int64_t n = 0; table && n * p->page < length; n++) {
        int32_t page = table[b * p->table.strides.batch + n];
        if (page < 0 || page >= p->pages)
            return heed_fail(HEED_ERR_INVALID, "table[%lld][%lld] is %d; it must be 0 to %lld",
                             (long long)b, (long long)n, (int)page, (long long)p->pages - 1);
    }
    return HEED_OK;
}

static heed_status check_all(const heed_problem *p, const int32_t *lengths, const int32_t *table)
{
    heed_status status = HEED_OK;
    for (int64_t b = 0; b < p->batch && status == HEED_OK; b++) {
        int64_t length = lengths ? lengths[b * p->lengths.strides.batch] : p->seq_k;
        if (length < 0 || length > p->seq_k)
            return heed_fail(HEED_ERR_INVALID, "lengths[%lld] is %lld; it must be 0 to %lld",
                             (long long)b, (long long)length, (long long)p->seq_k);
        status = check_pages(p, table, b, length);
    }
    return status;
}

heed_status heed_check_execution(const heed_plan *plan, const heed_buffers *buffers)
{
    int32_t *lengths = NULL, *table = NULL;
    heed_status status = heed_device_wait(plan->context);
    if (status == HEED_OK)
        status = read_operand(plan, buffers, HEED_OPERAND_LENGTHS, &lengths);
    if (status == HEED_OK)
        status = read_operand(plan, buffers, HEED_OPERAND_TABLE, &table);
    if (status == HEED_OK)
        status = check_all(&plan->problem, lengths, table);
    free(lengths);
    free(table);
    return status;
}
