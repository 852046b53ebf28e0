#!/usr/bin/env python3
"""The script that runs KernelBench's evaluator, on a checkout made here with a fake evaluator and a fake torch.

    tests/suites/test_kernelbench.py HEED
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEED = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]
import kernelbench as script  # noqa: E402
from tasks import TASKS  # noqa: E402

CHECKER = """
def validate_kernel_static(text, backend, precision):
    assert backend == "cuda" and precision in ("fp32", "fp16", "bf16")
    errors = [] if "__global__" in text and "load_inline" in text else ["no kernel in the file"]
    return not errors, errors, ["no warning"]
"""
#: The suite's own modules, as far as the script uses them. Solutions in f32 are wrong here.
EVAL = """
import openai  # a module that asks language models
import json, pathlib

class Result(dict):
    def model_dump(self):
        return dict(self)

def get_torch_dtype_from_string(word):
    return word

def eval_kernel_against_ref(reference, solution, num_correct_trials, num_perf_trials, measure_performance,
                            timing_method, build_dir, device, backend, precision):
    assert "class Model(" in reference and "class ModelNew(" in solution and measure_performance
    assert (num_correct_trials, num_perf_trials, timing_method, backend) == (5, 7, "cuda_event", "cuda")
    openai.OpenAI(api_key="none")
    right = precision != "fp32"
    return Result(compiled=True, correctness=right, runtime=2.0 if right else -1.0, metadata={"device": device})
"""
TIMING = """
import os

def measure_ref_program_time(ref_arch_name, ref_arch_src, num_trials, device, precision, use_torch_compile=False):
    with open(os.environ["TIMED"], "a") as file:
        file.write(f"{precision} {use_torch_compile}\\n")
    return {"mean": 3.0 if use_torch_compile else 5.0}
"""
SCORE = """
def fastp(right, base, actual, count, p):
    return sum(r and b / a > p for r, b, a in zip(right, base, actual)) / count
"""
TORCH = """
__version__ = "0"
float16 = bfloat16 = float32 = "type"
class device(str):
    pass
class version:
    cuda = "0"
class cuda:
    is_available = staticmethod(lambda: not __import__("os").environ.get("NO_GPU"))
    get_device_capability = staticmethod(lambda device: (9, 0))
    get_device_name = staticmethod(lambda device: "none")
