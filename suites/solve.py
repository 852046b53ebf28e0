"""Runs a solution in KernelBench's format, and serves heed's requests on stdin, one per line.

    solve.py SOLUTION CONFIG     CONFIG is JSON: sizes, type, mask, device, and the arguments of ModelNew

Descriptor 3 is a file with Q, K, V and SIGNS signs of each, which cannot be written to; 4 is one for O, LSE, and Q, K
and V as the solution left them. All are dense, [batch, heads, sequence, dim]. Requests and answers:

    (started)    begun                       PyTorch is loaded, the solution not yet
    sign         signed                      signs were written to tensors of the same sizes: heed measures this time
    open         ready                       the solution is loaded
    load         loaded                      the values are in the solution's tensors, without their signs
    compute      done SUM                    the signs, which are in the file only now, are written; one call; SUM is the
                                             sum of the bits of O
    fetch        fetched                     O is in the file
    bring        brought                     LSE and the inputs are in the file too
    repeat N     repeated NANOSECONDS        the mean of N calls on the same tensors, timed here like the suite

Any request may be answered by "failed WORDS", the start by "absent WORDS" if the machine lacks something. heed does not
trust these answers: only its own clock and the contents of the file count. Nothing can be computed before "compute",
without the signs, or after it, since the sum of O would be unknown.
"""

import json
import mmap
import os
import sys
import traceback
import types

CONFIG = json.loads(sys.argv[2])
ANSWERS = os.dup(1)
WORDS_MAX = 200
SIGNS = 1021


def answer(*words):
    text = " ".join(str(word) for word in words).replace("\n", " ").replace("\r", " ")
    text = "".join(c if c.isprintable() else "?" for c in text).encode("ascii", "replace")[:WORDS_MAX]
    os.write(ANSWERS, text + b"\n")


