#!/usr/bin/env python3
"""FlashAttention's cache functions compared with the formula, and those whose keys are also values.

    test_flash_caches.py

flash_case.py says where the package and the library come from. Exits with 77 without torch.
"""

import math
import unittest
from unittest import mock

from flash_case import DEVICE, Case, flash_attn, flash_attn_3, formula, heed, torch
from heed import _again, _flash_cache


class Caches(Case):
    def setUp(self):
        super().setUp()
        self.q, self.new_k, self.new_v = self.draw(2, 3, 4, 32), self.draw(2, 3, 2, 32), self.draw(2, 3, 2, 32)
        self.k, self.v = self.draw(3, 40, 2, 32), self.draw(3, 40, 2, 32)
        self.lengths = torch.tensor([7, 20], dtype=torch.int32, device=DEVICE)

    def test_lengths(self):
        q, k, v = self.q, self.k, self.v
        for lengths in (self.lengths, 9):
            for words in ({}, {"causal": True}, {"window_size": (4, 0)}, {"causal": True, "softcap": 2.0}):
                for module, empty in ((flash_attn, math.inf), (flash_attn_3, -math.inf)):
                    o, lse = module.flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, **words,
                                                            return_softmax_lse=True)
                    for b in range(2):
                        n = lengths if isinstance(lengths, int) else lengths[b].item()
                        own = {("window" if x == "window_size" else x): y for x, y in words.items()}
                        wanted = formula(q[b:b + 1], k[b:b + 1, :n], v[b:b + 1, :n], **own)
                        self.near(o[b:b + 1], wanted[0])
                        self.near(lse[b:b + 1], wanted[1].masked_fill(torch.isneginf(wanted[1]), empty), 1e-4)
        self.near(flash_attn.flash_attn_with_kvcache(q, k, v), formula(q, k[:2], v[:2])[0])

        class Seven:
            """An integer type, like NumPy's."""

            def __index__(self):
                return 7
        self.near(flash_attn.flash_attn_with_kvcache(q, k, v, cache_seqlens=Seven()),
                  formula(q, k[:2, :7], v[:2, :7])[0])

    def turned(self, x, at, interleaved):
        """The rotary embedding, element by element."""
        y, half = x.clone(), self.cos.shape[1]
        for c in range(half):
            i, j = (2 * c, 2 * c + 1) if interleaved else (c, c + half)
            cos, sin = self.cos[at, c].unsqueeze(-1), self.sin[at, c].unsqueeze(-1)
            y[..., i] = x[..., i] * cos - x[..., j] * sin
            y[..., j] = x[..., i] * sin + x[..., j] * cos
        return y

    def test_new_keys(self):
        angle = torch.rand(60, 8, device=DEVICE) * 6
        self.cos, self.sin = angle.cos(), angle.sin()
        for rotary in (None, True, False):
            for causal in (False, True):
                k, v, wanted_k, wanted_v = self.k.clone(), self.v.clone(), self.k.clone(), self.v.clone()
                words = {}
                if rotary is not None:
                    words = {"rotary_cos": self.cos, "rotary_sin": self.sin, "rotary_interleaved": rotary}
                o = flash_attn.flash_attn_with_kvcache(self.q, k, v, self.new_k, self.new_v, causal=causal,
                                                       cache_seqlens=self.lengths, **words)
                for b, n in enumerate(self.lengths.tolist()):
                    at = torch.arange(n, n + 3, device=DEVICE)
                    new, q = self.new_k[b], self.q[b]
                    if rotary is not None:
                        new = self.turned(new, at, rotary)
                        q = self.turned(q, at if causal else torch.full_like(at, n), rotary)
                    wanted_k[b, n:n + 3], wanted_v[b, n:n + 3] = new, self.new_v[b]
                    self.near(o[b:b + 1], formula(q[None], wanted_k[b:b + 1, :n + 3], wanted_v[b:b + 1, :n + 3],
                                                  causal=causal)[0])
                self.near(k, wanted_k)
                self.assertTrue(torch.equal(v, wanted_v))

    def test_repeated_calls(self):
        """C repeats a known call, and notices each difference. A length that is a number takes the long way."""
        if not _again.knows(torch.Tensor):
            self.skipTest("this torch has no __dlpack_c_exchange_api__")
        angle, slopes = torch.rand(40, 8, device=DEVICE) * 6, torch.rand(4, device=DEVICE)
        turn = {"rotary_cos": angle.cos(), "rotary_sin": angle.sin()}
        other = {"rotary_cos": angle.sin(), "rotary_sin": angle.cos()}
        q, new_k, new_v = self.q, self.new_k, self.new_v
        for words in ({}, {"causal": True}, {"causal": True, "softmax_scale": 0.5}, {"causal": True, "softcap": 2.0},
                      {"window_size": (5, 0)}, {"window_size": (6, 0)}, {"causal": True, **turn},
                      {"causal": True, **other}, {"causal": True, "rotary_interleaved": False, **turn},
                      {"alibi_slopes": slopes}, {"alibi_slopes": -slopes}):
            for added in ((), (new_k, new_v)) if "rotary_cos" not in words else ((new_k, new_v),):
                for n in (7, 8, 21):
                    k, v = self.k[:2].clone(), self.v[:2].clone()
                    own_k, own_v, lengths = k.clone(), v.clone(), torch.full((2,), n, dtype=torch.int32, device=DEVICE)
                    version = k._version
                    o = flash_attn.flash_attn_with_kvcache(q, k, v, *added, cache_seqlens=lengths, **words)
                    wanted = flash_attn.flash_attn_with_kvcache(q, own_k, own_v, *added, cache_seqlens=n, **words)
                    self.assertTrue(torch.equal(o, wanted) and torch.equal(k, own_k) and torch.equal(v, own_v), words)
                    self.assertEqual(k._version - version, len(added) // 2)
                    self.assertTrue((lengths == n).all())
        with mock.patch.object(_flash_cache, "tensor", side_effect=AssertionError("checked")):
            flash_attn.flash_attn_with_kvcache(q, k, v, new_k, new_v, cache_seqlens=lengths, causal=True)
            if DEVICE == "cpu":  # which is checked
                with self.assertRaisesRegex(AssertionError, "checked"):
                    flash_attn.flash_attn_with_kvcache(q, k, v, new_k, new_v, cache_seqlens=lengths + 19, causal=True)
        with self.assertRaisesRegex(heed.InvalidError, "gradient"):
            flash_attn.flash_attn_with_kvcache(q, k.clone().requires_grad_(), v, new_k, new_v, cache_seqlens=lengths,
                                               causal=True)
        for bad in ({"k_cache": [1]}, {"v_cache": None}, {"k": 3}, {"v": None}, {"cache_seqlens": lengths[:1]},
                    {"cache_seqlens": lengths[:0]}, {"cache_seqlens": None}):
            given = {"k_cache": k, "v_cache": v, "k": new_k, "v": new_v, "cache_seqlens": lengths, **bad}
            with self.assertRaises(heed.HeedError):
                flash_attn.flash_attn_with_kvcache(q, **given, causal=True)

    def test_who_stores(self):
        """heed appends if it can: torch's functions are not called."""
        angle = torch.rand(60, 8, device=DEVICE) * 6
        turn = {"rotary_cos": angle.cos(), "rotary_sin": angle.sin()}
        few = {"rotary_cos": angle.cos()[:30], "rotary_sin": angle.sin()[:30]}
        idx = torch.tensor([2, 0], dtype=torch.int32, device=DEVICE)
        q, new = self.q, (self.new_k, self.new_v)
        cases = (
            (q, {}, True),
            (q, {"causal": True, **turn}, True),
            (q, {"window_size": (9, 0), **turn}, True),
            (q[:, :1], {}, True),
            (q, {"cache_leftpad": torch.tensor([1, 2], dtype=torch.int32, device=DEVICE)}, True),
            (q, turn, False),
            (q[:, :1], {"causal": True, **turn}, False),
            (q, {"causal": True, **few}, False),
            (q, {"cache_batch_idx": idx}, False),
        )
        for own, words, native in cases:
            with mock.patch("heed._flash_cache._store", wraps=heed._flash_cache._store) as store:
                flash_attn.flash_attn_with_kvcache(own, self.k.clone(), self.v.clone(), *new,
                                                   cache_seqlens=self.lengths, **words)
            self.assertEqual(store.called, not native, words)

    @unittest.skipUnless(DEVICE == "cpu", "values on a GPU are not checked")
    def test_positions_have_a_rotation(self):
        k, v = self.k.clone(), self.v.clone()
        ends = self.lengths.max().item() + 3
        for rows in (ends - 1, 1):
            table = torch.ones(rows, 8)
            with self.assertRaisesRegex(heed.InvalidError, f"rotary_cos: {rows} rows, where position {ends - 1}"):
                flash_attn.flash_attn_with_kvcache(self.q, k, v, self.new_k, self.new_v, causal=True, rotary_cos=table,
                                                   rotary_sin=table, cache_seqlens=self.lengths)
        self.assertTrue(torch.equal(k, self.k) and torch.equal(v, self.v))

    @unittest.skipUnless(DEVICE == "cpu", "values on a GPU are not checked")
    def test_wrong_new_keys(self):
        """They are refused before a cache is written, whoever stores them."""
        idx, below = torch.tensor([2, 0], dtype=torch.int32), torch.tensor([7, -1], dtype=torch.int32)
        q, new, wanted = self.q, self.new_k, self.new_k.clone().requires_grad_()
        far = torch.tensor([7, (1 << 32) + 3])
        cases = (
            ({"k": new[:1], "v": new[:1]}, "k: batch is 1, that of q 2"),
            ({"k": new[:, :, :1], "v": new[:, :, :1]}, "k: shape is .2, 3, 1, 32.; .* k_cache, .2, 32."),
            ({"k": new[..., :1]}, "k: shape is .2, 3, 2, 1.; .* k_cache, .2, 32."),
            ({"v": new[..., :1]}, "v: shape is .2, 3, 2, 1.; .* v_cache, .2, 32."),
            ({"k": wanted}, "(k|k_cache): the tensor requires a gradient"),
            ({"cache_seqlens": below}, r"cache_seqlens\[1\] is -1; it must be 0 to 40"),
            ({"cache_seqlens": far}, r"cache_seqlens\[1\] is 4294967299; it must be 0 to 40"),
            ({"cache_batch_idx": far - 7}, r"cache_batch_idx: \[0, 4294967292\] must be 0 to 2"),
        )
        for words, message in cases:
            for more in ({}, {"cache_batch_idx": idx}):
                k, v = self.k.clone(), self.v.clone()
                own = {"k": new, "v": new, "cache_seqlens": self.lengths, **more, **words}
                with self.assertRaisesRegex(heed.InvalidError, f"^{message}"):
                    flash_attn.flash_attn_with_kvcache(q, k, v, **own)
                self.assertTrue(torch.equal(k, self.k) and torch.equal(v, self.v) and not k.requires_grad)

    @unittest.skipUnless(DEVICE == "cpu", "values on a GPU are not checked")
    def test_names_of_caches(self):
        """Messages have this function's names, also those of calls that are repeated in C."""
        q, k, v = self.q, self.k[:2], self.v[:2]
        flash_attn.flash_attn_with_kvcache(q, k, v, cache_seqlens=self.lengths)
        for own, words, message in (
                ((q, k, v), {"cache_seqlens": self.lengths + 33}, r"cache_seqlens\[1\] is 53; it must be 0 to 40"),
                ((q, k.half(), v), {}, "k_cache: dtype is f16, that of q f32"),
                ((q, k[..., :16], v), {}, "k_cache: head dim is 16, that of q 32"),
                ((q, k, v[:, :9]), {}, "v_cache: sequence is 9, that of k_cache 40")):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), f"^{message}"):
                flash_attn.flash_attn_with_kvcache(*own, **words)
        cu = torch.tensor([0, 3, 6], dtype=torch.int32)
        flat = [x.flatten(0, 1) for x in (q, k, v)]
        for used, message in (({"seqused_k": cu[1:] - 4}, r"seqused_k: \[-1, 2\] has a number below 0"),
                              ({"seqused_k": cu[1:]}, r"seqused_k\[1\] is 6; it must be 0 to 3"),
                              ({"seqused_q": cu[1:] - 4}, r"seqused_q: \[-1, 2\] has a number below 0"),
                              ({"seqused_q": (cu[1:] > 3)}, "seqused_q: pass a torch.Tensor of int32")):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), f"^{message}"):
                flash_attn_3.flash_attn_varlen_func(*flat, cu, cu, 3, 3, **used)
        for heads in (-4, 0, 8, 4.0, "x"):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), "^num_heads_q: "):
                flash_attn_3.flash_attn_qkvpacked_func(self.draw(1, 5, 8, 8), num_heads_q=heads)
        for table, message in (([[0]], "block_table: list is not"),
                               (torch.tensor([[0], [9]]).int(), r"block_table\[1\]")):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), f"^{message}"):
                flash_attn.flash_attn_varlen_func(q.flatten(0, 1), k, v, cu, cu, 3, 3, block_table=table)

    def test_one_step_after_another(self):
        """Cached calls write too, to other caches and at other lengths."""
        for _ in range(2):
            k, v = torch.zeros(2, 9, 2, 32, device=DEVICE), torch.zeros(2, 9, 2, 32, device=DEVICE)
            for n in range(9):
                new_k, new_v = self.draw(2, 1, 2, 32), self.draw(2, 1, 2, 32)
                lengths = torch.full((2,), n, dtype=torch.int32, device=DEVICE)
                o = flash_attn.flash_attn_with_kvcache(self.q[:, :1], k, v, new_k, new_v, cache_seqlens=lengths)
                self.assertTrue(torch.equal(k[:, n], new_k[:, 0]) and torch.equal(v[:, n], new_v[:, 0]))
                self.assertFalse(k[:, n + 1:].any())
                self.near(o, formula(self.q[:, :1], k[:, :n + 1], v[:, :n + 1])[0])

    def test_other_elements(self):
        idx = torch.tensor([2, 0], dtype=torch.int32, device=DEVICE)
        k, v = self.k.clone(), self.v.clone()
        o = flash_attn_3.flash_attn_with_kvcache(self.q, k, v, self.new_k, self.new_v, cache_seqlens=self.lengths,
                                                 cache_batch_idx=idx, causal=True)
        for b, (n, at) in enumerate(zip(self.lengths.tolist(), idx.tolist())):
            self.assertTrue(torch.equal(k[at, n:n + 3], self.new_k[b]))
            self.near(o[b:b + 1], formula(self.q[b:b + 1], k[at:at + 1, :n + 3], v[at:at + 1, :n + 3], causal=True)[0])
        self.assertTrue(torch.equal(k[1], self.k[1]))

    def test_leftpad_turns_nothing(self):
        """Positions of the rotary embedding are positions in the cache."""
        angle = torch.rand(60, 8, device=DEVICE) * 6
        pad = torch.tensor([2, 5], dtype=torch.int32, device=DEVICE)
        caches = []
        for leftpad in (None, pad):
            k, v = self.k.clone(), self.v.clone()
            flash_attn.flash_attn_with_kvcache(self.q, k, v, self.new_k, self.new_v, angle.cos(), angle.sin(),
                                               self.lengths, cache_leftpad=leftpad, causal=True)
            caches.append(k)
        self.assertTrue(torch.equal(*caches))

    def test_leftpad(self):
        pad = torch.tensor([2, 5], dtype=torch.int32, device=DEVICE)
        for words in ({"causal": True}, {}):
            o, lse = flash_attn.flash_attn_with_kvcache(self.q, self.k, self.v, cache_seqlens=self.lengths,
                                                        cache_leftpad=pad, **words, return_softmax_lse=True)
            for b, (n, first) in enumerate(zip(self.lengths.tolist(), pad.tolist())):
                wanted = formula(self.q[b:b + 1], self.k[b:b + 1, first:n], self.v[b:b + 1, first:n], **words)
                self.near(o[b:b + 1], wanted[0])
                self.near(lse[b:b + 1], wanted[1], 1e-4)


