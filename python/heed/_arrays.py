"""Arrays of NumPy, PyTorch, CuPy and others: the address and layout of their elements, without copies.

NumPy arrays and torch tensors are read through their attributes, others through DLPack
(https://dmlc.github.io/dlpack/latest/c_api.html).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from ._errors import ArgumentTypeError, InvalidError, NoMemoryError, UnsupportedError
from ._types import DLPACK, DTYPES, OF_Q


class View(NamedTuple):
    """The memory of an array."""

    pointer: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in elements
    dtype: str  # as in _types
    device: str  # "cpu" or "cuda:N"
    array: Any
    keeper: Any  # keeps the memory alive


def part_of(x: View, dim: int) -> View:
    """The first @dim elements along the last dimension."""
    return x._replace(shape=(*x.shape[:-1], dim))


def dense(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """The strides of a dense array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def require_dense(name: str, x: View) -> None:
    """Raise unless the array is dense."""
    for size, stride, wanted in zip(x.shape, x.strides, dense(x.shape)):
        if size > 1 and stride != wanted:
            raise InvalidError(f"{name}: the array is not dense; pass a contiguous copy")


# ---- NumPy ---------------------------------------------------------------------------------------

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Interface(ctypes.Structure):
    """NumPy's PyArrayInterface, from __array_struct__: ten times faster than __array_interface__."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]


_DATA_AT = _Interface.data.offset
_address_at = ctypes.c_void_p.from_address


def numpy_pointer(x: Any) -> int:
    """The address of a NumPy array's elements."""
    capsule = x.__array_struct__
    return _address_at(_pointer_of(capsule, None) + _DATA_AT).value or 0


def memory_pointer(name: str, x: Any) -> int:
    """The address of an array that is used as plain memory, whatever its dtype."""
    if hasattr(x, "data_ptr"):
        return int(x.data_ptr())
    return numpy_pointer(x) if hasattr(x, "__array_struct__") else view(name, x).pointer


#: The dtypes that an argument may have; others: those of q.
_OF_OTHERS = {
    "mask": ("bool",),
    "slopes": ("float32",),
    "sinks": ("float32",),
    "lse": ("float32",),
    "starts": ("int32",),
    "lengths": ("int32",),
    "table": ("int32",),
    "cu_seqlens_q": ("int32", "int64"),
    "cu_seqlens_k": ("int32", "int64"),
}


def dtypes_of(name: str) -> Tuple[str, ...]:
    """The dtypes that the argument @name may have."""
    return ("float32", "int32", "bool") if name.startswith("arrays[") else _OF_OTHERS.get(name, OF_Q)


def refuse_dtype(name: str, dtype: object) -> ArgumentTypeError:
    *others, last = dtypes_of(name)
    choices = f"{', '.join(others)} or {last}" if others else last
    return ArgumentTypeError(f"{name}: dtype {dtype} is not {choices}; convert it")


_known_types: Dict[Any, str] = {}  # by NumPy's dtype: its name takes a microsecond to make


def _numpy_type(name: str, dtype: Any) -> str:
    found = _known_types.get(dtype)
    if found is None:
        found = DTYPES.get(dtype.name)
        if found is None or not dtype.isnative:
            raise refuse_dtype(name, dtype)
        _known_types[dtype] = found
    return found


