"""heed's scaled_dot_product_attention(), with torch's signature and meaning: an operator of torch.

Calling an operator that is defined in Python takes 20 us, so only calls that need it do.
"""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.nn.attention.bias import CausalBias, CausalVariant

from . import _again, _gradient, _values
from ._arrays import require_memory
from ._attention import attend, compute
from ._broadcast import dims4, heads_to, leads_of, require_logits
from ._empty import require_broadcast, require_fit
from ._errors import (
    ArgumentTypeError,
    HeedError,
    InvalidError,
    UnsupportedError,
    renamed,
    type_error,
)
from ._fields import Words
from ._plan import Plan
from ._precision import products_of

calls = _again.Calls(256)
repeat = _again.module.again_plain if _again.module else None
any_autocast = torch._C._is_any_autocast_enabled
# torch.compile turns a call into a constant. torch.compiler.is_compiling() takes longer.
_is_traced = torch.compiler.is_dynamo_compiling


def is_dense(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], enable_gqa: bool
) -> bool:
    """Whether torch's result is dense because it broadcasts (there are not four dimensions, or batch
    elements or, without enable_gqa, heads share keys, or heads of key share values), or because no
    fused kernel has such a mask."""
    shown = 1 if enable_gqa else 2
    if key.shape[:-2] != value.shape[:-2]:
        return True
    if mask is not None and query.device.type == "cpu":
        if mask.dim() not in (2, 4) or _gradient.is_wanted(mask):
            return True
    return query.dim() != 4 or any(
        x.dim() != 4 or x.shape[:shown] != query.shape[:shown] for x in (key, value)
    )


def result_like(query: Tensor, value: Tensor, dense: bool) -> Tensor:
    """A tensor for O, with the strides of torch's result. On a CUDA device they depend on the backend:
    for float32 the memory-efficient one, which puts heads next to dim, for other types flash and
    cuDNN, which keep query's order."""
    shape = (*query.shape[:-1], value.shape[-1])
    cuda, same = query.device.type == "cuda", query.shape[-1] == value.shape[-1]
    if dense or query.stride(-1) != 1 or not (cuda or same):
        return query.new_empty(shape)
    if same and not (cuda and query.dtype is torch.float32):
        return torch.empty_like(query)
    order = [0, 2, 1, 3]
    if query.dtype is not torch.float32:
        order[:3] = sorted(range(3), key=query.stride, reverse=True)
    o = query.new_empty([shape[i] for i in order])
    return o.permute([order.index(i) for i in range(4)])


#: Argument names in messages of heed.attention(), and their names here.
_NAMES = {"q": "query", "k": "key", "v": "value", "bias": "attn_mask", "mask": "attn_mask"}
_NAMED = re.compile(r"^(q|k|v|bias|mask)(?=:| is | strides )|(?<=that of )[qk]\b|\bq(?= on )")


def _require_fit(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> None:
    """Raise unless tensors of four dimensions, some sizes of which are 0, fit together."""
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    require_fit(q, k, v, ("query", "key", "value"))
    require_broadcast("attn_mask", mask, (*query.shape[:3], key.shape[2]))


def _compute(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dense: bool,
    products: str,
    want_plan: bool = False,
) -> Tuple[Tensor, Optional[Plan]]:
    """O of four dimensions and, if wanted, the plan, if there is one."""
    o = result_like(query, value, dense)
    if 0 in (*query.shape, *key.shape, *value.shape):
        _require_fit(query, key, value, mask)
    if not (o.numel() and key.shape[2]):
        return o.zero_(), None  # heed has no empty problems
    words = Words(
        causal="top-left" if causal else False,
        scale=_values.scale("scale", scale),
        layout="bhsd",
        products=products,
    )
    shown = mask is not None and mask.dtype is torch.bool
    given = (None, mask) if shown else (mask, None)
    try:
        if want_plan:
            return o, compute(query, key, value, given, words, out=o)[2]
        attend(query, key, value, given, words, out=o)
    except HeedError as error:
        raise renamed(error, _NAMED, _NAMES) from None
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
        return _compute(query, key, value, mask, causal, scale, dense, products_of(query))[0]


@_forward.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: Any, scale: Any, dense: bool = False
) -> Tensor:
    return result_like(q, v, dense)


def _by_torch(q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: Any, scale: Any, *_: Any) -> Tensor:
    kind = "mask" if mask is not None and mask.dtype is torch.bool else "bias"
    return _gradient.by_torch(q, k, v, causal=causal, scale=scale, **{kind: mask})[0]


_gradient.give(_forward, _by_torch)


