#!/usr/bin/env python3
"""heed.attention() compared with float64 formulas: NumPy arrays, and torch tensors if it is installed.

    test_attention.py

case.py says where the package and the library come from. Exits with 77 without numpy.
"""

import os
import signal
import threading
import unittest

from case import Case, formula, heed, np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch
except ImportError:
    torch = None

ROUNDING = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}
AXES = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3), "sbhd": (1, 0, 2, 3)}


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
                for _ in range(2):  # the second call is cached
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
            ({"window": (None, None)}, True),
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
        repeated = np.broadcast_to(row, (37, 53))  # a stride of 0, unlike a dense array
        self.near(heed.attention(q, k, v, mask=repeated), formula(q, k, v, repeated)[0])
        one = heed.attention(q[:1], k[:1], v[:1], mask=np.broadcast_to(row, (1, 1, 37, 53)))
        self.near(one, formula(q[:1], k[:1], v[:1], row)[0])
        wide = self.random.standard_normal((2, 4, 37, 60)).astype(np.float32)[..., :53]
        self.near(heed.attention(q, k, v, bias=wide), formula(q, k, v, change=lambda t: t + wide)[0])

    def test_strides_of_zero(self):
        """A dimension of size 1 may have any stride. Strides that are all 0 must not be read as dense."""
        for shape in ((1, 5, 4, 32), (3, 5, 1, 32), (1, 5, 1, 32), (3, 1, 1, 32), (3, 5, 4, 32)):
            x = self.random.standard_normal(shape).astype(np.float32)
            for strides in ((0, 0, 0, 4), tuple(-64 if size == 1 else 0 for size in shape[:3]) + (4,)):
                one = np.lib.stride_tricks.as_strided(x, shape, strides)
                for at in range(3):
                    arrays = [one if i == at else x for i in range(3)]
                    with self.subTest(shape=shape, strides=strides, at=at):
                        if 1 in shape:
                            self.near(heed.attention(*arrays), formula(*arrays)[0])
                        else:
                            self.refused(heed.InvalidError, f"{'qkv'[at]}: strides are (0, 0, 0, 1)",
                                         lambda: heed.attention(*arrays))
                with self.subTest(shape=shape, strides=strides, at="out"):
                    self.refused(heed.InvalidError, "strides", lambda: heed.attention(x + 0, x + 0, x + 0, out=one))

    def test_sinks_and_starts(self):
        q, k, v = self.tensors()
        sinks = self.random.standard_normal(4).astype(np.float32)
        each = self.random.standard_normal((2, 9)).astype(np.float32)[:, :4]  # per batch element, rows padded
        self.near(heed.attention(q, k, v, sinks=each), formula(q, k, v, sinks=each)[0])
        starts = np.minimum(np.arange(37) // 9 * 9, 52).astype(np.int32)
        seen = np.arange(53) >= starts[:, None]
        mine, own = heed.attention(q, k, v, sinks=sinks, starts=starts, return_lse=True)
        o, lse = formula(q, k, v, seen, sinks=np.broadcast_to(sinks, (2, 4)))
        self.near(mine, o)
        self.near(own, lse)
        both = heed.attention(q, k, v, starts=np.tile(starts, (2, 1)))
        self.near(both, formula(q, k, v, seen)[0])

    def test_packed_sizes_are_the_longest(self):
        """max_seqlen_q and max_seqlen_k are the sizes of operands and the values in expressions, however few tokens
        there are."""
        q, k, v = (x[0] for x in self.tensors(queries=7, keys=9))
        cu_q, cu_k = np.int32([0, 3, 7]), np.int32([0, 4, 9])
        bias = self.random.standard_normal((2, 1, 20, 30)).astype(np.float32)
        words = {"cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, "max_seqlen_q": 20, "max_seqlen_k": 30}
        mine = heed.attention(q, k, v, bias=bias, starts=np.zeros(20, np.int32), **words)
        sized = heed.attention(q, k, v, score="s*float(keys-queries)*0.1", **words)
        for b in range(2):
            rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
            own = (q[None, rows], k[None, keys], v[None, keys])
            seen = bias[b, :, : own[0].shape[1], : own[1].shape[1]]
            self.near(mine[None, rows], formula(*own, change=lambda t: t + seen)[0])
            self.near(sized[None, rows], formula(*own)[0])

    def test_lse_of_more_rows_than_the_sequences_may_have(self):
        """q has rows that no sequence can have: the LSE still has a column for each, in calls that C repeats too."""
        q, k, v = (x[0] for x in self.tensors(queries=9, keys=9))
        cu = np.int32([0, 3, 5])
        words = {"cu_seqlens_q": cu, "cu_seqlens_k": cu, "max_seqlen_q": 3, "max_seqlen_k": 3}
        for _ in range(3):
            mine, lse = heed.attention(q, k, v, return_lse=True, **words)
            self.assertEqual((mine.shape, lse.shape), ((9, 4, 40), (4, 9)))
            for rows in (slice(0, 3), slice(3, 5)):
                o, own = formula(q[None, rows], k[None, rows], v[None, rows])
                self.near(mine[None, rows], o)
                self.near(lse[None, :, rows], own)

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

    def test_products(self):
        """CPU kernels do not use the permission."""
        q, k, v = (self.random.standard_normal((2, 9, 2, 8)).astype(np.float32) for _ in range(3))
        full = heed.attention(q, k, v, causal=True)
        for products in ("full", "tf32", "bf16x3"):
            np.testing.assert_array_equal(heed.attention(q, k, v, causal=True, products=products), full)
        self.assertEqual(str(heed.Problem("products=tf32 b2 h2 s9 d8 f32")), "b2 h2 s9 d8 f32 products=tf32")
        half = [x.astype(np.float16) for x in (q, k, v)]
        with self.assertRaisesRegex(heed.InvalidError, r"products is 1 \(tf32\) and type is f16"):
            heed.attention(*half, products="tf32")
        with self.assertRaisesRegex(heed.InvalidError, "products: 'tf16' is not one of full, tf32, bf16x3"):
            heed.attention(q, k, v, products="tf16")

    def test_batch_invariant(self):
        q, k, v = self.tensors(batch=24, queries=1, keys=700)
        together = heed.attention(q, k, v, batch_invariant=True)
        for b in (0, 7, 23):
            alone = heed.attention(q[b : b + 1], k[b : b + 1], v[b : b + 1], batch_invariant=True)
            self.assertEqual(alone.tobytes(), together[b : b + 1].tobytes())
        spec = "b24 h4/2 s1/700 d32/40 f32 invariant"
        self.assertEqual(heed.Plan(spec).execute(q, k, v).tobytes(), together.tobytes())

    def test_prefix(self):
        q, k, v = self.tensors(batch=3, queries=2, keys=40)
        words = {"causal": "bottom-right", "return_lse": True}
        lengths = np.array([40, 30, 26], np.int32)
        own = [np.concatenate([np.repeat(x[:1, :24], 3, 0), x[:, 24:]], 1) for x in (k, v)]
        o, lse = heed.attention(q, *own, lengths=lengths, **words)
        for x in (k, v):
            x[1:, :24] = np.nan
        pools = [x.reshape(15, 8, *x.shape[2:]) for x in (k, v)]
        table = np.arange(15, dtype=np.int32).reshape(3, 5)
        table[1:, :3] = -1
        for tensors, more in (((k, v), {}), (pools, {"table": table})):
            mine, own_lse = heed.attention(q, *tensors, lengths=lengths, prefix=24, **more, **words)
            self.near(mine, o)
            self.near(own_lse, lse)
        with self.assertRaisesRegex(heed.InvalidError, "prefix is 39; it must be 0 to 38"):
            heed.attention(q, k, v, prefix=39, **words)
        with self.assertRaisesRegex(heed.InvalidError, "prefix is 4; it must be 0 with a window"):
            heed.attention(q, k, v, prefix=4, window=(3, None), align="bottom-right")
        with self.assertRaisesRegex(heed.ArgumentTypeError, "prefix"):
            heed.attention(q, k, v, prefix=4.5)

    def test_flags_of_other_types(self):
        """A cached call must have words of the same types: 1, 1.0 and True compare equal."""
        q, k, v = self.tensors(queries=53)
        q16 = q.astype(np.float16)
        wrong = heed.ArgumentTypeError
        for good, words, text in (
            ({"causal": True}, {"causal": 1}, "causal: int is not a bool"),
            ({"causal": np.True_}, {"causal": 1.0}, "causal: float is not a bool"),
            ({"return_lse": True}, {"return_lse": 1}, "return_lse: int is not a bool"),
            ({"return_lse": False}, {"return_lse": 0}, "return_lse: int is not a bool"),
            ({"batch_invariant": True}, {"batch_invariant": 1}, "batch_invariant: int is not a bool"),
            ({"causal": True, "chunk": 4}, {"causal": True, "chunk": 4.0}, "chunk: float is not a whole number"),
            ({"causal": True, "window": (3, None)}, {"causal": True, "window": (3.0, None)}, r"window[0]: float"),
            ({"causal": True, "window": [3, None]}, {"causal": True, "window": (3.0, None)}, r"window[0]: float"),
        ):
            for _ in range(2):
                heed.attention(q, k, v, **good)
                for x in (q, q16):  # as on a first call
                    own = (x, k, v) if x is q else (x, k.astype(np.float16), v.astype(np.float16))
                    with self.subTest(words=words):
                        self.refused(wrong, text, lambda: heed.attention(*own, **words))

    def test_words_that_change(self):
        """A word whose value may change is not cached by its object."""
        class Number:
            value = 0.5

            def __float__(self):
                return self.value

        q, k, v = self.tensors()
        scale = Number()
        for value in (0.5, 0.25, 0.5):
            scale.value = value
            self.near(heed.attention(q, k, v, scale=scale), formula(q, k, v, scale=value)[0])

    def test_dlpack(self):
        class Foreign:
            """An array with only DLPack's two methods."""

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
        self.refused(heed.ArgumentTypeError, "pass out=, an array",
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

    def test_words_of_other_types(self):
        """Numbers and flags of NumPy, hashable or not, are equivalent to Python's."""
        q, k, v = self.tensors(queries=53)
        whole, half = np.array(2), np.array(0.5)
        cases = (
            ({"scale": half}, {"scale": 0.5}), ({"softcap": half}, {"softcap": 0.5}),
            ({"chunk": whole}, {"chunk": 2}), ({"prefix": np.array(0)}, {}),
            ({"window": (whole, None)}, {"window": (2, None)}), ({"window": [whole, 1]}, {"window": (2, 1)}),
            ({"scale": np.float32(0.5)}, {"scale": 0.5}), ({"causal": np.True_}, {"causal": True}),
            ({"batch_invariant": np.False_}, {}),
        )
        for words, same in cases:
            with self.subTest(words=words):
                for _ in range(2):
                    mine = heed.attention(q, k, v, **words)
                    self.assertEqual(mine.tobytes(), heed.attention(q, k, v, **same).tobytes())
        mine, lse = heed.attention(q, k, v, return_lse=np.True_)
        self.assertEqual(lse.shape, (2, 4, 53))

    def test_words_of_known_calls(self):
        """A cached call does not hide an invalid word."""
        q, k, v = self.tensors()
        for _ in range(2):
            heed.attention(q, k, v)
        self.refused(heed.InvalidError, "dim_v: v has its own", lambda: heed.attention(q, k, v, dim_v=3))

    def test_child_process_of_locked_parent(self):
        """Locks held by another thread during a fork affect only the parent."""
        from heed import _attention, _context, _report

        q, k, v = self.tensors(queries=31)
        with _attention._plans_lock, _context._contexts_lock, _report._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if heed.attention(q, k, v).shape == (2, 31, 4, 40) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

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
            (wrong, "q: list is not an array", lambda: heed.attention([1], k, v)),
            (wrong, "q: dtype float64 is not float32, float16 or bfloat16; convert it",
             lambda: heed.attention(q.astype(float), k, v)),
            (wrong, "q: dtype object", lambda: heed.attention(q.astype(object), k, v)),
            (wrong, "dtype >f4", lambda: heed.attention(q.astype(">f4"), k, v)),
            (wrong, "k: dtype is f16, that of q f32",
             lambda: heed.attention(q, k.astype(np.float16), v)),
            (wrong, "q: dtype i32", lambda: heed.attention(*(x.astype(np.int32) for x in (q, k, v)))),
            (invalid, "q: shape is (37, 4, 32)", lambda: heed.attention(q[0], k, v)),
            (invalid, "k: head dim is 31, that of q 32", lambda: heed.attention(q, k[..., 1:], v)),
            (invalid, "v: sequence is 52, that of k 53", lambda: heed.attention(q, k, v[:, 1:])),
            (invalid, "where no size may be 0", lambda: heed.attention(q[:, :0], k, v)),
            (invalid, "and they must be contiguous",
             lambda: heed.attention(q[..., ::2], k[..., ::2], v)),
            (invalid, "not a multiple of the element size, 4",
             lambda: heed.attention(self.odd(q), k, v)),
            (invalid, "k: heads is 2", lambda: heed.attention(q[:, :, :3], k, v)),
            (invalid, "q: strides are (4736, -128, 32, 1) elements, where none may be negative",
             lambda: heed.attention(q[:, ::-1], k, v)),
            (invalid, "mask: a stride is negative; pass a contiguous copy",
             lambda: heed.attention(q, k, v, mask=np.ones((37, 53), bool)[::-1])),
            (invalid, "causal: True is ambiguous", lambda: heed.attention(q, k, v, causal=True)),
            (invalid, "causal: 'left'", lambda: heed.attention(q, k, v, causal="left")),
            (invalid, "align: a window", lambda: heed.attention(q, k, v, window=(1, 1))),
            (invalid, "window[0]: -1 is not in 0 to 2147483648",
             lambda: heed.attention(q, k, v, window=(-1, 1), align="top-left")),
            (invalid, "window[1]: 2147483649 is not in 0 to 2147483648",
             lambda: heed.attention(q, k, v, window=(1, (1 << 31) + 1), align="top-left")),
            (invalid, "chunk: 2147483649 is not in 0 to 2147483648",
             lambda: heed.attention(q, k, v, chunk=(1 << 31) + 1, align="top-left")),
            (invalid, "layout: 'hbsd'", lambda: heed.attention(q, k, v, layout="hbsd")),
            (invalid, "softcap", lambda: heed.attention(q, k, v, softcap=-1.0)),
            (invalid, "softcap", lambda: heed.attention(q, k, v, softcap=float("nan"))),
            (invalid, "scale: 0", lambda: heed.attention(q, k, v, scale=0)),
            (invalid, "scale: 1e-50", lambda: heed.attention(q, k, v, scale=1e-50)),
            (invalid, "does not broadcast", lambda: heed.attention(q, k, v, bias=q)),
            (invalid, "mask", lambda: heed.attention(q, k, v, mask=np.ones((37, 1), bool))),
            (invalid, "sinks", lambda: heed.attention(q, k, v, sinks=np.zeros(3, np.float32))),
            (invalid, "score", lambda: heed.attention(q, k, v, score="s+nothing[head]")),
            (invalid, "visible", lambda: heed.attention(q, k, v, visible="q<" * 150)),
            (invalid, "out: sequence is 36", lambda: heed.attention(q, k, v, out=np.zeros((2, 36, 4, 40), np.float32))),
            (invalid, "read-only", lambda: heed.attention(q, k, v, out=self.frozen())),
            (invalid, "out: it begins where q does; pass", lambda: heed.attention(q, k, k, out=q)),
            (invalid, "out: it begins where k does; pass", lambda: heed.attention(q + 0, q, q, out=q)),
            (wrong, "batch_invariant: str", lambda: heed.attention(q, k, v, batch_invariant="no")),
            (wrong, "mask: dtype is int64; convert it to bool",
             lambda: heed.attention(q, k, v, mask=np.ones((37, 53), np.int64))),
            (wrong, "lengths: dtype is int64; convert it to int32",
             lambda: heed.attention(q, k, v, lengths=np.array([5, 5]))),
            (wrong, "lengths: dtype float64 is not int32; convert it",
             lambda: heed.attention(q, k, v, lengths=np.array([5.0, 5.0]))),
            (wrong, "arrays['a']: dtype float64 is not float32, int32 or bool",
             lambda: heed.attention(q, k, v, score="s+a[head]", arrays={"a": np.zeros(4)})),
            (wrong, "cu_seqlens_q: dtype is float32; convert it to int32 or int64",
             lambda: heed.attention(q[0], k, v, cu_seqlens_q=np.float32([0, 3, 37]))),
            (wrong, "arrays['a']: dtype is float16; convert it to float32 or int32 or bool",
             lambda: heed.attention(q, k, v, score="s+a[head]", arrays={"a": np.zeros(4, np.float16)})),
            (wrong, "products: bool", lambda: heed.attention(q, k, v, products=True)),
            (wrong, "batch_invariant: list", lambda: heed.attention(q, k, v, batch_invariant=[])),
            (wrong, "return_lse: str", lambda: heed.attention(q, k, v, return_lse="no")),
            (wrong, "causal: int is not a bool; pass True, False, 'top-left'", lambda: heed.attention(q, k, v, causal=2)),
            (wrong, "scale: ndarray", lambda: heed.attention(q, k, v, scale=np.zeros(3))),
            (wrong, "chunk: ndarray", lambda: heed.attention(q, k, v, chunk=np.array(2.5))),
            (wrong, "window: '[1 2]' is not a pair", lambda: heed.attention(q, k, v, window=np.array([1, 2]))),
            (wrong, "dim_v: str", lambda: heed.attention(q, k, None, dim_v="3")),
            (wrong, "max_seqlen_q: float", lambda: heed.attention(q, k, v, max_seqlen_q=5.0)),
            (invalid, "rotary_interleaved: True, but there is no rotary_cos",
             lambda: heed.attention(q, k, v, rotary_interleaved=True)),
            (invalid, "arrays['t']: neither score nor visible has t[...]",
             lambda: heed.attention(q, k, v, score="s+tt[head]", arrays={"t": np.zeros(4, np.float32)})),
            (wrong, "k: a masked array", lambda: heed.attention(q, np.ma.array(k, mask=k > 0), v)),
            (wrong, "out: a masked array", lambda: heed.attention(q, k, v, out=np.ma.array(formula(q, k, v)[0]))),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text):
                self.refused(kind, text, call)

    def test_dlpack(self):
        """Objects that are not capsules, used ones, other versions, and methods that raise."""
        q, k, v = self.tensors()
        used, wrong = object(), heed.ArgumentTypeError

        class Odd:
            def __init__(self, capsule, device=(1, 0)):
                self.capsule, self.device = capsule, device

            def __dlpack__(self, **words):
                if isinstance(self.capsule, Exception):
                    raise self.capsule
                return self.capsule

            def __dlpack_device__(self):
                return self.device

        versioned = q.__dlpack__(max_version=(1, 0)) if np.__version__ >= "2.1" else used
        for text, x in (
            ("__dlpack__ of Odd returned 5", Odd(5)), ("__dlpack__ of Odd failed: full", Odd(BufferError("full"))),
            ("__dlpack__ of Odd returned <", Odd(used)), ("__dlpack__ of Odd returned <", Odd(versioned)),
            ("__dlpack_device__ of Odd failed", Odd(q.__dlpack__(), 5)), ("device type 7", Odd(q.__dlpack__(), (7, 0))),
        ):
            with self.subTest(text=text):
                self.refused(wrong, f"k: {text}" if text[0] == "_" else text, lambda: heed.attention(q, x, v))

    def odd(self, q):
        raw = np.zeros(q.nbytes * 2, np.uint8)
        return np.ndarray(q.shape, np.float32, raw, strides=(20001, 516, 128, 4))

    def frozen(self):
        out = np.zeros((2, 37, 4, 40), np.float32)
        out.flags.writeable = False
        return out


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
            heed.attention(q, k, v)  # which is cached now, and refused again
        self.refused(heed.InvalidError, "requires a gradient", lambda: heed.attention(q, k, v))

    def test_calls_are_repeated(self):
        """The second call of a kind has no checks left: differences must still be detected."""
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
            self.near(heed.attention(q, k, v, window=[1 << 31, 0], chunk=1 << 31).numpy(), o)
            self.refused(heed.ArgumentTypeError, "v", lambda: heed.attention(q, k, v.half()))

    def test_tangents_are_refused(self):
        from torch.autograd import forward_ad

        q, k, v = (torch.from_numpy(x) for x in self.tensors())
        plan, out = heed.Plan("b2 h4/2 s37/53 d32/40 f32"), torch.empty(2, 37, 4, 40)
        calls = (lambda x: heed.attention(x, k, v), lambda x: heed.attention(q, k, x, out=out),
                 lambda x: plan.execute(x, k, v), lambda x: plan.execute(q, k, x, out=out))
        for call, x in zip(calls, (q, v, q, v)):
            for _ in range(3):
                call(x)  # which is cached now
                with forward_ad.dual_level():
                    dual = forward_ad.make_dual(x, x)
                    self.refused(heed.UnsupportedError, "has a tangent", lambda: call(dual))
                    call(x)

    def test_tensors_without_memory(self):
        from torch._subclasses import FakeTensorMode

        q, k, v = (torch.from_numpy(x) for x in self.tensors())
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32")
        for call in (lambda x: heed.attention(x, k, v), lambda x: plan.execute(x, k, v)):
            for _ in range(2):
                self.refused(heed.ArgumentTypeError, "q: the Tensor has no memory",
                             lambda: torch.vmap(call)(torch.stack([q, q])))
                self.refused(heed.ArgumentTypeError, "q: the Tensor has no memory",
                             lambda: torch.func.functionalize(call)(q))
                with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                    self.refused(heed.ArgumentTypeError, "q: the FakeTensor has no memory",
                                 lambda: call(mode.from_tensor(q)))
                call(q)
        nested = torch.nested.nested_tensor([q[0], q[1]])
        self.refused(heed.ArgumentTypeError, "q: a nested tensor", lambda: heed.attention(nested, k, v))

    def test_versions(self):
        """Autograd is informed of arrays that were written to."""
        q, k, v = (torch.from_numpy(x) for x in self.tensors())
        out, wanting = torch.zeros(2, 37, 4, 40), torch.ones(2, 37, 4, 40).requires_grad_()
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32")
        for _ in range(3):
            for call in (heed.attention, plan.execute):
                product = (wanting * out).sum()
                before = out._version
                call(q, k, v, out=out)
                self.assertGreater(out._version, before)
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                    product.backward()
        new, lengths = torch.ones(2, 1, 2, 32), torch.full((2,), 7, dtype=torch.int32)
        for _ in range(3):
            before = k._version, q._version
            heed.attention(q, k, k, k_new=new, v_new=new, lengths=lengths)
            self.assertGreater(k._version, before[0])
            self.assertEqual(q._version, before[1])

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


if __name__ == "__main__":
    unittest.main()
