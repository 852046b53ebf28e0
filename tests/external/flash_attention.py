#!/usr/bin/env python3
"""Runs the parameter grids of FlashAttention's tests on heed.

    tests/external/flash_attention.py HEED [CHECKOUT] [--every N] [--cases N] [--jobs N] [--grids WORD] [-- OPTIONS...]

HEED is the program, such as build/release/cli/heed; CHECKOUT a checkout of
https://github.com/Dao-AILab/flash-attention, whose tests/test_flash_attn.py (FlashAttention-2) and
hopper/test_flash_attn.py (FlashAttention-3) have the grids; OPTIONS go to each `heed run`, such as `--device cuda`.
Needs numpy, and neither torch nor a GPU. Without CHECKOUT, N small cases of the same parameters are drawn for each kind
of grid. --grids keeps those whose name has WORD.

The grids are those of the forward passes: dense tensors, packed sequences, and caches, padded or in pages, with and
without new keys and rotary embeddings. Values are normally distributed, as in those tests; windows, chunks, lengths and
left pads are random. The criterion is theirs: the largest error of O may be a small multiple of that of attention in
the type itself, with every step rounded; both are compared with the exact result, computed here in float64. A cache to
which keys were appended must be bit-exact, since heed.h defines rotations exactly. flash_values.py explains how heed's
appending and rotation differ from FlashAttention's, and how the same problem is expressed. Parameters that do not
affect O, such as the packing of K and V, are counted, and run once.

With --every N a fixed random sample of one case in N is run. Prints for each grid the numbers of cases and of distinct
problems, and how many of those passed, failed, were not drawn, and were left out and why. Exits with 1 if one failed,
with 77 ("skipped") without numpy.
"""

import ast
import collections
import concurrent.futures
import itertools
import pathlib
import random
import sys
import tempfile

import flash_values
import script
from halves import KINDS, rounded

DIM_MAX = 1024
# Parameters that do not affect O, and those that affect it only if another one is true.
NO_MEANING = ("deterministic", "kvpacked", "V_colmajor", "num_splits", "has_batch_idx")
MEANING_WITH = {"rotary_fraction": "new_kv", "seqlen_new_eq_seqlen_q": "new_kv", "rotary_interleaved": "rotary_fraction",
                "has_rotary_seqlens": "rotary_fraction"}
LAYOUTS = (("varlen", "varlen"), ("kvcache", "cache"), ("", "dense"))


class Names(dict):
    """Names in the expressions of decorators: types of torch, by name, and switches, all off."""

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
        if name == "apply_rotary_emb":
            return True
        raise KeyError(name)


def product(axes):
    """Axes are lists of values, each of which is a dict of parameters."""
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes)]


def grid_of(path, function):
    """Returns the cases of a test as dicts, from the decorators of its function."""
    tree = ast.parse(path.read_text())
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    axes = []
    for decorator in node.decorator_list:
        names, values = (ast.unparse(argument) for argument in decorator.args)
        names = ast.literal_eval(names).replace(" ", "").split(",")
        values = eval(values, {"__builtins__": {}}, Names())  # pylint: disable=eval-used
        axes.append([dict(zip(names, value if len(names) > 1 else [value])) for value in values])
    return product(axes)


