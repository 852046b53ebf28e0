"""Recognizes attention: a product of queries and keys, a softmax, and a product with values."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from abstract import (
    CannotTell,
    Opaque,
    Tensor,
    broadcast,
    copied,
    expanded,
    fresh,
    like,
    swapped,
    viewed,
)
from facts import (
    OF_LOGITS,
    Exponent,
    Fill,
    Logits,
    LogWeights,
    Lost,
    Softened,
    Triangle,
    Weights,
    changed,
    lost,
    of_other,
)
from masks import LOW, Hiding, hiding, is_low, is_zero, number_of, with_values

SCALE_SAME = 1e-6  # relative tolerance for a scale of 1/sqrt(d)
SCALE_MOST = 3e38  # of float32
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


@dataclass
class Found:
    """An attention that was found. Sizes are [batch, heads, sequence, dim]; strides of q, k and v are in that order."""

    batch: int
    heads_q: int
    heads_kv: int
    seq_q: int
    seq_k: int
    dim_qk: int
    dim_v: int
    dtype: str
    strides: Dict[str, Tuple[int, ...]]
    scale: Optional[float]
    causal: str  # "", "top-left" or "bottom-right", where the last query sees all keys
    unfit: List[str]
    how: str
    line: int
    notes: List[str] = field(default_factory=list)
    rewrite: Any = None
    given: Tuple[Tensor, ...] = ()  # queries, keys and values as they were given, ...
    made: Optional[Tensor] = None  # ... and the output, where it is not inside a module
    rounded: bool = False  # logits or weights are rounded to fewer bits than the queries have

    @property
    def operations(self) -> float:
        pairs = self.seq_q * self.seq_k * (0.5 if self.causal else 1.0)
        return 2.0 * self.batch * self.heads_q * pairs * (self.dim_qk + self.dim_v)

    def word(self) -> Any:
        """Returns the mask as an argument of heed.attention()."""
        return self.causal if self.causal and self.seq_q != self.seq_k else bool(self.causal)

    def spec(self, scale: Optional[float]) -> str:
        """Returns the words of the problem with a scale, None for the default."""
        words = [f"b{self.batch}", pair("h", self.heads_q, self.heads_kv), pair("s", self.seq_q, self.seq_k)]
        words += [pair("d", self.dim_qk, self.dim_v), self.dtype]
        if self.causal:
            aligned = "causal=tl" if self.causal == "top-left" else "causal=br"
            words.append("causal" if self.seq_q == self.seq_k else aligned)
        if scale is not None:
            words.append(f"scale={scale:.9g}")
        words += [f"{name}={s[0]}:{s[2]}:{s[1]}" for name, s in self.strides.items()]
        return " ".join(words)


def pair(word: str, first: int, second: int) -> str:
    return f"{word}{first}" if first == second else f"{word}{first}/{second}"


@dataclass
class Rewrite:
    """An expression that a call of heed can replace: kind "product", "sdpa" or "module"."""

    kind: str
    node: Any
    frame: Any
    parts: Tuple[Any, ...]  # of "product": the expressions of queries, keys as multiplied, values
    causal: Any  # False, True, or the alignment if the numbers of queries and keys differ
    scale: Optional[float]  # the scale of the product alone
    refusal: str = ""
    rank: int = 4  # of its tensors: [batch, heads, sequence, dim], or 3 without heads


@dataclass
class Notebook:
    """A record of what a task does, as far as it concerns attention."""

    found: List[Found] = field(default_factory=list)
    softmaxes: List[str] = field(default_factory=list)  # softmaxes of something else, in words
    stand_ins: List[str] = field(default_factory=list)  # weights from something other than a softmax
    outside: Optional[Tuple[str, int]] = None  # a model that the file only names, and the function that loads it
    opaque: List[Tuple[str, int]] = field(default_factory=list)  # steps that may hide attention
    handed: List[Tuple[str, int]] = field(default_factory=list)  # got a function of the file, and may call it
    products: Dict[Any, Tuple[str, float]] = field(default_factory=dict)  # logits not yet used in attention
    open: Dict[Any, Tuple[str, int]] = field(default_factory=dict)  # weights not yet multiplied by values
    plain: List[Any] = field(default_factory=list)  # calls and products that were not attention at least once
    work: Dict[str, List[float]] = field(default_factory=dict)  # kind: count, operations
    kept: int = 0  # number of times that forward() assigned to a member of an object
    init: Any = None  # the arguments of Model, ...
    inputs: Any = None  # ... those of its call, ...
    result: Any = None  # ... and its result

    def add_work(self, kind: str, operations: float) -> None:
        entry = self.work.setdefault(kind, [0, 0.0])
        entry[0] += 1
        entry[1] += operations

    def close(self, logits: Logits) -> None:
        """Records that the product, or a replacement for it, became attention."""
        self.products.pop(logits.root, None)
        self.open.pop(logits.root, None)

    def settle(self) -> None:
        """Counts products that did not become attention as other work."""
        for kind, operations in self.products.values():
            self.add_work(kind, operations)
        self.products = {}


def heads_first(x: Tensor) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Returns sizes and strides of [..., sequence, dim] as [batch, heads, sequence, dim]."""
    shape, strides = x.shape, x.strides
    if len(shape) == 2:
        return (1, 1, *shape), (0, 0, *strides)
    if len(shape) == 3:
        return (shape[0], 1, *shape[1:]), (strides[0], 0, *strides[1:])
    lead = shape[:-3]
    batch = math.prod(lead)
    step = strides[len(lead) - 1]
    for i in range(len(lead) - 1, 0, -1):
        if lead[i - 1] > 1 and strides[i - 1] != strides[i] * lead[i]:
            raise CannotTell(f"batches of {lead} that do not follow each other evenly")
    return (batch, *shape[-3:]), (step, *strides[-3:])


