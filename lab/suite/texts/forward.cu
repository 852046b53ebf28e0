// @TASK@: @SPEC@, by a kernel of heed.
// @KERNEL@, launched as for the @GPU@. For sm_90a or another such target: TORCH_CUDA_ARCH_LIST=@ARCH@.
#include <torch/extension.h>

@SOURCE@
static torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v, pybind11::args)
{
    return heed_launch(q.to(torch::@KIND@), k.to(torch::@KIND@), v.to(torch::@KIND@)).to(q.scalar_type());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward, "@SPEC@");
}
