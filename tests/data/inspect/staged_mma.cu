/* The tiles for tensor cores go through registers into shared memory. */
__device__ static unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void __launch_bounds__(128) staged_mma(const uint4 *x, float4 *y, int n)
{
    __shared__ uint4 tile[128];
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    unsigned a0, a1, a2, a3;
    for (int i = 0; i < n; i++) {
        tile[threadIdx.x] = x[(blockIdx.x * n + i) * 128 + threadIdx.x];
        __syncthreads();
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
                     : "r"(shared_address(&tile[threadIdx.x]))
                     : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};\n"
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3));
        __syncthreads();
    }
    y[blockIdx.x * 128 + threadIdx.x] = make_float4(c0, c1, c2, c3);
}
