/* batch_backwards: computes the last batch element first, each as a separate problem; honest */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    int failed = 0;
    for (int64_t n = p->batch - 1; n >= 0 && !failed; n--) {
        heed_candidate_problem one = *p;
        heed_candidate_buffers at = *b;
        one.batch = 1;
        at.q = (const float *)b->q + n * p->q.batch;
        at.k = (const float *)b->k + n * p->k.batch;
        at.v = (const float *)b->v + n * p->v.batch;
        at.o = (float *)b->o + n * p->o.batch;
        at.lse = b->lse ? b->lse + n * p->heads_q * p->seq_q : 0;
        failed = compute(&one, &at);
    }
    return failed;
}
