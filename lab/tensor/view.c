/*
 * view.c - the memory layout of a problem's tensors
 */
#include "lab/tensor/view.h"

#include <string.h>

#include "lab/tensor/convert.h"

#define PLACE(field) offsetof(heed_buffers, field)
#define ARRAY(i) (offsetof(heed_buffers, arrays) + (i) * sizeof(void *))

static const struct {
    const char *name;
    size_t place;   /* in heed_buffers */
    size_t operand; /* in heed_problem; 0: it is no operand */
} roles[LAB_ROLES] = {
    [LAB_Q] = { "Q", PLACE(q), 0 },
    [LAB_K] = { "K", PLACE(k), 0 },
    [LAB_V] = { "V", PLACE(v), 0 },
    [LAB_BIAS] = { "bias", PLACE(bias), offsetof(heed_problem, bias) },
    [LAB_SLOPES] = { "slopes", PLACE(slopes), offsetof(heed_problem, slopes) },
    [LAB_SINKS] = { "sinks", PLACE(sinks), offsetof(heed_problem, sinks) },
    [LAB_STARTS] = { "starts", PLACE(starts), offsetof(heed_problem, starts) },
    [LAB_SHOWN] = { "shown", PLACE(shown), offsetof(heed_problem, shown) },
    [LAB_LENGTHS] = { "lengths", PLACE(lengths), offsetof(heed_problem, lengths) },
    [LAB_TABLE] = { "table", PLACE(table), offsetof(heed_problem, table) },
    [LAB_CU_Q] = { "cu_seqlens_q", PLACE(cu_seqlens_q), offsetof(heed_problem, cu_seqlens_q) },
    [LAB_CU_K] = { "cu_seqlens_k", PLACE(cu_seqlens_k), offsetof(heed_problem, cu_seqlens_k) },
    [LAB_COS] = { "rotary_cos", PLACE(rotary_cos), offsetof(heed_problem, rotary_cos) },
    [LAB_SIN] = { "rotary_sin", PLACE(rotary_sin), offsetof(heed_problem, rotary_sin) },
    [LAB_K_NEW] = { "k_new", PLACE(k_new), 0 },
    [LAB_V_NEW] = { "v_new", PLACE(v_new), 0 },
    [LAB_ARRAYS] = { "arrays[0]", ARRAY(0), 0 },
    [LAB_ARRAYS + 1] = { "arrays[1]", ARRAY(1), 0 },
    [LAB_ARRAYS + 2] = { "arrays[2]", ARRAY(2), 0 },
    [LAB_ARRAYS + 3] = { "arrays[3]", ARRAY(3), 0 },
    [LAB_O] = { "O", PLACE(o), 0 },
};

/* ---------------------------------------------------------------------------------------------- */
/* Views                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/* Q, K, V or O. */
static lab_view vector_view(const heed_problem *p, lab_role role)
{
    const bool query = role == LAB_Q || role == LAB_O;
    const bool qk = role == LAB_Q || role == LAB_K;
    const heed_strides *const strides[LAB_ROLES] = {
        [LAB_Q] = &p->q, [LAB_K] = &p->k, [LAB_V] = &p->v, [LAB_O] = &p->o
    };
    const int64_t tokens = query ? p->tokens_q : p->tokens_k;
    return (lab_view){ .type = p->type,
                       .batch = tokens > 0 ? 1 : p->batch,
                       .seq = tokens > 0 ? tokens
                              : query    ? p->seq_q
                                         : p->seq_k,
                       .heads = query ? p->heads_q : p->heads_kv,
                       .dim = qk ? p->dim_qk : p->dim_v,
                       .strides = *strides[role],
                       .page = query ? 0 : p->page,
                       .pages = query ? 0 : p->pages,
                       .prefix = query ? 0 : p->prefix,
                       .kind = lab_data_of(p->type),
                       .element = heed_type_size(p->type) };
}

/* New keys or values. */
static lab_view new_view(const heed_problem *p, lab_role role)
{
    const bool keys = role == LAB_K_NEW;
    if (p->append == 0 || (!keys && p->shared))
        return (lab_view){ .kind = HEED_DATA_NONE };
    return (lab_view){ .type = p->type,
                       .batch = p->append_packed ? 1 : p->batch,
                       .seq = p->append_packed ? p->tokens_q : p->append,
                       .heads = p->heads_kv,
                       .dim = keys ? p->dim_qk : p->dim_v,
                       .strides = keys ? p->k_new : p->v_new,
                       .kind = lab_data_of(p->type),
                       .element = heed_type_size(p->type) };
}

/* The strides of @operand, or dense ones. */
static heed_strides operand_strides(const lab_view *view, const heed_operand *operand)
{
    heed_strides s = operand->strides;
    if (s.batch != 0 || s.seq != 0 || s.head != 0)
        return s;
    return (heed_strides){ .seq = view->seq > 1 ? view->dim : 0,
                           .head = view->heads > 1 ? view->seq * view->dim : 0,
                           .batch = view->batch > 1 ? view->heads * view->seq * view->dim : 0 };
}

