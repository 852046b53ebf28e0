"""PyTorch on a CUDA device: attention by the backends of torch_backends.py.

The tensors stay [batch, seq, heads, dim] in memory; a way gets them in this order, or as transposed views. A library's
error about a problem becomes the reason of a refusal. Replays are CUDA graphs, timed by events.
"""

import ctypes
import os
import re
import statistics
import sys
import warnings

import peer
from torch_backends import BACKENDS, allow_tf32, torch_type

# PyTorch caches device memory; heed needs some of it too.
RESERVE_BYTES = 16 << 30

# Reasons from PyTorch's code are warnings with this ending; some are about other backends.
ORIGIN = re.compile(r"\(Triggered internally at [^)]*\)")
OTHERS = ("runtime disabled", "not used because")

# Maximum length of the reason, beside the chosen way, why another way was not tried.
REASON_LENGTH = 120

# To choose one of several ways, this many replays are timed, of at least this many calls.
TRIALS = 5
TRIAL_CALLS = 10


class Cuda:
    def __init__(self, torch, device):
        if not torch.cuda.is_available():
            raise peer.Unsupported("this torch finds no CUDA device")
        torch.cuda.set_device(torch.device(device))
        torch.cuda.set_stream(torch.cuda.Stream())  # for all work: the default stream cannot be captured
        self.torch, self.device = torch, device
        self.behind = None

    def describe(self):
        torch = self.torch
        return {
            "version": torch.__version__,
            "types": ["f32", "f16", "bf16"],
            "backends": list(BACKENDS),
            "behind": True,
            "detail": f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, cuDNN "
            f"{torch.backends.cudnn.version()}",
        }

    def prepare(self, problem, data):
        name = getattr(problem, "backend", "flash")
        if name not in BACKENDS:
            raise peer.Unsupported(f"there is no backend {name}")
        if self.torch.cuda.memory_reserved() > RESERVE_BYTES:
            self.torch.cuda.empty_cache()
        dense = [self.tensor(problem, letter, data[letter]) if letter in data else None for letter in "qkv"]
        behind = self.kernel(problem)
        refusal, words = None, allow_tf32(self.torch, problem, name)
        for group in BACKENDS[name].ways(self.torch, problem, name, self.device):
            ready, refused = [], ""
            for way in group:
                try:
                    ready.append(self.attempt(problem, dense, way, behind))
                except peer.Unsupported as error:
                    refusal = error
                    refused += f"; not {way.detail}: {str(error)[:REASON_LENGTH]}"
            if ready:
                chosen = fastest(ready)
                chosen.detail += words + refused
                return chosen
        raise refusal

    def tensor(self, problem, letter, data):
        torch = self.torch
        dtype = torch_type(torch, problem)
        shape = peer.shapes(problem)[letter]
        values = torch.frombuffer(data, dtype=dtype).to(self.device)
        size = shape[0] * shape[1] * shape[2] * shape[3]
        times = -(-size // values.numel())
        return (values.repeat(times)[:size] if times > 1 else values).reshape(shape)

    def kernel(self, problem):
        """Returns the kernel to launch before each call of a replay, or None."""
        text = getattr(problem, "behind", None)
        if text and not self.behind:
            self.behind = Kernel(self.torch, text, self.device)
        return self.behind if text else None

    def attempt(self, problem, dense, way, behind):
        """Returns the problem prepared, after a call of each copy, or raises Unsupported."""
        prepared = None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                prepared = Prepared(self.torch, problem.copies, dense, way, behind)
                for _ in range(problem.copies):
                    prepared.call()
                prepared.wait()
            except Exception as error:  # no kernel, memory or option, or any error of a library
                if prepared:
                    prepared.close()
                self.end_if_lost()
                raise peer.Unsupported(reason(error, said)) from error
        prepared.last = None
        return prepared

    def end_if_lost(self):
        """After a fault in a kernel a process can no longer use the device: this one ends, and heed starts another one
        for the next problem."""
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as error:
            print(f"the device is lost: {error}", file=sys.stderr, flush=True)
            os._exit(1)


def reason(error, said):
    """Returns one line: PyTorch's warnings, if any, else the error itself."""
    texts = [str(warning.message) for warning in said]
    texts = [text for text in texts if ORIGIN.search(text)]
    texts = [text for text in texts if not any(other in text for other in OTHERS)]
    said = "; ".join(dict.fromkeys(ORIGIN.sub("", text).strip() for text in texts))
    return said or str(error) or type(error).__name__


def fastest(ready):
    """Returns the fastest of some prepared ways, and closes the others."""
    if len(ready) > 1:
        calls = max(TRIAL_CALLS, len(ready[0].steps))
        rounds = [[prepared.replayer(calls)(1, 1) for prepared in ready] for _ in range(TRIALS)]
        times = [statistics.median(times) for times in zip(*rounds)]
        best = ready[times.index(min(times))]
        for prepared in ready:
            if prepared is not best:
                prepared.close()
        ready = [best]
    ready[0].last = None
    return ready[0]


class Kernel:
    """A kernel given as PTX, in a separate module: its only parameter is the address of a float."""

    ENTRY = b"heed_behind"

    def __init__(self, torch, text, device):
        self.torch = torch
        self.driver = ctypes.CDLL(os.environ.get("HEED_LIBCUDA", "libcuda.so.1"))
        self.element = torch.zeros(1, device=device)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.ask("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.ask("cuModuleGetFunction", ctypes.byref(self.function), module, self.ENTRY)
        self.address = ctypes.c_uint64(self.element.data_ptr())
        self.parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self.address))
        self.launch()  # loads it now, which is not possible during a graph capture

    def ask(self, entry, *arguments):
        result = getattr(self.driver, entry)(*arguments)
        if result != 0:
            raise RuntimeError(f"{entry} returned {result}")

    def launch(self):
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        one = [ctypes.c_uint(1)] * 6  # block, thread
        self.ask(
            "cuLaunchKernel", self.function, *one, ctypes.c_uint(0), stream, self.parameters, None
        )


