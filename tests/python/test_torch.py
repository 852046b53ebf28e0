#!/usr/bin/env python3
"""heed.torch compared with torch's own scaled_dot_product_attention, on a CPU, and on a GPU if torch has one.

    test_torch.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without torch.
"""

import contextlib
import gc
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

from torch_case import (  # first: it exits without torch
    DEVICE,
    Case,
    FakeTensorMode,
    define,
    draw,
    draw_mask,
    heed,
    of_backend,
    of_heed,
    of_torch,
    torch,
    without_elements,
)
from torch.nn.attention import SDPBackend

ROUNDING = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}
HALF = (SDPBackend.FLASH_ATTENTION.value, SDPBackend.CUDNN_ATTENTION.value)
BACKENDS = {torch.float32: (SDPBackend.EFFICIENT_ATTENTION.value,), torch.float16: HALF, torch.bfloat16: HALF}


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

    def test_masks_that_are_copied(self):
        """Non-contiguous rows, which torch refuses on a GPU; the second time with other values, which must not be
        cached."""
        q, k, v = draw(2, 4, 33, 32), draw(2, 4, 50, 32), draw(2, 4, 50, 24)

        def check(mask):
            self.near(of_heed(q, k, v, mask), of_torch(q, k, v, mask.expand(2, 4, 33, 50).contiguous()))

        for shape in ((33, 1), (1, 1), (2, 4, 1, 1), (4, 33, 1), (2, 1, 33, 1)):
            for _ in range(2):
                check(draw(*shape))
                shown = draw_mask(*shape[:-1], 2)[..., 1:]
                shown[..., :1, :] = True
                check(shown)
        for _ in range(2):
            for mask in (draw(50, 33).t(), draw(33, 100)[:, ::2], draw(33, 1).expand(33, 50),
                         draw(2, 1, 50, 33).transpose(2, 3), draw_mask(33, 101)[:, ::2][:, :50]):
                check(mask)

    def test_empty(self):
        """Zeros in torch's shape, with gradients."""
        x = draw(2, 0, 5, 8)
        self.assertEqual(of_heed(x, x, x).shape, x.shape)  # with no heads torch divides by zero
        for shape in ((0, 4, 5, 8), (2, 4, 0, 8), (0, 5, 8), (2, 0, 4, 5, 8)):
            q, k = draw(*shape), draw(*shape[:-2], 7, 8)
            self.assertEqual(of_heed(q, k, k).shape, of_torch(q, k, k).shape)
            self.assertEqual(of_heed(q, k, k[..., :3]).shape, of_torch(q, k, k[..., :3]).shape)
        q, k = draw(2, 4, 5, 8), draw(2, 4, 7, 8)
        for tensors in ((q, k[:, :, :0], k[:, :, :0]), (q, k, k[..., :0])):
            mine, wanted = of_heed(*tensors), of_torch(*tensors)
            self.assertTrue(torch.equal(mine, wanted))
        none = k[:, :, :0]
        for other, words in ((none[:1].expand(3, -1, -1, -1), {}), (none[:, :3], {"enable_gqa": True}),
                             (none[:, :0], {"enable_gqa": True})):  # batch and heads that do not fit the query's
            with self.assertRaisesRegex(heed.InvalidError, "^key: .* query"):
                of_heed(q, other, other, **words)
        q.requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            of_heed(q, k[:, :, :0], k[:, :, :0]).sum().backward()
        self.assertTrue((q.grad == 0).all())

    def test_scales(self):
        """0 gives means of the values. Backends of torch multiply it by the -inf of missing keys."""
        causal = torch.ones(9, 50, dtype=torch.bool, device=DEVICE).tril()
        for dtype, bound in ROUNDING.items():
            q, k, v = (draw(2, 4, n, 16, dtype=dtype) for n in (9, 50, 50))
            for scale in (0, 0.0, -0.0, 1e-50, -0.3):
                self.near(of_heed(q, k, v, scale=scale), define(q, k, v, scale=scale), bound)
            for mask in (draw(9, 50), draw_mask(9, 50)):
                self.near(of_heed(q, k, v, mask, scale=0.0), define(q, k, v, mask, scale=0.0), bound)
            self.near(of_heed(100 * q, 100 * k, v, scale=0.0), define(q, k, v, scale=0.0), bound)
            self.near(of_heed(q, k, v, is_causal=True, scale=0.0), define(q, k, v, causal, 0.0), bound)

    def test_dimensions(self):
        q = draw(2, 3, 4, 7, 8)
        for mask in (draw_mask(7, 7), draw_mask(4, 7, 7), draw_mask(2, 3, 1, 7, 7), draw_mask(2, 1, 1, 7, 7),
                     draw(1, 3, 4, 7, 7), draw(2, 1, 4, 7, 1)):
            self.same(q, q, q, mask)
        for k in (draw(2, 1, 4, 9, 8), draw(1, 3, 4, 9, 8), draw(4, 9, 8)):
            for _ in range(2):
                self.same(q, k, k)
                k.normal_()
        for shape in ((7, 8), (5, 7, 8), (2, 3, 4, 7, 8), (1, 2, 2, 3, 7, 8)):
            self.same(*(draw(*shape) for _ in range(3)))

    def test_views(self):
        q, k, v = draw(2, 37, 3, 4, 16).permute(2, 0, 3, 1, 4)
        self.same(q, k, v, is_causal=True)

    def queries(self):
        return (
            draw(2, 4, 5, 8), draw(2, 5, 4, 8).transpose(1, 2), draw(2, 5, 3, 4, 8).permute(2, 0, 3, 1, 4)[0],
            draw(5, 2, 4, 8).permute(1, 2, 0, 3), draw(2, 4, 5, 20)[..., :8], draw(1, 1, 5, 8).expand(2, 4, 5, 8),
            draw(2, 1, 4, 8).transpose(1, 2), draw(4, 2, 5, 8).transpose(0, 1),
        )

    def laid_out_as_of_torch(self, *tensors, **words):
        mine, wanted = self.same(*tensors, **words, bound=2e-3)
        if DEVICE == "cpu" or mine.dim() != 4:
            return self.laid_out(mine, wanted)
        self.laid_out(mine, of_backend(*tensors[:3]))
        if torch._fused_sdp_choice(*tensors, **words) in BACKENDS[mine.dtype]:
            self.laid_out(mine, wanted)

    def test_strides(self):
        """Strides are those of torch, also in the second call, which is cached; on a GPU those of the backend that
        supports the type, which torch may not have chosen."""
        k, v, wide = draw(2, 4, 7, 8), draw(2, 4, 7, 8), draw(2, 4, 7, 12)
        for q in self.queries():
            cases = (
                ((q, k, v), {}), ((q, k, wide), {}), ((q.half(), k.half(), v.half()), {}),
                ((q, k, v, draw(q.shape[2], 7)), {}), ((q, k[:, :2], v[:, :2]), {"enable_gqa": True}),
                ((q[0], k[0], v[0]), {}),
            )
            if DEVICE == "cpu":  # torch's result for broadcast keys has the strides of a backend
                cases += (((q, k[:, :1], v[:, :1]), {}), ((q, k[:1], v[:1]), {}))
                # no fused kernel has such a mask
                cases += (((q, k, v, draw(4, q.shape[2], 7)), {}),
                          ((q, k, v, draw(q.shape[2], 7).requires_grad_()), {}))
            for tensors, words in cases:
                for _ in range(2):
                    self.laid_out_as_of_torch(*tensors, **words)
        self.laid_out_as_of_torch(draw(2, 3, 5, 4, 8).transpose(2, 3), draw(2, 3, 4, 7, 8), draw(2, 3, 4, 7, 8))

    def test_strides_on_a_gpu(self):
        """As torch's GPU backends infer them for tensors without elements."""
        for q in self.queries():
            for dim in (8, 12):
                for dtype in ROUNDING:
                    tensors = [x.to(dtype) for x in (q, draw(2, 4, 7, 8), draw(2, 4, 7, dim))]
                    with self.subTest(dtype=dtype, dim=dim, stride=q.stride()), FakeTensorMode():
                        q0, _, v0 = (without_elements(x, "cuda") for x in tensors)
                        mine = heed._sdpa.result_like(q0, v0, False)
                        self.assertEqual(mine.shape, (*q.shape[:3], dim))
                        self.assertEqual(mine.stride(3), 1)
                        self.laid_out(mine, of_backend(*tensors))

    def test_autocast(self):
        q, k, v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)
        wanted = of_torch(q, k, v)
        with torch.autocast(DEVICE, torch.bfloat16):
            self.near(of_heed(q, k, v), wanted.bfloat16(), 2e-2)

    def test_autocast_to_other_types(self):
        """Calls that are known in one state of autocast, or in none, are others in another."""
        types = (torch.float16, torch.bfloat16)
        tensors = {t: [x.to(t) for x in (draw(2, 4, 9, 16) for _ in range(3))] for t in types}
        for _ in range(3):
            for own in types:
                of_heed(*tensors[own])
                for cast in types:
                    with torch.autocast(DEVICE, cast):
                        self.assertEqual(of_heed(*tensors[own]).dtype, cast)

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

    def test_negative_scale(self):
        """torch's fused kernel for CPUs has NaN under a causal mask."""
        ours, theirs = ([draw(1, 2, 9, 16).requires_grad_() for _ in range(3)] for _ in range(2))
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            for x, y in zip(theirs, ours):
                x.copy_(y)
            with torch.enable_grad():
                of_heed(*ours, is_causal=True, scale=-0.3).square().sum().backward()
                with torch.nn.attention.sdpa_kernel(SDPBackend.MATH):
                    of_torch(*theirs, is_causal=True, scale=-0.3).square().sum().backward()
        for x, y in zip(ours, theirs):
            self.near(x.grad, y.grad, 1e-4)

    def test_means(self):
        """With a scale of 0 torch's own gradients are NaN under a causal mask."""
        q, k, v = (draw(2, 4, 9, 16).requires_grad_() for _ in range(3))
        weights = torch.tril(torch.ones(9, 9, device=DEVICE)) / torch.arange(1, 10, device=DEVICE)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            of_heed(q, k, v, is_causal=True, scale=0.0).sum().backward()
        self.assertFalse(q.grad.any() or k.grad.any())
        self.near(v.grad, weights.sum(0)[:, None].expand_as(v))

    def test_rows_without_keys(self):
        mask = draw_mask(9, 9)
        mask[3] = False
        for words in ({}, {"scale": 0.0}):
            q, k, v = (draw(2, 4, 9, 16).requires_grad_() for _ in range(3))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                of_heed(q, k, v, mask, **words).sum().backward()
            self.assertFalse(q.grad[:, :, 3].any())
            self.assertTrue(all(x.grad.isfinite().all() for x in (q, k, v)))

    def test_of_gradients(self):
        tensors = [draw(2, 4, 9, 16) for _ in range(3)]
        found = []
        math = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
        for function, backend in ((of_heed, contextlib.nullcontext()), (of_torch, math)):
            own = [x.clone().requires_grad_() for x in tensors]
            with warnings.catch_warnings(), backend:
                warnings.simplefilter("ignore")
                o = function(*own, is_causal=True)
                first = torch.autograd.grad(o.square().sum(), own, create_graph=True)
                found.append(torch.autograd.grad(sum(x.square().sum() for x in first), own))
        for mine, wanted in zip(*found):
            self.near(mine, wanted, 1e-4)

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
        turned = draw(2, 9, 4, 16).transpose(1, 2)
        for call in ((q, k, v, None, False, None), (q, k, v, draw_mask(9, 9), False, 0.3),
                     (*wanting, None, True, None), (turned, k, v, None, False, None),
                     (turned.clone().requires_grad_(), k, v, None, False, None, True)):
            for name, outcome in torch.library.opcheck(operator, call).items():
                self.assertEqual(outcome, "SUCCESS", name)

    def test_called_where_it_is_needed(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        q, k, v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)
        traced = make_fx(lambda q, k, v: of_heed(q, k, v))(q, k, v)
        self.assertIn("heed.scaled_dot_product_attention", traced.code)
        # Neither a gradient nor a tangent is lost silently.
        with self.assertRaisesRegex(heed.UnsupportedError, r"torch.func .*use tensor.backward\(\)"):
            torch.func.grad(lambda q: of_heed(q, k, v).sum())(q)
        with self.assertRaisesRegex(heed.UnsupportedError, "use tensor.backward"):
            torch.func.grad(lambda q: torch.vmap(of_heed)(q, k, v).sum())(q)
        with self.assertRaises(heed.UnsupportedError):
            torch.func.jvp(of_heed, (q, k, v), (q, k, v))

    def test_compile_dynamic(self):
        compiled = torch.compile(lambda x, mask: of_heed(x, x, x, mask).transpose(1, 2).flatten(2) + 1,
                                 fullgraph=True, dynamic=True, backend="aot_eager")
        for batch, length in ((2, 5), (2, 6), (3, 17), (4, 17)):
            x, mask = draw(batch, length, 4, 8).transpose(1, 2), draw(length, length)
            self.near(compiled(x, mask), of_torch(x, x, x, mask).transpose(1, 2).flatten(2) + 1)

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


