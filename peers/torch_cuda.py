"""PyTorch's scaled_dot_product_attention on a CUDA device.

Its backends are rivals of their own: flash (FlashAttention-2), efficient (CUTLASS, from xFormers),
cudnn and math. Exactly one of them is switched on while a problem is prepared, so that PyTorch
cannot take another one in its place; its objection to a problem becomes the reason of a refusal.

The tensors stay [batch, seq, heads, dim] in memory, and the calls get transposed views. Grouped
heads are first tried with enable_gqa; where a backend does not take that, K and V are repeated
beforehand, which is not timed. Replays are CUDA graphs, timed by events.
"""

import ctypes
import re
import warnings

import peer

BACKENDS = {
    "flash": "enable_flash_sdp",
    "efficient": "enable_mem_efficient_sdp",
    "cudnn": "enable_cudnn_sdp",
    "math": "enable_math_sdp",
}

# PyTorch keeps memory for later; heed needs some of it too.
RESERVE_BYTES = 16 << 30

# Warnings of PyTorch that say nothing about the backend in question, and where they come.
OTHERS = ("runtime disabled", "not used because")
ORIGIN = re.compile(r"\(Triggered internally at [^)]*\)")


class Cuda:
    def __init__(self, torch, device):
        if not torch.cuda.is_available():
            raise peer.Unsupported("this torch finds no CUDA device")
        torch.cuda.set_device(torch.device(device))
        torch.cuda.set_stream(torch.cuda.Stream())  # for all work: the default one has no graphs
        self.torch, self.device = torch, device

    def describe(self):
        torch = self.torch
        return {
            "version": torch.__version__,
            "types": ["f32", "f16", "bf16"],
            "backends": list(BACKENDS),
            "detail": f"scaled_dot_product_attention, {torch.cuda.get_device_name()}, CUDA "
            f"{torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}",
        }

    def prepare(self, problem, data):
        backend = getattr(problem, "backend", "flash")
        if backend not in BACKENDS:
            raise peer.Unsupported(f"there is no backend {backend}")
        self.use(backend)
        if self.torch.cuda.memory_reserved() > RESERVE_BYTES:
            self.torch.cuda.empty_cache()
        dense = [self.tensor(problem, letter, data[letter]) for letter in "qkv"]
        options = {"scale": problem.scale, **self.mask(problem, backend)}
        group = problem.heads_q // problem.heads_kv
        if group == 1:
            return self.attempt(problem, dense, options, backend)
        try:
            grouped = {**options, "enable_gqa": True}
            return self.attempt(problem, dense, grouped, f"{backend}, enable_gqa")
        except peer.Unsupported:
            dense[1:] = [x.repeat_interleave(group, 2) for x in dense[1:]]
            return self.attempt(
                problem, dense, options, f"{backend}, K and V repeated beforehand"
            )

    def use(self, backend):
        for name, switch in BACKENDS.items():
            getattr(self.torch.backends.cuda, switch)(name == backend)

    def tensor(self, problem, letter, data):
        torch = self.torch
        dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[problem.type]
        shape = peer.shapes(problem)[letter]
        values = torch.frombuffer(data, dtype=dtype).to(self.device)
        size = shape[0] * shape[1] * shape[2] * shape[3]
        times = -(-size // values.numel())
        return (values.repeat(times)[:size] if times > 1 else values).reshape(shape)

    def mask(self, problem, backend):
        """PyTorch's is_causal is aligned top left; for the other one it has a bias of its own."""
        queries, keys = problem.seq_q, problem.seq_k
        if problem.mask == "none":
            return {}
        if problem.mask == "causal=tl" or queries == keys:
            return {"is_causal": True}
        if backend == "math":
            seen = self.torch.ones(queries, keys, dtype=self.torch.bool, device=self.device)
            return {"attn_mask": seen.tril(keys - queries)}
        if backend == "cudnn":
            raise peer.Unsupported("torch has no causal mask aligned bottom right for cuDNN")
        if queries > keys:
            raise peer.Unsupported("torch gives NaN where a row sees no key")
        from torch.nn.attention.bias import causal_lower_right

        return {"attn_mask": causal_lower_right(queries, keys)}

    def attempt(self, problem, dense, options, detail):
        """Returns the problem prepared, after a call of each copy, or raises Unsupported."""
        prepared = None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                prepared = Prepared(self.torch, problem.copies, dense, options, detail)
                for _ in range(problem.copies):
                    prepared.call()
                prepared.wait()
            except RuntimeError as error:  # what PyTorch throws if there is no kernel, or memory
                if prepared:
                    prepared.close()
                raise peer.Unsupported(reason(error, said)) from error
        prepared.last = None
        return prepared


def reason(error, said):
    """One line: what PyTorch warned of, if anything, else the error itself."""
    texts = [str(warning.message) for warning in said]
    texts = [text for text in texts if not any(other in text for other in OTHERS)]
    return "; ".join(dict.fromkeys(ORIGIN.sub("", text).strip() for text in texts)) or str(error)


class Prepared(peer.Prepared):
    """A problem on the device."""

    def __init__(self, torch, copies, dense, options, detail):
        self.torch = torch
        self.outputs = [None] * copies
        attention = torch.nn.functional.scaled_dot_product_attention

        def step(index, q, k, v):
            def run():
                self.outputs[index] = attention(q, k, v, **options)

            return run

        views = [[x.clone().transpose(1, 2) for x in dense] for _ in range(copies - 1)]
        views.append([x.transpose(1, 2) for x in dense])
        steps = [step(index, *qkv) for index, qkv in enumerate(views)]
        super().__init__(steps, self.whole, "bshd", detail)

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
                self.steps[index % len(self.steps)]()
        finally:
            graph.capture_end()
        made = list(self.outputs)

        def replay(warmup, replays):
            self.outputs[:] = made
            for _ in range(warmup):
                graph.replay()
            start.record()  # while the device is still at the warm-up: it is never idle
            for _ in range(replays):
                graph.replay()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e6

        return replay

    def whole(self, index):
        return to_bytes(self.outputs[index].transpose(1, 2))

    def rows(self, problem, index, numbers):
        numbers = self.torch.tensor(numbers, device=self.outputs[index].device)
        query, head = numbers % problem.seq_q, numbers // problem.seq_q
        return to_bytes(
            self.outputs[index][head // problem.heads_q, head % problem.heads_q, query]
        )


def to_bytes(tensor):
    tensor = tensor.contiguous().cpu()
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes)
