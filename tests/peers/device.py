"""Tests of the rivals on a CUDA device, with fake_torch in place of torch."""

import gc
import pathlib
import sys
import types
import weakref

from conversation import PEERS, Conversation, check, check_error, problem_of
from judged import attention, operand, try_problem
from serving import test_serving

FAKE_FA3 = pathlib.Path(__file__).resolve().parent / "fake_fa3"
FAKE_TORCH = pathlib.Path(__file__).resolve().parent / "fake_torch"


def prepare_backend(np, peer, backend, problem, period):
    """Prepares repeating random values. Returns the reply, and the expected result."""
    b, h, g, s, t, d, e = list(problem.values())[:7]
    shapes = {"q": (b, s, h, d), "k": (b, t, g, d), "v": (b, t, g, e)}
    random = np.random.default_rng(7)
    files, tensors = {}, []
    for name, shape in shapes.items():
        chunk = random.standard_normal(min(period, np.prod(shape))).astype(np.float16)
        files[name] = chunk.tobytes()
        tensors.append(np.resize(chunk, shape).astype(np.float64))
    reply = peer.prepare(files, 2 * b * s * h * e, **problem, period=period, backend=backend)
    return reply, attention(np, problem, *tensors)


def try_backend(np, peer, backend, problem):
    """Makes the requests that heed makes on a device. Returns the peer's choice."""
    reply, expected = prepare_backend(np, peer, backend, problem, 997)
    if reply["status"] != "ok":
        return reply["reason"]
    rows = expected.transpose(0, 2, 1, 3).reshape(-1, expected.shape[3])
    numbers = [0, len(rows) // 3, len(rows) - 1]
    for calls in (1, 5, 5):
        reply_run = peer.ask("run", mode="replay", calls=calls, warmup=1, replays=2)
        check(reply_run["calls"] == 2 * calls and reply_run["ns"] > 0, reply_run)
        check(peer.ask("check", rows=numbers)["status"] == "ok", "check")
        got = np.frombuffer(peer.output(), np.float16).reshape(len(numbers), -1)
        error = np.abs(got - rows[numbers]).max()
        check(error < 4e-3, f"error {error} of {backend}: {problem}")
    reply_run = peer.ask("run", mode="eager", calls=7, warmup=2)
    check(len(reply_run["samples_ns"]) == 7, reply_run)
    check(peer.ask("check")["status"] == "ok", "check")
    got = np.frombuffer(peer.output(), np.float16).reshape(expected.shape)
    check(np.abs(got - expected).max() < 4e-3, "all of O")
    check(peer.ask("release")["status"] == "ok", "release")
    return reply["detail"]


def test_memory():
    """Prepared tensors are freed when it is closed, without a garbage collection."""
    sys.path[:0] = [str(FAKE_TORCH), str(PEERS)]
    import torch
    import torch_cuda

    device = torch_cuda.Cuda(torch, "cuda:0")
    problem = types.SimpleNamespace(**problem_of((1, 2, 2, 9, 9, 8, 8), kind="f16", copies=2))
    gc.disable()
    prepared = device.prepare(problem, dict.fromkeys("qkv", bytearray(288)))
    prepared.replayer(3)(1, 2)
    watched = [weakref.ref(prepared), weakref.ref(prepared.outputs[1])]
    prepared.close()
    del prepared
    check(watched[0]() is None and watched[1]() is None, "memory that is kept")
    gc.enable()


def test_products():
    """TF32 is on if a problem permits it and the backend supports it, and off everywhere else."""
    import torch
    import torch_cuda

    device = torch_cuda.Cuda(torch, "cuda:0")
    for backend, word, detail in (
        ("math", " products=tf32", "math, TF32"),
        ("math", " products=bf16x3", "math"),
        ("math", "", "math"),
        ("efficient", " products=tf32", "efficient"),
    ):
        problem = types.SimpleNamespace(**problem_of((1, 2, 2, 9, 9, 8, 8), kind="f32"))
        problem.backend, problem.spec = backend, f"b1 h2 s9 d8 f32{word}"
        torch.backends.cuda.matmul.allow_tf32 = not detail.endswith("TF32")
        prepared = device.prepare(problem, dict.fromkeys("qkv", bytearray(576)))
        check(prepared.detail == detail, prepared.detail)
        check(torch.backends.cuda.matmul.allow_tf32 is detail.endswith("TF32"), (backend, word))
        prepared.close()


class FakeDriver:
    """A CUDA driver with the parts needed for a kernel given as PTX."""

    def __init__(self, launch):
        self.launch, self.count = launch, 0

    def cuModuleLoadData(self, _module, text):
        return 0 if text == b"the text" else 218

    def cuModuleGetFunction(self, _function, _module, name):
        return 0 if name == b"heed_behind" else 500

    def cuLaunchKernel(self, _function, *sizes_and_rest):
        stream = sizes_and_rest[7].value
        check(stream == 77, f"launched on another stream: {stream}")
        self.launch(lambda: setattr(self, "count", self.count + 1))
        return 0


def test_behind():
    """A kernel precedes each call of a graph, and no other call."""
    import torch
    import torch_cuda

    driver = FakeDriver(torch.launch)
    torch_cuda.ctypes.CDLL, real = lambda _name: driver, torch_cuda.ctypes.CDLL
    device = torch_cuda.Cuda(torch, "cuda:0")
    problem = types.SimpleNamespace(**problem_of((1, 2, 2, 9, 9, 8, 8), kind="f16", copies=2))
    for text, launches in ((None, 0), ("the text", 1 + 3 * 5)):
        problem.behind = text
        prepared = device.prepare(problem, dict.fromkeys("qkv", bytearray(288)))
        prepared.replayer(5)(1, 2)
        prepared.call()
        check(driver.count == launches, f"{driver.count} launches, not {launches}")
        prepared.close()
    torch_cuda.ctypes.CDLL = real


OTHERWISE = "FlashAttention aligns windows bottom right, where the {} side of this one would be {}"

# Words supported by the rivals on a CUDA device: dims, mask, backend, words, and the reply.
SAID = (
    ((1, 2, 2, 33, 33, 16, 16), "causal=tl", "fa3", "window=5: softcap=2", "flash_attn_func, no splits"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa3", "chunk=7", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "causal=br", "fa3", "window=4:", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "window=3:15 align=tl", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "window=3:9 align=tl", OTHERWISE.format("right", -3)),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "chunk=4 align=tl", "FlashAttention-3 aligns chunks bottom right"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa3", "sinks", "the word sinks of the problem is not supported"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa2", "window=5:3 align=br softcap=3", "flash_attn_func"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa2", "chunk=8", "the word chunk of the problem is not supported"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "math", "window=5:2", "math"),
    ((1, 2, 2, 33, 33, 16, 16), "causal=tl", "efficient", "window=5:", "efficient"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "cudnn", "window=5:2", "cudnn"),
    ((1, 2, 2, 33, 9, 16, 16), "none", "cudnn", "window=3:2", "cudnn"),  # some rows see no key
    ((1, 2, 2, 33, 33, 16, 16), "none", "flash", "window=5:2", "the word window of the problem is not supported"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "flex", "window=5:2", "flex_attention, compiled"),
)


def test_slopes(np, peer):
    """FlashAttention-2's ALiBi, with slopes for each head."""
    slopes = np.array([0.5, 0.125, 0.25, 1], np.float32).reshape(1, 4, 1, 1)
    for mask, align in (("causal=br", ""), ("none", " align=br")):
        problem = {**problem_of((2, 4, 2, 9, 21, 8, 8), mask, "f16", 1, 0.2), "spec": "alibi" + align}
        rows = [operand("slopes", "f32", slopes)]
        meaning = {"change": lambda t, p, j: t - slopes * abs(p - j)}
        chosen, remark = try_problem(np, peer, {**problem, "backend": "fa2"}, rows, **meaning)
        check(chosen == "flash_attn_func", remark)


def test_masks(np, peer):
    """ALiBi as a mask of numbers. The fused kernels require it in the type of the problem."""
    slopes = np.array([0.5, 0.25], np.float32).reshape(1, 2, 1, 1)
    meaning = {"change": lambda t, p, j: t - slopes * abs(p - j)}
    for backend in ("math", "efficient", "cudnn"):
        problem = {**problem_of((1, 2, 2, 33, 33, 16, 16), "causal=tl", "f16", 1, 0.2), "spec": "alibi"}
        rows = [operand("slopes", "f32", slopes)]
        chosen, remark = try_problem(np, peer, {**problem, "backend": backend}, rows, **meaning)
        check(chosen == backend, remark)


def open_torch(folder, *paths, **environment):
    paths = ":".join(map(str, (FAKE_TORCH, *paths)))
    peer = Conversation(PEERS / "torch_peer.py", folder=folder, PYTHONPATH=paths, **environment)
    reply = peer.hello(device="cuda:0")
    check(reply["status"] == "ok", reply)
    return peer, reply


def test_libraries(folder):
    """The rivals fa3 and flex: compared with scaled_dot_product_attention on the same tensors."""
    import numpy as np

    square, grouped, long = (1, 2, 2, 33, 33, 16, 16), (2, 4, 2, 9, 21, 8, 8), (1, 2, 2, 9, 9, 7, 7)
    ours, theirs = "flash_attn_func, no splits", "flex_attention, compiled"
    cases = (
        (square, "none", "fa3", ours),
        (square, "causal=tl", "fa3", ours),
        (grouped, "causal=br", "fa3", ours),
        (grouped, "causal=tl", "fa3", OTHERWISE.format("right", -12)),
        (long, "none", "fa3", "FA3: head dim 7"),
        (square, "none", "flex", theirs),
        (square, "causal=tl", "flex", theirs),
        (grouped, "none", "flex", theirs + ", enable_gqa"),
        (grouped, "causal=tl", "flex", theirs + ", enable_gqa"),
        (grouped, "causal=br", "flex", theirs + ", enable_gqa"),
        (long, "none", "flex", "NYI: embedding dimension 7"),
    )
    for environment in ({}, {"FAKE_FA3_PAIRS": "1"}):
        peer, _ = open_torch(folder, FAKE_FA3, **environment)
        for dims, mask, backend, answer in cases:
            got = try_backend(np, peer, backend, problem_of(dims, mask, "f16", 3, 0.2))
            check(got == answer, f"{answer!r} expected: {got!r}")
        for dims, mask, backend, spec, answer in SAID:
            got = try_backend(np, peer, backend, {**problem_of(dims, mask, "f16", 3, 0.2), "spec": spec})
            check(got == answer, f"{spec}: {answer!r} expected: {got!r}")
        test_slopes(np, peer)
        test_masks(np, peer)
        single = problem_of((1, 1, 1, 2, 2, 3, 3), kind="f32")
        tensors = dict.fromkeys("qkv", bytes(24))
        check_error(peer.prepare(tensors, 24, **single, backend="fa3"), "unsupported", "not f32")
        for backend in ("flash", "fa2", "fa3", "cudnn"):
            reply = peer.prepare(tensors, 24, **single, backend=backend, spec="b1 f32 score=s")
            check_error(reply, "unsupported", "the word score")
        check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
    peer, _ = open_torch(folder)
    got = try_backend(np, peer, "fa3", problem_of(square, kind="f16"))
    check("flash_attn_interface cannot be imported" in got and "PYTHONPATH" in got, got)
    check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")


def test_cuda(folder):
    import numpy as np

    test_memory()
    test_products()
    test_behind()
    test_libraries(folder)
    test_serving(np, open_torch, folder, FAKE_FA3)
    peer, reply = open_torch(folder, FAKE_TORCH_REFUSES="cudnn")
    check(reply["backends"] == ["flash", "efficient", "cudnn", "math", "fa2", "fa3", "flashinfer", "flex"], reply)
    check(reply["behind"] is True, reply)
    check(reply["device"] == "cuda:0" and "a fake device" in reply["detail"], reply)
    square, grouped = (1, 2, 2, 33, 33, 16, 16), (2, 4, 2, 9, 21, 8, 8)
    for dims, mask, backend, answer in (
        (square, "none", "flash", "flash"),
        (square, "causal=tl", "math", "math"),
        (square, "none", "cudnn", "There is no such kernel."),
        (square, "none", "abacus", "there is no backend abacus"),
        (grouped, "none", "flash", "flash, enable_gqa"),
        (grouped, "none", "efficient", "efficient, K and V repeated beforehand"),
        (grouped, "causal=br", "flash", "flash, enable_gqa"),
        (grouped, "causal=br", "math", "math, enable_gqa"),
    ):
        for copies in (1, 3):
            problem = problem_of(dims, mask, "f16", copies, 0.2)
            got = try_backend(np, peer, backend, problem)
            check(got == answer, f"{answer!r} expected: {got!r}")
    tall = problem_of((1, 1, 1, 9, 3, 8, 8), "causal=br", "f16")
    check("NaN" in try_backend(np, peer, "flash", tall), "rows without keys")
    check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
    return 0
