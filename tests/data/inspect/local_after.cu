/* An array with an index unknown at compile time, but not in the loop. */
extern "C" __global__ void __launch_bounds__(256) local_after(const float4 *x, float4 *y, int n)
{
    float sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, spread[40];
    for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512) {
        float4 v = x[i], w = x[i + 256];
        sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
        sum[4] += w.x, sum[5] += w.y, sum[6] += w.z, sum[7] += w.w;
    }
    int at = threadIdx.x * n;
#pragma unroll
    for (int k = 0; k < 40; k++)
        spread[k] = sum[k & 7] * k;
    y[blockIdx.x * 256 + threadIdx.x] = make_float4(spread[at & 31], spread[(at & 7) + 32], 0, 0);
}
