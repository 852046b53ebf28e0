#!/usr/bin/env python3
"""heed.torch beside torch's own scaled_dot_product_attention, on a CPU, and on a GPU if torch has one.

    test_torch.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 where there
is no torch.
"""

import pathlib
import sys
import unittest
import warnings

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention as of_torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
import heed.torch  # noqa: E402

of_heed = heed.torch.scaled_dot_product_attention
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDING = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, device=DEVICE)


def draw_mask(*shape):
    mask = torch.rand(*shape, device=DEVICE) < 0.7
    mask[..., 0] = True
    return mask


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def near(self, mine, wanted, bound=1e-5):
        self.assertEqual(mine.shape, wanted.shape)
        self.assertIs(mine.dtype, wanted.dtype)
        off = (mine.float() - wanted.float()).norm() / wanted.float().norm()
        self.assertLess(off.item(), bound)

    def same(self, *tensors, bound=1e-5, **words):
        self.near(of_heed(*tensors, **words), of_torch(*tensors, **words), bound)


class Forward(Case):
    def test_types_and_words(self):
        for dtype, bound in ROUNDING.items():
            q, k = draw(2, 4, 33, 32, dtype=dtype), draw(2, 4, 50, 32, dtype=dtype)
            v = draw(2, 4, 50, 24, dtype=dtype)
            self.same(q, k, v, bound=bound)
            self.same(q, k, v, bound=bound, is_causal=True)
            self.same(q, k, v, bound=bound, scale=0.3)
            self.same(q, k[:, :2], v[:, :2], bound=bound, enable_gqa=True)
            self.same(q, k[:1], v[:1], bound=bound)

    def test_masks(self):
        q, k, v = draw(2, 4, 33, 32), draw(2, 4, 50, 32), draw(2, 4, 50, 24)
        shapes = ((33, 50), (2, 1, 33, 50), (4, 33, 50), (2, 1, 1, 50), (2, 4, 33, 50))
        for shape in shapes:
            self.same(q, k, v, draw_mask(*shape))
            self.same(q, k, v, draw(*shape))
        none = draw_mask(33, 50)
        none[7] = False
        self.assertTrue((of_heed(q, k, v, none)[:, :, 7] == 0).all())

    def test_dimensions(self):
        q = draw(2, 3, 4, 7, 8)
        for mask in (draw_mask(7, 7), draw_mask(4, 7, 7), draw_mask(2, 3, 1, 7, 7)):
            self.same(q, q, q, mask)
        for shape in ((7, 8), (5, 7, 8), (2, 3, 4, 7, 8), (1, 2, 2, 3, 7, 8)):
            self.same(*(draw(*shape) for _ in range(3)))

    def test_views(self):
        q, k, v = draw(2, 37, 3, 4, 16).permute(2, 0, 3, 1, 4)
        self.same(q, k, v, is_causal=True)

    def test_autocast(self):
        q, k, v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)
        wanted = of_torch(q, k, v)
        with torch.autocast(DEVICE, torch.bfloat16):
            self.near(of_heed(q, k, v), wanted.bfloat16(), 2e-2)

    def test_vmap(self):
        q, k, v = draw(3, 2, 4, 9, 16), draw(3, 2, 4, 9, 16), draw(3, 2, 4, 9, 16)
        self.near(torch.vmap(of_heed)(q, k, v), of_torch(q, k, v))
        mine = torch.vmap(of_heed, in_dims=(1, None, 1))(q.movedim(0, 1), k[0], v.movedim(0, 1))
        self.near(mine, of_torch(q, k[:1], v))
        mask = draw_mask(3, 9, 9)
        self.near(torch.vmap(of_heed)(q, k, v, mask), of_torch(q, k, v, mask[:, None, None]))
        mine = torch.vmap(of_heed, in_dims=(0, 0, 0, None))(q, k, v, mask[0])
        self.near(mine, of_torch(q, k, v, mask[0]))
        mask = draw_mask(3, 2, 1, 9, 9)
        self.near(torch.vmap(of_heed)(q, k, v, mask), of_torch(q, k, v, mask))


