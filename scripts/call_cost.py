#!/usr/bin/env python3
"""Measures the overhead of calls from Python, on problems that compute next to nothing.

    scripts/call_cost.py [CALLS]     prints the median of CALLS calls (default 20000) of each kind

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. The kinds take turns, 20 calls each, in one
process; the time of an empty function is subtracted. NumPy and PyTorch are timed if they are installed, and PyTorch
also on a GPU if there is one: there a call only enqueues the work, and each turn ends with an untimed wait.
"""

import ctypes
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import heed  # noqa: E402
from heed import _again, _library  # noqa: E402

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None

TURN = 20
PROBLEM = "b1 h1 s1 d64 f32"
SHAPE = (1, 1, 1, 64)


def execute(plan, pointers, stream=None):
    """heed_execute() by ctypes, with arguments prepared in advance."""
    workspace = ctypes.create_string_buffer(plan.workspace_size + _library.ALIGNMENT)
    buffers = _library.Buffers(size=ctypes.sizeof(_library.Buffers), stream=stream)
    buffers.q, buffers.k, buffers.v, buffers.o = pointers
    plan._place(buffers, ctypes.addressof(workspace))
    call, at, of = _library.library.heed_execute, ctypes.c_void_p(plan._pointer), ctypes.pointer(buffers)
    return lambda kept=(plan, workspace): call(at, of)


def rows_of_numpy():
    arrays = [np.ones(SHAPE, np.float32) for _ in range(3)]
    out, plan = np.empty(SHAPE, np.float32), heed.Plan(PROBLEM, heed.Context("cpu"))
    yield "heed_execute() by ctypes", execute(plan, [x.ctypes.data for x in (*arrays, out)])
    yield "NumPy: Plan.execute(out=)", lambda: plan.execute(*arrays, out=out)
    yield "NumPy: Plan.execute()", lambda: plan.execute(*arrays)
    yield "NumPy: heed.attention(out=)", lambda: heed.attention(*arrays, out=out)
    yield "NumPy: heed.attention()", lambda: heed.attention(*arrays)


def rows_of_torch(device):
    import heed.torch
    from heed.flash_attn import flash_attn_func
    from torch.nn.functional import scaled_dot_product_attention as of_torch

    dtype = torch.float32 if device == "cpu" else torch.float16
    tensors = [torch.ones(SHAPE, dtype=dtype, device=device) for _ in range(3)]
    out, mask = torch.empty(SHAPE, dtype=dtype, device=device), torch.zeros(1, 1, dtype=dtype, device=device)
    context = heed._context.context_of("cpu" if device == "cpu" else "cuda:0")
    plan = heed.Plan(PROBLEM.replace("f32", "f32" if device == "cpu" else "f16"), context)
    stream = None if device == "cpu" else torch.cuda.current_stream().cuda_stream or None
    if not plan.workspace_size or device == "cpu":
        yield f"{device}: heed_execute() by ctypes", execute(plan, [x.data_ptr() for x in (*tensors, out)], stream)
    yield f"{device}: torch.empty_like()", lambda: torch.empty_like(out)
    yield f"{device}: Plan.execute(out=)", lambda: plan.execute(*tensors, out=out)
    yield f"{device}: heed.attention(out=)", lambda: heed.attention(*tensors, out=out)
    yield f"{device}: heed.attention()", lambda: heed.attention(*tensors)
    yield f"{device}: heed.flash_attn", lambda: flash_attn_func(*tensors)
    heeds = heed.torch.scaled_dot_product_attention
    yield f"{device}: heed.torch", lambda: heeds(*tensors)
    yield f"{device}: PyTorch's own", lambda: of_torch(*tensors)
    yield f"{device}: heed.torch, with a mask", lambda: heeds(*tensors, mask)
    yield f"{device}: PyTorch's own, with a mask", lambda: of_torch(*tensors, mask)

    def enabled():
        return torch.nn.functional.scaled_dot_product_attention(*tensors)

    def between():
        heed.torch.disable()
        torch.cuda.synchronize() if device == "cuda" else None

    yield f"{device}: PyTorch's after enable()", enabled, heed.torch.enable, between


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    rows = [("nothing", lambda: None)]
    if np is not None:
        rows += rows_of_numpy()
    if torch is not None:
        torch.set_num_threads(1)
        rows += rows_of_torch("cpu")
        if torch.cuda.is_available():
            rows += rows_of_torch("cuda")
            print(f"# {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}")
    wait = torch.cuda.synchronize if torch is not None and torch.cuda.is_available() else lambda: None
    rows = [(*row, None, None)[:4] for row in rows]
    times = {name: [] for name, *_ in rows}
    clock = time.perf_counter_ns
    for turn in range(calls // TURN + 1):
        for name, call, before, after in rows:
            if before:
                before()
            for _ in range(TURN):
                begin = clock()
                call()
                end = clock()
                if turn:  # the first one makes plans
                    times[name].append(end - begin)
            if after:
                after()
            wait()
    nothing = statistics.median(times.pop("nothing"))
    print(f"# Python {sys.version.split()[0]}, calls in C: {'yes' if _again.module else 'no'}, medians of {calls}")
    for name, own in times.items():
        own.sort()
        half = (own[len(own) // 4] - nothing) / 1000, (own[len(own) * 3 // 4] - nothing) / 1000
        print(f"{name:34s} {(statistics.median(own) - nothing) / 1000:6.2f} us   half of them {half[0]:.2f} to {half[1]:.2f}")


main()
