#!/usr/bin/env python3
"""Contexts and plans of a CUDA device from Python, behind a driver in host memory (fake_cuda.h).

    test_cuda.py FAKE_CUDA

case.py says where the package and the library come from. Exits with 77 where there is no numpy.
"""

import os
import sys
import tempfile
import unittest
from unittest import mock

FAKE = sys.argv.pop(1)
CACHE = tempfile.TemporaryDirectory()
os.environ.update(HEED_LIBCUDA=FAKE, HEED_NVRTC=FAKE, HEED_NVML=FAKE, HEED_CUBINS="", HEED_CACHE=CACHE.name,
                  FAKE_CUDA_DEVICES="2")

from case import Case, heed  # noqa: E402
from heed import _context  # noqa: E402

NAIVE = "fwd_any_sm80_naive"
SPEC = "b2 h4 s1024 d64 f16"


def second_line(plan):
    """Which kernel serves, where the plan has a choice."""
    return plan.explain().splitlines()[2]


class Compilation(Case):
    def test_in_the_background(self):
        with heed.Context("cuda", compile="background") as context:
            heed.Plan(SPEC, context, kernel=NAIVE)
            plan = heed.Plan(SPEC, context)
            self.assertIn(NAIVE, second_line(plan))  # it serves, or did until now
            plan.wait()
            self.assertIn(f"it serves; {NAIVE} did", second_line(plan))
            self.assertNotIn(NAIVE, plan.name)
            self.assertFalse(plan.deterministic)
            invariant = heed.Plan(f"{SPEC} invariant", context)
            self.assertTrue(invariant.deterministic)
            heed.Plan(f"{SPEC} causal", context, kernel=NAIVE)
            heed.Plan(f"{SPEC} causal", context)  # ended while it is compiled

    def test_now(self):
        spec = "b2 h4 s1024 d128 f16"
        with heed.Context("cuda") as context:
            heed.Plan(spec, context, kernel=NAIVE)
            plan = heed.Plan(spec, context)
            self.assertTrue(plan.deterministic)
            self.assertNotIn("serve", plan.explain())
            plan.wait()

    def test_contexts_of_calls(self):
        """Those of heed.attention() compile in the background, unless the environment says otherwise."""
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


if __name__ == "__main__":
    unittest.main()
