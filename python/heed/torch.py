"""heed for PyTorch: scaled_dot_product_attention() with torch's signature and meaning.

>>> import heed.torch
>>> o = heed.torch.scaled_dot_product_attention(q, k, v, is_causal=True)

It is an operator of torch (torch.ops.heed.scaled_dot_product_attention), which torch.compile takes
whole, and which works under torch.autocast and torch.vmap. Nothing falls back to torch but the
backward pass, which heed has not yet; a warning says so, once.

enable() puts it behind torch.nn.functional.scaled_dot_product_attention; report() says which
kernels served the calls of the program, and why the others went to torch.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from types import TracebackType
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Type

import torch
from torch import Tensor
from torch.nn import functional

from . import _again, _report, _values
from ._arrays import has_tangent
from ._attention import attend, compute
from ._errors import ArgumentTypeError, HeedError, InvalidError, LostError, UnsupportedError
from ._fields import Words
from ._lock import Lock
from ._plan import Plan
from ._report import Report

__all__ = ["Report", "disable", "enable", "report", "scaled_dot_product_attention"]

_of_torch = functional.scaled_dot_product_attention
_calls = _again.Calls(256)
_repeat = _again.module.again_plain if _again.module else None


def _is_broadcast(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> bool:
    """Whether torch takes the long way, whose result is dense: for other than four dimensions, and
    for keys that batch elements or, without enable_gqa, heads share."""
    shown = 1 if enable_gqa else 2
    return query.dim() != 4 or any(
        x.dim() != 4 or x.shape[:shown] != query.shape[:shown] for x in (key, value)
    )


def _is_dense(query: Tensor, value: Tensor, dense: bool) -> bool:
    return dense or query.shape[-1] != value.shape[-1] or query.stride(-1) != 1


def _result(query: Tensor, value: Tensor, dense: bool) -> Tensor:
    """A tensor for O, with torch's own strides: dense, or in the order of query's dimensions."""
    if _is_dense(query, value, dense):
        return query.new_empty((*query.shape[:-1], value.shape[-1]))
    return torch.empty_like(query)


#: Names of heed.attention() in its messages, and those that they have here.
_NAMES = {"q": "query", "k": "key", "v": "value", "bias": "attn_mask", "mask": "attn_mask"}
_NAMED = re.compile(r"^(q|k|v|bias|mask)(?=:)|(?<=that of )[qk]\b|\bq(?= on )")


def _renamed(error: HeedError) -> HeedError:
    return type(error)(_NAMED.sub(lambda found: _NAMES[found[0]], str(error)))


def _compute(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dense: bool,
    want_plan: bool = False,
) -> Tuple[Tensor, Optional[Plan]]:
    """O of four dimensions and, if it is wanted and there is one, the plan."""
    o, fits = _result(query, value, dense), query.shape[-1] == key.shape[-1]
    if fits and key.shape[:-1] == value.shape[:-1] and not (o.numel() and key.shape[2]):
        return o.zero_(), None  # heed has no empty problems
    words = Words(
        causal="top-left" if causal else False, scale=_values.scale("scale", scale), layout="bhsd"
    )
    shown = mask is not None and mask.dtype is torch.bool
    given = (None, mask) if shown else (mask, None)
    try:
        if want_plan:
            return o, compute(query, key, value, given, words, out=o)[2]
        attend(query, key, value, given, words, out=o)
    except HeedError as error:
        raise _renamed(error) from None
    return o, None


@torch.library.custom_op("heed::scaled_dot_product_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dense: bool = False,
) -> Tensor:
    with torch.no_grad():
        return _compute(query, key, value, mask, causal, scale, dense)[0]


@_forward.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dense: bool = False,
) -> Tensor:
    return _result(query, value, dense)


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    query, key, value, mask, ctx.causal, ctx.scale = inputs[:6]
    ctx.save_for_backward(query, key, value, mask)


def _differentiate(ctx: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:
    """Torch's gradients: its own attention is computed again, and differentiated."""
    warnings.warn("heed has no backward pass yet: torch computes gradients")
    given: List[Any] = [x if x is None else x.detach() for x in ctx.saved_tensors]
    query, key, value, mask = given
    inputs = [x for x, wanted in zip(given, ctx.needs_input_grad) if wanted]
    with torch.enable_grad():
        for x in inputs:
            x.requires_grad_()
        o = _of_torch(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=ctx.causal,
            scale=ctx.scale,
            enable_gqa=bool(query.shape[1] != key.shape[1]),
        )
        found = iter(torch.autograd.grad(o, inputs, gradient))
    return tuple(next(found) if wanted else None for wanted in ctx.needs_input_grad)


