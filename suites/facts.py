"""The meaning that a tensor's elements have to attention: its `fact` (abstract.py), one of these classes or None."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, List, Optional, Tuple


@dataclass
class Fill:
    """All elements are `value`."""

    value: Any


@dataclass
class Triangle:
    """Elements are `inside` where key - query <= diagonal if `lower`, else where key - query >= diagonal; `outside`
    elsewhere."""

    diagonal: int
    lower: bool
    inside: Any
    outside: Any


@dataclass
class Logits:
    """Products of queries and keys."""

    q: Any  # the tensors, as they were when they were multiplied
    k: Any  # keys in its last dimension
    nodes: Tuple[Any, Any]  # the expressions of both
    frame: Any  # the call that made it
    scale: float = 1.0
    hidden: Optional[int] = None  # keys beyond query + this are hidden; None: none are
    floor: float = 0.0  # the most that a hidden logit has, where the product is 0
    offset: float = 0.0  # number that was added to all
    shifted: bool = False  # another number was added to each row, which a softmax does not see
    rounded: bool = False  # to fewer bits than those of the queries
    changed: List[str] = field(default_factory=list)  # what else became of them, in words
    root: Any = field(default_factory=object)  # one for each product
    versions: Tuple[int, int] = (0, 0)  # of the elements of q and k when they were multiplied


@dataclass
class Exponent:
    """exp() of logits."""

    logits: Logits


@dataclass
class RowSum:
    """The sums of the rows of exp() of logits."""

    logits: Logits


@dataclass
class LogWeights:
    """Logits after a log_softmax along keys."""

    logits: Logits


@dataclass
class Weights:
    """Logits after a softmax, or what stands in its place."""

    logits: Logits
    by: str  # "softmax", "ReLU"


@dataclass
class Softened:
    """A softmax of something else than logits, or of logits along their queries, which are `along`."""

    of: str
    along: Optional[Logits] = None


@dataclass
class Lost:
    """Logits or weights that something was done to that is not followed."""

    words: str


OF_LOGITS = (Logits, Exponent, LogWeights, Weights)


def rank(fact: Any) -> int:
    """Of two operands the one with the higher rank decides what the result is."""
    return 3 if isinstance(fact, (*OF_LOGITS, Lost)) else 2 if isinstance(fact, Triangle) else 1 if fact else 0


def lost(fact: Any, words: str = "in another form") -> Any:
    """The fact of something that is made of a tensor with `fact` in a way that is not followed."""
    if isinstance(fact, OF_LOGITS):
        of = "weights" if isinstance(fact, Weights) else "products of two tensors"
        return Lost(f"{of} {words}")
    if isinstance(fact, Softened) and fact.along:
        return Lost(f"weights along queries {words}")
    return fact if isinstance(fact, Lost) else None


def changed(logits: Logits, words: str = "", **fields: Any) -> Logits:
    """Other logits of the same product."""
    made = replace(logits, changed=list(logits.changed), **fields)
    if words and words not in made.changed:
        made.changed.append(words)
    return made


def of_other(fact: Any, words: str = "") -> Any:
    """The fact of what an elementwise operation that is not followed makes of it."""
    if isinstance(fact, Logits):
        return changed(fact, words=f"its logits are changed{words}")
    if isinstance(fact, Weights):
        return Weights(changed(fact.logits, words=f"its weights are changed after the softmax{words}"), fact.by)
    return lost(fact, f"changed{words}")


def spoiled(fact: Any) -> Any:
    """The fact of a tensor whose elements were written to."""
    return fact if isinstance(fact, Softened) else of_other(fact, " in place")
