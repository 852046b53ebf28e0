#!/usr/bin/env python3
"""test_read_task.py - the findings of suites/read_task.py in tasks, without a sandbox

    tests/suites/test_read_task.py READERS

READERS is the folder of read_task.py. Each task of tasks.py is read, and all tasks of the KernelBench checkout
HEED_KERNELBENCH, if set.
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, sys.argv.pop(1))

from hard_tasks import HARD  # noqa: E402
from tasks import TASKS  # noqa: E402

import read_task  # noqa: E402


def words_of(answer):
    notes = [note for one in answer.get("attention", []) for note in one["notes"]]
    return "\n".join([answer["reason"], *notes])


class Tasks(unittest.TestCase):
    def setUp(self):
        sys.setrecursionlimit(8000)

    def test_all(self):
        for name, (text, kind, specs, words) in TASKS.items():
            with self.subTest(name):
                data = text if isinstance(text, bytes) else text.encode()
                answer = read_task.answer_of("read", data)
                self.assertEqual(answer["class"], kind, answer)
                self.assertIn(words, words_of(answer))
                found = [one["spec"] for one in answer.get("attention", [])]
                self.assertEqual(len(found), len(specs), found)
                for spec, part in zip(found, specs):
                    self.assertIn(part, spec)

    def test_hard(self):
        for name, (kind, text) in HARD.items():
            with self.subTest(name):
                answer = read_task.answer_of("read", text.encode())
                whole = answer["class"] == "attention" and answer["whole"]
                self.assertEqual("whole" if whole else answer["class"], kind, answer["reason"])

    def test_scale_of_the_call(self):
        """Queries that are scaled before the product are not scaled again by the call that replaces it."""
        answer = read_task.answer_of("read", TASKS["scaled_queries"][0].encode())
        self.assertIn(" scale=0.5 ", answer["attention"][0]["spec"])
        self.assertIn(" scale=1 ", answer["attention"][0]["call"])

    def test_layers_are_counted(self):
        answer = read_task.answer_of("read", TASKS["batch_for_sequence"][0].encode())
        self.assertEqual(answer["attention"][0]["layers"], 3)

    def test_operations(self):
        """Operations of the attention and of other linear maps, computed by hand."""
        answer = read_task.answer_of("read", TASKS["packed"][0].encode())
        self.assertEqual(answer["attention"][0]["operations"], 2 * 4 * 32 * 32 / 2 * 2 * (12 + 12))
        maps = {one["kind"]: one for one in answer["beside"]}
        self.assertEqual(maps["linear map"]["count"], 2)
        self.assertEqual(maps["linear map"]["operations"], 2 * 2 * 32 * 48 * (3 * 48 + 48))

    def test_nothing_is_run(self):
        """A file that would leave a trace if it were executed."""
        mark = pathlib.Path("was_run")
        text = TASKS["sdpa"][0] + "\nopen('was_run', 'w').write('x')\nimport os\nos.system('touch was_run')\n"
        self.assertEqual(read_task.answer_of("read", text.encode())["class"], "attention")
        self.assertFalse(mark.exists())

    def test_rewriting(self):
        for name, wanted in (("packed", "heed_attention(q, k, v, True, 0.28"),
                             ("multihead", "heed_multihead(self.attn, x[0])"),
                             ("written", "heed_attention(q, k, v, False")):
            with self.subTest(name):
                answer = read_task.answer_of("rewrite", TASKS[name][0].encode())
                self.assertIn(wanted, answer["model"])
                self.assertIn("class ModelNew(nn.Module)", answer["model"])
                self.assertNotIn("softmax", answer["model"])
                self.assertNotIn("get_inputs", answer["model"])

    def test_what_cannot_be_rewritten(self):
        cases = (("relu", "no attention"), ("sdpa", "not written out"), ("learned_bias", "learned bias"),
                 ("einsum", "einsum()"), ("batch_for_sequence", "inside nn.TransformerEncoderLayer"),
                 ("syntax", "no Python"))
        for name, words in cases:
            with self.subTest(name):
                self.assertIn(words, read_task.answer_of("rewrite", TASKS[name][0].encode()).get("refused", ""))

    def test_hard_ones_that_cannot_be_rewritten(self):
        cases = (("module_list", "another scale or mask in each call"), ("two_uses", "something else in another"),
                 ("q_mut_between", "written to between the products"), ("view_merge", "grouped in another way"),
                 ("loop_reassign", "another value between the products"), ("mha_weights", "its result is not followed"),
                 ("reassign_attr", "another value"), ("reassign_list", "another value"),
                 ("mha_2d", "one tensor of batches"), ("out_of_product", "to a tensor that is there already"),
                 ("mixed_rank", "not three of [batch, heads, sequence, dim]"))
        for name, words in cases:
            with self.subTest(name):
                self.assertIn(words, read_task.answer_of("rewrite", HARD[name][1].encode()).get("refused", ""))

    def test_reasons(self):
        """A reason names the step that is not followed, and nothing else."""
        cases = (("softmax_dim1", "a softmax of products along dimension 1, not along keys"),
                 ("counter", "its second call has other attention"), ("scale_unknown", "changed by '.item()'"),
                 ("patch_class", "an assignment to 'extra' of torch.nn.Softmax"),
                 ("with_own_class", "a 'with Other'"), ("private_sdpa", "_scaled_dot_product_attention_math"))
        for name, words in cases:
            with self.subTest(name):
                reason = read_task.answer_of("read", HARD[name][1].encode())["reason"]
                self.assertTrue(reason.endswith(words) or f"{words}()" in reason, reason)

    def test_changed_queries(self):
        """Queries that are changed between the products are no longer those of the product."""
        text = TASKS["written"][0].replace("w = F.softmax(w, dim=-1)", "w = F.softmax(w, dim=-1)\n        q = v")
        self.assertIn("another value", read_task.answer_of("rewrite", text.encode())["refused"])


class Checkout(unittest.TestCase):
    WANTED = {
        ("level1", 97): "b32 h32 s512 d1024 f32",
        ("level3", 28): "b197 h8 s2 d64 f32",
        ("level3", 30): "b640 h3 s49 d32",
        ("level3", 31): "b2 h4 s16384 d32 f32",
        ("level3", 32): "b10 h4 s2 d32",
        ("level3", 43): "b128 h8 s512 d96 f32 causal",
        ("level3", 44): "b128 h8 s512 d96 f32 causal",
    }

    @unittest.skipUnless(os.environ.get("HEED_KERNELBENCH"), "HEED_KERNELBENCH names no checkout")
    def test_all(self):
        found = {}
        for path in sorted(pathlib.Path(os.environ["HEED_KERNELBENCH"], "KernelBench").glob("level[123]/*.py")):
            answer = read_task.answer_of("read", path.read_bytes())
            self.assertIn(answer["class"], ("attention", "unfit", "none"), path)
            if answer["attention"]:
                found[path.parent.name, int(path.name.split("_")[0])] = answer["attention"][0]["spec"]
        self.assertEqual(set(found), set(self.WANTED))
        for key, part in self.WANTED.items():
            self.assertIn(part, found[key])


if __name__ == "__main__":
    unittest.main()
