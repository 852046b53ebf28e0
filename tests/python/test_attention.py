#!/usr/bin/env python3
"""The Python package beside float64 formulas: arrays of NumPy, and of torch where it is installed.

    test_attention.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 where there
is no numpy.
"""

import gc
import os
import pathlib
import sys
import tempfile
import threading
import unittest

try:
    import numpy as np
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch
except ImportError:
    torch = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
os.environ["HEED_DEVICE"] = "cpu"  # of plans without a device=; calls go by their arrays
import heed  # noqa: E402

ROUNDING = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}
AXES = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3), "sbhd": (1, 0, 2, 3)}


def formula(q, k, v, seen=True, change=lambda t: t, scale=None, sinks=None):
    """O and LSE in float64, of arrays in the order bshd. @seen and @change have the dimensions
    (batch, heads, queries, keys)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    t = np.einsum("bihd,bjhd->bhij", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    t = np.where(seen, change(t), -np.inf)
    top = t.max(-1, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks[..., None, None])
    safe = np.where(np.isfinite(top), top, 0)
    weights = np.exp(t - safe)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total += np.exp(sinks[..., None, None] - safe)
    with np.errstate(divide="ignore", invalid="ignore"):
        o = np.einsum("bhij,bjhd->bihd", np.where(total > 0, weights / total, 0), v)
        return o, (safe + np.log(total))[..., 0]


class Case(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def tensors(self, batch=2, queries=37, keys=53, heads=4, heads_kv=2, dim=32, dim_v=40):
        return [
            self.random.standard_normal(shape).astype(np.float32)
            for shape in (
                (batch, queries, heads, dim),
                (batch, keys, heads_kv, dim),
                (batch, keys, heads_kv, dim_v),
            )
        ]

    def near(self, x, wanted, unit=2.0**-20):
        x = np.asarray(x, np.float64)
        self.assertEqual(x.shape, wanted.shape)
        same = np.isneginf(x) & np.isneginf(wanted)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0, np.abs(x - wanted) / (1 + np.abs(np.where(same, 0, wanted))))
        self.assertLess(error.max(), 8 * unit)

    def refused(self, kind, text, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(text, str(caught.exception))
        self.assertIsInstance(caught.exception, heed.HeedError)


class Attention(Case):
    def test_types_and_layouts(self):
        types = [np.dtype(np.float32), np.dtype(np.float16)]
        if ml_dtypes:
            types.append(np.dtype(ml_dtypes.bfloat16))
        for dtype in types:
            q, k, v = (x.astype(dtype) for x in self.tensors())
            o, lse = formula(q, k, v)
            for layout, axes in AXES.items():
                arrays = [np.ascontiguousarray(x.transpose(axes)) for x in (q, k, v)]
                for _ in range(2):  # the second time the call is known
                    mine, own = heed.attention(*arrays, layout=layout, return_lse=True)
                    self.assertEqual(mine.dtype, dtype)
                    self.near(mine.astype(np.float64).transpose(np.argsort(axes)), o,
                              ROUNDING[dtype.name])
                    self.near(own, lse, 2.0**-18)

    def test_masks(self):
        q, k, v = self.tensors()
        i, j = np.arange(37)[:, None], np.arange(53)
        cases = [
            ({"causal": "top-left"}, j <= i),
            ({"causal": "bottom-right"}, j <= i + 16),
            ({"causal": "top-left", "window": (5, None)}, (j <= i) & (j >= i - 5)),
            ({"window": (3, 4), "align": "top-left"}, (j >= i - 3) & (j <= i + 4)),
            ({"window": (None, 4), "align": "bottom-right"}, j <= i + 16 + 4),
            ({"chunk": 10, "align": "top-left"}, j // 10 == i // 10),
            ({"visible": "k<=q&&k%3!=1"}, (j <= i) & (j % 3 != 1)),
        ]
        for words, seen in cases:
            with self.subTest(words=words):
                o, lse = formula(q, k, v, seen)
                mine, own = heed.attention(q, k, v, return_lse=True, **words)
                self.near(mine, o)
                self.near(own, lse)

    def test_changes(self):
        q, k, v = self.tensors()
        i, j = np.arange(37)[:, None], np.arange(53)
        slopes = np.float32([0.5, 0.25, 0.1, 0])
        cases = [
            ({"softcap": 2.0}, lambda t: 2 * np.tanh(t / 2)),
            ({"slopes": slopes}, lambda t: t - slopes[:, None, None] * abs(i - j)),
            ({"score": "s*0.5+slope[head]", "arrays": {"slope": slopes}},
             lambda t: t / 2 + slopes[:, None, None]),
            ({"scale": 0.3}, lambda t: t * 0.3 * np.sqrt(32)),
        ]
        for words, change in cases:
            with self.subTest(words=words):
                mine, own = heed.attention(q, k, v, return_lse=True, **words)
                o, lse = formula(q, k, v, change=change)
                self.near(mine, o)
                self.near(own, lse)

    def test_broadcasts_of_bias_and_mask(self):
        q, k, v = self.tensors()
        for shape in ((53,), (37, 53), (4, 37, 53), (2, 1, 37, 53), (1, 4, 1, 53), (2, 1, 1, 53)):
            bias = self.random.standard_normal(shape).astype(np.float32)
            mask = self.random.random(shape) < 0.7
            with self.subTest(shape=shape):
                o, lse = formula(q, k, v, mask, lambda t: t + bias)
                mine, own = heed.attention(q, k, v, bias=bias, mask=mask, return_lse=True)
                self.near(mine, o)
                self.near(own, lse)
        row = self.random.random(53) < 0.7
        row[0] = True
        repeated = np.broadcast_to(row, (37, 53))  # a stride of 0, which is not that of a dense array
        self.near(heed.attention(q, k, v, mask=repeated), formula(q, k, v, repeated)[0])
        one = heed.attention(q[:1], k[:1], v[:1], mask=np.broadcast_to(row, (1, 1, 37, 53)))
        self.near(one, formula(q[:1], k[:1], v[:1], row)[0])
        wide = self.random.standard_normal((2, 4, 37, 60)).astype(np.float32)[..., :53]
        self.near(heed.attention(q, k, v, bias=wide), formula(q, k, v, change=lambda t: t + wide)[0])

    def test_sinks_and_starts(self):
        q, k, v = self.tensors()
        sinks = self.random.standard_normal(4).astype(np.float32)
        each = self.random.standard_normal((2, 9)).astype(np.float32)[:, :4]  # of each batch element, rows apart
        self.near(heed.attention(q, k, v, sinks=each), formula(q, k, v, sinks=each)[0])
        starts = np.minimum(np.arange(37) // 9 * 9, 52).astype(np.int32)
        seen = np.arange(53) >= starts[:, None]
        mine, own = heed.attention(q, k, v, sinks=sinks, starts=starts, return_lse=True)
        o, lse = formula(q, k, v, seen, sinks=np.broadcast_to(sinks, (2, 4)))
        self.near(mine, o)
        self.near(own, lse)
        both = heed.attention(q, k, v, starts=np.tile(starts, (2, 1)))
        self.near(both, formula(q, k, v, seen)[0])

    def test_lengths(self):
        q, k, v = self.tensors()
        lengths = np.int32([20, 53])
        for b, n in enumerate(lengths):
            k[b, n:], v[b, n:] = np.nan, np.inf
        for causal in (False, "bottom-right"):
            mine, own = heed.attention(q, k, v, lengths=lengths, causal=causal, return_lse=True)
            for b, n in enumerate(lengths):
                alone = (q[b : b + 1], k[b : b + 1, :n], v[b : b + 1, :n])
                o, lse = heed.attention(*alone, causal=causal, return_lse=True)
                self.near(mine[b : b + 1], o)
                self.assertTrue(np.allclose(own[b], lse[0], rtol=1e-5, atol=1e-5))
        with self.assertRaisesRegex(heed.InvalidError, "lengths"):
            heed.attention(q, k, v, lengths=np.int32([1, 2, 3]))
        with self.assertRaisesRegex(heed.ArgumentTypeError, "lengths"):
            heed.attention(q, k, v, lengths=[20, 53])

    def test_pages(self):
        q, k, v = self.tensors()
        batch, keys = k.shape[:2]
        page = next(n for n in (4, 3, 5, 7, 1) if keys % n == 0)
        count = batch * keys // page
        order = np.random.default_rng(3).permutation(count + 2)[:count].astype(np.int32)
        pools = []
        for x in (k, v):
            pool = np.full((count + 2, page, *x.shape[2:]), np.nan, x.dtype)
            pool[order] = x.reshape(count, page, *x.shape[2:])
            pools.append(pool)
        table = order.reshape(batch, -1)
        words = dict(causal="bottom-right", return_lse=True)
        mine, own = heed.attention(q, *pools, table=table, **words)
        o, lse = heed.attention(q, k, v, **words)
        self.near(mine, o)
        self.assertTrue(np.allclose(own, lse, rtol=1e-5, atol=1e-5))
        by_head = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (q, *pools)]
        swapped = heed.attention(*by_head, table=table, layout="bhsd", causal="bottom-right")
        self.near(swapped.transpose(0, 2, 1, 3), o)
        table = np.where(np.arange(table.shape[1]) * page < 9, table, 2**31 - 1)
        short = heed.attention(q, *pools, table=table.astype(np.int32), lengths=np.full(batch, 9, np.int32))
        self.near(short, heed.attention(q, k[:, :9], v[:, :9]))
        for wrong in (table[:1], table[0], table[:, :0]):
            with self.assertRaisesRegex(heed.InvalidError, "table"):
                heed.attention(q, *pools, table=wrong.astype(np.int32))
        with self.assertRaisesRegex(heed.InvalidError, "table.type"):
            heed.attention(q, *pools, table=table.astype(np.float32))

    def test_values_in_keys(self):
        """v=None: V is the first dim_v elements of the vectors of K."""
        q = self.random.standard_normal((2, 3, 8, 72)).astype(np.float32)
        k = self.random.standard_normal((2, 40, 2, 96)).astype(np.float32)[..., :72]  # with gaps
        for words in ({}, {"causal": "bottom-right", "softcap": 5.0}, {"return_lse": True}):
            own = heed.attention(q, k, k[..., :64], **words)
            shared = heed.attention(q, k, None, dim_v=64, **words)
            for one, other in zip(own, shared) if words.get("return_lse") else ((own, shared),):
                np.testing.assert_array_equal(one, other)
        plan = heed.Plan("b2 h8/2 s3/40 d72/64 f32 shared k=7680:192:96")
        np.testing.assert_array_equal(plan.execute(q, k, None), heed.attention(q, k, k[..., :64]))
        for words, message in (
            ({}, "v: missing, and so is dim_v"),
            ({"dim_v": 73}, "dim_v: 73; it must be 1 to"),
            ({"dim_v": 0}, "dim_v: 0"),
        ):
            with self.assertRaisesRegex(heed.InvalidError, message):
                heed.attention(q, k, None, **words)
        with self.assertRaisesRegex(heed.InvalidError, "dim_v: v has its own"):
            heed.attention(q, k, k, dim_v=64)

    def turned(self, x, at, cos, sin, interleaved=False):
        """Vectors (sequence, heads, dim) at the positions @at, pair for pair."""
        y, half = x.astype(np.float64), cos.shape[1]
        for c in range(half):
            i, j = (2 * c, 2 * c + 1) if interleaved else (c, c + half)
            one, two = x[..., i].astype(np.float64), x[..., j].astype(np.float64)
            y[..., i] = one * cos[at, c][:, None] - two * sin[at, c][:, None]
            y[..., j] = one * sin[at, c][:, None] + two * cos[at, c][:, None]
        return y.astype(x.dtype)

    def test_new_keys(self):
        """k_new and v_new go into the cache, rotated, and q is as at its positions."""
        random = self.random.standard_normal
        lengths = np.array([4, 20, 11], np.int32)
        angle = random((20, 8)).astype(np.float32)
        cos, sin = np.cos(angle), np.sin(angle)
        for words, by_head in (({}, False), ({"rotary_interleaved": True}, False), ({}, True)):
            q, k, v = (random((3, n, h, 16)).astype(np.float32) for n, h in ((2, 4), (20, 2), (20, 2)))
            new = [random((3, 4, 2, 16)).astype(np.float32) for _ in range(2)]
            wanted = [k.copy(), v.copy()]
            turned = q.copy()
            for b, n in enumerate(lengths):
                at = np.arange(n - 4, n)
                wanted[0][b, at] = self.turned(new[0][b], at, cos, sin, **{x[7:]: y for x, y in words.items()})
                wanted[1][b, at] = new[1][b]
                turned[b] = self.turned(q[b], at[2:], cos, sin, **{x[7:]: y for x, y in words.items()})
                k[b, at] = v[b, at] = np.nan
            o = heed.attention(turned, *wanted, lengths=lengths, causal="bottom-right")
            given = [x.transpose(0, 2, 1, 3).copy() if by_head else x for x in (q, k, v, *new)]
            mine = heed.attention(*given[:3], lengths=lengths, causal="bottom-right", k_new=given[3],
                                  v_new=given[4], rotary_cos=cos, rotary_sin=sin,
                                  layout="bhsd" if by_head else "bshd", **words)
            own = [x.transpose(0, 2, 1, 3) if by_head else x for x in (mine, *given[1:3])]
            self.near(own[0], o)
            np.testing.assert_array_equal(own[1], wanted[0])
            np.testing.assert_array_equal(own[2], wanted[1])
        plan = heed.Plan("b3 h4/2 s2/20 d16 f32 causal=br lengths append=4 rotary=16")
        k[:] = v[:] = np.nan
        for b, n in enumerate(lengths):
            k[b, :n - 4], v[b, :n - 4] = wanted[0][b, :n - 4], wanted[1][b, :n - 4]
        operands = {"lengths": lengths, "k_new": new[0], "v_new": new[1], "rotary_cos": cos, "rotary_sin": sin}
        self.near(plan.execute(q, k, v, operands=operands), o)
        for b, n in enumerate(lengths):
            np.testing.assert_array_equal(k[b, :n], wanted[0][b, :n])

    def test_new_keys_of_a_shared_cache(self):
        q, k = (self.random.standard_normal((2, n, h, 40)).astype(np.float32) for n, h in ((1, 4), (9, 1)))
        new = self.random.standard_normal((2, 1, 1, 40)).astype(np.float32)
        wanted, lengths = k.copy(), np.array([9, 3], np.int32)
        wanted[[0, 1], lengths - 1] = new[:, 0]
        o = heed.attention(q, wanted, wanted[..., :32], lengths=lengths)
        self.near(heed.attention(q, k, None, dim_v=32, lengths=lengths, k_new=new), o)
        np.testing.assert_array_equal(k, wanted)

    def test_new_keys_that_are_wrong(self):
        q, k, v = (np.zeros((2, n, 2, 8), np.float32) for n in (1, 9, 9))
        new, lengths = np.zeros((2, 1, 2, 8), np.float32), np.array([9, 3], np.int32)
        turn = np.zeros((9, 4), np.float32)
        sealed = k.copy()
        sealed.flags.writeable = False
        good = dict(lengths=lengths, k_new=new, v_new=new)
        heed.attention(q, k, v, **good)
        for cache, words, message in (
            (k, {"lengths": None}, "lengths: missing"),
            (k, {"v_new": None}, "v_new: pass k_new and v_new together"),
            (k, {"k_new": None}, "k_new: pass k_new and v_new together"),
            (k, {"v_new": new[:, :, :1]}, "v_new: heads is 1, that of k 2"),
            (k, {"k_new": new[:1]}, "k_new: batch is 1, that of q 2"),
            (k, {"rotary_cos": turn}, "rotary_cos: pass rotary_cos and rotary_sin"),
            (k, {"rotary_cos": turn, "rotary_sin": turn[:8]}, "rotary_sin: shape is"),
            (k, {"rotary_cos": turn, "rotary_sin": turn[:, ::2]}, "rotary_sin: the array is not dense"),
            (k, {"rotary_cos": np.zeros((9, 5), np.float32), "rotary_sin": np.zeros((9, 5), np.float32)},
             "rotary is 10"),
            (sealed, {}, "k: the array is read-only"),
            (k, {"lengths": np.array([9, 0], np.int32)}, r"lengths\[1\] is 0; it must be 1 to 9"),
        ):
            with self.assertRaisesRegex(heed.InvalidError, message):
                heed.attention(q, cache, v, **{**good, **words})

    def test_rows_without_keys(self):
        q, k, v = self.tensors(queries=53, keys=37)
        mine, own = heed.attention(q, k, v, causal="bottom-right", return_lse=True)
        self.assertTrue((mine[:, :16] == 0).all())
        self.assertTrue(np.isneginf(own[..., :16]).all())

    def test_strides_and_out(self):
        q, k, v = self.tensors()
        wide = np.zeros((2, 37, 8, 64), np.float32)
        wide[:, :, ::2, 5:37] = q
        o = formula(q, k, v)[0]
        out = np.full((2, 37, 4, 60), 7, np.float32)
        for _ in range(2):
            back = heed.attention(wide[:, :, ::2, 5:37], k, v, out=out[..., 3:43])
            self.assertIs(back.base, out)
            self.near(back, o)
            self.assertTrue((out[..., :3] == 7).all() and (out[..., 43:] == 7).all())

    def test_same_bits_as_a_plan(self):
        q, k, v = self.tensors(keys=37)
        plan = heed.Plan("b2 h4/2 s37 d32/40 f32 causal")
        mine = heed.attention(q, k, v, causal=True)
        if plan.deterministic:
            self.assertEqual(plan.execute(q, k, v).tobytes(), mine.tobytes())

    def test_batch_invariant(self):
        q, k, v = self.tensors(batch=24, queries=1, keys=700)
        together = heed.attention(q, k, v, batch_invariant=True)
        for b in (0, 7, 23):
            alone = heed.attention(q[b : b + 1], k[b : b + 1], v[b : b + 1], batch_invariant=True)
            self.assertEqual(alone.tobytes(), together[b : b + 1].tobytes())
        spec = "b24 h4/2 s1/700 d32/40 f32 invariant"
        self.assertEqual(heed.Plan(spec).execute(q, k, v).tobytes(), together.tobytes())

    def test_dlpack(self):
        class Foreign:
            """An array that has nothing but DLPack's two methods."""

            def __init__(self, x):
                self.x = x

            def __dlpack__(self, **words):
                return self.x.__dlpack__(**words)

            def __dlpack_device__(self):
                return self.x.__dlpack_device__()

        q, k, v = self.tensors()
        out = np.zeros((2, 37, 4, 40), np.float32)
        part = np.zeros((2, 37, 8, 32), np.float32)[:, :, ::2]
        part[...] = q
        heed.attention(Foreign(part), Foreign(k), Foreign(v), out=Foreign(out))
        self.near(out, formula(q, k, v)[0])
        self.refused(heed.ArgumentTypeError, "pass one as out=",
                     lambda: heed.attention(Foreign(q), Foreign(k), Foreign(v)))

    def test_threads(self):
        q, k, v = self.tensors()
        wanted, found = heed.attention(q, k, v).tobytes(), []

        def work():
            for _ in range(50):
                found.append(heed.attention(q, k, v).tobytes() == wanted)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 200)

    def test_child_process(self):
        q, k, v = self.tensors()
        wanted = heed.attention(q, k, v).tobytes()
        child = os.fork()
        if child == 0:
            os._exit(0 if heed.attention(q, k, v).tobytes() == wanted else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Mistakes(Case):
    def test_arguments(self):
        q, k, v = self.tensors()
        invalid, wrong = heed.InvalidError, heed.ArgumentTypeError
        cases = [
            (wrong, "q: list is no array", lambda: heed.attention([1], k, v)),
            (wrong, "q: dtype float64", lambda: heed.attention(q.astype(float), k, v)),
            (wrong, "q: dtype object", lambda: heed.attention(q.astype(object), k, v)),
            (wrong, "dtype >f4", lambda: heed.attention(q.astype(">f4"), k, v)),
            (wrong, "k: dtype is f16, that of q f32",
             lambda: heed.attention(q, k.astype(np.float16), v)),
            (wrong, "q: dtype i32", lambda: heed.attention(*(x.astype(np.int32) for x in (q, k, v)))),
            (invalid, "q: 3 dimensions", lambda: heed.attention(q[0], k, v)),
            (invalid, "k: head dim is 31, that of q 32", lambda: heed.attention(q, k[..., 1:], v)),
            (invalid, "v: sequence is 52, that of k 53", lambda: heed.attention(q, k, v[:, 1:])),
            (invalid, "where no size may be 0", lambda: heed.attention(q[:, :0], k, v)),
            (invalid, "where they must be neighbours",
             lambda: heed.attention(q[..., ::2], k[..., ::2], v)),
            (invalid, "no multiple of the element's 4",
             lambda: heed.attention(self.odd(q), k, v)),
            (invalid, "heads_q", lambda: heed.attention(q[:, :, :3], k, v)),
            (invalid, "stride", lambda: heed.attention(q[:, ::-1], k, v)),
            (invalid, "causal: True means one thing", lambda: heed.attention(q, k, v, causal=True)),
            (invalid, "causal: 'left'", lambda: heed.attention(q, k, v, causal="left")),
            (invalid, "align: a window", lambda: heed.attention(q, k, v, window=(1, 1))),
            (invalid, "window", lambda: heed.attention(q, k, v, window=(-1, 1), align="top-left")),
            (invalid, "layout: 'hbsd'", lambda: heed.attention(q, k, v, layout="hbsd")),
            (invalid, "softcap", lambda: heed.attention(q, k, v, softcap=-1.0)),
            (invalid, "softcap", lambda: heed.attention(q, k, v, softcap=float("nan"))),
            (invalid, "scale: 0", lambda: heed.attention(q, k, v, scale=0)),
            (invalid, "does not broadcast", lambda: heed.attention(q, k, v, bias=q)),
            (invalid, "mask", lambda: heed.attention(q, k, v, mask=np.ones((37, 1), bool))),
            (invalid, "sinks", lambda: heed.attention(q, k, v, sinks=np.zeros(3, np.float32))),
            (invalid, "score", lambda: heed.attention(q, k, v, score="s+nothing[head]")),
            (invalid, "visible", lambda: heed.attention(q, k, v, visible="q<" * 150)),
            (invalid, "out: sequence is 36", lambda: heed.attention(q, k, v, out=np.zeros((2, 36, 4, 40), np.float32))),
            (invalid, "read-only", lambda: heed.attention(q, k, v, out=self.frozen())),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text):
                self.refused(kind, text, call)

    def odd(self, q):
        raw = np.zeros(q.nbytes * 2, np.uint8)
        return np.ndarray(q.shape, np.float32, raw, strides=(20001, 516, 128, 4))

    def frozen(self):
        out = np.zeros((2, 37, 4, 40), np.float32)
        out.flags.writeable = False
        return out

    def test_specs(self):
        self.refused(heed.InvalidError, "^", lambda: heed.Problem("b1 h1 s8 d8 f33"))
        self.refused(heed.ArgumentTypeError, "spec: int", lambda: heed.Problem(3))
        self.refused(heed.InvalidError, "no kernel has that name",
                     lambda: heed.Plan("b1 h1 s8 d8 f32", kernel="none"))
        self.refused(heed.InvalidError, "effort: 'fast'",
                     lambda: heed.Plan("b1 h1 s8 d8 f32", effort="fast"))
        self.refused(heed.NoWisdomError, "", lambda: heed.Plan("b1 h1 s9 d8 f32", effort="wisdom"))

    def test_plan_arguments(self):
        q, k, v = self.tensors()
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32 bias=f32:q array=t:f32:4 score=s+t[head]")
        bias, table = np.zeros((37, 53), np.float32), np.zeros(4, np.float32)
        good = {"bias": bias, "t": table}
        invalid, wrong = heed.InvalidError, heed.ArgumentTypeError
        cases = [
            (invalid, "bias, which is missing", (q, k, v), {}),
            (invalid, "an array t, which is missing", (q, k, v), {"bias": bias}),
            (invalid, "bias: shape", (q, k, v), {"bias": bias.T, "t": table}),
            (invalid, "the array is not dense", (q, k, v),
             {"bias": np.zeros((37, 60), np.float32)[:, :53], "t": table}),
            (wrong, "bias: dtype", (q, k, v), {"bias": bias.astype(np.float16), "t": table}),
            (invalid, "the problem has no mask", (q, k, v), {**good, "mask": bias}),
            (invalid, "q: shape", (q[:, 1:], k, v), good),
            (invalid, "q: strides", (np.zeros((2, 37, 4, 64), np.float32)[..., :32], k, v), good),
            (wrong, "q: dtype is f16", (q.astype(np.float16), k, v), good),
        ]
        for kind, text, arrays, operands in cases:
            with self.subTest(text=text):
                self.refused(kind, text, lambda: plan.execute(*arrays, operands=operands))
        self.near(plan.execute(q, k, v, operands=good), formula(q, k, v)[0])

    def test_closed(self):
        q, k, v = self.tensors()
        with heed.Context("cpu", threads=1) as context:
            plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32", context)
            self.near(plan.execute(q, k, v), formula(q, k, v)[0])
        self.refused(heed.InvalidError, "plan: it is closed", lambda: plan.execute(q, k, v))
        self.refused(heed.InvalidError, "context: it is closed", lambda: context.threads)
        self.assertIn("closed", repr(plan))


class Objects(Case):
    def test_problem(self):
        problem = heed.Problem("d64 b2 s512   h8/2 f16 causal")
        self.assertEqual(str(problem), "b2 h8/2 s512 d64 f16 causal")
        self.assertEqual(problem, heed.Problem(str(problem)))
        self.assertEqual(len({problem, heed.Problem(str(problem))}), 1)
        self.assertEqual(problem.q_shape, (2, 512, 8, 64))
        self.assertEqual(problem.flops, 4.0 * 2 * 8 * 64 * (512 * 513 / 2))
        self.assertEqual(problem.dtype, "f16")

    def test_plan(self):
        plan = heed.Plan("b1 h2 s64 d16 f32", effort="measure")
        self.assertIn(plan.name, plan.explain())
        named = heed.Plan("b1 h2 s64 d16 f32", kernel=plan.name)
        self.assertEqual(named.name, plan.name)

    def test_wisdom(self):
        with heed.Context("cpu") as context:
            plan = heed.Plan("b1 h2 s64 d16 f32", context, effort="measure")
            text = context.export_wisdom()
            self.assertIn("b1 h2 s64 d16 f32", text)
            context.forget_wisdom()
            self.assertEqual(context.import_wisdom(text), (1, 0))
            again = heed.Plan("b1 h2 s64 d16 f32", context, effort="wisdom")
            self.assertEqual(again.name, plan.name)
            self.refused(heed.CorruptError, "", lambda: context.import_wisdom("nonsense"))
            self.refused(heed.SystemCallError, "none", lambda: context.load_wisdom("/none/at/all"))

    def test_objects_end_in_any_order(self):
        q, k, v = self.tensors()
        for _ in range(20):
            context = heed.Context("cpu", threads=2)
            plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32", context)
            del context
            gc.collect()
            plan.execute(q, k, v)
            del plan
        gc.collect()


@unittest.skipUnless(torch, "no torch")
class Torch(Case):
    def test_tensors(self):
        q, k, v = (torch.from_numpy(x) for x in self.tensors(keys=37))
        for dtype, unit in ((torch.float32, 2.0**-20), (torch.bfloat16, 2.0**-7)):
            own = [x.to(dtype) for x in (q, k, v)]
            wanted = formula(*(x.float().numpy() for x in own), np.tri(37, dtype=bool))[0]
            mine = heed.attention(*own, causal=True)
            self.assertIs(mine.dtype, dtype)
            self.near(mine.float().numpy(), wanted, unit)

    def test_gradients_are_refused(self):
        q, k, v = (torch.from_numpy(x) for x in self.tensors())
        q.requires_grad_()
        self.refused(heed.InvalidError, "requires a gradient", lambda: heed.attention(q, k, v))
        with torch.no_grad():
            heed.attention(q, k, v)  # which is known now, and refused again
        self.refused(heed.InvalidError, "requires a gradient", lambda: heed.attention(q, k, v))

    def test_calls_are_repeated(self):
        """The second call of a kind has no checks left: what differs must still be noticed."""
        for _ in range(3):
            q, k, v = (torch.from_numpy(x) for x in self.tensors(keys=37))
            out = torch.full((2, 37, 4, 80), 7.0)
            o, lse = formula(q.numpy(), k.numpy(), v.numpy(), np.tri(37, dtype=bool))
            mine, own = heed.attention(q, k, v, causal=True, return_lse=True)
            self.near(mine.numpy(), o)
            self.near(own.numpy(), lse)
            self.near(heed.attention(q, k, v, causal=True, out=out[..., :40]).numpy(), o)
            self.assertTrue((out[..., 40:] == 7).all())
            longer = torch.from_numpy(np.repeat(q.numpy(), 2, 3))[..., ::2]
            self.refused(heed.InvalidError, "q", lambda: heed.attention(longer, k, v, causal=True))
            mixed = (q, k.numpy(), v)
            self.near(heed.attention(*mixed, causal=True).numpy(), o)
            self.near(heed.attention(q, k, v, window=[36, 0]).numpy(), o)
            self.refused(heed.ArgumentTypeError, "v", lambda: heed.attention(q, k, v.half()))

    def test_lazy_negation_is_refused(self):
        q, k, v = (torch.from_numpy(x) for x in self.tensors(keys=37))
        heed.attention(q, k, v)
        negated = torch.complex(q, q).conj().imag[..., :]
        self.assertTrue(negated.is_neg())
        for x in ((negated, k, v), (q, k, torch.complex(v, v).conj().imag)):
            with self.assertRaises(heed.HeedError):
                heed.attention(*x)
        o = formula(-q.numpy(), k.numpy(), v.numpy())[0]
        self.near(heed.attention(negated.resolve_neg(), k, v).numpy(), o)


class Surroundings(unittest.TestCase):
    def test_wisdom(self):
        context = heed.Context("cpu", threads=heed.Context("cpu").threads)
        heed.Plan("b1 h1 s16 d16 f32", context, effort="measure")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "own.wisdom"
            context.save_wisdom(path)
            heed.wisdom.forget(device="cpu")
            self.assertEqual(heed.wisdom.load(path, device="cpu"), (1, 0))
            self.assertEqual(heed.wisdom.export(device="cpu"), context.export_wisdom())
            heed.wisdom.save(path, device="cpu")
            self.assertEqual(path.read_text(), context.export_wisdom())
        heed.wisdom.forget(device="cpu")
        self.assertNotIn("b1 h1 s16", heed.wisdom.export(device="cpu"))
        self.assertEqual(heed.wisdom.add(context.export_wisdom(), device="cpu"), (1, 0))
        with self.assertRaises(heed.CorruptError):
            heed.wisdom.add("no wisdom")
        heed.wisdom.forget(device="cpu")

    def test_doctor(self):
        findings = {finding.part: finding for finding in heed.doctor()}
        self.assertEqual(findings["libheed"].text.split(",")[0], heed.__version__)
        self.assertTrue(findings["cpu"].found and findings["numpy"].found)
        self.assertIn(np.__version__, str(heed.doctor()))
        before = os.environ.get("HEED_CUBINS")
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.environ["HEED_CUBINS"] = folder
                self.assertFalse([x for x in heed.doctor() if x.part == "kernels"][0].found)
                (pathlib.Path(folder) / "compiler").write_text("NVRTC 12.9\n")
                (pathlib.Path(folder) / f"{'0' * 64}.cubin").write_text("")
                (kernels,) = [x for x in heed.doctor() if x.part == "kernels"]
                self.assertEqual(kernels.text, f"1 by NVRTC 12.9, in {folder}")
            finally:
                os.environ.pop("HEED_CUBINS")
                if before is not None:
                    os.environ["HEED_CUBINS"] = before


if __name__ == "__main__":
    unittest.main()
