"""Known calls, repeated by the C module of python/call/ if it can be loaded.

The module works with any version of CPython that has a global interpreter lock. Elsewhere, and with
HEED_CALLS=ctypes in the environment, _arrays.Fast repeats calls.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from . import _library as c
from . import _report
from ._arrays import dense
from ._library import library

#: How to make a result: function, arguments, keywords.
Maker = Tuple[Callable[..., Any], Tuple[Any, ...], Optional[Dict[str, Any]]]


def _load() -> Any:
    if (
        sys.implementation.name != "cpython"
        or "t" in getattr(sys, "abiflags", "")  # free-threaded
        or os.environ.get("HEED_CALLS") == "ctypes"
    ):
        return None
    folder = os.path.dirname(c.PATH) or os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(os.path.abspath(folder), "heed_call.so")
    name = f"{__package__}._call"
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    try:
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError:  # not built, or built for another interpreter
        return None
    return module


def take_workspace(device: int, size: int, stream: int) -> int:
    """Allocate @size bytes with torch's allocator, for work on a stream of the device.

    A call frees them once its work is launched, as it would a temporary tensor. A memory pool that
    torch uses for a while, such as that of a CUDA graph's warm-up, must not hold them longer.
    """
    torch = sys.modules["torch"]
    take = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
    current = getattr(torch._C, "_cuda_getDevice", None)  # the device of a tensor is initialized
    if take is not None and current is not None and device == current():
        address: int = take(size, stream)  # saves a microsecond: it does not switch devices
        return address
    address = torch.cuda.caching_allocator_alloc(size, device, stream)
    return address


def give_workspace(address: int) -> None:
    """Free memory of take_workspace()."""
    torch = sys.modules["torch"]
    give = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_delete", None)
    (give or torch.cuda.caching_allocator_delete)(address)


module: Any = _load()
if module is not None:
    module.set_library(
        ctypes.cast(library.heed_execute, ctypes.c_void_p).value,
        c.check,
        take_workspace,
        give_workspace,
    )

_learned: Dict[type, bool] = {}


def _learn_numpy(numpy: Any) -> bool:
    """Check that the module reads an array's attributes correctly."""
    probe = numpy.zeros((3, 7), numpy.float16)[1:, ::2]
    found = module.set_numpy(probe, False)
    dtype, wanted = found[3], (probe.ctypes.data, probe.shape, probe.strides)
    if found[:3] != wanted or dtype is not probe.dtype or not found[4]:
        return False
    probe.flags.writeable = False
    if module.set_numpy(probe, False)[4]:
        return False
    module.set_numpy(probe, True)
    return True


def _learn_torch(torch: Any) -> bool:
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    forward_ad = torch.autograd.forward_ad
    modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
    checks = [
        getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None),
        getattr(torch._C, "_is_tracing", None),
    ]
    found = (exchange, modes, *checks, getattr(torch.autograd.graph, "increment_version", None))
    if None in found or not hasattr(forward_ad, "_current_level"):
        return False
    try:
        module.set_torch(
            torch.Tensor,
            exchange,
            torch.Tensor.is_neg,
            torch.is_grad_enabled,
            vars(forward_ad),
            torch.autograd.graph.increment_version,
            torch.Tensor.storage_offset,
            modes,
            *checks,
        )
    except (TypeError, ValueError):
        return False
    return True


def knows(kind: type) -> bool:
    """Whether the module can read arrays of the type."""
    found = _learned.get(kind) if module is not None else False
    if found is None:
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and kind is numpy.ndarray:
            found = _learn_numpy(numpy)
        elif torch is not None and kind is torch.Tensor:
            found = _learn_torch(torch)
        else:
            found = False
        _learned[kind] = found
    return found


def torch_maker(shape: Tuple[int, ...], strides: Tuple[int, ...], dtype: Any, device: Any) -> Maker:
    """How to make a tensor. torch.compile's own allocation takes half as long as the public one, and
    allocates on the current device."""
    torch = sys.modules["torch"]
    only = device.type == "cpu" or (device.type == "cuda" and torch.cuda.device_count() == 1)
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    quick = getattr(guards, f"_empty_strided_{device.type}", None) if only else None
    if quick is not None:
        return (quick, (tuple(shape), tuple(strides), dtype), None)  # refuses a torch.Size
    return (torch.empty_strided, (shape, strides), {"dtype": dtype, "device": device})


