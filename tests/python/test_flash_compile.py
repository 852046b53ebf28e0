#!/usr/bin/env python3
"""heed.flash_attn, heed.flash_attn_3, heed.attention() and plans under torch.compile.

    test_flash_compile.py

flash_case.py says where the package and the library come from. Exits with 77 without torch.
"""

import math
import unittest

from flash_case import DEVICE, Case, flash_attn, flash_attn_3, heed, torch


class Compiled(Case):
    """torch.compile includes operators in its graphs, and calls cache functions between graphs."""

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
        """heed.attention() and plans, which are not operators."""
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
            self.assertTrue(flash_attn.flash_attn_func(x.requires_grad_(), x, x).requires_grad)
        with self.assertRaisesRegex(heed.ArgumentTypeError, "q: the Tensor has no memory"):
            torch.vmap(lambda x: flash_attn.flash_attn_func(x, x, x))(self.draw(3, 2, 5, 4, 8))

    def test_traces(self):
        """torch.jit.trace records operators, and other calls would become constants."""
        def trace(function):
            wanted = function(2 * self.x)
            for _ in range(2):
                function(self.x)  # C knows it afterwards
            traced = torch.jit.trace(function, self.x, check_trace=False)
            self.near(traced(2 * self.x), wanted)

        plan = heed.Plan("b2 h4 s5 d8 f32", heed.Context(DEVICE))
        trace(lambda x: flash_attn.flash_attn_func(x, x, x, causal=True) + x)
        trace(lambda x: self.varlen(flash_attn, x, causal=True)[0].view_as(x) + x)
        for call in (heed.attention, plan.execute, flash_attn.flash_attn_with_kvcache):
            with self.assertRaisesRegex(heed.UnsupportedError, "q: torch.jit.trace"):
                trace(lambda x: call(x, x, x) + x)


if __name__ == "__main__":
    unittest.main()
