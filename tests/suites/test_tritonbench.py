#!/usr/bin/env python3
"""The row of tritonbench, and the script that runs it.

HEED_TRITONBENCH=CHECKOUT runs the operator itself on the CPU, which needs its dependencies and torch; without it only
the parsing of its figures is tested, and the refusal of a directory that is not tritonbench.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = sys.argv.pop(1)
sys.path[:0] = [str(ROOT / "scripts")]
import tritonbench as script  # noqa: E402

sys.path.pop(0)
CHECKOUT = os.environ.get("HEED_TRITONBENCH")
FIGURES = {
    "tritonbench_flash_attention_fwd[x_(1, 2, 128, 128, 64)-sdpa]_latency": "10.966 (±0.03%)",
    "tritonbench_flash_attention_fwd[x_(1, 2, 128, 128, 64)-cudnn]_91002-tflops": 2.5,
    "tritonbench_flash_attention_fwd[x_(1, 2, 128, 128, 64)-heed]_latency": "5e-2",
    "tritonbench_flash_attention_fwd[x_(1, 2, 128, 128, 64)-heed]_accuracy": 1.0,
    "tritonbench_flash_attention_fwd[x_average-heed]_latency": None,
    "tritonbench_flash_attention_fwd[heed]-accuracy-avg": 1.0,
}


def run(*words):
    return subprocess.run([sys.executable, ROOT / "scripts" / "tritonbench.py", *map(str, words)], text=True,
                          capture_output=True, check=False)


class Tritonbench(unittest.TestCase):
    def test_figures(self):
        self.assertEqual(script.rows_of(FIGURES), {"(1, 2, 128, 128, 64)": {
            "sdpa": {"latency": 10.966}, "cudnn-91002": {"tflops": 2.5}, "heed": {"latency": 0.05, "accuracy": 1.0}}})

    def test_early_end(self):
        command = [sys.executable, "-c", "import sys; sys.stderr.write('WARNING: Caught exception, terminating early "
                   "with it\\n  File x\\ntorch.OutOfMemoryError: no\\nINFO: more\\n')"]
        self.assertEqual(script.listen(command, dict(os.environ)), (0, "torch.OutOfMemoryError: no"))

    def test_no_checkout(self):
        done = run(ROOT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not a checkout of tritonbench", done.stderr)

    def test_a_run_without_figures(self):
        """It leaves the report of an earlier one."""
        with tempfile.TemporaryDirectory() as folder:
            checkout, old = pathlib.Path(folder) / "suite", pathlib.Path(folder) / "tritonbench_report.json"
            (checkout / "tritonbench" / "operators" / "flash_attention").mkdir(parents=True)
            old.write_text("old")
            done = run(checkout, "--out", folder, "--library", LIBRARY)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no figures: there is no report", done.stdout)
            self.assertEqual(old.read_text(), "old")

    @unittest.skipUnless(CHECKOUT, "HEED_TRITONBENCH names no checkout of tritonbench")
    def test_operator(self):
        with tempfile.TemporaryDirectory() as folder:
            for mask in ([], ["--causal"]):
                done = run(CHECKOUT, "--out", folder, "--library", LIBRARY, "--only", "sdpa,heed", "--device", "cpu",
                           "--batch", 1, "--n-heads", 2, "--seq-len", 128, "--num-inputs", 2, *mask)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                report = json.loads((pathlib.Path(folder) / "tritonbench_report.json").read_text())
                self.assertEqual(len(report["shapes"]), 2)
                for rows in report["shapes"].values():
                    self.assertEqual(rows["heed"]["accuracy"], 1)
                    self.assertGreater(rows["heed"]["latency"], 0)


if __name__ == "__main__":
    unittest.main()
