"""Empty tensors: heed has no empty problems, so that their results are made here, but they must fit
together like others."""

from __future__ import annotations

from typing import Optional, Tuple

from torch import Tensor

from ._arrays import refuse_dtype
from ._errors import InvalidError, refuse_other
from ._fields import require, require_divisor
from ._types import DTYPES, TYPES

Names = Tuple[str, str, str]


def _type_of(name: str, x: Tensor) -> str:
    found = DTYPES.get(str(x.dtype)[len("torch.") :])
    if found not in TYPES:
        raise refuse_dtype(name, x.dtype)
    return str(found)


def require_fit(
    q: Tensor, k: Tensor, v: Tensor, names: Names = ("q", "k", "v"), *, batches: bool = True
) -> None:
    """Raise unless tensors of (batch, sequence, heads, head dim), sizes of which may be 0, fit
    together. @batches: whether the batches of q and k must be equal, which pools of pages lack."""
    own = _type_of(names[0], q)
    for name, x in zip(names[1:], (k, v)):
        if _type_of(name, x) != own:
            raise refuse_other(name, _type_of(name, x), names[0], own)
        if x.device != q.device:
            raise InvalidError(f"{name}: it is on {x.device}, {names[0]} on {q.device}; move one")
    for i in (0, 3) if batches else (3,):
        require(names[1], k.shape, i, q.shape[i], names[0])
    for i in range(3):
        require(names[2], v.shape, i, k.shape[i], names[1])
    heads, shared = q.shape[2], k.shape[2]
    require_divisor(names[1], shared, names[0], heads)


def require_broadcast(name: str, x: Optional[Tensor], wanted: Tuple[int, ...]) -> None:
    """Raise unless the tensor broadcasts to the sizes, if there is one."""
    if x is None:
        return
    rest = wanted[len(wanted) - x.dim() :] if x.dim() <= len(wanted) else None
    if rest is None or any(own not in (1, size) for own, size in zip(x.shape, rest)):
        raise InvalidError(
            f"{name}: shape is {tuple(x.shape)}, which does not broadcast to {tuple(wanted)}; pass one "
            "that does"
        )
