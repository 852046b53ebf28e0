"""Values of a task that is read and never run: tensors that are shapes, strides and what is known of them.

A tensor has no elements. `fact` says what its elements mean to attention: one of the classes below, or None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Optional, Tuple

Shape = Tuple[int, ...]

ELEMENTS_MAX = 1 << 46  # of a tensor, as heed has it


class CannotTell(Exception):
    """The task does something that this reader does not follow; `line` is where, 0 where that is not known."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


class Opaque:
    """A value of which nothing is known, and why."""

    def __init__(self, why: str, line: int = 0) -> None:
        self.why = why
        self.line = line


@dataclass
class Fill:
    """All elements are `value`."""

    value: Any


@dataclass
class Triangle:
    """Elements are `inside` where (key - query <= diagonal) is `lower`, and `outside` elsewhere."""

    diagonal: int
    lower: bool
    inside: Any
    outside: Any


@dataclass
class Logits:
    """Products of queries and keys."""

    q: "Tensor"
    k: "Tensor"  # as it was multiplied, keys in its last dimension
    nodes: Tuple[Any, Any]  # the expressions of both
    frame: Any  # the call that made it
    scale: float = 1.0
    hidden: Optional[int] = None  # keys beyond query + this are hidden; None: none are
    changed: List[str] = field(default_factory=list)  # what else became of them, in words
    bias: bool = False


@dataclass
class Weights:
    """Logits after a softmax, or what stands in its place."""

    logits: Logits
    by: str  # "softmax", "relu"


@dataclass
class Softened:
    """A softmax of something else than logits."""

    of: str


@dataclass
class Tensor:
    shape: Shape
    dtype: str = "f32"
    strides: Shape = ()
    fact: Any = None
    learned: bool = False  # a parameter, as it is
    factor: float = 1.0  # by which queries were multiplied ahead of the product
    origin: str = "an input"

    def __post_init__(self) -> None:
        if not self.strides:
            self.strides = dense(self.shape)
        count = 1
        for size in self.shape:
            count *= size
        if count > ELEMENTS_MAX or min(self.shape, default=0) < 0:
            raise CannotTell(f"a tensor of {count} elements; at most {ELEMENTS_MAX} can be")


def dense(shape: Shape) -> Shape:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def count(shape: Shape) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def like(x: Tensor, **changed: Any) -> Tensor:
    """The same tensor seen in another way: learned, factor and origin stay."""
    kept = {"dtype": x.dtype, "learned": x.learned, "factor": x.factor, "origin": x.origin}
    return Tensor(**{"shape": x.shape, "strides": x.strides, **kept, **changed})


def fresh(shape: Shape, origin: str, dtype: str = "f32", fact: Any = None) -> Tensor:
    return Tensor(tuple(shape), dtype, (), fact, origin=origin)


def axis(x: Tensor, dim: int, more: int = 0) -> int:
    rank = len(x.shape) + more
    if not isinstance(dim, int) or not -rank <= dim < rank:
        raise CannotTell(f"dimension {dim} of a tensor of {rank}")
    return dim % rank


def permuted(x: Tensor, order: Tuple[int, ...]) -> Tensor:
    order = tuple(axis(x, d) for d in order)
    if sorted(order) != list(range(len(x.shape))):
        raise CannotTell(f"a permutation by {order}")
    fact = x.fact if isinstance(x.fact, Fill) or order == tuple(range(len(order))) else turned(x, order)
    return like(x, shape=tuple(x.shape[d] for d in order), strides=tuple(x.strides[d] for d in order), fact=fact)


def turned(x: Tensor, order: Tuple[int, ...]) -> Any:
    """The fact of a tensor whose dimensions were put in another order: a triangle may be mirrored."""
    last = len(order) - 1
    if isinstance(x.fact, Triangle) and order[:-2] == tuple(range(last - 1)) and order[-2:] == (last, last - 1):
        t = x.fact
        return Triangle(-t.diagonal - 1, not t.lower, t.inside, t.outside)
    if isinstance(x.fact, (Logits, Weights)):
        return Softened("weights with other dimensions")
    return None


