/* Thread 0 of each block does the work of the whole block. */
extern "C" __global__ void __launch_bounds__(128) one_thread(const float4 *x, float *y, int n)
{
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = blockIdx.x; i < n; i += gridDim.x) {
            float4 a = x[i];
            sum += a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
        }
        y[blockIdx.x] = sum;
    }
}
