"""Known calls with a KV cache, repeated in C. torch only adds the number of new keys to the lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import torch
from torch import Tensor

from . import _again
from ._arrays import written
from ._flash import Words, compute_planned, slopes_of
from ._precision import products_of

if TYPE_CHECKING:
    from ._flash_cache import Cache

_calls = _again.Calls(256)
_again_plain: Any = _again.module.again_plain if _again.module else None
_OPERANDS = ("slopes", "lengths", "table", "k_new", "v_new", "rotary_cos", "rotary_sin")


def _operands(k: Any, v: Any, cache: Cache, words: Words, lengths: Any) -> Tuple[Any, ...]:
    """The values of _OPERANDS."""
    return (words.slopes, lengths, cache.table, k, v, cache.rotary_cos, cache.rotary_sin)


def _said(cache: Cache, words: Words) -> Tuple[Any, ...]:
    """The options of a call."""
    numbers = (words.scale, words.causal, words.left, words.right, words.softcap, words.chunk)
    return (*numbers, cache.rotary_interleaved)


def may_be_known(
    q: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, cache: Cache, words: Words
) -> bool:
    """Whether C may repeat such calls if it knows them: the lengths are a tensor of int32, heed stores
    the new keys, and the only values to be checked here are whether they fit."""
    lengths, table = cache.seqlens, cache.table
    others = (cache.batch_idx, cache.leftpad, cache.rotary_seqlens, cache.cu_q, cache.cu_new)
    if _again_plain is None or words.qv is not None or any(x is not None for x in others):
        return False
    if not type(q) is type(k_cache) is Tensor or k_cache.dim() != 4:
        return False
    if not isinstance(lengths, Tensor) or lengths.dtype is not torch.int32 or not lengths.numel():
        return False
    if table is not None and not (q.is_cuda and type(table) is Tensor and table.dim() == 2):
        return False  # on a CPU page numbers are checked as well
    return k is None or (type(k) is Tensor and k.dtype is q.dtype and k.dim() == 4)


def repeat(
    q: Tensor, k_cache: Tensor, v_cache: Any, k: Any, v: Any, cache: Cache, words: Words
) -> Optional[Tensor]:
    """The result of a call that may_be_known() and is, or None."""
    lengths: Any = cache.seqlens
    if not _calls.known:
        return None
    if k is not None:
        keys = k_cache.shape[1] * (1 if cache.table is None else cache.table.shape[1])
        lengths = lengths + k.shape[1]
        if not q.is_cuda and int(lengths.max()) > keys:
            return None
        lengths.clamp_(max=keys)
    operands = _operands(k, v, cache, words, lengths)
    o: Optional[Tensor] = _again_plain(
        _calls.known, _said(cache, words), q, k_cache, v_cache, None, *operands
    )
    if o is not None and k is not None:
        written(k_cache, v_cache)
    return o


def is_as_given(
    own: Tuple[Any, ...],
    used: Tuple[Tensor, Tensor, Tensor],
    cache: Cache,
    words: Words,
    table: Optional[Tensor],
    native: Optional[Dict[str, Any]],
) -> bool:
    """Whether heed computes with the very tensors of the call, q, k_cache, v_cache, k and v, and none of
    those that it reads is empty."""
    new = (None, None) if native is None else (native["k_new"], native["v_new"])
    return (
        all(x is y for x, y in [*zip(own, (*used, *new)), (cache.table, table)])
        and all(x.numel() > 0 and type(x) is Tensor for x in used)
        and (words.slopes is None or slopes_of(words) is words.slopes)
        and _again.knows(Tensor)
    )


def attend_and_learn(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, words: Words, cache: Cache, more: Dict[str, Any]
) -> Tensor:
    """O, after which repeat() knows the call. @more are attention()'s arguments."""
    o, plan = compute_planned(q, k_cache, v_cache, words, **more)
    k, v = more.get("k_new"), more.get("v_new")
    if k is not None:
        written(k_cache, v_cache)
    arrays = (q, k_cache, v_cache, None, *_operands(k, v, cache, words, more["lengths"]))
    maker, products = _again.maker_of(q, o.shape, "same"), products_of(q)
    said = _said(cache, words)
    _calls.learn(said, arrays, _OPERANDS, plan, maker, None, keep=plan, products=products)
    return o