class PagedCache(Case):
    """Sequences of three lengths in a pool of pages in random order; unused pages are NaN."""

    def setUp(self):
        super().setUp()
        self.page, self.lengths = 8, [30, 0, 13]
        self.q = self.draw(3, 3, 4, 32)
        self.k, self.v = self.draw(3, 40, 2, 32), self.draw(3, 40, 2, 32)
        order = torch.randperm(20, device=DEVICE)[:15].view(3, 5)
        self.pool_k, self.pool_v = (torch.full((20, self.page, 2, 32), math.nan, device=DEVICE) for _ in range(2))
        for b in range(3):
            for n in range(5):
                part = slice(n * self.page, (n + 1) * self.page)
                self.pool_k[order[b, n]], self.pool_v[order[b, n]] = self.k[b, part], self.v[b, part]
        self.table = order.to(torch.int32)
        self.tensor = torch.tensor(self.lengths, dtype=torch.int32, device=DEVICE)

    def wanted(self, b, **words):
        n = self.lengths[b]
        return formula(self.q[b:b + 1], self.k[b:b + 1, :n], self.v[b:b + 1, :n], **words)

    def test_pages(self):
        slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], device=DEVICE)
        for words in ({}, {"causal": True}, {"window": (4, 0)}, {"causal": True, "softcap": 2.0}, {"slopes": slopes},
                      {"slopes": slopes, "causal": True}):
            own = {{"window": "window_size", "slopes": "alibi_slopes"}.get(x, x): y for x, y in words.items()}
            for kind in (torch.int32, torch.int64):
                o = flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                                       block_table=self.table.to(kind), **own)
                for b in (0, 2):
                    self.near(o[b:b + 1], self.wanted(b, **words)[0])
                self.assertFalse(o[1].any())
            if "slopes" not in words:
                o, lse = flash_attn_3.flash_attn_with_kvcache(
                    self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor, page_table=self.table, **own,
                    return_softmax_lse=True)
                for b in (0, 2):
                    wanted = self.wanted(b, **words)
                    self.near(o[b:b + 1], wanted[0])
                    self.near(lse[b:b + 1], wanted[1], 1e-4)

    def test_all_pages(self):
        with torch.device("meta"):  # only tensors without a device of their own are there
            o = flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, block_table=self.table)
        self.near(o, formula(self.q, self.k, self.v)[0])

    def test_new_keys(self):
        new_k, new_v = self.draw(3, 3, 2, 32), self.draw(3, 3, 2, 32)
        for b, n in enumerate(self.lengths):  # some of them across a page boundary
            self.k[b, n:n + 3], self.v[b, n:n + 3] = new_k[b], new_v[b]
        self.lengths = [n + 3 for n in self.lengths]
        o = flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, new_k, new_v, causal=True,
                                               cache_seqlens=self.tensor, block_table=self.table)
        for b in range(3):
            self.near(o[b:b + 1], self.wanted(b, causal=True)[0])
            for n in range(5):
                part = slice(n * self.page, (n + 1) * self.page)
                self.assertTrue(torch.equal(self.pool_k[self.table[b, n]], self.k[b, part]))
                self.assertTrue(torch.equal(self.pool_v[self.table[b, n]], self.v[b, part]))

    @unittest.skipUnless(DEVICE == "cpu", "numbers are read on a CPU alone")
    def test_numbers_that_are_no_pages(self):
        for number in (-1, 20, 1 << 30):
            table = self.table.clone()
            table[1, 0] = table[2, 2] = table[0, 4] = number  # after the keys
            flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                               block_table=table)
            table[2, 1] = number
            with self.assertRaisesRegex(heed.InvalidError, rf"block_table: entry \(2, 1\) is {number}; .* 0 to 19"):
                flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                                   block_table=table)
        wide = table.long()
        wide[2, 1] = (1 << 32) + 3  # its lower 32 bits are a page
        with self.assertRaisesRegex(heed.InvalidError, r"block_table: entry \(2, 1\) is .* 0 to 19"):
            flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                               block_table=wide)


