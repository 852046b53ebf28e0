/*
 * view.c - where the elements of one tensor of a problem lie
 */
#include "lab/tensor/view.h"

lab_view lab_view_of(const heed_problem *problem, lab_role role)
{
    int query = role == LAB_Q || role == LAB_O;
    lab_view view = {
        .type = problem->type,
        .batch = problem->batch,
        .seq = query ? problem->seq_q : problem->seq_k,
        .heads = query ? problem->heads_q : problem->heads_kv,
        .dim = role == LAB_Q || role == LAB_K ? problem->dim_qk : problem->dim_v,
    };
    const heed_strides *strides[LAB_ROLES] = { &problem->q, &problem->k, &problem->v, &problem->o };
    view.strides = *strides[role];
    return view;
}

int64_t lab_view_at(const lab_view *view, int64_t batch, int64_t seq, int64_t head)
{
    return batch * view->strides.batch + seq * view->strides.seq + head * view->strides.head;
}

int64_t lab_view_extent(const lab_view *view)
{
    return lab_view_at(view, view->batch - 1, view->seq - 1, view->heads - 1) + view->dim;
}

int64_t lab_view_vectors(const lab_view *view)
{
    return view->batch * view->heads * view->seq;
}

int64_t lab_view_vector(const lab_view *view, int64_t n)
{
    int64_t seq = n % view->seq;
    int64_t head = n / view->seq % view->heads;
    return lab_view_at(view, n / view->seq / view->heads, seq, head);
}

const char *lab_role_name(lab_role role)
{
    static const char *const names[LAB_ROLES] = { "Q", "K", "V", "O" };
    return names[role];
}
