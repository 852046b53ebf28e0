"""heed.attention(): one call, with the plan found or made."""

from __future__ import annotations

import threading
from ctypes import sizeof
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from . import _again
from . import _library as c
from . import _values
from ._again import Calls, makers_of
from ._arrays import NUMPY, Fast, View, empty, fast_of, part_of, require_writable, view
from ._errors import ArgumentTypeError, InvalidError
from ._plan import TYPES, Plan, Problem, context_of

#: Where batch, sequence and heads are in a layout; the head dim is last.
LAYOUTS = {"bshd": (0, 1, 2), "bhsd": (0, 2, 1), "sbhd": (1, 0, 2)}

_CAUSAL = {"top-left": c.MASK_TOP_LEFT, "bottom-right": c.MASK_BOTTOM_RIGHT}

_PLANS_MAX = 256
_plans: Dict[Tuple[Any, ...], Plan] = {}
_plans_lock = threading.Lock()


def _plan_of(key: Tuple[Any, ...], fields: c.Problem, device: str) -> Plan:
    """The plan that the cache has, or a new one. The oldest one makes room on a CPU;
    a GPU's stay, since work that they started may not have ended."""
    problem = Problem._of(fields)
    plan = Plan(problem, context_of(device))
    with _plans_lock:
        _plans[key] = plan
        if device == "cpu" and len(_plans) > _PLANS_MAX:
            del _plans[next(old for old in _plans if old[0] == "cpu")]
    return plan


def _order(name: str, x: View, layout: Tuple[int, int, int]) -> Tuple[Tuple[int, ...], c.Strides]:
    """Sizes of batch, sequence, heads and head dim, and strides of the first three."""
    if len(x.shape) != 4:
        raise InvalidError(f"{name}: {len(x.shape)} dimensions, where there must be 4")
    for size in x.shape:
        if size == 0:
            raise InvalidError(f"{name}: shape is {x.shape}, where no size may be 0")
    if x.shape[3] > 1 and x.strides[3] != 1:
        raise InvalidError(
            f"{name}: the elements of a head vector are {x.strides[3]} apart, where they must be "
            "neighbours; pass a contiguous copy"
        )
    b, s, h = layout
    strides = c.Strides(x.strides[b], x.strides[s], x.strides[h])
    return (x.shape[b], x.shape[s], x.shape[h], x.shape[3]), strides


def _require(name: str, size: Tuple[int, ...], index: int, wanted: int, of: str) -> None:
    if size[index] != wanted:
        dims = ("batch", "sequence", "heads", "head dim")
        raise InvalidError(f"{name}: {dims[index]} is {size[index]}, that of {of} {wanted}")


def _unpacked(name: str, x: View, packed: bool) -> View:
    """Packed rows, (tokens, heads, head dim), as those of one batch element."""
    if not packed:
        return x
    if len(x.shape) != 3:
        raise InvalidError(
            f"{name}: {len(x.shape)} dimensions, where packed sequences have 3: (tokens, heads, "
            "head dim)"
        )
    return x._replace(shape=(1, *x.shape), strides=(x.shape[0] * x.strides[0], *x.strides))


