"""torch.einsum() of two tensors, if it is a product of attention."""

from __future__ import annotations

from typing import Any, List

from abstract import CannotTell, Opaque, Tensor, fresh, permuted
from facts import Lost, lost, rank


def einsum(library: Any, args: List[Any], node: Any, scope: Any) -> Any:
    equation, tensors = args[0], args[1:]
    if not isinstance(equation, str) or len(tensors) != 2 or not all(isinstance(x, Tensor) for x in tensors):
        return sizes_alone(library, equation, tensors, node)
    equation = equation.replace(" ", "")
    terms, _, made = equation.partition("->")
    names = terms.split(",")
    if "." in equation or len(names) != 2 or any(len(n) != len(x.shape) for n, x in zip(names, tensors)):
        return Opaque("an einsum", node.lineno)
    a, b = names
    both = [c for c in a if c in b and c in made]
    summed = [c for c in a if c in b and c not in made]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    if len(rows) != 1 or len(columns) != 1 or len(summed) != 1:
        return sizes_alone(library, equation, tensors, node)
    left = ordered(tensors[0], a, both + rows + summed)
    right = ordered(tensors[1], b, both + summed + columns)
    x = library.attention.product(left, right, (None, None), node, scope)
    wanted = list(made)
    if not isinstance(x, Tensor) or sorted(wanted) != sorted(both + rows + columns):
        return x
    found = library.book.found
    if found and found[-1].rewrite and found[-1].rewrite.node is node:
        found[-1].rewrite.refusal = "it is written by einsum()"
    order = tuple((both + rows + columns).index(c) for c in wanted)
    return x if order == tuple(range(len(order))) else permuted(x, order)


def ordered(x: Tensor, names: str, wanted: List[str]) -> Tensor:
    order = tuple(names.index(c) for c in wanted)
    return x if order == tuple(range(len(order))) else permuted(x, order)


def sizes_alone(library: Any, equation: Any, tensors: List[Any], node: Any) -> Any:
    """Returns the shape of any other einsum."""
    for x in tensors:
        if not isinstance(x, Tensor):
            return x if isinstance(x, Opaque) else Opaque("an einsum", node.lineno)
    terms, arrow, made = str(equation).replace(" ", "").partition("->")
    if not arrow or "." in terms:
        return Opaque("an einsum", node.lineno)
    size = {}
    for names, x in zip(terms.split(","), tensors):
        if len(names) != len(x.shape):
            raise CannotTell(f"an einsum '{equation}' of {x.shape}", node.lineno)
        size.update(zip(names, x.shape))
    for x in tensors:
        library.attention.see(node.lineno, x)
    fact = next((lost(x.fact, "in an einsum") for x in tensors if rank(x.fact) == 3), None)
    summed = set(size) - set(made)
    if fact is None and len(tensors) == 2 and summed and all(len(x.shape) > 2 for x in tensors):
        fact = Lost("products of two tensors by an einsum of several rows or columns")
    return fresh(tuple(size[c] for c in made), "an einsum", tensors[0].dtype, fact)
