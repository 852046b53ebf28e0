"""FlashAttention's conventions, of which heed.flash_attn and heed.flash_attn_3 are made.

Q, K and V are (batch, sequence, heads, dim); a causal mask and a window are aligned at the bottom
right: query i stands at key p = i + keys - queries and sees the keys p - left to p + right.
Source: docstrings of https://github.com/Dao-AILab/flash-attention, flash_attn_interface.py of
FlashAttention-2 and of hopper/ (FlashAttention-3).
"""

from __future__ import annotations

import math
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union, cast

import torch
from torch import Tensor

from . import _flash_qv
from ._attention import attention
from ._errors import ArgumentTypeError, InvalidError, UnsupportedError


class Words(NamedTuple):
    """The words of a call, whatever its layout."""

    scale: Optional[float]
    causal: bool
    window_size: Sequence[int]
    softcap: float
    slopes: Optional[Tensor] = None
    chunk: int = 0
    empty: float = -math.inf  # the LSE of a row without keys: +infinity in FlashAttention-2
    qv: Optional[Tensor] = None


def refuse(given: Any, *unset: Any, name: str, remedy: str) -> None:
    """Raise unless the argument has one of the values that ask for nothing."""
    if given is not None and not any(given is x or given == x for x in unset):
        said = f"a tensor of shape {tuple(given.shape)}" if isinstance(given, Tensor) else repr(given)
        raise UnsupportedError(f"{name}: {said}, and heed has no such thing; {remedy}")


def refuse_dropout(dropout_p: float) -> None:
    """Raise unless it is 0."""
    if dropout_p:
        raise UnsupportedError(f"dropout_p: {dropout_p}, and heed has no dropout; pass 0.0")


def tensor(name: str, x: Any, dims: int) -> Tensor:
    """The tensor, with the elements of a head vector as neighbours."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{name}: {type(x).__name__} is no torch.Tensor; pass one")
    if x.dim() != dims:
        raise InvalidError(
            f"{name}: shape is {tuple(x.shape)}, of {x.dim()} dimensions; pass {dims} dimensions"
        )
    return x if x.stride(-1) == 1 else x.contiguous()


def unpack(name: str, x: Any, dims: int, parts: int) -> Tuple[Tensor, ...]:
    """Tensors that are stacked along the third dimension from the end, without a copy."""
    whole = tensor(name, x, dims)
    if whole.shape[-3] != parts:
        raise InvalidError(
            f"{name}: shape is {tuple(whole.shape)}; its third size from the end must be {parts}"
        )
    return tuple(whole.unbind(-3))


def _window(words: Words) -> Tuple[Optional[int], Optional[int]]:
    """Limits of a window, which may be given as a tensor; None: an open side."""
    if len(words.window_size) != 2:
        raise InvalidError(f"window_size: {words.window_size!r} is no pair (left, right)")
    left, right = (int(x) for x in words.window_size)
    return left if left >= 0 else None, right if right >= 0 and not words.causal else None


def _positions(keys: "Union[int, Tensor]", queries: int, device: torch.device) -> Tensor:
    """p of each query, (queries,) or (batch, 1, queries)."""
    rows = torch.arange(queries, device=device, dtype=torch.float32) - queries
    return rows + keys if isinstance(keys, int) else rows + keys.view(-1, 1, 1)


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
    out: Optional[Tensor] = None,
    new: Optional[Dict[str, Any]] = None,
) -> Tuple[Tensor, Optional[Tensor]]:
    """O (batch, queries, heads, dim of v), and the LSE (batch, heads, queries) if it is wanted.
    With a page table k and v are pools of pages. With cu_q, which has no ALiBi, q and O are packed,
    and the LSE is (heads, tokens). @new are attention()'s words of new keys, which lengths count."""
    window = _window(words)
    slopes = words.slopes
    if slopes is not None:
        slopes = slopes.to(torch.float32)
    if k.shape[1] == 0 and q.numel():  # heed has no problem without keys
        shape = (*q.shape[:-1], v.shape[-1])
        o = q.new_zeros(shape) if out is None else out.zero_()
        lse = q.new_full((*q.shape[:-3], q.shape[-2], q.shape[-3]), words.empty, dtype=torch.float32)
        return o, lse if want_lse else None
    given = _flash_qv.join(q, words.qv, k, v)
    chunk, visible, arrays = words.chunk or None, None, None
    if chunk and starts is not None:  # chunks are counted from the first key that is seen
        visible = f"(k-first[batch])//{chunk}==(p-first[batch])//{chunk}"
        arrays, chunk = {"first": starts[:, 0].contiguous()}, None
    found = attention(
        given.q,
        given.k,
        given.v,
        dim_v=given.dim_v,
        causal="bottom-right" if words.causal else False,
        window=None if window == (None, None) else window,
        chunk=chunk,
        visible=visible,
        arrays=arrays,
        cu_seqlens_q=cu_q,
        max_seqlen_q=most_q,
        align="bottom-right",
        softcap=words.softcap,
        slopes=slopes,
        scale=words.scale,
        lengths=lengths,
        starts=starts,
        table=table,
        return_lse=want_lse,
        out=out,
        **(new or {}),
    )
    if not want_lse:
        return found, None
    o, lse = found
    if slopes is not None and words.causal and window[0] is None:
        # FlashAttention leaves - slope * p, which is the same for all keys of a row, out of it.
        first = 0 if starts is None else starts[:, :1].view(-1, 1, 1)
        keys = k.shape[1] * (1 if table is None else table.shape[1])
        at = _positions(keys if lengths is None else lengths, q.shape[1], q.device) - first
        lse = lse + slopes.view(-1, slopes.shape[-1], 1) * at
    if words.empty > 0:
        lse = lse.masked_fill(lse == -math.inf, words.empty)
    return o, lse


