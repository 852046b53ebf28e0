"""heed.jax.attention(): attention inside JAX programs.

>>> import heed.jax
>>> o = jax.jit(heed.jax.attention)(q, k, v)

XLA calls heed through its foreign function interface: under jit, in scans and loops, on a CPU or a
CUDA device. vmap folds the mapped dimension into the batch, without a loop. heed has no backward pass
yet: JAX computes gradients from the definition, with all logits in memory. docs/python.md has an
example.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from ctypes import sizeof
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import jax
import jax.custom_batching
import jax.ffi
import jax.numpy as jnp
import numpy as np

from . import _library as c
from . import _values
from ._arrays import View, dense, refuse_dtype
from ._context import context_of
from ._errors import ArgumentTypeError, UnsupportedError, type_error
from ._fields import (
    LAYOUTS,
    Words,
    checked,
    expression,
    fill_mask,
    fill_operands,
    fill_sizes,
    in_layout,
    order,
)
from ._library import library
from ._plan import Plan
from ._problem import OPERANDS, Problem
from ._types import DTYPES, OF_Q

__all__ = ["attention"]

_FUNCTIONS = (
    "heed_message",
    "heed_context_create",
    "heed_problem_parse_sized",
    "heed_plan_create",
    "heed_plan_workspace_size",
    "heed_execute",
)


class _Call(NamedTuple):
    """A call without its arrays; it has a hash."""

    words: Words
    operands: Tuple[str, ...]  # those that are given


# ---- The call ------------------------------------------------------------------------------------


def _register() -> None:
    """Register the functions of heed_jax.so with XLA, after giving it those of libheed."""
    folder = os.path.dirname(c.PATH) or os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.abspath(folder), "heed_jax.so")
    try:
        handler = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"heed_jax.so cannot be loaded from {path}: {error}") from None
    functions = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    handler.heed_jax_use((ctypes.c_void_p * len(functions))(*functions))
    jax.ffi.register_ffi_target(
        "heed_attention", jax.ffi.pycapsule(handler.heed_jax_cpu), platform="cpu"
    )
    cuda = jax.ffi.pycapsule(handler.heed_jax_cuda)
    jax.ffi.register_ffi_target(
        "heed_attention", {"initialize": cuda, "execute": cuda}, platform="CUDA"
    )


_register()


def _view(name: str, x: Any) -> View:
    """A traced array, which has no elements."""
    dtype = DTYPES.get(str(x.dtype))
    if dtype is None or dtype == "i64":
        raise refuse_dtype(name, x.dtype)
    return View(0, tuple(x.shape), dense(x.shape), dtype, "cpu", x, None)


def _describe(call: _Call, views: Dict[str, View]) -> Tuple[Problem, Tuple[int, ...]]:
    """The problem of a call, and the sizes of O: batch, queries, heads and head dim."""
    words, layout = call.words, LAYOUTS[call.words.layout]
    fields = c.Problem(size=sizeof(c.Problem))
    fields.products = c.PRODUCTS[words.products]
    operands = {name: views[name] for name in call.operands}
    most = (None, None)
    sizes = fill_sizes(fields, views["q"], views["k"], views["v"], operands, layout, most, False)
    shape = in_layout(sizes, layout)
    _, fields.o = order("out", _view("out", jax.ShapeDtypeStruct(shape, jnp.float32)), layout)
    if words.scale is not None:
        fields.scale = words.scale
    fields.softcap = words.softcap
    fields.score = expression("score", words.score)
    fields.visible = expression("visible", words.visible)
    fill_mask(fields, words.causal, words.window, words.chunk, words.align)
    fill_operands(fields, operands)
    return Problem._of(fields), sizes


def _devices(platform: str) -> Tuple[str, ...]:
    """The CPU and one GPU of each kind in this process: it is unknown during tracing where the call
    will run."""
    if platform != "gpu":
        return ("cpu",)
    kinds = {device.device_kind: device for device in reversed(jax.local_devices(backend="gpu"))}
    return ("cpu", *(f"cuda:{device.local_hardware_id or 0}" for device in kinds.values()))


@functools.lru_cache(maxsize=256)
def _workspace(spec: str, platform: str) -> int:
    """The largest workspace, in bytes, that plans on the platform's devices and the CPU need."""
    devices = _devices(platform)
    sizes = [Plan(Problem(spec), context_of(device)).workspace_size for device in devices]
    return max(sizes) + c.ALIGNMENT


