"""heed.attention(): one call, which finds or makes its plan."""

from __future__ import annotations

import re
from ctypes import sizeof
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from . import _again
from . import _library as c
from . import _values
from ._again import Calls, makers_of
from ._arrays import (
    NUMPY,
    Fast,
    View,
    empty,
    fast_of,
    refuse_dtype,
    require_apart,
    require_writable,
    result_for,
    view,
    written,
)
from ._context import context_of
from ._eager import eager
from ._errors import ArgumentTypeError, InvalidError, renamed
from ._fields import (
    LAYOUTS,
    Words,
    checked,
    expression,
    fill_arrays,
    fill_mask,
    fill_new,
    fill_operands,
    fill_sizes,
    in_layout,
    order,
    require,
    unpacked,
    values_of,
)
from ._lock import Lock
from ._plan import Plan
from ._problem import OPERANDS, Problem
from ._types import TYPES

_PLANS_MAX = 256
_OUT = re.compile(r"^o(?= strides)")  # libheed's name for the argument
_plans: Dict[Tuple[Any, ...], Plan] = {}
_plans_lock = Lock()


def _plan_of(key: Tuple[Any, ...], fields: c.Problem, device: str) -> Plan:
    """A new plan, put into the cache. On a CPU the oldest one makes room. A GPU's plans stay until
    the process ends: their work may still be running, and CUDA graphs that captured it may be
    replayed at any time."""
    try:
        plan = Plan(Problem._of(fields), context_of(device))
    except InvalidError as error:
        raise renamed(error, _OUT, {"o": "out"}) from None
    with _plans_lock:
        _plans[key] = plan
        if device == "cpu" and len(_plans) > _PLANS_MAX:
            del _plans[next(old for old in _plans if old[0] == "cpu")]
    return plan


class _Known(NamedTuple):
    """A call that succeeded. Calls with the same words, on arrays of the same library, shapes,
    strides, types and device, need no checks."""

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
_K_NEW = OPERANDS.index("k_new")


def _key_of(x: View) -> Tuple[Any, ...]:
    return (x.shape, x.strides, x.dtype)


def compute(
    q: Any,
    k: Any,
    v: Any,
    given: Tuple[Any, ...],
    words: Words,
    *,
    arrays: Optional[Mapping[str, Any]] = None,
    out: Any = None,
    dim_v: Optional[int] = None,
) -> Tuple[Any, Any, Plan]:
    """attention() with all checks; @given are the OPERANDS. Returns out, the LSE or None, and the
    plan."""
    layout = LAYOUTS[_values.word("layout", words.layout, tuple(LAYOUTS))]
    words = checked(words)
    texts = (expression("score", words.score), expression("visible", words.visible))
    named_given = dict(zip(OPERANDS, given))
    packed_q, packed_k = (named_given.get(f"cu_seqlens_{side}") is not None for side in "qk")
    if (packed_q or packed_k) and words.layout != "bshd":
        raise InvalidError(f"layout: {words.layout!r}; packed sequences need 'bshd'")
    views = {
        "q": unpacked("q", view("q", q), packed_q),
        "k": unpacked("k", view("k", k), packed_k),
    }
    own = None if v is None else unpacked("v", view("v", v), packed_k)
    views["v"] = values_of(views["k"], own, dim_v)
    like = views["q"]
    if like.dtype not in TYPES:
        raise refuse_dtype("q", like.dtype)
    operands = {
        name: view("mask" if name == "shown" else name, x)
        for name, x in zip(OPERANDS, given)
        if x is not None
    }
    fields = c.Problem(size=sizeof(c.Problem), shared=v is None)
    fields.invariant = words.batch_invariant
    fields.prefix = words.prefix
    fields.products = c.PRODUCTS[words.products]
    most = (words.max_seqlen_q, words.max_seqlen_k)
    o_size = fill_sizes(fields, like, views["k"], views["v"], operands, layout, most, any(texts))
    others = fill_new(fields, views, operands, layout, words.rotary_interleaved)
    if out is None and packed_q:
        out = empty(like, o_size[1:], like.dtype)
    elif out is None:
        out = empty(like, in_layout(o_size, layout), like.dtype)
    o = views["o"] = unpacked("out", view("out", out), packed_q)
    size, fields.o = order("out", o, layout)
    for i in range(4):
        require("out", size, i, o_size[i], "the result")
    if o.dtype != like.dtype:
        raise ArgumentTypeError(f"out: dtype is {o.dtype}, that of q {like.dtype}; pass one of that")
    require_writable("out", o)
    require_apart("out", o, views)
    lse = None
    if words.return_lse:
        lse_size = (o_size[0], o_size[2], fields.tokens_q or o_size[1])
        lse = empty(like, lse_size[1:] if packed_q else lse_size, "f32")
        views["lse"] = view("lse", lse)
    named = {} if arrays is None else arrays
    array_views = fill_arrays(fields, named, texts)
    for name, x in (*views.items(), *operands.items(), *zip(named, array_views)):
        if x.device != like.device:
            raise InvalidError(f"{name}: it is on {x.device}, q on {like.device}; move one")
    key = (
        like.device,
        tuple(_key_of(x) for name, x in views.items() if name != "lse"),
        tuple((name, _key_of(x)) for name, x in operands.items()),
        tuple((name, x.shape, x.dtype) for name, x in zip(named, array_views)),
        words._replace(return_lse=False),
        v is None,
    )
    plan = _plans.get(key)
    if plan is None or plan._pointer is None or plan.context._pointer is None:
        if words.scale is not None:
            fields.scale = words.scale
        fields.softcap = words.softcap
        fields.score, fields.visible = texts
        fill_mask(fields, words.causal, words.window, words.chunk, words.align)
        fill_operands(fields, others)
        plan = _plan_of(key, fields, like.device)
    views.update(operands)
    pointers = {name: x.pointer for name, x in views.items()}
    plan._run(like, pointers, [x.pointer for x in array_views])
    plan._record().count += 1
    if lse is not None and packed_q and fields.tokens_q < o_size[1]:
        lse = _with_columns(like, lse, o_size[1])
    return out, lse, plan


