"""A fake FlashAttention-3, in the numpy of ../fake_torch: tensors are [batch, seq, heads, dim], K and V have their own
number of heads, and masks are aligned bottom right. It takes longer with splits, and with a cache without metadata, or
for a single query without a causal mask. FAKE_FA3_PAIRS: it returns the LSE as well, like earlier versions."""

import os
import time

import flash_attn
import numpy as np
import torch

OPEN = (-1, -1)


def pair(o):
    return (o, None) if os.environ.get("FAKE_FA3_PAIRS") else o


def slow():
    torch.launch(lambda: time.sleep(3e-3))


def flash_attn_func(
    q, k, v, softmax_scale=None, causal=False, window_size=OPEN, attention_chunk=0, softcap=0.0, num_splits=1
):
    if q.shape[3] == 7:
        raise NotImplementedError("FA3: head dim 7")
    if num_splits == 0:
        slow()
    mask = flash_attn.mask_of(q.shape[1], k.shape[1], causal, window_size, attention_chunk)
    return pair(flash_attn.compute(q, k, v, softmax_scale, mask, softcap))


def whole(numbers):
    assert numbers.array.dtype == np.int32 and numbers.array.ndim == 1
    return numbers.array


def sequences(q, parts, scale, causal, window, softcap):
    """O for parts of the rows of Q [rows, heads, dim], each with its K and V."""
    out = torch.Tensor(np.full(q.shape[:2] + parts[0][2].shape[2:], np.nan, q.array.dtype))

    def run():
        for rows, k, v, qv in parts:
            if rows.start == rows.stop:
                continue
            k, v = (x.repeat(q.shape[1] // x.shape[1], 1).astype(float) for x in (k, v))
            part = q.array[rows].astype(float)
            if qv is not None:  # products with the columns of V
                part, k = np.concatenate([part, qv[rows].astype(float)], 2), np.concatenate([k, v], 2)
            mask = flash_attn.mask_of(part.shape[0], k.shape[0], causal, window)
            heads = (x.transpose(1, 0, 2)[None] for x in (part, k, v))
            o = np.zeros((1, part.shape[1], part.shape[0], v.shape[2]))
            torch.compute(*heads, scale, mask, softcap, 0, o)
            out.array[rows] = o[0].transpose(1, 0, 2)

    torch.launch(run)
    return out


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    seqused_q=None,
    seqused_k=None,
    softmax_scale=None,
    causal=False,
    qv=None,
    window_size=OPEN,
    softcap=0.0,
    num_splits=1,
):
    at, key = whole(cu_seqlens_q), whole(cu_seqlens_k)
    assert len(q.shape) == len(k.shape) == len(v.shape) == 3 and len(at) == len(key)
    assert max(np.diff(at)) <= max_seqlen_q and max(np.diff(key)) <= max_seqlen_k
    if num_splits == 0:
        slow()
    more = getattr(qv, "array", None)
    cuts = [(slice(at[b], at[b + 1]), slice(key[b], key[b + 1])) for b in range(len(at) - 1)]
    parts = [(rows, k.array[keys], v.array[keys], more) for rows, keys in cuts]
    return pair(sequences(q, parts, softmax_scale, causal, window_size, softcap))


def get_scheduler_metadata(
    batch_size,
    max_seqlen_q,
    max_seqlen_k,
    num_heads_q,
    num_heads_kv,
    headdim,
    cache_seqlens,
    qkv_dtype=torch.bfloat16,
    headdim_v=None,
    cu_seqlens_q=None,
    page_size=None,
    causal=False,
    window_size=OPEN,
    has_softcap=False,
    num_splits=0,
):
    assert whole(cache_seqlens).shape == (batch_size,) and num_splits == 0
    return (batch_size, max_seqlen_q, max_seqlen_k, num_heads_q, num_heads_kv, headdim, headdim_v, page_size, causal)


def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    qv=None,
    cache_seqlens=None,
    page_table=None,
    cu_seqlens_q=None,
    max_seqlen_q=None,
    softmax_scale=None,
    causal=False,
    window_size=OPEN,
    softcap=0.0,
    scheduler_metadata=None,
    num_splits=0,
):
    k, v = k_cache.array, v_cache.array
    table = None if page_table is None else page_table.array
    batch = k.shape[0] if table is None else table.shape[0]
    most = k.shape[1] * (1 if table is None else table.shape[1])
    at = np.arange(batch + 1) * q.shape[1] if cu_seqlens_q is None else whole(cu_seqlens_q)
    queries = q.shape[1] if cu_seqlens_q is None else max_seqlen_q
    used = [most] * batch if cache_seqlens is None else whole(cache_seqlens)
    if scheduler_metadata:
        assert cache_seqlens is not None
        page = None if table is None else k.shape[1]
        sizes = (batch, queries, most, q.shape[-2], k.shape[2], k.shape[3], v.shape[3], page, causal)
        assert scheduler_metadata == sizes, (scheduler_metadata, sizes)
    else:
        slow()

    if queries == 1 and not causal:
        slow()

    def cut(x, b):
        return (x[b] if table is None else x[table[b]].reshape((-1,) + x.shape[2:]))[: used[b]]

    rows = q.reshape((-1,) + q.shape[-2:])
    more = None if qv is None else qv.array.reshape((-1,) + qv.shape[-2:])
    parts = [(slice(at[b], at[b + 1]), cut(k, b), cut(v, b), more) for b in range(batch)]
    o = sequences(rows, parts, softmax_scale, causal, window_size, softcap)
    return pair(o.reshape(q.shape[:-1] + o.shape[2:]))
