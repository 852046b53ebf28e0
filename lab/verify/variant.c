/*
 * variant.c - runs the kernel on variations of the values under check
 */
#include "lab/verify/variant.h"

static heed_status run_one(const lab_check *check, lab_variant *variant)
{
    const lab_running running = { &variant->values, LAB_EDGE_END, 1, true };
    heed_status status = lab_run_create(&variant->run, check, &running);
    if (status != HEED_OK || variant->run.status != HEED_OK || variant->memo == LAB_MEMO_NONE)
        return status;
    lab_expect **memo = &check->memos[variant->memo];
    heed_buffers data = lab_values_buffers(&variant->values);
    if (!*memo)
        status = lab_expect_create(memo, &variant->values.problem, &data, &check->sampling);
    variant->expect = *memo;
    return status;
}

bool lab_variants_run(const lab_check *check, lab_variant *variants, int count, heed_status status,
                      lab_verdict *verdict)
{
    for (int i = 0; i < count && status == HEED_OK; i++) {
        lab_values_share(&variants[i].values);
        status = run_one(check, &variants[i]);
        heed_status refused = status == HEED_OK ? variants[i].run.status : HEED_OK;
        if (refused == HEED_ERR_UNSUPPORTED)
            lab_verdict_skip(verdict, "cannot do a variation of the problem: %s", heed_message());
        else if (refused != HEED_OK)
            lab_verdict_fail(verdict, -1, "on a variation of the problem: %s", heed_message());
        if (refused != HEED_OK)
            return false;
    }
    if (status != HEED_OK)
        lab_verdict_skip_status(verdict, status);
    return status == HEED_OK;
}

void lab_variants_destroy(lab_variant *variants, int count)
{
    for (int i = 0; i < count; i++) {
        lab_values_destroy(&variants[i].values);
        lab_run_destroy(&variants[i].run);
    }
}

bool lab_variant_splits(const lab_view *view, bool seq)
{
    struct {
        int64_t size;
        int64_t stride;
    } dimensions[] = { { view->page > 0 ? view->pages : view->batch, view->strides.batch },
                       { view->page > 0 ? view->page : view->seq, view->strides.seq },
                       { view->heads, view->strides.head } };
    if (view->kind == HEED_DATA_NONE)
        return true;
    if (seq && view->seq > 1 && view->strides.seq == 0)
        return false;
    if (view->page > 0 &&
        view->pages * view->page < view->prefix + view->batch * (view->seq - view->prefix))
        return false;
    /* From the smallest stride up, each must step over all that the smaller ones span. */
    int64_t extent = view->dim;
    for (int taken = 0; taken < 3; taken++) {
        int next = -1;
        for (int i = 0; i < 3; i++)
            if (dimensions[i].size > 0 &&
                (next < 0 || dimensions[i].stride < dimensions[next].stride))
                next = i;
        if (dimensions[next].size > 1 && dimensions[next].stride != 0) {
            if (dimensions[next].stride < extent)
                return false;
            extent += (dimensions[next].size - 1) * dimensions[next].stride;
        }
        dimensions[next].size = 0; /* taken */
    }
    return true;
}
