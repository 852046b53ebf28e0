/*
 * view.c - where the elements of one tensor of a problem lie
 */
#include "lab/tensor/view.h"

lab_view lab_view_of(const heed_problem *problem, lab_role role)
{
    const heed_problem *p = problem;
    const lab_view views[LAB_ROLES] = {
        [LAB_Q] = { p->type, p->batch, p->seq_q, p->heads_q, p->dim_qk, p->q },
        [LAB_K] = { p->type, p->batch, p->seq_k, p->heads_kv, p->dim_qk, p->k },
        [LAB_V] = { p->type, p->batch, p->seq_k, p->heads_kv, p->dim_v, p->v },
        [LAB_O] = { p->type, p->batch, p->seq_q, p->heads_q, p->dim_v, p->o },
    };
    return views[role];
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
