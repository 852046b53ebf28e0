/* Each thread reads a separate row of 32 values: all lanes hit the same bank, a 32-way conflict. */
extern "C" __global__ void __launch_bounds__(256) banks(const float4 *x, float *y, int n)
{
    __shared__ float tile[256 * WIDTH];
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float4 v = x[i];
        tile[threadIdx.x * WIDTH] = v.x + v.y + v.z + v.w;
        __syncthreads();
        y[i] = tile[(255 - threadIdx.x) * WIDTH];
        __syncthreads();
    }
}