def quiet():
    """Redirects the solution's output to a file, since heed would mistake text on its channel for the answer."""
    log = os.open("said.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


class Box:
    def __init__(self):
        import torch

        self.torch = torch
        self.kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}[
            CONFIG["type"]]
        self.entry = CONFIG.get("entry", "ModelNew")
        self.values, self.out = [], None
        if "inputs" in CONFIG:
            self.be_model()
        else:
            self.be_attention()

    def be_model(self):
        """Runs any model: inputs are float32 and outputs float64 in the files, whatever type it computes in."""
        self.shapes, self.o_shape = [tuple(shape) for shape in CONFIG["inputs"]], tuple(CONFIG["output"])
        self.given_kind, self.made_kind = self.torch.float32, self.torch.float64
        size = 4 * sum(self.count(shape) for shape in self.shapes)
        self.map_inputs(size)
        self.made = memoryview(mmap.mmap(4, 8 * self.count(self.o_shape) + size))

    def be_attention(self):
        torch = self.torch
        self.given_kind = self.made_kind = self.kind
        b, h, g, s, t, d, e = (CONFIG[n] for n in ("batch", "heads_q", "heads_kv", "seq_q", "seq_k", "dim_qk", "dim_v"))
        self.shapes = [(b, h, s, d), (b, g, t, d), (b, g, t, e)]
        self.o_shape = (b, h, s, e)
        size = torch.empty(0, dtype=self.kind).element_size()
        sizes = [self.count(shape) * size for shape in self.shapes]
        self.map_inputs(sum(sizes))
        self.made = memoryview(mmap.mmap(4, self.count(self.o_shape) * size + b * h * s * 4 + sum(sizes)))

    def map_inputs(self, size):
        self.given = memoryview(mmap.mmap(3, size + len(self.shapes) * SIGNS, prot=mmap.PROT_READ))
        self.signs = self.given[size:]

    @staticmethod
    def count(shape):
        product = 1
        for n in shape:
            product *= n
        return product

    def load(self):
        path = sys.argv[1]
        module = sys.modules["solution"] = types.ModuleType("solution")  # dataclasses look for it there
        names = vars(module)
        names["__file__"] = path
        with open(path, encoding="utf-8") as file:
            text = file.read()
        import linecache

        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        exec(compile(text, path, "exec"), names)
        # A solution's class is ModelNew; in some collections it has the task's name, Model.
        made = names.get(self.entry) or names.get("Model")
        if made is None:
            raise ValueError(f"it has no {self.entry}")
        self.torch.manual_seed(42)
        model = made(*CONFIG["init"])
        if not hasattr(model, "to"):
            return model
        # Parameters are float32 unless the model chooses another type: some keep theirs in 16 bits.
        model = model.to(device=CONFIG["device"])
        return model if self.kind == self.torch.float32 else model.to(dtype=self.kind)

    def wait(self):
        if CONFIG["device"] != "cpu":
            self.torch.cuda.synchronize()

    def do_sign(self):
        if not self.values:
            self.values = [self.torch.ones(shape, device=CONFIG["device"], dtype=self.kind) for shape in self.shapes]
        self.sign_all(self.values)
        self.wait()
        answer("signed")

    def do_open(self):
        self.values = []
        self.model = self.load()
        answer("ready")

    def do_load(self):
        torch, at, self.values = self.torch, 0, []
        for shape in self.shapes:
            size = self.count(shape) * torch.empty(0, dtype=self.given_kind).element_size()
            flat = torch.frombuffer(bytearray(self.given[at : at + size]), dtype=self.given_kind)
            self.values.append(flat.reshape(shape).to(CONFIG["device"], self.kind))
            at += size
        self.out = None
        self.wait()
        answer("loaded")

    def sign_all(self, tensors):
        """Writes the signs of inputs, from the first on, in place."""
        signs = self.torch.frombuffer(bytearray(self.signs), dtype=self.torch.int8)
        for x, own in zip(tensors, signs.to(tensors[0].device, tensors[0].dtype).view(-1, SIGNS)):
            flat, whole = x.view(-1), x.numel() // SIGNS * SIGNS
            flat[:whole].view(-1, SIGNS).mul_(own)
            flat[whole:].mul_(own[: x.numel() - whole])

    def call(self):
        with self.torch.no_grad():
            return self.model(*self.values)

    def do_compute(self):
        torch = self.torch
        self.sign_all(self.values)
        o = self.call()
        if not torch.is_tensor(o) or tuple(o.shape) != self.o_shape:
            made = tuple(o.shape) if torch.is_tensor(o) else type(o).__name__
            answer("failed its output is", made, "and not", self.o_shape)
            return
        if not o.is_floating_point():
            answer("failed its output is of", o.dtype, "and not of", self.made_kind)
            return
        self.out = o.detach().to(self.made_kind).contiguous()
        self.wait()
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[self.out.element_size()]
        answer("done", self.out.view(bits).sum(dtype=torch.int64).item())

    def put(self, at, x):
        data = x.detach().contiguous().cpu().view(self.torch.uint8).reshape(-1).numpy().tobytes()
        self.made[at : at + len(data)] = data
        return at + len(data)

    def do_fetch(self):
        self.put(0, self.out)
        answer("fetched")

    def do_bring(self):
        at = self.put(0, self.out)
        if "inputs" not in CONFIG:
            at = self.put(at, self.lse())
        for x in self.values:
            at = self.put(at, x.to(self.given_kind))
        answer("brought")

    def lse(self):
        """Computes the LSE of the given values by torch: the suite needs none, so it is not the solution's."""
        torch, made = self.torch, []
        q, k = self.fresh(0), self.fresh(1)
        self.sign_all([q, k])
        k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
        for i in range(q.shape[0]):
            w = (q[i].double() @ k[i].double().transpose(-2, -1)) * CONFIG["scale"]
            if CONFIG["causal"]:
                w = w.masked_fill(torch.ones_like(w[0], dtype=torch.bool).triu(CONFIG["causal"]), float("-inf"))
            made.append(torch.logsumexp(w, -1).float())
        return torch.stack(made)

    def fresh(self, index):
        torch, size = self.torch, self.torch.empty(0, dtype=self.kind).element_size()
        at = sum(self.count(shape) for shape in self.shapes[:index]) * size
        data = bytearray(self.given[at : at + self.count(self.shapes[index]) * size])
        return torch.frombuffer(data, dtype=self.kind).reshape(self.shapes[index]).to(CONFIG["device"])

    def do_repeat(self, count):
        import time

        torch, total = self.torch, 0.0
        for _ in range(3):
            self.call()
        self.wait()
        for _ in range(int(count)):
            if CONFIG["device"] == "cpu":
                begin = time.perf_counter()
                self.call()
                total += time.perf_counter() - begin
            else:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                self.call()
                end.record()
                torch.cuda.synchronize()
                total += begin.elapsed_time(end) * 1e-3
        answer("repeated", int(total / int(count) * 1e9))


def words_of(error):
    """Returns the error, and the line of the solution that raised it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == sys.argv[1]]
    line = f"line {frames[-1].lineno}: " if frames else ""
    return f"{line}{type(error).__name__}: {error}"


def main():
    quiet()
    try:
        import torch  # noqa: F401
    except ImportError as error:
        answer("absent", f"{sys.executable} has no PyTorch ({error}); HEED_PYTHON names another interpreter")
        return
    try:
        box = Box()
    except Exception as error:
        answer("absent", words_of(error))
        return
    answer("begun")
    for line in sys.stdin:
        words = line.split()
        try:
            getattr(box, "do_" + words[0])(*words[1:])
        except BaseException as error:  # a solution may raise any exception
            answer("failed", words_of(error))


if __name__ == "__main__":
    main()
