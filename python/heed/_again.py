"""Calls that are known: the module in C of python/call/, where it can be loaded.

The module serves CPython with a global interpreter lock, whichever version. Elsewhere, and with
HEED_CALLS=ctypes in the environment, calls are repeated by _arrays.Fast.
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

#: How a result is made: (function, arguments, words), or (function, None, None) of q.
Maker = Tuple[Callable[..., Any], Optional[Tuple[Any, ...]], Optional[Dict[str, Any]]]


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
    except ImportError:  # it was not built, or is another interpreter's
        return None
    return module


def take_workspace(device: int, size: int, stream: int) -> int:
    """The address of @size bytes of torch's allocator, for work on a stream of the device.

    A call takes them and gives them back when its work has begun, as a tensor would that it made.
    A pool that torch takes for a while, as a CUDA graph's warmup does, must not hold them longer.
    """
    torch = sys.modules["torch"]
    take = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
    if take is not None and device == torch.cuda.current_device():
        address: int = take(size, stream)  # a microsecond less than making a device current
        return address
    address = torch.cuda.caching_allocator_alloc(size, device, stream)
    return address


def give_workspace(address: int) -> None:
    """Give back what take_workspace() gave."""
    sys.modules["torch"].cuda.caching_allocator_delete(address)


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
    """Compare what the module reads of an array with the array's attributes."""
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
    checks = [
        getattr(torch._C, "_len_torch_dispatch_stack", None),
        getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None),
        getattr(torch._C, "_is_tracing", None),
        getattr(torch._C, "_is_any_autocast_enabled", None),
    ]
    found = (exchange, *checks, getattr(torch.autograd.graph, "increment_version", None))
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
            *checks,
        )
    except (TypeError, ValueError):
        return False
    return True


def knows(kind: type) -> bool:
    """Can the module read arrays of the type?"""
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


def maker_of(q: Any, shape: Tuple[int, ...], dtype: str) -> Maker:
    """How a dense array of q's library is made, on its device, of q's type or "f32"."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(q) is numpy.ndarray:
        return (numpy.empty, (shape, q.dtype if dtype == "same" else numpy.dtype("f4")), None)
    torch = sys.modules["torch"]
    if dtype == "same" and tuple(q.shape) == shape and q.is_contiguous():
        return (torch.empty_like, None, None)
    words = {"dtype": q.dtype if dtype == "same" else torch.float32, "device": q.device}
    return (torch.empty_strided, (shape, dense(shape)), words)


def makers_of(q: Any, o: Any, lse: Any) -> Tuple[Optional[Maker], Optional[Maker]]:
    """The makers of results of these shapes; None stands for one that is not made."""
    if not knows(type(q)):
        return (None, None)
    return (
        None if o is None else maker_of(q, tuple(o), "same"),
        None if lse is None else maker_of(q, tuple(lse), "f32"),
    )


def kinds(words: Tuple[Any, ...]) -> Optional[Tuple[type, ...]]:
    """Types of words: 1, 1.0 and True are equal, and not all of them are taken. None where a word has
    no hash, or may change its value, as a tensor does."""
    flat = [part for x in words for part in ((x, *x) if isinstance(x, tuple) else (x,))]
    for x in flat:
        numpy = type(x).__module__ == "numpy" and type(x).__hash__ is not None
        if not (x is None or numpy or isinstance(x, (str, int, float, tuple))):
            return None
    return tuple(map(type, flat))


class Calls:
    """Calls that are known, by their arrays and their words."""

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
        """Remember a call that went well: of q, k, v, out and operands, which are given or None,
        and whose names are fields of heed_buffers. @products: that of products_of(), for calls
        that follow torch's setting. Returns what counts it; None: it is repeated the long way."""
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
        types = tuple(x.dtype for x in arrays if x is not None)  # whose address is in the key
        call = module.call(plan._state, offsets, o, lse, (types, keep))
        module.forget(self.known)  # perhaps this call with a plan that has been closed
        self.known[key, words] = call
        if keep is not None:
            _report.watch(plan._record(), call)
        return call
