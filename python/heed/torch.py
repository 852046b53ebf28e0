"""heed for PyTorch: scaled_dot_product_attention() with torch's signature and meaning.

>>> import heed.torch
>>> o = heed.torch.scaled_dot_product_attention(q, k, v, is_causal=True)

It is an operator of torch (torch.ops.heed.scaled_dot_product_attention), which torch.compile takes
whole, and which works under torch.autocast and torch.vmap. Nothing falls back to torch but the
backward pass, which heed has not yet; a warning says so, once.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, List, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional

from ._attention import attention
from ._errors import InvalidError, UnsupportedError

__all__ = ["scaled_dot_product_attention"]


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
) -> Tensor:
    o: Tensor = attention(
        query,
        key,
        value,
        mask=mask if mask is not None and mask.dtype is torch.bool else None,
        bias=mask if mask is not None and mask.dtype is not torch.bool else None,
        causal="top-left" if causal else False,
        scale=scale,
        layout="bhsd",
    )
    return o


@torch.library.custom_op("heed::scaled_dot_product_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
) -> Tensor:
    with torch.no_grad():
        return _attend(query, key, value, mask, causal, scale)


@_forward.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    query, key, value, mask, ctx.causal, ctx.scale = inputs
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
        o = functional.scaled_dot_product_attention(
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
    o = _forward(q, k, v, mask, causal, scale)
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


def _refuse_tangents(*tensors: Optional[Tensor]) -> None:
    if getattr(forward_ad, "_current_level", 0) < 0:
        return
    unpack: Callable[[Tensor], Any] = forward_ad.unpack_dual
    for x in tensors:
        if x is not None and unpack(x).tangent is not None:
            raise UnsupportedError(
                "forward-mode gradients (torch.func.jvp): heed has none; use torch's own attention"
            )


def _dims4(name: str, x: Tensor, lead: torch.Size) -> Tensor:
    """(batch, heads, length, dim), without a copy; @lead has the query's dimensions before heads."""
    if x.dim() == 4 and len(lead) < 2:
        return x
    if x.dim() < 2:
        raise InvalidError(f"{name}: {x.dim()} dimensions, where there must be 2 or more")
    while x.dim() < 4:
        x = x.unsqueeze(0)
    if len(lead) < 2 and x.dim() == 4:
        return x
    try:
        x = x.expand(*lead, *x.shape[-3:])
    except RuntimeError:
        raise InvalidError(
            f"{name}: its first dimensions are {tuple(x.shape[:-3])}, those of query {tuple(lead)}"
        ) from None
    try:
        return x.view(-1, *x.shape[-3:])
    except RuntimeError:
        raise InvalidError(
            f"{name}: its first dimensions cannot be taken as one without a copy; pass "
            "tensor.contiguous()"
        ) from None


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale * query key^T + attn_mask) value, as torch.nn.functional has it.

    Args:
        query: (batch, ..., heads, queries, dim) or fewer dimensions; float32, float16, bfloat16.
        key, value: the same of keys; their heads divide the query's, with enable_gqa.
        attn_mask: broadcasts to (batch, heads, queries, keys): bool, True for keys that take part,
            or numbers that are added.
        dropout_p: 0; heed has no dropout.
        is_causal: query i sees keys j <= i (top left), and no attn_mask may be given.
        scale: None: 1 / sqrt(dim).
        enable_gqa: groups of query heads may share a head of key and value.

    Nothing is copied, but under vmap: there a tensor without the mapped dimension is.

    Returns:
        (batch, ..., heads, queries, dim of value), dense. A row that sees no key is 0. Gradients
        are torch's: they are computed from query, key and value by torch's own attention.

    Raises:
        InvalidError, ArgumentTypeError: as heed.attention(), for what torch refuses too.
        UnsupportedError: dropout_p is not 0; a tensor has a tangent (torch.func.jvp).
    """
    if dropout_p != 0:
        raise UnsupportedError(f"dropout_p: {dropout_p}, and heed has no dropout; pass 0")
    if is_causal and attn_mask is not None:
        raise InvalidError("attn_mask: must be None where is_causal is True")
    _refuse_tangents(query, key, value, attn_mask)
    lead = query.shape[:-3]
    kind = query.device.type
    if torch.is_autocast_enabled(kind) and query.dtype is not torch.float64:
        dtype = torch.get_autocast_dtype(kind)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        if attn_mask is not None and attn_mask.dtype is not torch.bool:
            attn_mask = attn_mask.to(dtype)
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
    if attn_mask is not None:
        attn_mask = _dims4("attn_mask", attn_mask, lead)
    given = (q, k, v) if attn_mask is None else (q, k, v, attn_mask)
    call = _forward if _wants_operator(*given) else _attend
    o: Tensor = call(q, k, v, attn_mask, is_causal, scale)
    return o if len(lead) == 1 else o.view(*query.shape[:-2], *o.shape[-2:])
