"""KV caches, as in FlashAttention's flash_attn_with_kvcache (conventions: _flash.py)."""

from __future__ import annotations

import contextlib
import operator
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union, cast

import torch
from torch import Tensor

from . import _flash_again, _values
from ._arrays import require_constant
from ._errors import ArgumentTypeError, HeedError, InvalidError, renamed, type_error
from ._flash import Words, attend, cumulative, limits, most_of, packed_positions, tensor, to_int32


#: Argument names in messages of attention(), and their names here.
_NAMES = {"k": "k_cache", "v": "v_cache", "k_new": "k", "v_new": "v"}
_NAMED = re.compile(r"^[kv](_new)?(?=:| is | strides )|(?<=that of )[kv](_new)?\b")


class Cache(NamedTuple):
    """The options of a call with a KV cache."""

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
    """Rotary embedding (Su et al., 2021) of x (batch, sequence, heads, dim), with the rows @at
    (batch, sequence) of cos and sin (positions, r / 2); elements beyond r are unchanged."""
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
    """The page table, int32 (batch, pages of a sequence). _check_pages() checks its numbers."""
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
        raise InvalidError(f"{name}: it is on {table.device}, k_cache on {pool.device}; move it")
    _check_rows(cache, batch, table.shape[0])
    if cache.batch_idx is not None:  # which names rows of the table
        table = table[cache.batch_idx.long()]
    table = to_int32(table)
    return table if table.stride(-1) == 1 else table.contiguous()


def _check_pages(name: str, table: Tensor, lengths: Optional[Tensor], pool: Tensor) -> None:
    """Raise if a page number before the end of a sequence is out of range."""
    used = torch.arange(table.shape[1], device=table.device).view(1, -1) * pool.shape[1]
    used = used < table.shape[1] * pool.shape[1] if lengths is None else used < lengths.view(-1, 1)
    wrong = used & ((table < 0) | (table >= pool.shape[0]))
    if wrong.any():
        b, n = wrong.nonzero()[0].tolist()
        raise InvalidError(
            f"{name}: entry ({b}, {n}) is {int(table[b, n])}; it must be "
            f"{_values.span(0, pool.shape[0] - 1)}, the pages of k_cache"
        )


def _turns(
    q: Tensor, new: Optional[int], cache: Cache, words: Words, keys: int
) -> Optional[Dict[str, Any]]:
    """attention()'s arguments for the rotary embedding; None: heed's uses other positions or
    layouts."""
    cos, sin = cache.rotary_cos, cache.rotary_sin
    if cos is None or sin is None:
        return {}
    local = words.causal or limits(words) != (None, None)
    queries = q.shape[1] if cache.cu_q is None else cache.most_q
    if cache.rotary_seqlens is not None or new != queries or not (local or new == 1):
        return None
    types = (torch.float32, torch.float16, torch.bfloat16)
    for x in (cos, sin):
        if x.dim() != 2 or x.shape[0] < keys or not x.is_contiguous() or x.dtype not in types:
            return None
    if cos.shape[1] != sin.shape[1] or cos.dtype != sin.dtype or 2 * cos.shape[1] > q.shape[-1]:
        return None
    return {"rotary_cos": cos, "rotary_sin": sin, "rotary_interleaved": cache.rotary_interleaved}


def _packed_alike(cu_q: Optional[Tensor], cu_new: Optional[Tensor]) -> bool:
    """True if new keys are packed as queries are, or neither are. Does not wait for a GPU."""
    if cu_q is None or cu_new is None or cu_q is cu_new:
        return cu_q is cu_new
    return not cu_q.is_cuda and not cu_new.is_cuda and cu_q.tolist() == cu_new.tolist()


