#!/usr/bin/env python3
"""The laboratory from Python: the records of heed.lab compared with the program's own output.

    test_lab.py PROGRAM
"""

import fractions
import os
import pathlib
import sys
import tempfile
import unittest

import source_tree  # noqa: F401

os.environ["HEED_PROGRAM"] = sys.argv[1]
os.environ["HEED_DEVICE"] = "cpu"

import heed  # noqa: E402
import heed.lab as lab  # noqa: E402

SPEC, OTHER = "b1 h2 s32 d16 f32", "b1 h2 s16 d16 f32 causal"


class Lab(unittest.TestCase):
    def flat(self, rows, keys):
        """Records that pandas accepts: dicts of scalars with the same keys."""
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(list(row), list(rows[0]))
            self.assertLessEqual(set(keys), set(row))
            for value in row.values():
                self.assertIsInstance(value, (str, int, float, bool, type(None)))

    def test_bench(self):
        rows = lab.bench([SPEC, heed.Problem(OTHER)], seconds=0.01, peers="naive", threads=1)
        self.flat(rows, ("problem", "side", "kernel", "p50", "ratio", "verdict"))
        self.assertEqual([row["problem"] for row in rows if row["side"] == "heed"], [SPEC, OTHER])
        for row in rows:
            self.assertEqual(row["outcome"], "ok")
            self.assertGreater(row["p50"], 0)
            self.assertEqual(row["side"] == "heed", row["ratio"] is None)
        self.assertEqual([row["side"] for row in rows].count("naive"), 2)
        self.assertEqual(rows.document["schema"], "heed.bench/1")
        self.assertEqual(rows.document["threads"], 1)

    def test_verify(self):
        rows = lab.verify(SPEC, kernel="fwd_any_scalar_row", inputs=["normal", "needle"], once=True, cold=False)
        self.flat(rows, ("kernel", "cpu", "passed", "failed", "skipped", "worst_error"))
        self.assertEqual([row["kernel"] for row in rows], ["fwd_any_scalar_row"])
        self.assertEqual((rows[0]["failed"], rows.status, rows.document["failures"]), (0, 0, []))
        self.assertGreater(rows[0]["passed"], 0)

    def test_tune_and_board(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "board.db"
            wisdom = pathlib.Path(folder) / "heed.wisdom"
            rows = lab.tune(SPEC, seconds=600, peers="none", board=path, wisdom=wisdom, insights="none", trials=3,
                            rivals=0.02, duel=0.05)  # ends after 3 trials
            self.flat(rows, ("problem", "champion", "best", "improved", "before_p50"))
            self.assertEqual(rows[0]["problem"], SPEC)
            self.assertEqual(rows[0]["champion"], heed.Plan(heed.Problem(SPEC)).name)
            found = lab.board(board=path, all=True)
            self.flat(found, ("problem", "kernel", "config", "seconds"))
            self.assertEqual({row["problem"] for row in found}, {SPEC})
            self.assertEqual(lab.board(board=path, all=True, problem="d77"), [])

    def test_plan(self):
        rows = lab.plan(SPEC)
        self.flat(rows, ("problem", "kernel", "chosen", "predicted_seconds", "rejected"))
        chosen = [row["kernel"] for row in rows if row["chosen"]]
        self.assertEqual(chosen, [heed.Plan(heed.Problem(SPEC)).name])

    def test_mistakes(self):
        rows = (
            (heed.InvalidError, "heads_kv is 3", lambda: lab.bench("b1 h8/3 s4 d4 f32")),
            (heed.InvalidError, "no such option; did you mean --peers", lambda: lab.bench(SPEC, pears="none")),
            (heed.InvalidError, "seconds", lambda: lab.tune(SPEC, seconds=-1)),
            (heed.InvalidError, "nosuch", lambda: lab.run("nosuch")),
            (heed.ArgumentTypeError, "seed: dict", lambda: lab.verify(SPEC, seed={})),
            (heed.ArgumentTypeError, r"problems\[1\]: int", lambda: lab.bench([SPEC, 3])),
            (heed.ArgumentTypeError, "problems: int is not a str", lambda: lab.plan(3)),
            (heed.InvalidError, r"problems\[1\]: .* null character", lambda: lab.plan([SPEC, "b1\0"])),
            (heed.InvalidError, "problems: .* not text", lambda: lab.plan("\ud800")),
            (heed.InvalidError, "kernel: .* null character", lambda: lab.plan(SPEC, kernel="a\0b")),
            (heed.ArgumentTypeError, "verb: NoneType is not a str", lambda: lab.run(None)),
            (heed.SystemCallError, "plan: Argument list too long", lambda: lab.plan("x" * 300_000)),
            (heed.UnsupportedError, "bf16", lambda: lab.plan(SPEC, kernel="fwd_bf16_avx512bf16_tile")),
        )
        for error, part, call in rows:
            with self.subTest(part=part), self.assertRaisesRegex(error, part):
                call()

    def test_numbers_of_other_types(self):
        class Third(fractions.Fraction):  # as NumPy's numbers, a number that is no int and no float
            def __str__(self):
                return str(float(self))

        rows = lab.bench(SPEC, seconds=Third(1, 100), peers="none")
        self.assertEqual(rows[0]["outcome"], "ok")

    def test_the_program_must_be_there(self):
        before = os.environ["HEED_PROGRAM"]
        try:
            os.environ["HEED_PROGRAM"] = "/nowhere/heed"
            with self.assertRaisesRegex(heed.SystemCallError, "HEED_PROGRAM: /nowhere/heed"):
                lab.bench(SPEC)
            os.environ["HEED_PROGRAM"] = "/bin/echo"
            with self.assertRaisesRegex(heed.SystemCallError, "no JSON"):
                lab.bench(SPEC)
            with tempfile.TemporaryDirectory() as folder:
                own = os.environ["HEED_PROGRAM"] = os.path.join(folder, "heed")
                for text, part in (("not a program", "Exec format error"), ("#!/bin/sh\necho null", "no JSON"),
                                   ("#!/bin/sh\nprintf '\\377'", "no JSON"), ("#!/bin/sh\necho {}", "no JSON")):
                    pathlib.Path(own).write_text(text)
                    os.chmod(own, 0o755)
                    with self.subTest(text=text), self.assertRaisesRegex(heed.SystemCallError, part):
                        lab.bench(SPEC)
        finally:
            os.environ["HEED_PROGRAM"] = before


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
