/* The tile is staged in shared memory, but then read from global memory again. */
extern __shared__ float4 tile[];
extern "C" __global__ void __launch_bounds__(256) shared_unread(const float4 *x, float4 *y, int n)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        tile[threadIdx.x] = x[i];
        __syncthreads();
        float4 a = x[i ^ 1];
        y[i] = make_float4(a.x * 2, a.y * 2, a.z * 2, a.w * 2);
    }
}
