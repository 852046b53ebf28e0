#!/usr/bin/env python3
"""The script that writes solutions for flashinfer-bench: its choices, its files, its refusals, its report.

    tests/suites/test_flashinfer_bench.py LIBRARY

A small fake package replaces the evaluator, which needs a GPU. If flashinfer-bench and torch can be imported, its own
classes read the files, and its own code builds and runs the solutions on the CPU.
"""

import copy
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
import flashinfer_bench as script  # noqa: E402

sys.path.pop(0)
SUITE = subprocess.run([sys.executable, "-c", "import flashinfer_bench.data, torch"], capture_output=True, check=False,
                       cwd=ROOT).returncode == 0
REFERENCE = """
import torch

def run(q, k_cache, v_cache, kv_indptr, kv_indices, sm_scale):
    rows, heads, kv_heads = q.shape[0], q.shape[1], k_cache.shape[2]
    output, lse = torch.zeros_like(q), torch.full((rows, heads), -float("inf"))
    for b in range(rows):
        pages = kv_indices[kv_indptr[b] : kv_indptr[b + 1]].long()
        k, v = (x[pages].flatten(0, 1).float().repeat_interleave(heads // kv_heads, 1) for x in (k_cache, v_cache))
        t = torch.einsum("hd,jhd->hj", q[b].float(), k) * sm_scale
        output[b] = torch.einsum("hj,jhd->hd", t.softmax(-1), v)
        lse[b] = torch.logsumexp(t, -1) / 0.6931471805599453
    return output, lse
"""
SIZES = {"num_qo_heads": 4, "num_kv_heads": 2, "head_dim": 16, "page_size": 4}
INTEGERS = ("qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_len")


def definition(name, **shapes):
    """A definition whose inputs have these shapes, in words. An axis that is not in SIZES varies."""
    tensors = {x: {"shape": shape.split() if shape else None, "dtype": "int32" if x in INTEGERS else "bfloat16"}
               for x, shape in shapes.items()}
    rows = shapes["q"].split()[0]
    outputs = {"output": {"shape": [rows, "num_qo_heads", "head_dim"], "dtype": "bfloat16"},
               "lse": {"shape": [rows, "num_qo_heads"], "dtype": "float32"}}
    inputs = {**tensors, "sm_scale": {"shape": None, "dtype": "float32"}}
    axes = {axis for x in (*inputs.values(), *outputs.values()) for axis in x["shape"] or ()}
    sizes = {x: {"type": "const", "value": SIZES[x]} if x in SIZES else {"type": "var"} for x in sorted(axes)}
    return {"name": name, "op_type": "gqa_paged", "axes": sizes, "inputs": inputs, "outputs": outputs,
            "reference": REFERENCE}


CACHE = "num_pages page_size num_kv_heads head_dim"
DECODE = definition("gqa_paged_decode", q="batch_size num_qo_heads head_dim", k_cache=CACHE, v_cache=CACHE,
                    kv_indptr="len_indptr", kv_indices="num_kv_indices")
PREFILL = definition("gqa_paged_prefill_causal", q="total_q num_qo_heads head_dim", k_cache=CACHE, v_cache=CACHE,
                     qo_indptr="len_indptr", kv_indptr="len_indptr", kv_indices="num_kv_indices",
                     kv_last_page_len="batch_size")
GEMM = {"name": "gemm", "op_type": "gemm", "axes": {"n": {"type": "var"}}, "reference": "def run(a): return a",
        "inputs": {"a": {"shape": ["n"], "dtype": "float32"}}, "outputs": {"c": {"shape": ["n"], "dtype": "float32"}}}
# The fake evaluator: a trace for each workload except the last one.
FAKE = """
import json, os, pathlib, sys

def cli():
    root, names = pathlib.Path(sys.argv[3]), sys.argv[sys.argv.index("--solutions") + 1 :]
    assert sys.argv[1:3] == ["run", "--local"] and "heed" in os.listdir(root / "solutions")
    assert pathlib.Path(os.environ["HEED_LIBRARY"]).is_absolute() and names[-1] == "7"
    for path in (root / "workloads").rglob("*.jsonl"):
        out = root / "traces" / path.relative_to(root / "workloads")
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(out, "a") as file:
            for i, line in enumerate(path.read_text().splitlines()[:-1]):
                row = json.loads(line)
                row["solution"] = "heed_" + row["definition"]
                good = {"status": "PASSED", "correctness": {"max_absolute_error": 0.0, "max_relative_error": 0.0},
                        "performance": {"latency_ms": 0.5, "reference_latency_ms": 2.0, "speedup_factor": 4.0}}
                bad = {"status": "INCORRECT_NUMERICAL", "performance": None, "correctness": {
                    "max_absolute_error": "Infinity", "max_relative_error": "Infinity", "extra": None}}
                row["evaluation"] = [good, bad, {"status": "RUNTIME_ERROR", "log": "x\\nOutOfMemory\\n"}, good][i]
                file.write(json.dumps(row) + "\\n")
"""


