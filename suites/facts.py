"""Facts: the meaning of a tensor's elements for attention (abstract.py), one of these classes or None."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, List, Optional, Tuple


@dataclass
class Fill:
    """All elements are `value`."""

    value: Any


@dataclass
class Triangle:
    """Elements are `inside` where key - query <= diagonal if `lower`, else where key - query >= diagonal; elsewhere
    they are `outside`."""

    diagonal: int
    lower: bool
    inside: Any
    outside: Any


@dataclass
class Logits:
    """Products of queries and keys."""

    q: Any  # the tensors at the time of the product
    k: Any  # keys in its last dimension
    nodes: Tuple[Any, Any]  # their expressions
    frame: Any  # the call of the product
    scale: float = 1.0
    hidden: Optional[int] = None  # keys beyond query + this are hidden; None: no key is hidden
    floor: float = 0.0  # the maximum of hidden logits where the product is 0
    offset: float = 0.0  # number added to all logits
    shifted: bool = False  # a different number was added to each row, which has no effect on a softmax
    rounded: bool = False  # rounded to fewer bits than float32 or the queries have
    changed: List[str] = field(default_factory=list)  # other changes, in words
    root: Any = field(default_factory=object)  # a different value for each product
    versions: Tuple[int, int] = (0, 0)  # versions of the elements of q and k at the time of the product


@dataclass
class Exponent:
    """exp() of logits."""

    logits: Logits


@dataclass
class RowSum:
    """The row sums of exp() of logits."""

    logits: Logits


@dataclass
class LogWeights:
    """Logits after a log_softmax along keys."""

    logits: Logits


@dataclass
class Weights:
    """Logits after a softmax, or after a replacement for it."""

    logits: Logits
    by: str  # "softmax", "ReLU"


@dataclass
class Softened:
    """A softmax of something other than logits, or of logits along their queries, which are `along`."""

    of: str
    along: Optional[Logits] = None


@dataclass
class Lost:
    """Logits or weights after an unsupported operation."""

    words: str


class Products:
    """Products of the elements of two tensors."""


OF_LOGITS = (Logits, Exponent, LogWeights, Weights)


def rank(fact: Any) -> int:
    """Of two operands the one with the higher rank determines the result."""
    return 3 if isinstance(fact, (*OF_LOGITS, Lost)) else 2 if isinstance(fact, Triangle) else 1 if fact else 0


def lost(fact: Any, words: str = "in another form") -> Any:
    """Returns the fact of the result of an unsupported operation on a tensor with `fact`."""
    if isinstance(fact, OF_LOGITS):
        of = "weights" if isinstance(fact, Weights) else "products of two tensors"
        return Lost(f"{of} {words}")
    if isinstance(fact, Softened) and fact.along:
        return Lost(f"weights along queries {words}")
    return fact if isinstance(fact, Lost) else None


def changed(logits: Logits, words: str = "", **fields: Any) -> Logits:
    """Returns different logits of the same product."""
    made = replace(logits, changed=list(logits.changed), **fields)
    if words and words not in made.changed:
        made.changed.append(words)
    return made


def of_other(fact: Any, words: str = "") -> Any:
    """Returns the fact of the result of an unsupported elementwise operation."""
    if isinstance(fact, Logits):
        return changed(fact, words=f"its logits are changed{words}")
    if isinstance(fact, Weights):
        return Weights(changed(fact.logits, words=f"its weights are changed after the softmax{words}"), fact.by)
    return lost(fact, f"changed{words}")


def spoiled(fact: Any) -> Any:
    """Returns the fact of a tensor after a write to its elements."""
    return fact if isinstance(fact, Softened) else of_other(fact, " in place")
