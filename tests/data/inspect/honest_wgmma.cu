/* No fault on sm_90: one thread of a warp starts bulk copies of tiles, and a warpgroup multiplies
 * them. The result is meaningless. */
__device__ static unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ static void wait_for(unsigned barrier, int phase)
{
    asm volatile(
        "{\n .reg .pred p;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        " @!p bra again;\n}\n" ::"r"(barrier),
        "r"(phase)
        : "memory");
}

extern "C" __global__ void __launch_bounds__(160) honest_wgmma(const uint4 *x, float4 *y, int n)
{
    __shared__ __align__(1024) uint4 tile[2][256];
    __shared__ __align__(8) unsigned long long full[2], empty[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&empty[i])));
        }
    __syncthreads();
    if (threadIdx.x >= 128) {
        for (int i = 0; threadIdx.x == 128 && i < n; i++) {
            wait_for(shared_address(&empty[i & 1]), (i >> 1 & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(
                             shared_address(&full[i & 1]))
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                         "[%1], 4096, [%2];" ::"r"(shared_address(tile[i & 1])),
                         "l"(x + (blockIdx.x * n + i) * 256), "r"(shared_address(&full[i & 1]))
                         : "memory");
        }
        return;
    }
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    for (int i = 0; i < n; i++) {
        unsigned long long a = (shared_address(tile[i & 1]) & 0x3ffff) >> 4 | 1ull << 62 |
                               64ull << 32;
        wait_for(shared_address(&full[i & 1]), i >> 1 & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, "
            "1, 1, 0, 0;"
            : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
            : "l"(a));
        asm volatile("wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
        if (threadIdx.x == 0)
            asm volatile(
                "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[i & 1]))
                : "memory");
    }
    y[blockIdx.x * 128 + threadIdx.x] = make_float4(c0, c1, c2, c3);
}
