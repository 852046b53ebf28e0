/* Small blocks of threads with many registers. */
extern "C" __global__ void __launch_bounds__(64) few_warps(const float4 *x, float4 *y)
{
    float4 v[48];
#pragma unroll
    for (int i = 0; i < 48; i++)
        v[i] = x[(blockIdx.x * 48 + i) * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 48; i++)
        y[(blockIdx.x * 48 + 47 - i) * 64 + threadIdx.x] = v[i];
}