def guard_of(arrays: Sequence[Any]) -> Any:
    """torch.compile's check that tensors, and torch's state, are like those of this call, which wants no
    gradient and is in torch's plain state; None: there is none."""
    torch = sys.modules["torch"]
    make = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    make = getattr(make, "TensorGuards", None)
    tensors = [x for x in arrays if x is not None]
    if make is None or any(x.requires_grad for x in tensors):
        return None
    anything = [[None] * x.dim() for x in tensors]  # the key has sizes and strides
    try:
        check = make(*tensors, dynamic_dims_sizes=anything, dynamic_dims_strides=anything).check
        return check if check(*tensors) is True else None  # False if one tensor is given twice
    except (RuntimeError, TypeError):
        return None


def maker_of(q: Any, shape: Tuple[int, ...], dtype: str) -> Maker:
    """How to make a dense array of q's library on q's device. @dtype is "same" (q's) or "f32"."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(q) is numpy.ndarray:
        return (numpy.empty, (shape, q.dtype if dtype == "same" else numpy.dtype("f4")), None)
    torch = sys.modules["torch"]
    return torch_maker(shape, dense(shape), q.dtype if dtype == "same" else torch.float32, q.device)


def makers_of(q: Any, o: Any, lse: Any) -> Tuple[Optional[Maker], Optional[Maker]]:
    """The makers of results of these shapes; None: not made."""
    if not knows(type(q)):
        return (None, None)
    return (
        None if o is None else maker_of(q, tuple(o), "same"),
        None if lse is None else maker_of(q, tuple(lse), "f32"),
    )


def kinds(words: Tuple[Any, ...]) -> Optional[Tuple[type, ...]]:
    """The types of the words, as 1, 1.0 and True are equal but not equally valid. None if a word has
    no hash, or is mutable, such as a tensor."""
    flat = [part for x in words for part in ((x, *x) if isinstance(x, tuple) else (x,))]
    for x in flat:
        numpy = type(x).__module__ == "numpy" and type(x).__hash__ is not None
        if not (x is None or numpy or isinstance(x, (str, int, float, tuple))):
            return None
    return tuple(map(type, flat))


class Calls:
    """Known calls, by their arrays and words."""

    def __init__(self, limit: int) -> None:
        self.known: Dict[Any, Any] = {}
        self._limit = limit

    def learn(
        self,
        words: Optional[Tuple[Any, ...]],
        arrays: Sequence[Any],
        operands: Tuple[str, ...],
        plan: Any,
        o: Optional[Maker],
        lse: Optional[Maker],
        keep: Any = None,
        products: Optional[str] = None,
    ) -> Any:
        """Remember a call that succeeded. @arrays are q, k, v, out and the operands, or None for
        each; @operands are their fields of heed_buffers. @products is the result of products_of(),
        for calls that follow torch's setting. Returns the call's counter, or None if C cannot
        repeat the call."""
        if not knows(type(arrays[0])) or (words is not None and kinds(words) is None):
            return None
        if products is None:
            key = module.key(words, *arrays)
        else:
            key = module.key_plain(products, words, *arrays)
        if key is None:
            return None
        if len(self.known) >= self._limit:
            old = list(self.known.values())
            self.known.clear()
            module.forget(self.known)
            _report.settle(old)
        offsets = tuple(getattr(c.Buffers, name).offset for name in operands)
        types = tuple(x.dtype for x in arrays if x is not None)  # kept: the key has their addresses
        guard = None if products is None else guard_of(arrays)
        call = module.call(plan._state, offsets, o, lse, (types, keep), guard)
        module.forget(self.known)  # it may remember this call with a closed plan
        self.known[key, words] = call
        if keep is not None:
            _report.watch(plan._record(), call)
        return call
