"""FlashAttention-3's functions, with its arguments, their order and its conventions.

>>> from heed.flash_attn_3 import flash_attn_func
>>> o = flash_attn_func(q, k, v, causal=True)

Differences from the functions of heed.flash_attn: no dropout and no ALiBi, an attention_chunk, an
LSE of -infinity for a row without keys, and (out, softmax_lse) where the LSE is asked for. 8-bit
types (q_descale, k_descale, v_descale) are refused by name. deterministic, num_splits, pack_gqa,
sm_margin and scheduler_metadata are accepted and change nothing.

With qv, (..., heads, dim of v), the logits are softmax_scale (q k^T + qv v^T), as those of
multi-head latent attention whose projections are absorbed; softmax_scale is then 1 / sqrt(dim + dim
of v) by default. Where k and v are parts of one tensor, v's vectors right ahead of k's or behind
them, they are read where they are; otherwise they are copied together.
"""

from __future__ import annotations

import math
from typing import Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import _flash, _flash_ops
from ._eager import eager
from ._errors import InvalidError, type_error
from ._flash import Packed, Words
from ._flash_cache import Cache, attend_cache

__all__ = [
    "flash_attn_combine",
    "flash_attn_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_with_kvcache",
    "get_scheduler_metadata",
]

Result = Union[Tensor, Tuple[Tensor, Optional[Tensor]]]


