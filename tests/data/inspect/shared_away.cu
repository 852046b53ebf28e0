/* Shared memory that is declared and stored to, but never read: the compiler removes it. */
extern "C" __global__ void __launch_bounds__(256) shared_away(const float4 *x, float4 *y, int n)
{
    __shared__ float4 tile[256];
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        tile[threadIdx.x] = x[i];
        float4 a = x[i];
        y[i] = make_float4(a.x * 2, a.y * 2, a.z * 2, a.w * 2);
    }
}
