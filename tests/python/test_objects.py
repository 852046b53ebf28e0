#!/usr/bin/env python3
"""Problems, contexts and plans of the Python package; wisdom and the doctor.

    test_objects.py

case.py says where the package and the library come from. Exits with 77 without numpy.
"""

import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from case import Case, formula, heed, np
from heed import _context


class Mistakes(Case):
    def test_specs(self):
        self.refused(heed.InvalidError, "^", lambda: heed.Problem("b1 h1 s8 d8 f33"))
        self.refused(heed.ArgumentTypeError, "spec: int", lambda: heed.Problem(3))
        self.refused(heed.InvalidError, "no kernel has that name",
                     lambda: heed.Plan("b1 h1 s8 d8 f32", kernel="none"))
        self.refused(heed.InvalidError, "effort: 'fast'",
                     lambda: heed.Plan("b1 h1 s8 d8 f32", effort="fast"))
        self.refused(heed.NoWisdomError, "", lambda: heed.Plan("b1 h1 s9 d8 f32", effort="wisdom"))

    def test_plan_arguments(self):
        q, k, v = self.tensors()
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32 bias=f32:q array=t:f32:4 score=s+t[head]")
        bias, table = np.zeros((37, 53), np.float32), np.zeros(4, np.float32)
        good = {"bias": bias, "t": table}
        invalid, wrong = heed.InvalidError, heed.ArgumentTypeError
        cases = [
            (invalid, "bias, which is missing", (q, k, v), {}),
            (invalid, "an array t, which is missing", (q, k, v), {"bias": bias}),
            (invalid, "bias: shape", (q, k, v), {"bias": bias.T, "t": table}),
            (invalid, "the array is not dense", (q, k, v),
             {"bias": np.zeros((37, 60), np.float32)[:, :53], "t": table}),
            (wrong, "bias: dtype", (q, k, v), {"bias": bias.astype(np.float16), "t": table}),
            (invalid, "the problem has no mask", (q, k, v), {**good, "mask": bias}),
            (invalid, "q: shape", (q[:, 1:], k, v), good),
            (invalid, "q: strides", (np.zeros((2, 37, 4, 64), np.float32)[..., :32], k, v), good),
            (wrong, "q: dtype is f16", (q.astype(np.float16), k, v), good),
        ]
        for kind, text, arrays, operands in cases:
            with self.subTest(text=text):
                self.refused(kind, text, lambda: plan.execute(*arrays, operands=operands))
        self.near(plan.execute(q, k, v, operands=good), formula(q, k, v)[0])

    def test_reports_have_an_end(self):
        """Late calls are counted together."""
        from heed import _report

        _report.clear()
        with mock.patch.object(_report, "_KINDS_MAX", 3), mock.patch.dict(_report._records, clear=True):
            for n in range(9):
                heed.attention(*(np.zeros((1, 3 + n, 1, 8), np.float32) for _ in range(3)), scale=0.7)
                for _ in range(2):
                    _report.fell_back(f"problem {n}", "none")
            rows = _report.report()
        of_heed, of_torch = ([row for row in rows if bool(row.kernel) == own] for own in (True, False))
        self.assertEqual((len(of_heed), len(of_torch)), (4, 4))
        self.assertEqual(of_heed[0], (6, "others", "several kernels", None))
        self.assertEqual(of_torch[0], (12, "others", None, "several reasons"))
        _report.clear()

    def test_closed(self):
        q, k, v = self.tensors()
        with heed.Context("cpu", threads=1) as context:
            plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32", context)
            self.near(plan.execute(q, k, v), formula(q, k, v)[0])
        self.refused(heed.InvalidError, "plan: it is closed", lambda: plan.execute(q, k, v))
        self.refused(heed.InvalidError, "context: it is closed", lambda: context.threads)
        self.assertIn("closed", repr(plan))
        with heed.Plan("b2 h4/2 s37/53 d32/40 f32") as plan:
            self.near(plan.execute(q, k, v), formula(q, k, v)[0])
        self.refused(heed.InvalidError, "plan: it is closed", lambda: plan.execute(q, k, v))

    def test_copies(self):
        """A copy would use memory that the original frees."""
        context = heed.Context("cpu", threads=1)
        for x in (context, heed.Plan("b1 h1 s8 d8 f32", context)):
            for act in (copy.copy, copy.deepcopy, pickle.dumps):
                self.refused(heed.ArgumentTypeError, "cannot be copied or pickled", lambda: act(x))
        problem = heed.Problem("b1 h2 s8 d8 f32 score=s+head visible=k<=q+1")
        kept = [pickle.loads(pickle.dumps(problem, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for x in (copy.copy(problem), copy.deepcopy(problem), *kept):
            self.assertEqual(x, problem)

    def test_closing_waits(self):
        """close() while other threads plan and execute."""
        q = np.ones((1, 512, 4, 64), np.float32)
        for i in range(12):
            context = heed.Context("cpu", threads=2)
            plan, o, said = heed.Plan("b1 h4 s512 d64 f32", context), np.empty_like(q), []

            def work(make):
                try:
                    while True:
                        (heed.Plan("b1 h4 s512 d64 f32", context) if make else plan).execute(q, q, q, out=o)
                except heed.InvalidError as error:
                    said.append(str(error))

            threads = [threading.Thread(target=work, args=(n == 2,), daemon=True) for n in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.01 * (i % 4))
            (plan if i % 2 else context).close()
            context.close()
            for thread in threads:
                thread.join(60)
                self.assertFalse(thread.is_alive())
            for text in said:
                self.assertRegex(text, "it is closed|plan is NULL")


class Objects(Case):
    def test_problem(self):
        problem = heed.Problem("d64 b2 s512   h8/2 f16 causal")
        self.assertEqual(str(problem), "b2 h8/2 s512 d64 f16 causal")
        self.assertEqual(problem, heed.Problem(str(problem)))
        self.assertEqual(len({problem, heed.Problem(str(problem))}), 1)
        self.assertEqual(problem.q_shape, (2, 512, 8, 64))
        self.assertEqual(problem.flops, 4.0 * 2 * 8 * 64 * (512 * 513 / 2))
        self.assertEqual(problem.dtype, "f16")

    def test_plan(self):
        plan = heed.Plan("b1 h2 s64 d16 f32", effort="measure")
        self.assertIn(plan.name, plan.explain())
        named = heed.Plan("b1 h2 s64 d16 f32", kernel=plan.name)
        self.assertEqual(named.name, plan.name)

    def test_operands_of_size_one(self):
        """A spec names dimensions of size 1; operands may have them or not."""
        q, k, v = self.tensors(batch=1)
        slopes = np.float32([0.5, 0.25, 1, 2])
        wanted = heed.attention(q, k, v, slopes=slopes, align="top-left")
        plan = heed.Plan("b1 h4/2 s37/53 d32/40 f32 alibi=bh align=tl")
        for given in (slopes, slopes[None]):
            self.near(plan.execute(q, k, v, operands={"slopes": given}), wanted)
        self.refused(heed.InvalidError, "slopes: shape is (2, 4)",
                     lambda: plan.execute(q, k, v, operands={"slopes": np.stack([slopes, slopes])}))

    def test_wisdom(self):
        with heed.Context("cpu") as context:
            plan = heed.Plan("b1 h2 s64 d16 f32", context, effort="measure")
            text = context.export_wisdom()
            self.assertIn("b1 h2 s64 d16 f32", text)
            context.forget_wisdom()
            self.assertEqual(context.import_wisdom(text), (1, 0))
            again = heed.Plan("b1 h2 s64 d16 f32", context, effort="wisdom")
            self.assertEqual(again.name, plan.name)
            self.refused(heed.CorruptError, "", lambda: context.import_wisdom("nonsense"))
            self.refused(heed.SystemCallError, "none", lambda: context.load_wisdom("/none/at/all"))

    def test_objects_end_in_any_order(self):
        q, k, v = self.tensors()
        for _ in range(20):
            context = heed.Context("cpu", threads=2)
            plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32", context)
            del context
            gc.collect()
            plan.execute(q, k, v)
            del plan
        gc.collect()

    def test_daemon_threads_at_exit(self):
        """Threads that execute plans while the process ends, and a function that uses one at the end."""
        program = """
import atexit, threading, time
def last():
    print(plan.execute(q, q, q).mean())
atexit.register(last)
import numpy as np, heed
q = np.ones((1, 100, 4, 16), np.float32)
plan = heed.Plan("b1 h4 s100 d16 f32")
def work():
    out = np.empty_like(q)
    while True:
        plan.execute(q, q, q, out=out)
        heed.attention(q, q, q, out=out)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
        for calls in ("c", "ctypes") * 4:
            with self.subTest(calls=calls):
                found = subprocess.run(
                    (sys.executable, "-B", "-c", program), capture_output=True, text=True, timeout=60,
                    env={**os.environ, "HEED_CALLS": calls, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
                self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "1.0\n", ""))

    def test_compilations_at_exit(self):
        context, other = heed.Context("cpu", compile="background"), heed.Context("cpu")
        plan = heed.Plan("b2 h4/2 s37/53 d32/40 f32", context)
        self.assertFalse(_context._compiling)  # a CPU compiles nothing
        with mock.patch.object(_context, "_compiling", {context}):
            _context._end_compilations()
        self.refused(heed.InvalidError, "it is closed", plan.explain)
        other.close()


class Surroundings(unittest.TestCase):
    def test_wisdom(self):
        context = heed.Context("cpu", threads=heed.Context("cpu").threads)
        heed.Plan("b1 h1 s16 d16 f32", context, effort="measure")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "own.wisdom"
            context.save_wisdom(path)
            heed.wisdom.forget(device="cpu")
            self.assertEqual(heed.wisdom.load(path, device="cpu"), (1, 0))
            self.assertEqual(heed.wisdom.export(device="cpu"), context.export_wisdom())
            heed.wisdom.save(path, device="cpu")
            self.assertEqual(path.read_text(), context.export_wisdom())
        heed.wisdom.forget(device="cpu")
        self.assertNotIn("b1 h1 s16", heed.wisdom.export(device="cpu"))
        self.assertEqual(heed.wisdom.add(context.export_wisdom(), device="cpu"), (1, 0))
        with self.assertRaises(heed.CorruptError):
            heed.wisdom.add("no wisdom")
        heed.wisdom.forget(device="cpu")

    def test_doctor(self):
        findings = {finding.part: finding for finding in heed.doctor()}
        self.assertEqual(findings["libheed"].text.split(",")[0], heed.__version__)
        self.assertTrue(findings["cpu"].found and findings["numpy"].found)
        self.assertIn(np.__version__, str(heed.doctor()))
        before = os.environ.get("HEED_CUBINS")
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.environ["HEED_CUBINS"] = folder
                self.assertFalse([x for x in heed.doctor() if x.part == "kernels"][0].found)
                (pathlib.Path(folder) / "compiler").write_text("NVRTC 12.9\n")
                (pathlib.Path(folder) / f"{'0' * 64}.cubin").write_text("")
                (kernels,) = [x for x in heed.doctor() if x.part == "kernels"]
                self.assertEqual(kernels.text, f"1 by NVRTC 12.9, in {folder}")
            finally:
                os.environ.pop("HEED_CUBINS")
                if before is not None:
                    os.environ["HEED_CUBINS"] = before


if __name__ == "__main__":
    unittest.main()
