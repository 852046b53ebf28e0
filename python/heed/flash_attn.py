"""FlashAttention-2's functions, with the same arguments and conventions.

>>> from heed.flash_attn import flash_attn_func
>>> o = flash_attn_func(q, k, v, causal=True)

Differences: float32 and tensors on a CPU are accepted too. torch computes gradients, also of the LSE
and of alibi_slopes, with one warning; flash_attn_with_kvcache() refuses a tensor that requires a
gradient unless gradients are disabled. Dropout is refused. deterministic and num_splits are ignored:
heed's forward pass is deterministic, and its planner splits keys. heed.flash_attn_3 has the functions
of FlashAttention-3.
"""

from __future__ import annotations

import math
from typing import Optional, Sequence, Tuple, Union

from torch import Tensor

from . import _flash, _flash_ops
from ._eager import eager
from ._flash import Found, Packed, Words
from ._flash_cache import Cache, attend_cache

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
]

Result = Union[Tensor, Tuple[Tensor, Optional[Tensor], Tensor]]
Said = Tuple[float, Optional[float], bool, Sequence[int], float]  # of _words(), without slopes


def _words(
    dropout_p: float,
    scale: Optional[float],
    causal: bool,
    window_size: Sequence[int],
    softcap: float,
    slopes: Optional[Tensor],
) -> Words:
    _flash.refuse_dropout(dropout_p)
    return _flash.words_of(scale, causal, window_size, softcap, slopes, empty=math.inf)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, said: Said, slopes: Optional[Tensor], all_three: bool
) -> Result:
    """The attention of whole sequences; @said are the arguments of _words() without slopes."""
    again = None if all_three else _flash_ops.repeat(said, q, k, v, slopes)
    if again is not None:
        return again
    words = _words(*said, slopes)
    return _result(_flash_ops.attend(q, k, v, words, want_lse=all_three, said=said), all_three)


def _attend_varlen(
    q: Tensor, k: Tensor, v: Tensor, packed: Packed, words: Words, all_three: bool
) -> Result:
    found = _flash_ops.attend_varlen(q, k, v, packed, words, want_lse=all_three)
    return _result(found, all_three)


def _result(found: Found, all_three: bool) -> Result:
    return (*found, found[0].new_empty(0)) if all_three else found[0]


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """softmax(softmax_scale q k^T + ...) v, of whole sequences.

    Args:
        q: (batch, queries, heads, dim); float32, float16 or bfloat16.
        k, v: (batch, keys, key/value heads, dim), whose heads divide q's; the dim of v may differ.
        dropout_p: 0.0.
        softmax_scale: None: 1 / sqrt(dim).
        causal: query i sees keys j <= p = i + keys - queries (bottom right). As in FlashAttention, a
            number other than 0 is True, and None is False.
        window_size: (left, right): the query sees keys p - left to p + right; -1: no limit.
        softcap: a logit t becomes softcap * tanh(t / softcap); 0.0: off.
        alibi_slopes: float32, (heads,) or (batch, heads): adds - slope * |p - j|.
        deterministic: ignored.
        return_attn_probs: whether to return three values.

    Returns:
        out (batch, queries, heads, dim of v); a row that sees no key is 0. With return_attn_probs
        (out, softmax_lse, S_dmask): the natural log-sum-exp, float32 (batch, heads, queries),
        +infinity for a row without keys. As in FlashAttention-2 it lacks ALiBi's - slope * p if the
        mask is causal without a window. S_dmask is empty, as there is no dropout.

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention().
        UnsupportedError: dropout_p is not 0.
    """
    said = (dropout_p, softmax_scale, causal, window_size, softcap)
    return _attend(q, k, v, said, alibi_slopes, return_attn_probs)


def flash_attn_qkvpacked_func(
    qkv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_func() of qkv (batch, sequence, 3, heads, dim), without a copy."""
    q, k, v = _flash.unpack("qkv", qkv, 5, 3)
    said = (dropout_p, softmax_scale, causal, window_size, softcap)
    return _attend(q, k, v, said, alibi_slopes, return_attn_probs)


def flash_attn_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_func() of kv (batch, keys, 2, key/value heads, dim), without a copy."""
    k, v = _flash.unpack("kv", kv, 5, 2)
    said = (dropout_p, softmax_scale, causal, window_size, softcap)
    return _attend(q, k, v, said, alibi_slopes, return_attn_probs)


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Optional[Tensor] = None,
) -> Result:
    """flash_attn_func() of packed sequences of different lengths.

    The cumulative lengths are read on the device, in one launch, which a CUDA graph can capture.

    Args:
        q: (tokens of all queries, heads, dim); float32, float16 or bfloat16.
        k, v: (tokens of all keys, key/value heads, dim).
        cu_seqlens_q, cu_seqlens_k: int32, (batch + 1,): the start of each sequence, and the end.
        max_seqlen_q, max_seqlen_k: upper bounds of the sequence lengths.
        block_table: int32, (batch, pages of a sequence): the numbers of the pages with the keys of
            each sequence, in order. k and v are then (pages, page, key/value heads, dim);
            cu_seqlens_k has the numbers of keys.

    The other arguments are those of flash_attn_func().

    Returns:
        out (tokens of all queries, heads, dim of v), or with return_attn_probs (out, softmax_lse,
        S_dmask), whose softmax_lse is float32 (heads, tokens of all queries).

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention(), and for decreasing cu_seqlens.
        UnsupportedError: dropout_p is not 0.
    """
    words = _words(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes)
    packed = Packed(
        cu_seqlens_q, cu_seqlens_k, most_q=max_seqlen_q, most_k=max_seqlen_k, table=block_table
    )
    return _attend_varlen(q, k, v, packed, words, return_attn_probs)


