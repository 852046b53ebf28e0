"""Masks that are triangles or numbers, and the keys that they hide."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

from abstract import Tensor
from facts import Fill, Triangle

#: A logit of at most this value has no weight in a softmax with usual logits.
LOW = -1e4


def number_of(x: Any) -> Any:
    """Returns `x` if it is a number, or the value of all elements of a tensor; else None."""
    value = x.fact.value if isinstance(x, Tensor) and isinstance(x.fact, Fill) else x
    return value if isinstance(value, (int, float)) else None


def with_values(fact: Any, what: Callable[[Any], Any]) -> Any:
    """Returns a fill or a triangle with what() of its values; None if that is not defined."""
    try:
        if isinstance(fact, Fill):
            value = what(fact.value)
            return Fill(value) if isinstance(value, (int, float)) else None
        inside, outside = what(fact.inside), what(fact.outside)
    except (ArithmeticError, TypeError, ValueError):
        return None
    plain = isinstance(inside, (int, float)) and isinstance(outside, (int, float))
    return Triangle(fact.diagonal, fact.lower, inside, outside) if plain else None


def as_elements(fact: Any, dtype: str) -> Any:
    """Returns the fact of a fill or a triangle as elements of another type."""
    if fact is None or dtype in ("f16", "bf16", "f32", "f64"):
        return fact
    return with_values(fact, bool if dtype == "bool" else int if dtype in ("i32", "i64") else integral)


def integral(value: Any) -> Any:
    """Returns a value that every type has, or None."""
    return value if value in (0, 1) else None


def cut(x: Tensor, diagonal: int, lower: bool) -> Any:
    """Returns the fact of tril(x, diagonal), or triu()."""
    value = number_of(x)
    zero = False if isinstance(value, bool) else 0
    if value is None or len(x.shape) < 2:
        return None
    return Fill(value) if value == zero else Triangle(diagonal, lower, value, zero)


class Hiding:
    """The effect of a mask: the `diagonal` beyond which keys are hidden, None if all are visible, and the hidden
    `value`."""

    def __init__(self, diagonal: Optional[int], value: float = -math.inf) -> None:
        self.diagonal, self.value = diagonal, value


def hiding(mask: Tensor, shape: Any, hides: Callable[[Any], bool], shows: Callable[[Any], bool]) -> Optional[Hiding]:
    """Returns the effect of `mask` on logits of `shape`; None unless it hides a triangle of later keys."""
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
