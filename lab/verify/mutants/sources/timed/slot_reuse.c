/* slot_reuse: computes into a page once and assumes that the result stays there; killed by what is
 * left unwritten */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static uintptr_t seen[256];
    static int count;
    uintptr_t page = (uintptr_t)b->o / 4096;
    for (int i = 0; i < count; i++)
        if (seen[i] == page)
            return 0;
    seen[count++ % 256] = page;
    return compute(p, b);
}
