#!/usr/bin/env python3
"""heed.flash_attn and heed.flash_attn_3 compared with the formula, without caches.

    test_flash_attn.py

flash_case.py says where the package and the library come from. Exits with 77 without torch.
"""

import inspect
import math
import unittest
from unittest import mock

from flash_case import DEVICE, Case, flash_attn, flash_attn_3, formula, heed, torch
from heed import _again, _flash_ops

# FlashAttention's own bound: twice the error of the same formula in the tensors' type.
BOUND = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


class Signatures(unittest.TestCase):
    """Names and order as in FlashAttention 2.8.4 and in hopper/."""

    def names(self, function):
        return " ".join(inspect.signature(function).parameters)

    def test_they_are_those(self):
        last = "softmax_scale causal window_size softcap alibi_slopes deterministic return_attn_probs"
        self.assertEqual(self.names(flash_attn.flash_attn_func), f"q k v dropout_p {last}")
        self.assertEqual(self.names(flash_attn.flash_attn_qkvpacked_func), f"qkv dropout_p {last}")
        self.assertEqual(self.names(flash_attn.flash_attn_kvpacked_func), f"q kv dropout_p {last}")
        bounds = "cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k"
        self.assertEqual(self.names(flash_attn.flash_attn_varlen_func), f"q k v {bounds} dropout_p {last} block_table")
        self.assertEqual(self.names(flash_attn.flash_attn_varlen_kvpacked_func), f"q kv {bounds} dropout_p {last}")
        self.assertEqual(self.names(flash_attn.flash_attn_varlen_qkvpacked_func),
                         f"qkv cu_seqlens max_seqlen dropout_p {last}")
        self.assertEqual(self.names(flash_attn.flash_attn_with_kvcache),
                         "q k_cache v_cache k v rotary_cos rotary_sin cache_seqlens cache_batch_idx cache_leftpad "
                         "block_table softmax_scale causal window_size softcap rotary_interleaved alibi_slopes "
                         "num_splits return_softmax_lse")
        scales = "q_descale k_descale v_descale"
        middle = f"qv {scales} window_size attention_chunk softcap num_splits pack_gqa deterministic sm_margin"
        self.assertEqual(self.names(flash_attn_3.flash_attn_func),
                         f"q k v softmax_scale causal {middle} return_attn_probs")
        self.assertEqual(self.names(flash_attn_3.flash_attn_varlen_func),
                         f"q k v {bounds} seqused_q seqused_k softmax_scale causal {middle} return_attn_probs")
        self.assertEqual(self.names(flash_attn_3.flash_attn_qkvpacked_func),
                         f"qkv softmax_scale causal {scales} window_size attention_chunk softcap deterministic "
                         "num_heads_q sm_margin return_attn_probs")
        self.assertEqual(self.names(flash_attn_3.flash_attn_with_kvcache),
                         "q k_cache v_cache k v qv rotary_cos rotary_sin cache_seqlens cache_batch_idx cache_leftpad "
                         "page_table cu_seqlens_q cu_seqlens_k_new max_seqlen_q rotary_seqlens "
                         f"{scales} softmax_scale causal window_size attention_chunk softcap rotary_interleaved "
                         "scheduler_metadata num_splits pack_gqa sm_margin return_softmax_lse")
        self.assertEqual(self.names(flash_attn_3.flash_attn_combine), "out_partial lse_partial out out_dtype")
        self.assertEqual(self.names(flash_attn_3.get_scheduler_metadata),
                         "batch_size max_seqlen_q max_seqlen_k num_heads_q num_heads_kv headdim cache_seqlens qkv_dtype "
                         "headdim_v cu_seqlens_q cu_seqlens_k_new cache_leftpad page_size max_seqlen_k_new causal "
                         "window_size attention_chunk has_softcap num_splits pack_gqa sm_margin")


