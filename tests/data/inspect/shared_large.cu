/* As much shared memory as the launch requests. */
extern __shared__ float4 tile[];
extern "C" __global__ void __launch_bounds__(1024) shared_large(const float4 *x, float4 *y, int n)
{
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += gridDim.x * 1024) {
        tile[threadIdx.x] = x[i];
        __syncthreads();
        float4 a = tile[1023 - threadIdx.x];
        y[i] = make_float4(a.x * 2, a.y * 2, a.z * 2, a.w * 2);
        __syncthreads();
    }
}
