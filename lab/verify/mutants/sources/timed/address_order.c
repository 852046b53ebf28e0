/* address_order: computes a call only if its O is at a lower address than the last one; killed by
 * what is left unwritten */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static const void *last;
    int above = last && b->o > last;
    last = b->o;
    return above ? 0 : compute(p, b);
}