class Prepared(peer.Prepared):
    """A problem on the device."""

    def __init__(self, torch, copies, dense, way, behind):
        self.torch, self.heads_first, self.behind = torch, way.heads_first, behind
        self.outputs = [None] * copies

        def step(index, qkv):
            q, k, v = [x.transpose(1, 2) for x in qkv] if way.heads_first else qkv

            def run():
                self.outputs[index] = way.attend(q, k, v)

            return run

        dense = dense[:1] + [repeated(x, way.repeats) for x in dense[1:]]
        every = [[x if x is None else x.clone() for x in dense] for _ in range(copies - 1)] + [dense]
        steps = [step(index, qkv) for index, qkv in enumerate(every)]
        super().__init__(steps, self.whole, "bshd", way.detail)

    def wait(self):
        self.torch.cuda.synchronize()

    def close(self):
        super().close()
        self.outputs.clear()

    def capture(self, calls):
        torch = self.torch
        self.outputs[:] = [None] * len(self.outputs)
        graph = torch.cuda.CUDAGraph()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        graph.capture_begin()
        try:
            for index in range(calls):
                if self.behind:
                    self.behind.launch()
                self.steps[index % len(self.steps)]()
        finally:
            graph.capture_end()
        made = list(self.outputs)

        def replay(warmup, replays):
            self.outputs[:] = made
            for _ in range(warmup):
                graph.replay()
            start.record()  # enqueued while the device still runs the warm-up, so that it is never idle
            for _ in range(replays):
                graph.replay()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e6

        return replay

    def output_of(self, index):
        """Returns O of a copy as [batch, seq, heads, dim]."""
        o = self.outputs[index]
        return o.transpose(1, 2) if self.heads_first else o

    def whole(self, index):
        return to_bytes(self.output_of(index))

    def rows(self, problem, index, numbers):
        o = self.output_of(index)
        numbers = self.torch.tensor(numbers, device=o.device)
        queries = peer.query_rows(problem)[1]
        query, head = numbers % queries, numbers // queries
        return to_bytes(o[head // problem.heads_q, query, head % problem.heads_q])


def repeated(tensor, times):
    return tensor.repeat_interleave(times, 2) if times > 1 else tensor


def to_bytes(tensor):
    tensor = tensor.contiguous().cpu()
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes)
