#!/usr/bin/env python3
"""Runs the grid of ggml's FLASH_ATTN_EXT tests on heed.

    tests/external/ggml_attention.py HEED [CHECKOUT] [--every N] [--jobs N] [-- OPTIONS...]

HEED is the program, such as build/release/cli/heed; CHECKOUT a checkout of https://github.com/ggml-org/llama.cpp, whose
tests/test-backend-ops.cpp has the grid; OPTIONS go to each `heed run`, such as `--device cuda`. Needs numpy, and
neither ggml nor a GPU. Without CHECKOUT a few cases of the same parameters are run.

A case is computed in the type of its K and V, to which Q is rounded, as in ggml's CPU code. Values are uniform from -1
to 1, sinks from -10 to 10, as in those tests; blocks of the mask, which is added to the logits, are -infinity. With
max_bias the mask is first multiplied by the slope of the head: heed has no word for that, so an expression is used.
With head dims of 576 and 512, as in DeepSeek, V is a part of K without separate memory. The criterion is theirs: the
mean squared error is at most 5e-4 of the mean square of O, which is computed here in float64.

With --every N a fixed random sample of one case in N is run. Prints how many cases passed, failed, were not drawn, and
were left out and why. Exits with 1 if one failed, with 77 ("skipped") without numpy.
"""

import collections
import concurrent.futures
import math
import pathlib
import random
import re
import sys
import tempfile

import script

DIM_MAX = 1024
ERROR_MAX = 5e-4

try:
    import numpy as np
    from halves import loaded, rounded, stored
except ImportError as error:
    script.skip(error)

TYPES = {"F32": None, "F16": "float16", "BF16": "bfloat16"}

Case = collections.namedtuple(
    "Case",
    "dim dim_v heads_kv repeats keys queries mask sinks max_bias softcap prec type_k type_v order view v_in_k",
    defaults=((0, 1, 2, 3), True, False),
)

# Cases for a machine without a checkout.
SMALL = (
    Case(576, 512, 1, (20, 1), 113, 3, True, False, 0.0, 0.0, "F32", "F16", "F16"),
    Case(576, 512, 4, (1, 1), 33, 1, True, True, 8.0, 0.0, "F32", "F16", "F16", (0, 2, 1, 3)),
    Case(64, 64, 4, (4, 3), 70, 32, True, False, 8.0, 0.0, "F32", "BF16", "BF16"),
    Case(128, 128, 2, (12, 1), 65, 3, False, True, 0.0, 10.0, "F32", "F16", "F16"),
    Case(72, 72, 4, (1, 1), 40, 2, True, False, 0.0, 0.0, "F32", "F32", "F32", (0, 2, 1, 3)),
)

# The few kinds of statements that make up the grid, in C++ and in Python.
STATEMENTS = (
    (r"for \([\w:]+ (\w+) : \{(.*?),?\s*\}\s*\) \{", "for {0} in ({1},):"),
    (r"const bool (\w+) = (.*);", "{0} = {1}"),
    (r"if \((.*)\) continue;", "if {0}: continue"),
    (r"if \((.*)\) \{", "if {0}:"),
    (r"test_cases\.emplace_back\(new test_flash_attn_ext\((.*)\)\);", "cases.append(Case({0}))"),
)


def in_python(text):
    """Translates an expression."""
    text = re.sub(r"GGML_(TYPE|PREC)_(\w+)", r'"\2"', text)
    text = re.sub(r"(\d\.\d+)f\b", r"\1", text).replace("{", "(").replace("}", ")")
    text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
    return re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", text))


def grid_of(path):
    """Returns the cases that a source generates, following its loops and conditions."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    begin = text.index("for (int hsk")
    end = text.rindex("new test_flash_attn_ext(", 0, text.index("make_test_cases_perf()"))
    text = re.sub(r"\s+", " ", text[begin : text.index(";", end) + 1]).strip()
    lines, depth = [], 0
    while text:
        if text.startswith("}"):
            depth, text = depth - 1, text[1:].strip()
            continue
        for pattern, python in STATEMENTS:
            # Up to the first end of such a statement: they are not nested.
            found = re.match(pattern.replace("(.*)", "(.*?)"), text)
            if found:
                break
        else:
            raise ValueError(f"{path}: cannot be read: {text[:80]}")
        lines.append("    " * depth + python.format(*(in_python(group) for group in found.groups())))
        depth += lines[-1].endswith(":")
        text = text[found.end() :].strip()
    cases = []
    exec("\n".join(lines), {"__builtins__": {}, "cases": cases, "Case": Case})  # pylint: disable=exec-used
    return cases


def inexpressible(case):
    """Returns why heed cannot express it, or None."""
    if case.type_k not in TYPES or case.type_v not in TYPES:
        return "quantised K or V"
    if case.dim > DIM_MAX:
        return f"head dims above {DIM_MAX}"
    return None


def slopes_of(case, heads):
    """Returns ggml's slope of each head."""
    if case.max_bias == 0:
        return np.ones(heads)
    power = 2 ** int(math.log2(heads))
    first, second = 2 ** (-case.max_bias / power), 2 ** (-case.max_bias / 2 / power)
    return np.array([first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)])


