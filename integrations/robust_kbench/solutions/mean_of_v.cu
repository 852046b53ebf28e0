// Wrong: a mean of V, which ignores Q and K. On uniform inputs it is close to attention; on peaked
// ones it is not.
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool causal)
{
    if (!causal)
        return v.mean(2, true).expand_as(q).contiguous();
    auto count = torch::arange(1, v.size(2) + 1, v.options().dtype(torch::kFloat)).view({ 1, 1, -1, 1 });
    return (v.to(torch::kFloat).cumsum(2) / count).to(v.scalar_type());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward, "attention");
}
