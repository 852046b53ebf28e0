/* idle: does nothing from its fourth call on; killed by what is left unwritten */

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    static int calls;
    return ++calls <= 3 ? compute(p, b) : 0;
}
