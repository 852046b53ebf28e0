#!/usr/bin/env python3
"""heed by name in PyTorch's profiler

    torch_profiler.py [--device cpu|cuda] [--library FILE] [--trace FILE] [--calls N] [SPEC]

A whole program around libheed that needs no build: the library by ctypes, tensors of torch, on a
GPU torch's own stream. All that the profiler needs is one line of Attention.__call__(), a
record_function() around heed_execute(). The range is then a row of the profiler's table and a slice
of the exported trace; on a GPU the launch lies inside it, and it stands above the kernel once more.
"""

import argparse
import ctypes
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

TYPES = (torch.float32, torch.float16, torch.bfloat16)  # heed_type
NO_MASK, TOP_LEFT, ESTIMATE = 0, 1, 0  # heed_mask, heed_effort
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def fields(names, kind):
    return [(name, kind) for name in names.split()]


class Strides(ctypes.Structure):  # heed_strides
    _fields_ = fields("batch seq head", ctypes.c_int64)


class Problem(ctypes.Structure):  # heed_problem
    _fields_ = (
        fields("type mask", ctypes.c_int)
        + fields("batch heads_q heads_kv seq_q seq_k dim_qk dim_v", ctypes.c_int64)
        + [("scale", ctypes.c_float), ("accumulate", ctypes.c_int)]
        + fields("q k v o", Strides)
    )


class Options(ctypes.Structure):  # heed_options
    _fields_ = [
        ("device", ctypes.c_char_p),
        ("threads", ctypes.c_int),
        ("cpu", ctypes.c_char_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
    ]


class Buffers(ctypes.Structure):  # heed_buffers
    _fields_ = (
        fields("q k v o lse workspace", ctypes.c_void_p)
        + [("workspace_size", ctypes.c_size_t)]
        + fields("stream", ctypes.c_void_p)
    )


class Heed:
    """libheed, and a context for a device."""

    def __init__(self, library, device):
        self.lib = ctypes.CDLL(library)
        self.lib.heed_message.restype = ctypes.c_char_p
        self.lib.heed_plan_name.restype = ctypes.c_char_p
        self.lib.heed_plan_name.argtypes = [ctypes.c_void_p]
        self.lib.heed_plan_workspace_size.restype = ctypes.c_size_t
        self.lib.heed_plan_workspace_size.argtypes = [ctypes.c_void_p]
        self.device = device
        self.context = ctypes.c_void_p()
        options = Options(device=device.encode())
        self.check(self.lib.heed_context_create(ctypes.byref(self.context), ctypes.byref(options)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.heed_message().decode())


class Attention:
    """One planned problem. Tensors are dense, [batch, seq, heads, dim]."""

    def __init__(self, heed, spec):
        self.heed, self.problem, self.plan = heed, Problem(), ctypes.c_void_p()
        lib, problem = heed.lib, ctypes.byref(self.problem)
        heed.check(lib.heed_problem_parse(problem, spec.encode()))
        heed.check(lib.heed_plan_create(ctypes.byref(self.plan), heed.context, problem, ESTIMATE))
        size = lib.heed_plan_workspace_size(self.plan)
        self.room = torch.empty(size + 64, dtype=torch.uint8, device=heed.device)
        start = -(-self.room.data_ptr() // 64) * 64  # HEED_ALIGNMENT
        self.workspace = {"workspace": start, "workspace_size": size}
        self.name = f"heed {lib.heed_plan_name(self.plan).decode()} {spec}"

    def __call__(self, q, k, v):
        p = self.problem
        o = torch.empty(p.batch, p.seq_q, p.heads_q, p.dim_v, dtype=q.dtype, device=q.device)
        places = {name: x.data_ptr() for name, x in zip("qkvo", (q, k, v, o))}
        if q.is_cuda:
            places["stream"] = torch.cuda.current_stream().cuda_stream
        buffers = Buffers(**places, **self.workspace)
        with record_function(self.name):  # this is all
            self.heed.check(self.heed.lib.heed_execute(self.plan, ctypes.byref(buffers)))
        return o


def random_tensors(p, device):
    kind = {"dtype": TYPES[p.type], "device": device}
    q = torch.randn(p.batch, p.seq_q, p.heads_q, p.dim_qk, **kind)
    k = torch.randn(p.batch, p.seq_k, p.heads_kv, p.dim_qk, **kind)
    v = torch.randn(p.batch, p.seq_k, p.heads_kv, p.dim_v, **kind)
    return q, k, v


def difference(p, o, q, k, v):
    """The largest one from torch's own attention; None for a mask that is aligned otherwise."""
    if p.mask not in (NO_MASK, TOP_LEFT):
        return None
    heads_first = [x.transpose(1, 2).float() for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *heads_first, is_causal=p.mask == TOP_LEFT, enable_gqa=p.heads_q != p.heads_kv
    )
    return (o.float() - expected.transpose(1, 2)).abs().max().item()


def main():
    parser = argparse.ArgumentParser(description="heed by name in PyTorch's profiler")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--library", default="libheed.so.0")
    parser.add_argument("--trace", help="write the trace here, for chrome://tracing or Perfetto")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("spec", nargs="?", default="b2 h8 s512 d64 f32 causal")
    args = parser.parse_args()

    attention = Attention(Heed(args.library, args.device), args.spec)
    q, k, v = random_tensors(attention.problem, args.device)
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
    far = difference(attention.problem, o, q, k, v)
    if far is not None and not far <= TOLERANCE[q.dtype]:
        print(f"torch_profiler: O differs from torch's by {far:.2g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError) as error:
        sys.exit(f"torch_profiler: {error}")
