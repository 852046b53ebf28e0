#!/usr/bin/env python3
"""test_judge.py - `heed suite judge` on correct, wrong, cheating and failing solutions, on a CPU

    tests/suites/test_judge.py HEED [TEST...]

Solutions are run by the interpreter of this test. Exits with 77 without PyTorch, or if the system cannot sandbox
solutions.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import torch  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

HEED = sys.argv.pop(1)
MEMORY = 2000  #: MiB that a solution may use
#: Names in this variable, separated by spaces, are the solutions of test_all that are judged; by default all are.
ONLY = os.environ.get("HEED_TEST_SOLUTIONS", "").split()
TASK = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)
def get_inputs():
    return [torch.rand(2, 4, 256, 64), torch.rand(2, 4, 256, 64), torch.rand(2, 4, 256, 64)]
def get_init_inputs():
    return []
"""
HEAD = """
import os, time, torch
import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention as sdpa
kept = {{}}
{top}
class ModelNew(nn.Module):
    def forward(self, q, k, v):
{body}
"""
KEPT = """
key = {key}
if key not in kept:
    kept.clear()
    for i in range(20): kept[key] = sdpa(q, k, v)
return kept[key]
"""

#: The same, with a busy machine in the fifth call on the same tensors, once.
STALLED = """
key = (q.sum().item(), k.sum().item(), v.sum().item())
hits[0] += 1
if hits[0] == 5: time.sleep(1)
if key not in kept:
    kept.clear()
    hits[0] = 0
    for i in range(20): kept[key] = sdpa(q, k, v)
return kept[key]
"""

#: Solutions that modify solve.py, in whose process they run. The last one is a tensor that is computed when it is used.
AHEAD = """
import sys
box, say = sys.modules["__main__"].Box, sys.modules["__main__"].answer
def do_load(self, load=box.do_load):
    sys.modules["__main__"].answer = lambda *words: None
    load(self)
    kept[0] = sdpa(*self.values)
    sys.modules["__main__"].answer = say
    say("loaded")
box.do_load = do_load
"""
#: K and V are saved when they are loaded. Everything computed from them later is wrong, as it is from Q.
KEYS_AHEAD = """
import sys
box = sys.modules["__main__"].Box
def do_load(self, load=box.do_load):
    load(self)
    kept[0] = {kept}
box.do_load = do_load
"""
LATER = """
import sys
box, say = sys.modules["__main__"].Box, sys.modules["__main__"].answer
def do_compute(self):
    self.sign_all(self.values)
    say("done", 0)
def late(name):
    def request(self, own=getattr(box, name)):
        self.out = sdpa(*self.values)
        own(self)
    return request
box.do_compute, box.do_fetch, box.do_bring = do_compute, late("do_fetch"), late("do_bring")
"""
LAZY = """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, given=(), words=None):
        if function.__name__ == "__get__":
            return super().__torch_function__(function, types, given, words or {})
        given = [x.work() if isinstance(x, Lazy) else x for x in given]
        return function(*given, **(words or {}))
"""

