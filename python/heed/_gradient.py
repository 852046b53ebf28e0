"""Gradients, until heed has a backward pass: torch recomputes attention and differentiates it."""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from typing import Any, Callable, Optional, Tuple, Union

import torch
from torch import Tensor
from torch.nn import functional

from ._arrays import has_tangent
from ._errors import UnsupportedError

if tuple(int(x) for x in torch.__version__.split(".")[:2]) < (2, 5):
    raise ImportError(
        f"heed's operators need PyTorch 2.5 or later, this is {torch.__version__}; heed.attention() "
        "takes tensors of older versions"
    )

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

of_torch = functional.scaled_dot_product_attention

#: A window's limits on both sides of a query's position; None: no limit.
Window = Tuple[Optional[int], Optional[int]]
Found = Tuple[Tensor, Optional[Tensor]]


def is_wanted(*tensors: Any) -> bool:
    """Whether a call needs gradients."""
    if torch.is_grad_enabled():
        for x in tensors:
            if x is not None and getattr(x, "requires_grad", False):
                return True
    return False


_interpreters = getattr(getattr(torch._C, "_functorch", None), "get_interpreter_stack", None)


def refuse_transforms(*tensors: Any) -> None:
    """Raise where a gradient of torch.func, or a tangent, would be lost."""
    if any(isinstance(x, Tensor) and has_tangent(x) for x in tensors):
        raise UnsupportedError(
            "forward-mode gradients (torch.func.jvp): heed has none; use torch's own attention"
        )
    stack = _interpreters() if _interpreters and not torch.compiler.is_compiling() else None
    if any(level.key().name == "Grad" for level in stack or ()):
        raise UnsupportedError(
            "gradients of torch.func (grad, vjp, jacrev): heed has none; use tensor.backward() or "
            "torch.autograd.grad(), or torch's own attention"
        )


# ---- Operators -----------------------------------------------------------------------------------


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
    ctx.words = [None if isinstance(x, Tensor) else x for x in inputs]
    ctx.save_for_backward(*(x if isinstance(x, Tensor) else None for x in inputs))


def give(operator: Any, again: Callable[..., Any]) -> None:
    """Give an operator the gradients of again(), which computes the same from the same arguments with
    torch's own operations."""

    def differentiate(ctx: Any, *gradients: Tensor) -> Tuple[Optional[Tensor], ...]:
        warnings.warn("heed has no backward pass yet: torch computes gradients")
        twice, wanted = torch.is_grad_enabled(), ctx.needs_input_grad
        given = [word if x is None else x for x, word in zip(ctx.saved_tensors, ctx.words)]
        kind = given[0].device.type
        # The only backend of torch that has gradients of gradients.
        backend = sdpa_kernel(SDPBackend.MATH) if twice else contextlib.nullcontext()
        with backend, torch.enable_grad(), torch.autocast(kind, enabled=False):
            # Aliases, so that no input depends on another one.
            given = [
                x.view_as(x) if asked else x.detach() if isinstance(x, Tensor) else x
                for x, asked in zip(given, wanted)
            ]
            found = again(*given)
            outputs = found if isinstance(found, tuple) else (found,)
            pairs = [
                (o, g)
                for o, g in zip(outputs, gradients)
                if o is not None and g is not None and o.requires_grad
            ]
            inputs = [x for x, asked in zip(given, wanted) if asked]
            own: Any = [None] * len(inputs)
            if pairs:
                outputs, sums = zip(*pairs)
                own = torch.autograd.grad(
                    outputs, inputs, sums, create_graph=twice, allow_unused=True
                )
        rest = iter([torch.zeros_like(x) if g is None else g for x, g in zip(inputs, own)])
        return tuple(next(rest) if asked else None for asked in wanted)

    operator.register_autograd(differentiate, setup_context=_keep)


# ---- Attention -----------------------------------------------------------------------------------


