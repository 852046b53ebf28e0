"""FlashAttention's conventions, shared by heed.flash_attn and heed.flash_attn_3.

Q, K and V are (batch, sequence, heads, dim); a causal mask and a window are aligned at the bottom
right: query i is at position p = i + keys - queries and sees keys p - left to p + right.
Source: docstrings of https://github.com/Dao-AILab/flash-attention, flash_attn_interface.py of
FlashAttention-2 and of hopper/ (FlashAttention-3).
"""

from __future__ import annotations

import math
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from . import _fields, _flash_qv, _values
from ._arrays import require_memory
from ._attention import attention, compute
from ._empty import require_broadcast, require_fit
from ._errors import (
    ArgumentTypeError,
    HeedError,
    InvalidError,
    UnsupportedError,
    renamed,
    type_error,
)
from ._plan import Plan
from ._problem import OPERANDS

Found = Tuple[Tensor, Optional[Tensor]]  # O and, if it is wanted, the LSE


class Words(NamedTuple):
    """The options of a call, whatever its layout."""

    slopes: Optional[Tensor]
    qv: Optional[Tensor]
    scale: Optional[float]
    causal: bool
    left: int
    right: int
    softcap: float
    chunk: int
    empty: float  # LSE of a row that sees no key; +infinity in FlashAttention-2


class Packed(NamedTuple):
    """The places and lengths of packed sequences."""

    cu_q: Any
    cu_k: Any
    used_q: Optional[Tensor] = None
    used_k: Optional[Tensor] = None
    table: Optional[Tensor] = None
    most_q: Optional[int] = None
    most_k: Optional[int] = None


def refuse(given: Any, *unset: Any, name: str, remedy: str) -> None:
    """Raise unless the argument is None or one of the @unset values."""
    if given is not None and not any(given is x or given == x for x in unset):
        said = f"a tensor of shape {tuple(given.shape)}" if isinstance(given, Tensor) else repr(given)
        raise UnsupportedError(f"{name}: {said}, which heed does not support; {remedy}")


def refuse_dropout(dropout_p: float) -> None:
    """Raise unless it is 0."""
    if dropout_p:
        raise UnsupportedError(f"dropout_p: {dropout_p}, and heed has no dropout; pass 0.0")


def tensor(name: str, x: Any, dims: int) -> Tensor:
    """The tensor, with contiguous head vectors."""
    if not isinstance(x, Tensor):
        raise type_error(name, x, "a torch.Tensor")
    if x.dim() != dims:
        raise InvalidError(
            f"{name}: shape is {tuple(x.shape)}, of {x.dim()} dimensions; pass {dims} dimensions"
        )
    if x.stride(-1) == 1:
        return x
    if not torch.compiler.is_compiling():
        require_memory(name, x)
    return x.contiguous()


_NUMBER_MAX = 1 << 30  # more than keys or pages; the sum of two such numbers fits into int32


def to_int32(x: Tensor) -> Tensor:
    """The numbers as int32: one that int32 lacks becomes another one that is out of range."""
    return x if x.dtype is torch.int32 else x.clamp(-1, _NUMBER_MAX).to(torch.int32)


def unpack(name: str, x: Any, dims: int, parts: int) -> Tuple[Tensor, ...]:
    """The tensors that are stacked along the third dimension from the end, without a copy."""
    whole = tensor(name, x, dims)
    if whole.shape[-3] != parts:
        raise InvalidError(
            f"{name}: shape is {tuple(whole.shape)}; its third size from the end must be {parts}"
        )
    return tuple(whole.unbind(-3))


def words_of(
    scale: Any,
    causal: Any,
    window_size: Any,
    softcap: Any,
    slopes: Any = None,
    chunk: int = 0,
    empty: float = -math.inf,
    qv: Any = None,
) -> Words:
    """The options of a call, checked. A scale of 0 averages the values; a softcap below 0 is off."""
    if slopes is not None and not isinstance(slopes, Tensor):
        raise type_error("alibi_slopes", slopes, "a torch.Tensor", "pass one, or None")
    scale, softcap = _values.scale("softmax_scale", scale), _values.number("softcap", softcap)
    softcap = 0.0 if softcap <= 0 else softcap
    chunk = _values.integer("attention_chunk", chunk, 0, _values.SIZE_MAX)
    left, right = _window(window_size)
    causal = _values.truth("causal", causal)
    return Words(slopes, qv, scale, causal, left, right, softcap, chunk, empty)


