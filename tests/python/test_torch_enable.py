#!/usr/bin/env python3
"""heed.torch.enable(): heed behind torch's scaled_dot_product_attention, and the report of its calls.

    test_torch_enable.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without torch.
"""

import pickle
import unittest
import warnings

from torch_case import DEVICE, Case, draw, heed, of_heed, of_torch, torch


class Enable(Case):
    def setUp(self):
        super().setUp()
        heed.torch.report(clear=True)
        self.q, self.k, self.v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)

    def tearDown(self):
        heed.torch.disable()
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, of_torch)

    def rows(self):
        """(calls, by heed?, reason)"""
        return [(row.calls, row.kernel is not None, row.reason) for row in heed.torch.report()]

    def call(self, *tensors, **words):
        return torch.nn.functional.scaled_dot_product_attention(*(tensors or (self.q, self.k, self.v)), **words)

    def test_context(self):
        q, k, v = self.q, self.k, self.v
        with heed.torch.enable():
            for _ in range(5):
                self.near(self.call(is_causal=True), of_torch(q, k, v, is_causal=True))
            with heed.torch.enable():
                pass
            self.near(self.call(), of_torch(q, k, v))
        self.call()
        self.assertEqual(self.rows(), [(5, True, None), (1, True, None)])
        first = heed.torch.report(clear=True)[0]
        layout = "layout=bhsd" if DEVICE == "cpu" else "q=576:16:144 k=576:16:144 v=576:16:144"  # O differs there
        self.assertEqual(first.problem, f"b2 h4 s9 d16 f32 causal {layout}")
        self.assertIn(first.kernel, str(heed.torch.report()) + first.kernel)
        self.assertEqual(str(heed.torch.report()), "no calls yet")

    def test_views_of_results(self):
        """Heads are joined without a copy, as in models."""
        x = draw(2, 5, 4, 8).transpose(1, 2)
        packed = draw(2, 5, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        with heed.torch.enable():
            for _ in range(2):
                for tensors in ((x, x, x), packed):
                    mine = self.call(*tensors).transpose(1, 2).view(2, 5, 32)
                    self.near(mine, of_torch(*tensors).transpose(1, 2).view(2, 5, 32))

    def test_switch(self):
        one, two = heed.torch.enable(), heed.torch.enable()
        one.disable()
        one.disable()
        self.assertIsNot(torch.nn.functional.scaled_dot_product_attention, of_torch)
        self.assertIn("in force", repr(two))
        heed.torch.disable()
        two.disable()
        with heed.torch.enable():
            self.assertIsNot(torch.nn.functional.scaled_dot_product_attention, of_torch)

    def test_ended_ones_end_no_others(self):
        with heed.torch.enable() as first:
            heed.torch.disable()
            self.assertIn("over", repr(first))
            last = heed.torch.enable()
        self.assertIn("in force", repr(last))
        self.assertIsNot(torch.nn.functional.scaled_dot_product_attention, of_torch)
        last.disable()
        with first:  # again
            self.assertIsNot(torch.nn.functional.scaled_dot_product_attention, of_torch)
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, of_torch)

    def test_reasons(self):
        q, k, v = self.q, self.k, self.v
        empty = draw(2, 4, 0, 16)
        doubles = [x.double() for x in (q, k, v)]
        with heed.torch.enable():
            self.call(dropout_p=0.5)
            self.near(self.call(*doubles), of_torch(*doubles))
            self.assertEqual(self.call(q, empty, empty).shape, q.shape)
            wanting = q.clone().requires_grad_()
            self.call(wanting, k, v).sum().backward()
            copy = q.clone().requires_grad_()
            of_torch(copy, k, v).sum().backward()
            self.near(wanting.grad, copy.grad)
            with self.assertRaises((RuntimeError, TypeError)):  # torch's own error, if neither supports it
                self.call(q, k[..., :3], v)
            with self.assertRaises(TypeError):
                self.call(q, k, 3)
            thin = q[..., ::2]
            self.near(self.call(thin, thin, thin), of_torch(thin, thin, thin))
        reasons = sorted(reason or "" for _, _, reason in self.rows())
        for reason, part in zip(reasons, (
            "a gradient is wanted", "dropout_p is 0.5", "dtype torch.float64",
            "key is empty", "key: head dim is 3, that of query 16",
            "query: the elements of a head vector",
        ), strict=True):
            self.assertIn(part, reason)
        self.assertTrue(all(row.kernel is None for row in heed.torch.report()))
        self.assertIn("torch: dropout_p is 0.5", str(heed.torch.report()))

    def test_tensors_with_attention_of_their_own(self):
        from torch.nn.attention.bias import causal_lower_right

        pieces = [draw(5, 2, 8), draw(3, 2, 8)]
        with heed.torch.enable(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nested = torch.nested.nested_tensor(pieces, layout=torch.jagged).transpose(1, 2)
            o = self.call(nested, nested, nested)
            mask = causal_lower_right(5, 9)
            q = self.q[:, :, :5]
            self.near(self.call(q, self.k, self.v, attn_mask=mask),
                      of_torch(q, self.k, self.v, torch.ones(5, 9, dtype=torch.bool, device=DEVICE).tril(4)))
        self.assertTrue(o.is_nested)
        self.assertIn((1, False, "NestedTensor overrides torch's functions"), self.rows())

    def test_causal_biases(self):
        """torch's CausalBias, whose elements have no meaning: also of calls of torch's own function, as after `from
        torch.nn.functional import scaled_dot_product_attention`, which compares itself with the replaced one."""
        from torch.nn.attention.bias import causal_lower_right, causal_upper_left
        from torch.overrides import TorchFunctionMode

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        q, k, v = self.q[:, :, :5], self.k, self.v
        for bias, offset in ((causal_upper_left(5, 9), 0), (causal_lower_right(5, 9), 4), (causal_lower_right(7, 7), 0)):
            shown = torch.ones(5, 9, dtype=torch.bool, device=DEVICE).tril(offset)
            wanted = of_torch(q, k, v, shown)
            for _ in range(2):  # neither is mistaken for the other
                self.near(of_heed(q, k, v, bias), wanted)
                self.near(of_heed(q, k, v), of_torch(q, k, v))
            with heed.torch.enable():
                heed.torch.report(clear=True)
                self.near(self.call(q, k, v, bias), wanted)
                with Mode():
                    self.near(self.call(q, k, v, bias), wanted)
                self.assertEqual([row[1:] for row in self.rows()], [(True, None)])
                self.near(of_torch(q, k, v, bias), wanted)
                wanting = q.clone().requires_grad_()
                self.call(wanting, k, v, bias).sum().backward()
                with self.assertRaisesRegex(ValueError, "should not be used with causal=True"):
                    self.call(q, k, v, bias, is_causal=True)
            copy = q.clone().requires_grad_()
            of_torch(copy, k, v, shown).sum().backward()
            self.near(wanting.grad, copy.grad)
            self.near(of_torch(q, k, v, bias), wanted)
            with self.assertRaisesRegex(heed.ArgumentTypeError, "^mask: a CausalBias has no elements"):
                heed.attention(q, k, v, mask=bias, layout="bhsd")
            with self.assertRaisesRegex(heed.InvalidError, "attn_mask: must be None"):
                of_heed(q, k, v, bias, is_causal=True)

    def test_tensors_of_other_tensors(self):
        """torch's own functions have rules for types such as DTensor, heed's operators have none."""
        from torch.testing._internal.two_tensor import TwoTensor

        x = TwoTensor(self.q, 2 * self.q)
        with heed.torch.enable():
            calls = (self.call, torch.compile(lambda *x: self.call(*x), fullgraph=True, backend="aot_eager"))
            for call in calls:
                o = call(x, x, x)
                self.assertIs(type(o), TwoTensor)
                self.near(o.b, of_torch(x.b, x.b, x.b))
        self.assertEqual([row[1:] for row in self.rows()], [(False, "TwoTensor computes with other tensors")] * 2)

    def test_nested_tensors_with_strides(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nested = torch.nested.nested_tensor([draw(4, 3, 8), draw(4, 5, 8)])
        with heed.torch.enable():
            o = self.call(nested, nested, nested)
        self.assertTrue(o.is_nested)
        self.assertEqual(self.rows(), [(1, False, "a tensor is nested")])
        self.assertEqual(heed.torch.report()[0].problem[:30], "query=() key=() value=() torch")

    def test_it_is_called_as_of_torch(self):
        with heed.torch.enable():
            given = torch.nn.functional.scaled_dot_product_attention
            self.assertEqual((given.__name__, given.__doc__), (of_torch.__name__, of_torch.__doc__))
            wanting = self.q.clone().requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                of_heed(wanting, self.k, self.v).sum().backward()
        self.assertEqual(self.rows(), [(1, True, None)])  # the gradient is not a call of the program

    def test_it_is_pickled(self):
        with heed.torch.enable():
            function = torch.nn.functional.scaled_dot_product_attention
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertEqual(function.__name__, "scaled_dot_product_attention")

    def test_modes(self):
        from torch.overrides import TorchFunctionMode

        seen = []

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))

        with heed.torch.enable():
            with torch.device(DEVICE):
                self.near(self.call(), of_torch(self.q, self.k, self.v))
            with Mode():
                mine = self.call()
            self.assertIn(torch.nn.functional.scaled_dot_product_attention, seen)
            self.near(mine, of_torch(self.q, self.k, self.v))
        self.assertEqual(self.rows(), [(2, True, None)])

    def test_compile(self):
        def model(q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(2 * q, k, v, is_causal=True) + 1

        tensors = (self.q, self.k, self.v)
        with heed.torch.enable():
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
            with torch.no_grad():
                for _ in range(3):
                    self.near(compiled(*tensors), of_torch(2 * self.q, *tensors[1:], is_causal=True) + 1)
                compiled(*(x.double() for x in tensors))
        self.assertEqual(self.rows(), [(3, True, None),
                                       (1, False, "dtype torch.float64 is not float32, float16 or bfloat16")])

    def test_compiled_calls_that_fall_back(self):
        """In a compiled program heed's errors appear only when it runs."""
        from torch.nn.attention.bias import causal_lower_right

        turned, thin = draw(2, 9, 4, 16).transpose(1, 2), draw(2, 4, 9, 32)
        wide, few = draw(1, 2, 5, 1200), draw(2, 1, 9, 16)
        cases = (  # tensors, the reason or None
            ((turned, turned, turned), None), ((self.q[0], self.k[0], self.v[0]), None),
            ((thin[..., ::2], self.k, self.v), "contiguous"),
            ((thin.transpose(0, 1)[..., ::2].transpose(0, 1), self.k, self.v), "contiguous"),
            ((wide, wide, wide), "1200"), ((few, self.k, self.v), None),
        )
        for dynamic in (None, True):
            for tensors, reason in cases:
                torch._dynamo.reset()
                heed.torch.report(clear=True)
                with heed.torch.enable():
                    compiled = torch.compile(lambda *x: self.call(*x) * 1, fullgraph=True, dynamic=dynamic,
                                             backend="aot_eager")
                    with self.subTest(dynamic=dynamic, reason=reason):
                        wanted = of_torch(*tensors)
                        mine = compiled(*tensors)
                        self.near(mine, wanted)
                        self.assertEqual(mine.stride(), wanted.stride())
                        (row,) = self.rows()
                        self.assertEqual(row[:2], (1, reason is None))
                        self.assertIn(reason or "", row[2] or "")
        for wanted, dropout in ((True, 0.0), (False, 0.5), (False, 0.25)):  # sizes and floats without values
            heed.torch.report(clear=True)
            with heed.torch.enable(), self.subTest(dropout=dropout):
                compiled = torch.compile(lambda q, p: self.call(q, q, q, dropout_p=p), fullgraph=True, dynamic=True,
                                         backend="aot_eager")
                o = compiled(draw(2, 4, 7, 16).requires_grad_(wanted), dropout)
                self.assertEqual(o.requires_grad, wanted)
                reason = "dropout_p is not 0, and heed" if dropout else "a gradient is wanted"
                self.assertTrue(all(reason in row[2] for row in self.rows()) and self.rows(), self.rows())
        with heed.torch.enable():
            mask = causal_lower_right(5, 9)
            shown = torch.ones(5, 9, dtype=torch.bool, device=DEVICE).tril(4)
            compiled = torch.compile(lambda *x: self.call(*x), fullgraph=True, backend="aot_eager")
            q = self.q[:, :, :5]
            self.near(compiled(q, self.k, self.v, mask), of_torch(q, self.k, self.v, shown))
            x = draw(3, 2, 4, 9, 16)
            mapped = torch.vmap(lambda q, mask: self.call(q, self.k, self.v, mask), in_dims=(0, None))
            bias = draw(9, 9)
            self.near(torch.compile(mapped, backend="aot_eager")(x, bias),
                      torch.stack([of_torch(q, self.k, self.v, bias) for q in x]))

    def test_operator_of_both(self):
        operator = torch.ops.heed.attention_or_torch.default
        q, k, v = draw(2, 9, 4, 16).transpose(1, 2), self.k, self.v
        for call in ((q, k, v, None, True, None, False), (q[..., ::2], k[..., ::2], v, None, False, 0.3, False),
                     (self.q, k[:, :2], v[:, :2], draw(9, 9), False, None, True)):
            for name, outcome in torch.library.opcheck(operator, call).items():
                self.assertEqual(outcome, "SUCCESS", name)

    def test_a_layer(self):
        layer = torch.nn.MultiheadAttention(32, 4, batch_first=True).to(DEVICE).eval()
        x = draw(2, 7, 32)
        with torch.no_grad():
            wanted = layer(x, x, x, need_weights=False)[0]
            with heed.torch.enable():
                torch.backends.mha.set_fastpath_enabled(False)
                self.near(layer(x, x, x, need_weights=False)[0], wanted)
                torch.backends.mha.set_fastpath_enabled(True)
        self.assertEqual(self.rows(), [(1, True, None)])


if __name__ == "__main__":
    unittest.main()