class Dense(Case):
    def words(self):
        slopes = torch.rand(4, device=DEVICE)
        each = torch.rand(2, 4, device=DEVICE)
        yield {}
        yield {"causal": True}
        yield {"softmax_scale": 0.3}
        for window in ((3, 0), (5, 2), (-1, 4), (6, -1), (0, 0)):
            yield {"window_size": window}
            yield {"window_size": window, "causal": True}
        yield {"softcap": 3.0, "causal": True}
        yield {"alibi_slopes": slopes}
        yield {"alibi_slopes": each, "causal": True}
        yield {"alibi_slopes": slopes, "causal": True, "window_size": (7, -1)}

    def test_words_of_2(self):
        for queries, keys in ((17, 17), (9, 30), (30, 9), (1, 20)):
            q, k, v = self.draw(2, queries, 4, 16), self.draw(2, keys, 2, 16), self.draw(2, keys, 2, 24)
            for words in self.words():
                with self.subTest(queries=queries, keys=keys, words=list(words)):
                    slopes, window = words.get("alibi_slopes"), words.get("window_size", (-1, -1))
                    causal = words.get("causal", False)
                    o, lse = formula(q, k, v, words.get("softmax_scale"), causal, window,
                                     words.get("softcap", 0.0), slopes)
                    mine, own, nothing = flash_attn.flash_attn_func(q, k, v, **words, return_attn_probs=True)
                    self.near(mine, o)
                    self.near(own, self.fa2_lse(lse, slopes, causal and window[0] < 0, keys), 1e-4)
                    self.assertEqual(nothing.numel(), 0)
                    self.near(flash_attn.flash_attn_func(q, k, v, **words), o)

    def test_types(self):
        for dtype, bound in BOUND.items():
            q, k, v = (self.draw(2, 33, 4, 32, dtype=dtype) for _ in range(3))
            o = flash_attn.flash_attn_func(q, k, v, causal=True)
            self.assertIs(o.dtype, dtype)
            self.near(o, formula(q, k, v, causal=True)[0], bound)

    def test_packed(self):
        qkv = self.draw(2, 9, 3, 4, 16)
        o = formula(*qkv.unbind(2), causal=True)[0]
        self.near(flash_attn.flash_attn_qkvpacked_func(qkv, 0.0, None, True), o)
        self.near(flash_attn_3.flash_attn_qkvpacked_func(qkv, None, True), o)
        q, kv = self.draw(2, 9, 4, 16), self.draw(2, 12, 2, 2, 16)
        self.near(flash_attn.flash_attn_kvpacked_func(q, kv, causal=True), formula(q, *kv.unbind(2), causal=True)[0])
        flat = self.draw(2, 9, 8, 16)
        self.near(flash_attn_3.flash_attn_qkvpacked_func(flat, num_heads_q=4),
                  formula(flat[:, :, :4], flat[:, :, 4:6], flat[:, :, 6:])[0])

    def test_words_of_3(self):
        q, k, v = self.draw(2, 30, 4, 16), self.draw(2, 40, 2, 16), self.draw(2, 40, 2, 16)
        for words, own in (({}, {}), ({"causal": True}, {"causal": True}),
                           ({"attention_chunk": 7, "causal": True}, {"chunk": 7, "causal": True}),
                           ({"window_size": (1 << 31, 1 << 31)}, {}),
                           ({"softcap": 2.0, "window_size": (4, 4)}, {"softcap": 2.0, "window": (4, 4)})):
            o, lse = formula(q, k, v, **own)
            mine, log = flash_attn_3.flash_attn_func(q, k, v, **words, return_attn_probs=True)
            self.near(mine, o)
            self.near(log, lse, 1e-4)
        _, log = flash_attn_3.flash_attn_func(k, q[:, :, :2], q[:, :, :2], causal=True, return_attn_probs=True)
        self.assertTrue(torch.isneginf(log[:, :, :10]).all())

    def test_odd_arguments(self):
        q, k, v = (self.draw(2, 9, 4, 16) for _ in range(3))
        wanted = formula(q, k, v, window=(2, 1))[0]
        self.near(flash_attn.flash_attn_func(q, k, v, window_size=torch.tensor([2, 1])), wanted)
        self.near(flash_attn.flash_attn_func(q, k, v, window_size=[2, 1], deterministic=True), wanted)
        thin = self.draw(2, 9, 4, 32)[..., ::2]
        self.near(flash_attn.flash_attn_func(thin, k, v), formula(thin, k, v)[0])
        o, lse, _ = flash_attn.flash_attn_func(q, k[:, :0], v[:, :0], return_attn_probs=True)
        self.assertTrue((o == 0).all() and torch.isposinf(lse).all())
        for x in (q[:0], q[:, :0]):
            o, lse, _ = flash_attn.flash_attn_func(x, k[:len(x)], v[:len(x), ..., :8], return_attn_probs=True)
            self.assertEqual((o.shape, lse.shape), ((*x.shape[:3], 8), (x.shape[0], 4, x.shape[1])))
        self.assertEqual(flash_attn.flash_attn_func(q, k, v[..., :0]).shape, (2, 9, 4, 0))
        cache = flash_attn.flash_attn_with_kvcache(q[:, :0], k, v, cache_seqlens=3)
        self.assertEqual(cache.shape, (2, 0, 4, 16))

    def test_scales_and_softcaps(self):
        """A scale of 0 gives means; a negative softcap is off."""
        q, k, v = (self.draw(2, 9, 4, 16) for _ in range(3))
        for module in (flash_attn, flash_attn_3):
            for causal in (False, True):
                mine = module.flash_attn_func(q, k, v, softmax_scale=0.0, causal=causal)
                self.near(mine, formula(q, k, v, scale=0.0, causal=causal)[0])
            self.near(module.flash_attn_func(q, k, v, softcap=-1), formula(q, k, v)[0])
        slopes = torch.rand(4, 2, device=DEVICE)[:, 0]
        self.near(flash_attn.flash_attn_func(q, k, v, alibi_slopes=slopes), formula(q, k, v, slopes=slopes)[0])

    def test_repeated_calls(self):
        """C repeats a known call, and notices each difference."""
        if not _again.knows(torch.Tensor):
            self.skipTest("this torch has no __dlpack_c_exchange_api__")
        for module in (flash_attn, flash_attn_3):
            with mock.patch.object(_flash_ops, "_calls", _again.Calls(256)):
                q, k, v = (self.draw(2, 9, 4, 16) for _ in range(3))
                module.flash_attn_func(q, k, v, causal=True)
                with mock.patch.object(_flash_ops, "attend", None):  # no other way remains
                    for _ in range(2):
                        q, k, v = (self.draw(2, 9, 4, 16) for _ in range(3))
                        self.near(module.flash_attn_func(q, k, v, causal=True), formula(q, k, v, causal=True)[0])
                for words, own in (({}, {}), ({"causal": 0}, {}), ({"causal": True, "softmax_scale": 0.5},
                                                                  {"causal": True, "scale": 0.5}),
                                   ({"causal": True, "softcap": 2.0}, {"causal": True, "softcap": 2.0}),
                                   ({"window_size": (2, 1)}, {"window": (2, 1)}),
                                   ({"window_size": [2, 0]}, {"window": (2, 0)})):
                    for _ in range(2):
                        self.near(module.flash_attn_func(q, k, v, **words), formula(q, k, v, **own)[0])
                wanted = formula(q, k, v, causal=True)
                o, lse = module.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)[:2]
                self.near(lse, wanted[1], 1e-4)
                with self.assertRaisesRegex(heed.UnsupportedError, "dropout_p|q_descale"):
                    odd = {"dropout_p": 0.5} if module is flash_attn else {"q_descale": q}
                    module.flash_attn_func(q, k, v, causal=True, **odd)
                leaf = q.clone().requires_grad_()
                module.flash_attn_func(leaf, k, v, causal=True).sum().backward()
                self.assertEqual(leaf.grad.shape, q.shape)
                self.near(module.flash_attn_func(q.transpose(1, 2).contiguous().transpose(1, 2), k, v, causal=True), wanted[0])
        for slopes in (torch.rand(4), torch.rand(4), torch.rand(2, 4), torch.rand(4, 2)[:, 0], torch.rand(4).double()):
            slopes = slopes.to(DEVICE)
            for _ in range(2):
                mine = flash_attn.flash_attn_func(q, k, v, alibi_slopes=slopes)
                self.near(mine, formula(q, k, v, slopes=slopes.float())[0])

    def test_flags(self):
        """As FlashAttention's, they take the truth of a number, or None."""
        q, cos = self.draw(2, 5, 4, 16), self.draw(9, 4)
        for module in (flash_attn, flash_attn_3):
            for said, causal in ((2, True), (-1, True), (0.5, True), (1, True), (0, False), (None, False), (0.0, False)):
                mine = module.flash_attn_func(q, q, q, causal=said)
                self.assertTrue(torch.equal(mine, module.flash_attn_func(q, q, q, causal=causal)), said)
            for said in ("True", "", (1,), [], {}, torch.tensor(True), object()):
                with self.assertRaisesRegex(heed.ArgumentTypeError, "^causal: .* is not a bool; pass True or False"):
                    module.flash_attn_func(q, q, q, causal=said)
            self.assertEqual(module.flash_attn_func(q, q, q, return_attn_probs=1)[1].shape, (2, 4, 5))
            caches = [[self.draw(2, 9, 4, 16)] * 2 for _ in range(2)]
            words = {"cache_seqlens": 3, "rotary_cos": cos, "rotary_sin": cos}
            found = [module.flash_attn_with_kvcache(q[:, :1], *(x.clone() for x in caches[0]), q[:, :1], q[:, :1],
                                                    rotary_interleaved=said, **words) for said in (True, 7)]
            self.assertTrue(torch.equal(*found))
            with self.assertRaisesRegex(heed.ArgumentTypeError, "^rotary_interleaved: str is not a bool"):
                module.flash_attn_with_kvcache(q, q, q, rotary_interleaved="no")

    def test_empty(self):
        """Tensors with a size of 0 give zeros if they fit together; else the message is that of others."""
        q, none, half = self.draw(2, 5, 4, 8), self.draw(2, 0, 4, 8), self.draw(2, 0, 4, 8).half()
        cu = torch.tensor([0, 0, 0], dtype=torch.int32, device=DEVICE)
        rows = (  # the message, tensors
            ("k: batch is 3, that of q 2", (q, self.draw(3, 0, 4, 8), self.draw(3, 0, 4, 8))),
            ("k: batch is 0, that of q 2", (q, q[:0], q[:0])),
            ("k: heads is 3; it must divide that of q, 4", (q, none[:, :, :3], none[:, :, :3])),
            ("k: head dim is 7, that of q 8", (q, none[..., :7], none)),
            ("k: dtype is f16, that of q f32", (q, half, none)),
            ("v: sequence is 5, that of k 0", (q, none, q)),
            ("v: heads is 2, that of k 4", (q, none, none[:, :, :2])),
            ("v: batch is 1, that of k 2", (none, q, q[:1])),
        )
        for module in (flash_attn, flash_attn_3):
            for text, tensors in rows:
                with self.subTest(text=text), self.assertRaises((heed.InvalidError, heed.ArgumentTypeError)) as caught:
                    module.flash_attn_func(*tensors)
                self.assertIn(text, str(caught.exception))
            x = none[0]
            with self.assertRaisesRegex(heed.InvalidError, "k: head dim is 7, that of q 8"):
                module.flash_attn_varlen_func(x, x[..., :7], x, cu, cu, 1, 1)
            self.assertEqual(module.flash_attn_varlen_func(x, x, x, cu, cu, 1, 1).shape, x.shape)
            self.assertEqual(module.flash_attn_func(q, none, none).abs().max(), 0)
        with self.assertRaisesRegex(heed.InvalidError, r"alibi_slopes: shape is \(3,\), which does not broadcast"):
            flash_attn.flash_attn_func(q, none, none, alibi_slopes=torch.ones(3, device=DEVICE))
        with self.assertRaisesRegex(heed.InvalidError, "qv: shape is"):
            flash_attn_3.flash_attn_func(q, none, none, qv=q[..., :3])

    def test_freed_memory(self):
        q = self.draw(3, 5, 4, 16)
        for x in (q, q[1:], q[..., ::2]):
            size = q.untyped_storage().nbytes()
            q.untyped_storage().resize_(0)
            with self.assertRaisesRegex(heed.InvalidError, "^q: its storage has 0 bytes"):
                flash_attn.flash_attn_func(x, x, x)
            q.untyped_storage().resize_(size)

    def test_combine(self):
        """Attention to all keys, combined from attention to parts of them."""
        q, k, v = self.draw(2, 9, 4, 16), self.draw(2, 30, 4, 16), self.draw(2, 30, 4, 16)
        wanted, sums = formula(q, k, v)
        parts = [flash_attn_3.flash_attn_func(q, k[:, i:j], v[:, i:j], return_attn_probs=True)
                 for i, j in ((0, 7), (7, 8), (8, 8), (8, 30))]
        o = torch.stack([x for x, _ in parts])
        lse = torch.stack([x.transpose(1, 2) for _, x in parts])
        mine, own = flash_attn_3.flash_attn_combine(o, lse)
        self.near(mine, wanted)
        self.near(own, sums.transpose(1, 2))
        out = torch.empty_like(wanted, dtype=torch.bfloat16)
        self.assertIs(flash_attn_3.flash_attn_combine(o, lse, out)[0], out)
        self.near(out, wanted, 1e-2)
        half, _ = flash_attn_3.flash_attn_combine(o, lse, out_dtype=torch.float16)
        self.assertIs(half.dtype, torch.float16)
        packed, own = flash_attn_3.flash_attn_combine(o.flatten(1, 2), lse.flatten(1, 2))
        self.near(packed, wanted.flatten(0, 1))
        none, own = flash_attn_3.flash_attn_combine(0 * o, torch.full_like(lse, -math.inf))
        self.assertTrue((none == 0).all() and torch.isneginf(own).all())
        self.assertIsNone(flash_attn_3.get_scheduler_metadata(2, 1, 9, 4, 2, 64, torch.ones(2, dtype=torch.int32)))


