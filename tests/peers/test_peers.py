#!/usr/bin/env python3
"""Tests of the Python peers: the protocol they share, and whether each rival computes attention.

    test_peers.py protocol               needs the standard library alone
    test_peers.py cuda                   torch on a CUDA device, with fake_torch in its place
    test_peers.py torch | onnxruntime    exits with 77 and the reason where that cannot be imported

Rivals are compared with a float64 computation by numpy. Their times are no concern here.
"""

import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import weakref

FAKE_FA3 = pathlib.Path(__file__).resolve().parent / "fake_fa3"
FAKE_TORCH = pathlib.Path(__file__).resolve().parent / "fake_torch"
PEERS = pathlib.Path(__file__).resolve().parent.parent.parent / "peers"
SKIPPED = 77

# A rival without a library, to test the protocol with: O is one byte per call number.
TOY = """
import sys
sys.path.insert(0, sys.argv[1])
import peer

class Toy:
    name = "toy"
    def setup(self, threads):
        print("libraries print")
        return {"version": "1", "types": ["f32"], "detail": "a toy"}
    def prepare(self, problem, data):
        if problem.mask != "none":
            raise peer.Unsupported("no masks,\\nnone at all " + "x" * 400)
        self.calls = 0
        outputs = [b""] * problem.copies
        def step(index):
            self.calls += 1
            outputs[index] = bytes([self.calls]) * len(data["q"])
        steps = [lambda index=index: step(index) for index in range(problem.copies)]
        return peer.Prepared(steps, lambda index: outputs[index], "bshd", "fast")

peer.serve(Toy)
"""


class Conversation:
    """A peer process and the files that its tensors are in."""

    def __init__(self, *command, folder, **environment):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **environment},
        )

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, op, **members):
        return self.say(json.dumps({"op": op, **members}))

    def hello(self, **members):
        return self.ask("hello", protocol="heed.trial/1", threads=2, **members)

    def prepare(self, tensors, output_size, operands=(), **problem):
        for row in operands:
            row["file"] = str(self.folder / row["name"])
            pathlib.Path(row["file"]).write_bytes(row.pop("data"))
        if operands:
            problem["operands"] = operands
        for name, data in {**tensors, "o": b"\xaa" * output_size}.items():
            (self.folder / name).write_bytes(data)
        paths = {name: str(self.folder / name) for name in "qkvo"}
        return self.ask("prepare", **problem, **paths)

    def output(self):
        return (self.folder / "o").read_bytes()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(10)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_error(reply, status, *words):
    check(reply["status"] == status, f"{status} expected: {reply}")
    check(len(reply["reason"].encode()) <= 200, f"reason too long: {reply}")
    for word in words:
        check(word in reply["reason"], f"{word!r} expected in: {reply}")


def problem_of(dims, mask="none", kind="f32", copies=1, scale=None):
    """The members of prepare for dims (batch, heads_q, heads_kv, seq_q, seq_k, dim_qk, dim_v)."""
    names = ("batch", "heads_q", "heads_kv", "seq_q", "seq_k", "dim_qk", "dim_v")
    problem = dict(zip(names, dims), type=kind, mask=mask, copies=copies)
    problem["scale"] = scale or problem["dim_qk"] ** -0.5
    return problem