class Gradients(Case):
    def check(self, function, *words):
        mine = [draw(2, 4, 33, 32), draw(2, 2, 50, 32), draw(2, 2, 50, 24)]
        wanted = [x.clone().requires_grad_() for x in mine]
        mine = [x.requires_grad_() for x in mine]
        masks = [None if x is None else x.clone().requires_grad_() for x in words * 2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*mine, *masks[:1], enable_gqa=True).square().sum().backward()
        of_torch(*wanted, *masks[1:], enable_gqa=True).square().sum().backward()
        for x, y in zip(mine, wanted):
            self.near(x.grad, y.grad, 1e-4)
        if masks:
            self.near(masks[0].grad, masks[1].grad, 1e-4)

    def test_as_of_torch(self):
        self.check(of_heed)
        self.check(of_heed, draw(2, 4, 33, 50))

    def test_said_once(self):
        q = draw(1, 1, 3, 8).requires_grad_()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            for _ in range(3):
                of_heed(q, q, q).sum().backward()
        self.assertEqual([str(one.message)[:12] for one in said], ["heed has no "])


class Operator(Case):
    def test_checks_of_torch(self):
        q, k, v = draw(2, 4, 9, 16), draw(2, 2, 9, 16), draw(2, 2, 9, 16)
        wanting = [x.clone().requires_grad_() for x in (q, k, v)]
        operator = torch.ops.heed.scaled_dot_product_attention.default
        for call in ((q, k, v, None, False, None), (q, k, v, draw_mask(9, 9), False, 0.3),
                     (*wanting, None, True, None)):
            for name, outcome in torch.library.opcheck(operator, call).items():
                self.assertEqual(outcome, "SUCCESS", name)

    def test_called_where_it_is_needed(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        q, k, v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)
        traced = make_fx(lambda q, k, v: of_heed(q, k, v))(q, k, v)
        self.assertIn("heed.scaled_dot_product_attention", traced.code)
        with self.assertRaises(RuntimeError):  # neither a gradient nor a tangent is lost in silence
            torch.func.grad(lambda q: of_heed(q, k, v).sum())(q)
        with self.assertRaises(heed.UnsupportedError):
            torch.func.jvp(of_heed, (q, k, v), (q, k, v))

    def test_compile(self):
        def model(q, k, v):
            return of_heed(2 * q, k, v, is_causal=True) + 1

        tensors = [draw(2, 4, 33, 16).requires_grad_() for _ in range(3)]
        copies = [x.detach().clone().requires_grad_() for x in tensors]
        mine = torch.compile(model, fullgraph=True)(*tensors)
        wanted = of_torch(2 * copies[0], *copies[1:], is_causal=True) + 1
        self.near(mine, wanted)
        mine.square().sum().backward()
        wanted.square().sum().backward()
        for x, y in zip(tensors, copies):
            self.near(x.grad, y.grad, 1e-4)


class Mistakes(Case):
    def test_arguments(self):
        q, k, v = draw(2, 4, 9, 16), draw(2, 2, 9, 16), draw(2, 2, 9, 16)
        mask = draw_mask(9, 9)
        rows = (
            (heed.UnsupportedError, "dropout_p: 0.1", (q, q, q), {"dropout_p": 0.1}),
            (heed.InvalidError, "attn_mask: must be None", (q, q, q, mask), {"is_causal": True}),
            (heed.InvalidError, "enable_gqa=True", (q, k, v), {}),
            (heed.ArgumentTypeError, "float64", (q.double(), q.double(), q.double()), {}),
            (heed.InvalidError, "mask", (q, q, q, draw_mask(9, 8)), {}),
            (heed.InvalidError, "2 or more", (q[0, 0, 0], q, q), {}),
            (heed.InvalidError, "key: its first dimensions",
             (draw(2, 3, 4, 7, 8), draw(3, 2, 4, 7, 8), draw(3, 2, 4, 7, 8)), {}),
            (heed.InvalidError, "attn_mask: its first dimensions",
             (draw(2, 3, 4, 7, 8),) * 3 + (draw_mask(6, 4, 7, 7),), {}),
            (heed.InvalidError, "without a copy",
             (draw(4, 2, 3, 7, 8).transpose(0, 2), draw(3, 2, 4, 7, 8), draw(3, 2, 4, 7, 8)), {}),
        )
        for error, part, tensors, words in rows:
            with self.assertRaisesRegex(error, part):
                of_heed(*tensors, **words)


if __name__ == "__main__":
    unittest.main()
