"""The chain that is attention: a product of queries and keys, a softmax, a product with values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from abstract import CannotTell, Logits, Opaque, Softened, Tensor, Triangle, Weights, broadcast, fresh

SCALE_SAME = 1e-6  # relative: a scale is that of 1/sqrt(d)


@dataclass
class Found:
    """An attention. Sizes are [batch, heads, sequence, dim]; strides of q, k and v in that order."""

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
    causal: bool
    unfit: List[str]
    how: str
    line: int
    notes: List[str] = field(default_factory=list)
    rewrite: Any = None

    @property
    def operations(self) -> float:
        pairs = self.seq_q * self.seq_k * (0.5 if self.causal else 1.0)
        return 2.0 * self.batch * self.heads_q * pairs * (self.dim_qk + self.dim_v)

    def spec(self) -> str:
        words = [f"b{self.batch}", pair("h", self.heads_q, self.heads_kv), pair("s", self.seq_q, self.seq_k)]
        words += [pair("d", self.dim_qk, self.dim_v), self.dtype]
        if self.causal:
            words.append("causal" if self.seq_q == self.seq_k else "causal=tl")
        if self.scale is not None:
            words.append(f"scale={self.scale:.9g}")
        words += [f"{name}={s[0]}:{s[2]}:{s[1]}" for name, s in self.strides.items()]
        return " ".join(words)


def pair(word: str, first: int, second: int) -> str:
    return f"{word}{first}" if first == second else f"{word}{first}/{second}"


@dataclass
class Rewrite:
    """An expression that one call of heed can stand for: kind "product", "sdpa" or "module"."""

    kind: str
    node: Any
    frame: Any
    parts: Tuple[Any, ...]  # of "product": the expressions of queries, keys as multiplied, values
    causal: bool
    scale: Optional[float]  # that of the product alone
    refusal: str = ""


@dataclass
class Notebook:
    """All that a task was seen to do that matters here."""

    found: List[Found] = field(default_factory=list)
    softmaxes: List[str] = field(default_factory=list)  # softmaxes of something else, in words
    stand_ins: List[str] = field(default_factory=list)  # weights by something else than a softmax
    outside: Optional[Tuple[str, int]] = None  # a model that the file only names, by what
    opaque: List[Tuple[str, int]] = field(default_factory=list)  # what attention may hide in
    work: Dict[str, List[float]] = field(default_factory=dict)  # kind: how many, operations
    init: Any = None  # the arguments of Model, ...
    inputs: Any = None  # ... those of its call, ...
    result: Any = None  # ... and what it made

    def add_work(self, kind: str, operations: float) -> None:
        entry = self.work.setdefault(kind, [0, 0.0])
        entry[0] += 1
        entry[1] += operations


def heads_first(x: Tensor) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Sizes and strides as [batch, heads, sequence, dim] of [..., sequence, dim]."""
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


def swapped(x: Tensor) -> Tensor:
    return Tensor(x.shape[:-2] + (x.shape[-1], x.shape[-2]), x.dtype, x.strides[:-2] + (x.strides[-1], x.strides[-2]))


def kv_heads(q: Tuple[int, ...], k: Tuple[int, ...], strides: Tuple[int, ...]) -> int:
    """Key/value heads: one where all query heads read the same memory."""
    heads = k[1]
    return 1 if heads > 1 and strides[1] == 0 else heads if q[1] % max(heads, 1) == 0 else q[1]


def describe(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, unfit: List[str], how: str, line: int
) -> Found:
    """The problem of queries [..., s, d], keys [..., t, d] and values [..., t, e]."""
    (qs, qt), (ks, kt), (vs, vt) = heads_first(q), heads_first(k), heads_first(v)
    unfit = list(unfit)
    if min(qs + ks + vs) < 1:
        unfit.append("a size is 0")
    batch = max(qs[0], ks[0], vs[0])
    if {q.dtype, k.dtype, v.dtype} != {q.dtype} or q.dtype not in ("f32", "f16", "bf16"):
        unfit.append(f"its elements are {q.dtype}, {k.dtype} and {v.dtype}")
    notes = []
    strides = {}
    for name, sizes, own in (("q", qs, qt), ("k", ks, kt), ("v", vs, vt)):
        if own[3] != 1 and sizes[3] > 1:
            notes.append(f"{name} needs a copy: elements of a head vector are {own[3]} apart")
            own = (sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1)
        strides[name] = own[:3]
    heads_kv = min(kv_heads(qs, ks, kt), kv_heads(qs, vs, vt))
    factor = scale * q.factor * k.factor
    usual = 1.0 / math.sqrt(max(qs[3], 1))
    dims = (batch, max(qs[1], ks[1]), heads_kv, qs[2], ks[2], qs[3], vs[3])
    strides["o"] = output_strides(strides["q"], (dims[0], dims[1], dims[3], dims[6]))
    own_scale = None if abs(factor - usual) <= SCALE_SAME * usual else factor
    return Found(*dims, q.dtype, strides, own_scale, causal, unfit, how, line, notes)


def output_strides(q: Tuple[int, ...], sizes: Tuple[int, ...]) -> Tuple[int, ...]:
    """A dense O whose dimensions lie in the order of Q's."""
    made, step = [0, 0, 0], sizes[3]
    order = sorted(range(3), key=lambda i: (q[i] if sizes[i] > 1 else -1, i != 2))
    for i in order:
        made[i] = step
        step *= sizes[i]
    return tuple(made)


