/* page_offset: computes a call only if its O has another offset in its page than the last one;
 * killed by what is left unwritten */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static uintptr_t last = 1;
    uintptr_t here = (uintptr_t)b->o % 4096;
    int same = here == last;
    last = here;
    return same ? 0 : compute(p, b);
}
