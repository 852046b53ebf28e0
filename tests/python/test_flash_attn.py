#!/usr/bin/env python3
"""heed.flash_attn and heed.flash_attn_3 beside the formula in float32, on a CPU, or on a GPU if torch has one.

    test_flash_attn.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 where there
is no torch.
"""

import inspect
import math
import pathlib
import sys
import unittest
from unittest import mock

try:
    import torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
import heed  # noqa: E402
from heed import flash_attn, flash_attn_3  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# FlashAttention's own bound: an error of twice that of the same formula in the tensors' type.
BOUND = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def formula(q, k, v, scale=None, causal=False, window=(-1, -1), softcap=0.0, slopes=None, chunk=0):
    """O and LSE in float32 of (batch, sequence, heads, dim), as FlashAttention defines them."""
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    queries, keys = q.shape[2], k.shape[2]
    t = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap > 0:
        t = softcap * torch.tanh(t / softcap)
    p = torch.arange(queries, device=q.device)[:, None] + keys - queries
    j = torch.arange(keys, device=q.device)
    if slopes is not None:
        t = t - slopes.reshape(-1, slopes.shape[-1], 1, 1) * (p - j).abs()
    seen = torch.ones(queries, keys, dtype=torch.bool, device=q.device)
    left, right = window
    if causal:
        right = 0
    if left >= 0:
        seen &= j >= p - left
    if right >= 0:
        seen &= j <= p + right
    if chunk:
        seen &= torch.div(j, chunk, rounding_mode="floor") == torch.div(p, chunk, rounding_mode="floor")
    t = t.masked_fill(~seen, -math.inf)
    o = torch.nan_to_num(torch.softmax(t, -1)) @ v
    return o.transpose(1, 2), torch.logsumexp(t, -1)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def draw(self, *shape, dtype=torch.float32):
        return torch.randn(*shape, device=DEVICE).to(dtype)

    def near(self, mine, wanted, bound=2e-5):
        self.assertEqual(mine.shape, wanted.shape)
        same = torch.isinf(wanted) & (mine.float() == wanted)
        self.assertTrue((torch.isfinite(mine) | same).all())
        error = (mine.float() - wanted).abs() / (1 + wanted.abs())
        self.assertLess(error[~same].max().item() if (~same).any() else 0.0, bound)

    def fa2_lse(self, lse, slopes=None, causal_alone=False, keys=0):
        """As FlashAttention-2 has it."""
        if slopes is not None and causal_alone:
            p = torch.arange(lse.shape[2], device=lse.device) + keys - lse.shape[2]
            lse = lse + slopes.reshape(-1, slopes.shape[-1], 1) * p
        return lse.masked_fill(torch.isneginf(lse), math.inf)


class Signatures(unittest.TestCase):
    """Names and order, as of FlashAttention 2.8.4 and of hopper/."""

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
        """A scale of 0 makes means; a softcap below 0 is off."""
        q, k, v = (self.draw(2, 9, 4, 16) for _ in range(3))
        for module in (flash_attn, flash_attn_3):
            for causal in (False, True):
                mine = module.flash_attn_func(q, k, v, softmax_scale=0.0, causal=causal)
                self.near(mine, formula(q, k, v, scale=0.0, causal=causal)[0])
            self.near(module.flash_attn_func(q, k, v, softcap=-1), formula(q, k, v)[0])
        slopes = torch.rand(4, 2, device=DEVICE)[:, 0]
        self.near(flash_attn.flash_attn_func(q, k, v, alibi_slopes=slopes), formula(q, k, v, slopes=slopes)[0])

    def test_combine(self):
        """Attention to all keys, of that to parts of them."""
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