def change(of, at, value):
    """A copy with another value at the place @at, keys separated by dots."""
    found = copy.deepcopy(of)
    *outer, last = at.split(".")
    inner = found
    for key in outer:
        inner = inner[key]
    inner[last] = value
    return found


class Script(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name).resolve()
        self.data, self.out = self.folder / "data", self.folder / "out"

    def write(self, *definitions):
        for x in definitions:
            script.write_json(self.data / "definitions" / x["op_type"] / f"{x['name']}.json", x)

    def run_script(self, *words, path=""):
        variables = dict(os.environ, PYTHONPATH=path)
        return subprocess.run([sys.executable, "-B", ROOT / "scripts" / "flashinfer_bench.py", self.data, "--out",
                               self.out, "--library", LIBRARY, *words], text=True, capture_output=True, check=False,
                              env=variables)

    def refused(self, text, *words):
        done = self.run_script(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)

    def test_solutions(self):
        self.write(DECODE, PREFILL, GEMM)
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 left out: no softmax attention: gemm\n2 solutions", done.stdout)
        path = self.out / "solutions" / "heed" / "gqa_paged" / "gqa_paged_decode" / "heed_gqa_paged_decode.json"
        found = json.loads(path.read_text())
        self.assertEqual((found["name"], found["definition"]), ("heed_gqa_paged_decode", "gqa_paged_decode"))
        self.assertEqual(found["spec"]["entry_point"], "heed_solution.py::gqa_paged_decode")
        self.assertEqual(found["sources"][0]["content"], script.SOURCE.read_text())
        self.assertEqual((self.out / "definitions").resolve(), self.data / "definitions")
        self.assertEqual(sorted(x.name for x in self.data.iterdir()), ["definitions"])

    def test_beside(self):
        self.write(DECODE)
        for name in ("gqa_paged_decode", "gemm"):
            script.write_json(self.data / "solutions" / "baseline" / f"{name}.json", {"definition": name, "name": "x"})
        done = self.run_script("--beside", "baseline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 solutions of baseline beside heed's", done.stderr)
        self.assertEqual(sorted(x.name for x in (self.out / "solutions").rglob("*.json")),
                         ["gqa_paged_decode.json", "heed_gqa_paged_decode.json"])

    def test_entries_are_there(self):
        text = script.SOURCE.read_text()
        for inputs, entry in script.FORMS.items():
            head = text[text.index(f"\ndef {entry}(") :].split("):")[0]
            self.assertEqual(head.split("(")[1].replace(",", " ").split(), [*inputs.split(), "output", "lse"])

    def test_choice(self):
        self.assertEqual(script.entry_of(DECODE), ("gqa_paged_decode", None))
        self.assertEqual(script.entry_of(PREFILL), ("gqa_paged_prefill_last", None))
        hnd = ["num_pages", "num_kv_heads", "page_size", "head_dim"]
        for of, at, value, why in (
            (DECODE, "inputs.k_cache.shape", hnd, "k_cache is [num_pages, num_kv_heads, page_size, head_dim]: no lay"),
            (DECODE, "inputs.sm_scale.shape", ["batch_size"], "sm_scale is [batch_size]: no layout"),
            (DECODE, "inputs.q.shape", None, "q is a number: no layout"),
            (DECODE, "inputs.v_cache.dtype", "float8_e4m3fn", "v_cache is float8_e4m3fn: heed has bfloat16 or"),
            (DECODE, "outputs.lse.dtype", "bfloat16", "lse is bfloat16"),
            (DECODE, "axes.page_size.value", 2048, "page_size is 2048: it must be 1 to 1024"),
            (DECODE, "axes.num_kv_heads.value", 3, "3 key/value heads do not divide 4"),
            (DECODE, "inputs.mask", {"shape": None, "dtype": "bool"}, "no known form: (q, k_cache,"),
            (DECODE, "inputs.sparse_indices", {"shape": None, "dtype": "int32"}, "a separate list of keys"),
            (PREFILL, "name", "gqa_paged_prefill", "its name does not say that it is causal"),
            (DECODE, "op_type", "gdn", "no softmax attention: gdn"),
        ):
            entry, found = script.entry_of(change(of, at, value))
            self.assertIsNone(entry)
            self.assertIn(why, found)

    def test_no_dataset(self):
        self.refused(f"{self.data} is not a flashinfer-bench dataset")
        (self.data / "definitions").mkdir(parents=True)
        self.refused(f"{self.data / 'definitions'} has no definition")

    def test_damaged(self):
        path = self.data / "definitions" / "bad.json"
        for text, message in (
            ('{"name": ', "bad.json: Expecting value: line 1"),
            ("[1]", "bad.json: the text is [1]; it must be of type dict"),
            (json.dumps({"name": "x"}), "bad.json: op_type is null; it must be of type str"),
            (json.dumps(change(DECODE, "name", "../x")), "bad.json: '../x' is not a file name"),
            (json.dumps(change(DECODE, "axes.head_dim.value", "16")), 'axes.head_dim.value is "16"; it must be of type int'),
            (json.dumps(change(DECODE, "inputs.q.shape", ["here"])), "inputs.q.shape has the axis 'here'"),
            (json.dumps(change(DECODE, "inputs.q.shape", "here")), 'inputs.q.shape is "here"; it must be of type list'),
            (json.dumps(change(DECODE, "outputs.lse", 1)), "outputs.lse is 1; it must be of type dict"),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.refused(message)

    def test_refusals(self):
        self.write(DECODE)
        self.refused("'other' is not one of the 1 definitions", "--definitions", "other")
        self.refused("has no author 'baseline'", "--beside", "baseline")
        self.out = self.data / "solutions"
        self.refused("is in the dataset")
        self.out = self.folder / "mine"
        self.out.mkdir()
        (self.out / "solutions").write_text("of another")
        self.refused(f"{self.out} exists and was not made by this script")
        self.write(DECODE, change(DECODE, "op_type", "gqa"))
        self.refused("there is another definition 'gqa_paged_decode'")

    def test_run(self):
        self.write(DECODE)
        fake = self.folder / "fake" / "flashinfer_bench" / "cli"
        fake.mkdir(parents=True)
        (fake / "__init__.py").touch()
        (fake.parent / "__init__.py").touch()
        (fake / "main.py").write_text(FAKE)
        for _ in range(2):  # again in the same directory: older traces do not count
            done = self.run_script("--run", "--workloads", "made", "--", "--iterations", "7",
                                   path=str(self.folder / "fake"))
            self.assertEqual(done.returncode, 1, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual([line.split()[-4:] for line in lines[-6:-1]],
                             [["PASSED", "0.5", "2", "4"], ["INCORRECT_NUMERICAL", "-", "-", "-"],
                              ["RUNTIME_ERROR", "-", "-", "-"], ["PASSED", "0.5", "2", "4"], ["run", "-", "-", "-"]])
            self.assertEqual(lines[-1], "2 of 5 workloads passed; 0 definitions have no workload")
            self.assertIn("made-1 heed_gqa_paged_decode: an output is not finite", done.stderr)
            self.assertIn("made-2 heed_gqa_paged_decode: OutOfMemory", done.stderr)
            report = json.loads((self.out / "flashinfer_bench_report.json").read_text())
            self.assertEqual([row["speedup"] for row in report["rows"]], [4, None, None, 4, None])
        (fake / "main.py").write_text("def cli(): pass")
        done = self.run_script("--run", "--workloads", "made", path=str(self.folder / "fake"))
        self.assertEqual(done.stdout.splitlines()[-1], "0 of 5 workloads passed; 0 definitions have no workload")

    def test_workload(self):
        row = script.make_workload(self.folder, PREFILL, [(3, 9), (1, 4)], 0)["workload"]
        self.assertEqual({x: n for x, n in row["axes"].items() if x != "num_pages"},
                         {"total_q": 4, "len_indptr": 3, "num_kv_indices": 4, "batch_size": 2})
        raw = (self.folder / row["inputs"]["kv_indptr"]["path"]).read_bytes()
        size = int.from_bytes(raw[:8], "little")
        header, body = json.loads(raw[8 : 8 + size]), memoryview(raw[8 + size :])
        self.assertEqual(size % 8, 0)
        for name, wanted in (("qo_indptr", [0, 3, 4]), ("kv_indptr", [0, 3, 4]), ("kv_last_page_len", [1, 4])):
            begin, end = header[name]["data_offsets"]
            self.assertEqual((list(body[begin:end].cast("i")), header[name]["dtype"]), (wanted, "I32"))

    @unittest.skipUnless(SUITE, "flashinfer-bench or torch cannot be imported")
    def test_suite(self):
        self.write(DECODE)
        done = self.run_script("--dry-run", path=os.environ.get("PYTHONPATH", ""))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 solutions built and compared, 0 wrong", done.stdout)
        self.write(change(DECODE, "reference", REFERENCE.replace("0.6931471805599453", "1")))
        done = self.run_script("--dry-run", path=os.environ.get("PYTHONPATH", ""))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("WRONG gqa_paged_decode", done.stdout)


if __name__ == "__main__":
    unittest.main()