class Varlen(Case):
    def test_sequences(self):
        lengths_q, lengths_k = [5, 0, 9, 1], [7, 3, 9, 0]
        cu_q = torch.tensor([0, 5, 5, 14, 15], dtype=torch.int32, device=DEVICE)
        cu_k = torch.tensor([0, 7, 10, 19, 19], dtype=torch.int32, device=DEVICE)
        q, k, v = self.draw(15, 4, 16), self.draw(19, 2, 16), self.draw(19, 2, 16)
        slopes = torch.rand(4, 4, device=DEVICE)
        for words in ({}, {"causal": True}, {"window_size": (2, 1)}, {"alibi_slopes": slopes}):
            o, lse, _ = flash_attn.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, **words, return_attn_probs=True)
            self.assertEqual(lse.shape, (4, 15))
            for b, (n, m) in enumerate(zip(lengths_q, lengths_k)):
                i, j = cu_q[b].item(), cu_k[b].item()
                own = [q[None, i:i + n], k[None, j:j + m], v[None, j:j + m]]
                one = dict(words)
                if "alibi_slopes" in one:
                    one["alibi_slopes"] = slopes[b]
                if n:
                    wanted = flash_attn.flash_attn_func(*own, **one, return_attn_probs=True)
                    self.near(o[None, i:i + n], wanted[0])
                    self.near(lse[None, :, i:i + n], wanted[1])
        kv, qkv = torch.stack([k, v], 1), self.draw(15, 3, 4, 16)
        self.near(flash_attn.flash_attn_varlen_kvpacked_func(q, kv, cu_q, cu_k, 9, 9),
                  flash_attn.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9))
        table = torch.tensor([[2, 0], [1, 3], [4, 5], [6, 7]], dtype=torch.int32, device=q.device)
        pages_k, pages_v = (x.new_zeros(8, 16, *x.shape[1:]) for x in (k, v))
        for b, (begin, end) in enumerate(zip(cu_k.tolist(), cu_k.tolist()[1:])):
            for n in range(end - begin):
                page = int(table[b, n // 16])
                pages_k[page, n % 16], pages_v[page, n % 16] = k[begin + n], v[begin + n]
        self.near(flash_attn.flash_attn_varlen_func(q, pages_k, pages_v, cu_q, cu_k, 9, 9, causal=True, block_table=table),
                  flash_attn.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, causal=True))
        self.near(flash_attn.flash_attn_varlen_qkvpacked_func(qkv, cu_q, 9, causal=True),
                  flash_attn.flash_attn_varlen_func(*qkv.unbind(1), cu_q, cu_q, 9, 9, causal=True))

    def test_used(self):
        cu = torch.tensor([0, 8, 16], dtype=torch.int32, device=DEVICE)
        used_q, used_k = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ([3, 8], [8, 5]))
        q, k, v = (self.draw(16, 4, 16) for _ in range(3))
        o, lse = flash_attn_3.flash_attn_varlen_func(q, k, v, cu, cu, 8, 8, used_q, used_k, causal=True,
                                                     return_attn_probs=True)
        first = formula(q[None, :3], k[None, :8], v[None, :8], causal=True)
        self.near(o[None, :3], first[0])
        self.near(lse[None, :, :3], first[1])
        self.near(o[None, 8:], formula(q[None, 8:], k[None, 8:13], v[None, 8:13], causal=True)[0])
        self.assertTrue((o[3:8] == 0).all() and torch.isneginf(lse[:, 3:8]).all())

    def test_only_empty_sequences(self):
        """The greatest length is then 0. Rows after the last sequence may exist."""
        q, k = self.draw(6, 4, 16), self.draw(7, 2, 16)
        cu = torch.tensor([0, 2, 4], dtype=torch.int32, device=DEVICE)
        for cu_q, cu_k, most in ((cu, 0 * cu, (2, 0)), (0 * cu, cu, (0, 2)), (0 * cu, 0 * cu, (0, 0))):
            for x in (q, q.clone().requires_grad_()):
                o, lse, _ = flash_attn.flash_attn_varlen_func(x, k, k, cu_q, cu_k, *most, return_attn_probs=True)
                n = int(cu_q[-1])
                self.assertTrue((o[:n] == 0).all() and torch.isposinf(lse[:, :n]).all())
                if x.requires_grad:
                    o.sum().backward()
                    self.assertTrue((x.grad == 0).all())
        cache = self.draw(2, 8, 2, 16)
        o = flash_attn_3.flash_attn_with_kvcache(q, cache, cache, cu_seqlens_q=0 * cu, max_seqlen_q=0, cache_seqlens=3)
        self.assertEqual(o.shape, q.shape)


