/* Products of 16-bit values, one by one. */
__device__ static float low(unsigned pair)
{
    float value;
    asm("{\n .reg .b16 l, h;\n mov.b32 {l, h}, %1;\n cvt.f32.f16 %0, l;\n}\n"
        : "=f"(value)
        : "r"(pair));
    return value;
}

__device__ static float high(unsigned pair)
{
    return low(pair >> 16);
}

extern "C" __global__ void __launch_bounds__(256) scalar_half(const uint4 *x, float *y, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        uint4 a = x[i], b = x[n + i];
        sum += low(a.x) * low(b.x) + low(a.y) * low(b.y) + low(a.z) * low(b.z) +
               low(a.w) * low(b.w);
        sum += high(a.x) * high(b.x) + high(a.y) * high(b.y);
    }
    y[blockIdx.x * 256 + threadIdx.x] = sum;
}