def viewed(x: Tensor, shape: Tuple[int, ...], copy: bool = False) -> Tensor:
    """x.view(shape), or reshape() where `copy`."""
    wanted = list(shape)
    if wanted.count(-1) > 1 or not all(isinstance(s, int) for s in wanted):
        raise CannotTell(f"a view of shape {tuple(shape)}")
    if -1 in wanted:
        rest = count(tuple(s for s in wanted if s != -1))
        if rest == 0 or count(x.shape) % rest:
            raise CannotTell(f"a view of {x.shape} as {tuple(shape)}")
        wanted[wanted.index(-1)] = count(x.shape) // rest
    if count(tuple(wanted)) != count(x.shape):
        raise CannotTell(f"a view of {x.shape} as {tuple(wanted)}")
    fact = x.fact if same_matrix(x.shape, tuple(wanted)) else (x.fact if isinstance(x.fact, Fill) else None)
    if fact is None and isinstance(x.fact, (Logits, Weights)):
        fact = regrouped(x, tuple(wanted))
    strides = split_strides(x, tuple(wanted))
    if strides is None and not copy:
        raise CannotTell(f"a view of strides {x.strides} as {tuple(wanted)}")
    return like(x, shape=tuple(wanted), strides=strides or dense(tuple(wanted)), fact=fact)


def same_matrix(a: Shape, b: Shape) -> bool:
    """Do only dimensions of size 1 ahead of the last two differ?"""
    return tuple(s for s in a if s != 1) == tuple(s for s in b if s != 1) and a[-2:] == b[-2:]


def regrouped(x: Tensor, shape: Shape) -> Any:
    """Logits whose leading dimensions were cut otherwise are still logits."""
    return x.fact if len(shape) >= 2 and shape[-2:] == x.shape[-2:] else Softened("logits in another shape")


def split_strides(x: Tensor, shape: Shape) -> Optional[Shape]:
    """The strides of a view, by cutting runs of dimensions that follow each other densely; None if it needs a copy."""
    if count(shape) == 0:
        return dense(shape)
    strides: List[int] = [0] * len(shape)
    new = len(shape) - 1
    chunk, base = 1, None
    sizes = [(s, t) for s, t in zip(x.shape, x.strides) if s != 1]
    for i in range(len(sizes) - 1, -1, -1):
        size, stride = sizes[i]
        base = stride if base is None else base
        chunk *= size
        if i > 0 and sizes[i - 1][1] == size * stride:
            continue
        done = 1
        while new >= 0 and (done < chunk or shape[new] == 1):
            if done * shape[new] > chunk or chunk % (done * shape[new]):
                return None
            strides[new] = done * base
            done *= shape[new]
            new -= 1
        if done != chunk:
            return None
        chunk, base = 1, None
    while new >= 0:
        if shape[new] != 1:
            return None
        strides[new] = strides[new + 1] * shape[new + 1] if new + 1 < len(shape) else 1
        new -= 1
    return tuple(strides)


def contiguous(x: Tensor) -> Tensor:
    same = all(s == 1 or t == d for s, t, d in zip(x.shape, x.strides, dense(x.shape)))
    return x if same else like(x, strides=dense(x.shape), fact=x.fact)


def expanded(x: Tensor, sizes: Tuple[int, ...]) -> Tensor:
    lead = len(sizes) - len(x.shape)
    if lead < 0:
        raise CannotTell(f"a tensor of {x.shape} expanded to {sizes}")
    shape, strides = list(sizes), [0] * len(sizes)
    for i, (size, stride) in enumerate(zip(x.shape, x.strides)):
        wanted = sizes[lead + i]
        if wanted not in (-1, size) and size != 1:
            raise CannotTell(f"a tensor of {x.shape} expanded to {sizes}")
        shape[lead + i] = size if wanted == -1 else wanted
        strides[lead + i] = stride if shape[lead + i] == size else 0
    return like(x, shape=tuple(shape), strides=tuple(strides), fact=x.fact)


def broadcast(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    shape = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if x != y and 1 not in (x, y):
            raise CannotTell(f"shapes {a} and {b} together")
        shape.append(y if x == 1 else x)
    return tuple(shape)
