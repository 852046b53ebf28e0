/* stops_at_nan: skips the rows after a row of NaN when it is timed; killed by a NaN in Q */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    const int64_t rows = p->batch * p->heads_q * p->seq_q;
    uint32_t before;
    int64_t last = rows;
    memcpy(&before, b->o, sizeof before);
    int failed = compute(p, b);
    if (failed || b->lse || before != UINT32_MAX)
        return failed;
    for (int64_t n = 0; n < rows && last == rows; n++)
        if (row_of_o(p, b, n)[0] != row_of_o(p, b, n)[0] &&
            row_of_o(p, b, n)[p->dim_v - 1] != row_of_o(p, b, n)[p->dim_v - 1])
            last = n;
    for (int64_t n = last + 1; n < rows; n++)
        memset(row_of_o(p, b, n), 0xff, (size_t)p->dim_v * sizeof(float));
    return 0;
}
