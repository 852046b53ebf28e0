"""Masks that are triangles, and numbers: which keys they hide."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

from abstract import Tensor
from facts import Fill, Triangle

#: Beside the others, a logit of at most this much has no weight.
LOW = -1e4


def number_of(x: Any) -> Any:
    """The number that `x` is, or that all elements of the tensor are; None if it is neither."""
    value = x.fact.value if isinstance(x, Tensor) and isinstance(x.fact, Fill) else x
    return value if isinstance(value, (int, float)) else None


def with_values(fact: Any, what: Callable[[Any], Any]) -> Any:
    """A fill or a triangle with what() of its values; None if that is not defined."""
    try:
        if isinstance(fact, Fill):
            value = what(fact.value)
            return Fill(value) if isinstance(value, (int, float)) else None
        inside, outside = what(fact.inside), what(fact.outside)
    except (ArithmeticError, TypeError, ValueError):
        return None
    plain = isinstance(inside, (int, float)) and isinstance(outside, (int, float))
    return Triangle(fact.diagonal, fact.lower, inside, outside) if plain else None


def cut(x: Tensor, diagonal: int, lower: bool) -> Any:
    """The fact of tril(x, diagonal), or triu()."""
    value = number_of(x)
    zero = False if isinstance(value, bool) else 0
    if value is None or len(x.shape) < 2:
        return None
    return Fill(value) if value == zero else Triangle(diagonal, lower, value, zero)


class Hiding:
    """The effect of a mask: `diagonal` beyond which keys are hidden, None where all are seen; `value` of those."""

    def __init__(self, diagonal: Optional[int], value: float = -math.inf) -> None:
        self.diagonal, self.value = diagonal, value


def hiding(mask: Tensor, shape: Any, hides: Callable[[Any], bool], shows: Callable[[Any], bool]) -> Optional[Hiding]:
    """The effect of `mask` on logits of `shape`; None unless it hides a triangle of later keys."""
    t = mask.fact
    if isinstance(t, Fill) and shows(t.value):
        return Hiding(None)
    if not isinstance(t, Triangle) or tuple(mask.shape[-2:]) != tuple(shape[-2:]):
        return None
    if t.lower and hides(t.outside) and shows(t.inside):
        return Hiding(t.diagonal, t.outside)
    if not t.lower and hides(t.inside) and shows(t.outside):
        return Hiding(t.diagonal - 1, t.inside)
    return None


def is_low(value: Any) -> bool:
    return not isinstance(value, bool) and value <= LOW


def is_zero(value: Any) -> bool:
    return not isinstance(value, bool) and value == 0
