"""Methods of torch's tensors, and functions of one tensor that are methods as well."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any, Callable, Dict, List

from abstract import (
    CannotTell,
    Opaque,
    Tensor,
    axis,
    broadcast,
    contiguous,
    copied,
    count,
    expanded,
    fresh,
    like,
    permuted,
    spoil,
    viewed,
    write,
)
from facts import Exponent, Fill, Logits, LogWeights, Lost, Products, RowSum, Triangle, lost, of_other, rank
from masks import as_elements, cut, number_of, with_values
from objects import Bound, Path

TYPES = {
    "torch.float32": "f32", "torch.float": "f32", "torch.float16": "f16", "torch.half": "f16",
    "torch.bfloat16": "bf16", "torch.float64": "f64", "torch.double": "f64", "torch.int64": "i64",
    "torch.long": "i64", "torch.int32": "i32", "torch.int": "i32", "torch.bool": "bool",
}
NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i64": "int64", "i32": "int32"}
#: Words in the names of what may have attention inside, or is told to by a function of that name.
ATTENDING = ("attention", "attn", "softmax", "transformer")
#: Arguments of torch for .to() that are not types.
NO_TYPES = ("torch.device", "torch.channels_last", "torch.contiguous_format", "torch.preserve_format")
#: Functions of one tensor that change its elements and not its shape.
ELEMENTWISE = {
    "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "gelu", "silu", "mish", "elu", "selu", "celu", "leaky_relu",
    "softplus", "softsign", "hardtanh", "hardswish", "hardsigmoid", "clamp", "abs", "sin", "cos", "erf", "pow",
    "square", "reciprocal", "normalize", "layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm",
    "cumsum", "cumprod", "flip", "roll", "log_softmax", "logsigmoid", "relu6", "nan_to_num", "clamp_min", "sign",
    "floor", "round", "log2", "log10", "exp2", "ceil", "neg", "log1p", "expm1", "bernoulli", "prelu",
}
#: Those that are also applied to the value of a tensor whose elements are all equal.
OF_NUMBERS = {"sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x), "exp": math.exp, "log": math.log, "abs": abs,
              "neg": operator.neg, "reciprocal": lambda x: 1 / x, "square": lambda x: x * x}
#: Methods that change no elements, though their names end in "_".
HARMLESS = {"requires_grad_", "share_memory_", "rename_", "pin_memory_"}
#: Functions whose argument of this number, after the tensor, selects work in place.
INPLACE = {"relu": 0, "relu6": 0, "silu": 0, "mish": 0, "hardswish": 0, "hardsigmoid": 0, "selu": 0, "elu": 1,
           "celu": 1, "leaky_relu": 1, "threshold": 2, "hardtanh": 2, "dropout": 2}
#: Names of methods that preserve all facts of a tensor.
SAME = {"to", "cuda", "cpu", "clone", "detach", "requires_grad_", "type_as", "eval", "train", "requires_grad"}
NEW = ("new_zeros", "new_ones", "new_full", "new_empty")
REDUCING = {"sum", "mean", "amax", "amin", "max", "min", "std", "var", "norm", "logsumexp", "prod", "argmax", "argmin"}


def arithmetic(op: Any) -> Callable[..., Any]:
    def method(self: Any, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        other, alpha = args[0] if args else words["other"], words.get("alpha", 1)
        if words.get("rounding_mode") is not None or len(args) > 1:
            return self.elementwise(x, "rounding")
        if alpha != 1:
            both = isinstance(other, (int, float)) and isinstance(alpha, (int, float))
            other = other * alpha if both else self.binary(ast.Mult, other, alpha)
        return self.binary(op, x, other)

    return method


def cast(dtype: str) -> Callable[..., Any]:
    def method(self: Any, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.as_type(x, dtype)

    return method


class Pair(tuple):
    """A result of values and their indices."""

    def part(self, name: str) -> Any:
        return self[("values", "indices").index(name)]


class Methods:
    """The part of operations.Library for methods; each part calls the other."""

    interpreter: Any
    attention: Any
    binary: Any
    activation: Any
    book: Any
    create: Any
    dropout: Any
    index: Any
    line: Any
    sizes: Any

    def attribute(self, x: Tensor, name: str, node: Any) -> Any:
        if name == "shape":
            return x.shape
        if name == "ndim":
            return len(x.shape)
        if name in ("real", "grad"):
            return x if name == "real" else Opaque("a gradient", self.line)
        if name in ("T", "mT"):
            dims = len(x.shape)
            whole = name == "T" and dims != 2
            return permuted(x, tuple(range(dims - 1, -1, -1)) if whole else (*range(dims - 2), dims - 1, dims - 2))
        if name in ("data", "is_cuda"):
            return x if name == "data" else True
        if name in ("dtype", "device"):
            return Path("torch." + (NAMES.get(x.dtype, x.dtype) if name == "dtype" else "device"))
        return Bound(lambda *a, **w: self.method(x, name, list(a), w, node, self.interpreter.call_scope), name)

    def method(self, x: Tensor, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        """Applies x.name(), or torch's function of x: into `out`, or in place, if the call says so."""
        if name.startswith("_"):
            if any(word in name for word in ATTENDING):
                self.book.opaque.append((f"'.{name}()'", getattr(node, "lineno", self.line)))
            spoil(x)
            return Opaque(f"'.{name}()'", getattr(node, "lineno", self.line), [x])
        inplace = name.endswith("_") and name not in HARMLESS
        words = dict(words)
        into = words.pop("out", None)
        at = INPLACE.get(name)
        inplace = inplace or at is not None and len(args) > at and args[at] is not False
        if words.pop("inplace", False) is not False or inplace:
            into = x
        made = self.made_by(x, name.rstrip("_"), args, words, node, scope)
        if into is None:
            return made
        if not isinstance(into, Tensor) or not isinstance(made, Tensor):
            spoil(x, into)
            return made
        write(into, made)
        return into

    def made_by(self, x: Tensor, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        made = name[4:] if name in NEW else ""
        method = self.made_like(made) if made else getattr(self, "on_" + name, None)
        line = getattr(node, "lineno", self.line)
        if any(isinstance(a, Opaque) for a in (*args, *words.values())) and method is not None:
            if rank(x.fact) == 3:
                return copied(x, fact=of_other(x.fact, f" by .{name}() of what is not known"))
            return next(a for a in (*args, *words.values()) if isinstance(a, Opaque))
        if method is not None:
            return method(x, args, words, line, scope)
        if name in ELEMENTWISE:
            return self.elementwise(x, name, not args and not words)
        if name in REDUCING:
            return self.reduce(x, name, args, words)
        return Opaque(f"'.{name}()'", line, [x])

    def elementwise(self, x: Any, by: str, alone: bool = False) -> Any:
        """Applies a function to each element; `alone` means without arguments."""
        if not isinstance(x, Tensor):
            return x
        fact = of_other(x.fact, f" by {by}")
        if by == "exp" and isinstance(x.fact, Logits):
            fact = Exponent(x.fact)
        elif by == "exp2" and isinstance(x.fact, Logits):
            fact = lost(x.fact, "as exponents of 2")
        elif by == "exp" and isinstance(x.fact, LogWeights):
            return self.attention.weights(x, x.fact.logits, self.line)
        elif by in OF_NUMBERS and alone and isinstance(x.fact, (Fill, Triangle)):
            fact = with_values(x.fact, OF_NUMBERS[by])
        return Tensor(x.shape, x.dtype, (), fact, origin=x.origin)

    def as_type(self, x: Tensor, dtype: str) -> Tensor:
        """Returns x in the type, or x itself if it has that type."""
        if dtype == x.dtype:
            return x
        fact = x.fact
        if isinstance(fact, (Fill, Triangle)):
            fact = as_elements(fact, dtype)
        else:
            fact = self.attention.cast(x, dtype)
        return copied(x, dtype=dtype, fact=fact, learned=False)

    def reduce(self, x: Tensor, name: str, args: List[Any], words: Dict[str, Any]) -> Any:
        dims = args[0] if args else words.get("dim", words.get("axis"))
        if name in ("max", "min") and isinstance(dims, Tensor):
            return fresh(broadcast(x.shape, dims.shape), x.origin, x.dtype, lost(x.fact, f"through .{name}()"))
        if dims is None:
            return fresh((), x.origin, x.dtype)
        keep = args[1] if len(args) > 1 and isinstance(args[1], bool) else words.get("keepdim", False)
        gone = {axis(x, d) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))}
        shape = tuple(1 if i in gone else s for i, s in enumerate(x.shape) if keep or i not in gone)
        fact = None if isinstance(x.fact, Logits) else lost(x.fact, f"through .{name}()")
        if isinstance(x.fact, Products) and name == "sum":
            fact = Lost("a sum of products of two tensors")
        if isinstance(x.fact, Exponent):
            fact = RowSum(x.fact.logits) if name == "sum" and keep and gone == {len(x.shape) - 1} else None
        made = fresh(shape, x.origin, x.dtype, fact)
        return Pair((made, fresh(shape, x.origin, "i64"))) if name in ("max", "min") else made

    def made_like(self, name: str) -> Callable[..., Any]:
        """Returns x.new_ones() and such."""
        def method(x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
            return self.create(name, args, {"dtype": Path("torch." + NAMES.get(x.dtype, x.dtype)), **words})

        return method

    def on_size(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return x.shape[axis(x, args[0])] if args else x.shape

    def on_dim(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return len(x.shape)

    def on_numel(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return count(x.shape)

    def on_view(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return viewed(x, self.sizes(args))

    def on_reshape(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return viewed(x, self.sizes(args), True)

    def on_transpose(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        order = list(range(len(x.shape)))
        a, b = axis(x, args[0]), axis(x, args[1])
        order[a], order[b] = order[b], order[a]
        return permuted(x, tuple(order))

    on_swapaxes = on_transpose

    def on_t(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return permuted(x, tuple(reversed(range(len(x.shape)))))

    def on_permute(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return permuted(x, self.sizes(args))

    def on_unsqueeze(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        at = axis(x, args[0] if args else words["dim"], 1)
        stride = x.shape[at] * x.strides[at] if at < len(x.shape) else 1
        fact = x.fact if at <= len(x.shape) - 2 or isinstance(x.fact, Fill) else lost(x.fact)
        shape, strides = x.shape[:at] + (1,) + x.shape[at:], x.strides[:at] + (stride,) + x.strides[at:]
        return like(x, shape=shape, strides=strides, fact=fact)

    def on_squeeze(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        gone = [axis(x, args[0])] if args else range(len(x.shape))
        keep = [i for i, s in enumerate(x.shape) if i not in gone or s != 1]
        same = len(x.shape) - len(keep) == 0 or keep[-2:] == [len(x.shape) - 2, len(x.shape) - 1]
        fact = x.fact if same or isinstance(x.fact, Fill) else lost(x.fact)
        return like(x, shape=tuple(x.shape[i] for i in keep), strides=tuple(x.strides[i] for i in keep), fact=fact)

    def flatten(self, x: Any, start: int, end: int) -> Any:
        if not isinstance(x, Tensor):
            return x
        a, b = axis(x, start), axis(x, end)
        return viewed(x, x.shape[:a] + (count(x.shape[a : b + 1]),) + x.shape[b + 1 :], True)

    def on_flatten(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        start = args[0] if args else words.get("start_dim", 0)
        return self.flatten(x, start, args[1] if len(args) > 1 else words.get("end_dim", -1))

    def on_unflatten(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        at = axis(x, args[0])
        return viewed(x, x.shape[:at] + tuple(args[1]) + x.shape[at + 1 :])

    def on_expand(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return expanded(x, self.sizes(args))

    def on_repeat(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        times = self.sizes(args)
        shape = (1,) * (len(times) - len(x.shape)) + x.shape
        return fresh(tuple(s * t for s, t in zip(shape, times)), x.origin, x.dtype, lost(x.fact, "repeated"))

    def on_repeat_interleave(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        times = args[0] if args else words.get("repeats")
        dim = args[1] if len(args) > 1 else words.get("dim")
        if not isinstance(times, int) or dim is None:
            return Opaque("repeat_interleave()", line)
        at = axis(x, dim)
        shape = x.shape[:at] + (x.shape[at] * times,) + x.shape[at + 1 :]
        return fresh(shape, x.origin, x.dtype, lost(x.fact, "repeated"))

    def on_split(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        sizes, at = args[0], axis(x, args[1] if len(args) > 1 else words.get("dim", 0))
        if isinstance(sizes, int):
            sizes = [min(sizes, x.shape[at] - i) for i in range(0, x.shape[at], max(sizes, 1))]
        if sum(sizes) != x.shape[at] or len(sizes) > 10_000:
            raise CannotTell(f"a split of {x.shape[at]} into {sizes}", line)
        return tuple(like(x, shape=x.shape[:at] + (s,) + x.shape[at + 1 :]) for s in sizes)

    def on_chunk(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        at = axis(x, args[1] if len(args) > 1 else words.get("dim", 0))
        return self.on_split(x, [-(-x.shape[at] // args[0]), at], {}, line, scope)

    def on_unbind(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        at = axis(x, args[0] if args else words.get("dim", 0))
        shape, strides = x.shape[:at] + x.shape[at + 1 :], x.strides[:at] + x.strides[at + 1 :]
        return tuple(like(x, shape=shape, strides=strides) for _ in range(min(x.shape[at], 10_000)))

    def on_unfold(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        at, size, step = axis(x, args[0]), args[1], args[2]
        shape = x.shape[:at] + ((x.shape[at] - size) // step + 1,) + x.shape[at + 1 :] + (size,)
        strides = x.strides[:at] + (x.strides[at] * step,) + x.strides[at + 1 :] + (x.strides[at],)
        return like(x, shape=shape, strides=strides)

    def on_masked_fill(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        mask, value = (list(args) + [words.get("mask"), words.get("value")][len(args) :])[:2]
        shape = broadcast(x.shape, mask.shape) if isinstance(mask, Tensor) else x.shape
        if isinstance(x.fact, Logits):
            return fresh(shape, x.origin, x.dtype, self.attention.masked(x, mask, value))
        return fresh(shape, x.origin, x.dtype, self.chosen(mask, value, x, shape) or of_other(x.fact))

    @staticmethod
    def chosen(mask: Any, yes: Any, no: Any, shape: Any) -> Any:
        """Returns the fact of where(mask, yes, no) of two numbers with a triangle as mask; else None."""
        values = number_of(yes), number_of(no)
        known = isinstance(mask, Tensor) and isinstance(mask.fact, Triangle) and None not in values
        if not known or tuple(mask.shape[-2:]) != tuple(shape[-2:]):
            return None
        return with_values(mask.fact, lambda v: values[0] if v else values[1])

    def on_tril(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.triangle(x, args[0] if args else words.get("diagonal", 0), True)

    def on_triu(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.triangle(x, args[0] if args else words.get("diagonal", 0), False)

    def triangle(self, x: Tensor, diagonal: Any, lower: bool) -> Any:
        fact = of_other(x.fact, " by a triangle")
        if isinstance(diagonal, int) and isinstance(x.fact, Fill):
            fact = cut(x, diagonal, lower)
        return fresh(x.shape, x.origin, x.dtype, fact)

    def on_sort(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        made = self.elementwise(x, "sort")
        return Pair((made, fresh(x.shape, x.origin, "i64")))

    @staticmethod
    def dim_of(x: Tensor, args: Any, words: Any) -> Any:
        """Returns the dimension of a softmax; without an argument the default of torch.nn.functional."""
        dim = args[0] if args else words.get("dim")
        return (0 if len(x.shape) in (0, 1, 3) else 1) if dim is None else dim

    def on_softmax(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        kind = words.get("dtype")
        if kind is not None:
            x = self.on_to(x, [kind], {}, line, scope)
        return self.attention.softmax(x, self.dim_of(x, args, words), line)

    def on_log_softmax(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        last = self.dim_of(x, args, words) in (-1, len(x.shape) - 1)
        if isinstance(x.fact, Logits) and last and words.get("dtype") is None:
            return Tensor(x.shape, x.dtype, (), LogWeights(x.fact), origin="a log_softmax")
        return self.elementwise(x, "log_softmax")

    def on_dropout(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        training = args[1] if len(args) > 1 else words.get("training", True)
        return self.dropout(x, (args[0] if args else words.get("p", 0.5)) if training is not False else 0)

    def on_relu(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.activation(x, "ReLU")

    def on_matmul(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        nodes = self.operand_nodes(scope)
        return self.attention.product(x, args[0], nodes, self.interpreter.call_node, self.interpreter.call_scope)

    on_bmm = on_matmul
    on_mm = on_matmul

    def operand_nodes(self, scope: Any) -> Any:
        """Returns the expressions of both operands of torch.matmul(a, b) or a.matmul(b)."""
        call = self.interpreter.call_node
        if len(call.args) == 2:
            return tuple(call.args)
        if len(call.args) == 1 and isinstance(call.func, ast.Attribute):
            return (call.func.value, call.args[0])
        return (None, None)

    on_mul, on_div = arithmetic(ast.Mult), arithmetic(ast.Div)
    on_add, on_sub = arithmetic(ast.Add), arithmetic(ast.Sub)

    on_half, on_float, on_bfloat16, on_double = cast("f16"), cast("f32"), cast("bf16"), cast("f64")
    on_bool, on_long, on_int = cast("bool"), cast("i64"), cast("i32")

    def on_to(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        for value in list(args) + list(words.values()):
            if isinstance(value, Tensor):
                return self.as_type(x, value.dtype)
            if isinstance(value, Path) and value.name.startswith("torch.") and value.name not in NO_TYPES:
                return self.as_type(x, TYPES.get(value.name, "other"))
        return x

    on_type_as = on_type = on_to
    on_cuda = on_cpu = on_detach = on_requires_grad = on_to

    def on_clone(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return copied(x, learned=False)

    def on_contiguous(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return contiguous(x)