_forward.register_autograd(_differentiate, setup_context=_keep)


def _batched(x: Optional[Tensor], dim: Optional[int], size: int) -> Optional[Tensor]:
    """A tensor with the dimension that vmap took in front, as part of its first one."""
    if x is None:
        return None
    x = x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return x.flatten(0, 1)


@_forward.register_vmap
def _(
    info: Any,
    dims: Tuple[Optional[int], ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dense: bool = False,
) -> Tuple[Tensor, int]:
    size = info.batch_size
    batch = query.shape[0 if dims[0] is None or dims[0] > 0 else 1]
    if mask is not None:  # without its own batch it would be taken for one of all
        rest = mask.dim() - (dims[3] is not None)
        lead = mask if dims[3] is None else mask.movedim(dims[3], 0)
        shape = (*(1,) * (4 - rest), *lead.shape[lead.dim() - rest :])
        lead = lead.reshape(size if dims[3] is not None else 1, *shape)
        mask = lead.expand(size, batch, *shape[1:]).flatten(0, 1)
    q, k, v = (_batched(x, dim, size) for x, dim in zip((query, key, value), dims))
    o = _forward(q, k, v, mask, causal, scale, dense)
    return o.unflatten(0, (size, batch)), 0


# Private functions of torch that tell of what an operator is for; without them every call is one.
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
_transforms = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)


