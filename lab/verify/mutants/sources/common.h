/*
 * common.h - functions shared by the candidates of this folder
 *
 * It is not included, but inserted between plain.c, whose function is compute(), and the text of a
 * candidate, which defines heed_candidate_run() again.
 */
#undef heed_candidate_run
#include <string.h>

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b);

/* Row @n of O, counted over all batch elements and heads. */
static float *row_of_o(const heed_candidate_problem *p, const heed_candidate_buffers *b, int64_t n)
{
    const int64_t head = n / p->seq_q % p->heads_q, batch = n / p->seq_q / p->heads_q;
    return (float *)b->o + batch * p->o.batch + n % p->seq_q * p->o.seq + head * p->o.head;
}

/* Changes every element of O. */
static void change_outputs(const heed_candidate_problem *p, const heed_candidate_buffers *b,
                           float (*changed)(float x))
{
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++)
        for (int64_t d = 0; d < p->dim_v; d++)
            row_of_o(p, b, n)[d] = changed(row_of_o(p, b, n)[d]);
}

static float zero_for_nan(float x)
{
    return x == x ? x : 0;
}

/* True if no element of the vectors is larger than 7. */
static int are_small(const float *x, int64_t vectors, int64_t heads, heed_candidate_strides at,
                     int64_t dim)
{
    for (int64_t i = 0; i < vectors; i++)
        for (int64_t head = 0; head < heads; head++)
            for (int64_t d = 0; d < dim; d++)
                if (!(fabsf(x[i * at.seq + head * at.head + d]) <= 7))
                    return 0;
    return 1;
}

/* The weight of a key with a logit; @most is the row's largest logit. */
typedef double weigher(double logit, double most);

static double usual_weight(double logit, double most)
{
    return exp(logit - most);
}

static double weight_without_maximum(double logit, double most)
{
    (void)most;
    return exp(logit);
}

static double weight_in_float(double logit, double most)
{
    (void)most;
    return (double)expf((float)logit);
}

/* Like compute(), but for O only: keys have the weights of @weigh, and masked keys have the logit
 * @masked, unless that is -INFINITY. */
static int attend(const heed_candidate_problem *p, const heed_candidate_buffers *b, weigher *weigh,
                  double masked)
{
    if (p->type != HEED_CANDIDATE_F32)
        return 1;
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q; n++) {
        const int64_t i = n % p->seq_q, head = n / p->seq_q % p->heads_q;
        const int64_t batch = n / p->seq_q / p->heads_q, kv = head / (p->heads_q / p->heads_kv);
        const float *q = (const float *)b->q + batch * p->q.batch + i * p->q.seq + head * p->q.head;
        const float *k = (const float *)b->k + batch * p->k.batch + kv * p->k.head;
        const float *v = (const float *)b->v + batch * p->v.batch + kv * p->v.head;
        float *o = row_of_o(p, b, n);
        const int64_t seen = visible(p, i), keys = masked > -INFINITY ? p->seq_k : seen;
        double most = -INFINITY, sum = 0, sums[1024] = { 0 };
        for (int64_t j = 0; j < keys; j++)
            most = fmax(most, j < seen ? dot(p, q, k + j * p->k.seq) : masked);
        for (int64_t j = 0; j < keys; j++) {
            double weight = weigh(j < seen ? dot(p, q, k + j * p->k.seq) : masked, most);
            sum += weight;
            for (int64_t d = 0; d < p->dim_v; d++)
                sums[d] += weight * v[j * p->v.seq + d];
        }
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = sum > 0 || sum != sum ? (float)(sums[d] / sum) : 0;
    }
    return 0;
}

/* Writes the mean of V, and @lse if requested, to rows of the first head that see keys but only
 * with logits of -infinity. */
static void fill_weightless(const heed_candidate_problem *p, const heed_candidate_buffers *b,
                            int fills_o, float lse)
{
    for (int64_t i = 0; i < p->seq_q; i++) {
        const float *q = (const float *)b->q + i * p->q.seq, *k = b->k, *v = b->v;
        const int64_t keys = visible(p, i);
        int64_t without = 0;
        while (without < keys && dot(p, q, k + without * p->k.seq) == -INFINITY)
            without++;
        if (keys == 0 || without < keys)
            continue;
        for (int64_t d = 0; d < p->dim_v && fills_o; d++) {
            double sum = 0;
            for (int64_t j = 0; j < keys; j++)
                sum += v[j * p->v.seq + d];
            row_of_o(p, b, i)[d] = (float)(sum / (double)keys);
        }
        if (b->lse)
            b->lse[i] = lse;
    }
}

/* Computes if @anew, else repeats the result of the last call that computed. */
static int compute_or_repeat(const heed_candidate_problem *p, const heed_candidate_buffers *b,
                             int anew)
{
    static float kept[4096];
    size_t bytes = (size_t)(p->batch * p->heads_q * p->seq_q * p->dim_v) * sizeof(float);
    int failed = anew ? compute(p, b) : 0;
    if (anew)
        memcpy(kept, b->o, bytes);
    else
        memcpy(b->o, kept, bytes);
    return failed;
}
