#!/usr/bin/env python3
"""Cached calls: the second of a kind must detect every difference, and leak nothing.

    test_calls.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without numpy or heed_call.so
for the interpreter.
"""

import ctypes
import gc
import os
import sys
import threading
import unittest
from unittest import mock

from source_tree import needed

with needed():
    import numpy as np
try:
    import torch
except ImportError:
    torch = None

os.environ["HEED_DEVICE"] = "cpu"  # for plans without a device=; calls follow their arrays
import heed  # noqa: E402
from heed import _again, _attention, _fields, _library, _problem  # noqa: E402

if _again.module is None:
    print("SKIPPED: no heed_call.so for this interpreter")
    sys.exit(77)


def arrays(*shape, count=3):
    random = np.random.default_rng(3)
    return [random.standard_normal(shape).astype(np.float32) for _ in range(count)]


def run_threads(work):
    """Runs work(0) to work(3), each in a thread."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def repeated(
    q, k, v, *, words=_fields.Words(), out=None
):
    """The cached call of heed.attention(), or None."""
    return _again.module.again(_attention._calls.known, words, q, k, v, out, *(None,) * len(_problem.OPERANDS))


class Known(unittest.TestCase):
    def test_it_is_taken(self):
        q, k, v = arrays(1, 5, 2, 8)
        wanted = heed.attention(q, k, v)
        self.assertEqual(repeated(q, k, v).tobytes(), wanted.tobytes())
        out = np.empty_like(q)
        heed.attention(q, k, v, out=out)
        self.assertIs(repeated(q, k, v, out=out), out)
        self.assertEqual(out.tobytes(), wanted.tobytes())

    def test_others_are_not(self):
        q, k, v = arrays(1, 5, 2, 16)
        heed.attention(q, k, v)
        out = np.empty_like(q)
        heed.attention(q, k, v, out=out)
        out.flags.writeable = False
        class Sub(np.ndarray):
            pass
        wide = np.zeros((1, 5, 2, 32), np.float32)
        for other in (q[:, :4], q[:, ::-1], q.astype(np.float16), q.view(np.int32), wide[..., :16],
                      q.tolist(), None, 3, q.view(Sub), q.astype(">f4"), np.zeros((1,) * 9, np.float32)):
            self.assertIsNone(repeated(other, k, v))
            self.assertIsNone(repeated(q, other, v))
            self.assertIsNone(repeated(q, k, other))
        self.assertIsNone(repeated(q, k, v, out=out))
        for words in ((), None, ([],), (1,), 3, "words"):
            self.assertIsNone(repeated(q, k, v, words=words))
        with self.assertRaises(heed.InvalidError):
            heed.attention(q, k, v, out=out)

    def test_words_of_one_value(self):
        """Equal words are the same call, whatever object holds them; different ones are not."""
        q, k, v = arrays(1, 5, 2, 24)
        first = heed.attention(q, k, v, scale=float("0.25"))
        for _ in range(3):
            for scale in ("0.25", "0.5", "0.125"):
                mine = heed.attention(q, k, v, scale=float(scale))
                self.assertEqual(mine.tobytes() == first.tobytes(), scale == "0.25")

    def test_two_libraries(self):
        """Operands are distinguished by their place."""
        q, k, v = arrays(1, 4, 2, 8)
        x = np.random.default_rng(0).standard_normal((2,)).astype(np.float32)
        for _ in range(3):
            with_sinks = heed.attention(q, k, v, sinks=x)
            with_slopes = heed.attention(q, k, v, slopes=x)
            self.assertFalse(np.allclose(with_sinks, with_slopes))

    def test_closed_plans(self):
        q, k, v = arrays(1, 3, 2, 8)
        wanted = heed.attention(q, k, v)
        next(reversed(_attention._plans.values())).close()
        for _ in range(3):  # a new plan is made and cached
            self.assertEqual(heed.attention(q, k, v).tobytes(), wanted.tobytes())
        self.assertIsNotNone(repeated(q, k, v))
        plan = heed.Plan("b1 h2 s3 d8 f32")
        for _ in range(3):
            self.assertEqual(plan.execute(q, k, v).tobytes(), wanted.tobytes())
        plan.close()
        for out in (None, np.empty_like(q)):
            with self.assertRaisesRegex(heed.InvalidError, "plan: it is closed"):
                plan.execute(q, k, v, out=out)

    def test_plans_that_end(self):
        q, k, v = arrays(1, 3, 2, 8)
        for _ in range(200):
            plan = heed.Plan("b1 h2 s3 d8 f32")
            for _ in range(3):
                plan.execute(q, k, v)
            del plan
        gc.collect()

    def test_more_than_are_kept(self):
        for _ in range(2):
            for n in range(1, 300):
                q, k, v = arrays(1, n, 1, 8)
                heed.attention(q, k, v)
        self.assertLessEqual(len(_attention._calls.known), _attention._PLANS_MAX)

    def test_errors_of_the_library(self):
        memory = np.zeros(16 * 4 + 1, np.uint8)
        odd = memory[1:].view(np.float32).reshape(1, 1, 2, 8)
        good = np.zeros((1, 1, 2, 8), np.float32)
        heed.attention(good, good, good)
        for _ in range(2):
            with self.assertRaisesRegex(heed.InvalidError, "aligned"):
                heed.attention(odd, good, good)

    def test_nothing_leaks(self):
        q, k, v = arrays(1, 5, 2, 8)
        out = np.empty_like(q)
        plan = heed.Plan("b1 h2 s5 d8 f32")
        calls = (
            lambda: heed.attention(q, k, v),
            lambda: heed.attention(q, k, v, out=out),
            lambda: heed.attention(q, k, v, return_lse=True),
            lambda: plan.execute(q, k, v),
            lambda: repeated(q, k, v[:, :2]),
        )
        for call in calls:
            call()
        before = [sys.getrefcount(x) for x in (q, k, v, out, plan, q.dtype, None)]
        for call in calls:
            for _ in range(1000):
                call()
        after = [sys.getrefcount(x) for x in (q, k, v, out, plan, q.dtype, None)]
        for x, y in zip(before, after):
            self.assertLess(abs(y - x), 100)

    def test_threads_of_many_plans(self):
        sizes = (3, 40, 200)
        cases = [arrays(1, n, 2, 16) for n in sizes]
        wanted = [heed.attention(*case).tobytes() for case in cases]
        wrong = []

        def work(i):
            for n in range(300):
                case = (i + n) % len(cases)
                if heed.attention(*cases[case]).tobytes() != wanted[case]:
                    wrong.append(case)

        run_threads(work)
        self.assertEqual(wrong, [])

    def test_misuse_of_the_module(self):
        """Wrong arguments raise exceptions, without a crash."""
        m, x = _again.module, np.zeros((2, 2), np.float32)
        for call in (
            lambda: m.again(), lambda: m.again({}, ()), lambda: m.key(), lambda: m.plan(1),
            lambda: m.plan("x", 1, 1), lambda: m.close(3), lambda: m.call(1, 2, 3, 4, 5, 6),
            lambda: m.count(None), lambda: m.set_library(1), lambda: m.set_numpy(1),
            lambda: m.set_torch(1), lambda: m.forget(),
            lambda: m.call(m.plan(0, 0, False), (1 << 20,), None, None, None, None),
            lambda: m.call(m.plan(0, 0, False), (), (len, None, None), None, None, None),
        ):
            with self.assertRaises((TypeError, ValueError, SystemError)):
                call()
        self.assertIsNone(m.again(3, (), x, x, x, None))
        self.assertIsNone(m.again({}, (), x, x, x, None))


@unittest.skipUnless(torch, "no torch")
class OfTorch(unittest.TestCase):
    def setUp(self):
        import heed.torch

        self.attention = heed.torch.scaled_dot_product_attention
        torch.manual_seed(0)
        self.q, self.k, self.v = (torch.randn(2, 3, 5, 8) for _ in range(3))
        self.wanted = self.attention(self.q, self.k, self.v)

    def known(self, *tensors, mask=None, words=(0.0, False, None, False)):
        import heed.torch

        return _again.module.again_plain(heed._sdpa.calls.known, words, *tensors, None, mask)

    def test_it_is_taken(self):
        if self.known(self.q, self.k, self.v) is None:
            self.skipTest("this torch has no __dlpack_c_exchange_api__")
        self.assertTrue(torch.equal(self.known(self.q, self.k, self.v), self.wanted))
        self.assertIsNone(self.known(self.q, self.k, self.v, words=(0.0, True, None, False)))
        self.assertIsNone(self.known(self.q.half(), self.k, self.v))
        self.assertIsNone(self.known(self.q, self.k, self.v.transpose(1, 2)))

    def test_states_that_go_the_long_way(self):
        from torch.autograd import forward_ad

        q, k, v = self.q, self.k, self.v
        with forward_ad.dual_level():
            self.assertIsNone(self.known(q, k, v))
        seen = []
        torch.vmap(lambda q: seen.append(self.known(q, k, v)) or q)(torch.stack([q, q]))
        torch.func.functionalize(lambda q: seen.append(self.known(q, k, v)) or q)(q)
        torch.jit.trace(lambda q: seen.append(self.known(q, k, v)) or q * 2, q, check_trace=False)
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode() as mode:
            seen.append(self.known(mode.from_tensor(q), k, v))
        self.assertEqual(seen, [None] * len(seen))
        self.assertGreaterEqual(len(seen), 4)
        self.assertIsNone(self.known(torch.nn.Parameter(q), k, v))
        self.assertIsNone(self.known(q, k, v.clone().requires_grad_()))
        self.assertIsNone(self.known(torch._neg_view(q), k, v))
        self.assertIsNone(self.known(q.to_sparse(), k, v))
        self.assertIsNone(self.known(q.to("meta"), k, v))

    def test_guards(self):
        """torch.compile's guard replaces two questions for each tensor, and is not trusted in other states."""
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        asked = []

        class Functions(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                asked.append(function)
                return function(*args, **(kwargs or {}))

        class Operations(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        q, k, v = self.q, self.k, self.v
        with Functions():
            self.assertTrue(torch.equal(self.known(q, k, v), self.wanted))
        # the storage of a tensor at a low address might be gone: then the offset is asked for
        self.assertEqual([x for x in asked if x not in (torch.equal, torch.Tensor.storage_offset)], [])
        with Operations():
            self.assertIsNone(self.known(q, k, v))
        with torch.inference_mode():  # the guard does not hold, and all is asked
            self.assertTrue(torch.equal(self.known(q, k, v), self.wanted))
        leaf = torch.randn(2, 3, 7, 8, requires_grad=True)
        with torch.no_grad():
            for _ in range(2):
                self.assertFalse(self.attention(leaf, k, v).requires_grad)
        self.assertTrue(self.attention(leaf, k, v).requires_grad)
        one = torch.randn(2, 3, 6, 8)
        for _ in range(3):  # one tensor three times
            self.assertEqual(self.attention(one, one, one).shape, one.shape)

    def test_autocast_checks_once(self):
        """Calls under autocast are no new calls each time, and no calls of tensors that it casts."""
        import heed._sdpa
        import heed.torch

        if not _again.knows(torch.Tensor):
            self.skipTest("this torch has no __dlpack_c_exchange_api__")
        self.assertIsNotNone(self.known(self.q, self.k, self.v))
        bias = torch.randn(5, 5)
        narrow = [x.bfloat16() for x in (self.q, self.k, self.v)]
        with torch.autocast("cpu", torch.bfloat16), heed.torch.enable():
            of_torch = torch.nn.functional.scaled_dot_product_attention
            wanted = self.attention(*narrow), self.attention(*narrow, bias)
            self.assertIs(of_torch(self.q, self.k, self.v).dtype, torch.bfloat16)
            with mock.patch.object(heed._sdpa, "compute", side_effect=AssertionError("checked")), \
                    mock.patch.object(_attention, "compute", side_effect=AssertionError("checked")):
                for function in (self.attention, of_torch):
                    self.assertTrue(torch.equal(function(*narrow), wanted[0]))
                    self.assertTrue(torch.equal(function(self.q, self.k, self.v), wanted[0]))
                    self.assertTrue(torch.equal(function(*narrow, bias), wanted[1]))
            for bad in ((None, self.k, self.v), (self.q, "k", self.v), (self.q, self.k, self.v, 3)):
                self.assertRaises(heed.ArgumentTypeError, self.attention, *bad)
        self.assertIs(self.attention(self.q, self.k, self.v).dtype, torch.float32)

    def test_masks(self):
        q, k, v = self.q, self.k, self.v
        shown = torch.rand(5, 5) < 0.7
        shown[:, 0] = True
        bias = torch.randn(5, 5)
        of_torch = torch.nn.functional.scaled_dot_product_attention
        for _ in range(3):
            for mask in (None, shown, bias, bias.expand(3, 5, 5), shown[None]):
                mine, wanted = self.attention(q, k, v, mask), of_torch(q, k, v, mask)
                self.assertLess((mine - wanted).abs().max().item(), 1e-5)

    def test_results(self):
        """They have the layout of the query, separate memory, and no gradients."""
        x = torch.randn(2, 5, 3, 8).transpose(1, 2)
        for _ in range(3):
            o = self.attention(x, self.k, self.v)
            self.assertEqual(o.stride(), x.stride())
            self.assertTrue(self.attention(self.q, self.k, self.v).is_contiguous() and not o.requires_grad)
            one, two = self.attention(self.q, self.k, self.v), self.attention(self.q, self.k, self.v)
            self.assertNotEqual(one.data_ptr(), two.data_ptr())
            o = self.attention(self.q[0], self.k[0], self.v[0])
            self.assertEqual(o.shape, (3, 5, 8))
        with torch.no_grad():
            q = self.q.clone().requires_grad_()
            for _ in range(3):
                self.assertFalse(self.attention(q, self.k, self.v).requires_grad)

    def test_nothing_leaks(self):
        q, k, v = self.q, self.k, self.v
        self.attention(q, k, v)
        before = [sys.getrefcount(x) for x in (q, k, v, q.dtype, None)]
        for _ in range(1000):
            self.attention(q, k, v)
            self.known(q.double(), k, v)
        after = [sys.getrefcount(x) for x in (q, k, v, q.dtype, None)]
        for x, y in zip(before, after):
            self.assertLess(abs(y - x), 100)


@unittest.skipUnless(torch, "no torch")
class Workspaces(unittest.TestCase):
    """A CPU plan that claims to be a GPU's: its workspace is allocated per call."""

    def setUp(self):
        if not _again.knows(torch.Tensor):
            self.skipTest("this torch has no __dlpack_c_exchange_api__")
        self.q, self.k, self.v = (torch.randn(1, n, 2, 64) for n in (1, 300, 300))
        self.plan = heed.Plan("b1 h2 s1/300 d64 f32")
        self.size = self.plan.workspace_size
        self.assertGreater(self.size, 0)
        self.addCleanup(self.install, _again.take_workspace, _again.give_workspace)
        self.held, self.asked = {}, []

    def install(self, take, give, execute=_library.library.heed_execute):
        address = ctypes.cast(execute, ctypes.c_void_p).value
        _again.module.set_library(address, _library.check, take, give)

    def take(self, *words):
        memory = (ctypes.c_char * (words[1] + 8))()
        address = ctypes.addressof(memory) // 8 * 8 + 8  # aligned less than heed requires
        self.held[address] = memory
        self.asked.append(words)
        return address

    def call(self, *tensors, cuda=True):
        state = _again.module.plan(self.plan._pointer, self.size, cuda)
        calls = _again.Calls(1)
        calls.known[_again.module.key(None, *tensors, None), None] = _again.module.call(
            state, (), _again.maker_of(tensors[0], tuple(tensors[0].shape), "same"), None, None, None
        )
        return _again.module.again(calls.known, None, *tensors, None)

    def test_they_are_given_back(self):
        self.install(self.take, self.held.__delitem__)
        wanted = heed.attention(self.q, self.k, self.v)
        for _ in range(3):
            o = self.call(self.q, self.k, self.v)
            if o is None:
                self.skipTest("this torch has no __dlpack_c_exchange_api__")
            self.assertTrue(torch.equal(o, wanted))
            self.assertEqual(self.held, {})
        self.assertEqual(self.asked, [(0, self.size + _library.ALIGNMENT, 0)] * 3)

    def test_the_driver_is_not_asked(self):
        """Tensors know the device of their memory."""
        trusted = []

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_library.Buffers))
        def execute(plan, buffers):
            trusted.append(buffers.contents.trusted)
            return 0

        self.install(self.take, self.held.__delitem__, execute)
        for cuda in (True, False):
            self.call(self.q, self.k, self.v, cuda=cuda)
        self.assertEqual(trusted, [1, 0])

    def test_after_an_error(self):
        self.install(self.take, self.held.__delitem__)
        odd = torch.frombuffer(bytearray(4 * 64 + 2), dtype=torch.float32, offset=2)
        with self.assertRaisesRegex(heed.InvalidError, "aligned"):
            self.call(odd.view(1, 1, 1, 64), self.k[:, :, :1], self.v[:, :, :1])
        self.assertEqual((self.held, len(self.asked)), ({}, 1))

    def test_errors_of_the_allocator(self):
        def fail(*words):
            raise MemoryError("all is taken")

        for take, give, error in ((fail, print, MemoryError), (self.take, fail, MemoryError),
                                  (lambda *words: 0, print, TypeError), (lambda *words: None, print, TypeError)):
            self.install(take, give)
            with self.assertRaises(error):
                self.call(self.q, self.k, self.v)

    def test_makers(self):
        """torch.compile's allocation where it cannot be on another device, else the public one."""
        guards, shape, strides = torch._C._dynamo.guards, torch.Size((2, 1, 3)), (1, 6, 2)
        for device, count, quick in (("cpu", 0, "_empty_strided_cpu"), ("cuda:0", 1, "_empty_strided_cuda"),
                                     ("cuda:0", 2, None), ("meta", 1, None)):
            with mock.patch.object(torch.cuda, "device_count", lambda n=count: n), \
                    mock.patch.object(guards, "_empty_strided_cuda", print, create=True):
                made = _again.torch_maker(shape, strides, torch.float16, torch.device(device))
                wanted = getattr(guards, quick, None) if quick else torch.empty_strided
                self.assertIs(made[0], wanted or torch.empty_strided)
            if device.startswith("cuda"):
                continue
            o = made[0](*made[1], **(made[2] or {}))
            self.assertEqual((o.shape, o.stride(), o.dtype, str(o.device)), (shape, strides, torch.float16, device))

    def test_of_torch(self):
        """The slow path if another device is current."""
        given = []
        with mock.patch.object(torch._C, "_cuda_getDevice", lambda: 1, create=True), \
                mock.patch.object(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", lambda *x: x, create=True), \
                mock.patch.object(torch._C, "_cuda_cudaCachingAllocator_raw_delete", given.append, create=True), \
                mock.patch.object(torch.cuda, "caching_allocator_alloc", lambda *x: x):
            self.assertEqual(_again.take_workspace(1, 64, 7), (64, 7))
            self.assertEqual(_again.take_workspace(0, 64, 7), (64, 0, 7))
            _again.give_workspace(64)
        self.assertEqual(given, [64])


@unittest.skipUnless(torch and torch.cuda.is_available(), "no GPU")
class OnCuda(unittest.TestCase):
    """A problem whose keys are split, so that it needs a workspace."""

    def setUp(self):
        import heed.torch

        torch.manual_seed(0)
        self.attention = heed.torch.scaled_dot_product_attention
        self.of_torch = torch.nn.functional.scaled_dot_product_attention
        self.sets = [self.draw() for _ in range(4)]
        self.wanted = [self.of_torch(*x, enable_gqa=True) for x in self.sets]

    def draw(self):
        shapes = ((1, 32, 1, 128), (1, 8, 8192, 128), (1, 8, 8192, 128))
        return [torch.randn(shape, dtype=torch.float16, device="cuda") for shape in shapes]

    def call(self, i):
        return self.attention(*self.sets[i], enable_gqa=True)

    def check(self, o, i):
        torch.cuda.synchronize()
        self.assertLess((o - self.wanted[i]).abs().max().item(), 2e-3)

    def test_it_is_taken(self):
        import heed.torch

        self.call(0)
        before = len(heed._sdpa.calls.known)
        for i in range(4):
            self.check(self.call(i), i)
        self.assertEqual(len(heed._sdpa.calls.known), before)
        known = _again.module.again_plain(
            heed._sdpa.calls.known, (0.0, False, None, True), *self.sets[1], None, None
        )
        self.assertIsNotNone(known)
        self.check(known, 1)

    def test_streams(self):
        """Each stream is in order, and they run concurrently."""
        self.call(0)
        torch.cuda.synchronize()
        streams, found = [torch.cuda.Stream() for _ in range(4)], []
        for n in range(100):
            with torch.cuda.stream(streams[n % 4]):
                found.append(self.call(n % 4))
        for n, o in enumerate(found):
            self.check(o, n % 4)

    def test_graph(self):
        q, k, v = (x.clone() for x in self.sets[0])
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.attention(q, k, v, enable_gqa=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = self.attention(q, k, v, enable_gqa=True)
        for i in (1, 2, 3):
            for mine, given in zip((q, k, v), self.sets[i]):
                mine.copy_(given)
            graph.replay()
            eager = self.call(0)  # concurrently with the graph
            self.check(o, i)
            self.check(eager, 0)

    def test_nothing_is_kept(self):
        """Neither device memory, nor memory of a pool that torch uses for a while, as in a CUDA graph's warm-up."""
        self.check(self.call(0), 0)
        before = torch.cuda.memory_allocated()
        with torch.cuda.stream(torch.cuda.Stream()):
            self.check(self.call(1), 1)
        self.assertEqual(torch.cuda.memory_allocated(), before)
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            found = [self.call(i) for i in range(4)]
        for i, o in enumerate(found):
            self.check(o, i)
        blocks = [block for segment in pool.snapshot() for block in segment["blocks"]]
        self.assertEqual(sum(block["state"] == "active_allocated" for block in blocks), 4)

    def test_threads(self):
        self.call(0)
        wrong = []

        def work(i):
            for _ in range(100):
                o = self.call(i)
                torch.cuda.synchronize()
                if (o - self.wanted[i]).abs().max().item() > 2e-3:
                    wrong.append(i)

        run_threads(work)
        self.assertEqual(wrong, [])

    def test_devices_are_told_apart(self):
        small = [x[:, :, :1, :16].contiguous() for x in self.sets[0]]
        self.attention(*small, enable_gqa=True)
        for mixed in ((small[0].cpu(), *small[1:]), (*small[:2], small[2].cpu())):
            with self.assertRaisesRegex(heed.InvalidError, "it is on"):
                self.attention(*mixed, enable_gqa=True)


if __name__ == "__main__":
    unittest.main()
