"""heed as an attention implementation of Hugging Face's transformers.

>>> import heed.transformers
>>> heed.transformers.register()
>>> model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="heed")

It works for models that use transformers' AttentionInterface: causal or not, with grouped heads,
sliding windows, softcaps (Gemma 2), sinks (gpt-oss), padding, packed sequences, caches, and their own
masks and biases. heed gets a plain causal mask, a sliding window and padding as such; for all other
patterns transformers makes a boolean mask. Tested with transformers 5.17. In training torch computes
the gradients; dropout is refused.
"""

from __future__ import annotations

import warnings
from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _again, _gradient, _values
from ._attention import attend, compute
from ._empty import require_fit
from ._errors import ArgumentTypeError, InvalidError, UnsupportedError
from ._fields import Words
from ._plan import Plan
from ._precision import products_of
from ._sdpa import any_autocast, cast_one, repeat, wants_operator

__all__ = ["attention_forward", "attention_mask", "register"]

_calls = _again.Calls(256)


def _compute(
    given: Tuple[Any, ...], products: str, want_plan: bool = False
) -> Tuple[Tensor, Optional[Plan]]:
    """O of _attend()'s arguments as (batch, queries, heads, dim of value), as models expect it, and, if
    wanted, the plan. The causal mask and the window, of @left keys before each query, are aligned at
    the bottom right."""
    query, key, value, mask, bias, sinks, causal, left, softcap, scale = given
    batch, heads, queries, _ = query.shape
    o = query.new_empty((batch, queries, heads, value.shape[-1]))
    if 0 in (*query.shape, *key.shape, *value.shape):
        q, k, v = (x.transpose(1, 2) for x in (query, key, value))
        require_fit(q, k, v, ("query", "key", "value"))
        if not (o.numel() and key.shape[2]):
            return o.zero_(), None  # heed has no empty problems
    words = Words(
        causal="bottom-right" if causal else False,
        window=(left, None) if left >= 0 else None,
        align="bottom-right",
        softcap=softcap,
        scale=_values.scale("scaling", scale),
        layout="bhsd",
        products=products,
    )
    operands, out = (bias, mask, None, sinks), o.transpose(1, 2)
    if want_plan:
        return o, compute(query, key, value, operands, words, out=out)[2]
    attend(query, key, value, operands, words, out=out)
    return o, None


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    bias: Optional[Tensor],
    sinks: Optional[Tensor],
    causal: bool,
    left: int,
    softcap: float,
    scale: Optional[float],
) -> Tensor:
    given = (query, key, value, mask, bias, sinks, causal, left, softcap, scale)
    return _compute(given, products_of(query))[0]


_operator: Any = torch.library.custom_op(
    "heed::transformers_attention",
    torch.no_grad()(_attend),
    mutates_args=(),
    schema=torch.library.infer_schema(_attend, mutates_args=()),
)


@_operator.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
    batch, heads, queries, _ = query.shape
    return query.new_empty((batch, queries, heads, value.shape[-1]))