def drawn_grid(suite, grid, count):
    """Cases with the parameters of theirs, but small enough for a machine without a checkout."""
    third, layout = suite.name == "FlashAttention-3", suite.layout(grid)
    axes = {"dtype": list(KINDS), "mha_type": ["mha", "mqa", "gqa"], "d": [40, 64, 128], "causal": [False, True],
            "local": [False, True], ("has_qv" if third else "alibi"): [False, True], "softcap": [0.0, 15.0]}
    lengths, new = [(1, 70), (33, 129), (65, 20)], [{}]
    if layout == "varlen":
        axes |= {"add_unused_qkv": [False, True]} if third else {"paged_kv_block_size": [None, 16, 256]}
    if layout == "cache":
        axes |= {"has_leftpad": [False, True], "has_qv": [False, third], "softcap": [0.0], "rotary_fraction": [0.5, 1.0],
                 "rotary_interleaved": [False, True], "seqlen_new_eq_seqlen_q": [True, False]}
        new = [{"new_kv": True}, {"new_kv": False, "rotary_fraction": 0.0}, {"new_kv": True, "rotary_fraction": 0.0}]
        axes |= {"page_size": [None, 1, 24], "varlen_q": [False, True]} if third else {"paged_kv_block_size": [None, 256]}
        lengths = [(1, 72), (3, 120), (16, 48)]
    draw, cases = random.Random(grid), []
    while len(cases) < count:
        queries, keys = draw.choice(lengths)
        case = {"seqlen_q": queries, "seqlen_k": keys} | {name: draw.choice(values) for name, values in axes.items()}
        case |= new[len(cases) % len(new)]
        expanded = [case for case in suite.expand(grid, case) if not inexpressible(case)]
        cases += [draw.choice(expanded)] if expanded else []
    return cases


class Suite:
    """The rules common to both."""

    def layout(self, grid):
        return next(layout for word, layout in LAYOUTS if word in grid)

    def few_heads(self, grid):
        """Number of key heads with grouped queries."""
        return 3 if self.layout(grid) == "cache" else 2

    def skips(self, case):
        """Returns whether the test itself skips the case."""
        if case.get("new_kv") and case["seqlen_q"] > case["seqlen_k"]:
            return True
        if case.get("softcap") and case.get("dropout_p"):
            return True
        return case.get("rotary_fraction", 0) > 0 and not case["new_kv"]


class Second(Suite):
    """FlashAttention-2."""

    name, path, cap_factor = "FlashAttention-2", "tests/test_flash_attn.py", 1
    grids = (
        "test_flash_attn_qkvpacked", "test_flash_attn_output", "test_flash_attn_causal", "test_flash_attn_splitkv",
        "test_flash_attn_varlen_qkvpacked", "test_flash_attn_varlen_output", "test_flash_attn_varlen_causal",
        "test_flash_attn_kvcache",
    )

    def expand(self, _, case):
        paged = case.get("paged_kv_block_size")
        if self.skips(case) or (paged and (case.get("has_leftpad") or case.get("has_batch_idx"))):
            return []
        return [case]

    def heads(self, grid, case):
        known = {"test_flash_attn_qkvpacked": 9, "test_flash_attn_splitkv": 12, "test_flash_attn_causal": 9,
                 "test_flash_attn_varlen_causal": 9}
        return known.get(grid, 4 if case.softcap else 6)

    def batch(self, grid, _):
        known = {"test_flash_attn_causal": 8, "test_flash_attn_varlen_causal": 8, "test_flash_attn_splitkv": 1,
                 "test_flash_attn_varlen_qkvpacked": 5, "test_flash_attn_kvcache": 2}
        return known.get(grid, 4)

    def rule(self, grid, case):
        if self.layout(grid) == "cache":
            return (5 if case.slopes else 3), lambda *_: 1e-5, None
        return 2, lambda *_: 1e-5 if grid.endswith("causal") else 0, None


