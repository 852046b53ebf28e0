"""Fills the fields of heed_problem from the words and arrays of heed.attention()."""

from __future__ import annotations

import re
from ctypes import c_float
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from . import _library as c
from . import _values
from ._arrays import View, dtypes_of, part_of, require_dense, require_writable, view
from ._errors import ArgumentTypeError, InvalidError, refuse_other, type_error
from ._problem import NEW
from ._types import DATA, DTYPES, TYPES

#: The dimensions of batch, sequence and heads in a layout; the head dim is last.
LAYOUTS = {"bshd": (0, 1, 2), "bhsd": (0, 2, 1), "sbhd": (1, 0, 2)}

_CAUSAL = {"top-left": c.MASK_TOP_LEFT, "bottom-right": c.MASK_BOTTOM_RIGHT}


class Words(NamedTuple):
    """The arguments of attention(), in this order, but for arrays, out and dim_v."""

    causal: "bool | str" = False
    window: Optional[Tuple[Optional[int], Optional[int]]] = None
    chunk: Optional[int] = None
    align: Optional[str] = None
    softcap: float = 0.0
    score: Optional[str] = None
    visible: Optional[str] = None
    scale: Optional[float] = None
    layout: str = "bshd"
    return_lse: bool = False
    max_seqlen_q: Optional[int] = None
    max_seqlen_k: Optional[int] = None
    rotary_interleaved: bool = False
    batch_invariant: bool = False
    prefix: int = 0
    products: str = "full"


def order(name: str, x: View, layout: Tuple[int, int, int]) -> Tuple[Tuple[int, ...], c.Strides]:
    """Sizes of batch, sequence, heads and head dim, and strides of the first three."""
    if len(x.shape) != 4:
        dims = {at: size for at, size in zip((*layout, 3), ("batch", "sequence", "heads", "head dim"))}
        raise InvalidError(
            f"{name}: shape is {x.shape}; pass 4 dimensions, ({', '.join(dims[i] for i in range(4))})"
        )
    for size in x.shape:
        if size == 0:
            raise InvalidError(f"{name}: shape is {x.shape}, where no size may be 0; skip the call")
    if x.shape[3] > 1 and x.strides[3] != 1:
        raise InvalidError(
            f"{name}: the elements of a head vector are {x.strides[3]} apart, and they must be "
            "contiguous; pass a contiguous copy"
        )
    b, s, h = layout
    # Strides of size 1 are not used. All three 0 would mean a dense tensor.
    strides = [1 if x.shape[i] == 1 else x.strides[i] for i in layout]
    if min(strides) < 0 or not any(strides):
        raise InvalidError(
            f"{name}: strides are {x.strides} elements, where none may be negative, nor all 0; pass "
            "a contiguous array"
        )
    return (x.shape[b], x.shape[s], x.shape[h], x.shape[3]), c.Strides(*strides)


def require(name: str, size: Tuple[int, ...], index: int, wanted: int, of: str) -> None:
    if size[index] != wanted:
        dims = ("batch", "sequence", "heads", "head dim")
        raise InvalidError(
            f"{name}: {dims[index]} is {size[index]}, that of {of} {wanted}; both must be equal"
        )


def require_divisor(name: str, heads: int, of: str, whole: int) -> None:
    """Raise unless the number of heads divides that of another argument."""
    if whole % heads if heads else whole:
        raise InvalidError(f"{name}: heads is {heads}; it must divide that of {of}, {whole}")


def unpacked(name: str, x: View, packed: bool) -> View:
    """Packed rows, (tokens, heads, head dim), as one batch element."""
    if not packed:
        return x
    if len(x.shape) != 3:
        raise InvalidError(
            f"{name}: shape is {x.shape}; pass 3 dimensions for packed sequences, (tokens, heads, head "
            "dim)"
        )
    return x._replace(shape=(1, *x.shape), strides=(x.shape[0] * x.strides[0], *x.strides))


