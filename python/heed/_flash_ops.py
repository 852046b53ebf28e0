"""FlashAttention's functions as operators of torch: torch.compile keeps them whole, and they have
gradients.

Calling an operator that is defined in Python takes 20 us, so only calls that need it do.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _again, _flash, _flash_gradient, _gradient
from ._flash import Found, Packed, Words
from ._precision import products_of

_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)


def _is_operator(*tensors: Any) -> bool:
    """Whether a call must use the operator: for a trace, a dispatch mode such as FakeTensorMode, or a
    gradient."""
    wanted = (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
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


_calls = _again.Calls(256)
_again_plain = _again.module.again_plain if _again.module else None


def repeat(said: Any, q: Any, k: Any, v: Any, slopes: Any) -> Optional[Tensor]:
    """The result of a call like one that attend() has learned, or None. @said are the options as the
    caller wrote them."""
    if _again_plain is None or torch.compiler.is_compiling():
        return None
    o: Optional[Tensor] = _again_plain(_calls.known, said, q, k, v, None, slopes)
    return o


def _can_learn(said: Any, own: Tuple[Any, ...], given: Tuple[Any, ...], words: Words) -> bool:
    """Whether repeat() can handle such calls: plain tensors, none of which was copied or is empty."""
    return (
        said is not None
        and words.qv is None
        and _again.kinds(said) is not None
        and _again.knows(Tensor)
        and all(x is y and type(x) is Tensor and x.numel() > 0 for x, y in zip(own, given))
        and (words.slopes is None or type(words.slopes) is Tensor)
        and (words.slopes is None or _flash.slopes_of(words) is words.slopes)
    )


def _attend_and_learn(said: Any, q: Tensor, k: Tensor, v: Tensor, words: Words) -> Tensor:
    o, plan = _flash.compute_planned(q, k, v, words)
    arrays, maker = (q, k, v, None, words.slopes), _again.maker_of(q, o.shape, "same")
    products = products_of(q)  # again_plain() has torch's setting in its key
    _calls.learn(said, arrays, ("slopes",), plan, maker, None, keep=plan, products=products)
    return o


def attend(
    q: Any, k: Any, v: Any, words: Words, *, want_lse: bool, said: Optional[Tuple[Any, ...]] = None
) -> Found:
    """_flash.attend() of whole sequences. With @said, repeat() knows the call afterwards."""
    want_lse, own = bool(want_lse), (q, k, v)
    q, k, v = (_flash.tensor(name, x, 4) for name, x in zip("qkv", own))
    if not _is_operator(q, k, v, words.slopes, words.qv):
        if not want_lse and _can_learn(said, own, (q, k, v), words):
            return _attend_and_learn(said, q, k, v, words), None
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
