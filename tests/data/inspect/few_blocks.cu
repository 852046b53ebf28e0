/* Small blocks with much shared memory. */
extern "C" __global__ void __launch_bounds__(64) few_blocks(const float4 *x, float4 *y, int n)
{
    __shared__ float4 tile[3072];
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
#pragma unroll 4
        for (int k = 0; k < 48; k++)
            tile[k * 64 + threadIdx.x] = x[k * n + i];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 48; k++)
            y[k * n + i] = tile[(47 - k) * 64 + 63 - threadIdx.x];
        __syncthreads();
    }
}
