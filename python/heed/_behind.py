"""heed in place of torch.nn.functional.scaled_dot_product_attention, and the report of its calls."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.bias import CausalBias

from . import _report
from ._errors import HeedError, LostError
from ._gradient import is_wanted, of_torch
from ._lock import Lock
from ._report import Report
from ._sdpa import (
    any_autocast,
    calls,
    cast,
    is_dense,
    is_cast,
    repeat,
    require_own_memory,
    result_like,
    scaled_dot_product_attention,
    without_bias,
)


_NAMES = ("query", "key", "value", "attn_mask")


class _Call(NamedTuple):
    """A call as the report shows it."""

    shapes: Tuple[Tuple[int, ...], ...]  # of query, key, value and, if given, attn_mask
    dtype: str
    device: str
    is_causal: bool

    def __str__(self) -> str:
        words = [f"{name}={shape}" for name, shape in zip(_NAMES, self.shapes)]
        words += [self.dtype, f"on {self.device}"]
        return " ".join(words + ["is_causal=True"] * self.is_causal)


_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _reason(tensors: Tuple[Tensor, ...], dropout_p: float) -> Optional[str]:
    """Why torch must compute the call; None: heed can try. While torch.compile traces, sizes and
    floats may have no value yet, so that they cannot be printed."""
    if any(x.is_nested for x in tensors):
        return "a tensor is nested"
    for x in tensors:  # such as DTensor, for which torch's own functions have rules
        if hasattr(type(x), "__tensor_flatten__"):
            return f"{type(x).__name__} computes with other tensors"
    if dropout_p != 0:
        said = "not 0" if torch.compiler.is_compiling() else dropout_p
        return f"dropout_p is {said}, and heed has no dropout"
    if is_wanted(*tensors):
        return "a gradient is wanted, and heed has no backward pass"
    kind, dtype = tensors[0].device.type, tensors[0].dtype
    if kind not in ("cpu", "cuda"):
        return f"heed has no kernels for device {kind}"
    if dtype not in _DTYPES and not torch.is_autocast_enabled(kind):
        return f"dtype {dtype} is not float32, float16 or bfloat16"
    for name, x in zip(_NAMES, tensors):
        if x.dim() and 0 in x.shape:
            return f"{name} is empty"
    return None


def _overrides(x: Any) -> bool:
    """Whether the type of a tensor overrides torch's functions, as that of nested tensors does."""
    own = getattr(type(x), "__torch_function__", None)
    return own is not None and own not in (
        Tensor.__torch_function__,
        torch._C._disabled_torch_function_impl,
    )


_count_modes = getattr(torch._C, "_len_torch_function_stack", None)


def _modes_are_quiet() -> bool:
    """Whether no active mode of torch functions can change attention."""
    if _count_modes is None:
        return not torch.overrides.has_torch_function(())
    if _count_modes() == 0:
        return True
    modes_of: Callable[[], List[Any]] = torch.overrides._get_current_function_mode_stack
    return all(type(mode).__name__ == "DeviceContext" for mode in modes_of())


@torch.compiler.assume_constant_result
def _note_compiled(call: str, reason: str) -> bool:
    """Count a call that torch.compile leaves to torch, once per compilation."""
    _report.fell_back(f"{call}, compiled", reason)
    return True


