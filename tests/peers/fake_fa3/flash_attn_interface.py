"""A stand-in for FlashAttention-3, in the numpy of ../fake_torch: tensors are [batch, seq, heads, dim],
K and V have heads of their own, and masks are aligned bottom right. With splits it takes longer.
FAKE_FA3_PAIRS: it returns the LSE as well, as earlier ones did."""

import os
import time

import flash_attn
import torch


def flash_attn_func(
    q, k, v, softmax_scale=None, causal=False, window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1
):
    if q.shape[3] == 7:
        raise NotImplementedError("FA3: head dim 7")
    if num_splits == 0:
        torch.launch(lambda: time.sleep(3e-3))
    mask = flash_attn.mask_of(q.shape[1], k.shape[1], causal, window_size, attention_chunk)
    o = flash_attn.compute(q, k, v, softmax_scale, mask, softcap)
    return (o, None) if os.environ.get("FAKE_FA3_PAIRS") else o