def _cumulative(name: str, x: Any, total: int) -> Tensor:
    """Cumulative lengths; their values are checked where that waits for no GPU."""
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


def _packed_positions(cu: Tensor, tokens: int) -> Tensor:
    """The number of the sequence that each of the tokens belongs to."""
    at = torch.arange(tokens, device=cu.device, dtype=cu.dtype)
    return torch.searchsorted(cu, at, right=True).clamp(max=cu.numel() - 1) - 1


def attend_varlen(
    q: Any,
    k: Any,
    v: Any,
    cu_q: Any,
    cu_k: Any,
    words: Words,
    *,
    want_lse: bool,
    most: Tuple[Optional[int], Optional[int]] = (None, None),
    used_q: Optional[Tensor] = None,
    used_k: Optional[Tensor] = None,
    table: Optional[Tensor] = None,
) -> Tuple[Tensor, Optional[Tensor]]:
    """O (tokens, heads, dim of v), and the LSE (heads, tokens) if it is wanted. The cumulative
    lengths are read on the device. With a table, K and V are pages."""
    dims = 3 if table is None else 4
    q, k, v = tensor("q", q, 3), tensor("k", k, dims), tensor("v", v, dims)
    if k.shape[0] != v.shape[0]:
        raise InvalidError(f"v: it has {v.shape[0]} tokens, k {k.shape[0]}; pass as many")
    tokens_k = k.shape[0] if table is None else table.numel() * k.shape[1]
    cu_q = _cumulative("cu_seqlens_q", cu_q, q.shape[0])
    cu_k = _cumulative("cu_seqlens_k", cu_k, tokens_k)
    if cu_q.numel() != cu_k.numel():
        raise InvalidError(
            f"cu_seqlens_k: it has {cu_k.numel()} elements, cu_seqlens_q {cu_q.numel()}"
        )
    batch = cu_q.numel() - 1
    for name, x in (("seqused_q", used_q), ("seqused_k", used_k)):
        if x is not None and (not isinstance(x, Tensor) or x.shape != (batch,)):
            raise InvalidError(f"{name}: pass a torch.Tensor of int32, of shape ({batch},)")
    if not q.numel() or not k.shape[0] or not batch:
        lse = q.new_full((q.shape[1], q.shape[0]), words.empty, dtype=torch.float32)
        return q.new_zeros((*q.shape[:-1], v.shape[-1])), lse if want_lse else None
    if used_q is not None:  # rows that do not count are in no sequence
        return _attend_used(q, k, v, cu_q, cu_k, words, want_lse, most, used_q, used_k, table)
    window = _window(words)
    slopes = None if words.slopes is None else words.slopes.to(torch.float32)
    lengths = used_k
    if table is not None:
        lengths = cu_k[1:] - cu_k[:-1]
        if used_k is not None:
            lengths = torch.minimum(lengths, used_k.to(lengths.dtype))
    given = _flash_qv.join(q, words.qv, k, v)
    found = attention(
        given.q,
        given.k,
        given.v,
        dim_v=given.dim_v,
        causal="bottom-right" if words.causal else False,
        window=None if window == (None, None) else window,
        chunk=words.chunk or None,
        align="bottom-right",
        softcap=words.softcap,
        slopes=slopes,
        scale=words.scale,
        lengths=None if lengths is None else lengths.to(torch.int32),
        table=table,
        cu_seqlens_q=cu_q,
        cu_seqlens_k=cu_k if table is None else None,
        max_seqlen_q=most[0],
        max_seqlen_k=most[1] if table is None else None,
        return_lse=want_lse,
    )
    if not want_lse:
        return found, None
    o, lse = found
    if slopes is not None and words.causal and window[0] is None:
        # FlashAttention leaves - slope * p, which is the same for all keys of a row, out of it.
        of = _packed_positions(cu_q, lse.shape[1])
        keys = cu_k[1:] - cu_k[:-1]
        if used_k is not None:
            keys = torch.minimum(keys, used_k.to(keys.dtype))
        shift = (keys - cu_q[1:])[of] + torch.arange(lse.shape[1], device=q.device)
        own = slopes.t()[:, of] if slopes.dim() == 2 else slopes.view(-1, 1)
        lse = lse + own * shift
    if words.empty > 0:
        lse = lse.masked_fill(lse == -math.inf, words.empty)
    return o, lse


