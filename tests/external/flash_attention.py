#!/usr/bin/env python3
"""Runs the parameter grids of FlashAttention's tests on heed.

    tests/external/flash_attention.py HEED CHECKOUT [--every N] [--jobs N] [-- OPTIONS...]

HEED is the program, such as build/release/cli/heed; CHECKOUT a checkout of
https://github.com/Dao-AILab/flash-attention, whose tests/test_flash_attn.py (FlashAttention-2) and
hopper/test_flash_attn.py (FlashAttention-3) have the grids; OPTIONS go to each `heed run`, such as
`--device cuda`. Needs numpy and ml_dtypes, and neither torch nor a GPU.

The grids are those of dense tensors, forward: sequences of varying length, caches and pages are other
tests. Values are drawn as there, normal ones, and windows and chunks at random. The rule is theirs:
the largest error of O may be twice that of attention in the type itself, whose every step is rounded
(three times with FlashAttention-3's softcap), both beside the exact one. The exact one is computed here
in float64. Parameters without a meaning for O, such as how K and V are packed, are counted, and run once.

With --every N one case in N is run, drawn at random, but always the same ones. Prints for each grid how
many cases there are, how many heed has words for, how many were run, and how many were right. Exits with
1 if one is wrong, with 77 ("skipped") without numpy and ml_dtypes.
"""

import ast
import concurrent.futures
import itertools
import math
import pathlib
import random
import sys
import tempfile

import script

DIM_MAX = 1024

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    script.skip(error)

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
NO_MEANING = ("deterministic", "kvpacked", "V_colmajor", "num_splits")


class Names(dict):
    """Names in the expressions of decorators: types of torch, by their names, and switches, all off."""

    class Torch:
        def __getattr__(self, name):
            return name

    def __missing__(self, name):
        if name == "torch":
            return self.Torch()
        if name == "COMPILED_HDIMS":
            return [64, 96, 128, 192, 256]
        if name.startswith("DISABLE_") or name.startswith("is_sm"):
            return False
        raise KeyError(name)


def grid_of(path, function):
    """Returns the cases of a test as dicts, by the decorators of its function."""
    tree = ast.parse(path.read_text())
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    axes = []
    for decorator in node.decorator_list:
        names, values = (ast.unparse(argument) for argument in decorator.args)
        names = ast.literal_eval(names).replace(" ", "").split(",")
        values = eval(values, {"__builtins__": {}}, Names())  # pylint: disable=eval-used
        axes.append([dict(zip(names, value if len(names) > 1 else [value])) for value in values])
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes)]


def in_type(array, kind):
    """Rounds to the type, for the next step in float32."""
    return array.astype(TYPES[kind]).astype(np.float32)