def _call(call: _Call, *arrays: Any) -> Tuple[Any, ...]:
    """O and, if it is wanted, the LSE."""
    names = ("q", "k", "v", *call.operands)
    views = {name: _view("mask" if name == "shown" else name, x) for name, x in zip(names, arrays)}
    problem, sizes = _describe(call, views)
    shape = in_layout(sizes, LAYOUTS[call.words.layout])
    results = [("o", jax.ShapeDtypeStruct(shape, arrays[0].dtype))]
    if call.words.return_lse:
        rows = (sizes[0], sizes[2], sizes[1])
        results.append(("lse", jax.ShapeDtypeStruct(rows, jnp.float32)))
    room = _workspace(str(problem), jax.default_backend())
    results.append(("workspace", jax.ShapeDtypeStruct((room,), jnp.uint8)))
    found = jax.ffi.ffi_call("heed_attention", tuple(shape for _, shape in results))(
        *arrays,
        spec=str(problem),
        arguments=np.array([getattr(c.Buffers, name).offset for name in names], np.int64),
        results=np.array([getattr(c.Buffers, name).offset for name, _ in results], np.int64),
    )
    return tuple(found[:-1])


# ---- vmap ----------------------------------------------------------------------------------------

#: The number of dimensions of an operand with a batch dimension, which is then the first.
_RANKS = {"bias": 4, "shown": 4, "slopes": 2, "sinks": 2, "starts": 2, "lengths": 1, "table": 2}


def _fold(x: Any, at: int) -> Any:
    """Fold the first dimension, the mapped one, into dimension @at of the others."""
    x = jnp.moveaxis(x, 0, at)
    return x.reshape(*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :])


def _spread(x: Any, mapped: bool, size: int) -> Any:
    return x if mapped else jnp.broadcast_to(x, (size, *x.shape))


def _fold_operand(name: str, x: Any, mapped: bool, size: int, batch: int) -> Any:
    """The operand for a batch that is @size times as large."""
    rank = _RANKS[name]
    own = x.shape[1:] if mapped else x.shape
    if not mapped and (len(own) < rank or (own[0] == 1 and batch > 1)):
        return x  # the same for all
    while len(own) < rank:
        own = (1, *own)
    x = x.reshape(*((size,) if mapped else ()), *own)
    x = jnp.broadcast_to(_spread(x, mapped, size), (size, batch, *own[1:]))
    return _fold(x, 0)


def _map(call: _Call, size: int, mapped: Any, *arrays: Any) -> Tuple[Any, Any]:
    """The vmap rule: the mapped dimension becomes part of the batch."""
    at = LAYOUTS[call.words.layout][0]
    batch = arrays[0].shape[at + (1 if mapped[0] else 0)]
    names = ("q", "k", "v", *call.operands)
    pools = "table" in names
    apart = not pools or mapped[1] or mapped[2]  # each has its own keys
    folded = []
    for name, x, own in zip(names, arrays, mapped):
        if name in OPERANDS:
            folded.append(_fold_operand(name, x, own, size, batch))
        elif name == "q" or apart:
            folded.append(_fold(_spread(x, own, size), at))
        else:
            folded.append(x)
    if pools and apart:  # the n-th pool's pages follow those of the pools before
        pages = folded[1].shape[at] // size
        table = names.index("table")
        first = jnp.repeat(jnp.arange(size, dtype=jnp.int32) * pages, batch)
        folded[table] = folded[table] + first[:, None]
    found = _mapped(call)(*folded)
    results = [_unfold(x, 0 if i else at, size) for i, x in enumerate(found)]
    return tuple(results), tuple(True for _ in results)