def _of_numpy(name: str, x: Any) -> View:
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise ArgumentTypeError(
            f"{name}: a masked array, whose mask heed would ignore; pass array.filled(), and "
            "mask= to hide keys"
        )
    dtype = _numpy_type(name, x.dtype)
    unit = x.dtype.itemsize
    for stride in x.strides:
        if stride % unit:
            raise InvalidError(
                f"{name}: a stride of {stride} bytes is not a multiple of the element size, {unit}; "
                "pass a contiguous copy"
            )
    strides = tuple(stride // unit for stride in x.strides)
    return View(numpy_pointer(x), x.shape, strides, dtype, "cpu", x, x)


# ---- PyTorch -------------------------------------------------------------------------------------

def has_tangent(x: Any) -> bool:
    """Whether a tensor has a tangent, as under torch.func.jvp."""
    forward_ad = sys.modules["torch"].autograd.forward_ad
    if getattr(forward_ad, "_current_level", 0) < 0:
        return False
    return forward_ad.unpack_dual(x).tangent is not None


def memory_of(x: Any) -> Tuple[int, int]:
    """The bytes that a tensor's storage has, and those that its shape and strides need."""
    try:
        has = int(x.untyped_storage().nbytes())
    except (RuntimeError, NotImplementedError):  # a tensor without memory
        return 0, 0
    if not x.numel():
        return has, 0
    last = sum((size - 1) * step for size, step in zip(x.shape, x.stride()))
    return has, (x.storage_offset() + last + 1) * x.element_size()


def is_shrunk(x: Any) -> bool:
    """Whether the tensor's storage was made too small for it."""
    has, needs = memory_of(x)
    return has < needs


def require_memory(name: str, x: Any) -> None:
    """Raise if the tensor's storage was made too small for it."""
    has, needs = memory_of(x)
    if has < needs:
        raise InvalidError(
            f"{name}: its storage has {has} bytes, where its shape and strides need {needs}; restore "
            "its memory first (tensor.untyped_storage().resize_())"
        )


def require_constant(name: str, x: Any) -> None:
    """Raise if a tensor requires a gradient."""
    if x.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise InvalidError(
            f"{name}: the tensor requires a gradient, which heed does not compute; call under "
            "torch.no_grad(), or pass tensor.detach()"
        )


def _of_torch(name: str, x: Any) -> View:
    torch = sys.modules["torch"]
    if torch._C._get_tracing_state() is not None:
        raise UnsupportedError(
            f"{name}: torch.jit.trace does not record this call; heed.torch and heed.flash_attn have "
            "operators for it"
        )
    if x.is_nested:
        raise ArgumentTypeError(f"{name}: a nested tensor has no strides; pass a strided one")
    if type(x).__name__ == "CausalBias":
        raise ArgumentTypeError(f"{name}: a CausalBias has no elements; pass causal= instead")
    if has_tangent(x):
        raise UnsupportedError(
            f"{name}: the tensor has a tangent (torch.func.jvp), and heed has no forward-mode "
            "gradients; use torch's own attention"
        )
    require_constant(name, x)
    if x.is_neg():
        raise InvalidError(f"{name}: the tensor is a lazy negation; pass tensor.resolve_neg()")
    if x.layout is not torch.strided:
        raise ArgumentTypeError(f"{name}: a tensor of layout {x.layout} has no strides; pass tensor.to_dense()")
    dtype = DTYPES.get(str(x.dtype)[len("torch.") :])
    if dtype is None:
        raise refuse_dtype(name, x.dtype)
    kind = x.device.type
    if kind not in ("cpu", "cuda"):
        raise ArgumentTypeError(f"{name}: heed has no kernels for device {x.device}; move it")
    device = "cpu" if kind == "cpu" else f"cuda:{x.device.index}"
    require_memory(name, x)
    try:
        pointer = x.data_ptr()
    except RuntimeError:
        pointer = None
    if pointer is None or (pointer == 0 and x.numel()):
        raise ArgumentTypeError(
            f"{name}: the {type(x).__name__} has no memory, as under torch.vmap, torch.func and "
            "FakeTensorMode; heed.torch has an operator for these"
        )
    return View(pointer, tuple(x.shape), tuple(x.stride()), dtype, device, x, x)


# ---- DLPack --------------------------------------------------------------------------------------


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# Devices of DLDeviceType: host, CUDA, pinned and managed memory.
_DLPACK_CPU, _DLPACK_CUDA = (1, 3), (2, 13)


def _capsule_of(name: str, x: Any) -> Tuple[int, int, Any]:
    """The device type, the device number and a capsule."""
    try:
        kind, number = x.__dlpack_device__()
        kind, number = int(kind), int(number)
    except Exception as error:
        raise ArgumentTypeError(
            f"{name}: __dlpack_device__ of {type(x).__name__} failed: {str(error)[:200]}"
        ) from error
    if kind not in _DLPACK_CPU + _DLPACK_CUDA:
        raise ArgumentTypeError(
            f"{name}: heed has no kernels for DLPack's device type {kind}; move it to a CPU or CUDA"
        )
    # On CUDA the producer synchronizes with the legacy default stream, which is heed's default.
    try:
        return kind, number, x.__dlpack__(stream=1) if kind in _DLPACK_CUDA else x.__dlpack__()
    except Exception as error:
        raise ArgumentTypeError(
            f"{name}: __dlpack__ of {type(x).__name__} failed: {str(error)[:200]}"
        ) from error


def _of_dlpack(name: str, x: Any) -> View:
    kind, number, capsule = _capsule_of(name, x)
    try:
        pointer = _pointer_of(capsule, b"dltensor")
    except ValueError:
        raise ArgumentTypeError(
            f"{name}: __dlpack__ of {type(x).__name__} returned {str(capsule)[:60]}, which is not a "
            "new capsule named dltensor"
        ) from None
    tensor = ctypes.cast(pointer, ctypes.POINTER(_Tensor)).contents
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (
        tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else dense(shape)
    )
    dtype = DLPACK.get((tensor.dtype.code, tensor.dtype.bits))
    if dtype is None or tensor.dtype.lanes != 1:
        raise refuse_dtype(name, (tensor.dtype.code, tensor.dtype.bits))
    device = "cpu" if kind in _DLPACK_CPU else f"cuda:{number}"
    return View((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, device, x, capsule)


# ---- All libraries -------------------------------------------------------------------------------


def library_of(x: Any) -> str:
    """The name of an array's library, such as "numpy"."""
    return type(x).__module__.partition(".")[0]


def _is_jax(x: Any) -> bool:
    return library_of(x) in ("jax", "jaxlib")


def _is_array(x: Any) -> bool:
    return "numpy" in sys.modules and isinstance(x, sys.modules["numpy"].ndarray)


def _is_tensor(x: Any) -> bool:
    return "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor)


def view(name: str, x: Any) -> View:
    """The memory of @x. Errors call the argument @name."""
    if _is_array(x):
        return _of_numpy(name, x)
    if _is_tensor(x):
        return _of_torch(name, x)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _of_dlpack(name, x)
    if _is_jax(x):
        raise ArgumentTypeError(
            f"{name}: {type(x).__name__} has no memory; heed.jax.attention takes traced arrays"
        )
    raise ArgumentTypeError(
        f"{name}: {type(x).__name__} is not an array of NumPy or a tensor of PyTorch, and has no "
        "__dlpack__; pass an array"
    )


class Fast(NamedTuple):
    """Functions of an array library for repeated calls, which the first call has checked."""

    key: Callable[[Any, Any, Any, Any], Optional[Tuple[Any, ...]]]
    pointer: Callable[[Any], int]
    empty: Callable[[Any, Tuple[int, ...], str], Any]  # as empty() below
    stream: Callable[[Any], int]


def _numpy_key(q: Any, k: Any, v: Any, out: Any) -> Optional[Tuple[Any, ...]]:
    array = sys.modules["numpy"].ndarray
    if type(k) is not array or type(v) is not array:
        return None
    known = (q.shape, q.strides, q.dtype, k.shape, k.strides, k.dtype, v.shape, v.strides, v.dtype)
    if out is None:
        return known
    if type(out) is not array or not out.flags.writeable:
        return None
    return (*known, out.shape, out.strides, out.dtype)


def _numpy_empty(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    numpy = sys.modules["numpy"]
    if dtype == "same":
        return numpy.empty(shape, like.dtype)
    return numpy.empty(shape, numpy.float32 if dtype == "f32" else numpy.uint8)


def _torch_key(q: Any, k: Any, v: Any, out: Any) -> Optional[Tuple[Any, ...]]:
    torch = sys.modules["torch"]
    level = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)
    if getattr(torch.autograd.forward_ad, "_current_level", 0) >= 0 or (level and level() is not None):
        return None
    if torch._C._get_tracing_state() is not None:
        return None
    tensor, strided, gradients = torch.Tensor, torch.strided, torch.is_grad_enabled()
    known: Tuple[Any, ...] = ()
    for x in (q, k, v) if out is None else (q, k, v, out):
        if (
            type(x) is not tensor
            or x.is_nested
            or x.layout is not strided
            or (gradients and x.requires_grad)
            or x.is_neg()
            or is_shrunk(x)
        ):
            return None
        known += (x.shape, x.stride(), x.dtype, x.device)
    return known


def _torch_pointer(x: Any) -> int:
    pointer: int = x.data_ptr()
    return pointer


def _torch_empty(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    if dtype == "same":
        return like.new_empty(shape)
    torch = sys.modules["torch"]
    return like.new_empty(shape, dtype=torch.float32 if dtype == "f32" else torch.uint8)


def _torch_stream(x: Any) -> int:
    torch, device = sys.modules["torch"], x.device
    if device.type != "cuda":
        return 0
    # Ten times faster than torch.cuda.current_stream(), which makes an object.
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    stream: int = raw(device.index) if raw else torch.cuda.current_stream(device).cuda_stream
    return stream


NUMPY = Fast(_numpy_key, numpy_pointer, _numpy_empty, lambda x: 0)
TORCH = Fast(_torch_key, _torch_pointer, _torch_empty, _torch_stream)


def fast_of(q: Any) -> Optional[Fast]:
    """The functions to repeat calls on arrays like @q; None: such calls are always checked."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(q) is numpy.ndarray:
        return NUMPY
    if torch is not None and type(q) is torch.Tensor:
        return TORCH
    return None


def require_writable(name: str, x: View) -> None:
    """Raise if the array is read-only."""
    if _is_array(x.array) and not x.array.flags.writeable:
        raise InvalidError(f"{name}: the array is read-only; pass a writable one")
    if _is_jax(x.array):
        raise ArgumentTypeError(f"{name}: arrays of JAX cannot be written; pass one of NumPy")


def require_apart(name: str, x: View, inputs: Mapping[str, View]) -> None:
    """Raise if the array begins where one of the inputs does. Other overlap is not noticed."""
    for other in ("q", "k", "v"):
        if other in inputs and inputs[other].pointer == x.pointer:
            raise InvalidError(f"{name}: it begins where {other} does; pass an array that does not overlap it")


def empty(like: View, shape: Tuple[int, ...], dtype: str) -> Any:
    """A new array of @like's library on its device. @dtype is "f32", "bytes" or @like's."""
    fast = NUMPY if _is_array(like.array) else TORCH if _is_tensor(like.array) else None
    if fast:
        try:
            return fast.empty(like.array, shape, "same" if dtype == like.dtype else dtype)
        except (MemoryError, ValueError, RuntimeError) as error:
            if like.device != "cpu":  # programs catch torch.OutOfMemoryError
                raise
            raise NoMemoryError(f"out: no memory for a result of shape {shape}: {error}") from None
    if library_of(like.array) == "cupy":
        cupy = sys.modules["cupy"]
        types = {"f32": cupy.float32, "bytes": cupy.uint8}
        with cupy.cuda.Device(int(like.device[5:])):
            return cupy.empty(shape, like.array.dtype if dtype == like.dtype else types[dtype])
    if _is_jax(like.array) and like.device == "cpu":
        numpy = sys.modules["numpy"]  # JAX has imported it
        return numpy.empty(shape, like.array.dtype if dtype == like.dtype else numpy.float32)
    raise ArgumentTypeError(
        f"out: heed cannot make arrays of {library_of(like.array)}; pass out=, an array of NumPy, "
        "CuPy or PyTorch on the same device"
    )


def result_for(q: Any, x: Any) -> Any:
    """A filled array of empty() as an array of q's library: arrays of JAX cannot be written, so
    empty() makes NumPy's instead."""
    if x is None or not _is_jax(q):
        return x
    return sys.modules["jax"].device_put(x, q.sharding)


def written(*arrays: Any) -> None:
    """Tell torch's autograd that tensors were written."""
    torch = sys.modules.get("torch")
    if torch is not None:
        for x in arrays:
            if isinstance(x, torch.Tensor):
                torch.autograd.graph.increment_version(x)


def stream_of(like: View) -> int:
    """The current stream of @like's library; 0: the legacy default stream, or a CPU."""
    if like.device == "cpu":
        return 0
    if _is_tensor(like.array):
        return _torch_stream(like.array)
    if library_of(like.array) == "cupy":
        pointer: int = sys.modules["cupy"].cuda.get_current_stream().ptr
        return pointer
    return 0
