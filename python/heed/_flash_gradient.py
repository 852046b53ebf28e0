"""The operators of _flash_ops.py, computed with operations that torch can differentiate."""

from __future__ import annotations

import math
from typing import Any, Tuple, Union

import torch
from torch import Tensor

from . import _flash
from ._flash import Found, Packed, Words, lengths_of, packed_positions
from ._gradient import by_torch

Count = Union[int, Tensor]  # of all sequences, or of each


def _attend(
    q: Tensor, k: Tensor, v: Tensor, queries: Count, keys: Count, words: Words, want_lse: bool
) -> Found:
    """O (batch, queries, heads, dim) and the LSE (batch, heads, queries) of sequences whose first
    @queries queries and @keys keys count."""
    if words.qv is not None:
        q, k = torch.cat((q, words.qv), -1), torch.cat((k, v), -1)
    first = keys - queries
    o, lse = by_torch(
        *(x.transpose(1, 2) for x in (q, k, v)),
        scale=words.scale,
        first=first,
        causal=words.causal,
        window=_flash.limits(words),
        chunk=words.chunk,
        lengths=keys if isinstance(keys, Tensor) else None,
        slopes=words.slopes,
        softcap=words.softcap,
        want_lse=want_lse,
    )
    if lse is not None:
        start = first.view(-1, 1, 1) if isinstance(first, Tensor) else first
        p = torch.arange(q.shape[1], device=q.device) + start
        lse = _flash.own_lse(lse, words, p)
    return o.transpose(1, 2), lse


def attend(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Found:
    """heed::flash_attention."""
    return _attend(q, k, v, q.shape[1], k.shape[1], Words(*rest[:-1]), rest[-1])


def split(*rest: Any) -> Tuple[Packed, Words, bool]:
    """The arguments of heed::flash_attention_varlen after q, k and v."""
    return Packed(*rest[:5], *rest[7:9]), Words(*rest[5:7], *rest[9:-1]), rest[-1]


def _rows(cu: Tensor, count: int, tokens: int) -> Tensor:
    """The rows of the first @count tokens of each sequence: (batch, count)."""
    at = cu[:-1].view(-1, 1).long() + torch.arange(count, device=cu.device)
    return at.clamp(max=tokens - 1)


def attend_varlen(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Found:
    """heed::flash_attention_varlen, with the sequences padded to the greatest length."""
    (cu_q, cu_k, used_q, used_k, table, most_q, most_k), words, want_lse = split(*rest)
    tokens, queries, keys = q.shape[0], lengths_of(cu_q, used_q), lengths_of(cu_k, used_k)
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
    if words.qv is not None:
        words = words._replace(qv=words.qv[rows])
    o, lse = _attend(q[rows], k, v, queries, keys, words, want_lse)
    of = packed_positions(cu_q, tokens).clamp(min=0)
    at = torch.arange(tokens, device=q.device) - cu_q[of]
    none = at >= queries[of]
    at = at.clamp(max=rows.shape[1] - 1)
    o = o[of, at].masked_fill(none[:, None, None], 0.0)
    if lse is not None:
        lse = lse[of, :, at].masked_fill(none[:, None], math.inf).t()
    return o, lse
