#!/usr/bin/env python3
"""Runs the node tests of ONNX's Attention operator on heed.

    tests/external/onnx_attention.py HEED [--verbose] [-- OPTIONS...]

HEED is the program, such as build/release/cli/heed; OPTIONS go to each `heed run`, such as `--device cuda`. The cases
and their expected outputs come from the Python package onnx 1.23 or later (`pip install onnx`), which generates them as
for its own backends. Results are compared with the tolerance of each case, those in bfloat16 with a relative 2^-6, as
in onnx's runner. If a case also outputs the scores, only Y is compared. Past keys and values are prepended to the new
ones here.

Prints the numbers of cases, of those that heed ran, and of those that were right. Exits with 1 if one is wrong or was
not run, with 77 ("skipped") without the package.
"""

import math
import pathlib
import sys
import tempfile
import warnings

import script

BFLOAT16_RTOL = 2**-6
EXPANDED = "_expanded"  # the same cases, as graphs of other operators

try:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    script.skip(error)


def cases():
    """Returns the cases of the operator, each once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases("Attention")
    return [case for case in found if EXPANDED not in case.name]


def named(names, values):
    """Returns the values by name: an omitted optional input has no value."""
    values = iter(values)
    return {name: next(values) for name in names if name}


def as_4d(array, heads):
    """Returns [batch, heads, seq, dim] from that, or from [batch, seq, heads * dim]."""
    if array.ndim == 4:
        return array
    batch, seq, width = array.shape
    return array.reshape(batch, seq, heads, width // heads).transpose(0, 2, 1, 3)


class Call:
    """One case as a call of heed: arrays by option, and words."""

    def __init__(self, case):
        node = case.model.graph.node[0]
        inputs, outputs = case.data_sets[0]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        given = dict(zip(("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"), node.input))
        values = named(node.input, inputs)
        self.inputs = {role: values[name] for role, name in given.items() if name}
        self.expected = outputs[0]
        self.tolerance = {"rtol": case.rtol, "atol": case.atol}
        if self.expected.dtype == ml_dtypes.bfloat16:
            self.tolerance["rtol"] = max(case.rtol, BFLOAT16_RTOL)
        self.words, self.arrays, self.visible = [], {}, []
        self.q = as_4d(self.inputs["Q"], self.attributes.get("q_num_heads"))
        self.past = 0
        self.k, self.v = self.keys("K", "past_key"), self.keys("V", "past_value")
        self.place()
        self.mask()
        if self.attributes.get("softcap"):
            self.words.append(f"softcap={self.attributes['softcap']:.9g}")
        if self.visible:
            self.words.append("visible=" + "&&".join(self.visible))

    def keys(self, name, past):
        """Returns K or V, after those of the past."""
        new = as_4d(self.inputs[name], self.attributes.get("kv_num_heads"))
        if past not in self.inputs:
            return new
        self.past = self.inputs[past].shape[2]
        return np.concatenate([self.inputs[past], new], axis=2)

    def place(self):
        """Sets the keys that each query sees by position: causal, and windows."""
        left, right = (self.attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
        if self.attributes.get("is_causal"):
            right = 0 if right < 0 else min(right, 0)
        lengths = self.inputs.get("nonpad_kv_seqlen")
        if lengths is not None:
            self.arrays["len"] = lengths.astype(np.int32)
            self.visible.append("k<len[batch]")
            at = "q+len[batch]-queries"
            self.visible += [f"k<={at}+{right}"] * (right >= 0) + [f"k>={at}-{left}"] * (left >= 0)
        elif left >= 0 or right >= 0:  # query i is at position i + past
            sides = (left - self.past if left >= 0 else None, right + self.past if right >= 0 else None)
            if sides[0] is not None and sides[0] < 0:
                self.visible.append(f"k>=q+{-sides[0]}")
                sides = (None, sides[1])
            self.words.append("align=tl" if self.q.shape[2] != self.k.shape[2] else "")
            if sides != (None, None):
                self.words.append("window=" + ":".join("" if side is None else str(side) for side in sides))

    def mask(self):
        """Makes an operand from the mask: a bias of numbers, or visible keys."""
        mask = self.inputs.get("attn_mask")
        if mask is None:
            return
        shown, missing = mask.dtype == bool, self.k.shape[2] - mask.shape[-1]
        if missing > 0 and mask.shape[-1] > 1:  # the keys after it are hidden
            value = False if shown else -math.inf
            mask = np.concatenate([mask, np.full(mask.shape[:-1] + (missing,), value, mask.dtype)], axis=-1)
        mask = np.broadcast_to(mask, mask.shape[:-1] + (self.k.shape[2],))
        if mask.ndim == 3:
            mask = mask[None]
        self.arrays["shown" if shown else "bias"] = mask.astype(np.uint8) if shown else mask

    def output(self, o):
        """Returns heed's O, [batch, heads, seq, dim], in the shape and type of Y."""
        if self.expected.ndim == 3:
            o = o.transpose(0, 2, 1, 3).reshape(self.expected.shape)
        return o.astype(self.expected.dtype)


def save(path, array):
    """Writes an array; NumPy files have no bfloat16, so its bits are written."""
    np.save(path, np.ascontiguousarray(array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array))


def run(heed, options, call, folder):
    """Returns O from `heed run`, or raises RuntimeError with its message."""
    command = [heed, "run", "--layout", "bhsd", "--out", folder / "o.npy"] + options
    narrow = call.q.dtype == ml_dtypes.bfloat16
    if narrow:
        command += ["--type", "bf16"]
        if "bias" in call.arrays:
            call.arrays["bias"] = call.arrays["bias"].astype(np.float32)
    for name, array in (("q", call.q), ("k", call.k), ("v", call.v)):
        save(folder / f"{name}.npy", array)
        command += [f"--{name}", folder / f"{name}.npy"]
    for name, array in call.arrays.items():
        path = folder / f"{name}.npy"
        save(path, array)
        command += ["--array", f"{name}={path}"] if name == "len" else [f"--{name}", path]
    if "scale" in call.attributes:
        command += ["--scale", f"{call.attributes['scale']:.9g}"]
    words = " ".join(word for word in call.words if word)
    if words:
        command += ["--words", words]
    script.run(command)
    o = np.load(folder / "o.npy")
    return o.view(ml_dtypes.bfloat16) if narrow else o


def judge(heed, options, case):
    """Returns "right", "wrong" or "failed", and the words or the reason."""
    call = Call(case)
    try:
        with tempfile.TemporaryDirectory() as folder:
            o = call.output(run(heed, options, call, pathlib.Path(folder)))
    except RuntimeError as why:
        return "failed", str(why)
    try:
        np.testing.assert_allclose(
            o.astype(np.float64), call.expected.astype(np.float64), equal_nan=True, **call.tolerance
        )
    except AssertionError as why:
        return "wrong", " ".join(str(why).split())
    return "right", " ".join(call.words)


def main():
    args = script.package_arguments(__doc__)
    counts = dict.fromkeys(("right", "wrong", "failed"), 0)
    for case in cases():
        what, text = judge(args.heed, args.options, case)
        counts[what] += 1
        if what != "right" or args.verbose:
            print(f"{what}: {case.name}: {text}", file=sys.stderr)
    total = sum(counts.values())
    ran = total - counts["failed"]
    print(f"ONNX {onnx.__version__} Attention: {total} cases, {ran} run, {counts['right']} right")
    return 0 if counts["right"] == total else 1


if __name__ == "__main__":
    sys.exit(main())
