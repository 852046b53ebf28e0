"""A stand-in for FlashAttention-3, in the numpy of ../fake_torch: tensors are [batch, seq, heads, dim],
K and V have heads of their own, and the causal mask is aligned bottom right. With splits it takes
longer. FAKE_FA3_PAIRS: it returns the LSE as well, as earlier ones did."""

import os
import time

import numpy as np
import torch


def flash_attn_func(q, k, v, softmax_scale=None, causal=False, num_splits=1):
    assert q.array.dtype in (torch.float16, torch.bfloat16)
    assert isinstance(softmax_scale, float) and isinstance(causal, type(True))
    if q.shape[3] == 7:
        raise NotImplementedError("FA3: head dim 7")
    group = q.shape[2] // k.shape[2]
    heads = (torch.Tensor(x.array.repeat(group, 2)).transpose(1, 2) for x in (k, v))
    queries, keys = q.shape[1], k.shape[1]
    mask = np.tri(queries, keys, keys - queries, dtype=np.bool_) if causal else None
    if num_splits == 0:
        torch.launch(lambda: time.sleep(1e-3))
    o = torch.kernel(q.transpose(1, 2), *heads, softmax_scale, mask).transpose(1, 2)
    return (o, None) if os.environ.get("FAKE_FA3_PAIRS") else o