def _window(size: Any) -> Tuple[int, int]:
    """The window's limits; a tensor of two elements is accepted too."""
    if isinstance(size, Tensor):
        size = size.tolist()
    left, right = (
        _values.integer(f"window_size[{i}]", x, high=_values.SIZE_MAX)
        for i, x in enumerate(_values.pair("window_size", size, "as (-1, -1)"))
    )
    return left, right


def limits(words: Words) -> Tuple[Optional[int], Optional[int]]:
    """The window's limits; None: no limit on that side."""
    left, right = words.left, words.right
    return left if left >= 0 else None, right if right >= 0 and not words.causal else None


def _positions(keys: "Union[int, Tensor]", queries: int, device: torch.device) -> Tensor:
    """p of each query, (queries,) or (batch, 1, queries)."""
    rows = torch.arange(queries, device=device, dtype=torch.float32) - queries
    return rows + keys if isinstance(keys, int) else rows + keys.view(-1, 1, 1)


def slopes_of(words: Words) -> Optional[Tensor]:
    """ALiBi's slopes as a dense float32 tensor, copied if need be."""
    return None if words.slopes is None else words.slopes.to(torch.float32).contiguous()


def _left_out(words: Words) -> Optional[Tensor]:
    """The slopes, (1 or batch, heads), if FlashAttention's LSE lacks the term - slope * p, which is
    the same for all keys of a row; else None."""
    slopes = slopes_of(words)
    if slopes is None or not words.causal or limits(words)[0] is not None:
        return None
    return slopes.view(-1, slopes.shape[-1])


def _own_empty(lse: Tensor, words: Words) -> Tensor:
    return lse.masked_fill(lse == -math.inf, words.empty) if words.empty > 0 else lse


def own_lse(lse: Tensor, words: Words, p: Tensor) -> Tensor:
    """FlashAttention's LSE of queries at the positions @p, from heed's (batch, heads, queries)."""
    slopes = _left_out(words)
    return _own_empty(lse if slopes is None else lse + slopes.unsqueeze(-1) * p, words)


#: Argument names in messages of attention(), and those of FlashAttention.
_OWN_NAMES = {"slopes": "alibi_slopes", "scale": "softmax_scale", "table": "block_table"}
_OWN_NAME = re.compile(r"^(slopes|scale|table)(?=:| is |\[)")


_LENGTHS = re.compile(r"^lengths(?=\[)")


def _own_words(words: Words) -> Dict[str, Any]:
    """attention()'s arguments for the options of FlashAttention."""
    window = limits(words)
    return {
        "causal": "bottom-right" if words.causal else False,
        "window": None if window == (None, None) else window,
        "chunk": words.chunk or None,
        "align": "bottom-right",
        "softcap": words.softcap,
        "slopes": slopes_of(words),
        "scale": words.scale,
    }


def _compute(q: Tensor, k: Tensor, v: Tensor, words: Words, want_lse: bool, **more: Any) -> Found:
    """attention() with the options of FlashAttention, and its own of @more."""
    given = _flash_qv.join(q, words.qv, k, v)
    own = {**_own_words(words), "dim_v": given.dim_v, "return_lse": want_lse, **more}
    try:
        found = attention(given.q, given.k, given.v, **own)
    except HeedError as error:
        raise renamed(error, _OWN_NAME, _OWN_NAMES) from None
    return found if want_lse else (found, None)


def compute_planned(
    q: Tensor, k: Tensor, v: Tensor, words: Words, **more: Any
) -> Tuple[Tensor, Plan]:
    """_compute() of tensors that are not empty, without qv and the LSE; and the plan."""
    own = {**_own_words(words), **more}
    given = tuple(own.pop(name, None) for name in OPERANDS)
    try:
        o, _, plan = compute(q, k, v, given, _fields.Words(**own))
    except HeedError as error:
        raise renamed(error, _OWN_NAME, _OWN_NAMES) from None
    return o, plan


def _no_pairs(q: Tensor, v: Tensor, words: Words, want_lse: bool) -> Found:
    """The results if no query sees a key: heed has no empty problems."""
    shape = (*q.shape[:-3], q.shape[-2], q.shape[-3])
    lse = q.new_full(shape, words.empty, dtype=torch.float32) if want_lse else None
    return q.new_zeros((*q.shape[:-1], v.shape[-1])), lse


