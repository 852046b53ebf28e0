#!/usr/bin/env python3
"""Contexts and plans of a CUDA device from Python, with a fake driver in host memory (fake_cuda.h).

    test_cuda.py FAKE_CUDA

case.py says where the package and the library come from. Exits with 77 without numpy.
"""

import ctypes
import os
import sys
import tempfile
import unittest
from unittest import mock

FAKE = sys.argv.pop(1)
COPIES = 64  # bytes of V that the driver copies to O, its only work
CACHE = tempfile.TemporaryDirectory()
os.environ.update(HEED_LIBCUDA=FAKE, HEED_NVRTC=FAKE, HEED_NVML=FAKE, HEED_CUBINS="", HEED_CACHE=CACHE.name,
                  FAKE_CUDA_ARCH="80", FAKE_CUDA_DEVICES="2", FAKE_CUDA_COPIES=str(COPIES))

from case import Case, heed  # noqa: E402
from heed import _arrays, _context  # noqa: E402

NAIVE = "fwd_any_sm80_naive"
SPEC = "b2 h4 s1024 d64 f16"


def second_line(plan):
    """The kernel in use, if the plan has a choice."""
    return plan.explain().splitlines()[2]


class Compilation(Case):
    def test_in_the_background(self):
        with heed.Context("cuda", compile="background") as context:
            heed.Plan(SPEC, context, kernel=NAIVE)
            plan = heed.Plan(SPEC, context)
            self.assertIn(NAIVE, second_line(plan))  # it is in use, or was until now
            plan.wait()
            self.assertIn(f"it is in use; {NAIVE} ran", second_line(plan))
            self.assertNotIn(NAIVE, plan.name)
            self.assertFalse(plan.deterministic)
            invariant = heed.Plan(f"{SPEC} invariant", context)
            self.assertTrue(invariant.deterministic)
            heed.Plan(f"{SPEC} causal", context, kernel=NAIVE)
            heed.Plan(f"{SPEC} causal", context)  # destroyed during compilation

    def test_now(self):
        spec = "b2 h4 s1024 d128 f16"
        with heed.Context("cuda") as context:
            heed.Plan(spec, context, kernel=NAIVE)
            plan = heed.Plan(spec, context)
            self.assertTrue(plan.deterministic)
            self.assertNotIn("serve", plan.explain())
            plan.wait()

    def test_contexts_of_calls(self):
        """Kernels of heed.attention() are compiled in the background, unless the environment disables it."""
        for word, deterministic, dim in (("", False, 32), ("now", True, 96)):
            spec = f"b2 h4 s1024 d{dim} f16"
            with mock.patch.dict(os.environ, HEED_COMPILE=word), mock.patch.dict(_context._contexts, clear=True):
                context = _context.context_of("cuda:0")
                heed.Plan(spec, context, kernel=NAIVE)
                self.assertEqual(heed.Plan(spec, context).deterministic, deterministic)
                context.close()

    def test_mistakes(self):
        self.refused(heed.InvalidError, "compile: 'soon'", lambda: heed.Context("cuda", compile="soon"))
        self.refused(heed.ArgumentTypeError, "compile: int", lambda: heed.Context("cuda", compile=1))
        with mock.patch.dict(os.environ, HEED_COMPILE="soon"), mock.patch.dict(_context._contexts, clear=True):
            self.refused(heed.InvalidError, "HEED_COMPILE: 'soon'", lambda: _context.context_of("cuda:0"))


def entry(name, version, *arguments):
    """Looks up a function of the driver."""
    driver, found = ctypes.CDLL(FAKE), ctypes.c_void_p()
    find = driver.cuGetProcAddress_v2
    find.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p]
    assert find(name, ctypes.byref(found), version, 0, None) == 0, name
    result = ctypes.CFUNCTYPE(ctypes.c_int)(found.value)(*arguments)
    assert result == 0, (name, result)


def allocate(size, device):
    """Device memory, which here is host memory and is not freed."""
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    entry(b"cuDevicePrimaryCtxRetain", 7000, ctypes.byref(context), device)
    entry(b"cuCtxPushCurrent", 4000, context)
    entry(b"cuMemAlloc", 3020, ctypes.byref(address), ctypes.c_size_t(size))
    entry(b"cuCtxPopCurrent", 4000, ctypes.byref(context))
    return address.value


class Tensor:
    """An array of float16 on a CUDA device, with __dlpack__."""

    def __init__(self, shape, device=0):
        size = 2
        for n in shape:
            size *= n
        self.address = allocate(size, device)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = _arrays._Tensor(self.address, _arrays._Device(2, device), len(shape),
                                      _arrays._DataType(2, 16, 1), self.shape, None, 0)

    def __dlpack_device__(self):
        return (2, self.tensor.device.id)

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Devices(Case):
    def test_two_devices(self):
        """Arrays on two devices: the message names both."""
        q, k, v = (Tensor((2, 1024, 4, 64), device) for device in (0, 1, 0))
        with self.assertRaises(heed.InvalidError) as caught:
            heed.attention(q, k, v, out=Tensor((2, 1024, 4, 64)))
        self.assertIn("k: it is on cuda:1, q on cuda:0", str(caught.exception))


class Graphs(Case):
    def test_of_a_cpu(self):
        q, k, v = self.tensors()
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32")
        self.refused(heed.InvalidError, "there are no CUDA graphs", lambda: plan.capture(q, k, v))
        with self.assertRaises(ValueError):
            plan.capture(q, k, v)

    def test_mistakes(self):
        with heed.Context("cuda") as context:
            plan = heed.Plan(SPEC, context)
            q, k, v = (Tensor((2, 1024, 4, 64)) for _ in range(3))
            self.refused(heed.InvalidError, "q: shape", lambda: plan.capture(Tensor((1, 8, 4, 64)), k, v))
            self.refused(heed.ArgumentTypeError, "out: heed cannot make", lambda: plan.capture(q, k, v))

    def test_replay(self):
        with heed.Context("cuda") as context:
            plan = heed.Plan(SPEC, context)
            self.assertEqual(plan.workspace_size, 0)
            q, k, v, out = (Tensor((2, 1024, 4, 64)) for _ in range(4))
            graph = plan.capture(q, k, v, out=out)
            self.assertIs(graph.out, out)
            for byte in (3, 5):  # the driver's only work is to copy some bytes of V
                ctypes.memset(v.address, byte, COPIES)
                self.assertNotEqual(ctypes.string_at(out.address, COPIES), bytes([byte]) * COPIES)
                self.assertIs(graph.replay(), out)
                self.assertEqual(ctypes.string_at(out.address, COPIES), bytes([byte]) * COPIES)
            plan.close()
            self.refused(heed.InvalidError, "graph: its plan is closed", graph.replay)


if __name__ == "__main__":
    unittest.main()