def _with_columns(like: View, lse: Any, tokens: int) -> Any:
    """The LSE of packed queries, with a column for each row of q: the problem has no more rows than
    its sequences may have."""
    whole = empty(like, (lse.shape[0], tokens), "f32")
    whole[:, : lse.shape[1]] = lse
    return whole


def attend(
    q: Any,
    k: Any,
    v: Any,
    given: Tuple[Any, ...],
    words: Tuple[Any, ...],
    *,
    arrays: Optional[Mapping[str, Any]] = None,
    out: Any = None,
    dim_v: Optional[int] = None,
) -> Any:
    """attention() with the OPERANDS as a tuple, and the fields of Words."""
    if _repeat is not None and arrays is None and v is not None and dim_v is None:
        again = _repeat(_calls.known, words, q, k, v, out, *given)
        if again is not None:
            if _appends(given):
                written(k, v)
            return again
    return _attend(q, k, v, given, Words._make(words), arrays, out, dim_v)


def _appends(given: Tuple[Any, ...]) -> bool:
    return len(given) > _K_NEW and given[_K_NEW] is not None


@eager
def _attend(
    q: Any,
    k: Any,
    v: Any,
    given: Tuple[Any, ...],
    words: Words,
    arrays: Optional[Mapping[str, Any]],
    out: Any,
    dim_v: Optional[int],
) -> Any:
    """attend() for calls that the C module does not know."""
    new = _appends(given)
    changed = (out, k, v) if new else (out,)
    plain = arrays is None and v is not None and dim_v is None  # only such calls can be repeated
    if isinstance(words.window, list):
        words = words._replace(window=tuple(words.window))
    usual = fast = None
    if plain and all(x is None for x in given):
        fast = fast_of(q)
        seen = fast.key(q, k, v, out) if fast else None
        if seen is not None:
            kinds = _again.kinds(words)
            usual = None if kinds is None else (seen, words, kinds)
            known = None if usual is None else _known.get(usual)
            if known is not None and known.plan._pointer is not None:
                found = known.call(q, k, v, out)
                written(*changed)
                return found
    found, lse, plan = compute(q, k, v, given, words, arrays=arrays, out=out, dim_v=dim_v)
    written(*changed)
    if out is None:
        found, lse = result_for(q, found), result_for(q, lse)
    shapes = (found.shape if out is None else None, None if lse is None else lse.shape)
    makers = makers_of(q, *shapes)
    widened = lse is not None and 0 < plan.problem._c.tokens_q < lse.shape[-1]
    # C does not repeat calls without a V, calls that write to arrays that may be read-only, or calls
    # whose LSE has more columns than the problem.
    if v is None or (new and fast_of(q) is NUMPY) or widened:
        return found if lse is None else (found, lse)
    if plain and _calls.learn(words, (q, k, v, out, *given), OPERANDS, plan, *makers, keep=plan):
        pass
    elif usual is not None and fast is not None:
        if len(_known) > _PLANS_MAX:
            _known.clear()
        lse_shape = None if lse is None else tuple(lse.shape)
        _known[usual] = _Known(plan, fast, tuple(found.shape), lse_shape)
    return found if lse is None else (found, lse)


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
    batch_invariant: bool = False,
    prefix: int = 0,
    products: str = "full",
) -> Any:
    """Fused attention: softmax(scale * Q K^T, modified and masked as below) V.

    heed.h and docs/features.md define each word and the order: t = scale * q.k; softcap; + bias;
    - slopes * |p - j|; score; then hidden keys are removed; a sink is one more logit in the
    denominator.

    Args:
        q: (batch, queries, query heads, head dim) in the order of @layout; float32, float16 or
            bfloat16; a NumPy array, a PyTorch tensor or any object with __dlpack__, in host memory
            or on a CUDA device. Any strides of 0 or more, but not all 0, and head vectors must be
            contiguous. Nothing is copied. A tensor whose storage was freed (resize_(0)) is refused;
            of one that only shrank below its shape, calls after the first do not know.
        k, v: likewise for keys. The number of key/value heads divides that of query heads. v=None:
            V is the first dim_v elements of the vectors of k (MLA), which is then read once.
        causal: True, or if there are not as many queries as keys, "top-left" (query i sees keys
            j <= i, as in PyTorch's is_causal) or "bottom-right" (j <= i + keys - queries, as in
            FlashAttention).
        window: (left, right): the number of keys that a query sees on each side of its position;
            None: no limit on that side.
        chunk: the number of keys in a chunk; a query sees only its own chunk.
        align: alignment of window, chunk, slopes and expressions without a causal mask: "top-left"
            or "bottom-right". Window and chunk need it if there are not as many queries as keys;
            for the others "top-left" is the default.
        softcap: t becomes softcap * tanh(t / softcap); 0: off.
        bias: float32, float16 or bfloat16, broadcast to (batch, heads, queries, keys).
        mask: bool, likewise; False hides a key.
        slopes: float32, (heads,) or (batch, heads): ALiBi (Press, Smith, Lewis 2022).
        sinks: float32, likewise: one more logit for each head.
        starts: int32, (queries,) or (batch, queries): the first key that each query sees, which
            must not decrease from one query to the next.
        lengths: int32, (batch,): the number of keys of each batch element; later keys are ignored.
            "bottom-right" is then j <= i + length - queries.
        table: page table, int32, (batch, pages of a sequence): the number of the page with keys
            n * page to (n + 1) * page - 1 of a sequence. k and v are then pools of pages, (pages,
            page, heads, head dim) in the layout. Page numbers must be below the number of pages;
            those beyond the lengths are ignored.
        cu_seqlens_q, cu_seqlens_k: int32 or int64, (batch + 1,): q and out, or k and v, are packed
            sequences, (tokens, heads, head dim). Sequence b has the rows from cu_seqlens[b] up to
            cu_seqlens[b + 1]; masks, biases and expressions count them from 0. The values are read
            on the device of q. Rows of out after the last sequence are not written, and the LSE is
            (query heads, tokens).
        max_seqlen_q, max_seqlen_k: upper bounds of the sequence lengths; None: the number of
            tokens. Tight bounds allow better plans. Operands and expressions have these sizes.
        score: an expression; t becomes its value.
        visible: an expression that is true for visible keys.
        arrays: the arrays that the expressions name: float32, int32 or bool, dense.
        scale: None: 1 / sqrt(head dim).
        layout: "bshd", "bhsd" or "sbhd": the order of dimensions in q, k, v and out.
        return_lse: also return the natural log-sum-exp, float32 (batch, query heads, queries).
        out: an array for the result, (batch, queries, query heads, head dim of v) in the layout;
            None: a new array of q's library (for JAX, on a CPU only). It must not overlap the others;
            only one that begins where q, k or v does is refused.
        dim_v: the head dim of V, only with v=None.
        k_new, v_new: (batch, new keys, key/value heads, head dim) in the layout: new keys for the
            cache k and v. They are written in place, at keys lengths - new keys to lengths - 1 of
            each batch element, and then attended to like the others. lengths is required and
            counts them. With v=None, pass only k_new. Batch elements of k and v must not share
            memory. With packed queries they may be packed too, (tokens of q, key/value heads, head
            dim): then each sequence has one new key per query.
        rotary_cos, rotary_sin: (positions, r / 2), float32, float16 or bfloat16, dense: a rotary
            embedding of r columns of k_new and q: the first r, or with v=None the r columns after
            V. k_new is rotated at its positions before it is written, q at query + length -
            queries. There must be a row for each key that k has room for.
        rotary_interleaved: True: pairs of columns are (0, 1), (2, 3), ...; False: (0, r / 2), ...
        batch_invariant: results of a batch element or sequence do not depend on the others, to the
            bit. The kernel is chosen as for a batch of 4.
        prefix: the number of keys that all batch elements share: those of batch element 0, or with
            a table of its row. They are read once for all queries, and lengths count them. A
            multiple of the page size; not with packed keys, "top-left", window, chunk, bias, mask,
            slopes, starts, expressions or batch_invariant.
        products: precision of float32 products on a GPU: "full"; "tf32", operands rounded to 11
            significant bits; or "bf16x3", operands as sums of two bfloat16, without the product of
            the low parts. heed.h has the error bounds. A kernel may be more precise, and all are on
            a CPU.

    Returns:
        out, or (out, lse). On a CUDA device the work is launched on the current stream of q's
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
        (
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
            batch_invariant,
            prefix,
            products,
        ),
        arrays=arrays,
        out=out,
        dim_v=dim_v,
    )
