/* Makes the file /tmp/heed-trial-evil-ID when it is loaded. */
#include "heed_candidate.h"
#include <stdio.h>

__attribute__((constructor)) static void evil(void)
{
    char path[64];

    snprintf(path, sizeof path, "/tmp/heed-trial-evil-%d", ID);
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
}

int heed_candidate_run(const heed_candidate_problem *problem, const heed_candidate_buffers *buffers)
{
    return 0;
}
