/* More values than a block of 1024 threads has registers for, and no loop. With half the
 * threads there are, but then no multiprocessor holds a block of 1024. */
#ifndef BOUND
#define BOUND 512
#endif
extern "C" __global__ void __launch_bounds__(BOUND) spills(const float4 *x, float4 *y)
{
    float4 v[24];
#pragma unroll
    for (int i = 0; i < 24; i++)
        v[i] = x[(blockIdx.x * 24 + i) * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 24; i++)
        y[(blockIdx.x * 24 + 23 - i) * 1024 + threadIdx.x] = v[i];
}