def _visible(
    p: Tensor,
    j: Tensor,
    causal: bool,
    window: Window,
    chunk: int,
    lengths: Optional[Tensor],
    mask: Optional[Tensor],
) -> Optional[Tensor]:
    """Whether queries at the positions @p see keys at @j; None: they see all."""
    left, right = window
    found = [] if mask is None else [mask]
    if lengths is not None:
        found.append(j < lengths.view(-1, 1, 1, 1))
    if causal:
        found.append(j <= p)
    if left is not None:
        found.append(j >= p - left)
    if right is not None:
        found.append(j <= p + right)
    if chunk:
        found.append(
            j.div(chunk, rounding_mode="floor") == p.div(chunk, rounding_mode="floor")
        )
    return functools.reduce(torch.logical_and, found) if found else None


def _of_each_head(x: Tensor, q: Tensor) -> Tensor:
    """Keys or values, repeated for each query head of their group."""
    group = q.shape[1] // x.shape[1]
    return x if group == 1 else x.repeat_interleave(group, 1)


def _define(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    softcap: float,
    bias: Optional[Tensor],
    seen: Optional[Tensor],
    sinks: Optional[Tensor],
) -> Tuple[Tensor, Tensor]:
    """O and the LSE by definition, in float32 with all logits in memory."""
    q, k, v = q.float(), _of_each_head(k.float(), q), _of_each_head(v.float(), q)
    t = q @ k.transpose(2, 3) * scale
    if softcap:
        t = softcap * torch.tanh(t / softcap)
    if bias is not None:
        t = t + bias
    if seen is not None:
        t = t.masked_fill(~seen, -math.inf)
    top = t.detach().amax(-1, keepdim=True)
    if sinks is not None:
        sinks = sinks.view(-1, q.shape[1], 1, 1)
        top = torch.maximum(top, sinks.detach())
    top = top.masked_fill(top == -math.inf, 0.0)
    weights = (t - top).exp()
    total = weights.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + (sinks - top).exp()
    none = total == 0
    total = total.masked_fill(none, 1.0)
    lse = (top + total.log()).masked_fill(none, -math.inf)
    return weights @ v / total, lse.squeeze(-1)


def by_torch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: Optional[float],
    first: "Union[int, Tensor]" = 0,
    causal: bool = False,
    window: Window = (None, None),
    chunk: int = 0,
    lengths: Optional[Tensor] = None,
    mask: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    slopes: Optional[Tensor] = None,
    softcap: float = 0.0,
    sinks: Optional[Tensor] = None,
    want_lse: bool = False,
) -> Found:
    """heed.attention() of (batch, heads, sequence, dim), by torch's own attention, or by definition if
    that lacks an option. @first is the position of the first query, of all or of each batch element."""
    shape = (*q.shape[:3], v.shape[3])
    if 0 in shape or not k.shape[2]:
        lse = q.new_full(shape[:3], -math.inf, dtype=torch.float32)
        return q.new_zeros(shape), lse if want_lse else None
    scale = q.shape[3] ** -0.5 if scale is None else scale
    square = not causal or (isinstance(first, int) and first == 0)
    plain = square and window == (None, None) and not chunk
    plain = plain and all(x is None for x in (lengths, mask, bias, slopes))
    own = scale > 0 and not softcap and sinks is None and not want_lse
    if own and plain:
        shared = bool(q.shape[1] != k.shape[1])
        return of_torch(q, k, v, is_causal=causal, scale=scale, enable_gqa=shared), None
    start = first.view(-1, 1, 1, 1) if isinstance(first, Tensor) else first
    p = torch.arange(q.shape[2], device=q.device).view(-1, 1) + start
    j = torch.arange(k.shape[2], device=q.device)
    seen = _visible(p, j, causal, window, chunk, lengths, mask)
    if slopes is not None:
        far = slopes.float().view(-1, q.shape[1], 1, 1) * (p - j).abs()
        bias = -far if bias is None else bias - far
    if not own or (bias is not None and bias.dtype != q.dtype):
        o, lse = _define(q, k, v, scale, softcap, bias, seen, sinks)
        return o.to(q.dtype), lse if want_lse else None
    k, v = _of_each_head(k, q), _of_each_head(v, q)  # no fused kernel of torch has masks and groups
    if seen is None:
        return of_torch(q, k, v, bias, scale=scale), None
    some = seen.any(-1, keepdim=True)  # rows that see no key are 0 and have no gradient
    seen = seen | ~some
    both = seen if bias is None else bias.masked_fill(~seen, -math.inf)
    return of_torch(q, k, v, both, scale=scale).masked_fill(~some, 0.0), None