def _attend_used(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_q: Tensor,
    cu_k: Tensor,
    words: Words,
    want_lse: bool,
    most: Tuple[Optional[int], Optional[int]],
    used_q: Tensor,
    used_k: Optional[Tensor],
    table: Optional[Tensor],
) -> Tuple[Tensor, Optional[Tensor]]:
    """attend_varlen() of the first used_q queries of each sequence: their rows are gathered, so
    that they lie one after another; others are 0."""
    of = _packed_positions(cu_q, q.shape[0]).clamp(min=0)
    at = torch.arange(q.shape[0], device=q.device) - cu_q[of]
    rows = ((at < used_q[of]) & (at < (cu_q[1:] - cu_q[:-1])[of]) & (at >= 0)).nonzero().view(-1)
    lengths = torch.minimum(used_q.to(cu_q.dtype), cu_q[1:] - cu_q[:-1])
    own_cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(cu_q.dtype)
    if words.qv is not None:
        words = words._replace(qv=words.qv[rows])
    o, lse = attend_varlen(
        q[rows],
        k,
        v,
        own_cu,
        cu_k,
        words,
        want_lse=want_lse,
        most=most,
        used_k=used_k,
        table=table,
    )
    whole = q.new_zeros((*q.shape[:-1], v.shape[-1]))
    whole[rows] = o
    if lse is None:
        return whole, None
    sums = q.new_full((q.shape[1], q.shape[0]), words.empty, dtype=torch.float32)
    sums[:, rows] = lse
    return whole, sums


# ---- Caches --------------------------------------------------------------------------------------


class Cache(NamedTuple):
    """The words of a call with a cache of keys and values."""

    seqlens: "Union[int, Tensor, None]"
    batch_idx: Optional[Tensor]
    leftpad: Optional[Tensor]
    rotary_cos: Optional[Tensor]
    rotary_sin: Optional[Tensor]
    rotary_interleaved: bool
    rotary_seqlens: Optional[Tensor] = None
    table: Optional[Tensor] = None
    table_name: str = "block_table"
    cu_q: Optional[Tensor] = None
    cu_new: Optional[Tensor] = None
    most_q: Optional[int] = None


def rotate(x: Tensor, cos: Tensor, sin: Tensor, at: Tensor, interleaved: bool) -> Tensor:
    """Rotary embedding (Su et al., 2021) of x (batch, sequence, heads, dim), at the positions at
    (batch, sequence) of cos and sin (positions, r / 2); elements beyond r stay."""
    half = cos.shape[-1]
    at = at.clamp(0, cos.shape[0] - 1).long()
    c, s = cos[at].float().unsqueeze(2), sin[at].float().unsqueeze(2)
    part = x[..., : 2 * half].float()
    if interleaved:
        one, two = part[..., ::2], part[..., 1::2]
        turned = torch.stack((one * c - two * s, one * s + two * c), -1).flatten(-2)
    else:
        one, two = part[..., :half], part[..., half:]
        turned = torch.cat((one * c - two * s, one * s + two * c), -1)
    return torch.cat((turned.to(x.dtype), x[..., 2 * half :]), -1)