class Latent(Case):
    """qv: the values are a part of the keys."""

    def setUp(self):
        super().setUp()
        self.q, self.qv = self.draw(2, 7, 4, 16), self.draw(2, 7, 4, 24)
        self.k, self.v = self.draw(2, 20, 1, 16), self.draw(2, 20, 1, 24)
        self.long = torch.cat((self.q, self.qv), -1)

    def wanted(self, b, n, i=0, m=7, **words):
        keys = torch.cat((self.k, self.v), -1)[b:b + 1, :n]
        return formula(self.long[b:b + 1, i:i + m], keys, self.v[b:b + 1, :n], **words)

    def test_dense(self):
        """Values after the keys, before them, and elsewhere: the same result, and no copy in the first two cases."""
        behind, ahead = torch.cat((self.k, self.v), -1), torch.cat((self.v, self.k), -1)
        places = ((self.k, self.v), (behind[..., :16], behind[..., 16:]), (ahead[..., 24:], ahead[..., :24]))
        for words in ({}, {"causal": True}, {"attention_chunk": 5}, {"softmax_scale": 0.3, "window_size": (4, 2)}):
            own = {{"window_size": "window", "attention_chunk": "chunk", "softmax_scale": "scale"}.get(x, x): y
                   for x, y in words.items()}
            for k, v in places:
                o, lse = flash_attn_3.flash_attn_func(self.q, k, v, qv=self.qv, **words, return_attn_probs=True)
                for b in range(2):
                    wanted = self.wanted(b, 20, **own)
                    self.near(o[b:b + 1], wanted[0])
                    self.near(lse[b:b + 1], wanted[1], 1e-4)
        for (k, v), whole in zip(places[1:], (behind, ahead)):
            given = heed._flash_qv.join(self.q, self.qv, k, v)
            self.assertEqual(given.k.data_ptr(), whole.data_ptr())
            self.assertTrue(torch.equal(given.k, whole))

    def test_misfits(self):
        behind = torch.cat((self.k, self.v), -1)
        few = behind[:, :19, :, 16:]  # its vectors follow those of k, as if it were longer
        for k, v, message in ((behind[..., :16], few, "v: shape is .2, 19, 1, 24., that of k .2, 20, 1, 16."),
                              (self.k, self.v.half(), "v: dtype is torch.float16"),
                              (self.k.half(), self.v, "k: dtype is torch.float16")):
            with self.assertRaisesRegex((heed.InvalidError, heed.ArgumentTypeError), message):
                flash_attn_3.flash_attn_func(self.q, k, v, qv=self.qv)

    def test_varlen(self):
        cu = torch.tensor([0, 7, 14], dtype=torch.int32, device=DEVICE)
        cu_k = torch.tensor([0, 20, 40], dtype=torch.int32, device=DEVICE)
        used_q, used_k = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ([3, 7], [20, 9]))
        flat = [x.flatten(0, 1) for x in (self.q, self.k, self.v, self.qv)]
        o = flash_attn_3.flash_attn_varlen_func(*flat[:3], cu, cu_k, 7, 20, causal=True, qv=flat[3])
        for b in range(2):
            self.near(o[None, 7 * b:7 * b + 7], self.wanted(b, 20, causal=True)[0])
        o = flash_attn_3.flash_attn_varlen_func(*flat[:3], cu, cu_k, 7, 20, used_q, used_k, causal=True, qv=flat[3])
        self.near(o[None, :3], self.wanted(0, 20, 0, 3, causal=True)[0])
        self.near(o[None, 7:], self.wanted(1, 9, causal=True)[0])

    def test_cache(self):
        lengths = torch.tensor([13, 4], dtype=torch.int32, device=DEVICE)
        cu = torch.tensor([0, 5, 7], dtype=torch.int32, device=DEVICE)
        o = flash_attn_3.flash_attn_with_kvcache(self.q, self.k, self.v, qv=self.qv, cache_seqlens=lengths, causal=True)
        for b, n in enumerate(lengths.tolist()):
            self.near(o[b:b + 1], self.wanted(b, n, causal=True)[0])
        q, qv = (torch.cat((x[0, :5], x[1, :2])) for x in (self.q, self.qv))
        o, lse = flash_attn_3.flash_attn_with_kvcache(q, self.k, self.v, qv=qv, cache_seqlens=lengths, causal=True,
                                                      cu_seqlens_q=cu, max_seqlen_q=5, return_softmax_lse=True)
        for b, (i, j) in enumerate(((0, 5), (5, 7))):
            wanted = self.wanted(b, lengths[b].item(), 0, j - i, causal=True)
            self.near(o[None, i:j], wanted[0])
            self.near(lse[None, :, i:j], wanted[1], 1e-4)