def together(q: Tensor, k: Tensor, v: Tensor, grouped: bool) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns all three with equal leading dimensions, except for the heads if `grouped`."""
    kept = 3 if grouped else 2
    lead: Tuple[int, ...] = ()
    for x in (q, k, v):
        lead = broadcast(lead, x.shape[:-kept])
    made = tuple(expanded(x, lead + x.shape[-kept:]) for x in (q, k, v))
    return made[0], made[1], made[2]


def kv_heads(q: Any, k: Any, v: Any) -> int:
    """Returns the number of key/value heads from sizes and strides: one if all query heads read the same memory."""
    one = all(sizes[1] > 1 and strides[1] == 0 for sizes, strides in (k, v))
    return 1 if one else int(k[0][1])


def describe(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: str, unfit: List[str], how: str, line: int,
    grouped: bool = False,
) -> Found:
    """Returns the problem of queries [..., s, d], keys [..., t, d] and values [..., t, e]. If `grouped`, several query
    heads share one key/value head."""
    given = (q, k, v)
    all_three = tuple(heads_first(x) for x in together(q, k, v, grouped))
    (qs, qt), (ks, kt), (vs, vt) = all_three
    unfit = list(unfit)
    if min(qs + ks + vs) < 1:
        unfit.append("a size is 0")
    if ks[1] != vs[1] or qs[1] % max(ks[1], 1):
        unfit.append(f"its heads are {qs[1]}, {ks[1]} and {vs[1]}")
    if {q.dtype, k.dtype, v.dtype} != {q.dtype} or q.dtype not in ("f32", "f16", "bf16"):
        unfit.append(f"its elements are {q.dtype}, {k.dtype} and {v.dtype}")
    notes = []
    strides = {}
    for name, sizes, own in (("q", qs, qt), ("k", ks, kt), ("v", vs, vt)):
        if own[3] != 1 and sizes[3] > 1:
            notes.append(f"{name} needs a copy: elements of a head vector are {own[3]} apart")
            own = (sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1)
        strides[name] = own[:3]
    factor = scale * q.factor * k.factor
    if not 0 < abs(factor) <= SCALE_MOST:
        unfit.append(f"its scale is {factor:g}")
    usual = 1.0 / math.sqrt(max(qs[3], 1))
    dims = (qs[0], qs[1], kv_heads(*all_three), qs[2], ks[2], qs[3], vs[3])
    strides["o"] = output_strides(strides["q"], (dims[0], dims[1], dims[3], dims[6]))
    own_scale = None if abs(factor - usual) <= SCALE_SAME * usual else factor
    return Found(*dims, q.dtype, strides, own_scale, causal, unfit, how, line, notes, given=given)


def output_strides(q: Tuple[int, ...], sizes: Tuple[int, ...]) -> Tuple[int, ...]:
    """Returns a dense O with dimensions in the order of Q's."""
    made, step = [0, 0, 0], sizes[3]
    order = sorted(range(3), key=lambda i: (q[i] if sizes[i] > 1 else -1, i != 2))
    for i in order:
        made[i] = step
        step *= sizes[i]
    return tuple(made)


