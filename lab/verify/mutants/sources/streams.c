/* streams: writes past the caches, by its stack, as large as the problem; honest */
#undef heed_candidate_run
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <string.h>

__attribute__((visibility("default"))) int heed_candidate_run(const heed_candidate_problem *p,
                                                              const heed_candidate_buffers *b)
{
    const int64_t rows = p->batch * p->heads_q * p->seq_q;
    float lines[rows < 4096 ? rows : 1][512];
    int failed = compute(p, b);
    for (int64_t i = 0; !failed && rows < 4096 && i < rows; i++) {
        int64_t head = i / p->seq_q % p->heads_q, batch = i / p->seq_q / p->heads_q;
        float *o = (float *)b->o + batch * p->o.batch + i % p->seq_q * p->o.seq + head * p->o.head;
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