def test_protocol(folder):
    script = pathlib.Path(folder) / "toy.py"
    script.write_text(TOY)
    peer = Conversation(script, PEERS, folder=folder)
    problem = problem_of((1, 1, 1, 2, 2, 3, 3), copies=2)
    tensors = dict.fromkeys("qkv", bytes(24))
    check_error(peer.prepare(tensors, 24, **problem), "error", "before a successful hello")
    check_error(peer.ask("hello", protocol="heed.trial/9", threads=1), "error", "heed.trial/9")
    reply = peer.hello()
    check(reply["status"] == "ok" and reply["name"] == "toy" and reply["threads"] == 2, reply)
    check(reply["protocol"] == "heed.trial/1" and reply["types"] == ["f32"], reply)
    check_error(peer.ask("run", warmup=0, calls=1), "error", "nothing is prepared")
    check_error(peer.ask("check"), "error", "nothing is prepared")
    check_error(peer.prepare({**tensors, "k": bytes(23)}, 24, **problem), "error", "23", "24")
    check_error(
        peer.prepare(tensors, 24, **{**problem, "mask": "causal=tl"}), "unsupported", "none"
    )
    reply = peer.prepare(tensors, 24, **problem)
    check(reply == {"status": "ok", "layout": "bshd", "detail": "fast"}, reply)
    check_error(peer.prepare(tensors, 24, **problem), "error", "release first")
    check_error(peer.ask("check"), "error", "check before run")
    check_error(peer.ask("run", warmup=0, calls=0), "error", "calls 0")
    check_error(peer.ask("run", warmup=-1, calls=1), "error", "warmup -1")
    reply = peer.ask("run", warmup=2, calls=3)
    check(reply["calls"] == 3 and isinstance(reply["ns"], int) and reply["ns"] >= 0, reply)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x05" * 24, "fifth call")
    peer.ask("run", warmup=0, calls=1)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x06" * 24, "sixth call")
    test_modes(peer)
    check(peer.ask("release") == {"status": "ok"}, "release")
    check_error(peer.ask("check"), "error", "nothing is prepared")
    test_period(peer, problem)
    test_words(peer, tensors, problem)
    check_error(peer.ask("ceiling", kind="sgemm", size=8), "unsupported", "ceiling")
    check_error(peer.ask("__init__"), "unsupported")
    check_error(peer.say("no json"), "error", "JSON")
    check_error(peer.say("[]"), "error")
    check_error(peer.say("{}"), "error", "op")
    check(peer.ask("quit") == {"status": "ok"} and peer.end() == 0, "quit")
    peer = Conversation(script, PEERS, folder=folder)
    check_error(peer.hello(device="cuda:0"), "unsupported", "cpu", "cuda:0")
    reply = peer.hello(device="cpu")
    check(reply["status"] == "ok" and reply["device"] == "cpu" and reply["period"], reply)
    check(peer.end() == 0, "end of input ends the peer")


def test_modes(peer):
    """Replays and single calls, on the toy after six calls."""
    reply = peer.ask("run", mode="replay", warmup=1, calls=3, replays=2)
    check(reply["calls"] == 6 and isinstance(reply["ns"], int), reply)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x0f" * 24, "call 15")
    reply = peer.ask("run", mode="eager", warmup=1, calls=4)
    check(len(reply["samples_ns"]) == 4 and sum(reply["samples_ns"]) == reply["ns"], reply)
    check_error(peer.ask("run", mode="replay", warmup=0, calls=1, replays=0), "error", "replays 0")
    check_error(peer.ask("run", mode="sideways", warmup=0, calls=1), "unsupported", "sideways")
    check(peer.ask("check", rows=[1])["status"] == "ok" and peer.output() == b"\x14" * 12, "a row")


def test_period(peer, problem):
    """Files that hold the beginning of tensors that repeat it."""
    short = dict.fromkeys("qkv", bytes(12))
    check_error(peer.prepare(short, 24, **problem, period=4), "error", "12", "16")
    check(peer.prepare(short, 24, **problem, period=3)["status"] == "ok", "period")
    check(peer.ask("run", warmup=0, calls=1)["status"] == "ok", "run")
    check(peer.ask("check")["status"] == "ok" and len(peer.output()) == 24, "all of them")
    check(peer.ask("release")["status"] == "ok", "release")


def test_words(peer, tensors, problem):
    """A problem with a word that a rival does not know is refused by the word's name."""
    plain = "b1 h1 s2 d3 f32 scale=0.5 acc=f16 layout=bhsd q=9:3:1"
    check(peer.prepare(tensors, 24, **problem, spec=plain)["status"] == "ok", plain)
    check(peer.ask("release")["status"] == "ok", "release")
    for word, name in (("window=8:0", "window"), ("alibi", "alibi"), ("d8=3", "d8")):
        reply = peer.prepare(tensors, 24, **problem, spec=f"{plain} {word} zebra=1")
        check_error(reply, "unsupported", f"the word {name} of")


def test_absent(folder):
    """A rival whose library is missing says so, and how to get it."""
    for name in ("torch", "onnxruntime"):
        (pathlib.Path(folder) / (name + ".py")).write_text("raise ImportError('not today')")
        script = PEERS / (name + "_peer.py")
        peer = Conversation(script, folder=folder, PYTHONPATH=str(folder))
        check_error(peer.hello(), "unsupported", name, "pip install", "HEED_PYTHON")
        check(peer.ask("quit") == {"status": "ok"} and peer.end() == 0, "quit")