def _require_fit(
    q: Tensor, k: Tensor, v: Tensor, words: Words, batch: int, pools: bool = False
) -> None:
    """Raise unless tensors, some sizes of which are 0, fit together. q may be packed, and then k and v
    as well. @batch is the number of sequences, and k and v may be pools of pages."""
    packed = q.dim() == 3
    own_q, own_k, own_v = (x[None] if x.dim() == 3 else x for x in (q, k, v))
    require_fit(own_q, own_k, own_v, batches=not pools and not (packed and k.dim() == 4))
    if words.qv is not None:
        _flash_qv.check(q, words.qv, v)
    require_broadcast("alibi_slopes", words.slopes, (batch, q.shape[-2]))


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    words: Words,
    *,
    want_lse: bool,
    lengths: Optional[Tensor] = None,
    starts: Optional[Tensor] = None,
    table: Optional[Tensor] = None,
    cu_q: Optional[Tensor] = None,
    most_q: Optional[int] = None,
    new: Optional[Dict[str, Any]] = None,
) -> Found:
    """O (batch, queries, heads, dim of v), and the LSE (batch, heads, queries) if it is wanted.
    With a page table, k and v are pools of pages. With cu_q, which excludes ALiBi, q and O are
    packed, and the LSE is (heads, tokens). @new are attention()'s arguments for new keys, which
    the lengths include."""
    if 0 in (*q.shape, *k.shape, *v.shape):
        batch = len(q) if cu_q is None else cu_q.numel() - 1
        _require_fit(q, k, v, words, batch, table is not None)
    if 0 in (*q.shape[:-1], k.shape[1], v.shape[-1], most_q):
        return _no_pairs(q, v, words, want_lse)
    more = {} if new is None else new
    chunk = words.chunk
    if chunk and starts is not None:  # chunks begin at the first visible key
        visible = f"(k-first[batch])//{chunk}==(p-first[batch])//{chunk}"
        first = {"first": starts[:, 0].contiguous()}
        more = {**more, "chunk": None, "visible": visible, "arrays": first}
    o, lse = _compute(
        q,
        k,
        v,
        words,
        want_lse,
        cu_seqlens_q=cu_q,
        max_seqlen_q=most_q,
        lengths=lengths,
        starts=starts,
        table=table,
        **more,
    )
    if lse is None:
        return o, None
    begin = 0 if starts is None else starts[:, :1].view(-1, 1, 1)
    keys = k.shape[1] * (1 if table is None else table.shape[1])
    p = _positions(keys if lengths is None else lengths, q.shape[1], q.device) - begin
    return o, own_lse(lse, words, p)


def cumulative(name: str, x: Any, total: int) -> Tensor:
    """Cumulative lengths. Their values are checked on a CPU; on a GPU that would have to wait."""
    if not isinstance(x, Tensor) or x.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"{name}: pass a torch.Tensor of int32, of batch + 1 elements")
    if x.dim() != 1 or not x.numel():
        raise InvalidError(f"{name}: shape is {tuple(x.shape)}; pass (batch + 1,)")
    found = [] if x.is_cuda else x.tolist()
    if found and (found[0] != 0 or found[-1] > total or sorted(found) != found):
        raise InvalidError(
            f"{name}: {found[:8]}{'...' if len(found) > 8 else ''} does not rise from 0 to the "
            f"{total} tokens of the tensor"
        )
    return x


def most_of(side: str, most: Any, cu: Tensor) -> Optional[int]:
    """The upper bound of the sequence lengths; None: there is none. It is 0 if all are empty."""
    if most is None:
        return None
    name = f"max_seqlen_{side}"
    found = _values.integer(name, most, 0, _values.SIZE_MAX)
    if found == 0 and not cu.is_cuda and int(cu[-1]):
        raise InvalidError(f"{name}: 0, but not all sequences are empty; pass the greatest length")
    return found


def packed_positions(cu: Tensor, tokens: int) -> Tensor:
    """The number of the sequence that each token belongs to."""
    at = torch.arange(tokens, device=cu.device, dtype=cu.dtype)
    return torch.searchsorted(cu, at, right=True).clamp(max=cu.numel() - 1) - 1


def lengths_of(cu: Tensor, used: Optional[Tensor]) -> Tensor:
    """The lengths of the sequences, at most @used."""
    own = cu[1:] - cu[:-1]
    return own if used is None else torch.minimum(own, used.to(own.dtype))