def _words(
    scale: Optional[float],
    causal: bool,
    window_size: Sequence[int],
    softcap: float,
    chunk: int,
    qv: Optional[Tensor],
    *descales: Optional[Tensor],
) -> Words:
    for name, x in zip(("q_descale", "k_descale", "v_descale"), descales):
        _flash.refuse(x, name=name, remedy="pass tensors of float16 or bfloat16, and None here")
    return _flash.words_of(scale, causal, window_size, softcap, chunk=chunk, qv=qv)


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    qv: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Sequence[int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: Optional[bool] = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Result:
    """softmax(softmax_scale q k^T + ...) v, of whole sequences.

    Args:
        q: (batch, queries, heads, dim); float32, float16 or bfloat16.
        k, v: (batch, keys, key/value heads, dim), whose heads divide q's; the dim of v may differ.
        softmax_scale: None: 1 / sqrt(dim).
        causal: query i sees the keys j <= p = i + keys - queries (bottom right).
        qv: as the module says, or None.
        q_descale, k_descale, v_descale: None.
        window_size: (left, right): the query sees the keys p - left to p + right; -1: no limit.
        attention_chunk: keys of a chunk; the query sees those of p's own. 0: no chunks.
        softcap: a logit t becomes softcap * tanh(t / softcap); 0.0: it stays.
        return_attn_probs: whether to return (out, softmax_lse).

    Returns:
        out (batch, queries, heads, dim of v); a row that sees no key is 0. softmax_lse is the
        natural log-sum-exp, float32 (batch, heads, queries), -infinity for such a row.

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention().
        UnsupportedError: a descale is given.
    """
    descales = (q_descale, k_descale, v_descale)
    words = _words(softmax_scale, causal, window_size, softcap, attention_chunk, qv, *descales)
    found = _flash_ops.attend(q, k, v, words, want_lse=return_attn_probs)
    return found if return_attn_probs else found[0]


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Sequence[int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    deterministic: bool = False,
    num_heads_q: Optional[int] = None,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_func() of qkv (batch, sequence, 3, heads, dim), or with num_heads_q of
    (batch, sequence, query heads + 2 * key/value heads, dim); it is not copied."""
    if getattr(qkv, "ndim", 5) == 5:
        q, k, v = _flash.unpack("qkv", qkv, 5, 3)
    else:
        whole = _flash.tensor("qkv", qkv, 4)
        rest = whole.shape[2] - (num_heads_q or 0)
        if not num_heads_q or rest <= 0 or rest % 2:
            raise InvalidError(
                f"num_heads_q: {num_heads_q}, of {whole.shape[2]} heads in all; pass the number of "
                "query heads, such that as many heads of k as of v are left"
            )
        middle = num_heads_q + rest // 2
        q, k, v = whole[:, :, :num_heads_q], whole[:, :, num_heads_q:middle], whole[:, :, middle:]
    descales = (q_descale, k_descale, v_descale)
    words = _words(softmax_scale, causal, window_size, softcap, attention_chunk, None, *descales)
    found = _flash_ops.attend(q, k, v, words, want_lse=return_attn_probs)
    return found if return_attn_probs else found[0]


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    seqused_q: Optional[Tensor] = None,
    seqused_k: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    qv: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    window_size: Sequence[int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: Optional[bool] = None,
    deterministic: bool = False,
    sm_margin: int = 0,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_func() of sequences of many lengths, one after another in memory.

    The cumulative lengths are read on the device, in one launch, which a CUDA graph may capture.

    Args:
        q: (tokens of all queries, heads, dim); float32, float16 or bfloat16.
        k, v: (tokens of all keys, key/value heads, dim).
        cu_seqlens_q, cu_seqlens_k: int32, (batch + 1,): where each sequence begins, and the end.
        max_seqlen_q, max_seqlen_k: no sequence is longer.
        seqused_q, seqused_k: int32, (batch,): how many tokens of each sequence count; None: all.
            Rows of out that do not count are 0.

    The rest is that of flash_attn_func().

    Returns:
        out (tokens of all queries, heads, dim of v), or (out, softmax_lse), whose softmax_lse is
        float32 (heads, tokens of all queries).

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention(), and for bounds that do not rise.
        UnsupportedError: a descale is given.
    """
    descales = (q_descale, k_descale, v_descale)
    words = _words(softmax_scale, causal, window_size, softcap, attention_chunk, qv, *descales)
    used = (seqused_q, seqused_k)
    packed = Packed(cu_seqlens_q, cu_seqlens_k, *used, None, max_seqlen_q, max_seqlen_k)
    found = _flash_ops.attend_varlen(q, k, v, packed, words, want_lse=return_attn_probs)
    return found if return_attn_probs else found[0]


@eager
def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Optional[Tensor] = None,
    v: Optional[Tensor] = None,
    qv: Optional[Tensor] = None,
    rotary_cos: Optional[Tensor] = None,
    rotary_sin: Optional[Tensor] = None,
    cache_seqlens: Union[int, Tensor, None] = None,
    cache_batch_idx: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    page_table: Optional[Tensor] = None,
    cu_seqlens_q: Optional[Tensor] = None,
    cu_seqlens_k_new: Optional[Tensor] = None,
    max_seqlen_q: Optional[int] = None,
    rotary_seqlens: Optional[Tensor] = None,
    q_descale: Optional[Tensor] = None,
    k_descale: Optional[Tensor] = None,
    v_descale: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    scheduler_metadata: Optional[Tensor] = None,
    num_splits: int = 0,
    pack_gqa: Optional[bool] = None,
    sm_margin: int = 0,
    return_softmax_lse: bool = False,
) -> Result:
    """Attention to a cache of keys and values, after new ones were stored in it, in place.

    The arguments are those of heed.flash_attn.flash_attn_with_kvcache() and of flash_attn_func()
    here (page_table is its block_table, whose rows cache_batch_idx may name), and:

    Args:
        rotary_seqlens: int32, (batch,): where rotation begins, in place of cache_seqlens.
        cu_seqlens_q: int32, (batch + 1,): q is (tokens, heads, dim), and each sequence's queries
            begin there; no sequence has more than max_seqlen_q.
        cu_seqlens_k_new: the same for k and v, (tokens, key/value heads, dim).

    Raises:
        ArgumentTypeError, InvalidError: as there.
        UnsupportedError: a descale is given.
    """
    descales = (q_descale, k_descale, v_descale)
    words = _words(softmax_scale, causal, window_size, softcap, attention_chunk, qv, *descales)
    cache = Cache(
        cache_seqlens,
        cache_batch_idx,
        cache_leftpad,
        rotary_cos,
        rotary_sin,
        rotary_interleaved,
        rotary_seqlens,
        page_table,
        "page_table",
        cu_seqlens_q,
        cu_seqlens_k_new,
        max_seqlen_q,
    )
    found = attend_cache(q, k_cache, v_cache, k, v, cache, words, want_lse=return_softmax_lse)
    return found if return_softmax_lse else found[0]


def flash_attn_combine(
    out_partial: Tensor,
    lse_partial: Tensor,
    out: Optional[Tensor] = None,
    out_dtype: Optional[torch.dtype] = None,
) -> Tuple[Tensor, Tensor]:
    """The attention to all keys, of results for parts of them: their mean with the weights
    exp(lse - log-sum-exp of all lse). torch computes it, in float32.

    Args:
        out_partial: (parts, batch, queries, heads, dim) or (parts, tokens, heads, dim).
        lse_partial: float32, (parts, batch, queries, heads) or (parts, tokens, heads), natural;
            -infinity for rows of a part that saw no key. flash_attn_func() returns the heads ahead
            of the queries: transpose them.
        out: where the result goes, (batch, queries, heads, dim); None: a new tensor.
        out_dtype: of a new tensor; None: that of out_partial.

    Returns:
        (out, lse) of all parts, lse (batch, queries, heads); a row that saw no key is 0, its lse
        -infinity.

    Raises:
        ArgumentTypeError, InvalidError: for what is no tensor, or of another shape.
    """
    for name, x in (("out_partial", out_partial), ("lse_partial", lse_partial)):
        if not isinstance(x, Tensor):
            raise type_error(name, x, "torch.Tensor")
    if out_partial.dim() not in (4, 5) or not len(out_partial):
        raise InvalidError(
            f"out_partial: shape is {tuple(out_partial.shape)}; pass (parts, ..., queries, heads, dim)"
        )
    if lse_partial.shape != out_partial.shape[:-1]:
        raise InvalidError(
            f"lse_partial: shape is {tuple(lse_partial.shape)}; pass {tuple(out_partial.shape[:-1])}"
        )
    if out is not None and (not isinstance(out, Tensor) or out.shape != out_partial.shape[1:]):
        raise InvalidError(f"out: pass a torch.Tensor of shape {tuple(out_partial.shape[1:])}, or None")
    sums = lse_partial.float()
    lse = torch.logsumexp(sums, 0)
    weights = torch.exp(sums - lse).masked_fill(sums == -math.inf, 0).unsqueeze(-1)
    found = (out_partial.float() * weights).sum(0)
    if out is not None:
        return out.copy_(found), lse
    return found.to(out_partial.dtype if out_dtype is None else out_dtype), lse


def get_scheduler_metadata(
    batch_size: int,
    max_seqlen_q: int,
    max_seqlen_k: int,
    num_heads_q: int,
    num_heads_kv: int,
    headdim: int,
    cache_seqlens: Tensor,
    qkv_dtype: torch.dtype = torch.bfloat16,
    headdim_v: Optional[int] = None,
    cu_seqlens_q: Optional[Tensor] = None,
    cu_seqlens_k_new: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    page_size: Optional[int] = None,
    max_seqlen_k_new: int = 0,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    attention_chunk: int = 0,
    has_softcap: bool = False,
    num_splits: int = 0,
    pack_gqa: Optional[bool] = None,
    sm_margin: int = 0,
) -> None:
    """None, for flash_attn_with_kvcache()'s scheduler_metadata: heed's plans are kept by
    themselves, and no argument is looked at."""