class PackedCache(Case):
    """Packed queries and new keys with a cache whose rows are in a different order."""

    def test_all(self):
        cu_q, cu_new = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ([0, 3, 3, 4], [0, 2, 2, 5]))
        lengths = torch.tensor([6, 11, 13], dtype=torch.int32, device=DEVICE)
        idx = torch.tensor([3, 0, 2], dtype=torch.int32, device=DEVICE)
        pad = torch.tensor([2, 0, 5], dtype=torch.int32, device=DEVICE)
        angle = torch.rand(30, 8, device=DEVICE) * 6
        q, new_k, new_v = self.draw(4, 4, 32), self.draw(7, 2, 32), self.draw(7, 2, 32)  # two of them unused
        order = torch.randperm(24, device=DEVICE)[:16].view(4, 4)
        for paged, page in ((False, 16), (True, 4)):
            k, v = self.draw(*((24, 4) if paged else (4, 16)), 2, 32), self.draw(*((24, 4) if paged else (4, 16)), 2, 32)
            table = {"page_table": order.to(torch.int32)} if paged else {}
            flat = lambda x: x[order].flatten(1, 2) if paged else x  # pylint: disable=cell-var-from-loop
            for words in ({"causal": True}, {}, {"attention_chunk": 4, "causal": True}):
                own = {("chunk" if x == "attention_chunk" else x): y for x, y in words.items()}
                kk, vv = k.clone(), v.clone()
                o = flash_attn_3.flash_attn_with_kvcache(
                    q, kk, vv, new_k, new_v, None, angle.cos(), angle.sin(), lengths, idx, pad, **table, cu_seqlens_q=cu_q,
                    cu_seqlens_k_new=cu_new, max_seqlen_q=3, rotary_interleaved=False, **words)
                wanted_k, wanted_v = flat(k).clone(), flat(v).clone()
                for b, row in enumerate(idx.tolist()):
                    i, j, n = cu_new[b].item(), cu_new[b + 1].item(), lengths[b].item()
                    turn = lambda x, at: heed._flash_cache.rotate(x[None], angle.cos(), angle.sin(), at[None], False)
                    wanted_k[row, n:n + j - i] = turn(new_k[i:j], n + torch.arange(j - i, device=DEVICE))[0]
                    wanted_v[row, n:n + j - i] = new_v[i:j]
                    first, last = cu_q[b].item(), cu_q[b + 1].item()
                    steps = torch.arange(last - first, device=DEVICE) if words else torch.zeros(last - first, device=DEVICE)
                    one = turn(q[first:last], n + steps.long())
                    keys = slice(pad[b].item(), n + j - i)
                    if last > first:
                        self.near(o[None, first:last], formula(one, wanted_k[row, keys][None], wanted_v[row, keys][None],
                                                               **own)[0])
                self.near(flat(kk), wanted_k)
                self.assertTrue(torch.equal(flat(vv), wanted_v))

    def test_alike(self):
        """One new key per query, with one tensor of cumulative lengths: heed stores and rotates."""
        cu = torch.tensor([0, 3, 3, 4], dtype=torch.int32, device=DEVICE)
        lengths = torch.tensor([6, 11, 13], dtype=torch.int32, device=DEVICE)
        q, new_k, new_v = self.draw(5, 4, 32), self.draw(5, 2, 32), self.draw(5, 2, 32)  # the last row is in no sequence
        angle = torch.rand(30, 8, device=DEVICE) * 6
        table = torch.randperm(14, device=DEVICE)[:12].view(3, 4)
        for paged in (False, True):
            k, v = (self.draw(*((14, 4) if paged else (3, 16)), 2, 32) for _ in range(2))
            flat = lambda x: x[table].flatten(1, 2) if paged else x  # pylint: disable=cell-var-from-loop
            words = {"page_table": table.to(torch.int32)} if paged else {}
            for most in (3, None):
                seen, kk, vv = [], k.clone(), v.clone()
                with mock.patch.object(heed._flash_cache, "_store", lambda *x: seen.append(x)):
                    o = flash_attn_3.flash_attn_with_kvcache(
                        q, kk, vv, new_k, new_v, None, angle.cos(), angle.sin(), lengths, cu_seqlens_q=cu,
                        cu_seqlens_k_new=cu, max_seqlen_q=most, causal=True, **words)
                self.assertEqual(seen, [])
                wanted_k, wanted_v = flat(k).clone(), flat(v).clone()
                for b, n in enumerate(lengths.tolist()):
                    i, j = cu[b].item(), cu[b + 1].item()
                    at = n + torch.arange(j - i, device=DEVICE)[None]
                    turn = lambda x, at=at: heed._flash_cache.rotate(x[None], angle.cos(), angle.sin(), at, True)
                    wanted_k[b, n:n + j - i], wanted_v[b, n:n + j - i] = turn(new_k[i:j])[0], new_v[i:j]
                    keys = slice(0, n + j - i)
                    if j > i:
                        self.near(o[None, i:j], formula(turn(q[i:j]), wanted_k[b, keys][None], wanted_v[b, keys][None],
                                                        causal=True)[0])
                self.near(flat(kk), wanted_k)
                self.assertTrue(torch.equal(flat(vv), wanted_v))

    def test_beyond_the_end(self):
        """Keys that do not fit are dropped, and the last one that fits is kept (on a GPU they are not refused)."""
        for cu in (None, torch.tensor([0, 2, 5, 5], dtype=torch.int32, device=DEVICE)):
            lengths = torch.tensor([6, 7, 9], dtype=torch.int32, device=DEVICE)[:2 if cu is None else 3]
            new = self.draw(*((2, 3) if cu is None else (7,)), 1, 4)
            cache = self.draw(len(lengths), 8, 1, 4)
            wanted = cache.clone()
            wanted[0, 6:8] = new[0, :2] if cu is None else new[:2]
            wanted[1, 7] = new[1, 0] if cu is None else new[2]
            places = heed._flash_cache._places(lengths, new, cu)
            heed._flash_cache._store(cache, new.reshape(-1, 1, 4), places.of, lengths[places.of] + places.ahead, places, None)
            self.assertTrue(torch.equal(cache, wanted))


if __name__ == "__main__":
    unittest.main()
