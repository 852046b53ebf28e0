#!/usr/bin/env python3
"""heed by name in PyTorch's profiler

    torch_profiler.py [--device cpu|cuda] [--trace FILE] [--calls N] [SPEC]

The profiler needs only one line of Attention.__call__(), a record_function() around the execution of a plan. The range
is then a row of the profiler's table and a slice of the exported trace; on a GPU it contains the launch, and appears
again above the kernel. The program needs the Python package heed; in a checkout, set PYTHONPATH=python and
HEED_LIBRARY=build/release/src/libheed.so.
"""

import argparse
import re
import sys

import heed
import torch
from torch.profiler import ProfilerActivity, profile, record_function

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


class Attention:
    """One planned problem. Tensors are dense, (batch, sequence, heads, dim)."""

    def __init__(self, spec, device):
        self.plan = heed.Plan(spec, heed.Context(device))
        self.name = f"heed {self.plan.name} {spec}"

    def __call__(self, q, k, v):
        with record_function(self.name):  # this is all
            return self.plan.execute(q, k, v)


def random_tensors(problem, device):
    kind = {"dtype": TYPES[problem.dtype], "device": device}
    return [torch.randn(shape, **kind) for shape in (problem.q_shape, problem.k_shape, problem.v_shape)]


def difference(o, q, k, v, causal):
    """Returns the maximum difference from torch's own attention."""
    heads_first = [x.transpose(1, 2).float() for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *heads_first, is_causal=causal, enable_gqa=q.shape[2] != k.shape[2]
    )
    return (o.float() - expected.transpose(1, 2)).abs().max().item()


def main():
    parser = argparse.ArgumentParser(description="heed by name in PyTorch's profiler")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--trace", help="write the trace here, for chrome://tracing or Perfetto")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("spec", nargs="?", default="b2 h8 s512 d64 f32 causal")
    args = parser.parse_args()

    attention = Attention(args.spec, args.device)
    q, k, v = random_tensors(heed.Problem(args.spec), args.device)
    attention(q, k, v)
    activities = [ProfilerActivity.CPU]
    if args.device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as seen:
        for _ in range(args.calls):
            o = attention(q, k, v)
    print(seen.key_averages().table(max_name_column_width=100))
    if args.trace:
        seen.export_chrome_trace(args.trace)
    words = set(args.spec.split()[1:]) - {"causal"}
    if all(word in TYPES or re.match("[hsd][0-9]", word) for word in words):  # torch's attention has no others
        far = difference(o, q, k, v, "causal" in args.spec.split())
        if not far <= TOLERANCE[q.dtype]:
            print(f"torch_profiler: O differs from torch's by {far:.2g}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except heed.HeedError as error:
        sys.exit(f"torch_profiler: {error}")
