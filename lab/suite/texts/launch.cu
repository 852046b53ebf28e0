#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>

static heed_cuda_strides heed_strides_of(const torch::Tensor &x)
{
    return { x.stride(0), x.stride(2), x.stride(1) };
}

static void heed_check(const torch::Tensor &x, int64_t heads, int64_t rows, int64_t columns, const char *name)
{
    TORCH_CHECK(x.is_cuda() && x.dim() == 4 && x.scalar_type() == torch::@KIND@, name, " is another tensor");
    TORCH_CHECK(x.size(0) == @BATCH@ && x.size(1) == heads && x.size(2) == rows && x.size(3) == columns, name,
                " has another shape: this kernel is launched for one problem");
    TORCH_CHECK(x.stride(3) == 1, name, ": elements of a head vector must be neighbours");
    if (@ALIGNED@)
        for (int i = 0; i < 3; i++)
            TORCH_CHECK(x.size(i) == 1 || x.stride(i) % 8 == 0, name, ": strides must be multiples of 8");
    TORCH_CHECK(!@ALIGNED@ || (uintptr_t)x.data_ptr() % 16 == 0, name, " must lie at a multiple of 16");
}
@MAPS@
torch::Tensor heed_launch(torch::Tensor q, torch::Tensor k, torch::Tensor v)
{
    heed_check(q, @HEADS_Q@, @SEQ_Q@, @DIM_QK@, "q");
    heed_check(k, @HEADS_KV@, @SEQ_K@, @DIM_QK@, "k");
    heed_check(v, @HEADS_KV@, @SEQ_K@, @DIM_V@, "v");
    torch::Tensor o = @DIM_QK@ == @DIM_V@
                          ? torch::empty_like(q)
                          : torch::empty({ @BATCH@, @HEADS_Q@, @SEQ_Q@, @DIM_V@ }, q.options());
    @ARGS_TYPE@ launched = {};
    heed_cuda_args &args = @ARGS@;
    args.q = q.data_ptr();
    args.k = k.data_ptr();
    args.v = v.data_ptr();
    args.o = o.data_ptr();
    args.q_stride = heed_strides_of(q);
    args.k_stride = heed_strides_of(k);
    args.v_stride = heed_strides_of(v);
    args.o_stride = heed_strides_of(o);
@FILL@
    static const cudaError_t room =
        cudaFuncSetAttribute(@ENTRY@, cudaFuncAttributeMaxDynamicSharedMemorySize, @SMEM@);
    TORCH_CHECK(room == cudaSuccess, "shared memory: ", cudaGetErrorString(room));
    @ENTRY@<<<@GRID@, @THREADS@, @SMEM@, c10::cuda::getCurrentCUDAStream()>>>(launched);
    const cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, "@ENTRY@: ", cudaGetErrorString(error));
    return o;
}