# dims, mask, types
PROBLEMS = [
    ((2, 3, 3, 17, 17, 32, 32), "none", ("f32", "f16", "bf16")),
    ((1, 8, 8, 128, 128, 64, 64), "causal=tl", ("f32", "f16", "bf16")),
    ((1, 8, 8, 128, 128, 64, 64), "causal=br", ("f32",)),
    ((1, 4, 4, 20, 70, 64, 48), "none", ("f32",)),
    ((1, 4, 4, 20, 70, 64, 64), "causal=tl", ("f32", "f16")),
    ((1, 4, 4, 70, 20, 64, 64), "causal=tl", ("f32",)),
    ((2, 8, 2, 64, 64, 64, 64), "none", ("f32", "bf16")),
    ((2, 8, 2, 20, 70, 64, 64), "causal=br", ("f32", "f16")),
    ((1, 8, 2, 1, 300, 64, 64), "none", ("f32",)),
    ((1, 8, 8, 1, 300, 64, 64), "causal=br", ("f32", "bf16")),
]

# Largest error that a rival may make, in units of the largest |V|: these are tests of the way a
# library is called; heed itself judges errors far more finely.
TOLERANCE = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}


def encode(np, values, kind):
    if kind == "bf16":  # rounded to nearest even
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype({"f32": np.float32, "f16": np.float16}[kind])


def decode(np, values, kind):
    if kind == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def attention(np, problem, q, k, v, change=None, sees=None):
    """In float64. change(t, p, j) makes a logit of t, and sees(p, j) shows a key, for the positions p and
    keys j, beside the words window, chunk and softcap of the spec."""
    group = problem["heads_q"] // problem["heads_kv"]
    words = dict(word.split("=", 1) for word in problem.get("spec", "").split() if "=" in word)
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    logits = np.einsum("bihd,bjhd->bhij", q, k) * problem["scale"]
    if "softcap" in words:
        logits = float(words["softcap"]) * np.tanh(logits / float(words["softcap"]))
    below = problem["mask"] == "causal=br" or words.get("align") == "br"
    at = np.arange(q.shape[1])[:, None] + (k.shape[1] - q.shape[1]) * below
    key = np.arange(k.shape[1])[None, :]
    left, right = (int(side) if side else 1 << 30 for side in words.get("window", ":").split(":"))
    seen = (key >= at - left) & (key <= at + (0 if problem["mask"] != "none" else right))
    seen &= at // int(words.get("chunk", 1 << 30)) == key // int(words.get("chunk", 1 << 30))
    seen = seen & sees(at, key) if sees else seen
    logits = np.where(seen, change(logits, at, key) if change else logits, -np.inf)
    top = np.maximum(logits.max(axis=-1, keepdims=True), -1e30)
    weights = np.exp(logits - top)
    total = weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights / np.where(total == 0, 1, total), v)


def try_problem(np, peer, problem, operands=(), **meaning):
    """Returns what the peer chose, or None if it does not support the problem. @meaning: as attention()
    has it."""
    b, h, g, s, t, d, e = list(problem.values())[:7]
    shapes = {"q": (b, s, h, d), "k": (b, t, g, d), "v": (b, t, g, e)}
    random = np.random.default_rng(7)
    kind = problem["type"]
    encoded = {n: encode(np, random.standard_normal(shape), kind) for n, shape in shapes.items()}
    size = b * s * h * e * encoded["q"].itemsize
    reply = peer.prepare({n: x.tobytes() for n, x in encoded.items()}, size, operands, **problem)
    if reply["status"] == "unsupported":
        return None, reply["reason"]
    check(reply["status"] == "ok", reply)
    check(peer.ask("run", warmup=1, calls=4)["status"] == "ok", "run")
    check(peer.ask("check")["status"] == "ok", "check")
    o = decode(np, np.frombuffer(peer.output(), encoded["q"].dtype), kind).reshape(b, s, h, e)
    q, k, v = (decode(np, encoded[n], kind) for n in "qkv")
    error = np.abs(o - attention(np, problem, q, k, v, **meaning)).max() / np.abs(v).max()
    check(error <= TOLERANCE[kind], f"error {error:.2e} of {reply.get('detail')}: {problem}")
    check(peer.ask("release")["status"] == "ok", "release")
    return reply.get("detail"), f"error {error:.1e}"


