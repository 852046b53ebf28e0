#!/usr/bin/env python3
"""heed run compared with numpy: an independent check of the whole path from files to results.

    test_numpy.py HEED DATA

HEED is the program, DATA the folder tests/data. Every case writes random Q, K and V to .npy or .safetensors files, runs
`heed run` on them, and compares O and LSE with a softmax attention that numpy computes in float64. The bound is
derived, not tuned: see error_bounds(). Exits with 77 without numpy.
"""

import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import numpy as np
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(SKIPPED)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import capture_minilm  # noqa: E402  for its .safetensors reader and writer

# Largest relative error of rounding to a type.
ROUNDING = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}

# (batch, heads_q, heads_kv, seq_q, seq_k, dim_qk, dim_v), mask, scale or None for the default
CASES = [
    ((1, 1, 1, 1, 1, 1, 1), "none", None),
    ((2, 3, 3, 17, 17, 32, 32), "none", None),
    ((1, 8, 8, 128, 128, 64, 64), "none", None),
    ((1, 8, 8, 128, 128, 64, 64), "causal", None),
    ((1, 2, 2, 200, 200, 128, 128), "causal", 0.3),
    ((1, 12, 12, 64, 300, 32, 32), "none", None),
    ((2, 8, 2, 65, 65, 80, 80), "causal", None),
    ((1, 6, 1, 33, 129, 96, 96), "br", None),
    ((1, 6, 3, 33, 129, 96, 96), "tl", None),
    ((1, 4, 2, 129, 33, 64, 64), "tl", None),
    ((1, 4, 2, 129, 33, 64, 64), "br", None),
    ((1, 4, 4, 40, 50, 192, 128), "none", None),
    ((1, 4, 4, 40, 50, 17, 5), "br", -0.7),
    ((3, 2, 1, 1, 1000, 128, 128), "none", None),
    ((1, 1, 1, 513, 1027, 256, 256), "br", None),
    ((1, 1, 1, 5, 7, 512, 512), "none", None),
    ((1, 2, 2, 64, 64, 64, 64), "none", 5.0),
]


