#!/usr/bin/env python3
"""test_solutions.py - solutions written by `heed suite export`, compared with the models of their tasks, in PyTorch

    tests/suites/test_solutions.py HEED

HEED is the program; libheed is that of HEED_LIBRARY. On a CPU those that call the library are run, on a GPU those that
carry a kernel as well. Exits with 77 without torch.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]
HEED = sys.argv.pop(1)

from hard_tasks import HARD  # noqa: E402
from tasks import HEAD, TASKS, task  # noqa: E402

TOLERANCE = {"f32": 1e-5, "f16": 5e-3, "bf16": 4e-2, "tf32": 5e-3, "bf16x3": 2e-4}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAMES = ("written", "triu", "packed", "multihead", "scaled_queries")
#: Without a bias, without heads, with more keys than queries, with fewer key heads.
HARD_NAMES = ("mha_nobias", "bmm", "causal_rect", "causal_rect_br", "gqa", "mqa", "kv_rep", "plus_q")
CALLED = task("q, k, v = x\nreturn F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5)",
              "torch.rand(2, 4, 16, 8), torch.rand(2, 4, 16, 8), torch.rand(2, 4, 16, 8)", head=HEAD)


def export(folder, text, form, products):
    """Returns the text of the solution."""
    path = folder / "task.py"
    path.write_text(text)
    machine = "H200"
    if DEVICE == "cuda" and torch.cuda.get_device_capability()[0] < 9:
        machine = "A100"
    words = ["--form", form, "--products", products, "--machine", machine, "--out", str(folder)]
    done = subprocess.run([HEED, "suite", "export", "kernelbench", str(path), *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return (folder / f"task_heed_{form}_{products}.py").read_text()


def results(text, solution):
    """Outputs of the task's model in float64 and of the solution, with equal parameters and inputs."""
    models = []
    for source, name in ((text, "Model"), (solution, "ModelNew")):
        names = {}
        exec(compile(source, name, "exec"), names)
        if name == "Model":
            inputs, given = names["get_inputs"], names["get_init_inputs"]()
        torch.manual_seed(42)
        models.append(names[name](*given).to(DEVICE))
    torch.manual_seed(7)
    x = [one.to(DEVICE) for one in inputs()]
    with torch.no_grad():
        made = models[1](*x)
        return models[0].double()(*(one.double() for one in x)), made


class Solutions(unittest.TestCase):
    def check(self, form, products):
        with tempfile.TemporaryDirectory() as folder:
            for text in (*(TASKS[name][0] for name in NAMES), *(HARD[name][1] for name in HARD_NAMES), CALLED):
                solution = export(pathlib.Path(folder), text, form, products)
                wanted, made = results(text, solution)
                self.assertEqual(made.dtype, torch.float32)
                self.assertEqual(made.shape, wanted.shape)
                self.assertLess((made - wanted).abs().max().item(), TOLERANCE[products])

    def test_library(self):
        for products in ("f32", "tf32", "bf16x3"):
            self.check("library", products)

    def test_library_rounded(self):
        self.check("library", "f16")
        self.check("library", "bf16")

    @unittest.skipUnless(DEVICE == "cuda", "there is no GPU")
    def test_kernel(self):
        for products in TOLERANCE:
            self.check("kernel", products)


if __name__ == "__main__":
    os.environ.setdefault("HEED_DEVICE", DEVICE)
    unittest.main()