def _by_torch(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
    mask, bias, sinks, causal, left, softcap, scale = rest
    o, _ = _gradient.by_torch(
        query,
        key,
        value,
        mask=mask,
        bias=bias,
        sinks=sinks,
        first=key.shape[2] - query.shape[2],
        causal=causal,
        window=(left if left >= 0 else None, None),
        softcap=softcap,
        scale=scale,
    )
    return o.transpose(1, 2)


_gradient.give(_operator, _by_torch)


def _window_of(module: Any, given: Optional[int]) -> Optional[int]:
    """The sliding window of a layer, from the model's call or its config."""
    if given is not None:
        return given
    config, index = getattr(module, "config", None), getattr(module, "layer_idx", None)
    types = getattr(config, "layer_types", None)
    if types and isinstance(index, int) and index < len(types):
        if types[index] == "sliding_attention":
            window: Optional[int] = getattr(config, "sliding_window", None)
            return window
    return None


def _of_one_type(query: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """The tensors in autocast's type, else in value's: rotary embeddings may make float32 of others."""
    kind = value.device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        q, k, v = (cast_one(x, dtype) for x in (query, key, value))
    else:
        q, k, v = (x if x.dtype is value.dtype else x.to(value.dtype) for x in (query, key, value))
    return q, k, v


def _split(mask: Optional[Tensor], more: Optional[Tensor]) -> Tuple[Any, Any]:
    """A boolean mask and a bias, from a mask that is either and another bias."""
    shown, bias = (mask, more) if mask is None or mask.dtype is torch.bool else (None, mask)
    if bias is not None and bias is not more and more is not None:
        bias = bias + more
    # T5's bias, for example, has heads innermost.
    return _rows(shown), _rows(bias)


def _rows(x: Optional[Tensor]) -> Optional[Tensor]:
    return x if x is None or x.stride(-1) == 1 else x.contiguous()


def attention_forward(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Optional[Tensor],
    dropout: float = 0.0,
    scaling: Optional[float] = None,
    sliding_window: Optional[int] = None,
    softcap: Optional[float] = None,
    s_aux: Optional[Tensor] = None,
    is_causal: Optional[bool] = None,
    position_bias: Optional[Tensor] = None,
    **words: Any,
) -> Tuple[Tensor, None]:
    """The attention of a layer, called by transformers' AttentionInterface.

    Args:
        module: the layer; its is_causal applies unless the argument is given.
        query: (batch, heads, queries, dim); float32, float16 or bfloat16.
        key, value: (batch, key/value heads, keys, dim), heads unrepeated. All are converted to
            autocast's type, or without autocast to that of value.
        attention_mask: None; or (batch, keys) of booleans, False for padding, in addition to the
            causal mask and the window; or four dimensions, booleans or numbers to add, which
            replace these.
        dropout: 0.0.
        scaling: None: 1 / sqrt(dim).
        sliding_window: the number of keys that a query sees, including itself.
        softcap: a logit t becomes softcap * tanh(t / softcap).
        s_aux: (heads,): sinks, one more logit for each head in the softmax's denominator.
        position_bias: (1 or batch, heads, queries, keys), added to the logits.
        words: other arguments are ignored.

    Returns:
        (batch, queries, heads, dim of value), and None instead of weights. torch computes gradients
        of query, key, value, bias and sinks, and warns once.

    Raises:
        UnsupportedError: dropout is not 0; a gradient of torch.func is requested (grad, jvp).
        InvalidError, ArgumentTypeError: as heed.attention().
    """
    if dropout:
        raise UnsupportedError(
            f"dropout: {dropout}, and heed has no dropout; call model.eval(), or set the attention's "
            "dropout to 0.0 in the model's config"
        )
    if words.get("output_attentions"):
        warnings.warn("heed returns no attention weights; use attn_implementation='eager' for them")
    if is_causal is None:
        is_causal = bool(getattr(module, "is_causal", True))
    causal, left, mask = False, -1, attention_mask
    if mask is None or mask.dim() == 2:
        causal = is_causal and query.shape[2] > 1
        window = _window_of(module, sliding_window) if is_causal else None
        left = window - 1 if window else -1
        if mask is not None:
            if mask.dtype is not torch.bool:
                raise ArgumentTypeError(
                    f"attention_mask: dtype of (batch, keys) is {mask.dtype}; convert it to torch.bool"
                )
            mask = mask[:, None, None, :]
    elif mask.dim() != 4:
        raise InvalidError(
            f"attention_mask: shape is {tuple(mask.shape)}; pass (batch, keys) of booleans, or four "
            "dimensions"
        )
    mask, bias = _split(mask, position_bias)
    sinks = None if s_aux is None else s_aux.float()
    if sinks is not None and not (sinks.requires_grad and torch.is_grad_enabled()):
        sinks = sinks.detach()  # a parameter is of another type than a tensor
    said = (causal, left, softcap or 0.0, scaling)
    if any_autocast() or not query.dtype is key.dtype is value.dtype:
        query, key, value = _of_one_type(query, key, value)
    if repeat is not None and not torch.compiler.is_compiling():
        again: Optional[Tensor] = repeat(
            _calls.known, said, query, key, value, None, mask, bias, sinks
        )
        if again is not None:
            return again, None
    tensors = (query, key, value)
    given: Any = (*tensors, mask, bias, sinks, *said)
    if _gradient.is_wanted(*tensors, bias, sinks) or wants_operator(*tensors):
        _gradient.refuse_transforms(*tensors, bias, sinks)
        return _operator(*given), None
    products = products_of(query)
    o, plan = _compute(given, products, want_plan=_again.knows(Tensor))
    if plan is not None:
        arrays, maker = (*tensors, None, mask, bias, sinks), _again.maker_of(query, o.shape, "same")
        operands = ("shown", "bias", "sinks")
        _calls.learn(said, arrays, operands, plan, maker, None, keep=plan, products=products)
    return o, None


def _plain_window(mask_function: Any, local_size: Optional[int]) -> bool:
    """Whether a mask function of transformers is certainly causal, with a sliding window of local_size
    or without one, and nothing else."""
    from transformers import masking_utils

    causal = masking_utils.causal_mask_function
    if local_size is None:
        return mask_function is causal
    try:
        (parts,) = (cell.cell_contents for cell in mask_function.__closure__)
        overlay, other = parts
        (window,) = (cell.cell_contents for cell in overlay.__closure__)
    except (AttributeError, TypeError, ValueError):
        return False
    name = getattr(overlay, "__qualname__", "")
    return other is causal and name.startswith("sliding_window_overlay.") and window == local_size


def attention_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: "int | Tensor" = 0,
    kv_offset: int = 0,
    mask_function: Any = None,
    attention_mask: Optional[Tensor] = None,
    local_size: Optional[int] = None,
    allow_is_causal_skip: bool = True,
    **words: Any,
) -> Optional[Tensor]:
    """The mask of a forward pass, called by transformers' AttentionMaskInterface.

    Returns:
        None for a causal mask, with or without a sliding window, whose last query is at the last
        key; (batch, keys) of booleans if there is padding as well; else the result of transformers'
        sdpa_mask(): (batch, 1, queries, keys) of booleans, or None if all keys are visible.
    """
    from transformers import masking_utils

    mask_function = mask_function or masking_utils.causal_mask_function
    plain = (
        allow_is_causal_skip
        and not torch.compiler.is_compiling()
        and isinstance(q_offset, int)
        and q_offset + q_length == kv_offset + kv_length
        and _plain_window(mask_function, local_size)
    )
    if not plain:
        mask: Optional[Tensor] = masking_utils.sdpa_mask(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            local_size=local_size,
            allow_is_causal_skip=False,
            **words,
        )
        return mask
    if attention_mask is None:
        return None
    padding: Any = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    padding = padding[:, kv_offset : kv_offset + kv_length].bool()
    return None if bool(padding.all()) else padding


def register(name: str = "heed") -> None:
    """Register attn_implementation=name with transformers, for models that are created or loaded
    afterwards, and for model.set_attn_implementation(name).

    Raises:
        ImportError: transformers is not installed.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, attention_mask)