class Compiled(Case):
    """torch.compile takes operators whole, and calls caches between its graphs."""

    def setUp(self):
        super().setUp()
        self.x, self.slopes = self.draw(2, 5, 4, 8), torch.rand(2, 4, device=DEVICE)
        self.cu = torch.tensor([0, 3, 10], dtype=torch.int32, device=DEVICE)
        self.used = torch.tensor([2, 4], dtype=torch.int32, device=DEVICE)

    def same(self, function, **words):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="aot_eager", **words)
        for _ in range(2):
            for mine, wanted in zip(compiled(self.x), function(self.x)):
                self.near(mine, wanted)

    def varlen(self, module, x, *rest, **words):
        flat = x.view(10, 4, 8)
        return module.flash_attn_varlen_func(2 * flat, flat, flat, self.cu, self.cu, 7, 7, *rest, **words,
                                             return_attn_probs=True)[:2]

    def test_functions(self):
        two, three = flash_attn, flash_attn_3
        for dynamic, function in (
            (None, lambda x: two.flash_attn_func(2 * x, x, x, causal=True, window_size=(3, -1), return_attn_probs=True)[:2]),
            (True, lambda x: two.flash_attn_func(x, x, x, alibi_slopes=self.slopes, causal=True, return_attn_probs=True)[:2]),
            (None, lambda x: (two.flash_attn_qkvpacked_func(torch.stack([x, x, x], 2), softcap=2.0),)),
            (True, lambda x: three.flash_attn_func(x, x, x, attention_chunk=2, return_attn_probs=True)),
            (None, lambda x: (three.flash_attn_func(x, x[:, :, :1], x[:, :, :1], qv=x, causal=True),)),
            (True, lambda x: self.varlen(two, x, causal=True, alibi_slopes=self.slopes)),
            (None, lambda x: self.varlen(three, x, self.used, self.used)),
        ):
            self.same(function, fullgraph=True, dynamic=dynamic)

    def test_caches(self):
        k, v = self.draw(2, 20, 4, 8), self.draw(2, 20, 4, 8)
        for module in (flash_attn, flash_attn_3):
            self.same(lambda x: module.flash_attn_with_kvcache(2 * x, k, v, x, x, cache_seqlens=self.used, causal=True,
                                                               return_softmax_lse=True))

    def test_attention(self):
        """heed.attention() and plans, which are no operators."""
        plan = heed.Plan("b2 h4 s5 d8 f32", heed.Context(DEVICE))
        for words in ({"causal": True}, {"window": [2, 1], "align": "top-left"}, {"scale": 0.37, "softcap": 2.0}):
            self.same(lambda x: (heed.attention(2 * x, x, x, **words) + 1,))
        self.same(lambda x: (plan.execute(2 * x, x, x) + 1,))

    def test_checks_of_torch(self):
        x, flat = self.x, self.x.view(10, 4, 8)
        rest = (0.3, True, -1, -1, 0.0, 0, math.inf, True)
        for call in ((x, x, x, None, None, *rest), (x, x, x, self.slopes, None, *rest), (x[:, :0], x, x, None, None, *rest),
                     (x, x, x, None, None, *rest[:-1], False)):
            for name, outcome in torch.library.opcheck(torch.ops.heed.flash_attention.default, call).items():
                self.assertEqual(outcome, "SUCCESS", name)
        for more in ((None, None, None, self.slopes), (self.used, self.used, None, None)):
            call = (flat, flat, flat, self.cu, self.cu, *more, None, 7, 7, *rest)
            for name, outcome in torch.library.opcheck(torch.ops.heed.flash_attention_varlen.default, call).items():
                self.assertEqual(outcome, "SUCCESS", name)

    def test_fake_tensors(self):
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode():
            x = torch.empty(2, 5, 4, 8)
            self.assertEqual(flash_attn.flash_attn_func(x, x, x[..., :3]).shape, (2, 5, 4, 3))
            with self.assertRaisesRegex(heed.InvalidError, "q: the tensor requires a gradient"):
                flash_attn.flash_attn_func(x.requires_grad_(), x, x)
        with self.assertRaisesRegex(heed.ArgumentTypeError, "q: the Tensor has no memory"):
            torch.vmap(lambda x: flash_attn.flash_attn_func(x, x, x))(self.draw(3, 2, 5, 4, 8))


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
            """A whole number, such as NumPy's."""

            def __index__(self):
                return 7
        self.near(flash_attn.flash_attn_with_kvcache(q, k, v, cache_seqlens=Seven()),
                  formula(q, k[:2, :7], v[:2, :7])[0])

    def turned(self, x, at, interleaved):
        """The rotary embedding, element for element."""
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

    def test_who_stores(self):
        """heed does where it can: torch's functions are not called."""
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

    def test_one_step_after_another(self):
        """Calls that are known write too, to other caches and at other lengths."""
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
        """Positions of the rotary embedding are those in the cache."""
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
    """Sequences of three lengths in a pool of pages in any order, whose others are NaN."""

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
        o = flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, block_table=self.table)
        self.near(o, formula(self.q, self.k, self.v)[0])

    def test_new_keys(self):
        new_k, new_v = self.draw(3, 3, 2, 32), self.draw(3, 3, 2, 32)
        for b, n in enumerate(self.lengths):  # some of them across a border of pages
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
            table[1, 0] = table[2, 2] = table[0, 4] = number  # behind the keys
            flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                               block_table=table)
            table[2, 1] = number
            with self.assertRaisesRegex(heed.InvalidError, rf"block_table: entry \(2, 1\) is {number}; .* 0 to 19"):
                flash_attn.flash_attn_with_kvcache(self.q, self.pool_k, self.pool_v, cache_seqlens=self.tensor,
                                                   block_table=table)


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
        """Values behind the keys, ahead of them, and elsewhere: the same, and not copied in the first two."""
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
    """Packed queries and new keys beside a cache, by rows of the caches in another order."""

    def test_all(self):
        cu_q, cu_new = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ([0, 3, 3, 4], [0, 2, 2, 5]))
        lengths = torch.tensor([6, 11, 13], dtype=torch.int32, device=DEVICE)
        idx = torch.tensor([3, 0, 2], dtype=torch.int32, device=DEVICE)
        pad = torch.tensor([2, 0, 5], dtype=torch.int32, device=DEVICE)
        angle = torch.rand(30, 8, device=DEVICE) * 6
        q, new_k, new_v = self.draw(4, 4, 32), self.draw(7, 2, 32), self.draw(7, 2, 32)  # two of them of no sequence
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

    def test_beyond_the_end(self):
        """Keys that do not fit are dropped, and the last one that fits stays (on a GPU nothing refuses them)."""
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
            (invalid, "block_table: shape is", lambda: two.flash_attn_with_kvcache(q, q, q, block_table=cu)),
            (invalid, "page_table: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, page_table=cu[None])),
            (wrong, "page_table: pass", lambda: three.flash_attn_with_kvcache(q, q, q, page_table=q)),
            (invalid, "q: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, cu_seqlens_q=cu)),
            (invalid, "cu_seqlens_k_new: it is given", lambda: three.flash_attn_with_kvcache(
                q, q, q, cu_seqlens_k_new=cu)),
            (invalid, "cu_seqlens_k_new: it has 2 elements; pass 3", lambda: three.flash_attn_with_kvcache(
                x, q, q, x, x, cache_seqlens=1, cu_seqlens_q=cu, cu_seqlens_k_new=cu[:2])),
            (invalid, "v: shape is", lambda: three.flash_attn_with_kvcache(q, q, q, q, q[:, 1:], cache_seqlens=0)),
            (wrong, "qv: int", lambda: three.flash_attn_func(q, q, q, qv=3)),
            (wrong, "qv: dtype is", lambda: three.flash_attn_func(q, q, q, qv=q.half())),
            (invalid, "qv: shape is", lambda: three.flash_attn_func(q, q, q, qv=q[..., :8])),
            (unsupported, "qv: head dims of q and qv are 1040 together; the limit is 1024", lambda:
             three.flash_attn_func(q, q, q.repeat(1, 1, 1, 64), qv=q.repeat(1, 1, 1, 64))),
            (unsupported, "k_descale", lambda: three.flash_attn_func(q, q, q, k_descale=q)),
            (wrong, "k: int is no torch.Tensor", lambda: two.flash_attn_func(q, 3, q)),
            (invalid, "q: shape is", lambda: two.flash_attn_func(q[0], q, q)),
            (invalid, "its third size from the end must be 3", lambda: two.flash_attn_qkvpacked_func(q[None])),
            (invalid, "num_heads_q", lambda: three.flash_attn_qkvpacked_func(q)),
            (invalid, "window_size", lambda: two.flash_attn_func(q, q, q, window_size=(1,))),
            (invalid, "does not rise", lambda: two.flash_attn_varlen_func(x, x, x, cu.flip(0), cu, 5, 5)),
            (invalid, "does not rise", lambda: two.flash_attn_varlen_func(x, x, x, cu + 1, cu, 5, 5)),
            (invalid, "cu_seqlens_k: it has 2", lambda: two.flash_attn_varlen_func(x, x, x, cu, cu[:2], 5, 5)),
            (wrong, "cu_seqlens_q: pass", lambda: two.flash_attn_varlen_func(x, x, x, [0, 9], cu, 5, 5)),
            (invalid, "v: it has 8", lambda: two.flash_attn_varlen_func(x, x, x[1:], cu, cu, 5, 5)),
            (invalid, "seqused_k", lambda: three.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5, None, cu)),
            (invalid, "cache_seqlens: 10", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=10)),
            (invalid, "cache_seqlens: None", lambda: two.flash_attn_with_kvcache(q, q, q, q, q)),
            (wrong, "cache_seqlens: list", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=[1, 2])),
            (invalid, "cache_seqlens: shape", lambda: two.flash_attn_with_kvcache(q, q, q, cache_seqlens=cu)),
            (invalid, "k: k and v", lambda: two.flash_attn_with_kvcache(q, q, q, q, cache_seqlens=1)),
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
            (wrong, "window_size: 'None' is no pair", lambda: two.flash_attn_func(q, q, q, window_size=None)),
            (wrong, "window_size: '3' is no pair", lambda: two.flash_attn_func(q, q, q, window_size=3)),
            (wrong, "window_size: 'ab' is no pair", lambda: two.flash_attn_func(q, q, q, window_size="ab")),
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
            with self.assertRaisesRegex(invalid, "k: 9 new keys after 1 are beyond the cache's 9"):
                two.flash_attn_with_kvcache(q, q, q, q, q, cache_seqlens=1)
        wanting = q.clone().requires_grad_()
        with self.assertRaisesRegex(invalid, "requires a gradient"):
            two.flash_attn_func(wanting, q, q)


if __name__ == "__main__":
    unittest.main()