def _table(cache: Cache, pool: Tensor, batch: int) -> Optional[Tensor]:
    """The page table, int32 (batch, pages of a sequence). On a CPU its numbers are checked where
    they will be read."""
    table, name = cache.table, cache.table_name
    if table is None:
        return None
    if not isinstance(table, Tensor) or table.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"{name}: pass a torch.Tensor of int32, (batch, pages of a sequence)")
    if table.dim() != 2 or table.shape[1] < 1 or (table.shape[0] != batch and cache.batch_idx is None):
        raise InvalidError(
            f"{name}: shape is {tuple(table.shape)}; pass ({batch}, pages of a sequence)"
        )
    if table.device != pool.device:
        raise InvalidError(f"{name}: it is on {table.device}, k_cache on {pool.device}")
    if cache.batch_idx is not None:  # its rows are those of the caches
        table = table[cache.batch_idx.long()]
    table = table.to(torch.int32)
    return table if table.stride(-1) == 1 else table.contiguous()


def _check_pages(name: str, table: Tensor, lengths: Optional[Tensor], pool: Tensor) -> None:
    """Raise for a number of a page that is not one, ahead of the length."""
    used = torch.arange(table.shape[1]).view(1, -1) * pool.shape[1]
    used = used < table.shape[1] * pool.shape[1] if lengths is None else used < lengths.view(-1, 1)
    wrong = used & ((table < 0) | (table >= pool.shape[0]))
    if wrong.any():
        b, n = wrong.nonzero()[0].tolist()
        raise InvalidError(
            f"{name}: entry ({b}, {n}) is {int(table[b, n])}; it must be 0 to {pool.shape[0] - 1}, "
            "the pages of k_cache"
        )