def operand(name, kind, values, **more):
    return {"name": name, "type": kind, "shape": list(values.shape), "data": values.tobytes(), **more}


def worded(np):
    """Problems with words: dims, mask, words, operands, and their meaning."""
    draw = np.random.default_rng(3)
    wide, long = (2, 4, 2, 20, 70, 16, 16), (1, 4, 4, 70, 20, 16, 16)
    bias = draw.standard_normal((2, 1, 20, 70)).astype(np.float16)
    slopes = draw.random((2, 4, 1, 1)).astype(np.float32)
    starts = np.sort(draw.integers(0, 60, (2, 1, 20, 1)), axis=2).astype(np.int32)
    shown = draw.random((1, 4, 1, 70)) < 0.5
    padded = np.concatenate([shown, np.zeros((1, 4, 1, 26), bool)], axis=3)
    bits = np.packbits(padded, axis=3, bitorder="little").view(np.int32)
    doc = draw.integers(0, 3, 70).astype(np.int32)
    return [
        (wide, "none", "window=9:30 align=tl", [], {}),
        (wide, "none", "window=9:4 align=br", [], {}),
        (wide, "causal=br", "window=9:", [], {}),
        (wide, "causal=tl", "chunk=8", [], {}),
        (long, "causal=br", "window=3:", [], {}),
        (wide, "none", "bias=f16:bq", [operand("bias", "f16", bias)], {"change": lambda t, p, j: t + bias}),
        (
            wide,
            "causal=br",
            "alibi=bh",
            [operand("slopes", "f32", slopes)],
            {"change": lambda t, p, j: t - slopes * abs(p - j)},
        ),
        (wide, "none", "starts=bq", [operand("starts", "i32", starts)], {"sees": lambda p, j: j >= starts}),
        (
            wide,
            "none",
            "shown=bytes:h",
            [operand("shown", "bytes", shown.astype(np.uint8))],
            {"sees": lambda p, j: shown},
        ),
        (wide, "none", "shown=bits:h", [operand("shown", "bits", bits)], {"sees": lambda p, j: shown}),
        (
            wide,
            "none",
            "array=doc:i32:70 visible=doc[q]==doc[k]&&!(k%5==2)||k<2",
            [operand("arrays[0]", "i32", doc, array="doc")],
            {"sees": lambda p, j: (doc[p] == doc[j]) & (j % 5 != 2) | (j < 2)},
        ),
        (
            wide,
            "causal=br",
            "softcap=5 score=head==1?max(s,-0.5):s-float(q//3)/9",
            [],
            {"change": score_of(np)},
        ),
        (
            wide,
            "none",
            "array=doc:i32:70 score=s+float(doc[k])",
            [operand("arrays[0]", "i32", doc, array="doc")],
            {"change": lambda t, p, j: t + doc[j]},
        ),
    ]


