/*
 * sweep_compare.c - the best point in turns with what heed plans by itself
 */
#include "sweep.h"

cli_exit sweep_compare(sweep_run *run, int64_t point)
{
    (void)run;
    (void)point;
    return CLI_OK;
}
