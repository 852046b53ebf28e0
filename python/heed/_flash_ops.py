"""FlashAttention's functions as operators, which torch.compile takes whole, and which have gradients.

An operator that is defined in Python takes 20 us to call: only calls that must be one's are.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _flash, _flash_gradient, _gradient
from ._flash import Words

_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)

Found = Tuple[Tensor, Optional[Tensor]]


def _is_operator(*tensors: Any) -> bool:
    """Whether a call becomes an operator's: torch.compile looks on, or a mode such as a fake one, or
    a gradient is wanted."""
    wanted = (
        torch.compiler.is_compiling()
        or (_modes is not None and _modes() > 0)
        or _gradient.is_wanted(*tensors)
    )
    if wanted:
        _gradient.refuse_transforms(*tensors)
    return wanted


def _both(found: Found, q: Tensor) -> Tuple[Tensor, Tensor]:
    """Operators return tensors alone: an empty one for an LSE that is not wanted."""
    o, lse = found
    return o, q.new_empty(0, dtype=torch.float32) if lse is None else lse


def _fake(q: Tensor, v: Tensor, sums: Tuple[int, ...], want_lse: bool) -> Tuple[Tensor, Tensor]:
    o = q.new_empty((*q.shape[:-1], v.shape[-1]))
    return o, q.new_empty(sums if want_lse else 0, dtype=torch.float32)


# ---- Whole sequences -----------------------------------------------------------------------------


@torch.library.custom_op("heed::flash_attention", mutates_args=())
def _dense(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    slopes: Optional[Tensor],
    qv: Optional[Tensor],
    scale: Optional[float],
    causal: bool,
    left: int,
    right: int,
    softcap: float,
    chunk: int,
    empty: float,
    want_lse: bool,
) -> Tuple[Tensor, Tensor]:
    words = Words(scale, causal, (left, right), softcap, slopes, chunk, empty, qv)
    with torch.no_grad():
        return _both(_flash.attend(q, k, v, words, want_lse=want_lse), q)


@_dense.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    return _fake(q, v, (q.shape[0], q.shape[2], q.shape[1]), rest[-1])


_gradient.give(_dense, _flash_gradient.attend)


def attend(q: Tensor, k: Tensor, v: Tensor, words: Words, *, want_lse: bool) -> Found:
    """_flash.attend() of whole sequences."""
    if not _is_operator(q, k, v, words.slopes, words.qv):
        return _flash.attend(q, k, v, words, want_lse=want_lse)
    o, lse = _dense(
        q,
        k,
        v,
        words.slopes,
        words.qv,
        words.scale,
        words.causal,
        *words.window_size,
        words.softcap,
        words.chunk,
        words.empty,
        want_lse,
    )
    return o, lse if want_lse else None


# ---- Packed sequences ----------------------------------------------------------------------------


@torch.library.custom_op("heed::flash_attention_varlen", mutates_args=())
def _varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_q: Tensor,
    cu_k: Tensor,
    used_q: Optional[Tensor],
    used_k: Optional[Tensor],
    table: Optional[Tensor],
    slopes: Optional[Tensor],
    qv: Optional[Tensor],
    most_q: Optional[int],
    most_k: Optional[int],
    scale: Optional[float],
    causal: bool,
    left: int,
    right: int,
    softcap: float,
    chunk: int,
    empty: float,
    want_lse: bool,
) -> Tuple[Tensor, Tensor]:
    words = Words(scale, causal, (left, right), softcap, slopes, chunk, empty, qv)
    with torch.no_grad():
        found = _flash.attend_varlen(
            q,
            k,
            v,
            cu_q,
            cu_k,
            words,
            want_lse=want_lse,
            most=(most_q, most_k),
            used_q=used_q,
            used_k=used_k,
            table=table,
        )
        return _both(found, q)


@_varlen.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    return _fake(q, v, (q.shape[1], q.shape[0]), rest[-1])


_gradient.give(_varlen, _flash_gradient.attend_varlen)


def attend_varlen(
    q: Any,
    k: Any,
    v: Any,
    cu_q: Any,
    cu_k: Any,
    words: Words,
    *,
    want_lse: bool,
    most: Tuple[Optional[int], Optional[int]] = (None, None),
    used_q: Optional[Tensor] = None,
    used_k: Optional[Tensor] = None,
    table: Optional[Tensor] = None,
) -> Found:
    """_flash.attend_varlen()."""
    more: Any = {"used_q": used_q, "used_k": used_k, "table": table}
    if not _is_operator(q, k, v, words.slopes, words.qv):
        return _flash.attend_varlen(
            q, k, v, cu_q, cu_k, words, want_lse=want_lse, most=most, **more
        )
    o, lse = _varlen(
        q,
        k,
        v,
        cu_q,
        cu_k,
        used_q,
        used_k,
        table,
        words.slopes,
        words.qv,
        *most,
        words.scale,
        words.causal,
        *words.window_size,
        words.softcap,
        words.chunk,
        words.empty,
        want_lse,
    )
    return o, lse if want_lse else None