def _fill_packed(
    fields: c.Problem,
    operands: Dict[str, View],
    most: Tuple[Optional[int], Optional[int]],
    expressions: bool,
) -> None:
    """Replace the sizes of one batch element by those of packed sequences. No sequence is longer
    than all tokens, but operands have the sizes @most, and expressions may use these."""
    sized = expressions or any(name in operands for name in ("bias", "shown", "starts"))
    lengths = {}
    for side, longest in zip("qk", most):
        cu = operands.get(f"cu_seqlens_{side}")
        if cu is None:
            if longest is not None:
                raise InvalidError(
                    f"max_seqlen_{side}: it is {longest}, but there is no cu_seqlens_{side}; leave it out"
                )
            continue
        if len(cu.shape) != 1 or cu.shape[0] < 2:
            raise InvalidError(f"cu_seqlens_{side}: shape is {cu.shape}; it must be (batch + 1,)")
        tokens = getattr(fields, f"seq_{side}")
        longest = tokens if longest is None else longest
        if longest < 1:
            raise InvalidError(f"max_seqlen_{side}: it is {longest}; it must be 1 or more")
        lengths[side] = cu.shape[0] - 1
        setattr(fields, f"tokens_{side}", min(tokens, lengths[side] * longest))
        setattr(fields, f"seq_{side}", longest if sized else min(longest, tokens))
    if len(set(lengths.values())) > 1:
        raise InvalidError(
            f"cu_seqlens_k: it has {lengths['k']} sequences, cu_seqlens_q has {lengths['q']}; both "
            "must be equal"
        )
    if "q" in lengths:
        fields.batch = lengths["q"]
    elif lengths and fields.batch != lengths["k"]:
        raise InvalidError(
            f"cu_seqlens_k: it has {lengths['k']} sequences, q has {fields.batch}; both must be equal"
        )


def fill_sizes(
    fields: c.Problem,
    q: View,
    k: View,
    v: View,
    operands: Dict[str, View],
    layout: Tuple[int, int, int],
    most: Tuple[Optional[int], Optional[int]],
    expressions: bool,
) -> Tuple[int, ...]:
    """Returns the sizes of O. With a page table, the first size of K and V is the number of pages."""
    table = operands.get("table")
    q_size, fields.q = order("q", q, layout)
    k_size, fields.k = order("k", k, layout)
    v_size, fields.v = order("v", v, layout)
    for name, x in (("k", k), ("v", v)):
        if x.dtype != q.dtype:
            raise refuse_other(name, x.dtype, "q", q.dtype)
    packed_q, packed_k = (f"cu_seqlens_{side}" in operands for side in "qk")
    if table is None and not packed_k:
        wanted = operands["cu_seqlens_q"].shape[0] - 1 if packed_q else q_size[0]
        require("k", k_size, 0, wanted, "q")
    require("k", k_size, 3, q_size[3], "q")
    for i in range(3):
        require("v", v_size, i, k_size[i], "k")
    require_divisor("k", k_size[2], "q", q_size[2])
    fields.type = TYPES[q.dtype]
    fields.batch, fields.seq_q, fields.heads_q, fields.dim_qk = q_size
    fields.seq_k, fields.heads_kv, fields.dim_v = k_size[1], k_size[2], v_size[3]
    _fill_packed(fields, operands, most, expressions)
    if table is not None:
        if len(table.shape) != 2 or table.shape[0] != fields.batch or table.shape[1] < 1:
            raise InvalidError(
                f"table: shape is {table.shape}; it must be ({fields.batch}, pages of a sequence)"
            )
        fields.pages, fields.page = k_size[0], k_size[1]
        fields.seq_k = table.shape[1] * k_size[1]
    return (q_size[0], q_size[1], q_size[2], v_size[3])


def fill_mask(
    fields: c.Problem,
    causal: "bool | str",
    window: Optional[Tuple[Optional[int], Optional[int]]],
    chunk: Optional[int],
    align: Optional[str],
) -> None:
    if isinstance(causal, str):
        fields.mask = _CAUSAL[_values.word("causal", causal, tuple(_CAUSAL))]
    elif causal:
        if fields.seq_q != fields.seq_k:
            raise InvalidError(
                f"causal: True is ambiguous unless there are as many queries ({fields.seq_q}) as "
                f"keys ({fields.seq_k}); pass 'top-left' (PyTorch) or 'bottom-right' "
                "(FlashAttention)"
            )
        fields.mask = c.MASK_TOP_LEFT
    limited = window not in (None, (None, None))
    if align is not None:
        fields.align = c.ALIGN_TOP_LEFT if align == "top-left" else c.ALIGN_BOTTOM_RIGHT
    elif (limited or chunk) and not causal and fields.seq_q != fields.seq_k:
        raise InvalidError(
            "align: a window or a chunk needs align='top-left' or 'bottom-right' unless there are "
            f"as many queries ({fields.seq_q}) as keys ({fields.seq_k})"
        )
    for side, bit, name in ((0, c.WINDOW_LEFT, "left"), (1, c.WINDOW_RIGHT, "right")):
        if window is not None and window[side] is not None:
            fields.window.sides |= bit
            setattr(fields.window, name, window[side])
    fields.chunk = chunk or 0


