# @TASK@, with a kernel of heed in the place of its attention: @SPEC@.
# @KERNEL@, launched as for the @GPU@.
# Products of float32 tensors: @PRODUCTS@.
import torch
from torch.utils.cpp_extension import load_inline

heed_cuda_source = r"""
@SOURCE@"""

heed_cpp_source = "torch::Tensor heed_launch(torch::Tensor q, torch::Tensor k, torch::Tensor v);"

heed_kernel = load_inline(
    name="@MODULE@",
    cpp_sources=heed_cpp_source,
    cuda_sources=heed_cuda_source,
    functions=["heed_launch"],
    extra_cuda_cflags=[@FLAGS@],
)


def heed_attention(q, k, v, causal, scale):
    assert causal is @CAUSAL@ and abs((scale or @USUAL@) - @SCALE@) < 1e-6, "the kernel is for another problem"
    o = heed_kernel.heed_launch(q.to(@TYPE@), k.to(@TYPE@), v.to(@TYPE@))
    return o.to(q.dtype)
