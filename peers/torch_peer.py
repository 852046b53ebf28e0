#!/usr/bin/env python3
"""The rival torch: PyTorch's scaled_dot_product_attention on the CPU; on a CUDA device, through torch_cuda.py, its
backends and other libraries that take torch's tensors.

The tensors stay [batch, seq, heads, dim] in memory; the calls get transposed views, which PyTorch's fused kernel reads
in place. All ways that support the problem are tried, and the fastest is used: the fused kernel ("flash") or plain
matrix products ("math"); for grouped heads, enable_gqa or K and V repeated in every call.
"""

import collections
import ctypes

import peer
import torch_backends
import torch_cuda

# One way to call PyTorch: its backend, how often each key/value head is repeated, and its options.
Way = collections.namedtuple("Way", "backend repeats options")


class Torch:
    name = "torch"
    kinds = {"cpu", "cuda"}
    repeats = True

    def setup(self, threads):
        try:
            import torch
        except ImportError as error:
            raise peer.Unsupported(
                f"torch cannot be imported: {error} (python3 -m pip install torch; HEED_PYTHON "
                "names the interpreter)"
            ) from error
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.cuda = torch_cuda.Cuda(torch, self.device) if self.device != "cpu" else None
        if self.cuda:
            return self.cuda.describe()
        return {
            "version": torch.__version__,
            "types": ["f32", "f16", "bf16"],
            "backends": list(torch_backends.CPU_BACKENDS),
            "detail": f"scaled_dot_product_attention, {torch.backends.cpu.get_cpu_capability()}",
        }

    def words(self, problem):
        backend = torch_backends.BACKENDS.get(getattr(problem, "backend", "flash" if self.cuda else "math"))
        return backend.words if backend else ()

    def prepare(self, problem, data):
        if self.cuda:
            return self.cuda.prepare(problem, data)
        torch = self.torch
        data = {letter: peer.repeated(problem, letter, data[letter]) for letter in data}
        dtype = torch_backends.torch_type(torch, problem)
        dense = {
            letter: torch.frombuffer(data[letter], dtype=dtype).reshape(shape)
            for letter, shape in peer.shapes(problem).items()
            if letter in data
        }
        copies = [
            [x.clone().transpose(1, 2) for x in dense.values()] for _ in range(problem.copies)
        ]
        outputs = [None] * problem.copies
        if hasattr(problem, "backend"):
            detail, steps = self.named(problem, copies, outputs)
        else:
            way = self.choose(problem, [torch.randn(x.shape).to(dtype) for x in dense.values()])
            self.use(way.backend)
            detail = describe(way)
            steps = [self.step(way, *qkv, outputs, index) for index, qkv in enumerate(copies)]

        def output(index):
            o = outputs[index].transpose(1, 2).contiguous()
            return ctypes.string_at(o.data_ptr(), o.nbytes)

        return peer.Prepared(steps, output, "bshd", detail)

    def named(self, problem, copies, outputs):
        """Returns the name of the backend's only way, and its steps."""
        name = problem.backend
        if name not in torch_backends.CPU_BACKENDS:
            raise peer.Unsupported(f"there is no backend {name} on a CPU")
        way = torch_backends.BACKENDS[name].ways(self.torch, problem, name, "cpu")[0][0]

        def step(index, qkv):
            def run():
                outputs[index] = way.attend(*qkv)

            return run

        steps = [step(index, qkv) for index, qkv in enumerate(copies)]
        try:
            steps[0]()  # compiles it
        except (RuntimeError, ValueError, NotImplementedError) as error:
            raise peer.Unsupported(str(error)) from error
        return way.detail, steps

    def choose(self, problem, noise):
        """Returns the fastest way, tried on random tensors of the problem's shapes."""
        q, k, v = (x.transpose(1, 2) for x in noise)

        def trial(way):
            step = self.step(way, q, k, v, [None], 0)

            def run():
                self.use(way.backend)
                step()

            return run

        ways = {describe(way): way for way in self.ways(problem)}
        return ways[peer.fastest({name: trial(way) for name, way in ways.items()})]

    def ways(self, problem):
        """Returns the ways that may support the problem. PyTorch refuses a wrong one when it is tried."""
        mask = torch_backends.sdpa_mask(self.torch, problem, "math", "cpu")
        options = {"scale": problem.scale, **mask}
        group = problem.heads_q // problem.heads_kv
        backends = ["flash", "math"] if peer.scores_fit(problem) else ["flash"]
        if group == 1:
            return [Way(backend, 1, options) for backend in backends]
        grouped = {**options, "enable_gqa": True}
        return [Way(b, 1, grouped) for b in backends] + [Way(b, group, options) for b in backends]

    def use(self, backend):
        """The switches are in torch.backends.cuda but apply to the CPU too."""
        self.torch.backends.cuda.enable_flash_sdp(backend == "flash")
        self.torch.backends.cuda.enable_math_sdp(backend == "math")

    def step(self, way, q, k, v, outputs, index):
        """Returns a function that computes O into outputs[index]."""
        attention, options = self.torch.nn.functional.scaled_dot_product_attention, way.options

        def plain():
            outputs[index] = attention(q, k, v, **options)

        def repeated():
            wide_k, wide_v = (x.repeat_interleave(way.repeats, 1) for x in (k, v))
            outputs[index] = attention(q, wide_k, wide_v, **options)

        return plain if way.repeats == 1 else repeated


def describe(way):
    words = [way.backend]
    words += ["enable_gqa"] if "enable_gqa" in way.options else []
    words += ["repeated K and V"] if way.repeats > 1 else []
    return ", ".join(words)


if __name__ == "__main__":
    peer.serve(Torch)