def _operand(name: str, x: View, sizes: Tuple[Tuple[int, int], ...]) -> c.Operand:
    """An operand whose dimensions broadcast to @sizes, pairs of an ALONG_ bit and a size, aligned
    at the last one. The last dimension must have its full size, the others may be 1 or missing."""
    operand = c.Operand(type=DATA[x.dtype])
    if len(x.shape) > len(sizes):
        raise InvalidError(
            f"{name}: shape is {x.shape}, of {len(x.shape)} dimensions; pass at most {len(sizes)}"
        )
    strides = {}
    wanted = sizes[len(sizes) - len(x.shape) :]
    for (bit, size), own, stride in zip(wanted, x.shape, x.strides):
        if own != size and own != 1:
            raise InvalidError(
                f"{name}: shape is {x.shape}, which does not broadcast to "
                f"{tuple(size for _, size in sizes)}; pass one that does"
            )
        if own > 1 and stride < 0:
            raise InvalidError(f"{name}: a stride is negative; pass a contiguous copy")
        if own == size and (bit == sizes[-1][0] or (size > 1 and stride != 0)):
            operand.along |= bit
            strides[bit] = stride
    last, size = sizes[-1]
    if not operand.along & last:
        raise InvalidError(f"{name}: shape is {x.shape}, whose last size must be {size}")
    if strides[last] != 1 and size > 1:
        raise InvalidError(
            f"{name}: elements of the last dimension are not contiguous; pass a contiguous copy"
        )
    strides[last] = 1
    operand.strides = c.Strides(
        strides.get(c.ALONG_BATCH, 0), strides.get(c.ALONG_QUERY, 0), strides.get(c.ALONG_HEAD, 0)
    )
    return operand


_NAMES = {short: name for name, short in DTYPES.items()}


def _require_type(name: str, x: View) -> None:
    dtype, allowed = _NAMES[x.dtype], dtypes_of(name)
    if dtype not in allowed:
        raise ArgumentTypeError(f"{name}: dtype is {dtype}; convert it to {' or '.join(allowed)}")


