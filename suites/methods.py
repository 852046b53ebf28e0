"""Methods of torch's tensors, and functions of one tensor that are methods as well."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List

from abstract import (
    CannotTell,
    Fill,
    Logits,
    Opaque,
    Tensor,
    Triangle,
    Weights,
    axis,
    broadcast,
    contiguous,
    count,
    expanded,
    fresh,
    like,
    permuted,
    viewed,
)
from objects import Bound, Path

TYPES = {
    "torch.float32": "f32", "torch.float": "f32", "torch.float16": "f16", "torch.half": "f16",
    "torch.bfloat16": "bf16", "torch.float64": "f64", "torch.double": "f64", "torch.int64": "i64",
    "torch.long": "i64", "torch.int32": "i32", "torch.int": "i32", "torch.bool": "bool",
}
#: Functions of one tensor that change its elements and not its shape.
ELEMENTWISE = {
    "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "gelu", "silu", "mish", "elu", "selu", "celu", "leaky_relu",
    "softplus", "softsign", "hardtanh", "hardswish", "hardsigmoid", "clamp", "abs", "sin", "cos", "erf", "pow",
    "square", "reciprocal", "normalize", "layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm",
    "cumsum", "cumprod", "flip", "roll", "log_softmax", "logsigmoid", "relu6", "nan_to_num", "clamp_min", "sign",
    "floor", "round", "log2", "log10", "exp2", "ceil", "neg", "log1p", "expm1", "detach", "bernoulli", "sort", "prelu",
}
#: Names of methods that leave all that is known of a tensor.
SAME = {"to", "cuda", "cpu", "clone", "detach", "requires_grad_", "type_as", "eval", "train", "requires_grad"}
REDUCING = {"sum", "mean", "amax", "amin", "max", "min", "std", "var", "norm", "logsumexp", "prod", "argmax", "argmin"}


def as_type(fact: Any, dtype: str) -> Any:
    if dtype == "bool" and isinstance(fact, Triangle):
        return Triangle(fact.diagonal, fact.lower, bool(fact.inside), bool(fact.outside))
    if dtype == "bool" and isinstance(fact, Fill):
        return Fill(bool(fact.value))
    return fact if not isinstance(fact, (Logits, Weights)) or dtype in ("f32", "f16", "bf16") else None


def arithmetic(op: Any) -> Callable[..., Any]:
    def method(self: Any, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.binary(op, x, args[0])

    return method


def cast(dtype: str) -> Callable[..., Any]:
    def method(self: Any, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return like(x, dtype=dtype, fact=as_type(x.fact, dtype))

    return method


class Methods:
    """The half of operations.Library that is methods; each half calls the other."""

    interpreter: Any
    attention: Any
    binary: Any
    elementwise: Any
    activation: Any
    index: Any

    def attribute(self, x: Tensor, name: str, node: Any) -> Any:
        if name == "shape":
            return x.shape
        if name == "ndim":
            return len(x.shape)
        if name in ("T", "mT"):
            return permuted(x, tuple(range(len(x.shape) - 2)) + (len(x.shape) - 1, len(x.shape) - 2))
        if name in ("device", "dtype", "data", "is_cuda"):
            return x if name == "data" else Path("torch." + {"f32": "float32", "f16": "float16"}.get(x.dtype, x.dtype))
        return Bound(lambda *a, **w: self.method(x, name, list(a), w, node, self.interpreter.call_scope), name)

    def method(self, x: Tensor, name: str, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        inplace = name.endswith("_") and not name.startswith("_")
        method = getattr(self, "on_" + name.rstrip("_"), None)
        line = getattr(node, "lineno", self.line)
        if any(isinstance(a, Opaque) for a in args) and method is not None:
            return next(a for a in args if isinstance(a, Opaque))
        if method is not None:
            made = method(x, args, words, line, scope)
        elif name in ELEMENTWISE or name.rstrip("_") in ELEMENTWISE:
            made = self.elementwise(x, name)
        elif name in REDUCING:
            made = self.reduce(x, name, args, words)
        else:
            return Opaque(f"'.{name}()'", line)
        if inplace and isinstance(made, Tensor):
            x.shape, x.strides, x.fact, x.factor = made.shape, made.strides, made.fact, made.factor
            return x
        return made

    def reduce(self, x: Tensor, name: str, args: List[Any], words: Dict[str, Any]) -> Any:
        dims = args[0] if args else words.get("dim", words.get("axis"))
        if name in ("max", "min") and isinstance(dims, Tensor):
            return fresh(broadcast(x.shape, dims.shape), x.origin, x.dtype)
        if dims is None:
            return fresh((), x.origin, x.dtype)
        keep = args[1] if len(args) > 1 and isinstance(args[1], bool) else words.get("keepdim", False)
        gone = {axis(x, d) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))}
        shape = tuple(1 if i in gone else s for i, s in enumerate(x.shape) if keep or i not in gone)
        made = fresh(shape, x.origin, x.dtype)
        return (made, fresh(shape, x.origin, "i64")) if name in ("max", "min", "sort", "topk") else made

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

    def on_contiguous(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return contiguous(x)

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
        fact = x.fact if at <= len(x.shape) - 2 or isinstance(x.fact, Fill) else None
        shape, strides = x.shape[:at] + (1,) + x.shape[at:], x.strides[:at] + (stride,) + x.strides[at:]
        return like(x, shape=shape, strides=strides, fact=fact)

    def on_squeeze(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        gone = [axis(x, args[0])] if args else range(len(x.shape))
        keep = [i for i, s in enumerate(x.shape) if i not in gone or s != 1]
        fact = x.fact if len(x.shape) - len(keep) == 0 or (keep[-2:] == [len(x.shape) - 2, len(x.shape) - 1]) else None
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
        return fresh(tuple(s * t for s, t in zip(shape, times)), x.origin, x.dtype)

    def on_repeat_interleave(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        times, dim = args[0], args[1] if len(args) > 1 else words.get("dim")
        if not isinstance(times, int) or dim is None:
            return Opaque("repeat_interleave()", line)
        at = axis(x, dim)
        return fresh(x.shape[:at] + (x.shape[at] * times,) + x.shape[at + 1 :], x.origin, x.dtype)

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
        if isinstance(x.fact, Logits):
            return like(x, fact=self.attention.masked(x, args[0], args[1]))
        if isinstance(x.fact, Fill) and isinstance(args[0], Tensor) and isinstance(args[0].fact, Triangle):
            t = args[0].fact
            value = [args[1] if v else x.fact.value for v in (t.inside, t.outside)]
            shape = broadcast(x.shape, args[0].shape)
            return fresh(shape, "a constant", x.dtype, Triangle(t.diagonal, t.lower, *value))
        return like(x, fact=self.attention.of_other(x.fact))

    def on_softmax(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.attention.softmax(x, args[0] if args else words.get("dim", -1), line)

    def on_relu(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        return self.activation(x, "ReLU")

    def on_matmul(self, x: Tensor, args: Any, words: Any, line: int, scope: Any) -> Any:
        nodes = self.operand_nodes(scope)
        return self.attention.product(x, args[0], nodes, self.interpreter.call_node, self.interpreter.call_scope)

    on_bmm = on_matmul
    on_mm = on_matmul

    def operand_nodes(self, scope: Any) -> Any:
        """The expressions of both operands of torch.matmul(a, b) or a.matmul(b)."""
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
            if isinstance(value, Path) and value.name in TYPES:
                dtype = TYPES[value.name]
                return like(x, dtype=dtype, fact=as_type(x.fact, dtype))
        return x

    on_cuda = on_cpu = on_clone = on_detach = on_requires_grad = on_type_as = on_to