class Attention:
    """The steps from logits to attention. `book` is the notebook."""

    def __init__(self, book: Notebook) -> None:
        self.book = book

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
        operations = 2.0 * math.prod(shape) * a.shape[-1]
        if a.learned or b.learned or len(b.shape) == 2 or isinstance(b.fact, (Logits, Weights)):
            kind = "linear map" if a.learned or b.learned or len(b.shape) == 2 else "product"
            self.book.add_work(kind, operations)
            return fresh(shape, "a linear map" if kind == "linear map" else "a product", a.dtype)
        logits = Logits(a, b, nodes, scope.frame if scope else None)
        return fresh(shape, "a product of two tensors", a.dtype, logits)

    def vector_product(self, a: Tensor, b: Tensor, line: int) -> Tensor:
        if len(a.shape) == 1 and len(b.shape) == 1:
            return fresh((), "a product", a.dtype)
        return fresh(a.shape[:-1] if len(b.shape) == 1 else b.shape[:-2] + b.shape[-1:], "a product", a.dtype)

    def close(self, a: Tensor, v: Tensor, shape: Any, nodes: Any, node: Any, scope: Any) -> Any:
        """Weights times values."""
        weights: Weights = a.fact
        logits = weights.logits
        line = getattr(node, "lineno", 0)
        if weights.by != "softmax":
            self.book.stand_ins.append(f"line {line}: {weights.by} stands where a softmax would")
            return fresh(shape, "a product", v.dtype)
        unfit = list(logits.changed)
        if logits.hidden not in (None, 0):
            unfit.append(f"its mask is a triangle off the diagonal by {logits.hidden}")
        causal = logits.hidden == 0
        found = describe(logits.q, swapped(logits.k), v, logits.scale, causal, unfit, "written out", line)
        found.rewrite = Rewrite("product", node, logits.frame, (*logits.nodes, nodes[1]), causal, logits.scale)
        if scope is None or scope.frame is not logits.frame or nodes[1] is None:
            found.rewrite.refusal = "its products stand in two functions"
        self.book.found.append(found)
        return fresh(shape, "attention", v.dtype)

    def scaled(self, x: Tensor, by: float) -> Tensor:
        """x * by."""
        fact, factor = x.fact, x.factor
        if isinstance(fact, Logits):
            fact = self.changed(fact, scale=fact.scale * by)
        elif fact is not None:
            fact = self.of_other(fact)
        else:
            factor *= by
        return Tensor(x.shape, x.dtype, x.strides, fact, factor=factor, origin=x.origin)

    def added(self, x: Tensor, y: Any) -> Any:
        """The fact of logits + y; `y` is a tensor or a number."""
        logits: Logits = x.fact
        if isinstance(y, (int, float)):
            return logits  # a softmax does not see it
        if isinstance(y, Tensor) and isinstance(y.fact, Triangle):
            hidden = hidden_by(y.fact, lambda v: v == -math.inf, lambda v: v == 0)
            if hidden is not None:
                return self.changed(logits, hidden=hidden)
        kind = "a learned bias" if getattr(y, "learned", False) else "a bias or a mask that is a tensor"
        return self.changed(logits, words=f"its logits have {kind}")

    def masked(self, x: Tensor, mask: Any, value: Any) -> Any:
        """The fact of logits.masked_fill(mask, value)."""
        logits: Logits = x.fact
        low = isinstance(value, (int, float)) and value <= -1e4
        if isinstance(mask, Tensor) and isinstance(mask.fact, Triangle) and low:
            hidden = hidden_by(mask.fact, lambda v: v is True, lambda v: v is False)
            if hidden is not None:
                return self.changed(logits, hidden=hidden)
        return self.changed(logits, words="its mask is a tensor whose pattern is not known")

    @staticmethod
    def changed(logits: Logits, words: str = "", **fields: Any) -> Logits:
        made = Logits(logits.q, logits.k, logits.nodes, logits.frame, logits.scale, logits.hidden, list(logits.changed))
        for name, value in fields.items():
            setattr(made, name, value)
        if words and words not in made.changed:
            made.changed.append(words)
        return made

    def of_other(self, fact: Any, words: str = "") -> Any:
        """The fact of what an elementwise operation makes of it."""
        if isinstance(fact, Logits):
            return self.changed(fact, words=f"its logits are changed{words}")
        if isinstance(fact, Weights):
            logits = self.changed(fact.logits, words=f"its weights are changed after the softmax{words}")
            return Weights(logits, fact.by)
        return None

    def softmax(self, x: Any, dim: Any, line: int) -> Any:
        if isinstance(x, Opaque) or not isinstance(x, Tensor):
            self.book.opaque.append((f"a softmax of {getattr(x, 'why', 'a value')}", getattr(x, "line", 0) or line))
            return Opaque("a softmax", line)
        last = dim in (-1, len(x.shape) - 1)
        if isinstance(x.fact, Logits) and last:
            return Tensor(x.shape, x.dtype, (), Weights(x.fact, "softmax"), origin="a softmax")
        if isinstance(x.fact, Logits):
            self.book.softmaxes.append(f"line {line}: a softmax of products along dimension {dim}, not along keys")
        else:
            self.book.softmaxes.append(f"line {line}: a softmax of the output of {x.origin}")
        return Tensor(x.shape, x.dtype, (), Softened(x.origin), origin="a softmax")

    def stand_in(self, x: Tensor, by: str) -> Any:
        """The fact of logits after another function than a softmax."""
        if isinstance(x.fact, Logits):
            return Weights(x.fact, by)
        return self.of_other(x.fact, f" by {by}")


def hidden_by(t: Triangle, hides: Any, shows: Any) -> Optional[int]:
    """The diagonal beyond which a triangle hides keys, None if it does not hide later ones."""
    if t.lower and hides(t.outside) and shows(t.inside):
        return t.diagonal
    if not t.lower and hides(t.inside) and shows(t.outside):
        return t.diagonal - 1
    return None