class Values:
    """The data of a case, [batch, heads, seq, dim]."""

    def __init__(self, case):
        draw = np.random.default_rng(random.Random(repr(case)).randrange(2**32))
        uniform = lambda *shape: draw.uniform(-1, 1, shape)
        self.kind = TYPES[case.type_k if case.type_k == case.type_v else "F32"]
        in_type = lambda x, kind: rounded(x, kind) if kind else x.astype(np.float32)
        self.group, self.batch = case.repeats
        self.heads = case.heads_kv * self.group
        self.q = in_type(uniform(self.batch, self.heads, case.queries, case.dim), self.kind)
        self.k = in_type(uniform(self.batch, case.heads_kv, case.keys, case.dim), TYPES[case.type_k])
        self.v = in_type(uniform(self.batch, case.heads_kv, case.keys, case.dim_v), TYPES[case.type_v])
        self.shared = case.type_k == case.type_v and (case.v_in_k or (case.dim, case.dim_v) == (576, 512))
        if self.shared:
            self.v = self.k[..., : case.dim_v]
        self.mask = self.draw_mask(case, draw) if case.mask else None
        self.sinks = draw.uniform(-10, 10, self.heads).astype(np.float32) if case.sinks else None
        self.slopes = slopes_of(case, self.heads).astype(np.float32)

    def draw_mask(self, case, draw):
        """[batch, queries, keys], with blocks of -infinity, except for the first key of each row."""
        mask = draw.uniform(-1, 1, (self.batch, case.queries, case.keys)).astype(np.float16)
        for _ in range(case.queries * case.keys // 512 + 1):
            b, i, j = (draw.integers(size) for size in mask.shape)
            mask[b, i : i + 8, j : j + 32] = -np.inf
        mask[:, :, 0] = np.float16(0.5)
        return mask

    def attend(self, case):
        """O in float64, [batch, heads, queries, dim_v]."""
        wide = lambda x: np.repeat(x.astype(np.float64), self.group, axis=1)
        s = self.q.astype(np.float64) @ wide(self.k).swapaxes(-1, -2) / math.sqrt(case.dim)
        if case.softcap:
            s = case.softcap * np.tanh(s / case.softcap)
        if case.mask:
            s = s + self.slopes.astype(np.float64)[:, None, None] * self.mask.astype(np.float64)[:, None]
        top = s.max(axis=-1, keepdims=True)
        total = np.exp(s - top).sum(axis=-1, keepdims=True)
        if case.sinks:
            total = total + np.exp(self.sinks.astype(np.float64)[:, None, None] - top)
        return np.exp(s - top) / total @ wide(self.v)


def arguments(case, values, folder):
    """Writes the data and returns the `heed run` options that name the files."""
    plain = case.order == (0, 1, 2, 3)
    words = [f"softcap={case.softcap:g}"] if case.softcap else []
    given = {name: getattr(values, name) for name in "qkv"}
    options = ["--layout", "bhsd" if plain else "bshd", "--out", folder / "o.npy"] + (["--type", "bf16"] if values.kind == "bfloat16" else [])
    if values.shared:
        del given["v"]
        options += ["--dim-v", str(case.dim_v)]
    for name, array in given.items():
        array = np.ascontiguousarray(array if plain else array.swapaxes(1, 2))
        np.save(folder / f"{name}.npy", stored(array, values.kind) if values.kind else array)
        options += [f"--{name}", folder / f"{name}.npy"]
    if case.sinks:
        np.save(folder / "sinks.npy", values.sinks)
        options += ["--sinks", folder / "sinks.npy"]
    if case.mask and case.max_bias == 0:
        np.save(folder / "bias.npy", values.mask[:, None])
        options += ["--bias", folder / "bias.npy"]
    elif case.mask:
        np.save(folder / "mask.npy", values.mask.astype(np.float32))
        np.save(folder / "slope.npy", values.slopes)
        options += ["--array", f"mask={folder / 'mask.npy'}", "--array", f"slope={folder / 'slope.npy'}"]
        words += ["score=s+slope[head]*mask[batch,q,k]"]
    return options + (["--words", " ".join(words)] if words else [])


def judge(job):
    """Returns None if a case is right, else the error."""
    case, heed, more = job
    values = Values(case)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            script.run([heed, "run"] + arguments(case, values, folder) + more)
        except RuntimeError as why:
            return f"{case}: {why}"
        o = np.load(folder / "o.npy")
    o = (loaded(o, values.kind) if values.kind else o).astype(np.float64)
    o = o if case.order == (0, 1, 2, 3) else o.swapaxes(1, 2)
    exact = values.attend(case)
    error = float(((o - exact) ** 2).sum() / (exact**2).sum())
    return None if error <= ERROR_MAX else f"{case}: error {error:.3g}, {ERROR_MAX} is allowed"


def main():
    args = script.checkout_arguments(__doc__, "llama.cpp", needed=False)
    cases = grid_of(args.checkout / "tests/test-backend-ops.cpp") if args.checkout else SMALL
    left_out = collections.Counter(filter(None, map(inexpressible, cases)))
    said = [case for case in cases if not inexpressible(case)]
    chosen = random.Random(1).sample(said, max(1, len(said) // args.every))
    jobs = [(case, args.heed, args.options) for case in chosen]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        faults = [fault for fault in (pool.map if args.jobs > 1 else map)(judge, jobs) if fault]
    for fault in faults:
        print(fault, file=sys.stderr)
    script.report("ggml FLASH_ATTN_EXT", f"{len(said)} cases", len(said), len(chosen), len(faults), left_out)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