def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_varlen_func() of qkv (tokens, 3, heads, dim), without a copy."""
    q, k, v = _flash.unpack("qkv", qkv, 4, 3)
    words = _words(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes)
    packed = Packed(cu_seqlens, cu_seqlens, most_q=max_seqlen, most_k=max_seqlen)
    return _attend_varlen(q, k, v, packed, words, return_attn_probs)


def flash_attn_varlen_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Result:
    """flash_attn_varlen_func() of kv (tokens, 2, key/value heads, dim), without a copy."""
    k, v = _flash.unpack("kv", kv, 4, 2)
    words = _words(dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes)
    packed = Packed(cu_seqlens_q, cu_seqlens_k, most_q=max_seqlen_q, most_k=max_seqlen_k)
    return _attend_varlen(q, k, v, packed, words, return_attn_probs)


@eager
def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Optional[Tensor] = None,
    v: Optional[Tensor] = None,
    rotary_cos: Optional[Tensor] = None,
    rotary_sin: Optional[Tensor] = None,
    cache_seqlens: Union[int, Tensor, None] = None,
    cache_batch_idx: Optional[Tensor] = None,
    cache_leftpad: Optional[Tensor] = None,
    block_table: Optional[Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Sequence[int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Optional[Tensor] = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Union[Tensor, Tuple[Tensor, Optional[Tensor]]]:
    """Attention to a KV cache, after new keys and values were stored in it in place.

    heed stores new keys and values, applies the rotary embedding (Su et al., 2021) and computes the
    attention in two launches. torch stores and rotates if types differ; with cache_batch_idx, whose
    elements it copies; and with a rotary embedding if the numbers of queries and new keys differ, if
    there are several without a causal mask or window, or if there are fewer positions than keys in
    the cache.

    Args:
        q: (batch, queries, heads, dim).
        k_cache, v_cache: (batch or more, capacity, key/value heads, dim); with a block_table the
            pools (pages, page, key/value heads, dim), with pages of 1 to 1024 keys.
        k, v: (batch, new, key/value heads, dim), stored from cache_seqlens on; None: nothing is
            stored. They must fit; on a CUDA device this is not checked.
        rotary_cos, rotary_sin: (positions, r / 2): k and q are rotated at their positions, from
            cache_seqlens on; without a causal mask or window all of q at cache_seqlens.
        cache_seqlens: the number of keys of each batch element before the new ones, an int or int32
            (batch,); None: the capacity.
        cache_batch_idx: int32, (batch,): the element of the caches for each element of q.
        cache_leftpad: int32, (batch,): the first key of each element.
        block_table: int32, (batch, pages of a sequence): the numbers of the pages with the keys of
            each element, in order; the capacity is then page * pages of a sequence. Entries after
            the last key are ignored. Invalid page numbers are refused on a CPU, and on a CUDA
            device with HEED_CHECK=1 in the environment.
        rotary_interleaved: True: pairs are (0, 1), ...; False: (0, r / 2), ... as in GPT-NeoX.
        num_splits: ignored.
        return_softmax_lse: whether to return (out, softmax_lse).

    The other arguments are those of flash_attn_func(), with keys = cache_seqlens + new.

    Raises:
        ArgumentTypeError, InvalidError: as heed.attention(), and for a cache that is too small.
    """
    cache = Cache(
        cache_seqlens,
        cache_batch_idx,
        cache_leftpad,
        rotary_cos,
        rotary_sin,
        rotary_interleaved,
        table=block_table,
    )
    words = _words(0.0, softmax_scale, causal, window_size, softcap, alibi_slopes)
    found = attend_cache(q, k_cache, v_cache, k, v, cache, words, want_lse=return_softmax_lse)
    return found if return_softmax_lse else found[0]
