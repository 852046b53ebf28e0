"""The first dimensions of query, key and value, which broadcast as those of torch's products do."""

from __future__ import annotations

import math
from typing import Optional, Tuple

from torch import Tensor

from ._errors import InvalidError


def joint(first: Tuple[int, ...], second: Tuple[int, ...]) -> Optional[Tuple[int, ...]]:
    """The sizes to which both broadcast; None: they do not."""
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    sizes = [(y if x == 1 else x, x == y or x == 1 or y == 1) for x, y in pairs]
    return tuple(size for size, _ in sizes) if all(fits for _, fits in sizes) else None


def refuse_lead(
    name: str, own: Tuple[int, ...], lead: Tuple[int, ...], of: str = "query"
) -> InvalidError:
    """The exception for first dimensions that do not broadcast."""
    return InvalidError(
        f"{name}: its first dimensions are {own}, those of {of} {lead}; pass some that broadcast"
    )


def leads_of(query: Tensor, key: Tensor, value: Tensor) -> Tuple[int, ...]:
    """The sizes of the result's dimensions before heads, to which those of the tensors broadcast."""
    lead = tuple(query.shape[:-3])
    for name, x in (("key", key), ("value", value)):
        own = tuple(x.shape[:-3])
        found = lead if own == lead else joint(lead, own)
        if found is None:
            raise refuse_lead(name, own, lead)
        lead = found
    return lead


def _heads_of(x: Tensor) -> int:
    return x.shape[-3] if x.dim() > 2 else 1


def heads_to(
    query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool
) -> Tuple[Optional[int], Optional[int]]:
    """The numbers of heads to which those of the query, and of key and value, broadcast; None: they
    are not expanded. A head of key and value that all heads of the query share is not either."""
    heads, *shared = (_heads_of(x) for x in (query, key, value))
    if enable_gqa:
        return None, max(shared) if shared[0] != shared[1] and 1 in shared else None
    for name, own in zip(("key", "value"), shared):
        if 1 != own != heads != 1:
            raise InvalidError(
                f"{name}: it has {own} heads, query {heads}; groups of heads need enable_gqa=True"
            )
        heads = own if heads == 1 else heads
    return heads, None if shared[0] == shared[1] else heads


def dims4(name: str, x: Tensor, lead: Tuple[int, ...], heads: Optional[int] = None) -> Tensor:
    """The tensor as (batch, heads, length, dim), expanded to the first dimensions @lead and to the
    heads, with a copy if strides cannot express it."""
    own = tuple(x.shape[:-3])
    if x.dim() == 4 and own == lead and (heads is None or heads == x.shape[1]):
        return x
    while x.dim() < 3:
        x = x.unsqueeze(0)
    shape = (*lead, x.shape[-3] if heads is None else heads, *x.shape[-2:])
    try:
        x = x.expand(shape)
    except RuntimeError:
        raise refuse_lead(name, own, lead) from None
    if len(lead) < 2:
        return x if lead else x.unsqueeze(0)
    flat = (math.prod(lead), *shape[len(lead) :])
    if own != lead:
        return x.reshape(flat)
    try:
        return x.view(flat)
    except RuntimeError:
        raise InvalidError(
            f"{name}: its first dimensions cannot be taken as one without a copy; pass "
            "tensor.contiguous()"
        ) from None


def require_logits(mask: Tensor, query: Tensor, key: Tensor, enable_gqa: bool) -> None:
    """Raise unless the first dimensions of the mask broadcast to those of the logits, as in torch."""
    own, logits = tuple(mask.shape[:-2]), tuple(query.shape[:-2])
    if not enable_gqa:
        logits = joint(logits, tuple(key.shape[:-2])) or logits
    else:
        logits = (*(joint(logits[:-1], tuple(key.shape[:-3])) or logits[:-1]), logits[-1])
    if joint(own, logits) != logits:
        raise refuse_lead("attn_mask", own, logits, "the logits")
    pairs = (query.shape[-2], key.shape[-2])
    if joint(tuple(mask.shape[-2:]), pairs) != pairs:
        raise InvalidError(
            f"attn_mask: shape is {tuple(mask.shape)}, which does not broadcast to "
            f"{(*logits, *pairs)}; pass one that does"
        )
