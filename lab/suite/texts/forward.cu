// @TASK@: @SPEC@, by a kernel of heed.
// @KERNEL@, launched as for the @GPU@. For sm_90a or another such target: TORCH_CUDA_ARCH_LIST=@ARCH@.
#include <torch/extension.h>

@SOURCE@
static torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool causal)
{
    TORCH_CHECK(causal == @MASKED@, "causal must be @MASKED@: this kernel is for @SPEC@");
    return heed_launch(q.to(torch::@KIND@), k.to(torch::@KIND@), v.to(torch::@KIND@)).to(q.scalar_type());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward, "@SPEC@", pybind11::arg("q"), pybind11::arg("k"), pybind11::arg("v"),
          pybind11::arg("causal").noconvert() = @MASKED@);
}