static lab_view operand_view(const heed_problem *p, const heed_operand *operand)
{
    unsigned along = operand->along;
    const unsigned last = HEED_ALONG_KEY | HEED_ALONG_PAGE | HEED_ALONG_SEQUENCE |
                          HEED_ALONG_POSITION;
    int64_t keys = along & HEED_ALONG_PAGE           ? p->seq_k / p->page
                   : along & HEED_ALONG_SEQUENCE     ? p->batch + 1
                   : along & HEED_ALONG_POSITION     ? p->seq_k * (p->rotary / 2)
                   : operand->type == HEED_DATA_BITS ? (p->seq_k + 31) / 32
                                                     : p->seq_k;
    lab_view view = { .type = lab_data_type(operand->type),
                      .batch = along & HEED_ALONG_BATCH ? p->batch : 1,
                      .seq = along & HEED_ALONG_QUERY ? p->seq_q : 1,
                      .heads = along & HEED_ALONG_HEAD ? p->heads_q : 1,
                      .dim = along & last ? keys : 1,
                      .kind = operand->type,
                      .element = lab_data_size(operand->type) };
    if (operand->type == HEED_DATA_NONE)
        return (lab_view){ .kind = HEED_DATA_NONE };
    view.strides = operand_strides(&view, operand);
    return view;
}

static lab_view array_view(const heed_array *array)
{
    lab_view view = { .type = lab_data_type(array->type),
                      .batch = 1,
                      .seq = 1,
                      .heads = 1,
                      .dim = 1,
                      .kind = array->type,
                      .element = lab_data_size(array->type) };
    for (int i = 0; i < array->rank; i++)
        view.dim *= array->size[i];
    return array->name[0] ? view : (lab_view){ .kind = HEED_DATA_NONE };
}

lab_view lab_view_of(const heed_problem *problem, lab_role role)
{
    const heed_problem *p = problem;
    if (role < LAB_VECTORS || role == LAB_O)
        return vector_view(p, role);
    if (role == LAB_K_NEW || role == LAB_V_NEW)
        return new_view(p, role);
    if (role >= LAB_ARRAYS)
        return array_view(&p->arrays[role - LAB_ARRAYS]);
    return operand_view(p, (const void *)((const char *)p + roles[role].operand));
}

/* ---------------------------------------------------------------------------------------------- */
/* Elements                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

void lab_view_bind(lab_view *view, const heed_problem *problem, const void *table)
{
    if (view->page == 0)
        return;
    view->table = table;
    view->table_stride = problem->table.strides.batch;
}

int64_t lab_view_at(const lab_view *view, int64_t batch, int64_t seq, int64_t head)
{
    if (seq < view->prefix)
        batch = 0;
    if (view->page > 0) {
        int64_t page = seq / view->page;
        seq -= page * view->page;
        batch = view->table ? view->table[batch * view->table_stride + page]
                            : (batch * (view->seq / view->page) + page) % view->pages;
    }
    return batch * view->strides.batch + seq * view->strides.seq + head * view->strides.head;
}

int64_t lab_view_pair(const lab_view *view, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    int64_t at = lab_view_at(view, view->batch > 1 ? batch : 0, view->seq > 1 ? query : 0,
                             view->heads > 1 ? head : 0);
    if (view->kind == HEED_DATA_BITS)
        return at * 32 + key;
    return view->dim > 1 ? at + key : at;
}

int64_t lab_view_extent(const lab_view *view)
{
    if (view->dim == 0)
        return 0;
    const heed_strides *s = &view->strides;
    int64_t batch = view->page > 0 ? view->pages : view->batch;
    int64_t seq = view->page > 0 ? view->page : view->seq;
    return (batch - 1) * s->batch + (seq - 1) * s->seq + (view->heads - 1) * s->head + view->dim;
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

size_t lab_view_bytes(const lab_view *view)
{
    return (size_t)lab_view_extent(view) * view->element;
}

bool lab_view_splits(const lab_view *view, bool seq)
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

/* ---------------------------------------------------------------------------------------------- */
/* Names and addresses                                                                            */
/* ---------------------------------------------------------------------------------------------- */

const char *lab_role_name(lab_role role)
{
    return roles[role].name;
}

const char *lab_block_name(int index)
{
    if (index >= 0 && index < LAB_ROLES)
        return roles[index].name;
    return index == LAB_LSE ? "LSE" : index == LAB_WORKSPACE ? "workspace" : "nothing";
}

void lab_buffers_set(heed_buffers *buffers, lab_role role, const void *data)
{
    memcpy((char *)buffers + roles[role].place, &data, sizeof data);
}

const void *lab_buffers_get(const heed_buffers *buffers, lab_role role)
{
    const void *data;
    memcpy(&data, (const char *)buffers + roles[role].place, sizeof data);
    return data;
}
