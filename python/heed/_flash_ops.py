"""FlashAttention's functions as operators of torch: torch.compile keeps them whole, and they have
gradients.

Calling an operator that is defined in Python takes 20 us, so only calls that need it do.
"""

from __future__ import annotations

from typing import Any, Tuple

import torch
from torch import Tensor

from . import _flash, _flash_gradient, _gradient
from ._flash import Found, Packed, Words

_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)


def _is_operator(*tensors: Any) -> bool:
    """Whether a call must use the operator: for torch.compile, a dispatch mode such as FakeTensorMode,
    or a gradient."""
    wanted = (
        torch.compiler.is_compiling()
        or (_modes is not None and _modes() > 0)
        or _gradient.is_wanted(*tensors)
    )
    if wanted:
        _gradient.refuse_transforms(*tensors)
    return wanted


def _both(found: Found, q: Tensor) -> Tuple[Tensor, Tensor]:
    """Operators can return only tensors: an unwanted LSE is an empty one."""
    o, lse = found
    return o, q.new_empty(0, dtype=torch.float32) if lse is None else lse


def _fake(q: Tensor, v: Tensor, sums: Tuple[int, ...], want_lse: bool) -> Tuple[Tensor, Tensor]:
    o = q.new_empty((*q.shape[:-1], v.shape[-1]))
    return o, q.new_empty(sums if want_lse else 0, dtype=torch.float32)


# Arguments of both operators: the fields of Words, and want_lse.
_TENSORS = "Tensor? slopes, Tensor? qv"
_NUMBERS = (
    "float? scale, bool causal, SymInt left, SymInt right, float softcap, SymInt chunk, float empty, "
    "bool want_lse"
)

# ---- Whole sequences -----------------------------------------------------------------------------


@torch.library.custom_op(
    "heed::flash_attention",
    mutates_args=(),
    schema=f"(Tensor q, Tensor k, Tensor v, {_TENSORS}, {_NUMBERS}) -> (Tensor, Tensor)",
)
def _dense(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    with torch.no_grad():
        return _both(_flash.attend(q, k, v, Words(*rest[:-1]), want_lse=rest[-1]), q)


@_dense.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    return _fake(q, v, (q.shape[0], q.shape[2], q.shape[1]), rest[-1])


_gradient.give(_dense, _flash_gradient.attend)


def attend(q: Any, k: Any, v: Any, words: Words, *, want_lse: bool) -> Found:
    """_flash.attend() of whole sequences."""
    want_lse = bool(want_lse)
    q, k, v = (_flash.tensor(name, x, 4) for name, x in (("q", q), ("k", k), ("v", v)))
    if not _is_operator(q, k, v, words.slopes, words.qv):
        return _flash.attend(q, k, v, words, want_lse=want_lse)
    o, lse = _dense(q, k, v, *words, want_lse)
    return o, lse if want_lse else None


# ---- Packed sequences ----------------------------------------------------------------------------


@torch.library.custom_op(
    "heed::flash_attention_varlen",
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, Tensor cu_q, Tensor cu_k, Tensor? used_q, Tensor? used_k, "
    f"Tensor? table, {_TENSORS}, SymInt? most_q, SymInt? most_k, {_NUMBERS}) -> (Tensor, Tensor)",
)
def _varlen(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    packed, words, want_lse = _flash_gradient.split(*rest)
    with torch.no_grad():
        return _both(_flash.attend_varlen(q, k, v, packed, words, want_lse=want_lse), q)


@_varlen.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Tensor]:
    return _fake(q, v, (q.shape[1], q.shape[0]), rest[-1])


_gradient.give(_varlen, _flash_gradient.attend_varlen)


def attend_varlen(
    q: Any, k: Any, v: Any, packed: Packed, words: Words, *, want_lse: bool
) -> Found:
    """_flash.attend_varlen()."""
    want_lse = bool(want_lse)
    if not _is_operator(q, k, v, words.slopes, words.qv):
        return _flash.attend_varlen(q, k, v, packed, words, want_lse=want_lse)
    o, lse = _varlen(q, k, v, *packed[:5], *words[:2], *packed[5:], *words[2:], want_lse)
    return o, lse if want_lse else None
