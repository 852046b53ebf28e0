#!/usr/bin/env python3
"""The rival onnxruntime: ONNX Runtime's attention operators on the CPU.

Three operators compute attention there, each for different problems, and none is always the fastest. All that support
the problem are tried, and the fastest is used:

    MultiHeadAttention   a fused kernel without mask and grouping, for f32
    GroupQueryAttention  bottom-right causal, with all keys except the last seq_q in its cache
    Attention            everything else; the standard operator of ONNX 23

Tensors are bound once, at aligned addresses, in the operator's layout.
"""

import peer


class Formulation:
    """One operator applied to a problem.

    inputs, outputs and attributes are those of onnx_model.build(). "o" is the output; alias names
    the input whose memory another output shares. fill(name, q, k, v) returns an input's values.
    bhsd says whether O is [batch, heads, seq, dim] rather than [batch, seq, heads, dim].
    """

    def __init__(self, op, domain, inputs, outputs, attributes, fill, alias=None, bhsd=False):
        self.op, self.domain = op, domain
        self.inputs, self.outputs, self.attributes = inputs, outputs, attributes
        self.fill, self.alias, self.bhsd = fill, alias or {}, bhsd


def flat(shape):
    batch, seq, heads, dim = shape
    return (batch, seq, heads * dim)


def swapped(shape):
    batch, seq, heads, dim = shape
    return (batch, heads, seq, dim)


def multi_head(p, dtype):
    """[batch, seq, heads * dim]. With a mask it does not use the fused kernel."""
    if p.heads_q != p.heads_kv or (p.mask != "none" and p.seq_q != p.seq_k):
        return None
    if not (p.mask == "none" and p.type == "f32") and not peer.scores_fit(p):
        return None
    shapes = {letter: flat(shape) for letter, shape in peer.shapes(p).items()}
    attributes = {
        "num_heads": p.heads_q,
        "scale": float(p.scale),
        "unidirectional": int(p.mask != "none"),
    }
    return Formulation(
        "MultiHeadAttention",
        "com.microsoft",
        {letter: (dtype, shapes[letter]) for letter in "qkv"},
        {"o": (dtype, shapes["o"])},
        attributes,
        lambda name, q, k, v: {"q": q, "k": k, "v": v}[name].reshape(shapes[name]),
    )


def group_query(p, dtype):
    """New queries, keys and values are [batch, seq_q, heads * dim], the cache [batch, heads_kv,
    seq_k, dim]. The operator writes the last seq_q keys and values into the cache in every call."""
    bottom_right = p.mask == "causal=br" or (p.mask != "none" and p.seq_q == p.seq_k)
    last_only = p.mask == "none" and p.seq_q == 1
    if p.dim_qk != p.dim_v or p.seq_q > p.seq_k or not (bottom_right or last_only):
        return None
    if p.batch > 1 and 1 < p.seq_q < p.seq_k:  # the operator refuses it
        return None
    if not peer.scores_fit(p):
        return None
    shapes = peer.shapes(p)
    new = (p.batch, p.seq_q, p.heads_kv * p.dim_qk)
    cache = swapped(shapes["k"])
    inputs = {"q": (dtype, flat(shapes["q"])), "k": (dtype, new), "v": (dtype, new)}
    inputs |= {"past_k": (dtype, cache), "past_v": (dtype, cache)}
    inputs |= {"last_key": ("int32", (p.batch,)), "keys": ("int32", (1,))}
    past = p.seq_k - p.seq_q

    def fill(name, q, k, v):
        values = {"k": k[:, past:], "v": v[:, past:], "q": q}
        if name in values:
            return values[name].reshape(inputs[name][1])
        caches = {"past_k": k, "past_v": v}
        if name in caches:
            return caches[name].swapaxes(1, 2)
        return p.seq_k - 1 if name == "last_key" else p.seq_k

    return Formulation(
        "GroupQueryAttention",
        "com.microsoft",
        inputs,
        {"o": (dtype, flat(shapes["o"])), "now_k": (dtype, cache), "now_v": (dtype, cache)},
        {"num_heads": p.heads_q, "kv_num_heads": p.heads_kv, "scale": float(p.scale)},
        fill,
        alias={"now_k": "past_k", "now_v": "past_v"},
    )