def _turns(q: Tensor, new: int, cache: Cache, words: Words, keys: int) -> Optional[Dict[str, Any]]:
    """attention()'s words of the rotary embedding; None: heed's is at other positions, or reads
    other layouts."""
    cos, sin = cache.rotary_cos, cache.rotary_sin
    if cos is None or sin is None:
        return {}
    local = words.causal or _window(words) != (None, None)
    if cache.rotary_seqlens is not None or new != q.shape[1] or not (local or new == 1):
        return None
    types = (torch.float32, torch.float16, torch.bfloat16)
    for x in (cos, sin):
        if x.dim() != 2 or x.shape[0] < keys or not x.is_contiguous() or x.dtype not in types:
            return None
    if cos.shape[1] != sin.shape[1] or cos.dtype != sin.dtype or 2 * cos.shape[1] > q.shape[-1]:
        return None
    return {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": cache.rotary_interleaved}


def _new_words(
    q: Tensor,
    caches: Tuple[Tensor, Tensor],
    added: Tuple[Tensor, Tensor],
    cache: Cache,
    words: Words,
    keys: int,
) -> Optional[Dict[str, Any]]:
    """attention()'s words by which heed stores new keys itself; None: torch has to."""
    packed = cache.cu_q is not None or cache.cu_new is not None
    if packed or words.qv is not None or cache.batch_idx is not None or not q.numel():
        return None
    for x, own in zip(caches, added):
        spread = any(n > 1 and step == 0 for n, step in zip(x.shape, x.stride()))
        if spread or not own.numel() or not q.dtype == x.dtype == own.dtype:
            return None
        if own.shape[0] != q.shape[0] or own.shape[2:] != x.shape[2:]:
            return None
    turns = _turns(q, added[0].shape[1], cache, words, keys)
    return None if turns is None else {"k_new": added[0], "v_new": added[1], **turns}


def _lengths(cache: Cache, batch: int, keys: int, device: torch.device) -> Optional[Tensor]:
    given = cache.seqlens
    if given is None:
        return None
    if isinstance(given, int):
        if not 0 <= given <= keys:
            raise InvalidError(f"cache_seqlens: {given} is not in 0 to {keys}, the cache's keys")
        return torch.full((batch,), given, dtype=torch.int32, device=device)
    if not isinstance(given, Tensor):
        raise ArgumentTypeError(
            f"cache_seqlens: {type(given).__name__} is no int and no torch.Tensor; pass one"
        )
    if given.shape != (batch,):
        raise InvalidError(f"cache_seqlens: shape is {tuple(given.shape)}; pass ({batch},)")
    return given.to(torch.int32)


class _New(NamedTuple):
    """Where new keys go, those of all elements one after another."""

    of: Tensor  # the number of the batch element of each
    ahead: Tensor  # how many new ones are ahead of it there; of an element without any, -1
    row: Tensor  # and its own number; one behind the last element repeats the last one of that
    keys: Tensor  # (batch,): how many each gets


def _places(lengths: Tensor, k: Tensor, cu: Optional[Tensor]) -> _New:
    """The places of new keys (batch, new, heads, dim), or of packed ones."""
    if cu is None:
        batch, new = k.shape[:2]
        row = torch.arange(batch * new, device=k.device)
        return _New(row // max(new, 1), row % max(new, 1), row, torch.full_like(lengths, new))
    row = torch.arange(k.shape[0], device=k.device)
    of = _packed_positions(cu, k.shape[0]).clamp(min=0)
    keys = cu[1:] - cu[:-1]
    ahead = torch.minimum(row - cu[of], keys[of] - 1)
    return _New(of, ahead, (cu[of] + ahead).clamp(min=0), keys.to(lengths.dtype))


def _store(
    cache: Tensor, new: Tensor, rows: Tensor, at: Tensor, places: _New, table: Optional[Tensor]
) -> None:
    """cache[rows, at] = new, without what would be beyond the end; in pages where there is a table
    of them."""
    page = cache.shape[1]
    last = page * (1 if table is None else table.shape[1]) - 1
    # One beyond the end repeats what the last place gets, so that it is all the same which is stored
    # last: the new key that belongs there, or what is there already.
    back = (at - last).clamp(min=0)
    kept = ((places.ahead < back) | (places.ahead < 0)).view(-1, 1, 1)
    source = (places.row - back).clamp(min=0)
    at = at.clamp(0, last).long()
    if table is not None:
        rows, at = table[rows, at // page].long(), at % page
    cache[rows, at] = torch.where(kept, cache[rows, at], new[source].to(cache.dtype))


def _turn(q: Tensor, k: Tensor, cache: Cache, words: Words, new: _New, lengths: Tensor) -> Any:
    """q and k, both packed, with the rotary embedding, at places from cache.rotary_seqlens on, or
    from the lengths."""
    turn = cast(Tuple[Tensor, Tensor], (cache.rotary_cos, cache.rotary_sin))
    begin = lengths if cache.rotary_seqlens is None else cache.rotary_seqlens
    of = torch.arange(q.shape[0], device=q.device)
    if cache.cu_q is None:
        queries = q.shape[0] // max(lengths.numel(), 1)
        own, step = of // max(queries, 1), of % max(queries, 1)
    else:
        own = _packed_positions(cache.cu_q, q.shape[0]).clamp(min=0, max=lengths.numel() - 1)
        step = of - cache.cu_q[own]
    local = words.causal or _window(words) != (None, None)
    places = begin[own] + step if local else begin[own]
    at = begin[new.of] + new.ahead
    q, k = (
        rotate(x[None], *turn, n[None], cache.rotary_interleaved)[0]
        for x, n in ((q, places), (k, at))
    )
    return q, k


def _append(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Any,
    v: Any,
    cache: Cache,
    words: Words,
    lengths: Optional[Tensor],
    table: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Optional[Dict[str, Any]]]:
    """Stores k and v in the caches, and returns q, rotated if it is asked for, and the lengths with
    the new keys; or attention()'s words by which heed does all that."""
    dims = 4 if cache.cu_new is None else 3
    k, v = tensor("k", k, dims), tensor("v", v, dims)
    if lengths is None:
        raise InvalidError("cache_seqlens: None, and k and v are given; say where they go")
    if k.shape[:-1] != v.shape[:-1]:
        raise InvalidError(f"v: shape is {tuple(v.shape)}, that of k {tuple(k.shape)}")
    keys = k_cache.shape[1] * (1 if table is None else table.shape[1])
    new = _places(lengths, k, cache.cu_new)
    whole = lengths + new.keys
    if not q.is_cuda and whole.numel() and int(whole.max()) > keys:
        b = int(whole.argmax())
        raise InvalidError(
            f"k: {int(new.keys[b])} new keys after {int(lengths[b])} are beyond the cache's {keys}"
        )
    whole = whole.clamp(max=keys)
    if table is not None and not q.is_cuda:
        _check_pages(cache.table_name, table, whole, k_cache)
    native = _new_words(q, (k_cache, v_cache), (k, v), cache, words, keys)
    if native is not None:
        return q, whole, native
    flat_k, flat_v = (x.reshape(-1, *x.shape[-2:]) for x in (k, v))
    if cache.rotary_cos is not None:
        flat_q, flat_k = _turn(q.reshape(-1, *q.shape[-2:]), flat_k, cache, words, new, lengths)
        q = flat_q.view(q.shape)
    rows = new.of
    if cache.batch_idx is not None and table is None:
        rows = cache.batch_idx.long()[rows]
    at = lengths[new.of] + new.ahead
    _store(k_cache, flat_k, rows, at, new, table)
    _store(v_cache, flat_v, rows, at, new, table)
    return q, whole, None


def _check_words_of_new(cache: Cache, k: Any, v: Any) -> None:
    if (k is None) != (v is None):
        raise InvalidError("k: k and v are given both or not at all")
    if cache.rotary_cos is not None or cache.rotary_sin is not None:
        if k is None or cache.rotary_cos is None or cache.rotary_sin is None:
            raise InvalidError("rotary_cos: pass rotary_cos, rotary_sin, k and v together")
    if cache.cu_new is not None and k is None:
        raise InvalidError("cu_seqlens_k_new: it is given, and k and v are not")


def _batch_of(q: Tensor, k: Any, cache: Cache) -> int:
    """The number of sequences, on which cumulative lengths must agree."""
    batch = int(q.shape[0])
    if cache.cu_q is not None:
        batch = _cumulative("cu_seqlens_q", cache.cu_q, batch).numel() - 1
    if cache.cu_new is not None:
        found = _cumulative("cu_seqlens_k_new", cache.cu_new, tensor("k", k, 3).shape[0]).numel()
        if found != batch + 1:
            raise InvalidError(f"cu_seqlens_k_new: it has {found} elements; pass {batch + 1}")
    return batch


def attend_cache(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    k: Any,
    v: Any,
    cache: Cache,
    words: Words,
    *,
    want_lse: bool,
) -> Tuple[Tensor, Optional[Tensor]]:
    """flash_attn_with_kvcache(): stores k and v, rotated, in the caches, in place, and attends; all
    by heed where it can, else torch stores them first."""
    q = tensor("q", q, 4 if cache.cu_q is None else 3)
    for name, x in (("k_cache", k_cache), ("v_cache", v_cache)):
        if tensor(name, x, 4) is not x:
            raise InvalidError(f"{name}: the elements of a head vector must be neighbours")
    _check_words_of_new(cache, k, v)
    batch = _batch_of(q, k, cache)
    table = _table(cache, k_cache, batch)
    keys = k_cache.shape[1] * (1 if table is None else table.shape[1])
    lengths = _lengths(cache, batch, keys, q.device)
    native = None
    if k is not None:
        q, lengths, native = _append(q, k_cache, v_cache, k, v, cache, words, lengths, table)
    elif table is not None and not q.is_cuda:
        _check_pages(cache.table_name, table, lengths, k_cache)
    if cache.batch_idx is not None and table is None:
        k_cache, v_cache = k_cache[cache.batch_idx.long()], v_cache[cache.batch_idx.long()]
    elif table is None and k_cache.shape[0] != batch:
        k_cache, v_cache = k_cache[:batch], v_cache[:batch]
    most_q = q.shape[1]
    if cache.cu_q is not None:
        most_q = q.shape[0] if cache.most_q is None else cache.most_q
    starts = cache.leftpad
    if starts is not None:
        starts = starts.to(torch.int32).view(-1, 1).expand(-1, most_q).contiguous()
    return attend(
        q,
        k_cache,
        v_cache,
        words,
        want_lse=want_lse,
        lengths=lengths,
        starts=starts,
        table=table,
        cu_q=cache.cu_q,
        most_q=None if cache.cu_q is None else most_q,
        new=native,
    )