class Mistakes(Case):
    def test_arguments(self):
        q = self.draw(2, 9, 4, 16)
        cu = torch.tensor([0, 5, 9], dtype=torch.int32)
        x = self.draw(9, 4, 16)
        two, three = flash_attn, flash_attn_3
        unsupported, invalid, wrong = heed.UnsupportedError, heed.InvalidError, heed.ArgumentTypeError
        cos, wide = self.draw(30, 4), self.draw(30, 9)

        def cache(**words):
            return two.flash_attn_with_kvcache(q, q.clone(), q.clone(), q[:, :1], q[:, :1], **{"cache_seqlens": 1, **words})
        rows = (
            (unsupported, "dropout_p: 0.1", lambda: two.flash_attn_func(q, q, q, 0.1)),
            (unsupported, "dropout_p: 0.1", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5, 0.1)),
            (invalid, "k: shape is", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5, block_table=cu)),
            (invalid, "max_seqlen_k: 0, but", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu, 5, 0)),
            (invalid, "block_table: shape is", lambda: two.flash_attn_with_kvcache(q, q, q, block_table=cu)),
            (invalid, "page_table: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, page_table=cu[None])),
            (wrong, "page_table: pass", lambda: three.flash_attn_with_kvcache(q, q, q, page_table=q)),
            (invalid, "q: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, cu_seqlens_q=cu)),
            (invalid, "cu_seqlens_k_new: it needs k and v", lambda: three.flash_attn_with_kvcache(
                q, q, q, cu_seqlens_k_new=cu)),
            (invalid, "cu_seqlens_k_new: it has 2 elements; pass 3", lambda: three.flash_attn_with_kvcache(
                x, q, q, x, x, cache_seqlens=1, cu_seqlens_q=cu, cu_seqlens_k_new=cu[:2])),
            (invalid, "v: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, q, q[:, 1:], cache_seqlens=0)),
            (wrong, "qv: int", lambda: three.flash_attn_func(q, q, q, qv=3)),
            (wrong, "qv: dtype is", lambda: three.flash_attn_func(q, q, q, qv=q.half())),
            (invalid, "alibi_slopes: shape is", lambda: two.flash_attn_func(q, q, q, alibi_slopes=torch.ones(9, device=q.device))),
            (invalid, "softmax_scale is nan", lambda: two.flash_attn_func(q, q, q, softmax_scale=float("nan"))),
            (invalid, "attention_chunk: -1 is not in 0", lambda: three.flash_attn_func(q, q, q, attention_chunk=-1)),
            (invalid, "qv: shape is", lambda: three.flash_attn_func(q, q, q, qv=q[..., :8])),
            (unsupported, "qv: head dims of q and qv are 1040 together; the limit is 1024", lambda:
             three.flash_attn_func(q, q, q.repeat(1, 1, 1, 64), qv=q.repeat(1, 1, 1, 64))),
            (unsupported, "k_descale", lambda: three.flash_attn_func(q, q, q, k_descale=q)),
            (wrong, "k: int is not a torch.Tensor", lambda: two.flash_attn_func(q, 3, q)),
            (invalid, "q: shape is", lambda: two.flash_attn_func(q[0], q, q)),
            (invalid, "its third size from the end must be 3", lambda: two.flash_attn_qkvpacked_func(q[None])),
            (invalid, "num_heads_q", lambda: three.flash_attn_qkvpacked_func(q)),
            (invalid, "window_size", lambda: two.flash_attn_func(q, q, q, window_size=(1,))),
            (invalid, "does not rise", lambda: two.flash_attn_varlen_func(x, x, x, cu.flip(0), cu, 5, 5)),
            (invalid, "does not rise", lambda: two.flash_attn_varlen_func(x, x, x, cu + 1, cu, 5, 5)),
            (invalid, "as no sequence may be longer than 2", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu, 2, 5)),
            (invalid, "cu_seqlens_k: it has 2", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu[:2], 5, 5)),
            (wrong, "cu_seqlens_q: pass", lambda: two.flash_attn_varlen_func(x, x, x, [0, 9], cu, 5, 5)),
            (invalid, "v: it has 8", lambda: two.flash_attn_varlen_func(x, x, x[1:], cu, cu, 5, 5)),
            (invalid, "seqused_k", lambda: three.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5, None, cu)),
            (invalid, "cache_seqlens: 10", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=10)),
            (invalid, "cache_seqlens: None", lambda: two.flash_attn_with_kvcache(q, q, q, q, q)),
            (wrong, "cache_seqlens: list", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=[1, 2])),
            (invalid, "cache_seqlens: shape", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=cu)),
            (invalid, "k: pass both", lambda: two.flash_attn_with_kvcache(q, q, q, q, cache_seqlens=1)),
            (invalid, "rotary_cos", lambda: two.flash_attn_with_kvcache(q, q, q, rotary_cos=q)),
            (wrong, "rotary_cos: str", lambda: cache(rotary_cos="a", rotary_sin="b")),
            (invalid, r"rotary_cos: shape is \(4,\)", lambda: cache(rotary_cos=cos[0], rotary_sin=cos[0])),
            (invalid, r"rotary_cos: shape is \(30, 9\)", lambda: cache(rotary_cos=wide, rotary_sin=wide)),
            (invalid, "rotary_sin: shape", lambda: cache(rotary_cos=cos, rotary_sin=cos[:9])),
            (wrong, "alibi_slopes: list", lambda: two.flash_attn_func(q, q, q, alibi_slopes=[1])),
            (wrong, "cache_leftpad: list", lambda: cache(cache_leftpad=[1, 2])),
            (invalid, "cache_leftpad: shape", lambda: cache(cache_leftpad=cu)),
            (wrong, "cache_batch_idx: list", lambda: cache(cache_batch_idx=[1, 2])),
            (wrong, "cache_seqlens: dtype", lambda: cache(cache_seqlens=torch.ones(2))),
            (wrong, "window_size: 'None' is not a pair", lambda: two.flash_attn_func(q, q, q, window_size=None)),
            (wrong, "window_size: '3' is not a pair", lambda: two.flash_attn_func(q, q, q, window_size=3)),
            (wrong, "window_size: 'ab' is not a pair", lambda: two.flash_attn_func(q, q, q, window_size="ab")),
            (wrong, r"window_size\[0\]: NoneType", lambda: two.flash_attn_func(q, q, q, window_size=(None, None))),
            (wrong, "max_seqlen_q: float", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu, 5.0, 5)),
            (wrong, "max_seqlen_q: str", lambda: three.flash_attn_with_kvcache(
                x, q, q, cache_seqlens=1, cu_seqlens_q=cu, max_seqlen_q="5")),
            (wrong, "softmax_scale: str", lambda: two.flash_attn_func(q, q, q, softmax_scale="x")),
            (wrong, "softcap: str", lambda: two.flash_attn_func(q, q, q, softcap="x")),
            (wrong, "attention_chunk: float", lambda: three.flash_attn_func(q, q, q, attention_chunk=2.5)),
            (wrong, "out_partial: int", lambda: three.flash_attn_combine(3, q)),
            (invalid, "out_partial: shape", lambda: three.flash_attn_combine(q[0], q)),
            (invalid, "lse_partial: shape", lambda: three.flash_attn_combine(q, q)),
            (invalid, "out: pass", lambda: three.flash_attn_combine(q, q[..., 0], q)),
        )
        for error, part, call in rows:
            with self.subTest(part=part):
                with self.assertRaisesRegex(error, part):
                    call()
        if DEVICE == "cpu":
            for numbers in ([3, 0], [-1, 0]):
                with self.assertRaisesRegex(invalid, "cache_batch_idx: .* must be 0 to 1"):
                    cache(cache_batch_idx=torch.tensor(numbers, dtype=torch.int32))
            one = torch.zeros(1, 16, 2, 64)
            table = torch.tensor([[3]], dtype=torch.int32)
            with self.assertRaisesRegex(invalid, r"entry \(0, 0\) is 3; it must be 0, the pages of k_cache"):
                two.flash_attn_with_kvcache(one[:, :1], one, one, cache_seqlens=1, block_table=table)
            with self.assertRaisesRegex(invalid, r"cache_batch_idx: \[1\] must be 0, elements of the cache"):
                two.flash_attn_with_kvcache(one[:, :1], one, one, cache_batch_idx=table[0, :1] - 2)
            with self.assertRaisesRegex(invalid, "k: 9 new keys after 1 are beyond the cache's 9"):
                two.flash_attn_with_kvcache(q, q, q, q, q, cache_seqlens=1)


if __name__ == "__main__":
    unittest.main()