class Case:
    """A problem, with its values."""

    def __init__(self, suite, grid, case):
        draw = random.Random(repr(sorted(case.items())))
        self.kind = case["dtype"]
        self.sq, self.sk = case.get("seqlen_q", case.get("seqlen")), case.get("seqlen_k", case.get("seqlen"))
        if case.get("swap_sq_sk"):
            self.sq, self.sk = self.sk, self.sq
        self.softcap = case.get("softcap", 0.0)
        self.causal = case.get("causal", grid.endswith("causal"))
        self.heads, self.batch = suite.heads(grid, self), suite.batch(grid, self)
        self.heads_kv = {"mha": self.heads, "gqa": 2, "mqa": 1}[case.get("mha_type", "mha")]
        self.dim, self.dim_v = case["d"], case.get("dv", case["d"])
        self.qv = case.get("has_qv", False)
        self.window = [draw.randrange(self.sk) for _ in range(2)] if case.get("local") else [-1, -1]
        if self.causal:
            self.window[1] = 0
        self.chunk = draw.randrange(1, 2 * self.sk) if case.get("attention_chunk") else 0
        self.slopes = case.get("alibi", False)
        self.rate = suite.rate(self)
        self.seed = draw.randrange(2**32)

    def words(self):
        sides = ["" if side < 0 else str(side) for side in self.window]
        words = ["align=br"] if self.sq != self.sk else []
        words += [f"window={sides[0]}:{sides[1]}"] if any(sides) else []
        words += [f"chunk={self.chunk}"] if self.chunk else []
        words += [f"softcap={self.softcap:g}"] if self.softcap else []
        return " ".join(words)

    def values(self, suite):
        """Returns Q, K, V, [batch, seq, heads, dim], float32 of elements of the type, and slopes."""
        draw = np.random.default_rng(self.seed)
        normal = lambda *shape: draw.standard_normal(shape, np.float32)
        q = in_type(normal(self.batch, self.sq, self.heads, self.dim), self.kind)
        if self.softcap:
            q = in_type(q * self.softcap * suite.cap_factor, self.kind)
        k = in_type(normal(self.batch, self.sk, self.heads_kv, self.dim), self.kind)
        v = in_type(normal(self.batch, self.sk, self.heads_kv, self.dim_v), self.kind)
        if self.qv:  # q.k + qv.v is one product of longer vectors
            q = np.concatenate([q, in_type(normal(self.batch, self.sq, self.heads, self.dim_v), self.kind)], axis=-1)
            k = np.concatenate([k, v], axis=-1)
        slopes = draw.random((self.batch, self.heads), np.float32) * np.float32(0.3) if self.slopes else None
        return q, k, v, slopes

    def hidden(self):
        """Returns which keys are hidden, [queries, keys]."""
        at, j = np.arange(self.sq)[:, None] + self.sk - self.sq, np.arange(self.sk)[None, :]
        hidden = np.zeros((self.sq, self.sk), bool)
        if self.window[0] >= 0:
            hidden |= j < at - self.window[0]
        if self.window[1] >= 0:
            hidden |= j > at + self.window[1]
        if self.chunk:
            hidden |= j // self.chunk != at // self.chunk
        return hidden

    def attend(self, q, k, v, slope, hidden, exact):
        """Returns O of one head: in float64, or with each step rounded to the type."""
        step = (lambda x: x.astype(np.float64)) if exact else (lambda x: in_type(x, self.kind))
        scale = 1 / math.sqrt(q.shape[-1])
        s = step(step(q) @ step(step(k) * (scale if exact else np.float32(scale))).T)
        if self.softcap:
            s = step(step(np.tanh(step(s / self.softcap))) * self.softcap)
        if slope is not None:
            at, j = np.arange(self.sq)[:, None] + self.sk - self.sq, np.arange(self.sk)[None, :]
            s = step(s + step(-slope * np.abs(at - j).astype(s.dtype)))
        s = np.where(hidden, -np.inf, s)
        top = s.max(axis=-1, keepdims=True)
        p = np.exp(s - np.where(np.isfinite(top), top, 0))
        total = p.sum(axis=-1, keepdims=True)
        return step(step(p / np.where(total > 0, total, 1)) @ step(v))

    def both(self, q, k, v, slopes):
        """Returns the exact O, rounded to the type, and that of attention in the type."""
        hidden, group = self.hidden(), self.heads // self.heads_kv
        o = np.zeros((2, self.batch, self.sq, self.heads, self.dim_v), np.float32)
        for b, h in itertools.product(range(self.batch), range(self.heads)):
            slope = None if slopes is None else float(slopes[b, h])
            for exact in (True, False):
                found = self.attend(q[b, :, h], k[b, :, h // group], v[b, :, h // group], slope, hidden, exact)
                o[0 if exact else 1, b, :, h] = found
        return in_type(o[0], self.kind), o[1]


class Second:
    """FlashAttention-2."""

    name, path, cap_factor = "FlashAttention-2", "tests/test_flash_attn.py", 1
    grids = ("test_flash_attn_qkvpacked", "test_flash_attn_output", "test_flash_attn_causal", "test_flash_attn_splitkv")

    def expand(self, case):
        return [case]

    def heads(self, grid, case):
        if grid == "test_flash_attn_qkvpacked":
            return 9
        if grid == "test_flash_attn_splitkv":
            return 12
        return 9 if grid == "test_flash_attn_causal" else 4 if case.softcap else 6

    def batch(self, grid, _):
        return {"test_flash_attn_causal": 8, "test_flash_attn_splitkv": 1}.get(grid, 4)

    def rate(self, _):
        return 2

    def slack(self, _):
        return 0


class Third:
    """FlashAttention-3."""

    name, path, cap_factor = "FlashAttention-3", "hopper/test_flash_attn.py", 1 / 4
    grids = ("test_flash_attn_output",)

    def expand(self, case):
        """The values that the test goes through itself."""
        if case["has_qv"] and (case["d"] != 64 or case["dtype"] not in TYPES):
            return []  # it skips these
        d = case["d"]
        dims = [128, d] if 128 < d <= 192 else [256, 512, d] if d <= 64 else [d]
        dims = [d] if case["dtype"] not in TYPES else [256, 512] if case["has_qv"] else dims
        return [dict(case, dv=dv, attention_chunk=chunk) for dv in dims for chunk in (True, False)]

    def heads(self, _, __):
        return 6

    def batch(self, _, case):
        return 9 if case.sk <= 2048 else 2

    def rate(self, case):
        return 3 if case.softcap else 2

    def slack(self, exact):
        """Twice the error of two additions in the type."""
        kind = exact.dtype.type
        return 2 * float(np.abs((exact + kind(0.3) - kind(0.3) - exact).astype(np.float32)).max())


def inexpressible(case):
    """Returns why heed has no words for it, or None."""
    if case.get("dropout_p"):
        return "dropout"
    if case["dtype"] not in TYPES:
        return "fp8"
    if case.get("has_qv") and case["d"] + case["dv"] > DIM_MAX:
        return f"head dims above {DIM_MAX}"
    return None


def run(heed, options, it, values, folder):
    """Returns O by `heed run`, float32, or raises RuntimeError."""
    q, k, v, slopes = values
    command = [heed, "run", "--type", "bf16" if it.kind == "bfloat16" else "f16", "--out", folder / "o.npy"] + options
    for name, array in (("q", q), ("k", k), ("v", v)):
        array = array.astype(TYPES[it.kind])
        np.save(folder / f"{name}.npy", array.view(np.uint16) if it.kind == "bfloat16" else array)
        command += [f"--{name}", folder / f"{name}.npy"]
    if slopes is not None:
        np.save(folder / "slopes.npy", slopes)
        command += ["--slopes", folder / "slopes.npy"]
    if it.words():
        command += ["--words", it.words()]
    script.run(command)
    o = np.load(folder / "o.npy")
    return (o.view(ml_dtypes.bfloat16) if it.kind == "bfloat16" else o).astype(np.float32)


def judge(job):
    """Returns None if a case is right, else what is wrong."""
    suite, grid, case, heed, options = job
    it = Case(suite, grid, case)
    values = it.values(suite)
    try:
        with tempfile.TemporaryDirectory() as folder:
            o = run(heed, options, it, values, pathlib.Path(folder))
    except RuntimeError as why:
        return f"{grid} {case}: {why}"
    exact, typed = it.both(*values)
    error, other = float(np.abs(o - exact).max()), float(np.abs(typed - exact).max())
    allowed = it.rate * other + suite.slack(exact.astype(TYPES[it.kind]))
    return None if error <= allowed else f"{grid} {case} {it.words()}: error {error:.3g}, {allowed:.3g} is allowed"


def main():
    args = script.checkout_arguments(__doc__, "FlashAttention")
    wrong = 0
    for suite, grid in ((s, g) for s in (Second(), Third()) for g in s.grids):
        cases = [c for case in grid_of(args.checkout / suite.path, grid) for c in suite.expand(case)]
        said = [case for case in cases if not inexpressible(case)]
        unique = {repr(sorted((k, v) for k, v in c.items() if k not in NO_MEANING)): c for c in said}
        chosen = random.Random(grid).sample(sorted(unique), max(1, len(unique) // args.every))
        jobs = [(suite, grid, unique[key], args.heed, args.options) for key in chosen]
        with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
            faults = [fault for fault in pool.map(judge, jobs) if fault]
        for fault in faults:
            print(fault, file=sys.stderr)
        wrong += len(faults)
        print(
            f"{suite.name} {grid}: {len(cases)} cases, {len(said)} expressible, which are {len(unique)} problems, "
            f"{len(jobs)} run, {len(jobs) - len(faults)} right",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
