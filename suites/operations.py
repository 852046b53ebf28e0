"""Functions of torch and operators on its tensors, as shapes, strides and facts."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any, Dict, List, Tuple

from abstract import CannotTell, Opaque, Tensor, axis, broadcast, copied, count, fresh, like, permuted, spoil
from attention import Attention, Notebook, Rewrite, aligned, describe, take_form
from einsum import einsum
from facts import Exponent, Fill, Logits, Products, RowSum, Triangle, Weights, lost, of_other, rank
from layers import Layer, Listed
from masks import as_elements, hiding, is_low, is_zero, number_of, with_values
from methods import ATTENDING, SAME, TYPES, Methods
from objects import MATH, Bound, Function, Instance, Path

ALIASES = {"torch.nn.functional": "F", "torch.nn": "nn", "torch.linalg": "linalg"}
RANDOM = ("rand", "randn", "empty", "randint", "rand_like", "randn_like", "empty_like", "arange", "linspace", "normal")
NUMBERS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
           ast.Pow: operator.pow}
#: Types of tensors by what wins when two are put together.
ORDER = ("bool", "i32", "i64", "f16", "bf16", "f32", "f64")
COMPARED = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
            ast.Gt: operator.gt, ast.GtE: operator.ge}
FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "full": None, "full_like": None}


class Library(Methods):
    """The functions by name. `interpreter` handles callbacks."""

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
        if last == "generate_square_subsequent_mask" and args and isinstance(args[0], int):
            return fresh((args[0], args[0]), "a constant", "f32", Triangle(1, False, -math.inf, 0.0))
        if family in ("np", "numpy") and last in MATH and all(isinstance(a, (int, float)) for a in args):
            return self.interpreter.plainly(MATH[last], tuple(args), words, node)
        return self.unknown(name, args, words, node)

    def unknown(self, name: str, args: List[Any], words: Dict[str, Any], node: Any) -> Opaque:
        """A call of something unknown, which may write to what it gets, and call the functions that it gets."""
        given = [*args, *words.values()]
        known = name.startswith(("torch.", "F.")) and not name.endswith("_")
        if not known:
            spoil(given)
        line = getattr(node, "lineno", self.line)
        if any(isinstance(x, (Function, Instance, Bound)) for x in given):
            self.book.handed.append((f"{name}()", line))
        names = [name, *(x.name for x in given if isinstance(x, Path))]
        if any(word in one.lower() for one in names for word in ATTENDING):
            self.book.opaque.append((f"{name}()", line))
        return Opaque(f"'{name}()'", line, views_of(given))

    def module(self, kind: str, args: List[Any], words: Dict[str, Any]) -> Any:
        if kind == "Parameter":
            x = args[0]
            return like(x, fact=None, learned=True, origin="a parameter") if isinstance(x, Tensor) else x
        if kind in ("Sequential", "ModuleList", "ModuleDict"):
            given = args[0] if args else []
            if kind == "Sequential" and (len(args) != 1 or not isinstance(given, dict)):
                given = list(args)
            return Listed(kind, given if isinstance(given, dict) else list(self.interpreter.items(given, None)), self)
        return Layer(kind, args, words, self)

    def of_module(self, owner: Instance, name: str) -> Any:
        """A member that a torch.nn.Module has of itself."""
        if name in ("register_buffer", "register_parameter", "register_module", "add_module"):
            return Bound(lambda key, value=None, *a, **w: owner.values.update({key: value}), name)
        if name == "training":
            return True
        if name in SAME:
            return Bound(lambda *a, **w: owner, name)
        if name.startswith("_") or "hook" in name or name == "load_state_dict":
            raise CannotTell(f"'{name}' of a {owner.of.node.name}", self.line)
        return Opaque(f"'{name}' of a {owner.of.node.name}", self.line)

    # ---- Functions ----

    def torch(self, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        if not args and "input" in words:
            args, words = [words["input"]], {key: value for key, value in words.items() if key != "input"}
        first = args[0] if args else None
        made = getattr(self, "make_" + name, None)
        if name.startswith("set_default_") and name != "set_default_device":
            raise CannotTell(f"torch.{name}()", node.lineno)
        if name in RANDOM or name in FILLED or name in ("tensor", "from_numpy"):
            return self.create(name, args, words)
        if made is not None:
            out = words.get("out")
            spoil(out)
            return made(args, words, node, scope)
        if isinstance(first, Tensor):
            return self.method(first, name, args[1:], words, node, scope)
        if name in ("no_grad", "manual_seed", "device"):
            return None
        if name == "finfo":
            return Lowest(first)
        if "softmax" in name and isinstance(first, Opaque):
            return self.attention.softmax(first, -1, node.lineno)
        made = self.unknown(f"torch.{name}", args, words, node)
        return first if isinstance(first, Opaque) else made

    def create(self, name: str, args: List[Any], words: Dict[str, Any]) -> Any:
        kind = words.get("dtype")
        dtype = TYPES.get(kind.name, "other") if isinstance(kind, Path) else "f32"
        if name.endswith("_like"):
            x = args[0]
            if not isinstance(x, Tensor):
                return x
            given = args[1] if len(args) > 1 else words.get("fill_value")
            fill = given if name == "full_like" else FILLED.get(name)
            made = self.filled(x.shape, x.dtype, fill)
            return self.as_type(made, dtype) if kind is not None else made
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
            return self.filled(shape, dtype, value)
        sizes = args[2:] if name == "randint" and len(args) > 2 else args
        if name == "full":
            value = args[1] if len(args) > 1 else words.get("fill_value")
            return self.filled(self.sizes(args[:1] or [words.get("size")]), dtype, value)
        shape = self.sizes(sizes or [words.get("size", ())])
        return fresh(shape, "an input", dtype) if FILLED.get(name) is None else self.filled(shape, dtype, FILLED[name])

    @staticmethod
    def filled(shape: Any, dtype: str, value: Any) -> Tensor:
        fact = Fill(value) if isinstance(value, (int, float)) else None
        return fresh(shape, "a constant", dtype, as_elements(fact, dtype))

    def sizes(self, args: List[Any]) -> Tuple[int, ...]:
        flat = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        if not all(isinstance(s, int) and not isinstance(s, bool) for s in flat):
            why = next((x for x in flat if isinstance(x, Opaque)), None)
            raise CannotTell(f"a tensor of shape {why.why if why else flat}", self.line)
        return tuple(flat)

    def make_scaled_dot_product_attention(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        named = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args))
        named.update(words)
        q, k, v = (named.get(name) for name in ("query", "key", "value"))
        for x in (q, k, v):
            if not isinstance(x, Tensor):
                why = getattr(x, "why", "a value")
                self.book.opaque.append((f"scaled_dot_product_attention of {why}", node.lineno))
                return Opaque("attention", node.lineno)
        causal, mask, scale = named.get("is_causal", False), named.get("attn_mask"), named.get("scale")
        grouped = named.get("enable_gqa", False)
        unfit = [] if named.get("dropout_p", 0.0) in (0, 0.0) else ["its weights are dropped out"]
        if not all(isinstance(x, bool) for x in (causal, grouped)):
            unfit.append(f"its {'is_causal' if not isinstance(causal, bool) else 'enable_gqa'} is not known")
        under, faults = self.mask_of(mask, q, k) if mask is not None else ("", [])
        under, unfit = "top-left" if causal is True else under, unfit + faults
        if scale is not None and not isinstance(scale, (int, float)):
            unfit.append("its scale is not known")
            scale = None
        own = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
        found = describe(q, k, v, own, under, unfit, "scaled_dot_product_attention", node.lineno, grouped is True)
        found.rewrite = Rewrite("sdpa", node, scope.frame, (), found.word(), scale)
        if mask is not None:
            found.rewrite.refusal = "its mask is a tensor"
        take_form(found.rewrite, q, k, v)
        self.book.found.append(found)
        lead = q.shape[:-2] if grouped is True else broadcast(broadcast(q.shape[:-2], k.shape[:-2]), v.shape[:-2])
        found.made = fresh(lead + (q.shape[-2], v.shape[-1]), "attention", q.dtype)
        return found.made

    @staticmethod
    def mask_of(mask: Any, q: Tensor, k: Tensor) -> Tuple[str, List[str]]:
        """Finds the causal mask that attn_mask is, "" for none, and says why heed does not have it."""
        if not isinstance(mask, Tensor):
            return "", [f"its mask is {getattr(mask, 'why', 'a value')}, which is not known"]
        queries, keys = q.shape[-2], k.shape[-2]
        hides, shows = (is_low, is_zero) if mask.dtype != "bool" else (lambda v: v is False, lambda v: v is True)
        found = hiding(mask, (queries, keys), hides, shows)
        if found is None:
            return "", ["its mask is a tensor whose pattern is not known"]
        return aligned(found.diagonal, queries, keys)

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
        fact = next((lost(x.fact, "in a concatenation") for x in parts if lost(x.fact)), None)
        return fresh(tuple(shape), "a concatenation", parts[0].dtype, fact)

    make_concat = make_cat

    def make_stack(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        parts = list(self.interpreter.items(args[0], node))
        if not parts or not all(isinstance(x, Tensor) for x in parts):
            return Opaque("a stack", node.lineno)
        at = axis(parts[0], args[1] if len(args) > 1 else words.get("dim", 0), 1)
        shape = parts[0].shape
        fact = next((lost(x.fact, "in a stack") for x in parts if lost(x.fact)), None)
        return fresh(shape[:at] + (len(parts),) + shape[at:], "a stack", parts[0].dtype, fact)

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
                turned = self.unary(ast.Invert, mask) if flip and isinstance(mask, Tensor) else mask
                return copied(x, fact=self.attention.masked(x, turned, other))
        tensors = [x for x in (mask, yes, no) if isinstance(x, Tensor)]
        shape: Tuple[int, ...] = ()
        for x in tensors:
            shape = broadcast(shape, x.shape)
        if not tensors or any(isinstance(x, Opaque) for x in (mask, yes, no)):
            return Opaque("a choice", node.lineno)
        fact = next((lost(x.fact, "in a choice") for x in tensors if lost(x.fact)), self.chosen(mask, yes, no, shape))
        kinds = [x.dtype for x in (yes, no) if isinstance(x, Tensor)]
        return fresh(shape, "a choice", kinds[0] if kinds else "f32", fact)

    def make_linear(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        x, w = (list(args) + [words.get("weight")])[:2]
        if not isinstance(x, Tensor) or not isinstance(w, Tensor):
            return x if isinstance(x, Opaque) else Opaque("a linear map", node.lineno)
        if w.learned or len(x.shape) != 2:
            return self.linear(x, w.shape[0], w.shape[1])
        bias = args[2] if len(args) > 2 else words.get("bias")
        made = self.attention.product(x, permuted(w, (1, 0)), (None, None), node, scope)
        return made if bias is None else self.binary(ast.Add, made, bias)

    def linear(self, x: Any, out: int, into: int) -> Any:
        if not isinstance(x, Tensor):
            return x
        if not x.shape or x.shape[-1] != into:
            raise CannotTell(f"a linear map of {into} on {x.shape}", self.line)
        self.book.add_work("linear map", 2.0 * count(x.shape) * out)
        return fresh(x.shape[:-1] + (out,), "a linear map", x.dtype)

    def dropout(self, x: Any, p: Any) -> Any:
        if not isinstance(x, Tensor) or p in (0, 0.0):
            return x
        return copied(x, fact=of_other(x.fact, " by dropout"), factor=1.0)

    def activation(self, x: Any, by: str) -> Any:
        return fresh(x.shape, x.origin, x.dtype, self.attention.stand_in(x, by)) if isinstance(x, Tensor) else x

    # ---- Operators ----

    def unary(self, op: Any, x: Tensor) -> Any:
        if op is ast.UAdd:
            return x
        if op is ast.USub and rank(x.fact) == 3:
            return self.attention.scaled(x, -1.0)
        if isinstance(x.fact, (Fill, Triangle)):
            flips = op is ast.Invert and x.dtype == "bool"
            what = operator.neg if op is ast.USub else operator.not_ if flips else None
            return copied(x, fact=with_values(x.fact, what) if what else None)
        return self.attention.scaled(x, -1.0) if op is ast.USub else copied(x, fact=of_other(x.fact))

    def compare(self, op: Any, left: Any, right: Any) -> Any:
        x, y = (left, right) if isinstance(left, Tensor) else (right, left)
        if isinstance(y, Opaque):
            return y
        shape = broadcast(x.shape, y.shape) if isinstance(y, Tensor) else x.shape
        made = fresh(shape, "a comparison", "bool")
        number = number_of(y)
        if isinstance(x.fact, (Fill, Triangle)) and number is not None and shape == x.shape and op in COMPARED:
            first = x is left
            made.fact = with_values(x.fact, lambda v: COMPARED[op](v, number) if first else COMPARED[op](number, v))
        return made

    def product(self, left: Any, right: Any, nodes: Any, node: Any, scope: Any) -> Any:
        return self.attention.product(left, right, nodes, node, scope)

    def binary(self, op: Any, left: Any, right: Any) -> Any:
        """left op right, of which one is a tensor."""
        for x, other in ((left, right), (right, left)):
            if isinstance(x, Opaque) and not isinstance(getattr(other, "fact", None), Logits):
                return x
        first = rank(getattr(left, "fact", None)) >= rank(getattr(right, "fact", None)) and isinstance(left, Tensor)
        x, y = (left, right) if first or not isinstance(right, Tensor) else (right, left)
        first = x is left
        shape = broadcast(x.shape, y.shape) if isinstance(y, Tensor) else x.shape
        made = fresh(shape, x.origin, together(x, y))
        number = number_of(y)
        if isinstance(x.fact, (Fill, Triangle)):
            whole = shape[-2:] == x.shape[-2:] or isinstance(x.fact, Fill)
            what = NUMBERS.get(op)
            if number is not None and what and whole:
                made.fact = with_values(x.fact, lambda v: what(v, number) if first else what(number, v))
            return made
        if number is not None and (op is ast.Mult or op is ast.Div and first):
            by = float(number) if op is ast.Mult else 1.0 / number if number else math.inf
            of = self.attention.scaled(x, by)
            made.fact, made.factor = of.fact, of.factor
            return made
        made.fact = self.combined(op, x, y, first)
        return made

    def combined(self, op: Any, x: Tensor, y: Any, first: bool) -> Any:
        """The fact of x op y, or of y op x, where one number does not say all of y."""
        if isinstance(x.fact, Logits):
            if op is ast.Add or op is ast.Sub and first:
                return self.attention.added(x, y, 1 if op is ast.Add else -1)
            if op is ast.Pow and not first:
                return lost(x.fact, "as exponents")
            return of_other(x.fact, f" by {operand(y)}")
        if isinstance(x.fact, Exponent) and op is ast.Div and first and isinstance(getattr(y, "fact", None), RowSum):
            if y.fact.logits is x.fact.logits:
                return self.attention.weights(x, x.fact.logits, self.line).fact
        if op is ast.Mult and isinstance(y, Tensor) and x.fact is None and y.fact is None:
            return Products()
        return of_other(x.fact)

    def index(self, x: Tensor, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(isinstance(k, (Opaque, Tensor, list)) for k in keys):
            return Opaque("an index", self.line)
        used = sum(k is not None and k is not Ellipsis for k in keys)
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at : at + 1] = [slice(None)] * (len(x.shape) - used)
        else:
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
        plain = len(keys) >= 2 and all(isinstance(k, slice) for k in keys[-2:])
        whole = plain and tuple(shape[-2:]) == x.shape[-2:] and all(t == (0, 1) for t in tail[-2:])
        begins = plain and isinstance(x.fact, Triangle) and all(t == (0, 1) for t in tail[-2:])
        fact = x.fact if whole or begins or isinstance(x.fact, Fill) else None
        if fact is None and rank(x.fact) == 3:
            fact = of_other(x.fact, " by an index") if isinstance(x.fact, (Logits, Weights)) else lost(x.fact)
        return like(x, shape=tuple(shape), strides=tuple(strides), fact=fact)


def operand(x: Any) -> str:
    """An operand in words."""
    if isinstance(x, Tensor):
        return "a learned tensor" if x.learned else "a tensor"
    return x.why if isinstance(x, Opaque) else "an operator on a number"


def views_of(values: Any) -> List[Tensor]:
    """The tensors among values, and those that others may be views of."""
    made: List[Tensor] = []
    for x in values:
        made += [x] if isinstance(x, Tensor) else x.of if isinstance(x, Opaque) else []
        made += views_of(x) if isinstance(x, (list, tuple)) else []
    return made


class Lowest:
    """torch.finfo(): the least number of a type."""

    VALUES = {"f16": -65504.0, "bf16": -3.3895313892515355e38, "f32": -3.4028234663852886e38,
              "f64": -1.7976931348623157e308}

    def __init__(self, kind: Any) -> None:
        self.kind = TYPES.get(kind.name, "") if isinstance(kind, Path) else ""

    def part(self, name: str) -> Any:
        value = self.VALUES.get(self.kind)
        return {"min": value, "max": -value}.get(name, Opaque("finfo")) if value else Opaque("finfo")


def together(x: Tensor, y: Any) -> str:
    """The type of an operation of both."""
    if not isinstance(y, Tensor) or x.dtype == y.dtype or not {x.dtype, y.dtype} <= set(ORDER):
        return x.dtype
    if {x.dtype, y.dtype} == {"f16", "bf16"}:
        return "f32"
    wide = {z.dtype for z in (x, y) if z.shape}
    floats = {z.dtype for z in (x, y) if ORDER.index(z.dtype) >= ORDER.index("f16")}
    if len(wide) == 1 and (floats == wide or not floats or len(floats) == 2):
        return wide.pop()
    return max((x.dtype, y.dtype), key=ORDER.index)