@torch.library.custom_op("heed::attention_or_torch", mutates_args=())
def _either(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Tensor:
    """heed's result or torch's, in a compiled program. Which one is known only when it runs; the
    strides are those that the fake implementation promised."""
    given: Any = (query, key, value, mask, 0.0, causal)
    words: Any = {"scale": scale, "enable_gqa": enable_gqa}
    with torch.no_grad():
        o = try_heed(*given, **words)
        if o is None:
            o = of_torch(*given, **words)
        promised = _promise(o, query, key, value, mask, enable_gqa)
        return o if o.stride() == promised.stride() else promised.copy_(o)


def _promise(
    o: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    enable_gqa: bool,
) -> Tensor:
    """An empty tensor with the strides of _either()'s result for @o."""
    dense = is_dense(query, key, value, mask, enable_gqa) or o.shape[:-1] != query.shape[:-1]
    return o.new_empty(o.shape) if dense else result_like(query, value, False)


@_either.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
    mask, causal, scale, enable_gqa = rest
    o = of_torch(query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=enable_gqa)
    return _promise(o, query, key, value, mask, enable_gqa)


@_either.register_vmap
def _(
    info: Any,
    dims: Tuple[Optional[int], ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    *words: Any,
) -> Tuple[Tensor, int]:
    own = [(x, dim) for x, dim in zip((query, key, value, mask), dims)]
    rank = max(x.dim() - (dim is not None) for x, dim in own if x is not None)
    given: List[Optional[Tensor]] = []
    for x, dim in own:
        if x is not None:  # the mapped dimension first, the others aligned at the last
            x = x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
            x = x.reshape(x.shape[0], *(1,) * (rank + 1 - x.dim()), *x.shape[1:])
            x = x.expand(info.batch_size, *x.shape[1:])
        given.append(x)
    o: Tensor = _either(*given, *words)
    return o, 0


def _tensors(*given: Any) -> Tuple[Any, ...]:
    """query, key, value and, if given, attn_mask."""
    return given[:3] if given[3] is None else given


@functools.wraps(of_torch, assigned=("__name__", "__doc__"))  # pickled by its own module
def _instead(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, computed by heed where possible."""
    if torch.compiler.is_compiling():
        attn_mask, is_causal = without_bias(query, attn_mask, is_causal)
        reason = _reason(_tensors(query, key, value, attn_mask), dropout_p)
        if reason is None:
            o: Tensor = _either(*cast(query, key, value, attn_mask), is_causal, scale, enable_gqa)
            return o
        call = f"query of {query.dim()} dimensions, {query.dtype} on {query.device.type}"
        _note_compiled(call, reason)
        given = (query, key, value, attn_mask, dropout_p, is_causal)
        return of_torch(*given, scale=scale, enable_gqa=enable_gqa)
    quiet = _modes_are_quiet()
    same = not any_autocast() or is_cast(query, key, value, attn_mask)
    if quiet and same and repeat is not None and _enabled:
        said = (dropout_p, is_causal, scale, enable_gqa)
        again: Optional[Tensor] = repeat(calls.known, said, query, key, value, None, attn_mask)
        if again is not None:
            return again
    given = (query, key, value, attn_mask, dropout_p, is_causal)
    return _one_of_both(given, {"scale": scale, "enable_gqa": enable_gqa}, quiet)


def _one_of_both(given: Tuple[Any, ...], words: Any, quiet: bool) -> Tensor:
    """heed's result, or torch's with a row in the report. @given are the positional arguments."""
    tensors = _tensors(*given[:4])
    handlers: Any = None  # tensors whose modes or types handle the call; they may repeat it
    if not quiet and not any(_overrides(x) for x in tensors if not isinstance(x, CausalBias)):
        handlers = given[:3]
    elif not _enabled or not all(isinstance(x, Tensor) for x in tensors):  # torch has the message
        return of_torch(*given, **words)
    if handlers is not None:
        found: Tensor = torch.overrides.handle_torch_function(_instead, handlers, *given, **words)
        return found
    mask, is_causal = without_bias(given[0], given[3], given[5])
    plain = (*given[:3], mask, given[4], is_causal)
    o = try_heed(*plain, **words)
    if o is not None:
        return o
    if isinstance(given[3], CausalBias) and not is_causal:  # torch has better ways than a mask
        return CausalBias._dispatch(*given, **words)
    return of_torch(*plain, **words)


def try_heed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
    is_causal: bool,
    scale: Optional[float],
    enable_gqa: bool,
) -> Optional[Tensor]:
    """heed's result, or None with a row in the report. Raises for a tensor whose memory was freed."""
    tensors = _tensors(query, key, value, attn_mask)
    own = [type(x).__name__ for x in tensors if _overrides(x)]
    reason = f"{own[0]} overrides torch's functions" if own else None
    for name, x in zip(_NAMES, tensors):
        if not x.is_nested:
            require_own_memory(name, x)
    try:
        reason = reason or _reason(tensors, dropout_p)
        if reason is None:
            words: Any = {"scale": scale, "enable_gqa": enable_gqa}
            return scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, **words
            )
    except LostError:
        raise
    except HeedError as error:
        reason = str(error)
    shapes = tuple(() if own or x.is_nested else tuple(x.shape) for x in tensors)
    call = _Call(shapes, str(query.dtype), str(query.device), bool(is_causal))
    _report.fell_back(call, reason)
    return None


class Enabled:
    """Returned by enable(): heed computes torch's attention until disable()."""

    def disable(self) -> None:
        """Restore torch's own function, unless another enable() is in force."""
        _release([self])

    def __enter__(self) -> "Enabled":
        _begin(self)  # again, if it was over
        return self

    def __exit__(self, *error: object) -> None:
        self.disable()

    def __repr__(self) -> str:
        return f"<heed.torch.enable(), {'in force' if self in _enabled else 'over'}>"


_own_function: Any = vars(CausalBias)["__torch_function__"].__func__


def _bias_function(
    cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """CausalBias.__torch_function__ while heed is enabled: torch's compares the called function with the
    one in torch.nn.functional, and would take a call of its own function for another one, whose mask
    is then without meaning."""
    if function is of_torch:
        function = functional.scaled_dot_product_attention
    return _own_function(cls, function, types, args, kwargs)


_enabled: List[Enabled] = []  # those in force
_enabled_lock = Lock()


def _begin(one: Enabled) -> None:
    with _enabled_lock:
        if one not in _enabled:
            _enabled.append(one)
        instead: Any = _instead
        functional.scaled_dot_product_attention = instead
        bias: Any = CausalBias
        bias.__torch_function__ = classmethod(_bias_function)


def _release(ended: List[Enabled]) -> None:
    with _enabled_lock:
        _enabled[:] = [one for one in _enabled if one not in ended]
        if not _enabled and functional.scaled_dot_product_attention is _instead:
            functional.scaled_dot_product_attention = of_torch
            bias: Any = CausalBias
            bias.__torch_function__ = classmethod(_own_function)


def enable() -> Enabled:
    """Let heed compute torch.nn.functional.scaled_dot_product_attention in the whole process,
    whichever backend torch would choose.

    >>> heed.torch.enable()             # from now on, or
    >>> with heed.torch.enable():       # within
    ...     o = torch.nn.functional.scaled_dot_product_attention(q, k, v)

    torch computes the calls that heed cannot: dropout, float64, gradients, nested tensors, types such
    as DTensor, devices without kernels. report() lists them with the reason. Code that imported the
    function earlier (from torch.nn.functional import scaled_dot_product_attention) keeps torch's
    own, and so does the fused inference path of torch.nn.TransformerEncoderLayer, which does not
    call it. torch.compile uses heed in functions that it compiles afterwards. torch.jit.script accepts only
    torch's own function, so script before enable().

    Returns:
        an object with disable(); as a context manager it calls disable() at the end.
    """
    made = Enabled()
    _begin(made)
    return made


def disable() -> None:
    """End every enable()."""
    _release(list(_enabled))


def report(*, clear: bool = False) -> Report:
    """The calls of this process by kind, with their count, their kernel or, if torch computed them,
    the reason. print() shows a table.

    Args:
        clear: reset the counts to 0.

    Returns:
        a list of rows (calls, problem, kernel, reason), the most frequent first. Calls of
        heed.attention() and of functions built on it are counted, those of heed.Plan are not.
        A call that torch.compile left to torch counts once per compilation; others count each time
        that they run. Beyond 1000 rows with a kernel, or 1000 with a reason, further calls are
        counted together as "others".
    """
    found = _report.report()
    if clear:
        _report.clear()
    return found
