"""FlashAttention-3's qv: logits q k^T + qv v^T, computed as one product of longer vectors.

This is multi-head latent attention with its projections absorbed: k is the rotated part of the
keys, v the latent vectors, which are both keys and values. The keys are v's vectors followed by k's,
and the values are the first part of them. If a cache holds both in one tensor, nothing is copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from ._errors import ArgumentTypeError, InvalidError, UnsupportedError, type_error

DIM_MAX = 1024


class Operands(NamedTuple):
    """q, k and v for heed.attention(); if v is None, it is the first dim_v elements of k."""

    q: Tensor
    k: Tensor
    v: Optional[Tensor]
    dim_v: Optional[int]


def _neighbours(first: Tensor, second: Tensor) -> Optional[Tensor]:
    """A view of both as longer vectors, if each vector of the second follows that of the first."""
    if first.stride() != second.stride() or first.dtype != second.dtype or not first.numel():
        return None
    if first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr():
        return None
    if first.data_ptr() + first.shape[-1] * first.element_size() != second.data_ptr():
        return None
    dim = first.shape[-1] + second.shape[-1]
    return first.as_strided((*first.shape[:-1], dim), first.stride())


def check(q: Tensor, qv: Any, v: Tensor) -> None:
    """Raise unless qv fits q and v."""
    if not isinstance(qv, Tensor):
        raise type_error("qv", qv, "a torch.Tensor", "pass one, or None")
    wanted = (*q.shape[:-1], v.shape[-1])
    if qv.shape != wanted:
        raise InvalidError(f"qv: shape is {tuple(qv.shape)}; it must be {wanted}, with v's head dim")
    if qv.dtype != q.dtype:
        raise ArgumentTypeError(f"qv: dtype is {qv.dtype}, that of q {q.dtype}; convert it")
    dim = q.shape[-1] + qv.shape[-1]
    if dim > DIM_MAX:
        raise UnsupportedError(f"qv: head dims of q and qv are {dim} together; the limit is {DIM_MAX}")


def join(q: Tensor, qv: Optional[Tensor], k: Tensor, v: Tensor) -> Operands:
    """The operands of attention with longer vectors; without qv, those that were given."""
    if qv is None:
        return Operands(q, k, v, None)
    check(q, qv, v)
    for name, x in (("k", k), ("v", v)):
        if x.dtype != q.dtype or x.device != q.device:
            raise ArgumentTypeError(
                f"{name}: dtype is {x.dtype} on {x.device}, that of q {q.dtype} on {q.device}; convert it"
            )
    if k.shape[:-1] != v.shape[:-1]:
        raise InvalidError(
            f"v: shape is {tuple(v.shape)}, that of k {tuple(k.shape)}; all but head dims must be equal"
        )
    both = _neighbours(k, v)
    if both is not None:
        return Operands(torch.cat((q, qv), -1), both, v, None)
    both = _neighbours(v, k)
    if both is None:
        both = torch.cat((v, k), -1)
    return Operands(torch.cat((qv, q), -1), both, None, v.shape[-1])