def _wants_operator(*tensors: Tensor) -> bool:
    """Whether a call must be an operator's: for a gradient, a trace, vmap or a mode of dispatch.
    An operator that is defined in Python takes 20 us to call."""
    return (
        _modes is None
        or _transforms is None
        or torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or _modes() > 0
        or _transforms() is not None
        or any(type(x) is not Tensor for x in tensors)
        or (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
    )


_interpreters = getattr(getattr(torch._C, "_functorch", None), "get_interpreter_stack", None)


def _refuse_transforms(*tensors: Optional[Tensor]) -> None:
    """Raise where a gradient of torch.func, or a tangent, would be lost."""
    if any(x is not None and has_tangent(x) for x in tensors):
        raise UnsupportedError(
            "forward-mode gradients (torch.func.jvp): heed has none; use torch's own attention"
        )
    stack = _interpreters() if _interpreters and not torch.compiler.is_compiling() else None
    if any(level.key().name == "Grad" for level in stack or ()):
        raise UnsupportedError(
            "gradients of torch.func (grad, vjp, jacrev): heed has none; use tensor.backward() or "
            "torch.autograd.grad(), or torch's own attention"
        )


def _check(own: Tuple[Any, ...], dropout_p: float, is_causal: bool, enable_gqa: bool) -> None:
    """Raise for arguments that torch refuses, or that are not heed's."""
    query, _, _, _, mask = own
    for name, x in zip(("query", "key", "value", "out", "attn_mask"), own):
        if not isinstance(x, Tensor):
            if x is not None or name in ("query", "key", "value"):
                raise ArgumentTypeError(f"{name}: {type(x).__name__} is no torch.Tensor; pass one")
        elif x.is_nested or x.layout is not torch.strided:
            kind = "nested tensor" if x.is_nested else f"tensor of layout {x.layout}"
            raise ArgumentTypeError(f"{name}: a {kind} has no strides; pass a strided one")
    for name, word in (("is_causal", is_causal), ("enable_gqa", enable_gqa)):
        if not isinstance(word, bool):
            raise ArgumentTypeError(f"{name}: {type(word).__name__} is no bool; pass one")
    if dropout_p != 0:
        raise UnsupportedError(f"dropout_p: {dropout_p}, and heed has no dropout; pass 0")
    if is_causal and mask is not None:
        raise InvalidError("attn_mask: must be None where is_causal is True")
    if enable_gqa and query.dim() == 2:
        raise InvalidError("query: 2 dimensions, where enable_gqa needs 3 or more, one of heads")


def _check_mask(mask: Tensor, query: Tensor) -> None:
    if mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise ArgumentTypeError(
            f"attn_mask: dtype {mask.dtype} is not bool, float32 or that of query, {query.dtype}"
        )


def _dims4(name: str, x: Tensor, lead: torch.Size) -> Tensor:
    """(batch, heads, length, dim); @lead has the query's dimensions before heads. A
    tensor with fewer of them is copied for the others, where strides cannot say so."""
    if x.dim() == 4 and len(lead) < 2:
        return x
    if x.dim() < 2:
        raise InvalidError(f"{name}: {x.dim()} dimensions, where there must be 2 or more")
    while x.dim() < 4:
        x = x.unsqueeze(0)
    if len(lead) < 2 and x.dim() == 4:
        return x
    own = x.shape[:-3]
    try:
        x = x.expand(*lead, *x.shape[-3:])
    except RuntimeError:
        raise InvalidError(
            f"{name}: its first dimensions are {tuple(own)}, those of query {tuple(lead)}"
        ) from None
    count = math.prod(lead)
    try:
        return x.view(count, *x.shape[-3:])
    except RuntimeError:
        if own != lead:
            return x.reshape(count, *x.shape[-3:])
        raise InvalidError(
            f"{name}: its first dimensions cannot be taken as one without a copy; pass "
            "tensor.contiguous()"
        ) from None


def _rows(mask: Tensor, keys: int) -> Tensor:
    """The mask with the elements of a row as neighbours: a copy, if it is not so already."""
    if mask.shape[-1] == 1 != keys:
        mask = mask.expand(*mask.shape[:-1], keys)
    return mask if mask.stride(-1) == 1 or mask.shape[-1] == 1 else mask.contiguous()


def _cast(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor, Optional[Tensor]]:
    """The tensors in the type of autocast, where that is on for their device."""
    kind = query.device.type
    if kind == "meta" or not torch.is_autocast_enabled(kind) or query.dtype is torch.float64:
        return query, key, value, mask
    dtype = torch.get_autocast_dtype(kind)
    if mask is not None and mask.dtype is not torch.bool:
        mask = mask.to(dtype)
    return query.to(dtype), key.to(dtype), value.to(dtype), mask


def _learn(words: Tuple[Any, ...], arrays: Tuple[Any, ...], dense: bool, plan: Plan) -> None:
    """Remember a call of torch's plain state that went well."""
    query, _, value, _, mask = arrays
    maker: Optional[_again.Maker] = (torch.empty_like, None, None)
    if _is_dense(query, value, dense):
        maker, _ = _again.makers_of(query, (*query.shape[:-1], value.shape[-1]), None)
    name = "shown" if mask is not None and mask.dtype is torch.bool else "bias"
    _calls.learn(words, arrays, (name,), plan, maker, None, keep=plan)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale * query key^T + attn_mask) value, as torch.nn.functional has it.

    Args:
        query: (batch, ..., heads, queries, dim) or fewer dimensions; float32, float16, bfloat16.
        key, value: the same of keys; their heads divide the query's, with enable_gqa.
        attn_mask: broadcasts to (batch, heads, queries, keys): bool, True for keys that take part,
            or numbers that are added, float32 or of query's type.
        dropout_p: 0; heed has no dropout.
        is_causal: query i sees keys j <= i (top left), and no attn_mask may be given.
        scale: None: 1 / sqrt(dim). 0: all keys that are seen weigh the same.
        enable_gqa: groups of query heads may share a head of key and value.

    Copied are a mask whose rows are not whole in memory (one of a single column, a transposed one),
    of more than four dimensions a key, value or mask with fewer batch elements than query, and under
    vmap a tensor without the mapped dimension; nothing else is.

    Returns:
        (batch, ..., heads, queries, dim of value), with torch's strides: in memory its dimensions
        have the order of query's where there are four, value's dim is query's, and no keys are
        broadcast; else it is dense. A row that sees no key is 0. Gradients are torch's: they are
        computed from query, key and value by torch's own attention.

    Raises:
        InvalidError, ArgumentTypeError: as heed.attention(), for what torch refuses too.
        UnsupportedError: dropout_p is not 0; a gradient of torch.func is wanted (grad, jvp).
    """
    if _repeat is not None and is_causal.__class__ is bool and not torch.compiler.is_compiling():
        said = (dropout_p, is_causal, scale, enable_gqa)
        again: Optional[Tensor] = _repeat(_calls.known, said, query, key, value, None, attn_mask)
        if again is not None:
            return again
    own = (query, key, value, None, attn_mask)
    _check(own, dropout_p, is_causal, enable_gqa)
    _refuse_transforms(query, key, value, attn_mask)
    lead = query.shape[:-3]
    dense = _is_broadcast(query, key, value, enable_gqa)
    query, key, value, attn_mask = _cast(query, key, value, attn_mask)
    q, k, v = _dims4("query", query, lead), _dims4("key", key, lead), _dims4("value", value, lead)
    batch, heads = q.shape[0], q.shape[1]
    if not enable_gqa and k.shape[1] not in (1, heads):
        raise InvalidError(
            f"key: it has {k.shape[1]} heads, query {heads}; groups of heads need enable_gqa=True"
        )
    if k.shape[0] == 1 != batch:
        k = k.expand(batch, -1, -1, -1)
    if v.shape[0] == 1 != batch:
        v = v.expand(batch, -1, -1, -1)
    mask = attn_mask
    if mask is not None:
        _check_mask(mask, query)
        mask = _rows(_dims4("attn_mask", mask, lead), k.shape[2])
    given = (q, k, v) if mask is None else (q, k, v, mask)
    o: Tensor
    if _wants_operator(*given):
        o = _forward(q, k, v, mask, is_causal, scale, dense)
    else:
        learns = _again.knows(Tensor) and all(
            x is None or x.data_ptr() == y.data_ptr() for x, y in zip((q, k, v, None, mask), own)
        )  # and not what was copied, or made by autocast
        o, plan = _compute(q, k, v, mask, is_causal, scale, dense, want_plan=learns)
        if plan is not None:
            _learn((dropout_p, is_causal, scale, enable_gqa), own, dense, plan)
    return o if len(lead) == 1 else o.view(*query.shape[:-2], *o.shape[-2:])


# ---- Behind torch's own --------------------------------------------------------------------------


class _Call(NamedTuple):
    """A call as the report shows it."""

    shapes: Tuple[Tuple[int, ...], ...]  # of query, key, value and, if there is one, attn_mask
    dtype: str
    device: str
    is_causal: bool

    def __str__(self) -> str:
        names = ("query", "key", "value", "attn_mask")
        words = [f"{name}={shape}" for name, shape in zip(names, self.shapes)]
        words += [self.dtype, f"on {self.device}"]
        return " ".join(words + ["is_causal=True"] * self.is_causal)


_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _reason(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
) -> Optional[str]:
    """Why torch must compute the call; None: heed can try."""
    given = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    if any(x.is_nested for x in given):
        return "a tensor is nested"
    if dropout_p != 0:
        return f"dropout_p is {dropout_p}, and heed has no dropout"
    if torch.is_grad_enabled() and any(x.requires_grad for x in given):
        return "a gradient is wanted, and heed has no backward pass"
    kind = query.device.type
    if kind not in ("cpu", "cuda"):
        return f"heed has no kernels for device {kind}"
    if query.dtype not in _DTYPES and not torch.is_autocast_enabled(kind):
        return f"dtype {query.dtype} is not float32, float16 or bfloat16"
    for x in given:
        if x.dim() and 0 in x.shape:
            return f"a tensor of shape {tuple(x.shape)} is empty"
    return None


def _overrides(x: Any) -> bool:
    """Has a tensor an attention of its own, as nested ones do?"""
    own = getattr(type(x), "__torch_function__", None)
    return own is not None and own not in (
        Tensor.__torch_function__,
        torch._C._disabled_torch_function_impl,
    )


_count_modes = getattr(torch._C, "_len_torch_function_stack", None)


def _modes_are_quiet() -> bool:
    """Are the modes of torch functions that are active such as leave attention alone?"""
    if _count_modes is None:
        return not torch.overrides.has_torch_function(())
    if _count_modes() == 0:
        return True
    modes_of: Callable[[], List[Any]] = torch.overrides._get_current_function_mode_stack
    return all(type(mode).__name__ == "DeviceContext" for mode in modes_of())


@torch.compiler.assume_constant_result
def _note_compiled(call: str, reason: str) -> bool:
    """Count a call that torch.compile meets, once for each time it compiles it."""
    _report.fell_back(f"{call}, compiled", reason)
    return True


@torch.library.custom_op("heed::attention_or_torch", mutates_args=())
def _either(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Tensor:
    """heed's result or torch's, of a program that torch.compile made: which of both is known no
    sooner than it runs, and its strides are those that were promised."""
    words: Any = {"scale": scale, "enable_gqa": enable_gqa}
    with torch.no_grad():
        o = try_heed(query, key, value, mask, 0.0, causal, **words)
        if o is None:
            o = _of_torch(query, key, value, mask, 0.0, causal, **words)
        promised = _promise(o, query, key, value, enable_gqa)
        return o if o.stride() == promised.stride() else promised.copy_(o)


def _promise(o: Tensor, query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> Tensor:
    """A tensor for the result that _either() returns for @o."""
    dense = o.shape[:-1] != query.shape[:-1] or _is_broadcast(query, key, value, enable_gqa)
    return o.new_empty(o.shape) if dense else _result(query, value, False)


@_either.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Tensor:
    o = _of_torch(query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=enable_gqa)
    return _promise(o, query, key, value, enable_gqa)


@_either.register_vmap
def _(
    info: Any,
    dims: Tuple[Optional[int], ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    *words: Any,
) -> Tuple[Tensor, int]:
    own = [(x, dim) for x, dim in zip((query, key, value, mask), dims)]
    rank = max(x.dim() - (dim is not None) for x, dim in own if x is not None)
    given: List[Optional[Tensor]] = []
    for x, dim in own:
        if x is not None:  # the mapped dimension first, and the others aligned at the last one
            x = x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
            x = x.reshape(x.shape[0], *(1,) * (rank + 1 - x.dim()), *x.shape[1:])
            x = x.expand(info.batch_size, *x.shape[1:])
        given.append(x)
    o: Tensor = _either(*given, *words)
    return o, 0


@functools.wraps(_of_torch)
def _instead(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, by heed where heed can."""
    words: Any = {"scale": scale, "enable_gqa": enable_gqa}
    if torch.compiler.is_compiling():
        if type(attn_mask).__module__ == "torch.nn.attention.bias":
            attn_mask = attn_mask._materialize(query.device)  # type: ignore[union-attr]
        reason = _reason(query, key, value, attn_mask, dropout_p)
        if reason is None:
            tensors = _cast(query, key, value, attn_mask)
            o: Tensor = _either(*tensors, is_causal, scale, enable_gqa)
            return o
        _note_compiled(f"query={tuple(query.shape)} {query.dtype} on {query.device.type}", reason)
        return _of_torch(query, key, value, attn_mask, dropout_p, is_causal, **words)
    if _modes_are_quiet():
        if _repeat is not None and _enabled and is_causal.__class__ is bool:
            said = (dropout_p, is_causal, scale, enable_gqa)
            again: Optional[Tensor] = _repeat(
                _calls.known, said, query, key, value, None, attn_mask
            )
            if again is not None:
                return again
    elif not any(_overrides(x) for x in (query, key, value, attn_mask)):
        found: Tensor = torch.overrides.handle_torch_function(
            _instead, (query, key, value), query, key, value, attn_mask, dropout_p, is_causal, **words
        )
        return found
    return _one_of_both(query, key, value, attn_mask, dropout_p, is_causal, **words)