def _fill_packed(
    fields: c.Problem, operands: Dict[str, View], most: Tuple[Optional[int], Optional[int]]
) -> None:
    """The sizes of packed sequences, in the place of those of one batch element."""
    lengths = {}
    for side, longest in zip("qk", most):
        cu = operands.get(f"cu_seqlens_{side}")
        if cu is None:
            if longest is not None:
                raise InvalidError(
                    f"max_seqlen_{side}: it is {longest}, and there is no cu_seqlens_{side}"
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
        setattr(fields, f"seq_{side}", min(longest, tokens))
    if len(set(lengths.values())) > 1:
        raise InvalidError(
            f"cu_seqlens_k: it is of {lengths['k']} sequences, cu_seqlens_q of {lengths['q']}"
        )
    if "q" in lengths:
        fields.batch = lengths["q"]
    elif lengths and fields.batch != lengths["k"]:
        raise InvalidError(f"cu_seqlens_k: it is of {lengths['k']} sequences, q of {fields.batch}")


def _fill_sizes(
    fields: c.Problem,
    q: View,
    k: View,
    v: View,
    operands: Dict[str, View],
    layout: Tuple[int, int, int],
    most: Tuple[Optional[int], Optional[int]],
) -> Tuple[int, ...]:
    """Returns the sizes of O. With a page table the batch of K and V is that of pages."""
    table = operands.get("table")
    q_size, fields.q = _order("q", q, layout)
    k_size, fields.k = _order("k", k, layout)
    v_size, fields.v = _order("v", v, layout)
    for name, x in (("k", k), ("v", v)):
        if x.dtype != q.dtype:
            raise ArgumentTypeError(f"{name}: dtype is {x.dtype}, that of q {q.dtype}")
    packed_q, packed_k = (f"cu_seqlens_{side}" in operands for side in "qk")
    if table is None and not packed_k:
        wanted = operands["cu_seqlens_q"].shape[0] - 1 if packed_q else q_size[0]
        _require("k", k_size, 0, wanted, "q")
    _require("k", k_size, 3, q_size[3], "q")
    for i in range(3):
        _require("v", v_size, i, k_size[i], "k")
    fields.type = TYPES[q.dtype]
    fields.batch, fields.seq_q, fields.heads_q, fields.dim_qk = q_size
    fields.seq_k, fields.heads_kv, fields.dim_v = k_size[1], k_size[2], v_size[3]
    _fill_packed(fields, operands, most)
    if table is not None:
        if len(table.shape) != 2 or table.shape[0] != fields.batch or table.shape[1] < 1:
            raise InvalidError(
                f"table: shape is {table.shape}; it must be ({fields.batch}, pages of a sequence)"
            )
        fields.pages, fields.page = k_size[0], k_size[1]
        fields.seq_k = table.shape[1] * k_size[1]
    return (q_size[0], q_size[1], q_size[2], v_size[3])


def _fill_mask(
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
                f"causal: True means one thing only where queries ({fields.seq_q}) and keys "
                f"({fields.seq_k}) are as many; say 'top-left' (PyTorch) or 'bottom-right' "
                "(FlashAttention)"
            )
        fields.mask = c.MASK_TOP_LEFT
    if align is not None:
        fields.align = c.ALIGN_TOP_LEFT if align == "top-left" else c.ALIGN_BOTTOM_RIGHT
    elif (window or chunk) and not causal and fields.seq_q != fields.seq_k:
        raise InvalidError(
            "align: a window or a chunk needs align='top-left' or 'bottom-right' where queries "
            f"({fields.seq_q}) and keys ({fields.seq_k}) are not as many"
        )
    for side, bit, name in ((0, c.WINDOW_LEFT, "left"), (1, c.WINDOW_RIGHT, "right")):
        if window is not None and window[side] is not None:
            fields.window.sides |= bit
            setattr(fields.window, name, window[side])
    fields.chunk = chunk or 0


_OPERAND_DATA = {"f32": c.DATA_F32, "f16": c.DATA_F16, "bf16": c.DATA_BF16, "bool": c.DATA_BYTES}
_OPERAND_DATA["i32"] = c.DATA_I32
_OPERAND_DATA["i64"] = c.DATA_I64


def _operand(name: str, x: View, sizes: Tuple[Tuple[int, int], ...]) -> c.Operand:
    """An operand whose dimensions broadcast to @sizes, pairs of an ALONG_ bit and a size, aligned
    at the last one. The last must be whole, the others may be 1 or missing."""
    operand = c.Operand(type=_OPERAND_DATA[x.dtype])
    if len(x.shape) > len(sizes):
        raise InvalidError(f"{name}: {len(x.shape)} dimensions, where there may be {len(sizes)}")
    strides = {}
    wanted = sizes[len(sizes) - len(x.shape) :]
    for (bit, size), own, stride in zip(wanted, x.shape, x.strides):
        if own != size and own != 1:
            raise InvalidError(
                f"{name}: shape is {x.shape}, which does not broadcast to "
                f"{tuple(size for _, size in sizes)}"
            )
        if own == size and (bit == sizes[-1][0] or (size > 1 and stride != 0)):
            operand.along |= bit
            strides[bit] = stride
    last, size = sizes[-1]
    if not operand.along & last:
        raise InvalidError(f"{name}: shape is {x.shape}, whose last size must be {size}")
    if strides[last] != 1 and size > 1:
        raise InvalidError(f"{name}: elements of the last dimension must be neighbours")
    strides[last] = 1
    operand.strides = c.Strides(
        strides.get(c.ALONG_BATCH, 0), strides.get(c.ALONG_QUERY, 0), strides.get(c.ALONG_HEAD, 0)
    )
    return operand


def _fill_operands(fields: c.Problem, views: Dict[str, View]) -> None:
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
        setattr(fields, name, _operand(names.get(name, name), x, dims[name]))
    if "table" in views:
        if fields.batch > 1 and views["table"].strides[0] == 0:
            raise InvalidError("table: a row for each batch element is needed, not one for all")
        fields.table.along |= c.ALONG_BATCH


def _fill_arrays(fields: c.Problem, arrays: Mapping[str, Any]) -> "list[View]":
    views = []
    if not isinstance(arrays, Mapping):
        raise ArgumentTypeError(
            f"arrays: {type(arrays).__name__} is no dict; pass one of names and arrays"
        )
    if len(arrays) > c.ARRAYS_MAX:
        raise InvalidError(f"arrays: {len(arrays)}, where {c.ARRAYS_MAX} are the most")
    for i, (name, array) in enumerate(arrays.items()):
        x = view(f"arrays[{name!r}]", array)
        if not 1 <= len(x.shape) <= c.ARRAY_RANK_MAX:
            raise InvalidError(
                f"arrays[{name!r}]: {len(x.shape)} dimensions, where there must be 1 to "
                f"{c.ARRAY_RANK_MAX}"
            )
        encoded = _values.text("arrays: a name", name)
        if len(encoded) >= c.ARRAY_NAME_SIZE:
            raise InvalidError(
                f"arrays: the name {name!r} is longer than {c.ARRAY_NAME_SIZE - 1} letters"
            )
        step = 1
        for size, stride in zip(reversed(x.shape), reversed(x.strides)):
            if size > 1 and stride != step:
                raise InvalidError(f"arrays[{name!r}]: the array is not dense")
            step *= size
        fields.arrays[i].name = encoded
        fields.arrays[i].type = _OPERAND_DATA[x.dtype]
        fields.arrays[i].rank = len(x.shape)
        for k, size in enumerate(x.shape):
            fields.arrays[i].size[k] = size
        views.append(x)
    return views


def _expression(name: str, text: Optional[str]) -> bytes:
    encoded = b"" if text is None else _values.text(name, text)
    if len(encoded) >= c.EXPRESSION_SIZE:
        raise InvalidError(
            f"{name}: {len(encoded)} characters, where {c.EXPRESSION_SIZE - 1} are the most"
        )
    return encoded


def _dense_out(like: View, size: Tuple[int, ...], layout: Tuple[int, int, int]) -> Any:
    """A new array for O in the layout."""
    shape = [0, 0, 0, size[3]]
    for place, of in zip(layout, size[:3]):
        shape[place] = of
    return empty(like, tuple(shape), like.dtype)


class _Known(NamedTuple):
    """A call that went well: others on arrays of the same library, shapes, strides, types and
    device, with the same words, need no checks."""

    plan: Plan
    fast: Fast
    o_shape: Tuple[int, ...]
    lse_shape: Optional[Tuple[int, ...]]

    def call(self, q: Any, k: Any, v: Any, out: Any) -> Any:
        if out is None:
            out = self.fast.empty(q, self.o_shape, "same")
        lse = None if self.lse_shape is None else self.fast.empty(q, self.lse_shape, "f32")
        self.plan._run_again(self.fast, q, k, v, out, lse)
        self.plan._record().count += 1
        return out if lse is None else (out, lse)


_known: Dict[Tuple[Any, ...], _Known] = {}
_calls = Calls(_PLANS_MAX)
_repeat = _again.module.again if _again.module else None
OPERANDS = (
    "bias",
    "shown",
    "slopes",
    "sinks",
    "starts",
    "lengths",
    "table",
    "cu_seqlens_q",
    "cu_seqlens_k",
    "k_new",
    "v_new",
    "rotary_cos",
    "rotary_sin",
)


def _fill_new(
    fields: c.Problem,
    views: Dict[str, View],
    operands: Dict[str, View],
    layout: Tuple[int, int, int],
    interleaved: bool,
) -> Dict[str, View]:
    """Fill in new keys and their rotation. Returns the other operands."""
    rest = dict(operands)
    new: Dict[str, View] = {x: rest.pop(x) for x in ("k_new", "v_new") if x in rest}
    turns: Dict[str, View] = {x: rest.pop(x) for x in ("rotary_cos", "rotary_sin") if x in rest}
    if not new and not turns:
        return rest
    if "k_new" not in new or ("v_new" in new) == bool(fields.shared):
        wrong = "k_new" if "k_new" not in new else "v_new"
        raise InvalidError(
            f"{wrong}: pass k_new and v_new together, or where V is a part of k k_new alone"
        )
    if "lengths" not in rest:
        raise InvalidError("lengths: missing, and k_new is given; they say where it goes")
    for name, x in new.items():
        size, strides = _order(name, x, layout)
        setattr(fields, name, strides)
        if x.dtype != views["q"].dtype:
            raise ArgumentTypeError(f"{name}: dtype is {x.dtype}, that of q {views['q'].dtype}")
        _require(name, size, 0, fields.batch, "q")
        fields.append = fields.append or size[1]
        _require(name, size, 1, fields.append, "k_new")
        _require(name, size, 2, fields.heads_kv, "k")
        _require(name, size, 3, fields.dim_qk if name == "k_new" else fields.dim_v, name[0])
        require_writable(name[0], views[name[0]])
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
        if x.strides != (x.shape[1], 1):
            raise InvalidError(f"{name}: the array is not dense")
        fields.rotary = 2 * x.shape[1]
        setattr(fields, name, c.Operand(type=_OPERAND_DATA[x.dtype], along=c.ALONG_POSITION))
    fields.interleaved = 1 if interleaved and turns else 0
    shapes = [x.shape[1] for x in turns.values()]
    if len(set(shapes)) > 1:
        raise InvalidError(f"rotary_sin: it has {shapes[1]} pairs, rotary_cos {shapes[0]}")


def _key_of(x: View) -> Tuple[Any, ...]:
    return (x.shape, x.strides, x.dtype)


def _values_of(k: View, v: Optional[View], dim_v: Optional[int]) -> View:
    """V, or where there is none the first @dim_v elements of the vectors of K."""
    if v is not None:
        if dim_v is not None:
            raise InvalidError("dim_v: v has its own; dim_v is for v=None, where V is a part of k")
        return v
    if dim_v is None:
        raise InvalidError("v: missing, and so is dim_v, which says how much of k is V without it")
    if not k.shape or not 1 <= dim_v <= k.shape[-1]:
        raise InvalidError(f"dim_v: {dim_v}; it must be 1 to the head dim of k, {k.shape[-1:]}")
    return part_of(k, dim_v)


def compute(
    q: Any,
    k: Any,
    v: Any,
    given: Tuple[Any, ...],
    *,
    causal: "bool | str" = False,
    window: Optional[Tuple[Optional[int], Optional[int]]] = None,
    chunk: Optional[int] = None,
    align: Optional[str] = None,
    softcap: float = 0.0,
    score: Optional[str] = None,
    visible: Optional[str] = None,
    arrays: Optional[Mapping[str, Any]] = None,
    scale: Optional[float] = None,
    layout: str = "bshd",
    return_lse: bool = False,
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    out: Any = None,
    dim_v: Optional[int] = None,
    rotary_interleaved: bool = False,
) -> Tuple[Any, Any, Plan]:
    """attention() with all checks; @given are the OPERANDS. Returns out, the LSE if it is wanted,
    and the plan that did it."""
    order = LAYOUTS[_values.word("layout", layout, tuple(LAYOUTS))]
    _check_words(causal, chunk, align, softcap, scale)
    texts = (_expression("score", score), _expression("visible", visible))
    named_given = dict(zip(OPERANDS, given))
    packed_q, packed_k = (named_given.get(f"cu_seqlens_{side}") is not None for side in "qk")
    if (packed_q or packed_k) and layout != "bshd":
        raise InvalidError(f"layout: {layout!r}; packed sequences have 'bshd' alone")
    views = {
        "q": _unpacked("q", view("q", q), packed_q),
        "k": _unpacked("k", view("k", k), packed_k),
    }
    own = None if v is None else _unpacked("v", view("v", v), packed_k)
    views["v"] = _values_of(views["k"], own, dim_v)
    like = views["q"]
    if like.dtype not in TYPES:
        raise ArgumentTypeError(f"q: dtype {like.dtype} is not float32, float16 or bfloat16")
    operands = {
        name: view("mask" if name == "shown" else name, x)
        for name, x in zip(OPERANDS, given)
        if x is not None
    }
    fields = c.Problem(size=sizeof(c.Problem), shared=v is None)
    most = (max_seqlen_q, max_seqlen_k)
    o_size = _fill_sizes(fields, like, views["k"], views["v"], operands, order, most)
    others = _fill_new(fields, views, operands, order, bool(rotary_interleaved))
    if out is None and packed_q:
        out = empty(like, o_size[1:], like.dtype)
    elif out is None:
        out = _dense_out(like, o_size, order)
    o = views["o"] = _unpacked("out", view("out", out), packed_q)
    size, fields.o = _order("out", o, order)
    for i in range(4):
        _require("out", size, i, o_size[i], "the result")
    if o.dtype != like.dtype:
        raise ArgumentTypeError(f"out: dtype is {o.dtype}, that of q {like.dtype}")
    require_writable("out", o)
    lse = None
    if return_lse:
        lse_size = (o_size[0], o_size[2], fields.tokens_q or o_size[1])
        lse = empty(like, lse_size[1:] if packed_q else lse_size, "f32")
        views["lse"] = view("lse", lse)
    named = {} if arrays is None else arrays
    array_views = _fill_arrays(fields, named)
    for name, x in (*views.items(), *operands.items(), *zip(named, array_views)):
        if x.device != like.device:
            raise InvalidError(f"{name}: it is on {x.device}, q on {like.device}")
    key = (
        like.device,
        tuple(_key_of(x) for name, x in views.items() if name != "lse"),
        tuple((name, _key_of(x)) for name, x in operands.items()),
        tuple((name, x.shape, x.dtype) for name, x in zip(named, array_views)),
        (causal, window, chunk, align, softcap, scale, score, visible, layout, most, v is None),
        bool(rotary_interleaved),
    )
    plan = _plans.get(key)
    if plan is None or plan._pointer is None or plan.context._pointer is None:
        if scale is not None:
            fields.scale = scale
        fields.softcap = softcap
        fields.score, fields.visible = texts
        _fill_mask(fields, causal, window, chunk, align)
        _fill_operands(fields, others)
        plan = _plan_of(key, fields, like.device)
    views.update(operands)
    pointers = {name: x.pointer for name, x in views.items()}
    plan._run(like, pointers, [x.pointer for x in array_views])
    plan._record().count += 1
    return out, lse, plan


def _check_words(causal: Any, chunk: Any, align: Any, softcap: Any, scale: Any) -> None:
    """Raise for words that the problem's fields would take in silence."""
    if not isinstance(causal, (bool, str)) and type(causal).__name__ not in ("bool_", "bool"):
        raise ArgumentTypeError(
            f"causal: {type(causal).__name__} is no bool; pass True, False, 'top-left' or "
            "'bottom-right'"
        )
    _values.integer("chunk", 0 if chunk is None else chunk)
    if align is not None:
        _values.word("align", align, tuple(_CAUSAL))
    _values.number("softcap", softcap)
    if scale is not None and _values.number("scale", scale) == 0:
        raise InvalidError(f"scale: {scale} makes all logits equal; pass another number")


def _pair(window: Any) -> Tuple[Any, Any]:
    """A window as a tuple."""
    if isinstance(window, (list, tuple)) and len(window) == 2:
        for i, limit in enumerate(window):
            if limit is not None:
                _values.integer(f"window[{i}]", limit)
        return (window[0], window[1])
    kind = ArgumentTypeError if not isinstance(window, (list, tuple)) else InvalidError
    raise kind(f"window: {str(window)[:40]!r} is no pair (left, right); pass one, or None")


def attend(
    q: Any,
    k: Any,
    v: Any,
    given: Tuple[Any, ...],
    *,
    causal: "bool | str" = False,
    window: Optional[Tuple[Optional[int], Optional[int]]] = None,
    chunk: Optional[int] = None,
    align: Optional[str] = None,
    softcap: float = 0.0,
    score: Optional[str] = None,
    visible: Optional[str] = None,
    arrays: Optional[Mapping[str, Any]] = None,
    scale: Optional[float] = None,
    layout: str = "bshd",
    return_lse: bool = False,
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    out: Any = None,
    dim_v: Optional[int] = None,
    rotary_interleaved: bool = False,
) -> Any:
    """attention() with the OPERANDS as a tuple."""
    words = (
        causal,
        window,
        chunk,
        align,
        softcap,
        score,
        visible,
        scale,
        layout,
        return_lse,
        max_seqlen_q,
        max_seqlen_k,
        rotary_interleaved,
    )
    shared = v is None
    if _repeat is not None and arrays is None and not shared:
        again = _repeat(_calls.known, words, q, k, v, out, *given)
        if again is not None:
            return again
    if window is not None:
        window = _pair(window)
    usual = fast = None
    if arrays is None and not shared and all(x is None for x in given):
        fast = fast_of(q)
        seen = fast.key(q, k, v, out) if fast else None
        if seen is not None:
            usual = (seen, words[0], window, *words[2:])
            try:
                known = _known.get(usual)
            except TypeError:  # a word without a hash, which compute() names
                known = usual = None
            if known is not None and known.plan._pointer is not None:
                return known.call(q, k, v, out)
    found, lse, plan = compute(
        q,
        k,
        v,
        given,
        causal=causal,
        window=window,
        chunk=chunk,
        align=align,
        softcap=softcap,
        score=score,
        visible=visible,
        arrays=arrays,
        scale=scale,
        layout=layout,
        return_lse=return_lse,
        max_seqlen_q=max_seqlen_q,
        max_seqlen_k=max_seqlen_k,
        out=out,
        dim_v=dim_v,
        rotary_interleaved=rotary_interleaved,
    )
    shapes = (found.shape if out is None else None, None if lse is None else lse.shape)
    makers = makers_of(q, *shapes)
    new = dict(zip(OPERANDS, given)).get("k_new") is not None
    # Calls without a V are not repeated in C, nor those that write to arrays that may be read-only.
    if shared or (new and fast_of(q) is NUMPY):
        return (found, lse) if return_lse else found
    if arrays is None and _calls.learn(
        words, (q, k, v, out, *given), OPERANDS, plan, *makers, keep=plan
    ):
        pass
    elif usual is not None and fast is not None:
        if len(_known) > _PLANS_MAX:
            _known.clear()
        lse_shape = None if lse is None else tuple(lse.shape)
        _known[usual] = _Known(plan, fast, tuple(found.shape), lse_shape)
    return (found, lse) if return_lse else found


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: "bool | str" = False,
    window: Optional[Tuple[Optional[int], Optional[int]]] = None,
    chunk: Optional[int] = None,
    align: Optional[str] = None,
    softcap: float = 0.0,
    bias: Any = None,
    mask: Any = None,
    slopes: Any = None,
    sinks: Any = None,
    starts: Any = None,
    lengths: Any = None,
    table: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    score: Optional[str] = None,
    visible: Optional[str] = None,
    arrays: Optional[Mapping[str, Any]] = None,
    scale: Optional[float] = None,
    layout: str = "bshd",
    return_lse: bool = False,
    out: Any = None,
    dim_v: Optional[int] = None,
    k_new: Any = None,
    v_new: Any = None,
    rotary_cos: Any = None,
    rotary_sin: Any = None,
    rotary_interleaved: bool = False,
) -> Any:
    """Fused attention: softmax(scale * Q K^T, changed and masked as below) V.

    The order, and each word, are those of heed.h and docs/features.md: t = scale * q.k; softcap;
    + bias; - slopes * |p - j|; score; then hidden keys are taken out; a sink is one more logit in
    the denominator.

    Args:
        q: (batch, queries, query heads, head dim) as @layout orders them; float32, float16 or
            bfloat16; an array of NumPy, a tensor of PyTorch, or anything with __dlpack__, in host
            memory or on a CUDA device. Any strides, but the elements of a head vector are
            neighbours. Nothing is copied.
        k, v: the same of keys, with key/value heads that divide the query heads. v=None: V is the
            first dim_v elements of the vectors of k (MLA), which is then read once.
        causal: True, or where queries and keys are not as many "top-left" (query i sees keys j <=
            i, as PyTorch's is_causal) or "bottom-right" (j <= i + keys - queries, as FlashAttention).
        window: (left, right), keys that are seen on either side of the query's position, itself
            aside; None for a side without a limit.
        chunk: keys of a chunk; a query sees those of its own.
        align: of window and chunk without a causal mask: "top-left" or "bottom-right".
        softcap: t becomes softcap * tanh(t / softcap); 0: it stays.
        bias: float32, float16 or bfloat16, broadcast to (batch, heads, queries, keys).
        mask: bool, likewise; False hides a key.
        slopes: float32, (heads,) or (batch, heads): ALiBi (Press, Smith, Lewis 2022).
        sinks: float32, likewise: one more logit of each head.
        starts: int32, (queries,) or (batch, queries): the first key that each query sees.
        lengths: int32, (batch,): the number of keys of each batch element. Keys beyond are
            not looked at. "bottom-right" is then j <= i + length - queries.
        table: int32, (batch, pages of a sequence): the number of the page that holds keys
            n * page to (n + 1) * page - 1 of a sequence. k and v are then pools of pages, (pages,
            page, heads, head dim) in the layout. Numbers of pages must be below that of pages;
            those behind the lengths are not looked at.
        cu_seqlens_q, cu_seqlens_k: int32 or int64, (batch + 1,): q and out, or k and v, are packed
            sequences, (tokens, heads, head dim), one after another. Sequence b has the rows from
            cu_seqlens[b] up to cu_seqlens[b + 1], in which masks, biases and the like count from
            0. They are read on the device of q. Rows of out behind the last sequence are left as
            they are, and the LSE is (query heads, tokens).
        max_seqlen_q, max_seqlen_k: no sequence is longer; None: than all tokens. Smaller ones let
            better plans be made.
        score: an expression, of which t becomes the value.
        visible: an expression that says which keys are seen.
        arrays: those that the expressions name: float32, int32 or bool, dense.
        scale: None: 1 / sqrt(head dim).
        layout: "bshd", "bhsd" or "sbhd": the order of q, k, v and out.
        return_lse: also return the natural log-sum-exp, float32 (batch, query heads, queries).
        out: where the result goes, of the shape (batch, queries, query heads, head dim of v) in
            the layout; None: a new array of q's library.
        dim_v: the head dim of V, for v=None alone.
        k_new, v_new: (batch, new keys, key/value heads, head dim) in the layout: they are written to
            k and v, a cache, at the keys lengths - new keys to lengths - 1 of each batch element,
            in place, and then attended to like the others: lengths, which must be given, count
            them. Without a V k_new alone. The keys of q's batch elements must not share memory.
        rotary_cos, rotary_sin: (positions, r / 2), float32, float16 or bfloat16, dense: the first r
            columns of k_new are rotated by their position before they are written, without a V the r
            columns behind V, and those of q by theirs, query + length - queries. There is a row for
            each key that k has room for.
        rotary_interleaved: whether pairs of columns are neighbours (0, 1), or (0, r / 2).

    Returns:
        out, or (out, lse). On a CUDA device the work was started on the current stream of q's
        library.

    Raises:
        InvalidError: a value, shape, stride or device is wrong; it is a ValueError.
        ArgumentTypeError: a type is wrong; it is a TypeError.
        UnsupportedError, NoMemoryError, DeviceError.
    """
    return attend(
        q,
        k,
        v,
        (
            bias,
            mask,
            slopes,
            sinks,
            starts,
            lengths,
            table,
            cu_seqlens_q,
            cu_seqlens_k,
            k_new,
            v_new,
            rotary_cos,
            rotary_sin,
        ),
        causal=causal,
        window=window,
        chunk=chunk,
        align=align,
        softcap=softcap,
        score=score,
        visible=visible,
        arrays=arrays,
        scale=scale,
        layout=layout,
        return_lse=return_lse,
        max_seqlen_q=max_seqlen_q,
        max_seqlen_k=max_seqlen_k,
        out=out,
        dim_v=dim_v,
        rotary_interleaved=rotary_interleaved,
    )
