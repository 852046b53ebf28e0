"""The modules of torch.nn: the shapes of their results, and their work."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Tuple

from abstract import CannotTell, Opaque, Tensor, count, fresh, permuted, spoil, viewed, write
from attention import Rewrite, describe
from objects import Bound


class Layer:
    """A module of torch.nn."""

    def __init__(self, kind: str, args: List[Any], words: Dict[str, Any], library: Any) -> None:
        self.kind, self.args, self.words, self.library = kind, args, words, library

    def take(self, index: int, name: str, default: Any) -> Any:
        value = self.args[index] if index < len(self.args) else self.words.get(name, default)
        if isinstance(value, Opaque):
            raise CannotTell(f"{name} of nn.{self.kind}, {value.why},", value.line)
        return value

    def part(self, name: str) -> Any:
        if name in ("weight", "bias"):
            return self.parameter(name)
        return Opaque(f"'{name}' of nn.{self.kind}")

    def parameter(self, name: str) -> Any:
        if self.kind == "Linear":
            out, into = self.take(1, "out_features", 1), self.take(0, "in_features", 1)
            return Tensor((out, into) if name == "weight" else (out,), learned=True, origin="a parameter")
        return Opaque(f"the {name} of nn.{self.kind}")

    def forward(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        method = getattr(self, "of_" + self.kind, None)
        if self.kind in ("MultiheadAttention", "TransformerEncoderLayer", "TransformerEncoder"):
            return method(args, words, node, scope)
        x = args[0] if args else words.get("input")
        made = self.made_of(x, method, node)
        if self.in_place():
            if isinstance(x, Tensor) and isinstance(made, Tensor):
                write(x, made)
                return x
            spoil(x)
        return made

    def in_place(self) -> bool:
        at = INPLACE.get(self.kind)
        given = self.args[at] if at is not None and at < len(self.args) else self.words.get("inplace", False)
        return given is not False

    def made_of(self, x: Any, method: Any, node: Any) -> Any:
        """Returns the output of a module with one input."""
        if isinstance(x, Opaque):
            if "Softmax" in self.kind:
                self.library.attention.softmax(x, -1, node.lineno)
            return x
        if self.kind in SAME:
            return self.library.elementwise(x, self.kind)
        family, rank = self.kind[:-2], self.kind[-2:-1]
        if family in SPATIAL and rank.isdigit() and isinstance(x, Tensor):
            return getattr(self, SPATIAL[family])(x, int(rank))
        if method is None or not isinstance(x, Tensor):
            if self.kind in HIDING:
                self.library.book.opaque.append((f"nn.{self.kind}", node.lineno))
            return Opaque(f"nn.{self.kind}", node.lineno)
        return method(x, node)

    def of_Identity(self, x: Tensor, node: Any) -> Any:
        return x

    def of_Dropout(self, x: Tensor, node: Any) -> Any:
        return self.library.dropout(x, self.take(0, "p", 0.5))

    of_Dropout1d = of_Dropout2d = of_Dropout3d = of_Dropout

    def of_Softmax(self, x: Tensor, node: Any) -> Any:
        dim = self.library.dim_of(x, [self.take(0, "dim", None)], {})
        return self.library.attention.softmax(x, dim, node.lineno)

    def of_LogSoftmax(self, x: Tensor, node: Any) -> Any:
        return self.library.on_log_softmax(x, [self.take(0, "dim", None)], {}, node.lineno, None)

    def of_ReLU(self, x: Tensor, node: Any) -> Any:
        return self.library.activation(x, "ReLU")

    def of_Linear(self, x: Tensor, node: Any) -> Any:
        return self.library.linear(x, self.take(1, "out_features", 1), self.take(0, "in_features", 1))

    def of_Flatten(self, x: Tensor, node: Any) -> Any:
        return self.library.flatten(x, self.take(0, "start_dim", 1), self.take(1, "end_dim", -1))

    def of_Embedding(self, x: Tensor, node: Any) -> Any:
        return fresh(x.shape + (self.take(1, "embedding_dim", 1),), "nn.Embedding")

    def convolve(self, x: Tensor, rank: int) -> Any:
        kernel, stride, padding, dilation = (
            each(self.take(2, "kernel_size", 1), rank),
            each(self.take(3, "stride", 1), rank),
            each(self.take(4, "padding", 0), rank),
            each(self.take(5, "dilation", 1), rank),
        )
        groups = self.take(6, "groups", 1)
        if not all(isinstance(v, int) for v in kernel + stride + padding + dilation):
            return Opaque(f"nn.{self.kind}")
        space = tuple(
            (s + 2 * p - d * (k - 1) - 1) // t + 1
            for s, k, t, p, d in zip(x.shape[-rank:], kernel, stride, padding, dilation)
        )
        shape = x.shape[: -rank - 1] + (self.take(1, "out_channels", 1),) + space
        each_one = 2.0 * math.prod(kernel) * self.take(0, "in_channels", 1) / groups
        self.library.book.add_work("convolution", count(shape) * each_one)
        return fresh(shape, f"nn.{self.kind}", x.dtype)

    def spread(self, x: Tensor, rank: int) -> Any:
        """A transposed convolution."""
        kernel, stride, padding, extra = (
            each(self.take(2, "kernel_size", 1), rank),
            each(self.take(3, "stride", 1), rank),
            each(self.take(4, "padding", 0), rank),
            each(self.take(5, "output_padding", 0), rank),
        )
        dilation, out = each(self.take(8, "dilation", 1), rank), self.take(1, "out_channels", 1)
        space = tuple(
            (s - 1) * t - 2 * p + d * (k - 1) + e + 1
            for s, k, t, p, e, d in zip(x.shape[-rank:], kernel, stride, padding, extra, dilation)
        )
        self.library.book.add_work("convolution", 2.0 * count(x.shape) * math.prod(kernel) * out)
        return fresh(x.shape[: -rank - 1] + (out,) + space, f"nn.{self.kind}", x.dtype)

    def pool(self, x: Tensor, rank: int) -> Any:
        kernel = each(self.take(0, "kernel_size", 1), rank)
        stride = each(self.take(1, "stride", None) or kernel, rank)
        padding = each(self.take(2, "padding", 0), rank)
        space = tuple(
            (s + 2 * p - k) // t + 1 for s, k, t, p in zip(x.shape[-rank:], kernel, stride, padding)
        )
        return fresh(x.shape[:-rank] + space, f"nn.{self.kind}", x.dtype)

    def adapt(self, x: Tensor, rank: int) -> Any:
        wanted = each(self.take(0, "output_size", 1), rank)
        space = tuple(s if w is None else w for s, w in zip(x.shape[-rank:], wanted))
        return fresh(x.shape[:-rank] + space, f"nn.{self.kind}", x.dtype)

    # ---- Attention inside a module ----

    def of_MultiheadAttention(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        named = dict(zip(("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask"), args))
        named.update(words)
        q, k, v = (named.get(name) for name in ("query", "key", "value"))
        if not all(isinstance(x, Tensor) for x in (q, k, v)):
            self.library.book.opaque.append(("the inputs of nn.MultiheadAttention", node.lineno))
            return (Opaque("nn.MultiheadAttention", node.lineno), None)
        found = self.multihead((q, k, v), node, self.take(8, "batch_first", False), self.take(0, "embed_dim", 1))
        wanted = named.get("need_weights", True) is True
        if any(named.get(name) is not None for name in ("attn_mask", "key_padding_mask")):
            found.unfit.append("its mask is a tensor")
        elif named.get("is_causal", False) is not False:
            found.unfit.append("its is_causal has no mask beside it")
        if self.take(4, "add_bias_kv", False) or self.take(5, "add_zero_attn", False):
            found.unfit.append("keys and values are added to those of its input")
        if wanted:
            found.notes.append("averaged weights are made too: need_weights is true")
        found.rewrite = Rewrite("module", node, scope.frame, (), False, None)
        if not (q is k is v) or len(q.shape) != 3:
            found.rewrite.refusal = "queries, keys and values of nn.MultiheadAttention are not one tensor of batches"
        out = fresh(q.shape, "nn.MultiheadAttention", q.dtype)
        return (out, Opaque("averaged weights", node.lineno) if wanted else None)

    def multihead(self, tensors: Tuple[Any, Any, Any], node: Any, batch_first: bool, width: int) -> Any:
        """Handles attention of inputs [sequence, batch, width], or batch first."""
        q, k, v = tensors
        heads = self.take(1, "num_heads" if self.kind == "MultiheadAttention" else "nhead", 1)
        if width % heads or q.shape[-1] != width or len(q.shape) not in (2, 3):
            raise CannotTell(f"nn.{self.kind} of {width} with {heads} heads on {q.shape}", node.lineno)
        linear = self.library.linear
        inside = []
        for x in (q, k, v):
            x = x if len(x.shape) == 3 else viewed(x, (1,) + x.shape if batch_first else (x.shape[0], 1, x.shape[1]))
            order = (1, 0, 2) if batch_first else (0, 1, 2)  # torch works on [sequence, batch, width]
            moved = permuted(x, order)
            x = linear(fresh(moved.shape, x.origin, x.dtype), width, width)
            s, b = x.shape[0], x.shape[1]
            inside.append(permuted(viewed(x, (s, b, heads, width // heads)), (1, 2, 0, 3)))
        self.library.book.add_work("linear map", 2.0 * count(inside[0].shape) * width)
        scale = 1.0 / math.sqrt(width // heads)
        found = describe(*inside, scale, "", [], f"nn.{self.kind}", node.lineno)
        if not batch_first and found.seq_q <= 4 and found.batch > 16 * found.seq_q:
            found.notes.append(
                f"batch_first is not set, so {found.batch} positions are taken for the batch and a batch of "
                f"{found.seq_q} for the sequence: queries see the other samples"
            )
        if self.take(2, "dropout", 0.0) not in (0, 0.0) and self.kind == "MultiheadAttention":
            found.unfit.append("its weights are dropped out")
        self.library.book.found.append(found)
        return found

    def of_TransformerEncoderLayer(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        x = args[0] if args else words.get("src")
        if not isinstance(x, Tensor):
            self.library.book.opaque.append(("the input of nn.TransformerEncoderLayer", node.lineno))
            return Opaque("nn.TransformerEncoderLayer", node.lineno)
        width = self.take(0, "d_model", 1)
        found = self.multihead((x, x, x), node, self.take(6, "batch_first", False), width)
        if self.take(3, "dropout", 0.1) not in (0, 0.0):
            found.unfit.append("its weights are dropped out")
        given = [*args[1:], *(value for name, value in words.items() if name != "src")]
        if any(value is not None and value is not False for value in given):
            found.unfit.append("its mask is a tensor")
        found.rewrite = Rewrite("module", node, scope.frame, (), False, None, "it is inside nn.TransformerEncoderLayer")
        inner = self.take(2, "dim_feedforward", 2048)
        self.library.book.add_work("linear map", 2.0 * count(x.shape) * inner)
        self.library.book.add_work("linear map", 2.0 * count(x.shape) * inner)
        return fresh(x.shape, "nn.TransformerEncoderLayer", x.dtype)

    def of_TransformerEncoder(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        layer, layers = self.take(0, "encoder_layer", None), self.take(1, "num_layers", 1)
        if not isinstance(layer, Layer) or not isinstance(layers, int) or layers > 1000:
            raise CannotTell("the layers of nn.TransformerEncoder", node.lineno)
        words = dict(words)
        x = args[0] if args else words.pop("src", None)
        for _ in range(layers):
            x = layer.forward([x, *args[1:]], words, node, scope)
        return x


class Listed:
    """nn.Sequential, nn.ModuleList, nn.ModuleDict."""

    def __init__(self, kind: str, parts: Any, library: Any) -> None:
        self.kind, self.parts, self.library = kind, parts, library

    def forward(self, args: List[Any], words: Dict[str, Any], node: Any, scope: Any) -> Any:
        if self.kind != "Sequential":
            raise CannotTell(f"a call of nn.{self.kind}", node.lineno)
        x: Any = args[0]
        for part in self.parts.values() if isinstance(self.parts, dict) else self.parts:
            x = self.library.interpreter.call(part, [x], {}, node, scope)
        return x

    def part(self, name: str) -> Any:
        if isinstance(self.parts, dict) and name in self.parts:
            return self.parts[name]
        if name in ("append", "add_module", "extend", "items", "keys", "values"):
            return Bound(getattr(self, "do_" + name), name)
        return Opaque(f"'{name}' of nn.{self.kind}")

    def do_append(self, part: Any) -> Any:
        self.parts.append(part)
        return self

    def do_extend(self, parts: Any) -> Any:
        self.parts.extend(parts)
        return self

    def do_add_module(self, name: str, part: Any) -> None:
        self.parts.append(part)

    def do_items(self) -> Any:
        return list(self.parts.items())

    def do_keys(self) -> Any:
        return list(self.parts.keys())

    def do_values(self) -> Any:
        return list(self.parts.values())


def each(value: Any, rank: int) -> Tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank


#: Modules with the number of dimensions at the end of their name, and the method that handles them.
SPATIAL = {
    "Conv": "convolve", "ConvTranspose": "spread", "MaxPool": "pool", "AvgPool": "pool",
    "AdaptiveAvgPool": "adapt", "AdaptiveMaxPool": "adapt",
}

#: Modules that preserve the shape.
SAME = {
    "LayerNorm", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "GELU", "SiLU", "Tanh", "Sigmoid", "Hardtanh", "Hardswish", "Hardsigmoid",
    "LeakyReLU", "ELU", "SELU", "CELU", "ReLU6", "Softplus", "Softsign", "Mish", "PReLU", "LogSigmoid", "Threshold",
}

#: Modules that may work in place, and the number of the argument that selects this.
INPLACE = {"ReLU": 0, "ReLU6": 0, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Hardsigmoid": 0, "SELU": 0, "Dropout": 1,
           "Dropout1d": 1, "Dropout2d": 1, "Dropout3d": 1, "ELU": 1, "CELU": 1, "LeakyReLU": 1, "Hardtanh": 2,
           "Threshold": 2}

#: Modules with attention inside, or possibly: an unsupported module may still have it.
HIDING = {"Transformer", "TransformerDecoder", "TransformerDecoderLayer", "Softmax2d"}
