"""Abstract values of a task that is interpreted but never run: tensors with shapes, strides and facts, without
elements.

The `fact` of a tensor is the meaning of its elements for attention (facts.py). Views of the same elements share a
Storage, so that a write to one of them affects all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Optional, Tuple

from facts import Fill, Logits, Lost, Softened, Triangle, Weights, changed, lost, spoiled

Shape = Tuple[int, ...]

ELEMENTS_MAX = 1 << 46  # heed's limit for a tensor


class CannotTell(Exception):
    """The task does something that this reader does not support, in `line`, or 0 if that is unknown."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


class Opaque:
    """An unknown value, with the reason. It may be a view of the tensors `of`."""

    def __init__(self, why: str, line: int = 0, of: Any = ()) -> None:
        self.why = why
        self.line = line
        self.of = tuple(of)


class Storage:
    """The elements of a tensor, shared by its views. `version` counts the writes."""

    def __init__(self) -> None:
        self.version = 0
        self.views: List["Tensor"] = []


@dataclass(eq=False)
class Tensor:
    shape: Shape
    dtype: str = "f32"
    strides: Shape = ()
    fact: Any = None
    learned: bool = False  # an unchanged parameter
    factor: float = 1.0  # by which queries were multiplied before the product
    origin: str = "an input"
    storage: Storage = field(default_factory=Storage)

    def __post_init__(self) -> None:
        self.storage.views.append(self)
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


def like(x: Tensor, **changes: Any) -> Tensor:
    """A view of the same elements: learned, factor and origin stay; logits and weights are lost without a fact."""
    kept = {"dtype": x.dtype, "learned": x.learned, "factor": x.factor, "origin": x.origin, "storage": x.storage}
    kept.update(shape=x.shape, strides=x.strides, fact=lost(x.fact))
    return Tensor(**{**kept, **changes})


def copied(x: Tensor, **changes: Any) -> Tensor:
    """Like like(), with new elements."""
    return like(x, **{"fact": x.fact, "storage": Storage(), **changes})


def same_view(x: Tensor, y: Tensor) -> bool:
    """Returns whether both have the same elements in the same order."""
    steps = [[t for s, t in zip(z.shape, z.strides) if s != 1] for z in (x, y)]
    return x.storage is y.storage and x.shape == y.shape and x.dtype == y.dtype and steps[0] == steps[1]


def write(x: Tensor, made: Tensor) -> None:
    """Makes x equal to `made`, in place; other views of its elements lose their facts."""
    fact = made.fact
    for view in x.storage.views:
        view.fact = spoiled(view.fact)
    x.storage.version += 1
    x.fact, x.factor = fact, made.factor
    if made.shape != x.shape or made.storage is x.storage:
        x.shape, x.strides = made.shape, made.strides


def spoil(*values: Any) -> None:
    """Handles writes of unknown values to these."""
    for x in values:
        if isinstance(x, Tensor):
            write(x, like(x, fact=spoiled(x.fact), storage=Storage()))
        elif isinstance(x, (list, tuple)):
            spoil(*x)
        elif isinstance(x, Opaque):
            spoil(*x.of)


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
    """Returns the fact of a tensor with permuted dimensions: a triangle may be mirrored."""
    last, fact = len(order) - 1, x.fact
    if order[:-2] == tuple(range(last - 1)) and order[-2:] == (last, last - 1):
        if isinstance(fact, Triangle):
            return Triangle(-fact.diagonal, not fact.lower, fact.inside, fact.outside)
        if isinstance(fact, Logits) and fact.hidden is None:
            return transposed(fact)
        if isinstance(fact, Softened) and fact.along is not None and fact.along.hidden is None:
            return Weights(transposed(fact.along), "softmax")
    if isinstance(fact, Softened) and fact.along is not None:
        return Lost("a softmax along queries with its dimensions in another order")
    return lost(fact, "with their dimensions in another order")


def swapped(x: Tensor) -> Tensor:
    """Returns x with its last two dimensions swapped."""
    return like(x, shape=x.shape[:-2] + x.shape[:-3:-1], strides=x.strides[:-2] + x.strides[:-3:-1])


def transposed(logits: Logits) -> Logits:
    return changed(logits, q=swapped(logits.k), k=swapped(logits.q), nodes=(None, None))


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
    made = tuple(wanted)
    fact = x.fact if same_matrix(x.shape, made) or isinstance(x.fact, Fill) else regrouped(x, made)
    strides = split_strides(x, made)
    if strides is None and not copy:
        raise CannotTell(f"a view of strides {x.strides} as {made}")
    if strides is None:
        return copied(x, shape=made, strides=dense(made), fact=fact)
    return like(x, shape=made, strides=strides, fact=fact)


def same_matrix(a: Shape, b: Shape) -> bool:
    """Returns whether the shapes differ only by dimensions of size 1 before the last two."""
    return tuple(s for s in a if s != 1) == tuple(s for s in b if s != 1) and a[-2:] == b[-2:]


def regrouped(x: Tensor, shape: Shape) -> Any:
    """Logits whose leading dimensions were split or merged are still logits."""
    whole = len(shape) >= 2 and len(x.shape) >= 2 and shape[-2:] == x.shape[-2:]
    return x.fact if whole and not isinstance(x.fact, Triangle) else lost(x.fact, "in another shape")


def split_strides(x: Tensor, shape: Shape) -> Optional[Shape]:
    """Returns the strides of a view, by splitting runs of contiguous dimensions; None if it needs a copy."""
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
    return x if same else copied(x, strides=dense(x.shape))


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
    if tuple(shape) == x.shape:
        return x
    kept = isinstance(x.fact, Fill) or tuple(shape[-2:]) == x.shape[-2:]
    return like(x, shape=tuple(shape), strides=tuple(strides), fact=x.fact if kept else lost(x.fact, "expanded"))


def broadcast(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    shape = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if x != y and 1 not in (x, y):
            raise CannotTell(f"shapes {a} and {b} together")
        shape.append(y if x == 1 else x)
    return tuple(shape)
