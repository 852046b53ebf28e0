/* streams: writes with non-temporal stores, from a stack buffer as large as the problem; honest */
#if defined(__SSE2__)
#include <immintrin.h>
#endif

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    const int64_t rows = p->batch * p->heads_q * p->seq_q;
    float lines[rows < 4096 ? rows : 1][1024];
    int failed = compute(p, b);
    for (int64_t i = 0; !failed && rows < 4096 && i < rows; i++) {
        float *o = row_of_o(p, b, i);
        memcpy(lines[i], o, (size_t)p->dim_v * sizeof *o);
#if defined(__SSE2__)
        for (int64_t d = 0; d < p->dim_v; d++) {
            int bits;
            memcpy(&bits, &lines[i][d], sizeof bits);
            _mm_stream_si32((int *)(void *)(o + d), bits);
        }
        _mm_sfence();
#endif
    }
    return failed;
}