class Third(Suite):
    """FlashAttention-3."""

    name, path, cap_factor = "FlashAttention-3", "hopper/test_flash_attn.py", 1 / 4
    grids = ("test_flash_attn_output", "test_flash_attn_varlen_output", "test_flash_attn_kvcache")

    def expand(self, grid, case):
        """The values over which the test itself loops."""
        layout = self.layout(grid)
        if self.skips(case) or (case.get("has_qv") and (case["d"] != 64 or case["dtype"] not in KINDS)):
            return []
        if layout == "cache" and case["page_size"] and case["seqlen_k"] % case["page_size"]:
            return []
        d = case["d"]
        dims = [128, d] if 128 < d <= 192 else [256, 512, d] if d <= 64 else [d]
        dims = [d] if case["dtype"] not in KINDS else [256, 512] if case.get("has_qv") else dims
        chunks = {"dense": True, "varlen": case["seqlen_q"] <= case["seqlen_k"],
                  "cache": case["causal"] or case["local"]}[layout]
        each = [(dv, chunk) for dv in dims for chunk in ((True, False) if chunks else (False,))]
        return [dict(case, dv=dv, attention_chunk=chunk) for dv, chunk in each]

    def heads(self, _, __):
        return 6

    def batch(self, grid, case):
        queries, keys = case.longest
        return {"dense": 9 if keys <= 2048 else 2, "varlen": 9 if queries <= 2048 else 2, "cache": 5}[self.layout(grid)]

    def rule(self, grid, case):
        if self.layout(grid) == "cache":
            return 2, lambda *_: 1e-5, 1.5
        return (3 if case.softcap else 2), self.slack, None

    def slack(self, exact, kind):
        """Twice the error of two additions in the type."""
        step = rounded(0.3, kind)
        return 2 * float(abs(rounded(rounded(exact + step, kind) - step, kind) - exact).max())


def inexpressible(case):
    """Returns why heed run cannot express it, or None."""
    if case.get("dropout_p"):
        return "dropout"
    if case["dtype"] not in KINDS:
        return "fp8"
    if case.get("rotary_fraction") and case.get("has_rotary_seqlens"):
        return "rotation by other places than those in the cache (rotary_seqlens)"
    if case.get("has_qv") and case["d"] + case["dv"] > DIM_MAX:
        return f"head dims above {DIM_MAX}"
    return None


def judge(job):
    """Returns None if a case is right, else the error."""
    suite, grid, case, heed, options = job
    it = flash_values.Case(suite, grid, case)
    try:
        with tempfile.TemporaryDirectory() as folder:
            wrong = flash_values.judge(heed, options, it, it.values(suite), pathlib.Path(folder))
    except RuntimeError as why:
        return f"{grid} {case} {it.words()}: {why}"
    return f"{suite.name} {grid} {case} {it.words()}: {wrong}" if wrong else None


def has_meaning(name, case):
    return name not in NO_MEANING and (name not in MEANING_WITH or bool(case.get(MEANING_WITH[name])))


def problems_of(cases):
    """The cases that differ in a parameter that affects O."""
    return {repr(sorted((k, str(v)) for k, v in case.items() if has_meaning(k, case))): case for case in cases}


def run_grid(suite, grid, args):
    """Returns the number of failed cases."""
    if args.checkout:
        cases = [c for case in grid_of(args.checkout / suite.path, grid) for c in suite.expand(grid, case)]
    else:
        cases = drawn_grid(suite, grid, args.cases)
    left_out = collections.Counter(filter(None, map(inexpressible, cases)))
    unique = problems_of(case for case in cases if not inexpressible(case))
    chosen = random.Random(grid).sample(sorted(unique), max(1, len(unique) // args.every))
    jobs = [(suite, grid, unique[key], args.heed, args.options) for key in chosen]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        faults = [fault for fault in (pool.map if args.jobs > 1 else map)(judge, jobs) if fault]
    for fault in faults:
        print(fault, file=sys.stderr)
    cases_of_them = len(cases) - sum(left_out.values())
    script.report(f"{suite.name} {grid}", f"{cases_of_them} cases, which are {len(unique)} problems", len(unique),
                  len(jobs), len(faults), left_out)
    return len(faults)


def main():
    args = script.checkout_arguments(__doc__, "FlashAttention", needed=False, grids=True)
    own = ("test_flash_attn_output", "test_flash_attn_varlen_output", "test_flash_attn_kvcache")
    pairs = [(s, g) for s in (Second(), Third()) for g in (s.grids if args.checkout else own) if args.grids in g]
    return 1 if sum(run_grid(suite, grid, args) for suite, grid in pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