def _batched(x: Optional[Tensor], dim: Optional[int], size: int) -> Optional[Tensor]:
    """A tensor with the dimension mapped by vmap folded into the first one."""
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
    *words: Any,
) -> Tuple[Tensor, int]:
    size = info.batch_size
    batch = query.shape[0 if dims[0] is None or dims[0] > 0 else 1]
    if mask is not None:  # it needs a batch dimension before the mapped one is folded into it
        rest = mask.dim() - (dims[3] is not None)
        lead = mask if dims[3] is None else mask.movedim(dims[3], 0)
        shape = (*(1,) * (4 - rest), *lead.shape[lead.dim() - rest :])
        lead = lead.reshape(size if dims[3] is not None else 1, *shape)
        mask = lead.expand(size, batch, *shape[1:]).flatten(0, 1)
    q, k, v = (_batched(x, dim, size) for x, dim in zip((query, key, value), dims))
    o = _forward(q, k, v, mask, *words)
    return o.unflatten(0, (size, batch)), 0


# Private functions of torch that tell whether a call needs the operator; without them every call does.
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
_transforms = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)


def wants_operator(*tensors: Tensor) -> bool:
    """Whether a call must use the operator: for a gradient, a trace, vmap or a dispatch mode."""
    return (
        _modes is None
        or _transforms is None
        or torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or _modes() > 0
        or _transforms() is not None
        or any(type(x) is not Tensor for x in tensors)
        or _gradient.is_wanted(*tensors)
    )


def require_own_memory(name: str, x: Tensor) -> None:
    """Raise if the storage of a real tensor was freed: torch's own attention would crash."""
    if not torch.compiler.is_compiling() and type(x) in (Tensor, torch.nn.Parameter):
        require_memory(name, x)


def _check(own: Tuple[Any, ...], dropout_p: float, is_causal: bool, enable_gqa: bool) -> None:
    """Raise for arguments that torch refuses or heed does not support."""
    query, _, _, _, mask = own
    for name, x in zip(("query", "key", "value", "out", "attn_mask"), own):
        if not isinstance(x, Tensor):
            if x is not None or name in ("query", "key", "value"):
                raise type_error(name, x, "a torch.Tensor")
        elif x.is_nested or x.layout is not torch.strided:
            kind = "nested tensor" if x.is_nested else f"tensor of layout {x.layout}"
            raise ArgumentTypeError(f"{name}: a {kind} has no strides; pass a strided one")
        else:
            require_own_memory(name, x)
    for name, word in (("is_causal", is_causal), ("enable_gqa", enable_gqa)):
        if not isinstance(word, bool):
            raise type_error(name, word, "a bool")
    if dropout_p != 0:
        raise UnsupportedError(f"dropout_p: {dropout_p}, and heed has no dropout; pass 0")
    if is_causal and mask is not None:
        raise InvalidError("attn_mask: must be None where is_causal is True; pass one mask for both")
    least = 3 if enable_gqa else 2
    for name, x in zip(("query", "key", "value"), own):
        if x.dim() < least:
            need = "enable_gqa needs 3 or more, to have heads" if least == 3 else "there must be 2 or more"
            raise InvalidError(f"{name}: {x.dim()} dimensions, where {need}")


def _check_mask(mask: Tensor, query: Tensor) -> None:
    if mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise ArgumentTypeError(
            f"attn_mask: dtype {mask.dtype} is not bool, float32 or that of query, {query.dtype}; "
            "convert it"
        )


def _rows(mask: Tensor, keys: int) -> Tensor:
    """The mask with contiguous rows, copied if need be."""
    if mask.shape[-1] == 1 != keys:
        mask = mask.expand(*mask.shape[:-1], keys)
    return mask if mask.stride(-1) == 1 or mask.shape[-1] == 1 else mask.contiguous()


def cast(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor, Optional[Tensor]]:
    """The tensors in autocast's type, if autocast is enabled for query's device. As in torch, only
    floating-point ones are cast, and none of float64."""
    kind = query.device.type
    if kind == "meta" or not torch.is_autocast_enabled(kind):
        return query, key, value, mask
    dtype = torch.get_autocast_dtype(kind)
    q, k, v = (cast_one(x, dtype) for x in (query, key, value))
    return q, k, v, None if mask is None else cast_one(mask, dtype)


