// Wrong: half of each logit.
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool causal)
{
    return at::scaled_dot_product_attention(q * 0.5, k, v, {}, 0.0, causal);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward, "attention");
}