class Attention:
    """Follows the steps from logits to attention. `book` is the notebook."""

    def __init__(self, book: Notebook) -> None:
        self.book = book

    def see(self, line: int, *tensors: Any) -> None:
        """Handles a product or a softmax of a value that was part of attention until it could not be followed."""
        for x in tensors:
            if isinstance(x, Tensor) and isinstance(x.fact, Lost):
                self.book.opaque.append((x.fact.words, line))

    def product(self, a: Any, b: Any, nodes: Tuple[Any, Any], node: Any, scope: Any) -> Any:
        """a @ b."""
        line = getattr(node, "lineno", 0)
        for x in (a, b):
            if isinstance(x, Opaque):
                self.book.opaque.append((f"a product with {x.why}", x.line or line))
                return x
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or min(len(a.shape), len(b.shape)) < 1:
            return Opaque("a product", line)
        if min(len(a.shape), len(b.shape)) == 1:
            return self.vector_product(a, b, line)
        if a.shape[-1] != b.shape[-2]:
            raise CannotTell(f"a product of {a.shape} and {b.shape}", line)
        lead = broadcast(a.shape[:-2], b.shape[:-2])
        shape = lead + (a.shape[-2], b.shape[-1])
        if isinstance(a.fact, Weights):
            return self.close(a, b, shape, nodes, node, scope)
        self.book.plain.append(node)
        for x in (a, b):  # no softmax is handled here: that of logits along keys is handled elsewhere
            forms = (Exponent, LogWeights) if x is a else (Exponent, LogWeights, Weights)
            self.see(line, like(x, fact=lost(x.fact)) if isinstance(x.fact, forms) else x)
        operations = 2.0 * math.prod(shape) * a.shape[-1]
        if b.learned or a.learned and len(a.shape) == 2:
            self.book.add_work("linear map", operations)
            return fresh(shape, "a linear map", a.dtype)
        if isinstance(b.fact, OF_LOGITS):
            self.book.add_work("product", operations)
            return fresh(shape, "a product", a.dtype)
        frame, versions = scope.frame if scope else None, (a.storage.version, b.storage.version)
        logits = Logits(like(a, fact=a.fact), like(b, fact=b.fact), nodes, frame, versions=versions)
        logits.rounded = BITS.get(a.dtype, 0) < BITS["f32"]  # products are stored in the type of the queries
        self.book.products[logits.root] = ("linear map" if len(b.shape) == 2 else "product", operations)
        return fresh(shape, "a product of two tensors", a.dtype, logits)

    def vector_product(self, a: Tensor, b: Tensor, line: int) -> Tensor:
        self.see(line, a, b)
        if len(a.shape) == 1 and len(b.shape) == 1:
            return fresh((), "a product", a.dtype)
        return fresh(a.shape[:-1] if len(b.shape) == 1 else b.shape[:-2] + b.shape[-1:], "a product", a.dtype)

    def close(self, a: Tensor, v: Tensor, shape: Any, nodes: Any, node: Any, scope: Any) -> Any:
        """Weights times values."""
        weights: Weights = a.fact
        logits = weights.logits
        line = getattr(node, "lineno", 0)
        self.book.close(logits)
        if weights.by != "softmax":
            self.book.stand_ins.append(f"line {line}: {weights.by} stands where a softmax would")
            self.book.plain.append(node)
            return fresh(shape, "a product", v.dtype)
        causal, faults = aligned(logits.hidden, a.shape[-2], a.shape[-1])
        unfit = list(logits.changed) + faults + mask_faults(logits)
        lead = broadcast(logits.q.shape[:-2], logits.k.shape[:-2])
        regrouped = a.shape[:-2] != lead
        if regrouped and math.prod(a.shape[:-2]) != math.prod(lead):
            raise CannotTell(f"weights of {a.shape} made of products of {lead}", line)
        own = viewed(expanded(v, a.shape[:-2] + v.shape[-2:]), lead + v.shape[-2:], True) if regrouped else v
        found = describe(logits.q, swapped(logits.k), own, logits.scale, causal, unfit, "written out", line)
        found.rounded = logits.rounded
        found.rewrite = Rewrite("product", node, logits.frame, (*logits.nodes, nodes[1]), found.word(), logits.scale)
        found.rewrite.refusal = self.refusal_of(logits, regrouped, nodes, node, scope)
        take_form(found.rewrite, *found.given)
        found.made = fresh(shape, "attention", v.dtype)
        self.book.found.append(found)
        return found.made

    @staticmethod
    def refusal_of(logits: Logits, regrouped: bool, nodes: Any, node: Any, scope: Any) -> str:
        """Returns why one call cannot replace the product of these logits and values, or ""."""
        if scope is None or scope.frame is not logits.frame or nodes[1] is None:
            return "its products stand in two functions"
        if None in logits.nodes:
            return "its products are transposed"
        if isinstance(node, ast.AugAssign) or any(word.arg == "out" for word in getattr(node, "keywords", ())):
            return "its second product is written to a tensor that is there already"
        if logits.versions != (logits.q.storage.version, logits.k.storage.version):
            return "its queries or keys are written to between the products"
        return "batches and heads are grouped in another way in its second product" if regrouped else ""

    def scaled(self, x: Tensor, by: float) -> Tensor:
        """x * by."""
        if not isinstance(x.fact, Logits):
            fact = of_other(x.fact) if x.fact is not None else None
            return copied(x, fact=fact, factor=x.factor * by, learned=False)
        of = x.fact
        words = "" if 0 < abs(by) < math.inf else f"its logits are multiplied by {by:g}"
        floor = of.floor * by if of.hidden is not None else 0.0
        made = changed(of, words, scale=of.scale * by, floor=floor, offset=of.offset * by)
        return copied(x, fact=made, learned=False)

    def added(self, x: Tensor, y: Any, sign: int = 1) -> Any:
        """Returns the fact of logits + y, or - y; `y` is a tensor or a number."""
        logits: Logits = x.fact
        number = number_of(y)
        if number is not None and math.isfinite(number):
            return changed(logits, offset=logits.offset + sign * number)
        if isinstance(y, Tensor) and not isinstance(y.fact, (Fill, Triangle, Lost)) and y.shape[-1:] in ((), (1,)):
            return changed(logits, shifted=True)  # the same for all logits of a row: no effect on a softmax
        if isinstance(y, Tensor) and isinstance(y.fact, Triangle):
            mask = like(y, fact=with_values(y.fact, lambda value: sign * value))
            found = hiding(mask, x.shape, is_low, is_zero) if mask.fact else None
            if found is not None:
                return hidden(logits, found)
        kind = "a learned bias" if getattr(y, "learned", False) else "a bias or a mask that is a tensor"
        return changed(logits, words=f"its logits have {kind}")

    def masked(self, x: Tensor, mask: Any, value: Any) -> Any:
        """Returns the fact of logits.masked_fill(mask, value)."""
        logits: Logits = x.fact
        number = number_of(value)
        found = None
        if isinstance(mask, Tensor) and number is not None and (not logits.shifted or number == -math.inf):
            found = hiding(mask, x.shape, lambda v: v is True, lambda v: v is False)
        if found is None or number is None:
            return changed(logits, words="its mask is a tensor whose pattern is not known")
        return hidden(logits, Hiding(found.diagonal, number - logits.offset))

    def cast(self, x: Tensor, dtype: str) -> Any:
        """Returns the fact of logits or weights in another type."""
        fact = x.fact
        if dtype not in BITS:
            return lost(fact, f"as {dtype}")
        if isinstance(fact, OF_LOGITS) and BITS[dtype] < BITS.get(fact_logits(fact).q.dtype, 0):
            rounded = changed(fact_logits(fact), rounded=True)
            if isinstance(fact, Logits):
                return rounded
            return Weights(rounded, fact.by) if isinstance(fact, Weights) else lost(fact, f"as {dtype}")
        return fact

    def softmax(self, x: Any, dim: Any, line: int) -> Any:
        if isinstance(x, Opaque) or not isinstance(x, Tensor):
            self.book.opaque.append((f"a softmax of {getattr(x, 'why', 'a value')}", getattr(x, "line", 0) or line))
            return Opaque("a softmax", line)
        if not isinstance(dim, int):
            self.book.opaque.append(("a softmax along a dimension that is not known", line))
            return Opaque("a softmax", line)
        self.see(line, x)
        last, along = dim in (-1, len(x.shape) - 1), None
        if isinstance(x.fact, Logits) and last:
            return self.weights(x, x.fact, line)
        if isinstance(x.fact, Logits):
            self.book.softmaxes.append(f"line {line}: a softmax of products along dimension {dim}, not along keys")
            along = x.fact if dim in (-2, len(x.shape) - 2) else None
        else:
            other = f"the output of {x.origin}, not of products of queries and keys"
            self.book.softmaxes.append(f"line {line}: a softmax of {other}")
        return Tensor(x.shape, x.dtype, (), Softened(x.origin, along), origin="a softmax")

    def weights(self, x: Tensor, logits: Logits, line: int) -> Tensor:
        """Returns x, a softmax of `logits`."""
        self.book.open[logits.root] = ("a softmax of products of two tensors", line)
        return Tensor(x.shape, x.dtype, (), Weights(logits, "softmax"), origin="a softmax")

    def stand_in(self, x: Tensor, by: str) -> Any:
        """Returns the fact of logits after a function other than a softmax."""
        return Weights(x.fact, by) if isinstance(x.fact, Logits) else of_other(x.fact, f" by {by}")


