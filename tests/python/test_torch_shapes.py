#!/usr/bin/env python3
"""heed.torch on tensors whose first dimensions broadcast, on empty ones and on tensors without memory, compared with
torch's own scaled_dot_product_attention on a CPU, and on a GPU if torch has one.

    test_torch_shapes.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without torch.
"""

import itertools
import random
import unittest
import warnings

from torch_case import DEVICE, Case, FakeTensorMode, draw, draw_mask, heed, of_heed, of_torch, torch, without_elements

functional = torch.nn.functional


def result_of(call, *tensors, **words):
    """The result, or None if the call is refused."""
    try:
        return call(*tensors, **words)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return None


class Broadcast(Case):
    def agree(self, tensors, **words):
        """heed serves and refuses as torch does, eager and behind enable(). Returns whether it serves."""
        wanted, mine = result_of(of_torch, *tensors, **words), result_of(of_heed, *tensors, **words)
        with heed.torch.enable():
            either = result_of(functional.scaled_dot_product_attention, *tensors, **words)
        self.assertEqual(either is None, wanted is None)
        if wanted is None:
            self.assertIsNone(mine)
            return False
        self.near(either, wanted)
        if mine is None:
            return False
        self.near(mine, wanted)
        if DEVICE == "cpu":
            self.laid_out(mine, wanted)
        return True

    def test_heads_of_the_query(self):
        """One head of the query for several of key and value."""
        heed.torch.report(clear=True)
        for dtype in (torch.float32, torch.bfloat16):
            q, k, v = (draw(*shape, dtype=dtype) for shape in ((2, 1, 9, 16), (2, 4, 7, 16), (2, 4, 7, 24)))
            short = draw_mask(7) if DEVICE == "cpu" else draw_mask(1, 7)  # PyTorch refuses the first on a GPU
            for tensors in ((q, k, v), (q[:1], k, v), (q[0], k, v), (q[0, 0], k, v), (q, k[:, :1], v),
                            (q, k, v[:, :1]), (q, k, v, draw_mask(2, 4, 9, 7)),
                            (q, k, v, short)):
                for _ in range(3):  # two of which are repeated
                    wanted = of_torch(*tensors)
                    self.near(of_heed(*tensors), wanted, 1e-5 if dtype is torch.float32 else 1e-2)
                    with heed.torch.enable():
                        self.laid_out(functional.scaled_dot_product_attention(*tensors), wanted)
        self.assertTrue(all(row.kernel for row in heed.torch.report()))

    def test_first_dimensions(self):
        """All that broadcast, in any of the tensors. heed leaves different groups of heads to torch."""
        leads = ((), (1,), (4,), (1, 4), (2, 1), (2, 2), (3, 1, 4), (3, 2, 1))
        masks = (None, (5, 7), (4, 5, 7), (2, 1, 5, 7), (3, 2, 4, 5, 7))
        served = 0
        for one, two, three in itertools.product(leads, repeat=3):
            q, k, v = draw(*one, 5, 8), draw(*two, 7, 8), draw(*three, 7, 8)
            for shape in masks:
                mask = None if shape is None else draw(*shape)
                for enable_gqa in (False, True):
                    with self.subTest(one=one, two=two, three=three, shape=shape, enable_gqa=enable_gqa):
                        served += self.agree((q, k, v, mask), enable_gqa=enable_gqa)
        self.assertGreater(served, 1000)

    def test_strides(self):
        """Of tensors of any number of dimensions, and in any order in memory."""
        chance = random.Random(3)

        def lay_out(*shape):
            x, last = draw(*shape), len(shape) - 1
            order = chance.sample(range(last), last)
            return x.permute(*order, last).contiguous().permute(*(order.index(i) for i in range(last)), last)

        served = 0
        for _ in range(600):
            lead = [chance.choice((1, 2, 3)) for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))]
            own = [[1 if chance.random() < 0.2 else size for size in lead] for _ in range(3)]
            q, k = lay_out(*own[0], 5, 8), lay_out(*own[1], 7, 8)
            enable_gqa = len(lead) > 0 and chance.random() < 0.4
            served += self.agree((q, k, lay_out(*own[2], 7, chance.choice((8, 12)))), enable_gqa=enable_gqa)
        self.assertGreater(served, 400)

    def test_three_dimensions_on_a_gpu(self):
        """torch has no fused kernel for them, and its result is dense."""
        for x in (draw(4, 9, 16), draw(9, 4, 16).transpose(0, 1), draw(9, 16), draw(2, 3, 4, 9, 16)):
            for own in (x, x.half()):
                with FakeTensorMode():
                    there = without_elements(own, "cuda")
                    self.assertTrue(of_torch(there, there, there).is_contiguous())
                    self.assertTrue(heed._sdpa.is_dense(there, there, there, None, False))

    def test_operator(self):
        """Under vmap, with gradients and compiled."""
        q, k, v = draw(3, 2, 1, 9, 16), draw(3, 2, 4, 7, 16), draw(3, 2, 4, 7, 16)
        self.near(torch.vmap(of_heed)(q, k, v), of_torch(q, k, v))
        tensors = (q[0], k[0], v[0])
        found = []
        for call in (of_heed, of_torch):
            own = [x.clone().requires_grad_() for x in tensors]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(*own).square().sum().backward()
            found.append([x.grad for x in own])
        for mine, wanted in zip(*found):
            self.near(mine, wanted, 1e-4)
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(lambda *x: of_heed(*x) * 1, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            self.near(compiled(*tensors), of_torch(*tensors))
            self.near(compiled(q[0, 0], *tensors[1:]), of_torch(q[0, 0], *tensors[1:]))
            self.near(compiled(q, *tensors[1:]), of_torch(q, *tensors[1:]))


class Empty(Case):
    def test_misfits(self):
        """Their messages are those of other tensors: they name argument, value and limit."""
        def heads(x):
            return draw(2, x, 0, 8)

        q, none, half = draw(2, 4, 5, 8), draw(2, 4, 0, 8), draw(2, 4, 0, 8).half()
        rows = (  # the message, tensors, words
            ("key: its first dimensions are (3,), those of query (2,)", (q, draw(3, 4, 0, 8), draw(3, 4, 0, 8)), {}),
            ("value: its first dimensions are (3,), those of query (2,)", (q, none, draw(3, 4, 0, 8)), {}),
            ("key: it has 3 heads, query 4", (q, heads(3), heads(3)), {}),
            ("key: heads is 3; it must divide that of query, 4", (q, heads(3), heads(3)), {"enable_gqa": True}),
            ("key: heads is 0; it must divide that of query, 4", (q, heads(0), heads(0)), {"enable_gqa": True}),
            ("value: heads is 2, that of key 4", (q, none, heads(2)), {"enable_gqa": True}),
            ("key: head dim is 7, that of query 8", (q, none[..., :7], none), {}),
            ("value: sequence is 1, that of key 0", (q, none, q[:, :, :1]), {}),
            ("key: head dim is 7, that of query 8", (none, q[..., :7], q), {}),
            ("key: dtype is f16, that of query f32", (q, half, none), {}),
            ("query: dtype torch.float64 is not float32, float16 or bfloat16; convert it",
             (q.double(), none.double(), none.double()), {}),
            ("attn_mask: shape is (4, 1), which does not broadcast to (2, 4, 5, 0)",
             (q, none, none, draw_mask(4, 1)), {}),
        )
        for text, tensors, words in rows:
            with self.subTest(text=text):
                with self.assertRaises((heed.InvalidError, heed.ArgumentTypeError)) as caught:
                    of_heed(*tensors, **words)
                self.assertIn(text, str(caught.exception))
        self.assertEqual(of_heed(q, none, none, draw_mask(5, 1)).abs().max(), 0)


class Freed(Case):
    """Tensors whose storage was shrunk, as FSDP does between layers. Without a check, and in torch, they crash."""

    def refused(self, name, *tensors):
        calls = [(name, of_heed), (name, self.by_enabled)] + [("q", self.by_attention)] * (len(tensors) == 3)
        for own, call in calls:
            with self.assertRaisesRegex(heed.InvalidError, rf"^{own}: its storage has \d+ bytes.* need \d+; .*resize_"):
                call(*tensors)

    def by_enabled(self, *tensors):
        with heed.torch.enable():
            return functional.scaled_dot_product_attention(*tensors)

    def by_attention(self, q, k, v):
        return heed.attention(q, k, v, layout="bhsd")

    def test_they_are_refused(self):
        for first in (0, 1):  # with an offset the address is not null
            for known in (False, True):
                whole = draw(3, 4, 9, 16)
                x, size = whole[first:], whole.untyped_storage().nbytes()
                wanted = of_torch(x, x, x)
                for _ in range(3 if known else 0):
                    of_heed(x, x, x)
                    self.by_attention(x, x, x)
                whole.untyped_storage().resize_(0)
                self.refused("query", x, x, x)
                whole.untyped_storage().resize_(size)
                whole.normal_()
                wanted = of_torch(x, x, x)
                self.near(of_heed(x, x, x), wanted)

    def test_masks(self):
        q, mask = draw(2, 4, 9, 16), draw(2, 9, 9)
        for own in (mask[1], mask[1].t()):
            mask.untyped_storage().resize_(2 * 9 * 9 * 4)
            of_heed(q, q, q, own.nan_to_num())
            mask.untyped_storage().resize_(0)
            self.refused("attn_mask", q, q, q, own)

    def test_a_part(self):
        x = draw(2, 4, 9, 16)
        x.untyped_storage().resize_(100)
        self.refused("query", x, x, x)

    def test_plans(self):
        plan = heed.Plan("b1 h2 s16 d8 f32", heed.Context("cpu"))
        q, o = torch.randn(1, 16, 2, 8), torch.empty(1, 16, 2, 8)
        for words in ({}, {"out": o}) * 2:
            plan.execute(q, q, q, **words)
        q.untyped_storage().resize_(0)
        for words in ({}, {"out": o}):
            with self.assertRaisesRegex(heed.InvalidError, "q: its storage has 0 bytes"):
                plan.execute(q, q, q, **words)


class Autocast(Case):
    def test_types_that_it_does_not_cast(self):
        """As torch: it casts no float64 and no integers, which no kernel then accepts together with others."""
        q, mask = draw(2, 4, 9, 16), draw(9, 9)
        double, whole = mask.double(), torch.ones(9, 9, dtype=torch.int32, device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            for tensors in ((q, q, q, double), (q, q, q, whole), (q, q.double(), q), (q, q, q.double()),
                            (q.double(), q, q)):
                for call in (of_torch, of_heed):
                    with self.assertRaises((RuntimeError, TypeError)):
                        call(*tensors)
                with heed.torch.enable(), self.assertRaises(RuntimeError):  # torch's own message
                    functional.scaled_dot_product_attention(*tensors)
            with heed.torch.enable():
                alone = functional.scaled_dot_product_attention(*(q.double(),) * 3, double)
            self.assertIs(alone.dtype, torch.float64)
            for own in (mask, mask.half(), mask > 0):
                own = own if own.dtype is not torch.bool else own | torch.eye(9, dtype=torch.bool, device=DEVICE)
                self.near(of_heed(q, q, q, own), of_torch(q, q, q, own), 2e-2)


if __name__ == "__main__":
    unittest.main()