def _one_of_both(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
    is_causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Tensor:
    """heed's result, or torch's with a line in the report."""
    words: Any = {"scale": scale, "enable_gqa": enable_gqa}
    tensors = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    if not _enabled or not all(isinstance(x, Tensor) for x in tensors):  # torch has the message
        return _of_torch(query, key, value, attn_mask, dropout_p, is_causal, **words)
    if type(attn_mask).__module__ == "torch.nn.attention.bias":  # it asks for this function again
        again: Tensor = torch.overrides.handle_torch_function(
            _instead, tensors, query, key, value, attn_mask, dropout_p, is_causal, **words
        )
        return again
    o = try_heed(query, key, value, attn_mask, dropout_p, is_causal, **words)
    if o is None:
        o = _of_torch(query, key, value, attn_mask, dropout_p, is_causal, **words)
    return o


def try_heed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
    is_causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Optional[Tensor]:
    """heed's result, or None with a line in the report."""
    tensors = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    own = [type(x).__name__ for x in tensors if _overrides(x)]
    reason = f"{own[0]} is a tensor with an attention of its own" if own else None
    try:
        reason = reason or _reason(query, key, value, attn_mask, dropout_p)
        if reason is None:
            words: Any = {"scale": scale, "enable_gqa": enable_gqa}
            return scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, **words
            )
    except LostError:
        raise
    except HeedError as error:
        reason = str(error)
    _report.fell_back(
        _Call(
            tuple(() if own or x.is_nested else tuple(x.shape) for x in tensors),
            str(query.dtype),
            str(query.device),
            bool(is_causal),
        ),
        reason,
    )
    return None