def score_of(np):
    """The meaning of the last score."""

    def change(t, p, _key):
        query = np.arange(t.shape[2])[:, None]
        head = np.arange(t.shape[1]).reshape(1, -1, 1, 1)
        return np.where(head == 1, np.maximum(t, -0.5), t - query // 3 / 9)

    return change


def test_worded(np, peer):
    """Words that scaled_dot_product_attention has by masks, and FlexAttention by functions."""
    for number, (dims, mask, spec, operands, meaning) in enumerate(worded(np)):
        problem = {**problem_of(dims, mask, "f32", 1, 0.2), "spec": spec}
        of_flex = "score" in spec
        if of_flex or number == 3:
            both = {**problem, "backend": "flex"}
            rows = [dict(row) for row in operands]
            chosen, remark = try_problem(np, peer, both, rows, **meaning)
            print(f"{dims} {mask} {spec}: {chosen}: {remark}")
            check(chosen is not None, remark)
        chosen, remark = try_problem(np, peer, problem, operands, **meaning)
        print(f"{dims} {mask} {spec}: {chosen}: {remark}")
        check((chosen is None) == of_flex, remark)


def check_sinks(np, peer):
    """PyTorch gives no LSE of FlexAttention on a CPU."""
    problem = {**problem_of((1, 4, 4, 20, 20, 16, 16)), "spec": "sinks", "backend": "flex"}
    rows = [operand("sinks", "f32", np.zeros((1, 4, 1, 1), np.float32))]
    chosen, reason = try_problem(np, peer, problem, rows)
    check(chosen is None and "sinks" in reason, reason)


def test_rival(name, folder):
    import numpy as np

    peer = Conversation(PEERS / (name + "_peer.py"), folder=folder)
    hello = peer.hello()
    if hello["status"] == "unsupported":
        print("SKIPPED: " + hello["reason"])
        return SKIPPED
    check(hello["status"] == "ok", hello)
    done = 0
    for dims, mask, kinds in PROBLEMS:
        for kind in kinds:
            if kind not in hello["types"]:
                continue
            for copies in (1, 3):
                chosen, remark = try_problem(np, peer, problem_of(dims, mask, kind, copies, 0.2))
                done += chosen is not None
            print(f"{dims} {mask} {kind}: {chosen or 'unsupported'}: {remark}")
    check(done > 10, f"only {done} problems were done")
    if name == "torch":
        test_worded(np, peer)
        check_sinks(np, peer)
    check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
    return 0


def prepare_backend(np, peer, backend, problem, period):
    """Prepares random values that repeat. Returns the reply, and what to expect."""
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
    """Walks through the requests that heed makes on a device. Returns what the peer chose."""
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
    """Prepared tensors are gone when it is closed, without a collection of garbage."""
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


class FakeDriver:
    """As much of a CUDA driver as a kernel needs that is given as PTX."""

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
    """A kernel stands before each call of a graph, and nowhere else."""
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

# Words that the rivals of a CUDA device have: dims, mask, backend, words, and what they answer.
SAID = (
    ((1, 2, 2, 33, 33, 16, 16), "causal=tl", "fa3", "window=5: softcap=2", "flash_attn_func, no splits"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa3", "chunk=7", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "causal=br", "fa3", "window=4:", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "window=3:15 align=tl", "flash_attn_func, no splits"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "window=3:9 align=tl", OTHERWISE.format("right", -3)),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa3", "chunk=4 align=tl", "FlashAttention-3 aligns chunks bottom right"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa3", "sinks", "it does not know the word sinks of the problem"),
    ((2, 4, 2, 9, 21, 8, 8), "none", "fa2", "window=5:3 align=br softcap=3", "flash_attn_func"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "fa2", "chunk=8", "it does not know the word chunk of the problem"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "math", "window=5:2", "math"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "flash", "window=5:2", "it does not know the word window of the problem"),
    ((1, 2, 2, 33, 33, 16, 16), "none", "flex", "window=5:2", "flex_attention, compiled"),
)


def test_slopes(np, peer):
    """FlashAttention-2's ALiBi, of slopes for each head."""
    slopes = np.array([0.5, 0.125, 0.25, 1], np.float32).reshape(1, 4, 1, 1)
    for mask, align in (("causal=br", ""), ("none", " align=br")):
        problem = {**problem_of((2, 4, 2, 9, 21, 8, 8), mask, "f16", 1, 0.2), "spec": "alibi" + align}
        rows = [operand("slopes", "f32", slopes)]
        meaning = {"change": lambda t, p, j: t - slopes * abs(p - j)}
        chosen, remark = try_problem(np, peer, {**problem, "backend": "fa2"}, rows, **meaning)
        check(chosen == "flash_attn_func", remark)


def open_torch(folder, *paths, **environment):
    paths = ":".join(map(str, (FAKE_TORCH, *paths)))
    peer = Conversation(PEERS / "torch_peer.py", folder=folder, PYTHONPATH=paths, **environment)
    reply = peer.hello(device="cuda:0")
    check(reply["status"] == "ok", reply)
    return peer, reply


def test_libraries(folder):
    """The rivals fa3 and flex: beside scaled_dot_product_attention, with the same tensors."""
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
    test_behind()
    test_libraries(folder)
    peer, reply = open_torch(folder, FAKE_TORCH_REFUSES="cudnn")
    check(reply["backends"] == ["flash", "efficient", "cudnn", "math", "fa2", "fa3", "flex"], reply)
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


def main():
    which = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        if which == "protocol":
            test_protocol(folder)
            test_absent(folder)
            return 0
        try:
            return test_cuda(folder) if which == "cuda" else test_rival(which, folder)
        except ImportError as error:
            print(f"SKIPPED: {error}")
            return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