"""
#: The program, except heed bench, which has no GPU here.
WRAPPER = """#!/bin/sh
[ "$1" = bench ] || exec "{heed}" "$@"
echo bench >> "$TIMED"
case "$*" in *"--peers none"*) rivals= ;; *) rivals='{{"name": "torch-math", "outcome": "ok"}}' ;; esac
echo '{{"rows": [{{"outcome": "ok", "seconds": {{"p50": 0.0005}}, "rivals": ['"$rivals"']}}]}}'
"""
#: Of a torch without a GPU: nn is used by the solutions when they are compiled.
FILES = {
    "suite/src/kernelbench/__init__.py": "",
    "suite/src/kernelbench/kernel_static_checker.py": CHECKER,
    "suite/src/kernelbench/eval.py": EVAL,
    "suite/src/kernelbench/timing.py": TIMING,
    "suite/src/kernelbench/score.py": SCORE,
    "suite/src/kernelbench/utils.py": "def set_gpu_arch(names):\n    assert names == ['Hopper']\n",
    "suite/KernelBench/level1/97_Attention.py": TASKS["sdpa_causal"][0],
    "suite/KernelBench/level3/43_Packed.py": TASKS["packed"][0],
    "suite/KernelBench/level3/50_Relu.py": TASKS["relu"][0],
    "fake/torch/__init__.py": TORCH,
    "fake/torch/nn/__init__.py": "class Module:\n    pass\n",
    "fake/torch/nn/functional.py": "",
    "fake/torch/utils/__init__.py": "",
    "fake/torch/utils/cpp_extension.py": "def load_inline(**words):\n    assert 'heed_attend' in str(words)\n",
    "fake/numpy.py": "array = list\n",
}


class Script(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name).resolve()
        for name, text in FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.heed = self.folder / "heed"
        self.heed.write_text(WRAPPER.format(heed=HEED))
        self.heed.chmod(0o755)

    def run_script(self, *words, checkout="suite"):
        variables = dict(os.environ, PYTHONPATH=str(self.folder / "fake"), TIMED=str(self.folder / "timed"))
        command = [sys.executable, "-B", ROOT / "scripts" / "kernelbench.py", self.folder / checkout, "--heed",
                   self.heed, "--out", self.folder / "out", *words]
        return subprocess.run([str(x) for x in command], env=variables, capture_output=True, text=True, check=False)

    def report(self, *words, status=0):
        done = self.run_script(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        report = json.loads((self.folder / "out" / "kernelbench_report.json").read_text())
        for entry in report["evaluations"]:
            if "own" in entry:
                entry["own"] = report["own"][entry["own"]]
        return done, report, {(e["task"], e["row"], e["form"]): e for e in report["evaluations"]}

    def test_dry_run(self):
        done, report, rows = self.report("--dry-run", "--tasks", "1/97,3/50", "--rows", "f32-f16,f16,f32-bf16x3")
        self.assertEqual(len(rows), 2 * 3 * 2)
        self.assertEqual((report["schema"], report["dry_run"], report["suite_commit"]), (script.SCHEMA, True, None))
        for (task, row, form), entry in rows.items():
            if task == "3/50":
                self.assertIn("ReLU", entry["refused"])
                continue
            self.assertEqual(entry["static_check"]["accepted"], form == "kernel", entry)
            self.assertEqual(entry["precision"], "fp16" if row == "f16" else "fp32")
            words = "" if row.endswith("f16") else f" products={entry['products']}"
            self.assertTrue(entry["problem"].endswith(f"scale=0.5{words}"), entry["problem"])
            self.assertNotIn("result", entry)
            self.assertNotIn("_path", entry)
        self.assertIn("causal scale=0.5", rows["1/97", "f16", "library"]["problem"])
        self.assertIn("3/50 f16      kernel   refused", done.stdout)
        self.assertIn("not accepted: no kernel in the file", done.stdout)

    def test_evaluation(self):
        words = ("--tasks", "3/43", "--rows", "f32,f32-f16,f16", "--forms", "kernel", "--trials", "7")
        done, report, rows = self.report(*words)
        right, wrong = rows["3/43", "f16", "kernel"], rows["3/43", "f32", "kernel"]
        self.assertEqual(right["stubs"], ["openai"])
        self.assertEqual((right["speedup_eager"], right["speedup_compiled"]), (2.5, 1.5))
        self.assertEqual((right["difference"]["attention_ms"], right["difference"]["rest_ms"]), (0.5, 1.5))
        self.assertFalse(wrong["result"]["correctness"])
        self.assertNotIn("speedup_eager", wrong)
        self.assertEqual(report["fast_p"]["f16/kernel"]["eager"], {"tasks": ["3/43"], "0.0": 1.0, "1.0": 1.0, "1.5": 1.0, "2.0": 1.0})
        self.assertEqual(report["fast_p"]["f16/kernel"]["compiled"]["1.5"], 0.0)
        self.assertEqual(report["fast_p"]["f32/kernel"]["eager"]["0.0"], 0.0)
        self.assertIn("right, 2.0 ms, 2.50x eager, 1.50x torch.compile", done.stdout)
        self.assertIn("WRONG", done.stdout)
        # The suite's model is timed once for each precision.
        timed = (self.folder / "timed").read_text().split("\n")
        self.assertEqual(timed, ["fp32 False", "fp32 True", "bench", "bench", "fp16 False", "fp16 True", ""])
        self.assertEqual(rows["3/43", "f32-f16", "kernel"]["eager"], wrong["eager"])
        # A later run keeps existing results, and adds to them.
        path = self.folder / "suite/src/kernelbench/eval.py"
        path.write_text("raise RuntimeError('not evaluated again')\n")
        _, _, more = self.report(*words)
        self.assertEqual(more["3/43", "f16", "kernel"]["result"], right["result"])
        done, _, failed = self.report(*words, "--again", status=1)
        self.assertIn("not evaluated again", failed["3/43", "f16", "kernel"]["failed"])

    def test_a_report_is_completed(self):
        words = ("--tasks", "3/43", "--rows", "f16", "--forms", "kernel", "--trials", "7")
        _, _, rows = self.report(*words, "--no-compiled", "--peers", "none")
        first = rows["3/43", "f16", "kernel"]
        self.assertNotIn("compiled", first)
        self.assertEqual(first["own"]["bench"]["rows"][0]["rivals"], [])
        evaluator = self.folder / "suite/src/kernelbench/eval.py"
        evaluator.write_text("raise RuntimeError('not evaluated again')\n")
        timing = self.folder / "suite/src/kernelbench/timing.py"
        timing.write_text(timing.read_text().replace("5.0", "6.0"))
        _, report, rows = self.report(*words)
        second = rows["3/43", "f16", "kernel"]
        for name in ("result", "time", "eager", "speedup_eager"):  # one run measured these
            self.assertEqual(second[name], first[name])
        self.assertLess(second["time"], report["time"])
        self.assertEqual((second["compiled"], second["speedup_compiled"]), ({"mean": 3.0}, 1.5))
        self.assertEqual(second["own"]["bench"]["rows"][0]["rivals"][0]["name"], "torch-math")
        timed = (self.folder / "timed").read_text()
        self.report(*words)  # there is nothing to add
        self.assertEqual((self.folder / "timed").read_text(), timed)
        # A task without a figure does not count in its score.
        evaluator.write_text(EVAL)
        _, report, _ = self.report("--tasks", "1/97", *words[2:], "--no-compiled")
        scores = report["fast_p"]["f16/kernel"]
        self.assertEqual({which: set(score["tasks"]) for which, score in scores.items()},
                         {"eager": {"1/97", "3/43"}, "compiled": {"3/43"}})
        self.assertEqual(scores["compiled"]["1.0"], 1.0)

    def test_bad_words(self):
        for words, checkout, text in (
            ((), "fake", "is not a checkout of KernelBench"),
            (("--rows", "f64"), "suite", "--rows: 'f64' is not one of f32, f32-tf32, f32-bf16x3, f32-f16, f16, bf16"),
            (("--forms", "f16"), "suite", "--forms: 'f16' is not one of kernel, library"),
            (("--tasks", "1/5"), "suite", "0 tasks of level 1 with the number 5"),
            (("--tasks", "three"), "suite", "--tasks: 'three' is not LEVEL/NUMBER"),
            (("--jobs", "0"), "suite", "--jobs: 0 is not more than 0"),
            (("--timeout", "nan"), "suite", "--timeout: nan is not more than 0"),
            (("--heed", self.folder / "none"), "suite", "none is not there"),
        ):
            done = self.run_script("--dry-run", *words, checkout=checkout)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_no_gpu(self):
        os.environ["NO_GPU"] = "1"
        self.addCleanup(os.environ.pop, "NO_GPU")
        done = self.run_script("--tasks", "1/97")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PyTorch finds no GPU; --dry-run needs none", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_a_broken_report(self):
        (self.folder / "out").mkdir()
        (self.folder / "out" / "kernelbench_report.json").write_text('{"schema": ')
        done = self.run_script("--tasks", "1/97")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernelbench_report.json is not JSON: ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_another_report(self):
        (self.folder / "out").mkdir()
        (self.folder / "out" / "kernelbench_report.json").write_text('{"schema": "another"}')
        done = self.run_script("--tasks", "1/97")
        self.assertIn("is not a report of this script", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_interrupted(self):
        """Ctrl-C ends the evaluation too, which is in another session."""
        mark = self.folder / "mark"
        (self.folder / "suite/src/kernelbench/eval.py").write_text(
            f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
        command = [sys.executable, "-B", ROOT / "scripts" / "kernelbench.py", self.folder / "suite", "--heed", self.heed,
                   "--out", self.folder / "out", "--tasks", "1/97", "--rows", "f16", "--forms", "library"]
        with subprocess.Popen([str(x) for x in command], env=dict(os.environ, PYTHONPATH=str(self.folder / "fake")),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as running:
            end = time.monotonic() + 120
            while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
                time.sleep(0.1)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        self.assertEqual((running.returncode, said.splitlines()[-1]), (130, "kernelbench: interrupted"), said)
        self.assertNotIn("Traceback", said)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(mark.read_text()), 0)

    def test_a_process_that_hangs(self):
        begin = time.monotonic()
        hangs = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.assertEqual(script.finish(hangs, 0.2), "not done within 0.2 s")
        self.assertLess(time.monotonic() - begin, 50)
        ends = subprocess.Popen([sys.executable, "-c", "print('why'); raise SystemExit(3)"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.assertEqual(script.finish(ends, 60), "ended with 3: why")

    def test_commit_of_a_checkout(self):
        """A checkout with changes is not the commit, and a folder in another project's checkout has none."""
        def git(*words):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True,
                           capture_output=True)

        git("init")
        git("add", "suite")
        git("commit", "-m", "all")
        commit = script.commit_of(self.folder)
        self.assertEqual(len(commit), 40)
        self.assertIsNone(script.commit_of(self.folder / "suite"))
        (self.folder / "suite/src/kernelbench/eval.py").write_text("")
        self.assertEqual(script.commit_of(self.folder), commit + "+")

    def test_plain(self):
        self.assertEqual(script.plain({"a": types, "b": [1]})["b"], [1])
        self.assertIsInstance(script.plain({"a": types})["a"], str)


if __name__ == "__main__":
    unittest.main()