class Precision(Case):
    """For float32: torch's setting at the time of the call determines the permitted products."""

    NEW = hasattr(torch.backends, "fp32_precision")  # of torch 2.9

    def setUp(self):
        super().setUp()
        heed.torch.report(clear=True)
        self.x = draw(1, 2, 9, 16)
        self.addCleanup(self.reset)

    def reset(self):
        torch.set_float32_matmul_precision("highest")
        if self.NEW:
            torch.backends.fp32_precision = "none"
            for backend in (torch.backends.cuda, torch.backends.mkldnn):
                backend.matmul.fp32_precision = "ieee"

    def products(self, call=of_heed, x=None):
        """For a call on x alone."""
        heed.torch.report(clear=True)
        x = self.x if x is None else x
        call(x, x, x)
        ((calls, problem, _, reason),) = heed.torch.report()
        self.assertEqual((calls, reason), (1, None))
        words = [word for word in problem.split() if word.startswith("products=")]
        return words[0] if words else None

    def enabled(self, *tensors):
        with heed.torch.enable():
            return torch.nn.functional.scaled_dot_product_attention(*tensors)

    @unittest.skipUnless(NEW or DEVICE == "cuda", "this torch has no setting for a CPU")
    def test_it_follows(self):
        compiled = torch.compile(lambda *x: of_heed(*x) + 1, fullgraph=True, backend="aot_eager")
        mapped = torch.vmap(of_heed)
        ways = (of_heed, self.enabled, compiled, lambda q, k, v: mapped(q[None], k[None], v[None]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for setting in ("highest", "high", "medium", "high", "highest"):
                torch.set_float32_matmul_precision(setting)
                for way, call in enumerate(ways):
                    for _ in range(3):  # two of which are cached
                        with self.subTest(setting=setting, way=way):
                            wanted = None if setting == "highest" else "products=tf32"
                            self.assertEqual(self.products(call), wanted)

    @unittest.skipUnless(heed._again.knows(torch.Tensor), "calls of this torch are not repeated in C")
    def test_known_calls(self):
        """Once each setting is cached, calls with either are repeated in C."""
        settings = ("highest", "high", "medium")
        for setting in settings:
            torch.set_float32_matmul_precision(setting)
            of_heed(self.x, self.x, self.x)
        with mock.patch.object(heed._sdpa, "_check", side_effect=AssertionError("the long way")):
            for setting in settings * 2:
                torch.set_float32_matmul_precision(setting)
                self.assertEqual(self.products(), None if setting == "highest" else "products=tf32")

    @unittest.skipUnless(NEW, "torch has one setting")
    def test_settings_of_torch_2_9(self):
        """Settings of one backend, of all, and old ones together with new ones, for which torch's own getters raise."""
        own = getattr(torch.backends, "cuda" if DEVICE == "cuda" else "mkldnn")
        other = getattr(torch.backends, "mkldnn" if DEVICE == "cuda" else "cuda")
        reduced = "products=tf32"
        steps = (
            (own.matmul, "tf32", reduced), (own.matmul, "ieee", None), (other.matmul, "tf32", None),
            (own.matmul, "none", None), (torch.backends, "tf32", reduced), (own.matmul, "ieee", None),
            (own.matmul, "none", reduced), (torch.backends, "none", None),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for step, (place, setting, wanted) in enumerate(steps):
                place.fp32_precision = setting
                with self.subTest(step=step):
                    self.assertEqual([self.products(), self.products()], [wanted] * 2)
            if DEVICE == "cpu":
                own.matmul.fp32_precision = "bf16"
                self.assertEqual(self.products(), reduced)

    def test_each_device_has_its_own(self):
        from heed._precision import products_of
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            there = torch.empty(1, device="cuda")
        self.assertEqual(products_of(there), "full")
        torch.backends.cuda.matmul.allow_tf32 = True
        self.assertEqual(products_of(there), "tf32")
        self.assertEqual(products_of(there.half()), "full")
        self.assertEqual(products_of(torch.empty(1)), "full")
        torch.backends.cuda.matmul.allow_tf32 = False
        self.assertEqual(products_of(there), "full")

    def test_of_half_types_there_is_none(self):
        torch.set_float32_matmul_precision("high")
        for dtype in (torch.float16, torch.bfloat16):
            self.assertIsNone(self.products(x=self.x.to(dtype)))
        with torch.autocast(DEVICE, torch.bfloat16):
            self.assertIsNone(self.products())


class Memory(Case):
    def test_nothing_is_kept(self):
        """No tensor that a call makes outlives it: a CUDA graph's warm-up refuses any except results."""
        q, k, v = draw(2, 4, 9, 16), draw(2, 4, 9, 16), draw(2, 4, 9, 16)
        wide, mask = draw(1, 2, 5, 1200), draw(9, 1)
        heeds, either = torch.ops.heed.scaled_dot_product_attention, torch.ops.heed.attention_or_torch
        calls = (
            lambda: of_heed(q, k, v), lambda: of_heed(q, k, v, mask), lambda: heeds(q, k, v, None, True, None),
            lambda: either(q, k, v, mask, False, 0.0, False), lambda: either(wide, wide, wide, None, False, None, False),
            lambda: heed.attention(q, k, v, bias=mask.expand(9, 9).contiguous(), layout="bhsd"),
            lambda: self.assertRaises(heed.InvalidError, of_heed, q, k[..., :8], v, mask),
        )

        def tensors():
            return sum(type(x) is torch.Tensor for x in gc.get_objects())
        for number, call in enumerate(calls):
            with self.subTest(number):
                for _ in range(3):  # the first makes a plan, the second is cached
                    gc.collect()
                    before = tensors()
                    gc.disable()
                    try:
                        call()
                        self.assertEqual(tensors(), before)
                    finally:
                        gc.enable()


class Names(unittest.TestCase):
    def test_they_are_of_one_module(self):
        for name in (*heed.torch.__all__, "Enabled"):
            self.assertEqual(getattr(heed.torch, name).__module__, "heed.torch")


class Mistakes(Case):
    def test_old_versions(self):
        there = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        for module in ("torch", "flash_attn", "flash_attn_3"):
            lines = f'import torch; torch.__version__ = "2.4.1"; import heed; heed.attention; import heed.{module}'
            ended = subprocess.run([sys.executable, "-c", lines], env=there, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stderr, "ImportError: heed's operators need PyTorch 2.5 or later, this is 2.4.1")

    def test_arguments(self):
        q, k, v = draw(2, 4, 9, 16), draw(2, 2, 9, 16), draw(2, 2, 9, 16)
        mask = draw_mask(9, 9)
        rows = (
            (heed.UnsupportedError, "dropout_p: 0.1", (q, q, q), {"dropout_p": 0.1}),
            (heed.InvalidError, "attn_mask: must be None", (q, q, q, mask), {"is_causal": True}),
            (heed.InvalidError, "enable_gqa=True", (q, k, v), {}),
            (heed.ArgumentTypeError, "float64", (q.double(), q.double(), q.double()), {}),
            (heed.ArgumentTypeError, "query: dtype torch.float64", (q.double(), q.double(), q.double()), {}),
            (heed.InvalidError, "attn_mask: shape is .* does not broadcast", (q, q, q, draw_mask(9, 8)), {}),
            (heed.InvalidError, "attn_mask: shape is .* does not broadcast", (q, q, q, draw(8, 9)), {}),
            (heed.InvalidError, "key: head dim is 8, that of query 16", (q, q[..., :8], q), {}),
            (heed.ArgumentTypeError, "value: dtype is f16, that of query f32", (q, q, q.half()), {}),
            (heed.ArgumentTypeError, "attn_mask: dtype torch.float16 is not bool, float32", (q, q, q, mask.half()), {}),
            (heed.ArgumentTypeError, "attn_mask: dtype torch.int32", (q, q, q, mask.int()), {}),
            (heed.ArgumentTypeError, "is_causal: int is not a bool", (q, q, q), {"is_causal": 1}),
            (heed.ArgumentTypeError, "is_causal: NoneType", (q, q, q), {"is_causal": None}),
            (heed.ArgumentTypeError, "enable_gqa: int", (q, q, q), {"enable_gqa": 1}),
            (heed.ArgumentTypeError, "scale: str", (q, q, q), {"scale": "x"}),
            (heed.InvalidError, "scale is inf", (q, q, q), {"scale": float("inf")}),
            (heed.InvalidError, "enable_gqa needs 3", (q[0, 0], q[0, 0], q[0, 0]), {"enable_gqa": True}),
            (heed.ArgumentTypeError, "query: a tensor of layout torch.sparse", (q.to_sparse(), q, q), {}),
            (heed.ArgumentTypeError, "query: .*device meta", (q.to("meta"),) * 3, {}),
            (heed.InvalidError, "2 or more", (q[0, 0, 0], q, q), {}),
            (heed.InvalidError, "key: its first dimensions",
             (draw(2, 3, 4, 7, 8), draw(3, 2, 4, 7, 8), draw(3, 2, 4, 7, 8)), {}),
            (heed.InvalidError, "attn_mask: its first dimensions",
             (draw(2, 3, 4, 7, 8),) * 3 + (draw_mask(6, 4, 7, 7),), {}),
            (heed.InvalidError, "without a copy",
             (draw(4, 2, 3, 7, 8).transpose(0, 2), draw(3, 2, 4, 7, 8), draw(3, 2, 4, 7, 8)), {}),
        )
        for error, part, tensors, words in rows:
            with self.subTest(part=part), self.assertRaisesRegex(error, part):
                of_heed(*tensors, **words)
        for word, kind in (("is_causal", "int"), ("enable_gqa", "float")):
            of_heed(q, q, q, **{word: True})  # which is cached now, and not confused with 1
            with self.assertRaisesRegex(heed.ArgumentTypeError, f"{word}: {kind} is not a bool"):
                of_heed(q, q, q, **{word: 1 if kind == "int" else 1.0})
        with self.assertRaises(TypeError):
            of_heed(q, q, q, None, 0.0, False, 0.5)
        with heed.torch.enable():
            for words in ({"is_causal": 1}, {"is_causal": None}):
                with self.assertRaisesRegex(TypeError, "argument 'is_causal' .*must be bool"):
                    torch.nn.functional.scaled_dot_product_attention(q, q, q, **words)


if __name__ == "__main__":
    unittest.main()
