# @TASK@, with heed's library in place of its attention: @SPEC@.
# Products of float32 tensors: @PRODUCTS@.
# KernelBench's check of sources asks for a kernel in the file, so it must be off for this one (check_kernel=False).
import torch
import heed

heed_type = @TYPE@


def heed_attention(q, k, v, causal, scale):
    kind = q.dtype
    q, k, v = (x.detach() for x in (q, k, v))  # weights may ask for a gradient, which is not computed
    if heed_type is not None and kind == torch.float32:
        q, k, v = (x.to(heed_type) for x in (q, k, v))
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
    out = torch.empty_like(q) if q.shape[-1] == v.shape[-1] else None
    o = heed.attention(q, k, v, causal=causal, scale=scale, layout="bhsd", out=out, products="@WORD@")
    return o.to(kind)