class Enabled:
    """That heed stands behind torch's attention, until it is left; made by enable()."""

    def __init__(self) -> None:
        self._open = True

    def disable(self) -> None:
        """Give torch its own back, unless another enable() is in force."""
        if self._open:
            self._open = False
            _release()

    def __enter__(self) -> "Enabled":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.disable()

    def __repr__(self) -> str:
        return f"<heed.torch.enable(), {'in force' if self._open else 'over'}>"


_enabled = 0  # how many are in force
_enabled_lock = Lock()


def _release() -> None:
    global _enabled
    with _enabled_lock:
        _enabled = max(_enabled - 1, 0)
        if not _enabled and functional.scaled_dot_product_attention is _instead:
            functional.scaled_dot_product_attention = _of_torch


def enable() -> Enabled:
    """Put heed behind torch.nn.functional.scaled_dot_product_attention, whichever of its backends
    torch would take, in the whole process.

    >>> heed.torch.enable()             # from now on, or
    >>> with heed.torch.enable():       # within
    ...     o = torch.nn.functional.scaled_dot_product_attention(q, k, v)

    A call that heed cannot do goes to torch's own, and report() has it with the reason: dropout,
    float64, a gradient, nested tensors, a device without kernels. Code that took the function from
    its module before (from torch.nn.functional import scaled_dot_product_attention), and the fused
    inference path of torch.nn.TransformerEncoderLayer, which does not call it, keep torch's own.
    torch.compile sees heed in what it compiles afterwards. torch.jit.script takes torch's alone, so
    call it before.

    Returns:
        an object with disable(), which is also a context manager that does so at its end.
    """
    global _enabled
    with _enabled_lock:
        _enabled += 1
        functional.scaled_dot_product_attention = _instead
    return Enabled()


def disable() -> None:
    """End every enable()."""
    while _enabled:
        _release()


def report(*, clear: bool = False) -> Report:
    """The calls of this process, each kind with its kernel, how often, and, where torch computed it
    in heed's place, the reason. print() shows a table.

    Args:
        clear: whether to begin again at 0.

    Returns:
        a list of rows (calls, problem, kernel, reason), the most frequent one first. It has the
        calls of heed.attention() and all that is made of it; those of heed.Plan are not counted.
        A call that torch.compile left to torch, for what was known while it compiled, counts once
        for each time that it was compiled; others count whenever the program runs. Beyond 1000
        rows of either kind, further ones are counted together as "others".
    """
    found = _report.report()
    if clear:
        _report.clear()
    return found