def attend_varlen(
    q: Any, k: Any, v: Any, packed: Packed, words: Words, *, want_lse: bool
) -> Found:
    """O (tokens, heads, dim of v), and the LSE (heads, tokens) if it is wanted. The cumulative
    lengths are read on the device. With a table, K and V are pools of pages."""
    _, _, used_q, used_k, table, most_q, most_k = packed
    dims = 3 if table is None else 4
    q, k, v = tensor("q", q, 3), tensor("k", k, dims), tensor("v", v, dims)
    if k.shape[0] != v.shape[0]:
        raise InvalidError(f"v: it has {v.shape[0]} tokens, k has {k.shape[0]}; pass as many")
    if table is not None and not isinstance(table, Tensor):
        raise type_error("block_table", table, "a torch.Tensor", "pass one of int32, or None")
    tokens_k = k.shape[0] if table is None else table.numel() * k.shape[1]
    cu_q = cumulative("cu_seqlens_q", packed.cu_q, q.shape[0])
    cu_k = cumulative("cu_seqlens_k", packed.cu_k, tokens_k)
    if cu_q.numel() != cu_k.numel():
        raise InvalidError(
            f"cu_seqlens_k: it has {cu_k.numel()} elements, cu_seqlens_q has {cu_q.numel()}"
        )
    most_q = most_of("q", most_q, cu_q)
    most_k = most_of("k", most_k, cu_k) if table is None else None
    batch = cu_q.numel() - 1
    for name, x in (("seqused_q", used_q), ("seqused_k", used_k)):
        if x is None:
            continue
        if not isinstance(x, Tensor) or x.dtype not in (torch.int32, torch.int64):
            raise ArgumentTypeError(f"{name}: pass a torch.Tensor of int32, of shape ({batch},)")
        if x.shape != (batch,):
            raise InvalidError(f"{name}: shape is {tuple(x.shape)}; pass ({batch},)")
        if not x.is_cuda and (x < 0).any():
            raise InvalidError(f"{name}: {x.tolist()[:8]} has a number below 0; pass others")
    if 0 in (*q.shape, *k.shape, *v.shape, batch):
        _require_fit(q, k, v, words, batch, table is not None)
    if 0 in (*q.shape[:-1], k.shape[0], batch, v.shape[-1], most_q, most_k):
        return _no_pairs(q, v, words, want_lse)
    if used_q is not None:
        return _attend_used(q, k, v, packed, used_q, words, want_lse)
    lengths = used_k if table is None else lengths_of(cu_k, used_k)
    try:
        o, lse = _compute(
            q,
            k,
            v,
            words,
            want_lse,
            lengths=None if lengths is None else to_int32(lengths),
            table=table,
            cu_seqlens_q=cu_q,
            cu_seqlens_k=cu_k if table is None else None,
            max_seqlen_q=most_q,
            max_seqlen_k=most_k,
        )
    except InvalidError as error:
        own = "seqused_k" if table is None else "the lengths of cu_seqlens_k: "
        raise renamed(error, _LENGTHS, {"lengths": own}) from None
    if lse is None:
        return o, None
    slopes = _left_out(words)
    if slopes is not None:
        of = packed_positions(cu_q, lse.shape[1])
        p = (lengths_of(cu_k, used_k) - cu_q[1:])[of] + torch.arange(lse.shape[1], device=q.device)
        lse = lse + slopes.expand(batch, -1)[of].t() * p
    return o, _own_empty(lse, words)


def _attend_used(
    q: Tensor, k: Tensor, v: Tensor, packed: Packed, used: Tensor, words: Words, want_lse: bool
) -> Found:
    """attend_varlen() of the first @used queries of each sequence, whose rows are gathered first;
    the other rows of O are 0."""
    cu = packed.cu_q
    of = packed_positions(cu, q.shape[0]).clamp(min=0)
    at = torch.arange(q.shape[0], device=q.device) - cu[of]
    lengths = lengths_of(cu, used)
    rows = ((at < lengths[of]) & (at >= 0)).nonzero().view(-1)
    own_cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(cu.dtype)
    if words.qv is not None:
        words = words._replace(qv=words.qv[rows])
    own = packed._replace(cu_q=own_cu, used_q=None)
    o, lse = attend_varlen(q[rows], k, v, own, words, want_lse=want_lse)
    whole, sums = _no_pairs(q, v, words, want_lse)
    whole[rows] = o
    if lse is not None and sums is not None:
        sums[:, rows] = lse
    return whole, sums
