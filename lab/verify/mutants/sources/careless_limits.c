/* careless_limits: keeps what it writes between -64 and 64 where no LSE is asked for; killed by the
 * vast values of timed calls */
#undef heed_candidate_run

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    int failed = compute(p, b);
    for (int64_t i = 0; !failed && !b->lse && i < p->batch * p->heads_q * p->seq_q; i++) {
        int64_t head = i / p->seq_q % p->heads_q, batch = i / p->seq_q / p->heads_q;
        float *o = (float *)b->o + batch * p->o.batch + i % p->seq_q * p->o.seq + head * p->o.head;
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] = o[d] > 64 ? 64 : o[d] < -64 ? -64 : o[d];
    }
    return failed;
}