def _unfold(x: Any, at: int, size: int) -> Any:
    x = x.reshape(*x.shape[:at], size, x.shape[at] // size, *x.shape[at + 1 :])
    return jnp.moveaxis(x, at, 0)


@functools.lru_cache(maxsize=256)
def _mapped(call: _Call) -> Callable[..., Any]:
    mapped: Any = jax.custom_batching.custom_vmap(functools.partial(_call, call))
    mapped.def_vmap(functools.partial(_map, call))
    return mapped  # type: ignore[no-any-return]


# ---- The gradient --------------------------------------------------------------------------------


def _positions(words: Words, queries: int, keys: Any) -> Any:
    """The positions of queries among the keys, (batch or 1, 1, queries, 1)."""
    rows = jnp.arange(queries)[None, None, :, None]
    if "bottom-right" in (words.causal, words.align):
        return rows + keys - queries
    return rows


def _seen(words: Words, given: Dict[str, Any], shape: Tuple[int, int], lengths: Any) -> Any:
    """Which keys each query sees: booleans that broadcast to (batch, heads, queries, keys)."""
    p = _positions(words, shape[0], lengths)
    j = jnp.arange(shape[1])[None, None, None, :]
    seen = j < lengths
    if words.causal:
        seen &= j <= p
    far = sum(shape)  # exceeds all distances, and sums with it fit int32
    if words.window is not None:
        left, right = words.window
        seen &= True if left is None else j >= p - min(left, far)
        seen &= True if right is None else j <= p + min(right, far)
    if words.chunk:
        chunk = min(words.chunk, far)
        seen &= j // chunk == p // chunk
    if "starts" in given:
        starts = given["starts"]
        seen &= j >= starts.reshape(-1, 1, shape[0], 1)
    if "shown" in given:
        seen &= given["shown"]
    return seen


def _logits(words: Words, given: Dict[str, Any], q: Any, k: Any, lengths: Any) -> Any:
    """The logits in float32; q and k are (batch, heads, sequence, dim)."""
    scale = 1 / math.sqrt(q.shape[-1]) if words.scale is None else words.scale
    t = scale * jnp.einsum("bhqd,bhkd->bhqk", q, k)
    if words.softcap:
        t = words.softcap * jnp.tanh(t / words.softcap)
    if "bias" in given:
        t = t + given["bias"].astype(jnp.float32)
    if "slopes" in given:
        distance = jnp.abs(_positions(words, t.shape[2], lengths) - jnp.arange(t.shape[3]))
        slopes = given["slopes"]
        t = t - slopes.reshape(-1, slopes.shape[-1], 1, 1) * distance
    return t


def _define(call: _Call, *arrays: Any) -> Tuple[Any, ...]:
    """The definition of attention, which JAX can differentiate."""
    words, given = call.words, dict(zip(call.operands, arrays[3:]))
    for name, what in (("score", words.score), ("visible", words.visible), ("table", None)):
        if what or name in given:
            raise UnsupportedError(f"{name}: heed.jax has no gradient with it; leave it out")
    layout = LAYOUTS[words.layout]
    to_bhsd = (layout[0], layout[2], layout[1], 3)
    q, k, v = (jnp.transpose(x, to_bhsd).astype(jnp.float32) for x in arrays[:3])
    group = q.shape[1] // k.shape[1]
    k, v = jnp.repeat(k, group, 1), jnp.repeat(v, group, 1)
    lengths = given["lengths"].reshape(-1, 1, 1, 1) if "lengths" in given else k.shape[2]
    seen = _seen(words, given, (q.shape[2], k.shape[2]), lengths)
    t = jnp.where(seen, _logits(words, given, q, k, lengths), -jnp.inf)
    most = jnp.max(t, -1, keepdims=True)
    if "sinks" in given:
        sinks = given["sinks"].reshape(-1, q.shape[1], 1, 1)
        most = jnp.maximum(most, sinks)
    most = jax.lax.stop_gradient(jnp.where(jnp.isfinite(most), most, 0))
    weights = jnp.where(seen, jnp.exp(jnp.where(seen, t, 0) - most), 0)
    total = jnp.sum(weights, -1, keepdims=True)
    if "sinks" in given:
        total = total + jnp.exp(sinks - most)
    whole = jnp.where(total > 0, total, 1)
    o = jnp.einsum("bhqk,bhkd->bhqd", weights / whole, v)
    o = jnp.transpose(o, tuple(np.argsort(to_bhsd))).astype(arrays[0].dtype)
    if not words.return_lse:
        return (o,)
    lse = jnp.where(total > 0, jnp.log(whole) + most, -jnp.inf)
    return (o, lse[..., 0])


@functools.lru_cache(maxsize=256)
def _differentiable(call: _Call) -> Callable[..., Any]:
    found: Any = jax.custom_vjp(_mapped(call))

    def forward(*arrays: Any) -> Tuple[Any, Any]:
        return found(*arrays), arrays  # differentiable again

    def backward(arrays: Any, cotangents: Any) -> Any:
        _, pull = jax.vjp(functools.partial(_define, call), *arrays)
        return pull(cotangents)

    found.defvjp(forward, backward)
    return found  # type: ignore[no-any-return]


# ---- The function --------------------------------------------------------------------------------


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: "bool | str" = False,
    window: Optional[Tuple[Optional[int], Optional[int]]] = None,
    chunk: Optional[int] = None,
    align: Optional[str] = None,
    softcap: float = 0.0,
    bias: Any = None,
    mask: Any = None,
    slopes: Any = None,
    sinks: Any = None,
    starts: Any = None,
    lengths: Any = None,
    table: Any = None,
    score: Optional[str] = None,
    visible: Optional[str] = None,
    scale: Optional[float] = None,
    layout: str = "bshd",
    return_lse: bool = False,
    products: str = "full",
) -> Any:
    """heed.attention() for JAX arrays, traced or not, with the same arguments and shapes.

    Args:
        q, k, v, bias, mask, slopes, sinks, starts, lengths, table: arrays of JAX or NumPy.
        the others: as in heed.attention(). They are static: part of the traced program.
            jax.default_matmul_precision() does not change @products.

    Returns:
        out, or (out, lse), arrays of JAX.

    Raises:
        InvalidError, ArgumentTypeError: as heed.attention(), while the function is traced.
        UnsupportedError: a gradient is requested with score, visible or table.

    JAX computes gradients of q, k, v, bias, slopes and sinks from the definition in float32, with
    memory for batch * heads * queries * keys logits. Its own precision applies to their products.
    """
    _values.word("layout", layout, tuple(LAYOUTS))
    words = checked(
        Words(
            causal,
            window,
            chunk,
            align,
            softcap,
            score,
            visible,
            scale,
            layout,
            return_lse,
            products=products,
        )
    )
    expression("score", score)
    expression("visible", visible)
    given = {
        name: x
        for name, x in zip(OPERANDS, (bias, mask, slopes, sinks, starts, lengths, table))
        if x is not None
    }
    arrays = []
    for name, x in (("q", q), ("k", k), ("v", v), *given.items()):
        if not hasattr(x, "dtype") or not hasattr(x, "shape"):
            raise type_error(name, x, "an array of JAX or NumPy")
        try:
            arrays.append(jnp.asarray(x))
        except (TypeError, ValueError):  # such as NumPy's objects
            raise ArgumentTypeError(
                f"{name}: {type(x).__name__} of dtype {x.dtype} cannot become an array of JAX; pass "
                "numbers in native byte order, and array.filled() of a masked array"
            ) from None
    if str(arrays[0].dtype) not in OF_Q:
        raise refuse_dtype("q", arrays[0].dtype)
    found = _differentiable(_Call(words, tuple(given)))(*arrays)
    return found if words.return_lse else found[0]
