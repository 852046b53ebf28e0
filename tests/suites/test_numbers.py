#!/usr/bin/env python3
"""test_numbers.py - checks that the attention named for a task is the one that the task computes, in PyTorch on a CPU

    tests/suites/test_numbers.py READERS

READERS is the folder of read_task.py. A task classified as pure attention is compared with the named problem; one that
can be rewritten is compared with its model with the calls replaced by float64 attention. Exits with 77 without torch.
"""

import os
import re
import sys
import unittest
import warnings

try:
    import torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, sys.argv.pop(1))

from hard_tasks import HARD  # noqa: E402
from tasks import TASKS  # noqa: E402

import read_task  # noqa: E402


def attention(q, k, v, causal, scale):
    kind = q.dtype
    assert all(x.dim() == 4 and x.shape[0] == q.shape[0] for x in (q, k, v)), "not as [batch, heads, sequence, dim]"
    q, k, v = (x.double() for x in (q, k, v))
    if k.shape[1] != q.shape[1]:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    w = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        shift = w.shape[-1] - w.shape[-2] if causal == "bottom-right" else 0
        w = w.masked_fill(torch.ones(w.shape[-2:]).triu(1 + shift).bool(), float("-inf"))
    return (w.softmax(-1) @ v).to(kind)


def multihead(module, x):
    x = x.transpose(0, 1) if module.batch_first else x
    s, b, width = x.shape
    x = torch.nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias)
    q, k, v = x.view(s, b, 3, module.num_heads, -1).permute(2, 1, 3, 0, 4)
    o = attention(q, k, v, False, None).permute(2, 0, 1, 3).reshape(s, b, width)
    o = module.out_proj(o)
    return (o.transpose(0, 1) if module.batch_first else o), None


def problem_of(spec):
    """The mask and the scale of a problem."""
    scale = re.search(r" scale=(\S+)", spec)
    causal = re.search(r" causal(=br)?", spec)
    return (causal and (causal[1] and "bottom-right" or True)), scale and float(scale[1])


class Numbers(unittest.TestCase):
    def setUp(self):
        sys.setrecursionlimit(8000)
        warnings.simplefilter("ignore")

    def output(self, text, entry, **names):
        """The inputs, and the output of the model `entry` of a file: weights, inputs and dropout are the same each
        time."""
        exec(compile(text, entry, "exec"), names)
        torch.manual_seed(1)
        model = names[entry](*self.given)
        torch.manual_seed(2)
        inputs = [1.5 * x if torch.is_tensor(x) else x for x in self.inputs()]
        kept = [x.clone() if torch.is_tensor(x) else x for x in inputs]
        torch.manual_seed(3)
        with torch.no_grad():
            made = model(*inputs)
        return kept, made

    def near(self, made, wanted, text):
        if isinstance(wanted, (list, tuple)):
            for one, other in zip(made, wanted):
                self.near(one, other, text)
            return
        most = 3e-2 if "half" in text or "float16" in text else 1e-4  # the task itself rounds
        self.assertEqual(made.shape, wanted.shape)
        self.assertTrue(torch.allclose(made.double(), wanted.double(), most, most, equal_nan=True))

    def check(self, text):
        """Returns which of the two comparisons were made."""
        read, other = (read_task.answer_of(way, text.encode()) for way in ("read", "rewrite"))
        whole = read.get("class") == "attention" and read["whole"]
        if read.get("class") != "attention":
            self.assertNotIn("model", other)
            return ""
        if not whole and "model" not in other:
            return ""
        names = {}
        exec(compile(text, "task", "exec"), names)
        self.given, self.inputs = names["get_init_inputs"](), names["get_inputs"]
        inputs, wanted = self.output(text, "Model")
        if whole:
            self.near(attention(*inputs, *problem_of(read["attention"][0]["spec"])), wanted, text)
        if "model" in other:
            _, made = self.output(other["model"], "ModelNew", heed_attention=attention, heed_multihead=multihead)
            self.near(made, wanted, text)
        return ("w" if whole else "") + ("r" if "model" in other else "")

    def test_all(self):
        done = {}
        for name, (_, text) in HARD.items():
            with self.subTest(name):
                done[name] = self.check(text)
        for name, (text, kind, _, _) in TASKS.items():
            if kind == "attention":
                with self.subTest(name):
                    done[name] = self.check(text)
        self.assertGreater(sum("w" in x for x in done.values()), 60)
        self.assertGreater(sum("r" in x for x in done.values()), 100)


if __name__ == "__main__":
    unittest.main()
