#include "heed_candidate.h"

/* Reports its operands in the first elements of O. */
const int heed_candidate_takes_operands = 1;

int heed_candidate_run(const heed_candidate_problem *p, const heed_candidate_buffers *b)
{
    float *o = b->o;
    o[0] = p->softcap;
    o[1] = ((const float *)b->bias)[p->bias.strides.head];
    o[2] = ((const float *)b->sinks)[1];
    o[3] = (float)(((const uint32_t *)b->shown)[0] >> 2 & 1);
    o[4] = (float)((const int32_t *)b->arrays[0])[4];
    o[5] = (float)p->arrays[0].size[0] + (float)p->score[0];
    o[6] = (float)p->bias.along + 100 * (float)p->shown.type;
    o[7] = !b->starts && !b->slopes && !p->visible[0] ? (float)p->products : -1;
    return 0;
}
