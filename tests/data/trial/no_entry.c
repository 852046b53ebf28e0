/* Defines something else. */
#include "heed_candidate.h"
int something_else(void)
{
    return 0;
}
