/* Does not define the entry point. */
#include "heed_candidate.h"
int something_else(void)
{
    return 0;
}