def standard(p, dtype):
    """[batch, heads, seq, dim]. Its causal mask is top left, and it keeps all scores in memory."""
    if (p.mask == "causal=br" and p.seq_q != p.seq_k) or not peer.scores_fit(p):
        return None
    shapes = {letter: swapped(shape) for letter, shape in peer.shapes(p).items()}
    return Formulation(
        "Attention",
        "",
        {letter: (dtype, shapes[letter]) for letter in "qkv"},
        {"o": (dtype, shapes["o"])},
        {"scale": float(p.scale), "is_causal": int(p.mask != "none")},
        lambda name, q, k, v: {"q": q, "k": k, "v": v}[name].swapaxes(1, 2),
        bhsd=True,
    )


class OnnxRuntime:
    name = "onnxruntime"

    def setup(self, threads):
        try:
            import numpy
            import onnxruntime
        except ImportError as error:
            raise peer.Unsupported(
                f"onnxruntime cannot be imported: {error} (python3 -m pip install onnxruntime; "
                "HEED_PYTHON names the interpreter)"
            ) from error
        self.numpy, self.runtime = numpy, onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4  # refusals are expected and need no log line
        return {
            "version": onnxruntime.__version__,
            "types": ["f32", "f16"],
            "detail": "MultiHeadAttention, GroupQueryAttention or Attention, whichever is fastest",
        }

    def prepare(self, problem, data):
        np = self.numpy
        if problem.type == "bf16":
            raise peer.Unsupported("no attention operator of the CPU takes bf16")
        dtype = {"f32": "float32", "f16": "float16"}[problem.type]
        shapes = peer.shapes(problem)
        qkv = [np.frombuffer(data[letter], dtype).reshape(shapes[letter]) for letter in "qkv"]
        choice = self.choose(problem, dtype, qkv)
        session = self.load(choice)
        copies = [self.bind(session, choice, qkv) for _ in range(problem.copies)]
        steps = [step for step, _ in copies]

        def output(index):
            o = copies[index][1]
            return np.ascontiguousarray(o.swapaxes(1, 2) if choice.bhsd else o).tobytes()

        return peer.Prepared(steps, output, "bhsd" if choice.bhsd else "bshd", choice.op)

    def choose(self, problem, dtype, qkv):
        """Returns the fastest formulation, tried on random tensors of the problem's shapes."""
        random = self.numpy.random.default_rng(1)
        noise = [random.standard_normal(x.shape, "float32").astype(dtype) for x in qkv]
        found = [make(problem, dtype) for make in (multi_head, group_query, standard)]
        ways = {choice.op: choice for choice in found if choice}

        # Each is loaded and bound by its first call, and freed before the next one is tried.
        def trial(choice):
            bound = []

            def run():
                if not bound:
                    bound.append(self.bind(self.load(choice), choice, noise))
                bound[0][0]()

            return run

        return ways[peer.fastest({name: trial(choice) for name, choice in ways.items()})]

    def load(self, choice):
        import onnx_model

        model = onnx_model.build(
            choice.op, choice.domain, choice.inputs, choice.outputs, choice.attributes
        )
        return self.runtime.InferenceSession(
            model, self.options, providers=["CPUExecutionProvider"]
        )

    def bind(self, session, choice, qkv):
        """Returns a function that computes O, and the array of O."""
        binding, arrays = session.io_binding(), {}
        for name, (dtype, shape) in choice.inputs.items():
            arrays[name] = self.aligned(dtype, shape)
            arrays[name][...] = choice.fill(name, *qkv)
            binding.bind_input(
                name, "cpu", 0, arrays[name].dtype.type, shape, arrays[name].ctypes.data
            )
        for name, (dtype, shape) in choice.outputs.items():
            alias = choice.alias.get(name)
            arrays[name] = arrays[alias] if alias else self.aligned(dtype, shape)
            binding.bind_output(
                name, "cpu", 0, arrays[name].dtype.type, shape, arrays[name].ctypes.data
            )

        def step():
            session.run_with_iobinding(binding)
            return arrays  # keeps them alive as long as the function

        return step, arrays["o"]

    def aligned(self, dtype, shape):
        np = self.numpy
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = np.empty(size + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start : start + size].view(dtype).reshape(shape)


if __name__ == "__main__":
    peer.serve(OnnxRuntime)
