#!/usr/bin/env python3
"""heed.attention() with caches: lengths, pages, values in keys, and appended keys.

    test_caches.py

case.py says where the package and the library come from. Exits with 77 without numpy.
"""

import unittest

from case import Case, heed, np


class Caches(Case):
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
        with self.assertRaisesRegex(heed.ArgumentTypeError, "table: dtype is float32; convert it to int32"):
            heed.attention(q, *pools, table=table.astype(np.float32))

    def test_values_in_keys(self):
        """v=None: V is the first dim_v elements of the vectors of K."""
        q = self.random.standard_normal((2, 3, 8, 72)).astype(np.float32)
        k = self.random.standard_normal((2, 40, 2, 96)).astype(np.float32)[..., :72]  # with padding
        for words in ({}, {"causal": "bottom-right", "softcap": 5.0}, {"return_lse": True}):
            own = heed.attention(q, k, k[..., :64], **words)
            shared = heed.attention(q, k, None, dim_v=64, **words)
            for one, other in zip(own, shared) if words.get("return_lse") else ((own, shared),):
                np.testing.assert_array_equal(one, other)
        plan = heed.Plan("b2 h8/2 s3/40 d72/64 f32 shared k=7680:192:96")
        np.testing.assert_array_equal(plan.execute(q, k, None), heed.attention(q, k, k[..., :64]))
        for words, message in (
            ({}, "v: None; pass it, or dim_v"),
            ({"dim_v": 73}, "dim_v: 73; it must be 1 to"),
            ({"dim_v": 0}, "dim_v: 0"),
        ):
            with self.assertRaisesRegex(heed.InvalidError, message):
                heed.attention(q, k, None, **words)
        with self.assertRaisesRegex(heed.InvalidError, "dim_v: v has its own"):
            heed.attention(q, k, k, dim_v=64)

    def turned(self, x, at, cos, sin, interleaved=False):
        """Rotates vectors (sequence, heads, dim) to the positions @at, pair by pair."""
        y, half = x.astype(np.float64), cos.shape[1]
        for c in range(half):
            i, j = (2 * c, 2 * c + 1) if interleaved else (c, c + half)
            one, two = x[..., i].astype(np.float64), x[..., j].astype(np.float64)
            y[..., i] = one * cos[at, c][:, None] - two * sin[at, c][:, None]
            y[..., j] = one * sin[at, c][:, None] + two * cos[at, c][:, None]
        return y.astype(x.dtype)

    def test_new_keys(self):
        """k_new and v_new are written to the cache, rotated, and q is rotated to its positions."""
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

    def test_packed_new_keys(self):
        """One new key per query, packed as queries are; q and new keys are rotated alike."""
        random = self.random.standard_normal
        lengths, cu = np.array([4, 20, 0, 11], np.int32), np.array([0, 3, 8, 8, 9], np.int32)
        angle = random((20, 8)).astype(np.float32)
        cos, sin = np.cos(angle), np.sin(angle)
        q, k, v = (random((*n, 16)).astype(np.float32) for n in ((10, 4), (4, 20, 2), (4, 20, 2)))
        new = [random((10, 2, 16)).astype(np.float32) for _ in range(2)]
        wanted, turned = [k.copy(), v.copy()], q.copy()
        for b, n in enumerate(lengths):
            rows = slice(cu[b], cu[b + 1])
            at = np.arange(n - (cu[b + 1] - cu[b]), n)
            wanted[0][b, at], wanted[1][b, at] = self.turned(new[0][rows], at, cos, sin), new[1][rows]
            turned[rows] = self.turned(q[rows], at, cos, sin)
            k[b, at] = v[b, at] = np.nan
        words = {"lengths": lengths, "cu_seqlens_q": cu, "max_seqlen_q": 5, "causal": "bottom-right"}
        o = heed.attention(turned, *wanted, **words)
        turns = {"rotary_cos": cos, "rotary_sin": sin}
        operands = {"lengths": lengths, "cu_seqlens_q": cu, "k_new": new[0][None], "v_new": new[1][None], **turns}
        plan = heed.Plan("b4 h4/2 s5/20 d16 f32 varlen=10/0 causal=br lengths append=5:packed rotary=16")
        for run in (lambda k, v: heed.attention(q, k, v, k_new=new[0], v_new=new[1], **turns, **words),
                    lambda k, v: plan.execute(q[None], k, v, operands=operands)[0]):
            own = k.copy(), v.copy()
            self.near(run(*own)[:9], o[:9])
            np.testing.assert_array_equal(own[0], wanted[0])
            np.testing.assert_array_equal(own[1], wanted[1])
        with self.assertRaisesRegex(heed.InvalidError, "k_new: sequence is 9, that of q 10"):
            heed.attention(q, k, v, k_new=new[0][:9], v_new=new[1][:9], **words)
        with self.assertRaisesRegex(heed.InvalidError, r"lengths\[0\] is 2; it must be 3 to 20: it includes new keys"):
            heed.attention(q, k, v, k_new=new[0], v_new=new[1], **{**words, "lengths": np.array([2, 20, 0, 11], np.int32)})

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
             "rotary_cos: shape is .9, 5., which turns 10 columns; .* at most 8"),
            (k, {"k_new": np.zeros((2, 10, 2, 8), np.float32), "v_new": np.zeros((2, 10, 2, 8), np.float32)},
             "k_new: 10 new keys; pass at most 9"),
            (k, {"rotary_cos": turn.astype(np.float16), "rotary_sin": turn},
             "rotary_sin: dtype is f32, that of rotary_cos f16"),
            (sealed, {}, "k: the array is read-only"),
            (k, {"lengths": np.array([9, 0], np.int32)}, r"lengths\[1\] is 0; it must be 1 to 9"),
        ):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), message):
                heed.attention(q, cache, v, **{**good, **words})


if __name__ == "__main__":
    unittest.main()
