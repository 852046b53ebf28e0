#!/usr/bin/env python3
"""The script that runs robust-kbench's filters and evaluator, on a checkout made here with fakes of both.

    tests/suites/test_robust_kbench.py HEED
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEED = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(ROOT / "scripts")]
import robust_kbench as script  # noqa: E402

sys.path.pop(0)
BAD = ("half_logits", "keeps_answers", "mean_of_v", "other_stream", "zeroes_inputs")
TORCH = """
class cuda:
    get_device_name = staticmethod(lambda: "none")
"""
TASK = """
import json, pathlib
import openai, pycuda.driver, google.generativeai  # none of which is there

class KernelTask:
    def __init__(self, folder):
        self.configs = json.loads(pathlib.Path(folder, "config_forward.json").read_text())
        assert "def forward_fn(" in pathlib.Path(folder, "func_forward.py").read_text()

    def get_input_settings(self):
        return self.configs["single_input_configs"]

    def get_init_settings(self):
        return self.configs["single_init_configs"]
"""
FILTERS = "".join(f"def {name}(task, num_seeds):\n    return False\n" for name in script.FILTERS)
#: It detects wrong values, but not cheats.
EVALUATE = """
import pathlib

def correct_cuda_kernel(task_dir, cuda_code_path, timeout, op_atol, op_rtol):
    assert op_atol == op_rtol == 1e-2
    text = pathlib.Path(cuda_code_path).read_text()
    assert "PYBIND11_MODULE" in text
    return {"summary": {"correct": not text.startswith("// Wrong"), "max_diff": 0.0}}

def eval_cuda_kernel(task_dir, cuda_code_path, timeout, repetition_time, ext_dir):
    built = pathlib.Path(ext_dir, "heed_attention", "heed_attention.so")
    assert built.exists() == (repetition_time > 1)  # built once, and then timed
    built.parent.mkdir(parents=True, exist_ok=True)
    built.touch()
    return {"summary": {"avg_mean_time": 0.1}, "nvcc_output": "said by a compiler", "cuda_fname": cuda_code_path}

def eval_torch_runtime(task_dir, repetition_time, timeout):
    return {"summary": {"avg_mean_time": 0.3}}, {"summary": {"avg_mean_time": 0.2}}
"""
#: The program, except heed suite judge, which has no GPU here: it judges by the solution's name.
WRAPPER = """#!/bin/sh
[ "$2" = judge ] || exec "{heed}" "$@"
case "$(basename "$3")" in
heed)
    word={right}
    built=$(sed -n "s/^built = pathlib.Path('\\(.*\\)')$/\\1/p" "$3/heed.py")
    [ -e "$built" ] || exit 1
    ;;
keeps_*|zeroes_*) word=cheats ;;
other_*) word=measured ;;
*) word=wrong ;;
esac
echo "{{\\"solutions\\": [{{\\"solution\\": \\"x\\", \\"judged\\": \\"$word\\", \\"verdict\\": null}}]}}"
"""


class Script(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name).resolve()
        (self.folder / "fake").mkdir()
        (self.folder / "fake" / "torch.py").write_text(TORCH)
        for name, text in {"__init__.py": "", "kernel_task.py": TASK, "filter/__init__.py": "",
                           "filter/forward.py": FILTERS, "primitives/__init__.py": "",
                           "primitives/evaluate.py": EVALUATE}.items():
            path = self.folder / "suite" / "robust_kbench" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run_script(self, *words, right="right", checkout="suite"):
        heed = self.folder / "heed"
        heed.write_text(WRAPPER.format(heed=HEED, right=right))
        heed.chmod(0o755)
        command = [sys.executable, "-B", ROOT / "scripts" / "robust_kbench.py", self.folder / checkout, "--heed", heed,
                   "--out", self.folder / "out", *words]
        variables = dict(os.environ, PYTHONPATH=str(self.folder / "fake"))
        return subprocess.run([str(x) for x in command], env=variables, capture_output=True, text=True, check=False)

    def report(self):
        return json.loads((self.folder / "out" / "robust_kbench_report.json").read_text())

    def test_dry_run(self):
        done = self.run_script("--dry-run")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.report()
        self.assertEqual((report["schema"], report["dry_run"], report["suite_commit"]), (script.SCHEMA, True, None))
        self.assertEqual(report["solutions"], {name: {} for name in ("heed", *BAD)})
        self.assertEqual(report["exported"]["problem"], "b4 h16 s2048 d64 f16 causal")
        self.assertEqual(report["task"]["init"], [{"causal": True}])
        self.assertEqual(report["task"]["inputs"][0]["seq_len"], 2048)
        self.assertNotIn("dropped_by", report["task"])

    def test_evaluation(self):
        done = self.run_script("--jobs", "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.report()
        self.assertEqual(report["task"]["dropped_by"], {name: False for name in script.FILTERS})
        self.assertEqual(report["reference"]["compiled"]["summary"]["avg_mean_time"], 0.2)
        caught = {name: row["caught"] for name, row in report["solutions"].items()}
        self.assertEqual(caught["heed"], {"suite": False, "heed": False})
        for name in BAD:
            self.assertEqual(caught[name], {"suite": name in ("half_logits", "mean_of_v"), "heed": True}, name)
        self.assertNotIn("time", report["solutions"]["mean_of_v"]["suite"])
        self.assertEqual(report["solutions"]["heed"]["suite"]["time"]["summary"]["avg_mean_time"], 0.1)
        self.assertIn(", commit ", report["heed"])
        text = (self.folder / "out" / "robust_kbench_report.json").read_text()
        self.assertNotIn(str(self.folder), text)
        self.assertNotIn("said by a compiler", text)

    def test_heed_caught(self):
        """The run fails if either side rejects heed's own solution, or could not judge a solution."""
        done = self.run_script(right="wrong")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not judged, or caught though right: heed", done.stderr)
        path = self.folder / "suite" / "robust_kbench" / "primitives" / "evaluate.py"
        path.write_text("raise RuntimeError('no evaluator')\n")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no evaluator", self.report()["solutions"]["heed"]["suite"]["failed"])

    def test_caught(self):
        right, wrong = ({"correct": {"summary": {"correct": x}}} for x in (True, False))
        for suite, ours, wanted in (
            (right, {"judged": "right"}, (False, False)),
            (right, {"judged": "inexact"}, (False, False)),
            (wrong, {"judged": "measured"}, (True, True)),
            (wrong, {"judged": "failed", "verdict": "compile"}, (True, None)),
            ({"failed": "why"}, {"failed": "why"}, (None, None)),
            ({}, {"judged": "failed", "verdict": "hang"}, (None, True)),
        ):
            self.assertEqual(script.caught({"suite": suite, "heed": ours}), dict(zip(("suite", "heed"), wanted)))

    def test_bad_words(self):
        for words, checkout, text in (((), "nowhere", "is not a checkout of robust-kbench"),
                                      (("--jobs", "0"), "suite", "--jobs is 0; it must be 1 or more")):
            done = self.run_script("--dry-run", *words, checkout=checkout)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    @unittest.skipUnless(os.environ.get("HEED_ROBUST_KBENCH"), "HEED_ROBUST_KBENCH names no checkout of robust-kbench")
    def test_checkout(self):
        """The suite's own reader accepts heed's task, if torch is installed."""
        command = [sys.executable, ROOT / "scripts" / "robust_kbench.py", os.environ["HEED_ROBUST_KBENCH"], "--heed",
                   HEED, "--out", self.folder / "out", "--dry-run"]
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.report()["task"]["init"], [{"causal": True}])


if __name__ == "__main__":
    unittest.main()
