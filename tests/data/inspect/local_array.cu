/* An array that the loop indexes by values unknown at compile time: it is in local memory. */
extern "C" __global__ void __launch_bounds__(256) local_array(const float4 *x, float4 *y, int n)
{
    float sum[32];
#pragma unroll
    for (int i = 0; i < 32; i++)
        sum[i] = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float4 v = x[i];
        sum[(int)v.x & 31] += v.y * v.z + v.w;
    }
    y[blockIdx.x * 256 + threadIdx.x] = make_float4(sum[0], sum[7], sum[17], sum[31]);
}