def fill_operands(fields: c.Problem, views: Dict[str, View]) -> None:
    batch, head = (c.ALONG_BATCH, fields.batch), (c.ALONG_HEAD, fields.heads_q)
    query, key = (c.ALONG_QUERY, fields.seq_q), (c.ALONG_KEY, fields.seq_k)
    pairs = (batch, head, query, key)
    dims = {
        "bias": pairs,
        "shown": pairs,
        "slopes": (batch, head),
        "sinks": (batch, head),
        "starts": (batch, query),
        "lengths": (batch,),
        "table": (batch, (c.ALONG_PAGE, fields.seq_k // max(fields.page, 1))),
        "cu_seqlens_q": ((c.ALONG_SEQUENCE, fields.batch + 1),),
        "cu_seqlens_k": ((c.ALONG_SEQUENCE, fields.batch + 1),),
    }
    names = {"shown": "mask"}
    for name, x in views.items():
        public = names.get(name, name)
        _require_type(public, x)
        setattr(fields, name, _operand(public, x, dims[name]))
    if "table" in views:
        if fields.batch > 1 and views["table"].strides[0] == 0:
            raise InvalidError("table: one row for all; pass a row for each batch element")
        fields.table.along |= c.ALONG_BATCH


def fill_arrays(
    fields: c.Problem, arrays: Mapping[str, Any], texts: Tuple[bytes, ...]
) -> "list[View]":
    """Views of the arrays; the expressions must name each."""
    views = []
    if not isinstance(arrays, Mapping):
        raise type_error("arrays", arrays, "a dict", "pass one of names and arrays")
    if len(arrays) > c.ARRAYS_MAX:
        raise InvalidError(f"arrays: {len(arrays)}; pass at most {c.ARRAYS_MAX}")
    for i, (name, array) in enumerate(arrays.items()):
        x = view(f"arrays[{name!r}]", array)
        _require_type(f"arrays[{name!r}]", x)
        if not 1 <= len(x.shape) <= c.ARRAY_RANK_MAX:
            raise InvalidError(
                f"arrays[{name!r}]: shape is {x.shape}; pass 1 to {c.ARRAY_RANK_MAX} dimensions"
            )
        encoded = _values.text("arrays: a name", name)
        if len(encoded) >= c.ARRAY_NAME_SIZE:
            raise InvalidError(
                f"arrays: the name {name!r} is longer than {c.ARRAY_NAME_SIZE - 1} letters; shorten it"
            )
        if not any(re.search(rb"\b" + re.escape(encoded) + rb"\s*\[", text) for text in texts):
            raise InvalidError(
                f"arrays[{name!r}]: neither score nor visible has {name}[...]; leave it out"
            )
        require_dense(f"arrays[{name!r}]", x)
        fields.arrays[i].name = encoded
        fields.arrays[i].type = DATA[x.dtype]
        fields.arrays[i].rank = len(x.shape)
        for k, size in enumerate(x.shape):
            fields.arrays[i].size[k] = size
        views.append(x)
    return views


def expression(name: str, text: Optional[str]) -> bytes:
    encoded = b"" if text is None else _values.text(name, text)
    if len(encoded) >= c.EXPRESSION_SIZE:
        raise InvalidError(
            f"{name}: {len(encoded)} characters; pass at most {c.EXPRESSION_SIZE - 1}"
        )
    return encoded


def in_layout(sizes: Tuple[int, ...], layout: Tuple[int, int, int]) -> Tuple[int, ...]:
    """The shape of an array of batch, sequence, heads and head dim."""
    shape = [0, 0, 0, sizes[3]]
    for place, size in zip(layout, sizes):
        shape[place] = size
    return tuple(shape)


def values_of(k: View, v: Optional[View], dim_v: Optional[int]) -> View:
    """V, or without one the first @dim_v elements of the vectors of K."""
    if v is not None:
        if dim_v is not None:
            raise InvalidError("dim_v: v has its own; pass dim_v with v=None, where V is a part of k")
        return v
    if dim_v is None:
        raise InvalidError("v: None; pass it, or dim_v, the part of k that is V without it")
    dim_v = _values.integer("dim_v", dim_v)
    if not k.shape or not 1 <= dim_v <= k.shape[-1]:
        raise InvalidError(f"dim_v: {dim_v}; it must be 1 to the head dim of k, {k.shape[-1:]}")
    return part_of(k, dim_v)


def fill_new(
    fields: c.Problem,
    views: Dict[str, View],
    operands: Dict[str, View],
    layout: Tuple[int, int, int],
    interleaved: bool,
) -> Dict[str, View]:
    """Fill in new keys and their rotation. Returns the other operands."""
    rest = dict(operands)
    new: Dict[str, View] = {x: rest.pop(x) for x in NEW if x in rest}
    turns: Dict[str, View] = {x: rest.pop(x) for x in ("rotary_cos", "rotary_sin") if x in rest}
    if interleaved and not turns:
        raise InvalidError("rotary_interleaved: True, but there is no rotary_cos; leave it out")
    if not new and not turns:
        return rest
    if "k_new" not in new or ("v_new" in new) == bool(fields.shared):
        wrong = "k_new" if "k_new" not in new else "v_new"
        raise InvalidError(
            f"{wrong}: pass k_new and v_new together, or k_new alone if V is a part of k"
        )
    if "lengths" not in rest:
        raise InvalidError("lengths: missing; k_new needs them, as they say where it goes")
    packed = fields.tokens_q > 0 and len(new["k_new"].shape) == 3
    fields.append_packed = int(packed)
    fields.append = fields.seq_q if packed else 0
    for name, x in new.items():
        size, strides = order(name, unpacked(name, x, packed), layout)
        setattr(fields, name, strides)
        if x.dtype != views["q"].dtype:
            raise refuse_other(name, x.dtype, "q", views["q"].dtype)
        require(name, size, 0, 1 if packed else fields.batch, "q")
        fields.append = fields.append or size[1]
        if packed:
            require(name, size, 1, views["q"].shape[1], "q")
        else:
            require(name, size, 1, fields.append, "k_new")
        require(name, size, 2, fields.heads_kv, "k")
        require(name, size, 3, fields.dim_qk if name == "k_new" else fields.dim_v, name[0])
        require_writable(name[0], views[name[0]])
    if packed and fields.seq_q > fields.seq_k:
        raise InvalidError(
            f"max_seqlen_q: {fields.seq_q}, or all tokens where it is None, which is more than the "
            f"{fields.seq_k} keys that a sequence has room for; pass a smaller number"
        )
    if fields.append > fields.seq_k:
        raise InvalidError(
            f"k_new: {fields.append} new keys; pass at most {fields.seq_k}, for which k has room"
        )
    _fill_turns(fields, turns, interleaved)
    return rest


def _fill_turns(fields: c.Problem, turns: Dict[str, View], interleaved: bool) -> None:
    """The cosines and sines of rotary embeddings."""
    if len(turns) == 1:
        raise InvalidError("rotary_cos: pass rotary_cos and rotary_sin together")
    for name, x in turns.items():
        if len(x.shape) != 2 or x.shape[0] < fields.seq_k or x.shape[1] < 1:
            raise InvalidError(
                f"{name}: shape is {x.shape}; it must be ({fields.seq_k} or more, r / 2), a row for "
                "each position"
            )
        columns = fields.dim_qk - (fields.dim_v if fields.shared else 0)
        if 2 * x.shape[1] > columns:
            raise InvalidError(
                f"{name}: shape is {x.shape}, which turns {2 * x.shape[1]} columns; pass (positions, "
                f"r / 2), where r is at most {columns}"
            )
        require_dense(name, x)
        fields.rotary = 2 * x.shape[1]
        setattr(fields, name, c.Operand(type=DATA[x.dtype], along=c.ALONG_POSITION))
    fields.interleaved = 1 if interleaved else 0
    cos, sin = (turns[name] for name in ("rotary_cos", "rotary_sin")) if turns else (None, None)
    if cos is not None and sin is not None and cos.dtype != sin.dtype:
        raise refuse_other("rotary_sin", sin.dtype, "rotary_cos", cos.dtype)
    shapes = [x.shape[1] for x in turns.values()]
    if len(set(shapes)) > 1:
        raise InvalidError(f"rotary_sin: {shapes[1]} pairs, rotary_cos {shapes[0]}; pass as many")


def _size_or_none(name: str, value: Any) -> Optional[int]:
    return None if value is None else _values.integer(name, value, 0, _values.SIZE_MAX)


def checked(words: Words) -> Words:
    """The words as Python's own numbers and flags, which have a hash. Raises for values that ctypes
    would convert silently, or refuse without naming the argument."""
    causal, scale = words.causal, words.scale
    if words.align is not None:
        _values.word("align", words.align, tuple(_CAUSAL))
    if scale is not None:
        scale = _values.number("scale", scale)
        if c_float(scale).value == 0:
            raise InvalidError(f"scale: {scale} makes all logits equal; pass another number")
    if not isinstance(causal, str):
        choices = "True, False, 'top-left' or 'bottom-right'"
        causal = _values.flag("causal", causal, choices)
    softcap = _values.number("softcap", words.softcap)
    if softcap and c_float(softcap).value == 0:
        raise InvalidError(f"softcap: {softcap} is 0 in float32; pass 0 for none, or a larger number")
    return words._replace(
        causal=causal,
        window=None if words.window is None else pair(words.window),
        chunk=_size_or_none("chunk", words.chunk),
        softcap=softcap,
        scale=scale,
        return_lse=_values.flag("return_lse", words.return_lse),
        max_seqlen_q=_size_or_none("max_seqlen_q", words.max_seqlen_q),
        max_seqlen_k=_size_or_none("max_seqlen_k", words.max_seqlen_k),
        rotary_interleaved=_values.flag("rotary_interleaved", words.rotary_interleaved),
        batch_invariant=_values.flag("batch_invariant", words.batch_invariant),
        prefix=_values.integer("prefix", words.prefix, 0, _values.SIZE_MAX),
        products=_values.word("products", words.products, tuple(c.PRODUCTS)),
    )


def pair(window: Any) -> Tuple[Optional[int], Optional[int]]:
    """A window as a tuple."""
    left, right = (
        _size_or_none(f"window[{i}]", limit)
        for i, limit in enumerate(_values.pair("window", window, "or None"))
    )
    return left, right
