#!/usr/bin/env python3
"""Gradients of heed.flash_attn and heed.flash_attn_3 compared with those of the formula.

    test_flash_gradients.py

flash_case.py says where the package and the library come from. Exits with 77 without torch.
"""

import math
import unittest
import warnings

from flash_case import DEVICE, Case, flash_attn, flash_attn_3, formula, heed, torch


class Gradients(Case):
    def setUp(self):
        super().setUp()
        caught = warnings.catch_warnings()
        caught.__enter__()
        warnings.simplefilter("ignore")
        self.addCleanup(caught.__exit__, None, None, None)

    def gradients(self, function, tensors):
        """Gradients of a loss that weights all finite results."""
        own = [x.detach().clone().requires_grad_() for x in tensors]
        torch.manual_seed(3)
        loss = 0
        for x in function(*own):
            weights = torch.randn(x.shape, device=DEVICE)
            loss = loss + (weights * x.float().masked_fill(torch.isinf(x), 0)).sum()
        loss.backward()
        return [x.grad for x in own]

    def same(self, mine, wanted, *tensors, bound=2e-5):
        for x, y in zip(self.gradients(mine, tensors), self.gradients(wanted, tensors), strict=True):
            self.near(x, y.float(), bound)

    def test_words(self):
        slopes, each = torch.rand(4, device=DEVICE), torch.rand(2, 4, device=DEVICE)
        rows = (
            {}, {"causal": True}, {"scale": 0.3}, {"scale": 0.0, "causal": True}, {"window": (3, 0)},
            {"window": (-1, 4)}, {"window": (6, -1), "causal": True}, {"softcap": 3.0, "causal": True},
            {"slopes": slopes}, {"slopes": each, "causal": True}, {"slopes": slopes, "causal": True, "window": (7, -1)},
        )
        names = {"scale": "softmax_scale", "window": "window_size", "slopes": "alibi_slopes"}
        for queries, keys in ((17, 17), (9, 30), (30, 9), (1, 20)):
            tensors = self.draw(2, queries, 4, 16), self.draw(2, keys, 2, 16), self.draw(2, keys, 2, 24)
            for words in rows:
                own = {names.get(x, x): y for x, y in words.items()}
                with self.subTest(queries=queries, keys=keys, words=list(words)):
                    self.same(lambda q, k, v: [flash_attn.flash_attn_func(q, k, v, **own)],
                              lambda q, k, v: formula(q, k, v, **words)[:1], *tensors)

    def test_sums(self):
        """The LSE and ALiBi's slopes have gradients as well."""
        tensors = self.draw(2, 30, 4, 16), self.draw(2, 9, 2, 16), self.draw(2, 9, 2, 24), torch.rand(4, device=DEVICE)
        for words in ({}, {"causal": True}, {"window": (3, 1)}):
            own = {"window_size" if x == "window" else x: y for x, y in words.items()}

            def wanted(q, k, v, slopes, words=words):
                o, lse = formula(q, k, v, slopes=slopes, **words)
                return o, self.fa2_lse(lse, slopes, words == {"causal": True}, 9)

            self.same(lambda q, k, v, slopes: flash_attn.flash_attn_func(
                q, k, v, alibi_slopes=slopes, **own, return_attn_probs=True)[:2], wanted, *tensors, bound=1e-4)

    def test_packed(self):
        def wanted(qkv):
            return formula(*qkv.unbind(2), causal=True)[:1]

        qkv = self.draw(2, 9, 3, 4, 16)
        self.same(lambda x: [flash_attn.flash_attn_qkvpacked_func(x, causal=True)], wanted, qkv)
        self.same(lambda x: [flash_attn_3.flash_attn_qkvpacked_func(x, causal=True)], wanted, qkv)
        self.same(lambda q, kv: [flash_attn.flash_attn_kvpacked_func(q, kv)],
                  lambda q, kv: formula(q, *kv.unbind(2))[:1], self.draw(2, 9, 4, 16), self.draw(2, 12, 2, 2, 16))

    def test_of_3(self):
        """Chunks, and qv."""
        q, qv = self.draw(2, 7, 4, 16), self.draw(2, 7, 4, 24)
        k, v = self.draw(2, 20, 1, 16), self.draw(2, 20, 1, 24)
        for words in ({"causal": True}, {"chunk": 5}):
            own = {"attention_chunk" if x == "chunk" else x: y for x, y in words.items()}
            self.same(lambda q, qv, k, v: flash_attn_3.flash_attn_func(q, k, v, qv=qv, **own, return_attn_probs=True),
                      lambda q, qv, k, v: formula(torch.cat((q, qv), -1), torch.cat((k, v), -1), v, **words),
                      q, qv, k, v)

    def test_types(self):
        for dtype, bound in ((torch.float16, 1e-2), (torch.bfloat16, 6e-2)):
            for words in ({}, {"softcap": 2.0}):
                tensors = [self.draw(2, 33, 4, 32, dtype=dtype) for _ in range(3)]
                self.same(lambda q, k, v: [flash_attn.flash_attn_func(q, k, v, causal=True, **words)],
                          lambda q, k, v: formula(q, k, v, causal=True, **words)[:1], *tensors, bound=bound)

    def test_varlen(self):
        cu_q = torch.tensor([0, 5, 5, 14, 15], dtype=torch.int32, device=DEVICE)
        cu_k = torch.tensor([0, 7, 10, 19, 19], dtype=torch.int32, device=DEVICE)
        used_q, used_k = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ([4, 0, 9, 1], [7, 2, 6, 0]))
        slopes = torch.rand(4, 4, device=DEVICE)
        tensors = self.draw(15, 4, 16), self.draw(19, 2, 16), self.draw(19, 2, 16)

        def wanted(q, k, v, ends=(cu_q[1:], cu_k[1:]), packs=False, **words):
            o, lse = torch.zeros_like(q), []
            for b, (i, j, end, last) in enumerate(zip(cu_q.tolist(), cu_k.tolist(), *(x.tolist() for x in ends))):
                one = {x: y[b] if x == "slopes" else y for x, y in words.items()}
                part, sums = formula(q[None, i:end], k[None, j:last], v[None, j:last], **one)
                o = o.index_put((torch.arange(i, end, device=DEVICE),), part[0])
                if "slopes" in words:
                    sums = self.fa2_lse(sums, slopes[b], words.get("causal", False), last - j)
                lse.append(sums[0])
            return o, torch.cat(lse, 1)

        for words in ({}, {"causal": True}, {"window": (2, 1)}, {"softcap": 2.0}, {"slopes": slopes},
                      {"slopes": slopes, "causal": True}):
            own = {{"window": "window_size", "slopes": "alibi_slopes"}.get(x, x): y for x, y in words.items()}
            with self.subTest(words=list(words)):
                self.same(lambda q, k, v: flash_attn.flash_attn_varlen_func(
                    q, k, v, cu_q, cu_k, 9, 9, **own, return_attn_probs=True)[:2],
                    lambda q, k, v: wanted(q, k, v, **words), *tensors, bound=1e-4)
                self.same(lambda q, k, v: [flash_attn.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, **own)],
                          lambda q, k, v: wanted(q, k, v, **words)[:1], *tensors)
        ends = (cu_q[:-1] + used_q, cu_k[:-1] + used_k)
        self.same(lambda q, k, v: [flash_attn_3.flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, 9, 9, used_q, used_k, causal=True)],
            lambda q, k, v: wanted(q, k, v, ends, causal=True)[:1], *tensors)
        kv, qkv = self.draw(19, 2, 2, 16), self.draw(15, 3, 4, 16)
        self.same(lambda q, kv: [flash_attn.flash_attn_varlen_kvpacked_func(q, kv, cu_q, cu_k, 9, 9)],
                  lambda q, kv: wanted(q, *kv.unbind(1))[:1], tensors[0], kv)
        cu_k = cu_q
        self.same(lambda qkv: [flash_attn.flash_attn_varlen_qkvpacked_func(qkv, cu_q, 9, causal=True)],
                  lambda qkv: wanted(*qkv.unbind(1), (cu_q[1:], cu_q[1:]), causal=True)[:1], qkv)

    def test_pages(self):
        """Gradients of page pools; unused pages, which may hold anything, have none."""
        cu = torch.tensor([0, 5, 14], dtype=torch.int32, device=DEVICE)
        cu_k = torch.tensor([0, 7, 16], dtype=torch.int32, device=DEVICE)
        table = torch.tensor([[2, 0, -1], [1, 5, 3]], dtype=torch.int32, device=DEVICE)
        q, k, v = self.draw(14, 4, 16), self.draw(6, 4, 2, 16), self.draw(6, 4, 2, 16)
        k[4] = v[4] = math.nan

        def wanted(q, k, v):
            parts = []
            for b, n in enumerate((7, 9)):
                pages = table[b, :(n + 3) // 4].long()
                own = [x[pages].flatten(0, 1)[None, :n] for x in (k, v)]
                parts.append(formula(q[None, cu[b]:cu[b + 1]], *own, causal=True)[0][0])
            return [torch.cat(parts)]

        self.same(lambda q, k, v: [flash_attn.flash_attn_varlen_func(
            q, k, v, cu, cu_k, 9, 9, causal=True, block_table=table)], wanted, q, k, v)

    def test_empty(self):
        cu = torch.tensor([0, 0, 0], dtype=torch.int32, device=DEVICE)
        q, k = self.draw(2, 9, 4, 16), self.draw(2, 0, 4, 16)
        for x in self.gradients(lambda q, k: [flash_attn.flash_attn_func(q, k, k)], (q, k)):
            self.assertFalse(x.any())
        for x in self.gradients(lambda q: [flash_attn.flash_attn_varlen_func(q, q, q, cu, cu, 9, 9)], (q[0],)):
            self.assertFalse(x.any())
        for x in self.gradients(lambda q: [flash_attn.flash_attn_varlen_func(q, q, q, cu, cu, 9, 9)], (q[0, :0],)):
            self.assertEqual(x.shape, (0, 4, 16))

    def test_of_gradients(self):
        """One tensor that is Q, K and V, and its gradient."""
        for sums in (False, True):
            found = []
            for call in (lambda x: flash_attn.flash_attn_func(x, 2 * x, x.sin(), causal=True, return_attn_probs=sums),
                         lambda x: formula(x, 2 * x, x.sin(), causal=True)):
                torch.manual_seed(5)
                x = self.draw(2, 9, 4, 16).requires_grad_()
                own = call(x)
                loss = (own[0] if isinstance(own, tuple) else own).square().sum() + (own[1].sum() if sums else 0)
                (first,) = torch.autograd.grad(loss, x, create_graph=True)
                (second,) = torch.autograd.grad(first.square().sum(), x)
                found.append((first, second))
            for mine, wanted in zip(*found):
                self.assertLess(((mine - wanted).norm() / wanted.norm()).item(), 1e-4)

    def test_compile(self):
        cu = torch.tensor([0, 3, 10], dtype=torch.int32, device=DEVICE)

        def varlen(module, x, *rest, **words):
            flat = x.reshape(-1, 4, 8)
            return module.flash_attn_varlen_func(2 * flat, flat, flat, cu, cu, 7, 7, *rest, **words)

        used = torch.tensor([2, 4], dtype=torch.int32, device=DEVICE)
        for dynamic, function in (
            (None, lambda x: [flash_attn.flash_attn_func(2 * x, x, x, causal=True)]),
            (True, lambda x: [flash_attn.flash_attn_func(x, x, x, window_size=(2, 0), softcap=2.0)]),
            (None, lambda x: [varlen(flash_attn, x, causal=True)]),
            (None, lambda x: [varlen(flash_attn_3, x, used, used)]),
        ):
            torch._dynamo.reset()
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            self.same(compiled, function, self.draw(2, 5, 4, 8))

    def test_checks_of_torch(self):
        x = self.draw(2, 5, 4, 8).requires_grad_()
        call = (x, x, x, None, None, 0.3, True, -1, -1, 0.0, 0, math.inf, True)
        for name, outcome in torch.library.opcheck(torch.ops.heed.flash_attention.default, call).items():
            self.assertEqual(outcome, "SUCCESS", name)

    def test_refused(self):
        q = self.draw(2, 9, 4, 16)
        wanting = q.clone().requires_grad_()
        with self.assertRaisesRegex(heed.InvalidError, "q: the tensor requires a gradient, .* pass tensor.detach"):
            flash_attn.flash_attn_with_kvcache(wanting, q, q)
        with self.assertRaisesRegex(heed.UnsupportedError, "dropout_p: 0.1"):
            flash_attn.flash_attn_func(wanting, q, q, 0.1)
        call = lambda q: flash_attn.flash_attn_func(q, q, q)  # noqa: E731
        with self.assertRaisesRegex(heed.UnsupportedError, "torch.func"):
            torch.func.grad(lambda q: call(q).sum())(q)
        with self.assertRaises(heed.HeedError):
            torch.func.jvp(call, (q,), (q,))
        with torch.no_grad():
            self.assertFalse(call(wanting).requires_grad)


if __name__ == "__main__":
    unittest.main()
