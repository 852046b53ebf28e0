"""Functions of torch and operators on its tensors, as shapes, strides and facts."""

from __future__ import annotations

import ast
import math
from typing import Any, Dict, List, Tuple

from abstract import (
    CannotTell,
    Fill,
    Logits,
    Opaque,
    Tensor,
    Triangle,
    axis,
    broadcast,
    count,
    fresh,
    like,
)
from attention import Attention, Notebook, Rewrite, describe
from einsum import einsum
from layers import Layer, Listed
from methods import SAME, TYPES, Methods
from objects import MATH, Bound, Instance, Path

ALIASES = {"torch.nn.functional": "F", "torch.nn": "nn", "torch.linalg": "linalg"}
RANDOM = ("rand", "randn", "empty", "randint", "rand_like", "randn_like", "empty_like", "arange", "linspace", "normal")
FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "full": None, "full_like": None}


class Library(Methods):
    """The functions by name. `interpreter` follows what is called back."""

    def __init__(self) -> None:
        self.book = Notebook()
        self.attention = Attention(self.book)
        self.interpreter: Any = None

    @property
    def line(self) -> int:
        return int(self.interpreter.line)

    # ---- Names ----

    def constant(self, name: str) -> Any:
        if name in ("math.pi", "np.pi", "numpy.pi", "math.e", "math.inf", "numpy.inf", "torch.pi", "torch.inf"):
            return MATH[name.split(".")[1]]
        return Path(name)

    def function(self, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        for long, short in ALIASES.items():
            if name.startswith(long + "."):
                name = short + name[len(long) :]
        family, _, last = name.rpartition(".")
        if family == "math":
            return self.interpreter.plainly(MATH.get(last, lambda *a: Opaque(name)), tuple(args), words, node)
        if family == "nn" and last[:1].isupper():
            return self.module(last, args, words)
        if family in ("torch", "F", "nn.init", "linalg"):
            return self.torch(last, args, words, node, scope)
        if "from_pretrained" in last or "from_config" in last:
            self.book.outside = self.book.outside or (f"{name}()", node.lineno)
        if name == "itertools.repeat" and len(args) == 2:
            return [args[0]] * min(args[1], 10_000)
        if family in ("np", "numpy") and last in MATH and all(isinstance(a, (int, float)) for a in args):
            return self.interpreter.plainly(MATH[last], tuple(args), words, node)
        return Opaque(f"'{name}()'", node.lineno)

    def module(self, kind: str, args: List[Any], words: Dict[str, Any]) -> Any:
        if kind == "Parameter":
            x = args[0]
            return like(x, fact=x.fact, learned=True, origin="a parameter") if isinstance(x, Tensor) else x
        if kind in ("Sequential", "ModuleList", "ModuleDict"):
            given = args[0] if args else []
            if kind == "Sequential" and (len(args) != 1 or not isinstance(given, dict)):
                given = list(args)
            return Listed(kind, given if isinstance(given, dict) else list(self.interpreter.items(given, None)), self)
        return Layer(kind, args, words, self)

    def of_module(self, owner: Instance, name: str) -> Any:
        """A member that a torch.nn.Module has of itself."""
        if name in ("register_buffer", "register_parameter", "add_module"):
            return Bound(lambda key, value=None, *a, **w: owner.values.update({key: value}), name)
        if name == "training":
            return True
        if name in SAME:
            return Bound(lambda *a, **w: owner, name)
        return Opaque(f"'{name}' of a {owner.of.node.name}", self.line)

    # ---- Functions ----

    def torch(self, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        if not args and "input" in words:
            args, words = [words["input"]], {key: value for key, value in words.items() if key != "input"}
        first = args[0] if args else None
        made = getattr(self, "make_" + name, None)
        if name in RANDOM or name in FILLED or name in ("tensor", "from_numpy"):
            return self.create(name, args, words)
        if made is not None:
            return made(args, words, node, scope)
        if isinstance(first, Tensor):
            return self.method(first, name, args[1:], words, node, scope)
        if name in ("no_grad", "manual_seed", "device"):
            return None
        if "softmax" in name and isinstance(first, Opaque):
            return self.attention.softmax(first, -1, node.lineno)
        return first if isinstance(first, Opaque) else Opaque(f"'torch.{name}()'", node.lineno)

    def create(self, name: str, args: List[Any], words: Dict[str, Any]) -> Any:
        kind = words.get("dtype")
        dtype = TYPES.get(kind.name, "other") if isinstance(kind, Path) else "f32"
        if name.endswith("_like"):
            x = args[0]
            if not isinstance(x, Tensor):
                return x
            fill = FILLED.get(name, None) if name != "full_like" else args[1]
            return fresh(x.shape, "a constant", x.dtype, Fill(fill) if fill is not None else None)
        if name == "arange":
            if not all(isinstance(a, (int, float)) for a in args) or not args:
                return Opaque("a range", self.line)
            begin, end = (0, args[0]) if len(args) == 1 else args[:2]
            step = args[2] if len(args) > 2 else words.get("step", 1)
            return fresh((max(0, math.ceil((end - begin) / step)),), "a range", dtype)
        if name == "linspace":
            return fresh((args[2] if len(args) > 2 else words.get("steps", 1),), "a range", dtype)
        if name in ("tensor", "from_numpy"):
            value = args[0]
            shape: Tuple[int, ...] = (len(value),) if isinstance(value, (list, tuple)) else ()
            return fresh(shape, "a constant", dtype, Fill(value) if isinstance(value, (int, float)) else None)
        sizes = args[2:] if name == "randint" and len(args) > 2 else args
        if name == "full":
            return fresh(self.sizes(args[:1] or [words.get("size")]), "a constant", dtype, Fill(args[1]))
        shape = self.sizes(sizes or [words.get("size", ())])
        fill = FILLED.get(name)
        fill = bool(fill) if dtype == "bool" and fill is not None else fill
        return fresh(shape, "an input", dtype) if fill is None else fresh(shape, "a constant", dtype, Fill(fill))

    def sizes(self, args: List[Any]) -> Tuple[int, ...]:
        flat = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        if not all(isinstance(s, int) and not isinstance(s, bool) for s in flat):
            why = next((x for x in flat if isinstance(x, Opaque)), None)
            raise CannotTell(f"a tensor of shape {why.why if why else flat}", self.line)
        return tuple(flat)

    def make_tril(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        return self.triangle(args, words, True)

    def make_triu(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        return self.triangle(args, words, False)

    def triangle(self, args: List[Any], words: Dict[str, Any], lower: bool) -> Any:
        x = args[0]
        diagonal = args[1] if len(args) > 1 else words.get("diagonal", 0)
        if not isinstance(x, Tensor) or not isinstance(diagonal, int):
            return Opaque("a triangle", self.line)
        value = x.fact.value if isinstance(x.fact, Fill) else None
        zero = False if value is True else 0
        return like(x, fact=Triangle(diagonal, lower, value, zero) if value is not None else None)

    def make_scaled_dot_product_attention(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        named = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args))
        named.update(words)
        q, k, v = (named.get(name) for name in ("query", "key", "value"))
        for x in (q, k, v):
            if not isinstance(x, Tensor):
                why = getattr(x, "why", "a value")
                self.book.opaque.append((f"scaled_dot_product_attention of {why}", node.lineno))
                return Opaque("attention", node.lineno)
        causal, mask = named.get("is_causal", False), named.get("attn_mask")
        unfit = [] if named.get("dropout_p", 0.0) in (0, 0.0) else ["its weights are dropped out"]
        if isinstance(mask, Tensor):
            logits = Logits(q, k, (None, None), None)
            dtype_bool = mask.dtype == "bool"
            if isinstance(mask.fact, Triangle) and mask.fact.lower and mask.fact.diagonal == 0 and dtype_bool:
                causal = True
            elif self.attention.added(fresh((), "", fact=logits), mask).hidden == 0:
                causal = True
            else:
                unfit.append("its mask is a tensor")
        scale = named.get("scale") or 1.0 / math.sqrt(q.shape[-1])
        found = describe(q, k, v, scale, bool(causal), unfit, "scaled_dot_product_attention", node.lineno)
        own = named.get("scale")
        found.rewrite = Rewrite("sdpa", node, scope.frame, (), bool(causal), own)
        if mask is not None:
            found.rewrite.refusal = "its mask is a tensor"
        self.book.found.append(found)
        return fresh(q.shape[:-1] + v.shape[-1:], "attention", q.dtype)

    def make_multi_head_attention_forward(self, args: List[Any], words: Any, node: Any, scope: Any) -> Any:
        self.book.opaque.append(("multi_head_attention_forward", node.lineno))
        return Opaque("multi_head_attention_forward", node.lineno)

    def make_einsum(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        return einsum(self, args, node, scope)

    def make_cat(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        parts, dim = args[0], args[1] if len(args) > 1 else words.get("dim", 0)
        parts = list(self.interpreter.items(parts, node))
        for x in parts:
            if not isinstance(x, Tensor):
                return x if isinstance(x, Opaque) else Opaque("a concatenation", node.lineno)
        at = axis(parts[0], dim)
        shape = list(parts[0].shape)
        shape[at] = sum(x.shape[at] for x in parts)
        return fresh(tuple(shape), "a concatenation", parts[0].dtype)

    make_concat = make_cat

    def make_stack(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        parts = list(self.interpreter.items(args[0], node))
        if not parts or not isinstance(parts[0], Tensor):
            return Opaque("a stack", node.lineno)
        at = axis(parts[0], args[1] if len(args) > 1 else words.get("dim", 0), 1)
        shape = parts[0].shape
        return fresh(shape[:at] + (len(parts),) + shape[at:], "a stack", parts[0].dtype)

    def make_meshgrid(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        parts = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if not all(isinstance(x, Tensor) and len(x.shape) == 1 for x in parts):
            return Opaque("a grid", node.lineno)
        shape = tuple(x.shape[0] for x in parts)
        return tuple(fresh(shape, "a range", x.dtype) for x in parts)

    def make_where(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        mask, yes, no = (list(args) + [None] * 3)[:3]
        for x, other, flip in ((yes, no, True), (no, yes, False)):
            if isinstance(x, Tensor) and isinstance(x.fact, Logits):
                value = other.fact.value if isinstance(other, Tensor) and isinstance(other.fact, Fill) else other
                turned = self.unary(ast.Not, mask) if flip and isinstance(mask, Tensor) else mask
                return like(x, fact=self.attention.masked(x, turned, value))
        tensors = [x for x in (mask, yes, no) if isinstance(x, Tensor)]
        shape: Tuple[int, ...] = ()
        for x in tensors:
            shape = broadcast(shape, x.shape)
        return fresh(shape, "a choice") if tensors else Opaque("a choice", node.lineno)

    def make_linear(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        x, w = (list(args) + [words.get("weight")])[:2]
        if not isinstance(x, Tensor) or not isinstance(w, Tensor):
            return x if isinstance(x, Opaque) else Opaque("a linear map", node.lineno)
        return self.linear(x, w.shape[0], w.shape[1])

    def linear(self, x: Any, out: int, into: int) -> Any:
        if not isinstance(x, Tensor):
            return x
        if not x.shape or x.shape[-1] != into:
            raise CannotTell(f"a linear map of {into} on {x.shape}", self.line)
        self.book.add_work("linear map", 2.0 * count(x.shape) * out)
        return fresh(x.shape[:-1] + (out,), "a linear map", x.dtype)

    def dropout(self, x: Any, p: Any) -> Any:
        if isinstance(x, Tensor) and p not in (0, 0.0) and x.fact is not None:
            return like(x, fact=self.attention.of_other(x.fact, " by dropout"))
        return x

    def make_dropout(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        training = args[2] if len(args) > 2 else words.get("training", True)
        return self.dropout(args[0], (args[1] if len(args) > 1 else words.get("p", 0.5)) if training else 0)

    def activation(self, x: Any, by: str) -> Any:
        return fresh(x.shape, x.origin, x.dtype, self.attention.stand_in(x, by)) if isinstance(x, Tensor) else x

    def elementwise(self, x: Any, by: str) -> Any:
        if not isinstance(x, Tensor):
            return x
        return Tensor(x.shape, x.dtype, (), self.attention.of_other(x.fact, f" by {by}"), origin=x.origin)

    # ---- Operators ----

    def unary(self, op: Any, x: Tensor) -> Any:
        if op is ast.USub:
            return self.attention.scaled(x, -1.0)
        if isinstance(x.fact, Triangle) and isinstance(x.fact.inside, bool):
            t = x.fact
            return like(x, fact=Triangle(t.diagonal, t.lower, not t.inside, not t.outside))
        return like(x, fact=None)

    def compare(self, op: Any, left: Any, right: Any) -> Any:
        x, y = (left, right) if isinstance(left, Tensor) else (right, left)
        if isinstance(y, Opaque):
            return y
        shape = broadcast(x.shape, y.shape) if isinstance(y, Tensor) else x.shape
        made = fresh(shape, "a comparison", "bool")
        if isinstance(x.fact, Triangle) and isinstance(y, (int, float)) and op in (ast.Eq, ast.NotEq):
            t = x.fact
            same = [bool(value == y) is (op is ast.Eq) for value in (t.inside, t.outside)]
            made.fact = Triangle(t.diagonal, t.lower, *same)
        return made

    def product(self, left: Any, right: Any, nodes: Any, node: Any, scope: Any) -> Any:
        return self.attention.product(left, right, nodes, node, scope)

    def binary(self, op: Any, left: Any, right: Any) -> Any:
        for x in (left, right):
            if isinstance(x, Opaque):
                other = right if x is left else left
                if not isinstance(other.fact, Logits):
                    return x
        x, y = (right, left) if getattr(right, "fact", None) and not getattr(left, "fact", None) else (left, right)
        if not isinstance(x, Tensor):
            x, y = y, x
        number = y.fact.value if isinstance(y, Tensor) and isinstance(y.fact, Fill) and not y.shape else y
        if isinstance(number, (int, float)) and op in (ast.Mult, ast.Div) and (op is ast.Mult or x is left):
            if isinstance(x.fact, Fill) and op is ast.Mult:
                return like(x, fact=Fill(x.fact.value * number))
            if isinstance(x.fact, Triangle):
                return self.scaled_triangle(x, number, op)
            return self.attention.scaled(x, float(number) if op is ast.Mult else 1.0 / float(number or math.inf))
        shape = broadcast(x.shape, y.shape) if isinstance(y, Tensor) else x.shape
        if isinstance(x.fact, Logits):
            return fresh(shape, x.origin, x.dtype, self.combined(op, x, y, x is left))
        return fresh(shape, x.origin, x.dtype, self.attention.of_other(x.fact))

    def combined(self, op: Any, x: Tensor, y: Any, first: bool) -> Any:
        if op is ast.Add or op is ast.Sub and first:
            return self.attention.added(x, y)
        learned = getattr(y, "learned", False)
        return self.attention.of_other(x.fact, f" by a {'learned ' if learned else ''}tensor")

    @staticmethod
    def scaled_triangle(x: Tensor, number: float, op: Any) -> Tensor:
        t = x.fact
        value = [v * number if op is ast.Mult else v / number for v in (t.inside, t.outside)]
        value = [0 if v != v else v for v in value]  # a zero times infinity: not what the task means
        return like(x, fact=Triangle(t.diagonal, t.lower, *value))

    def index(self, x: Tensor, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(isinstance(k, (Opaque, Tensor, list)) for k in keys):
            return Opaque("an index", self.line)
        used = sum(k is not None and k is not Ellipsis for k in keys)
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at : at + 1] = [slice(None)] * (len(x.shape) - used)
        keys += [slice(None)] * (len(x.shape) - used)
        shape: List[int] = []
        strides: List[int] = []
        dim, tail = 0, []
        for k in keys:
            if k is None:
                shape.append(1)
                strides.append(0)
                continue
            if dim >= len(x.shape):
                raise CannotTell(f"{used} indices of a tensor of {len(x.shape)}", self.line)
            size, stride = x.shape[dim], x.strides[dim]
            if isinstance(k, slice):
                begin, end, step = k.indices(size)
                shape.append(max(0, -(-(end - begin) // step)))
                strides.append(stride * step)
                tail.append((begin, step))
            elif isinstance(k, int) and not isinstance(k, bool):
                tail.append((None, 1))
            else:
                return Opaque("an index", self.line)
            dim += 1
        kept = isinstance(x.fact, (Fill, Triangle)) and all(t == (0, 1) for t in tail[-2:])
        whole = tuple(shape[-2:]) == x.shape[-2:] and all(t == (0, 1) for t in tail[-2:])
        fact = x.fact if kept or whole else None
        if fact is None and x.fact is not None and not isinstance(x.fact, (Fill, Triangle)):
            fact = self.attention.of_other(x.fact, " by an index")
        return like(x, shape=tuple(shape), strides=tuple(strides), fact=fact)
