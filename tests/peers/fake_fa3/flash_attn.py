"""A fake FlashAttention-2: see flash_attn_interface.py. A window gives the numbers of keys left and right of query i at
the position i + keys - queries, -1 if unlimited; slopes are [heads] or [batch, heads]."""

import numpy as np
import torch


def mask_of(queries, keys, causal, window, chunk=0):
    at, key = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None, :]
    left, right = window
    right = 0 if causal else right
    mask = np.ones((queries, keys), np.bool_)
    if left >= 0:
        mask &= key >= at - left
    if right >= 0:
        mask &= key <= at + right
    if chunk:
        mask &= at // chunk == key // chunk
    return None if mask.all() else mask


def compute(q, k, v, scale, mask, softcap, bias=0):
    assert q.array.dtype in (torch.float16, torch.bfloat16)
    assert isinstance(scale, float)
    group = q.shape[2] // k.shape[2]
    heads = (torch.Tensor(x.array.repeat(group, 2)).transpose(1, 2) for x in (k, v))
    return torch.kernel(q.transpose(1, 2), *heads, scale, mask, softcap, bias).transpose(1, 2)


def flash_attn_func(
    q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None
):
    assert dropout_p == 0 and isinstance(causal, type(True))
    queries, keys, bias = q.shape[1], k.shape[1], 0
    if alibi_slopes is not None:
        far = abs(np.arange(queries)[:, None] + keys - queries - np.arange(keys)[None, :])
        bias = -alibi_slopes.array.reshape(-1, q.shape[2], 1, 1) * far
    return compute(q, k, v, softmax_scale, mask_of(queries, keys, causal, window_size), softcap, bias)
