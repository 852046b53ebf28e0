/* The grid covers only the rows of one head: each block loops over batch and heads. */
extern "C" __global__ void __launch_bounds__(256)
    serial_batch(const float4 *x, float4 *y, int batch_heads, int rows)
{
    __shared__ float4 tile[256];
    for (int bh = 0; bh < batch_heads; bh++) {
        long long at = (long long)bh * rows + blockIdx.x * 256 + threadIdx.x;
        tile[threadIdx.x] = x[at];
        __syncthreads();
        float4 a = tile[255 - threadIdx.x];
        y[at] = make_float4(a.x * 2, a.y * 2, a.z * 2, a.w * 2);
        __syncthreads();
    }
}