def fact_logits(fact: Any) -> Logits:
    return fact if isinstance(fact, Logits) else fact.logits


def hidden(logits: Logits, by: Hiding) -> Logits:
    """Returns logits with an additional mask."""
    if by.diagonal is None:
        return logits
    if logits.hidden is None:
        return changed(logits, hidden=by.diagonal, floor=by.value)
    return changed(logits, hidden=min(logits.hidden, by.diagonal), floor=max(logits.floor, by.value))


def take_form(made: Rewrite, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Calls take tensors [batch, heads, sequence, dim], or all three without heads."""
    shapes = [x.shape for x in (q, k, v)]
    made.rank = len(shapes[0])
    alike = {len(s) for s in shapes} <= {made.rank} and len({s[0] for s in shapes}) == 1
    heads = made.rank == 3 or made.rank == 4 and shapes[1][1] == shapes[2][1] and shapes[0][1] % shapes[1][1] == 0
    if not (alike and heads):
        words = ", ".join(str(list(s)) for s in shapes)
        made.refusal = made.refusal or f"its tensors of {words} are not three of [batch, heads, sequence, dim]"


def aligned(diagonal: Optional[int], queries: int, keys: int) -> Tuple[str, List[str]]:
    """Finds the causal mask that hides keys beyond query + diagonal, or why heed does not support it."""
    if diagonal is None or diagonal >= keys - 1:
        return "", []
    if diagonal == 0:
        return "top-left", []
    if diagonal == keys - queries and diagonal > 0:
        return "bottom-right", []
    return "", [f"its mask is a triangle off the diagonal by {diagonal}"]


def mask_faults(logits: Logits) -> List[str]:
    if logits.hidden is None or logits.floor <= LOW:
        return []
    return [f"its mask leaves hidden logits at {logits.floor:g}, which does not hide them; {LOW:g} would"]