def cast_one(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in autocast's type, if autocast casts it."""
    fixed = x.dtype is dtype or x.dtype is torch.float64 or not x.is_floating_point()
    return x if fixed else x.to(dtype)


def without_bias(
    query: Tensor, mask: Optional[Tensor], is_causal: bool
) -> Tuple[Optional[Tensor], bool]:
    """attn_mask and is_causal without a CausalBias of torch: a tensor whose elements have no meaning."""
    if not isinstance(mask, CausalBias) or is_causal:
        return mask, is_causal
    if mask.variant == CausalVariant.UPPER_LEFT or mask.seq_len_q == mask.seq_len_kv:
        return None, True
    return mask._materialize(query.device), False


def are_plain(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> bool:
    """Whether these are tensors, none of a type derived from Tensor."""
    own = (query, key, value) if mask is None else (query, key, value, mask)
    return all(type(x) is Tensor for x in own)


def is_cast(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> bool:
    """Whether these are plain tensors that cast() leaves as they are."""
    if not are_plain(query, key, value, mask):
        return False
    kind = query.device.type
    if not torch.is_autocast_enabled(kind):
        return True
    dtype = torch.get_autocast_dtype(kind)
    same = all(x.dtype is dtype for x in (query, key, value))
    return same and (mask is None or mask.dtype in (dtype, torch.bool))


def _learn(
    words: Tuple[Any, ...], arrays: Tuple[Any, ...], o: Tensor, products: str, plan: Plan
) -> None:
    """Remember a call that succeeded in torch's plain state, and how to make its result."""
    mask = arrays[4]
    maker = _again.torch_maker(o.shape, o.stride(), o.dtype, o.device)
    name = "shown" if mask is not None and mask.dtype is torch.bool else "bias"
    calls.learn(words, arrays, (name,), plan, maker, None, keep=plan, products=products)


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
    """softmax(scale * query key^T + attn_mask) value, as in torch.nn.functional.

    Args:
        query: (batch, ..., heads, queries, dim) or fewer dimensions; float32, float16, bfloat16.
        key, value: likewise for keys; with enable_gqa their heads divide the query's. The dimensions
            before the last two of query, key and value broadcast.
        attn_mask: broadcasts to (batch, heads, queries, keys): bool, True for keys that take part,
            or numbers to add, float32 or of query's type.
        dropout_p: 0; heed has no dropout.
        is_causal: query i sees keys j <= i (top left), and attn_mask must be None.
        scale: None: 1 / sqrt(dim). 0: all visible keys have the same weight.
        enable_gqa: groups of query heads may share a head of key and value.

    Products of float32 have the precision of torch's settings when the call runs, float32 or TF32
    (torch.set_float32_matmul_precision() and torch.backends; docs/torch.md).

    Only these are copied: a mask whose rows are not contiguous (a single column, or transposed);
    with more than four dimensions, a tensor with fewer batch elements than the result; and under
    vmap, a tensor without the mapped dimension.

    A tensor whose storage has no memory (untyped_storage().resize_(0)) is refused. One whose storage
    only became too small is refused by the first call of a kind, but not noticed by later ones.

    Returns:
        (batch, ..., heads, queries, dim of value), with the strides of torch's result, on a CUDA
        device those of the backend for the type: docs/torch.md has a table. A row that sees no key
        is 0. torch computes gradients from query, key and value with its own operations.

    Raises:
        InvalidError, ArgumentTypeError: as heed.attention(), and for arguments that torch refuses.
        UnsupportedError: dropout_p is not 0; a gradient of torch.func is wanted (grad, jvp).
    """
    said = (dropout_p, is_causal, scale, enable_gqa)
    if repeat is not None and not _is_traced():
        if any_autocast() and are_plain(query, key, value, attn_mask):
            query, key, value, attn_mask = cast(query, key, value, attn_mask)
        again: Optional[Tensor] = repeat(calls.known, said, query, key, value, None, attn_mask)
        if again is not None:
            return again
    if isinstance(query, Tensor):
        attn_mask, is_causal = without_bias(query, attn_mask, is_causal)
        said = (dropout_p, is_causal, scale, enable_gqa)
    own: Tuple[Any, ...] = (query, key, value, None, attn_mask)
    _check(own, dropout_p, is_causal, enable_gqa)
    _gradient.refuse_transforms(query, key, value, attn_mask)
    dense = is_dense(query, key, value, attn_mask, enable_gqa)
    query, key, value, attn_mask = cast(query, key, value, attn_mask)
    lead, (heads, shared) = leads_of(query, key, value), heads_to(query, key, value, enable_gqa)
    q = dims4("query", query, lead, heads)
    k, v = dims4("key", key, lead, shared), dims4("value", value, lead, shared)
    mask = attn_mask
    if mask is not None:
        _check_mask(mask, query)
        require_logits(mask, query, key, enable_gqa)
        mask = _rows(dims4("attn_mask", mask, lead), k.shape[2])
    given = (q, k, v) if mask is None else (q, k, v, mask)
    o: Tensor
    plan = None
    if wants_operator(*given):
        o = _forward(q, k, v, mask, is_causal, scale, dense)
    else:
        learns = _again.knows(Tensor) and all(
            x is None or x.data_ptr() == y.data_ptr() for x, y in zip((q, k, v, None, mask), own)
        )  # nothing was copied or cast
        products = products_of(q)
        o, plan = _compute(q, k, v, mask, is_causal, scale, dense, products, want_plan=learns)
    if len(lead) != 1:
        flat = max(query.dim(), key.dim(), value.dim()) == 2  # without heads
        o = o.view(o.shape[-2:] if flat else (*lead, *o.shape[1:]))
    if plan is not None:
        _learn(said, own, o, products, plan)
    return o
