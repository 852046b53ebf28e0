/* Writes to a null pointer. */
#include "args.cuh"
#include "types.cuh"

HEED_ENTRY(128, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    volatile float *nothing = (volatile float *)(args.rows == 0 ? args.o : (void *)0);

    nothing[0] = 1.0f;
}