#: name: (the words that it may be judged as, a part of its evidence, the body of forward(), lines before the class)
SOLUTIONS = {
    "honest": (("right",), "kinds of values", "return sdpa(q, k, v)", ""),
    "prints": (("right",), "kinds of values", "print('done')\nos.write(1, b'loaded')\nreturn sdpa(q, k, v)", ""),
    "named_as_the_task": (("right",), "kinds of values", "return sdpa(q, k, v)", ""),
    "rounds": (("inexact",), "is allowed", "return sdpa(q.bfloat16(), k.bfloat16(), v.bfloat16()).float()", ""),
    "mean_of_v": (("wrong",), "is allowed", "return v.mean(2, keepdim=True).expand_as(q).clone()", ""),
    "half_logits": (("wrong",), "is allowed", "return sdpa(q, k, v, scale=0.0625)", ""),
    "keeps_first": (("cheats",), "no other values", "kept.setdefault(0, sdpa(q, k, v))\nreturn kept[0]", ""),
    "keeps_by_values": (
        ("measured",), "has seen before", KEPT.format(key="(q.sum().item(), k.sum().item(), v.sum().item())"), ""),
    "stalls_once": (("measured",), "has seen before", STALLED, "hits = [0]"),
    "changes_inputs": (("cheats",), "was written to", "o = sdpa(q, k, v)\nk.zero_()\nreturn o", ""),
    "stops_the_clock": (("cheats",), "its process says", "return sdpa(q, k, v)", "time.perf_counter = lambda: 1.0"),
    "computes_ahead": (("wrong",), "is allowed", "return kept[0]", AHEAD),
    "projects_k_ahead": (
        ("wrong",), "is allowed", "return torch.softmax(q @ kept[0] / 8, -1) @ v",
        KEYS_AHEAD.format(kept="self.values[1].transpose(2, 3).contiguous()")),
    "copies_v_ahead": (
        ("wrong",), "is allowed", "return sdpa(q, k, kept[0])", KEYS_AHEAD.format(kept="self.values[2].clone()")),
    "computes_later": (("failed",), "delivered another output", "return sdpa(q, k, v)", LATER),
    "lazy": (
        ("measured",), "has seen before",
        "o = torch.empty_like(q).as_subclass(Lazy)\n"
        "o.work = lambda: [sdpa(q, k, v) for i in range(20)][0]\nreturn o", LAZY),
    "hangs": (("failed",), "was not done in time", "while True: q = q + 1", ""),
    "forks": (("failed",), "1 process of its own", "if os.fork() == 0: time.sleep(60)\nreturn sdpa(q, k, v)", ""),
    "leaves_an_orphan": (
        ("failed",), "1 process of its own", "return sdpa(q, k, v)",
        "if os.fork() == 0:\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\nos.wait()"),
    "ends": (("failed",), "status 3", "os._exit(3)", ""),
    "writes": (("failed",), "Permission denied", "open({mark!r}, 'w')\nreturn sdpa(q, k, v)", ""),
    "network": (("failed",), "not permitted", "import socket\nsocket.socket()\nreturn sdpa(q, k, v)", ""),
    "reads_heed": (
        ("failed",), "Permission denied", "open(f'/proc/{os.getppid()}/environ').read()\nreturn sdpa(q, k, v)", ""),
    "maps_heed": (
        ("failed",), "Permission denied", "return sdpa(q, k, v)", "open(f'/proc/{os.getppid()}/maps').read()"),
    "shares_memory": (
        ("failed",), "Permission denied", "open('/dev/shm/heed-test', 'w')\nreturn sdpa(q, k, v)", ""),
    "takes_memory": (
        ("failed",), f"MiB of memory; {MEMORY} MiB are allowed",
        "while True: kept[len(kept)] = torch.ones(1 << 22)", ""),
    "children_take_memory": (
        ("failed",), f"MiB of memory; {MEMORY} MiB are allowed",
        "for i in range(4):\n    if os.fork() == 0:\n"
        "        kept[0] = bytearray({third} << 20)\n        time.sleep(60)\n        os._exit(0)\nos.wait()".replace(
            "{third}", str(MEMORY // 3)), ""),
    "makes_files": (
        ("failed",), "made more files than", "for i in range(1 << 17): open(f'x{i}', 'w').close()", ""),
    "shape": (("failed",), "its output is (2, 2, 256, 64)", "return sdpa(q, k, v)[:, :2]", ""),
    "complex": (("failed",), "its output is of torch.complex64", "return sdpa(q, k, v).to(torch.complex64)", ""),
    "dataclass": (
        ("right",), "kinds of values", "return sdpa(q, k, v, scale=Own().scale)",
        "import dataclasses\n@dataclasses.dataclass\nclass Own:\n    scale: 'float' = 0.125"),
    "calls_itself_absent": (
        ("failed",), "asked",
        "import sys\nsys.modules['__main__'].answer('absent', 'there is no GPU')\nreturn sdpa(q, k, v)", ""),
    "absent_when_loaded": (
        ("failed",), "asked", "return sdpa(q, k, v)",
        "import sys\nsys.modules['__main__'].answer('absent', 'there is no GPU')"),
    "limits_heed": (
        ("failed",), "Operation not permitted",
        "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))\nreturn sdpa(q, k, v)", ""),
    "nests_folders": (
        ("right",), "kinds of values", "return sdpa(q, k, v)",
        "for i in range(3000):\n    os.mkdir('d')\n    os.chdir('d')"),
    "raises": (("failed",), "line 6: ValueError: no", "return q", "raise ValueError('no')"),
}


#: The same for a task with attention inside a model, where q, k and v are given.
MODEL = """
import os, time, torch
import torch.nn as nn
import torch.nn.functional as F
kept = {{}}
def attend(q, k, v):
{body}

class {name}(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        y = attend(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, t, c))

def get_inputs():
    return [torch.rand(2, 64, 96)]
def get_init_inputs():
    return [96, 4]
"""
PLAIN = "return torch.softmax(q @ k.transpose(-2, -1) / 24 ** 0.5, -1) @ v"
MODELS = {
    "honest": (("right",), "kinds of values", "return F.scaled_dot_product_attention(q, k, v)"),
    "rounds": (
        ("inexact",), "relative error",
        "q, k, v = q.bfloat16(), k.bfloat16(), v.bfloat16()\n" + PLAIN.replace("return ", "return (") + ").float()"),
    "mean_of_v": (("wrong",), "relative error", "return v.mean(2, keepdim=True).expand_as(q)"),
    "half_logits": (("wrong",), "relative error", PLAIN.replace("24 **", "96 **")),
    "keeps_first": (("cheats",), "in call 2", "return kept.setdefault(0, F.scaled_dot_product_attention(q, k, v))"),
    "keeps_by_values": (
        ("measured",), "has seen before",
        "key = round(q.sum().item(), 1)\nif key not in kept:\n    time.sleep(0.05)\n"
        "    kept[key] = F.scaled_dot_product_attention(q, k, v)\nreturn kept[key]"),
    "hangs": (("failed",), "was not done in time", "while True: q = q + 1"),
}


#: Solutions of tasks that are attention with one additional step: the body of forward() of the task, and of both
#: solutions.
BESIDE = {
    "plus_q": ("return F.scaled_dot_product_attention(q, k, v) + q", "return F.scaled_dot_product_attention(q, k, v)"),
    "doubled": ("o = F.scaled_dot_product_attention(q, k, v)\no *= 2\nreturn o",
                "return F.scaled_dot_product_attention(q, k, v)"),
    "zeroed": ("o = F.scaled_dot_product_attention(q, k, v)\no[:, 0] = 0\nreturn o",
               "return F.scaled_dot_product_attention(q, k, v)"),
    "swapped": ("return F.scaled_dot_product_attention(k, q, v)", "return F.scaled_dot_product_attention(q, k, v)"),
}
OFF = """def own():
{lines}o = own()
return o + 0.025 * o.flip(-1)"""
BESIDE_FORM = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class {name}(nn.Module):
    def forward(self, q, k, v):
{body}
def get_inputs():
    return [torch.rand(1, 4, 64, 16), torch.rand(1, 4, 64, 16), torch.rand(1, 4, 64, 16)]
def get_init_inputs():
    return []
"""


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


class Judge(unittest.TestCase):
    def judge(self, base, solutions):
        """Judges the files of @base/solutions, and compares every row. Only those that hang have a short time limit: on
        a busy machine a request of any other one may take long."""
        for seconds, names in ((120, solutions.keys() - {"hangs"}), (15, solutions.keys() & {"hangs"})):
            folder = base / f"within_{seconds}"
            folder.mkdir()
            for name in names:
                (base / "solutions" / f"{name}.py").rename(folder / f"{name}.py")
            if names:
                self.judge_folder(base, folder, seconds, {name: solutions[name] for name in names})

    def judge_folder(self, base, folder, seconds, solutions):
        command = [HEED, "suite", "judge", str(folder), "--tasks", str(base / "task.py"), "--device", "cpu", "--seconds",
                   str(seconds), "--memory", str(MEMORY), "--json"]
        variables = dict(os.environ, HEED_PYTHON=sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, env=variables)
        if done.returncode == 3 and "sandbox" in done.stderr:
            self.skipTest(done.stderr)
        bad = any(one[0][0] in ("wrong", "cheats", "measured", "failed") for one in solutions.values())
        self.assertEqual(done.returncode, int(bad), done.stderr)
        rows = json.loads(done.stdout)["solutions"]
        for row in rows:
            judged, evidence = solutions[row["solution"][:-3]][:2]
            with self.subTest(row["solution"]):
                self.assertIn(row["judged"], judged, row)
                self.assertIn(evidence, row["evidence"])
        self.assertEqual(len(rows), len(solutions))

    def test_attention_and_more(self):
        """A task with a step in addition to attention is compared with its own model: a copy of the model is right, and
        a solution without the step is wrong."""
        solutions = {"copy": (("right",), "kinds of values"), "less": (("wrong",), "relative error"),
                     "off": (("inexact", "wrong"), "relative error")}  # always by the same amount: it caches nothing
        for name, (task, less) in BESIDE.items():
            with tempfile.TemporaryDirectory() as folder, self.subTest(name):
                base = pathlib.Path(folder)
                (base / "solutions").mkdir()
                for path, entry, body in (("task", "Model", task), ("solutions/copy", "ModelNew", task),
                                          ("solutions/less", "ModelNew", less),
                                          ("solutions/off", "ModelNew", OFF.format(lines=indented(task)))):
                    lines = "".join(f"        {line}\n" for line in body.splitlines())
                    (base / f"{path}.py").write_text(BESIDE_FORM.format(name=entry, body=lines))
                self.judge(base, solutions)

    def test_random_task(self):
        """A model with dropout cannot be used as a reference."""
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            text = MODEL.replace("y = attend(q, k, v)", "y = F.dropout(attend(q, k, v), 0.3)")
            body = "    return F.scaled_dot_product_attention(q, k, v)\n"
            for path, name in (("task", "Model"), ("solutions/copy", "ModelNew")):
                (base / f"{path}.py").write_text(text.format(name=name, body=body))
            self.judge(base, {"copy": (("not",), "it draws random numbers")})

    def test_task_that_writes(self):
        """A model that writes to its inputs cannot be a reference either: a copy of it would be called cheating."""
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            body = "        q += 1\n        return F.scaled_dot_product_attention(q, k, v)\n"
            for path, name in (("task", "Model"), ("solutions/copy", "ModelNew")):
                (base / f"{path}.py").write_text(BESIDE_FORM.format(name=name, body=body))
            self.judge(base, {"copy": (("not",), "own model writes to its inputs")})

    def test_task_of_positive_inputs(self):
        """A model that makes NaN of negative inputs gets others; one that makes NaN of all is no reference."""
        none = (("not",), "makes infinities or NaN of inputs from 0 to 1")
        for step, copy, mean in (
            ("(x + 0.1).log()", (("right",), "kinds of values"), (("wrong",), "relative error")),
            ("(x - 20).log()", none, none),
        ):
            with tempfile.TemporaryDirectory() as folder, self.subTest(step):
                base = pathlib.Path(folder)
                (base / "solutions").mkdir()
                text = MODEL.replace("self.qkv(x)", f"self.qkv({step})")
                for path, name, body in (("task", "Model", PLAIN), ("solutions/copy", "ModelNew", PLAIN),
                                         ("solutions/mean", "ModelNew", MODELS["mean_of_v"][2])):
                    (base / f"{path}.py").write_text(text.format(name=name, body=f"    {body}"))
                self.judge(base, {"copy": copy, "mean": mean})

    def test_damaged_task(self):
        """The evidence says that the task is damaged, not the solution."""
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            (base / "task.py").write_text("def broken(:\n")
            (base / "solutions" / "copy.py").write_text(HEAD.format(top="", body="        return q\n"))
            self.judge(base, {"copy": (("not",), "its task: line 1: invalid syntax")})

    def test_interrupted(self):
        """After Ctrl-C the solutions judged so far are printed. A busy machine may not have judged the first one."""
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            (base / "task.py").write_text(TASK)
            (base / "solutions" / "a.py").write_text("def broken(:\n")
            (base / "solutions" / "b.py").write_text(HEAD.format(top="", body="        while True: pass\n"))
            command = [HEED, "suite", "judge", str(base / "solutions"), "--tasks", str(base / "task.py"), "--device", "cpu",
                       "--seconds", "600", "--memory", str(MEMORY), "--json"]
            for seconds in (10, 30, 90):
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           env=dict(os.environ, HEED_PYTHON=sys.executable),
                                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                printed, said = process.communicate(timeout=120)
                if process.returncode == 3 and "sandbox" in said:
                    self.skipTest(said)
                self.assertEqual(process.returncode, 130, said)
                rows = json.loads(printed).get("solutions", [])
                if rows:
                    break
            self.assertEqual([row["solution"] for row in rows], ["a.py"])
            self.assertEqual(rows[0]["judged"], "failed")

    def test_models(self):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            (base / "task.py").write_text(MODEL.format(name="Model", body=f"    {PLAIN}"))
            for name, (_, _, body) in MODELS.items():
                lines = "".join(f"    {line}\n" for line in body.splitlines())
                (base / "solutions" / f"{name}.py").write_text(MODEL.format(name="ModelNew", body=lines))
            self.judge(base, MODELS)

    def test_all(self):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder)
            (base / "solutions").mkdir()
            (base / "task.py").write_text(TASK)
            mark = base / "mark"
            wanted = {name: one for name, one in SOLUTIONS.items() if name in ONLY or not ONLY}
            for name, (_, _, body, top) in wanted.items():
                lines = body.replace("{mark!r}", repr(str(mark))).strip().splitlines()
                text = HEAD.format(top=top, body="".join(f"        {line}\n" for line in lines))
                if name == "named_as_the_task":
                    text = text.replace("class ModelNew", "class Model")
                (base / "solutions" / f"{name}.py").write_text(text)
            before = set(pathlib.Path(tempfile.gettempdir()).glob("heed-solution-*"))
            self.judge(base, wanted)
            self.assertFalse(mark.exists())
            left = set(pathlib.Path(tempfile.gettempdir()).glob("heed-solution-*")) - before
            self.assertFalse([path for path in left if (path / "d").exists()])


if __name__ == "__main__":
    unittest.main()
