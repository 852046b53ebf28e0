"""FlashAttention-3's functions, with the same arguments and conventions.

>>> from heed.flash_attn_3 import flash_attn_func
>>> o = flash_attn_func(q, k, v, causal=True)

Differences from heed.flash_attn: no dropout and no ALiBi, but attention_chunk; the LSE of a row without
keys is -infinity; if the LSE is requested, (out, softmax_lse) is returned. 8-bit types (q_descale,
k_descale, v_descale) are refused. deterministic, num_splits, pack_gqa, sm_margin and
scheduler_metadata are ignored.

With qv, (..., heads, dim of v), the logits are softmax_scale (q k^T + qv v^T), as in multi-head latent
attention with absorbed projections; softmax_scale is then 1 / sqrt(dim + dim of v) by default. If k
and v are parts of one tensor, with v's vectors right before or after k's, they are read in place;
otherwise they are copied into one tensor.
"""

from __future__ import annotations

import math
from typing import Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import _flash, _flash_ops, _values
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
        causal: query i sees keys j <= p = i + keys - queries (bottom right). As in FlashAttention, a
            number other than 0 is True, and None is False.
        qv: see the module's documentation; or None.
        q_descale, k_descale, v_descale: None.
        window_size: (left, right): the query sees keys p - left to p + right; -1: no limit.
        attention_chunk: the number of keys in a chunk; the query sees only p's chunk. 0: off.
        softcap: a logit t becomes softcap * tanh(t / softcap); 0.0: off.
        return_attn_probs: whether to return (out, softmax_lse).

    Returns:
        out (batch, queries, heads, dim of v); a row that sees no key is 0. softmax_lse is the
        natural log-sum-exp, float32 (batch, heads, queries), -infinity for such a row.

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention().
        UnsupportedError: a descale is given.
    """
    said = (softmax_scale, causal, window_size, softcap, attention_chunk, None)
    descales = (q_descale, k_descale, v_descale)
    if not return_attn_probs and qv is q_descale is k_descale is v_descale is None:
        again = _flash_ops.repeat(said, q, k, v, None)
        if again is not None:
            return again
    words = _words(softmax_scale, causal, window_size, softcap, attention_chunk, qv, *descales)
    found = _flash_ops.attend(q, k, v, words, want_lse=return_attn_probs, said=said)
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
    (batch, sequence, query heads + 2 * key/value heads, dim), without a copy."""
    if getattr(qkv, "ndim", 5) == 5:
        q, k, v = _flash.unpack("qkv", qkv, 5, 3)
    else:
        whole = _flash.tensor("qkv", qkv, 4)
        if num_heads_q is not None:
            num_heads_q = _values.integer("num_heads_q", num_heads_q, 1, whole.shape[2])
        rest = whole.shape[2] - (num_heads_q or 0)
        if not num_heads_q or rest <= 0 or rest % 2:
            raise InvalidError(
                f"num_heads_q: {num_heads_q}, of {whole.shape[2]} heads in all; pass the number of "
                "query heads, after which k and v have the same number of heads"
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
    """flash_attn_func() of packed sequences of different lengths.

    The cumulative lengths are read on the device, in one launch, which a CUDA graph can capture.

    Args:
        q: (tokens of all queries, heads, dim); float32, float16 or bfloat16.
        k, v: (tokens of all keys, key/value heads, dim).
        cu_seqlens_q, cu_seqlens_k: int32, (batch + 1,): the start of each sequence, and the end.
        max_seqlen_q, max_seqlen_k: upper bounds of the sequence lengths.
        seqused_q, seqused_k: int32, (batch,): the number of tokens of each sequence to use; None:
            all. Unused rows of out are 0.

    The other arguments are those of flash_attn_func().

    Returns:
        out (tokens of all queries, heads, dim of v), or (out, softmax_lse), whose softmax_lse is
        float32 (heads, tokens of all queries).

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention(), and for decreasing cu_seqlens.
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
    """Attention to a KV cache, after new keys and values were stored in it in place.

    The arguments are those of heed.flash_attn.flash_attn_with_kvcache() and of flash_attn_func() in
    this module, and those below. page_table is block_table there; cache_batch_idx may name its rows.

    Args:
        rotary_seqlens: int32, (batch,): the position where rotation begins, instead of cache_seqlens.
        cu_seqlens_q: int32, (batch + 1,): q is packed, (tokens, heads, dim), and each sequence
            begins there; no sequence has more than max_seqlen_q queries.
        cu_seqlens_k_new: the same for k and v, (tokens, key/value heads, dim).

    Raises:
        ArgumentTypeError, InvalidError: as flash_attn_with_kvcache() of heed.flash_attn.
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
    """Combine results for parts of the keys into the attention to all keys: their mean with weights
    exp(lse - log-sum-exp of all lse). torch computes it in float32.

    Args:
        out_partial: (parts, batch, queries, heads, dim) or (parts, tokens, heads, dim).
        lse_partial: float32, (parts, batch, queries, heads) or (parts, tokens, heads), natural;
            -infinity for rows of a part that saw no key. flash_attn_func() returns heads before
            queries: transpose its LSE.
        out: a tensor for the result, (batch, queries, heads, dim); None: a new one.
        out_dtype: dtype of a new tensor; None: that of out_partial.

    Returns:
        (out, lse) of all parts, lse (batch, queries, heads). A row that saw no key is 0, and its
        lse -infinity.

    Raises:
        ArgumentTypeError, InvalidError: not a tensor, or a wrong shape.
    """
    for name, x in (("out_partial", out_partial), ("lse_partial", lse_partial)):
        if not isinstance(x, Tensor):
            raise type_error(name, x, "a torch.Tensor")
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
    if out_dtype is not None and not isinstance(out_dtype, torch.dtype):
        raise type_error("out_dtype", out_dtype, "a torch.dtype", "pass one, or None")
    for name, x in (("lse_partial", lse_partial), ("out", out_partial if out is None else out)):
        if x.device != out_partial.device:
            raise InvalidError(f"{name}: it is on {x.device}, out_partial on {out_partial.device}; move one")
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
    """Return None, for flash_attn_with_kvcache()'s scheduler_metadata: heed caches its plans itself.
    All arguments are ignored."""