def _new_words(
    q: Tensor,
    caches: Tuple[Tensor, Tensor],
    added: Tuple[Tensor, Tensor],
    cache: Cache,
    words: Words,
    keys: int,
) -> Optional[Dict[str, Any]]:
    """attention()'s arguments with which heed stores the new keys; None: torch must store them."""
    if not _packed_alike(cache.cu_q, cache.cu_new):
        return None
    if words.qv is not None or cache.batch_idx is not None or not q.numel():
        return None
    for x, own in zip(caches, added):
        spread = any(n > 1 and step == 0 for n, step in zip(x.shape, x.stride()))
        if spread or not own.numel() or not q.dtype == x.dtype == own.dtype:
            return None
        if own.shape[0] != q.shape[0] or own.shape[-2:] != x.shape[2:]:
            return None
    new = added[0].shape[1] if cache.cu_new is None else cache.most_q
    turns = _turns(q, new, cache, words, keys)
    return None if turns is None else {"k_new": added[0], "v_new": added[1], **turns}


def _lengths(cache: Cache, batch: int, keys: int, device: torch.device) -> Optional[Tensor]:
    given = cache.seqlens
    if given is None:
        return None
    if isinstance(given, Tensor):
        found = _integers("cache_seqlens", given, batch)
        wrong = None if given.is_cuda else ((given < 0) | (given > keys)).nonzero()
        if wrong is not None and len(wrong):
            at = int(wrong[0])
            raise InvalidError(
                f"cache_seqlens[{at}] is {int(given[at])}; it must be {_values.span(0, keys)}, the "
                "cache's keys"
            )
        return found
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise type_error("cache_seqlens", given, "an int or a torch.Tensor")
    count = operator.index(given)
    if not 0 <= count <= keys:
        raise InvalidError(
            f"cache_seqlens: {count} is not in {_values.span(0, keys)}, the cache's keys; pass one that is"
        )
    return torch.full((batch,), count, dtype=torch.int32, device=device)


def _integers(name: str, x: Any, batch: int) -> Tensor:
    """One integer for each batch element, as int32."""
    if not isinstance(x, Tensor):
        raise type_error(name, x, "a torch.Tensor", "pass one of int32")
    if x.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"{name}: dtype is {x.dtype}; pass int32")
    if x.shape != (batch,):
        raise InvalidError(f"{name}: shape is {tuple(x.shape)}; pass ({batch},)")
    return to_int32(x)


def _check_rows(cache: Cache, batch: int, elements: int) -> None:
    """Raise unless cache_batch_idx is valid; its values are checked only on a CPU."""
    if cache.batch_idx is None:
        return
    _integers("cache_batch_idx", cache.batch_idx, batch)
    found = cache.batch_idx
    if not found.is_cuda and ((found < 0) | (found >= elements)).any():
        raise InvalidError(
            f"cache_batch_idx: {found.tolist()[:8]} must be {_values.span(0, elements - 1)}, "
            "elements of the cache"
        )


def _check_rotary(cache: Cache, dim: int) -> None:
    for name, x in (("rotary_cos", cache.rotary_cos), ("rotary_sin", cache.rotary_sin)):
        if not isinstance(x, Tensor):
            raise type_error(name, x, "a torch.Tensor")
        if x.dim() != 2 or not x.is_floating_point() or not 1 <= x.shape[1] <= dim // 2:
            raise InvalidError(
                f"{name}: shape is {tuple(x.shape)} of {x.dtype}; pass (positions, r / 2) of numbers, "
                f"where r is at most the head dim, {dim}"
            )
    cos, sin = cast(Tensor, cache.rotary_cos), cast(Tensor, cache.rotary_sin)
    if not len(cos) or cos.shape != sin.shape:
        raise InvalidError(
            f"rotary_sin: shape is {tuple(sin.shape)}, that of rotary_cos {tuple(cos.shape)}"
        )


def _counts(lengths: Tensor, k: Tensor, cu: Optional[Tensor]) -> "int | Tensor":
    """The number of new keys of each batch element, or of all if they have as many."""
    return k.shape[1] if cu is None else (cu[1:] - cu[:-1]).to(lengths.dtype)


class _New(NamedTuple):
    """The places of all new keys, of one batch element after another."""

    of: Tensor  # the batch element of each key
    ahead: Tensor  # the number of new keys before it there; -1 if the element has none
    row: Tensor  # its row; keys after the last element repeat that element's last row


