"""A fake PyTorch with a CUDA device: the few calls that peers/torch_cuda.py and torch_backends.py make, in numpy, so
that their code can be tested without a device.

A graph records calls during capture, and computes only when replayed. FAKE_TORCH_REFUSES names backends that have no
kernel for anything; the efficient backend refuses grouped heads, like the real one.
"""

import operator
import os
import time
import types
import warnings

import numpy as np

__version__ = "0.0+fake"
version = types.SimpleNamespace(cuda="0.0")
float32, float16, bfloat16, bool = np.float32, np.float16, np.uint16, np.bool_
int32, int64, uint8 = np.int32, np.int64, np.uint8
enabled = {}
recording = None  # the list of the graph being captured


class Tensor:
    def __init__(self, array):
        self.array = array
        self.device = "cuda:0"
        self.shape = array.shape
        self.nbytes = array.nbytes

    def to(self, where):
        return self if isinstance(where, str) else Tensor(self.array.astype(where))

    def float(self):
        return self.to(float32)

    def __abs__(self):
        return Tensor(abs(self.array))

    def __rsub__(self, other):
        return Tensor(other - self.array)

    def squeeze(self):
        return Tensor(self.array.squeeze())

    dtype = property(lambda self: self.array.dtype)
    cpu = clone = lambda self: self

    def tolist(self):
        return self.array.tolist()

    def numel(self):
        return self.array.size

    def repeat(self, times):
        return Tensor(np.tile(self.array, times))

    def reshape(self, shape):
        return Tensor(self.array.reshape(shape))

    def transpose(self, a, b):
        return Tensor(self.array.swapaxes(a, b))

    def repeat_interleave(self, times, axis):
        return Tensor(self.array.repeat(times, axis))

    def expand(self, *shape):
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        return Tensor(np.broadcast_to(self.array, shape))

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array))

    def data_ptr(self):
        return self.array.ctypes.data

    def __getitem__(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        return Tensor(self.array[tuple(getattr(part, "array", part) for part in parts)])


for name in ("mod", "floordiv", "add", "radd", "sub", "mul", "ge", "le", "and"):
    calculate = getattr(operator, f"__{name.removeprefix('r')}__")
    setattr(
        Tensor,
        f"__{name}__",
        lambda a, b, calculate=calculate: Tensor(calculate(a.array, getattr(b, "array", b))),
    )


def frombuffer(data, dtype):
    return Tensor(np.frombuffer(data, dtype))


def tensor(values, device, dtype=None):
    return Tensor(np.array(values, dtype))


def where(mask, a, b):
    return Tensor(np.where(mask.array, a.array, b.array).astype(a.array.dtype))


def arange(count, device):
    return Tensor(np.arange(count))


broadcast_shapes = np.broadcast_shapes


def zeros(*shape, device, dtype=np.float32):
    return Tensor(np.zeros(shape, dtype))


def device(name):
    return name


def set_num_threads(_threads):
    pass


def set_grad_enabled(_enabled):
    pass


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.time - self.time) * 1e3


class CUDAGraph:
    def capture_begin(self):
        global recording
        assert recording is None
        self.calls = recording = []

    def capture_end(self):
        global recording
        recording = None

    def replay(self):
        for call in self.calls:
            call()


cuda = types.SimpleNamespace(
    CUDAGraph=CUDAGraph,
    Event=Event,
    Stream=object,
    current_stream=lambda: types.SimpleNamespace(cuda_stream=77),
    empty_cache=lambda: None,
    get_device_name=lambda: "a fake device",
    is_available=lambda: True,
    memory_reserved=lambda: 1 << 40,
    set_device=lambda _device: None,
    set_stream=lambda _stream: None,
    synchronize=lambda: None,
)

backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(
        enable_flash_sdp=lambda on: enabled.update(flash=on),
        enable_mem_efficient_sdp=lambda on: enabled.update(efficient=on),
        enable_cudnn_sdp=lambda on: enabled.update(cudnn=on),
        enable_math_sdp=lambda on: enabled.update(math=on),
        matmul=types.SimpleNamespace(allow_tf32=None),
    ),
    cudnn=types.SimpleNamespace(version=lambda: 0),
)


def refuse(what):
    warnings.warn("Other kernel not used because: (Triggered internally at a.cpp:1.)")
    warnings.warn("Other kernel has been runtime disabled. (Triggered internally at a.cpp:2.)")
    warnings.warn(f"{what} (Triggered internally at a.cpp:3.)")
    raise RuntimeError("No available kernel. Aborting execution.")


def compute(q, k, v, scale, mask, softcap, bias, out):
    logits = np.einsum("bhid,bhjd->bhij", q.astype(float), k.astype(float)) * scale
    logits = (softcap * np.tanh(logits / softcap) if softcap else logits) + bias
    logits = np.where(mask, logits, -np.inf) if mask is not None else logits
    weights = np.exp(logits - np.maximum(logits.max(-1, keepdims=True), -1e30))
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    out[...] = np.einsum("bhij,bhjd->bhid", weights, v)


def attention(q, k, v, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    (backend,) = (name for name, on in enabled.items() if on)
    queries, keys = q.shape[2], k.shape[2]
    if backend in os.environ.get("FAKE_TORCH_REFUSES", "").split(","):
        refuse("There is no such kernel.")
    if enable_gqa and backend == "efficient":
        refuse("Both fused kernels require the same number of heads.")
    group = q.shape[1] // k.shape[1]
    assert group == 1 or enable_gqa
    k, v = (Tensor(x.array.repeat(group, 1)) for x in (k, v))
    mask = as_read(backend, getattr(attn_mask, "array", None), q.array.dtype)
    if is_causal:
        mask = np.tri(queries, keys, dtype=np.bool_)
    if mask is None or mask.dtype == np.bool_:
        return kernel(q, k, v, scale, mask)
    return kernel(q, k, v, scale, None, bias=mask.astype(np.float64))


def as_read(backend, mask, dtype):
    """The mask as read by the real backend."""
    if mask is None or mask.dtype == dtype or backend == "math":
        return mask
    if mask.dtype == np.bool_:
        return np.where(mask, 0, -65504 if backend == "cudnn" else -np.inf).astype(dtype)
    if backend == "efficient":
        refuse("invalid dtype for bias - should match query's dtype")
    return mask.view(dtype)[..., : mask.shape[-1]]  # of another type, reinterpreted as this one


def launch(run):
    """Runs it, or adds it to the graph being captured."""
    if recording is None:
        run()
    else:
        recording.append(run)


def kernel(q, k, v, scale, mask, softcap=0, bias=0):
    out = Tensor(np.full(q.shape[:3] + v.shape[3:], np.nan, q.array.dtype))
    launch(lambda: compute(q.array, k.array, v.array, scale, mask, softcap, bias, out.array))
    return out


def compile(function, dynamic, fullgraph):
    """Requires reset() before it, since the real one limits the number of compilations of a function."""
    assert dynamic is False and fullgraph is True
    assert compiler.fresh
    compiler.fresh = False
    return lambda *arguments, **options: function(*arguments, compiled=True, **options)


compiler = types.SimpleNamespace(fresh=False, reset=lambda: setattr(compiler, "fresh", True))


from . import nn  # noqa: E402, after the names that it needs

nn.functional = types.SimpleNamespace(scaled_dot_product_attention=attention)
