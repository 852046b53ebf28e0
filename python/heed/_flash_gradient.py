"""The operators of _flash_ops.py again, in operations that torch differentiates."""

from __future__ import annotations

import math
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor

from . import _flash
from ._flash import Words
from ._gradient import by_torch

Count = Union[int, Tensor]  # of all sequences, or of each


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    queries: Count,
    keys: Count,
    slopes: Optional[Tensor],
    qv: Optional[Tensor],
    scale: Optional[float],
    causal: bool,
    left: int,
    right: int,
    softcap: float,
    chunk: int,
    empty: float,
    want_lse: bool,
) -> Tuple[Tensor, Optional[Tensor]]:
    """O (batch, queries, heads, dim) and the LSE (batch, heads, queries) of sequences that begin with
    so many queries and keys."""
    words = Words(scale, causal, (left, right), softcap, slopes, chunk, empty, qv)
    if qv is not None:
        q, k = torch.cat((q, qv), -1), torch.cat((k, v), -1)
    first = keys - queries
    o, lse = by_torch(
        *(x.transpose(1, 2) for x in (q, k, v)),
        scale=scale,
        first=first,
        causal=causal,
        window=_flash.limits(words),
        chunk=chunk,
        lengths=keys if isinstance(keys, Tensor) else None,
        slopes=slopes,
        softcap=softcap,
        want_lse=want_lse,
    )
    if lse is not None:
        start = first.view(-1, 1, 1) if isinstance(first, Tensor) else first
        p = torch.arange(q.shape[1], device=q.device) + start
        lse = _flash.own_lse(lse, words, p)
    return o.transpose(1, 2), lse


def attend(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tuple[Tensor, Optional[Tensor]]:
    """Of whole sequences."""
    return _attend(q, k, v, q.shape[1], k.shape[1], *rest)


def _rows(cu: Tensor, count: int, tokens: int) -> Tensor:
    """Where the first tokens of each sequence are: (batch, count)."""
    at = cu[:-1].view(-1, 1).long() + torch.arange(count, device=cu.device)
    return at.clamp(max=tokens - 1)


def attend_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_q: Tensor,
    cu_k: Tensor,
    used_q: Optional[Tensor],
    used_k: Optional[Tensor],
    table: Optional[Tensor],
    slopes: Optional[Tensor],
    qv: Optional[Tensor],
    most_q: Optional[int],
    most_k: Optional[int],
    *rest: Any,
) -> Tuple[Tensor, Optional[Tensor]]:
    """Of packed sequences: as whole ones of the greatest length."""
    tokens, queries, keys = q.shape[0], cu_q[1:] - cu_q[:-1], cu_k[1:] - cu_k[:-1]
    queries = queries if used_q is None else torch.minimum(queries, used_q)
    keys = keys if used_k is None else torch.minimum(keys, used_k)
    if not (tokens and k.shape[0] and queries.numel()):
        return q.new_zeros((*q.shape[:2], v.shape[-1])), None
    rows = _rows(cu_q, min(most_q or tokens, tokens), tokens)
    if table is None:
        rows_k = _rows(cu_k, min(most_k or k.shape[0], k.shape[0]), k.shape[0])
        k, v = k[rows_k], v[rows_k]
    else:
        pages = table.long().clamp(0, k.shape[0] - 1)
        k, v = (x[pages].flatten(1, 2) for x in (k, v))
    hidden = torch.arange(k.shape[1], device=k.device) >= keys.view(-1, 1)
    k, v = (x.masked_fill(hidden[..., None, None], 0.0) for x in (k, v))
    qv = None if qv is None else qv[rows]
    o, lse = _attend(q[rows], k, v, queries, keys, slopes, qv, *rest)
    of = _flash.packed_positions(cu_q, tokens).clamp(min=0)
    at = torch.arange(tokens, device=q.device) - cu_q[of]
    none = at >= queries[of]
    at = at.clamp(max=rows.shape[1] - 1)
    o = o[of, at].masked_fill(none[:, None, None], 0.0)
    if lse is not None:
        lse = lse[of, :, at].masked_fill(none[:, None], math.inf).t()
    return o, lse