def _places(lengths: Tensor, k: Tensor, cu: Optional[Tensor]) -> _New:
    """The places of new keys (batch, new, heads, dim), or of packed ones."""
    if cu is None:
        batch, new = k.shape[:2]
        row = torch.arange(batch * new, device=k.device)
        return _New(row // max(new, 1), row % max(new, 1), row)
    row = torch.arange(k.shape[0], device=k.device)
    of = packed_positions(cu, k.shape[0]).clamp(min=0)
    keys = cu[1:] - cu[:-1]
    ahead = torch.minimum(row - cu[of], keys[of] - 1)
    return _New(of, ahead, (cu[of] + ahead).clamp(min=0))


def _store(
    cache: Tensor, new: Tensor, rows: Tensor, at: Tensor, places: _New, table: Optional[Tensor]
) -> None:
    """cache[rows, at] = new, without keys beyond the end; with a table, cache is a pool of pages."""
    page = cache.shape[1]
    last = page * (1 if table is None else table.shape[1]) - 1
    # A key beyond the end stores in the last place the value that belongs there, a new key or the
    # old one, so that the order of the stores does not matter.
    back = (at - last).clamp(min=0)
    kept = ((places.ahead < back) | (places.ahead < 0)).view(-1, 1, 1)
    source = (places.row - back).clamp(min=0)
    at = at.clamp(0, last).long()
    if table is not None:
        rows, at = table[rows, at // page].long(), at % page
    cache[rows, at] = torch.where(kept, cache[rows, at], new[source].to(cache.dtype))


def _turn(q: Tensor, k: Tensor, cache: Cache, words: Words, new: _New, lengths: Tensor) -> Any:
    """q and k, both packed, after the rotary embedding, whose positions begin at
    cache.rotary_seqlens or at the lengths."""
    turn = cast(Tuple[Tensor, Tensor], (cache.rotary_cos, cache.rotary_sin))
    begin = lengths if cache.rotary_seqlens is None else cache.rotary_seqlens
    of = torch.arange(q.shape[0], device=q.device)
    if cache.cu_q is None:
        queries = q.shape[0] // max(lengths.numel(), 1)
        own, step = of // max(queries, 1), of % max(queries, 1)
    else:
        own = packed_positions(cache.cu_q, q.shape[0]).clamp(min=0, max=lengths.numel() - 1)
        step = of - cache.cu_q[own]
    local = words.causal or limits(words) != (None, None)
    places = begin[own] + step if local else begin[own]
    at = begin[new.of] + new.ahead
    last = -1 if q.is_cuda else max([int(x.max()) for x in (places, at) if x.numel()], default=-1)
    if last >= len(turn[0]):
        raise InvalidError(
            f"rotary_cos: {len(turn[0])} rows, where position {last} needs one; pass a row for each "
            "key that the cache has room for"
        )
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
    """Stores k and v in the caches. Returns q, rotated if requested, and the lengths with the new
    keys; or, for heed to do all that, attention()'s arguments."""
    dims = 4 if cache.cu_new is None else 3
    k, v = tensor("k", k, dims), tensor("v", v, dims)
    if lengths is None:
        raise InvalidError("cache_seqlens: None; k and v need them, as they say where they go")
    if k.shape[:-1] != v.shape[:-1]:
        raise InvalidError(f"v: shape is {tuple(v.shape)}, that of k {tuple(k.shape)}; pass as many")
    if dims == 4 and k.shape[0] != lengths.numel():
        raise InvalidError(f"k: batch is {k.shape[0]}, that of q {lengths.numel()}; both must be equal")
    for name, x, own in (("k", k, k_cache), ("v", v, v_cache)):
        if x.shape[-2:] != own.shape[-2:]:
            raise InvalidError(
                f"{name}: shape is {tuple(x.shape)}; its heads and head dim must be those of "
                f"{name}_cache, {tuple(own.shape[-2:])}"
            )
    keys = k_cache.shape[1] * (1 if table is None else table.shape[1])
    whole = lengths + _counts(lengths, k, cache.cu_new)
    if not q.is_cuda and whole.numel() and int(whole.max()) > keys:
        b = int(whole.argmax())
        raise InvalidError(
            f"k: {int(whole[b] - lengths[b])} new keys after {int(lengths[b])} are beyond the "
            f"cache's {keys}"
        )
    whole = whole.clamp(max=keys)
    if table is not None and not q.is_cuda:
        _check_pages(cache.table_name, table, whole, k_cache)
    native = _new_words(q, (k_cache, v_cache), (k, v), cache, words, keys)
    if native is not None:
        return q, whole, native
    for name, x in zip(("q", "k_cache", "v_cache", "k", "v"), (q, k_cache, v_cache, k, v)):
        require_constant(name, x)  # before the caches are written
    new = _places(lengths, k, cache.cu_new)
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


def _check_words_of_new(cache: Cache, k: Any, v: Any, dim: int) -> None:
    if (k is None) != (v is None):
        raise InvalidError("k: pass both k and v, or neither")
    if cache.rotary_cos is not None or cache.rotary_sin is not None:
        if k is None or cache.rotary_cos is None or cache.rotary_sin is None:
            raise InvalidError("rotary_cos: pass rotary_cos, rotary_sin, k and v together")
        _check_rotary(cache, dim)
    if cache.cu_new is not None and k is None:
        raise InvalidError("cu_seqlens_k_new: it needs k and v, which are missing")


def _batch_of(q: Tensor, k: Any, cache: Cache) -> int:
    """The number of sequences, which all cumulative lengths must have."""
    batch = int(q.shape[0])
    if cache.cu_q is not None:
        batch = cumulative("cu_seqlens_q", cache.cu_q, batch).numel() - 1
    if cache.cu_new is not None:
        found = cumulative("cu_seqlens_k_new", cache.cu_new, tensor("k", k, 3).shape[0]).numel()
        if found != batch + 1:
            raise InvalidError(f"cu_seqlens_k_new: it has {found} elements; pass {batch + 1}")
    return batch


def _most_queries(q: Tensor, cache: Cache, keys: Optional[int]) -> int:
    """The most queries of a sequence. With @keys, the cache's, each query has a new key there."""
    if cache.cu_q is None:
        return int(q.shape[1])
    most = most_of("q", cache.most_q, cache.cu_q)
    most = q.shape[0] if most is None else most
    return most if keys is None else min(most, keys)


def _check_caches(k_cache: Any, v_cache: Any) -> None:
    for name, x in (("k_cache", k_cache), ("v_cache", v_cache)):
        if tensor(name, x, 4) is not x:
            raise InvalidError(
                f"{name}: the elements of a head vector must be contiguous; pass a contiguous cache"
            )


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
    """flash_attn_with_kvcache(): stores k and v, rotated, in the caches, and attends. heed does all
    of it in one call if it can; otherwise torch stores them first."""
    interleaved = _values.truth("rotary_interleaved", cache.rotary_interleaved)
    cache, want_lse = cache._replace(rotary_interleaved=interleaved), bool(want_lse)
    own = (q, k_cache, v_cache, k, v)
    learns = not want_lse and _flash_again.may_be_known(*own, cache, words)
    again = None
    if learns:
        with contextlib.suppress(InvalidError):  # the checks below name the argument
            again = _flash_again.repeat(*own, cache, words)
    if again is not None:
        return again, None
    q = tensor("q", q, 4 if cache.cu_q is None else 3)
    _check_caches(k_cache, v_cache)
    _check_words_of_new(cache, k, v, q.shape[-1])
    batch = _batch_of(q, k, cache)
    if cache.table is None:
        _check_rows(cache, batch, k_cache.shape[0])
    if cache.rotary_seqlens is not None:
        cache = cache._replace(
            rotary_seqlens=_integers("rotary_seqlens", cache.rotary_seqlens, batch)
        )
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
    most_q = _most_queries(q, cache, None if native is None else keys)
    starts = cache.leftpad
    if starts is not None:
        starts = _integers("cache_leftpad", starts, batch).view(-1, 1).expand(-1, most_q).contiguous()
    try:
        if learns and _flash_again.is_as_given(own, (q, k_cache, v_cache), cache, words, table, native):
            more = {"lengths": lengths, "table": table, **(native or {})}
            return _flash_again.attend_and_learn(q, k_cache, v_cache, words, cache, more), None
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
    except HeedError as error:
        raise renamed(error, _NAMED, _NAMES) from None
