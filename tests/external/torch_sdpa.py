#!/usr/bin/env python3
"""Runs PyTorch's own samples of scaled_dot_product_attention on heed.

    tests/external/torch_sdpa.py HEED [--verbose] [-- OPTIONS...]

HEED is the program, such as build/release/cli/heed; OPTIONS go to each `heed run`, such as `--device cuda`. The cases
are those of PyTorch's OpInfo tests for every operator whose name contains scaled_dot_product, in float32, float16 and
bfloat16 (`pip install torch numpy expecttest`). Results are compared with PyTorch's plain "math" computation of the
same values in float64, with the tolerances of torch.testing or of the operator's own tests; the absolute tolerance is
at least twice the error of the same computation in the case's type. Cases with dropout or in float64, which heed does
not support, are left out and counted.

Prints the numbers of cases, of those left out, of those that heed ran, and of those that were right. Exits with 1 if
one is wrong or was not run, with 77 ("skipped") without the packages.
"""

import collections
import math
import pathlib
import sys
import tempfile
import warnings

import script

try:
    import numpy as np
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_device_type import toleranceOverride
        from torch.testing._internal.common_methods_invocations import op_db
except (ImportError, OSError) as error:
    script.skip(error)

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

Case = collections.namedtuple("Case", "name dtype sample tolerance")


def tolerance(op, dtype):
    """Returns rtol and atol: those of the operator's tests, or torch.testing's."""
    for info in op.decorators:
        for decorator in getattr(info, "decorators", [info]):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                found = decorator.d[dtype]
                return {"rtol": found.rtol, "atol": found.atol}
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)  # pylint: disable=protected-access
    return {"rtol": rtol, "atol": atol}


def cases():
    """Yields all cases, always with the same values."""
    for op in op_db:
        if "scaled_dot_product" not in op.name:
            continue
        for dtype in sorted(op.dtypes, key=str):
            torch.manual_seed(1)
            for number, sample in enumerate(op.sample_inputs("cpu", dtype)):
                name = f"{op.name.rsplit('.', 1)[-1]} {str(dtype)[6:]} {number}"
                yield Case(name, dtype, sample, tolerance(op, dtype))


def left_out(case):
    """Returns why a case is left out, or None."""
    if case.dtype == torch.float64:
        return "float64"
    return "dropout" if case.sample.kwargs.get("dropout_p") else None


def math_of(case, dtype):
    """PyTorch's math in a type, returned as float64."""
    cast = lambda x: x.to(dtype) if torch.is_tensor(x) and x.is_floating_point() else x
    sample = case.sample
    options = {name: cast(value) for name, value in sample.kwargs.items()}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        o = torch.nn.functional.scaled_dot_product_attention(
            *map(cast, (sample.input, *sample.args)), **options
        )
    return o.double()


def as_4d(tensors):
    """Returns Q, K and V as [batch, heads, seq, dim]: three-dimensional tensors have one head, and leading dimensions
    broadcast, except heads, which may come in groups."""
    if all(tensor.dim() == 3 for tensor in tensors):
        return [tensor[:, None] for tensor in tensors]
    tensors = [tensor[(None,) * (4 - tensor.dim())] for tensor in tensors]
    batch = max(tensor.shape[0] for tensor in tensors)
    return [tensor.expand(batch, -1, -1, -1) for tensor in tensors]


def operand(mask, q, k):
    """Returns the option for an attn_mask, and its array: a bias, or visible keys."""
    if q.dim() == 3 and mask.dim() == 3:
        mask = mask[:, None]
    mask = mask.expand(mask.shape[:-2] + (mask.shape[-2], k.shape[-2]))
    mask = mask[(None,) * (4 - mask.dim())]
    return ("--shown", mask.to(torch.uint8)) if mask.dtype == torch.bool else ("--bias", mask.float())


def save(path, tensor):
    """Writes an array; NumPy files have no bfloat16, so its bits are written."""
    bits = tensor.detach().contiguous()
    np.save(path, (bits.view(torch.uint16) if bits.dtype == torch.bfloat16 else bits).numpy())


def run(heed, options, case, folder):
    """Returns O from `heed run`, or raises RuntimeError with its message."""
    sample, inputs = case.sample, (case.sample.input, *case.sample.args)
    command = [heed, "run", "--layout", "bhsd", "--type", TYPES[case.dtype]]
    command += ["--out", folder / "o.npy", *options]
    for name, tensor in zip("qkv", as_4d(inputs)):
        save(folder / f"{name}.npy", tensor)
        command += [f"--{name}", folder / f"{name}.npy"]
    if sample.kwargs.get("attn_mask") is not None:
        option, array = operand(sample.kwargs["attn_mask"], *inputs[:2])
        save(folder / "mask.npy", array)
        command += [option, folder / "mask.npy"]
    if sample.kwargs.get("scale") is not None:
        command += ["--scale", f"{sample.kwargs['scale']:.9g}"]
    if sample.kwargs.get("is_causal"):
        command += ["--words", "causal=tl"]
    script.run(command)
    o = torch.from_numpy(np.load(folder / "o.npy"))
    return o.view(torch.bfloat16) if case.dtype == torch.bfloat16 else o


def judge(heed, options, case):
    """Returns "right", "wrong" or "failed", and the reason."""
    want = math_of(case, torch.float64)
    own = float((math_of(case, case.dtype) - want).abs().max())
    allowed = {**case.tolerance, "atol": max(case.tolerance["atol"], 2 * own)}
    try:
        with tempfile.TemporaryDirectory() as folder:
            o = run(heed, options, case, pathlib.Path(folder))
    except RuntimeError as why:
        return "failed", str(why)
    if o.numel() != math.prod(want.shape):
        return "wrong", f"O has the shape {tuple(o.shape)} instead of {tuple(want.shape)}"
    try:
        torch.testing.assert_close(
            o.reshape(want.shape).double(), want, equal_nan=True, **allowed
        )
    except AssertionError as why:
        return "wrong", " ".join(str(why).split())
    return "right", ""


def main():
    args = script.package_arguments(__doc__)
    counts = collections.Counter()
    for case in cases():
        why = left_out(case)
        what, text = (why, "") if why else judge(args.heed, args.options, case)
        counts[what] += 1
        if what in ("wrong", "failed") or args.verbose:
            print(f"{what}: {case.name}: {text}", file=sys.stderr)
    total, out = sum(counts.values()), counts["dropout"] + counts["float64"]
    ran = total - out - counts["failed"]
    print(
        f"torch {torch.__version__} scaled_dot_product_attention: {total} cases, {counts['dropout']} with "
        f"dropout and {counts['float64']} in float64 left out, {ran} run, {counts['right']} right"
    )
    return 0 if counts["right"] == total - out > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