def to_bf16(x):
    """float32 values rounded to bfloat16, to nearest even; returns the upper halves."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode(x, kind):
    return to_bf16(x) if kind == "bf16" else x.astype({"f32": "f4", "f16": "f2"}[kind])


def decode(x, kind):
    return (from_bf16(x) if kind == "bf16" else x).astype(np.float64)


def visible(mask, seq_q, seq_k):
    """Returns the keys that each query sees."""
    shift = {"tl": 0, "causal": 0, "br": seq_k - seq_q, "none": seq_k}[mask]
    return np.tri(seq_q, seq_k, shift, dtype=bool)


def reference(q, k, v, mask, scale):
    """Returns O, LSE, and the inputs of error_bounds(), all float64."""
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    seen = visible(mask, q.shape[1], k.shape[1])
    logits = np.where(seen, np.einsum("bihd,bjhd->bhij", q, k) * scale, -np.inf)
    top = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    spread = np.einsum("bhij,bjhd->bihd", weights, np.abs(v))
    reach = np.einsum("bihd,bjhd->bhij", np.abs(q), np.abs(k)) * abs(scale)
    reach = np.where(seen, reach, 0).max(axis=-1)
    return np.einsum("bhij,bjhd->bihd", weights, v), lse, spread, reach


def error_bounds(kind, lse, spread, reach, dim, keys):
    """Error bounds of O and LSE.

    An element of O is a mean of V; spread is the same mean of |V|. Rounding the weights and the result to the type
    costs one unit each. Everything else is float32: a logit is a sum of dim_qk products and each step of it is rounded
    to a unit of reach, the largest sum |q k| of the row; the error of a logit is the relative error of its weight.
    Roundings grow as the square root of their number, here and in the sum over the keys.
    """
    float32 = ROUNDING["f32"]
    relative = float32 * (8 + (2 + np.sqrt(dim)) * reach + np.sqrt(keys))
    o = spread * (2 * ROUNDING[kind] + relative.transpose(0, 2, 1)[..., None])
    # The smallest numbers of f16 are coarser than its unit roundoff.
    o = o + (2.0**-24 if kind == "f16" else 0)
    with np.errstate(invalid="ignore"):
        return o, np.where(np.isfinite(lse), relative + float32 * np.abs(lse), 0)


def write_inputs(folder, tensors, kind):
    """Writes Q, K and V in a file format that supports the type; returns the options that name them."""
    if kind == "bf16":  # .npy has no such type
        capture_minilm.DTYPES["BF16"] = np.uint16
        path = folder / "in.safetensors"
        capture_minilm.write_safetensors(path, tensors, {})
        return ["--tensors", path]
    options = []
    for name, values in tensors.items():
        np.save(folder / f"{name}.npy", values)
        options += [f"--{name}", folder / f"{name}.npy"]
    return options


def read_output(path):
    if path.suffix == ".npy":
        return np.load(path)
    tensors, _ = capture_minilm.read_safetensors(path)
    return tensors["o"]


def run(heed, folder, options):
    """Returns O and LSE computed by heed."""
    suffix = ".safetensors" if "--tensors" in options else ".npy"
    o, lse = folder / ("o" + suffix), folder / "lse.npy"
    command = [heed, "run", *options, "--out", o, "--lse", lse]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr}")
    return read_output(o), np.load(lse)


def check_near(what, got, want, bound):
    if got.shape != want.shape:
        raise AssertionError(f"{what}: shape {got.shape} instead of {want.shape}")
    infinite = ~np.isfinite(want)
    if not (got[infinite] == want[infinite]).all():
        raise AssertionError(f"{what}: not {want[infinite][0]} where it should be")
    ratio = np.abs(np.where(infinite, 0, got - np.where(infinite, 0, want))) / np.maximum(
        bound, 1e-300
    )
    if not (ratio <= 1).all():
        where = np.unravel_index(np.nanargmax(ratio), ratio.shape)
        raise AssertionError(
            f"{what}{list(map(int, where))} is {got[where]} instead of {want[where]}"
        )
    return float(ratio.max())


def try_case(heed, folder, dims, mask, scale, kind, seed):
    b, h, g, s, t, d, e = dims
    shapes = {"q": (b, s, h, d), "k": (b, t, g, d), "v": (b, t, g, e)}
    random = np.random.default_rng(seed)
    tensors = {n: encode(random.standard_normal(shape), kind) for n, shape in shapes.items()}
    options = write_inputs(folder, tensors, kind)
    options += (
        [] if mask == "none" else ["--words", {"causal": "causal"}.get(mask, "causal=" + mask)]
    )
    options += [] if scale is None else ["--scale", scale]
    q, k, v = (decode(x, kind) for x in tensors.values())
    o, lse, spread, reach = reference(
        q, k, v, mask, np.float32(d**-0.5 if scale is None else scale)
    )
    o_bound, lse_bound = error_bounds(kind, lse, spread, reach, d, t)
    got_o, got_lse = run(heed, folder, options)
    return (
        check_near("O", decode(got_o, kind), o, o_bound),
        check_near("LSE", got_lse.astype(np.float64), lse, lse_bound),
    )


def try_capture(heed, folder, data):
    """The tensors of the real model: layer 0 comes with the model's output."""
    path = data / "minilm.safetensors"
    tensors, _ = capture_minilm.read_safetensors(path)
    q, k, v, o = (tensors["layer0." + name].astype(np.float64) for name in "qkvo")
    _, lse, spread, reach = reference(q, k, v, "none", q.shape[-1] ** -0.5)
    o_bound, _ = error_bounds("f32", lse, spread, reach, k.shape[3], k.shape[1])
    got, _ = run(heed, folder, ["--tensors", path, "--prefix", "layer0."])
    return check_near("layer0.o", got.astype(np.float64), o, o_bound + np.abs(o) * ROUNDING["f32"])


def main():
    heed, data = sys.argv[1], pathlib.Path(sys.argv[2])
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed, (dims, mask, scale) in enumerate(CASES):
            for kind in ROUNDING:
                title = f"{dims} {mask} {scale or ''} {kind}, seed {seed}"
                try:
                    ratios = try_case(heed, folder, dims, mask, scale, kind, seed)
                    print(f"{title}: O at {ratios[0]:.2f} and LSE at {ratios[1]:.2f} of the bound")
                except AssertionError as error:
                    failures += 1
                    print(f"FAILED {title}: {error}")
        try:
            print(f"minilm layer0: O at {try_capture(heed, folder, data):.2f} of the bound")
        except AssertionError as error:
            failures += 1
            print(f"FAILED minilm layer0: {error}")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
