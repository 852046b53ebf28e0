"""ctypes declarations of heed.h: its structs, constants and functions.

Nothing here is public. Fields have heed.h's names, order and types; tests/python/test_abi.py compares
them with the C compiler's.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CDLL,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_void_p,
)
from typing import Any, Callable

from ._errors import error_of

ARRAYS_MAX = 4
ARRAY_RANK_MAX = 3
ARRAY_NAME_SIZE = 16
EXPRESSION_SIZE = 256
SPEC_SIZE = 1792
ALIGNMENT = 64

# enum heed_type
F32, F16, BF16 = 0, 1, 2
# enum heed_mask
MASK_NONE, MASK_TOP_LEFT, MASK_BOTTOM_RIGHT = 0, 1, 2
# enum heed_align
ALIGN_TOP_LEFT, ALIGN_BOTTOM_RIGHT = 0, 1
WINDOW_LEFT, WINDOW_RIGHT = 1, 2
ALONG_BATCH, ALONG_HEAD, ALONG_QUERY, ALONG_KEY, ALONG_PAGE, ALONG_SEQUENCE = 1, 2, 4, 8, 16, 32
ALONG_POSITION = 64
# enum heed_data
DATA_NONE, DATA_F32, DATA_F16, DATA_BF16, DATA_I32, DATA_BYTES, DATA_BITS = range(7)
DATA_I64 = 7
# enum heed_products
PRODUCTS = {"full": 0, "tf32": 1, "bf16x3": 2}
# enum heed_effort
EFFORTS = {"estimate": 0, "measure": 1, "patient": 2, "wisdom": 3}
# enum heed_compile
COMPILE = {"now": 0, "background": 1}


def _all(kind: Any, names: str) -> "list[tuple[str, Any]]":
    """Consecutive fields of one type."""
    return [(name, kind) for name in names.split()]


class Strides(Structure):
    _fields_ = _all(c_int64, "batch seq head")


class Window(Structure):
    _fields_ = [("sides", c_uint), ("left", c_int64), ("right", c_int64)]


class Operand(Structure):
    _fields_ = [("type", c_int), ("along", c_uint), ("strides", Strides)]


class Array(Structure):
    _fields_ = [
        ("name", c_char * ARRAY_NAME_SIZE),
        ("type", c_int),
        ("rank", c_int),
        ("size", c_int64 * ARRAY_RANK_MAX),
    ]


class Problem(Structure):
    _fields_ = [
        ("size", c_size_t),
        *_all(c_int, "type mask"),
        *_all(c_int64, "batch heads_q heads_kv seq_q seq_k dim_qk dim_v"),
        ("scale", c_float),
        ("accumulate", c_int),
        *_all(Strides, "q k v o"),
        *_all(c_int, "pass align"),
        ("window", Window),
        ("chunk", c_int64),
        ("softcap", c_float),
        *_all(Operand, "bias slopes sinks starts shown"),
        ("arrays", Array * ARRAYS_MAX),
        *_all(c_char * EXPRESSION_SIZE, "score visible"),
        ("lengths", Operand),
        *_all(c_int64, "page pages"),
        ("table", Operand),
        *_all(c_int64, "tokens_q tokens_k"),
        *_all(Operand, "cu_seqlens_q cu_seqlens_k"),
        *_all(c_int64, "shared invariant append"),
        *_all(Strides, "k_new v_new"),
        *_all(c_int64, "rotary interleaved"),
        *_all(Operand, "rotary_cos rotary_sin"),
        *_all(c_int64, "prefix products append_packed"),
    ]


class Options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("device", c_char_p),
        ("threads", c_int),
        ("cpu", c_char_p),
        ("parallel", c_void_p),
        ("pool", c_void_p),
        ("compile", c_int64),
    ]


class Candidate(Structure):
    _fields_ = [
        *_all(c_char_p, "name rejected"),
        *_all(c_double, "predicted measured"),
        ("chosen", c_int),
    ]


class Buffers(Structure):
    _fields_ = [
        ("size", c_size_t),
        *_all(c_void_p, "q k v o lse workspace"),
        ("workspace_size", c_size_t),
        *_all(c_void_p, "stream bias slopes sinks starts shown"),
        ("arrays", c_void_p * ARRAYS_MAX),
        *_all(c_void_p, "lengths table cu_seqlens_q cu_seqlens_k"),
        *_all(c_void_p, "k_new v_new rotary_cos rotary_sin"),
        ("trusted", c_int64),
    ]


_FUNCTIONS = {
    "heed_message": (c_char_p, []),
    "heed_version": (c_char_p, []),
    "heed_problem_parse_sized": (c_int, [POINTER(Problem), c_size_t, c_char_p]),
    "heed_problem_print": (c_size_t, [POINTER(Problem), c_char_p, c_size_t]),
    "heed_problem_check": (c_int, [POINTER(Problem)]),
    "heed_problem_normalize": (c_int, [POINTER(Problem), POINTER(Problem)]),
    "heed_problem_flops": (c_double, [POINTER(Problem)]),
    "heed_problem_bytes": (c_double, [POINTER(Problem)]),
    "heed_context_create": (c_int, [POINTER(c_void_p), POINTER(Options)]),
    "heed_context_destroy": (None, [c_void_p]),
    "heed_context_threads": (c_int, [c_void_p]),
    "heed_context_device": (c_char_p, [c_void_p]),
    "heed_context_backend": (c_char_p, [c_void_p]),
    "heed_context_cpu": (c_char_p, [c_void_p]),
    "heed_plan_create": (c_int, [POINTER(c_void_p), c_void_p, POINTER(Problem), c_int]),
    "heed_plan_create_named": (c_int, [POINTER(c_void_p), c_void_p, POINTER(Problem), c_char_p]),
    "heed_plan_destroy": (None, [c_void_p]),
    "heed_plan_workspace_size": (c_size_t, [c_void_p]),
    "heed_plan_name": (c_char_p, [c_void_p]),
    "heed_plan_problem": (POINTER(Problem), [c_void_p]),
    "heed_plan_deterministic": (c_int, [c_void_p]),
    "heed_plan_wait": (c_int, [c_void_p]),
    "heed_plan_explain": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "heed_graph_create": (c_int, [POINTER(c_void_p), c_void_p, POINTER(Buffers)]),
    "heed_graph_launch": (c_int, [c_void_p, c_void_p]),
    "heed_graph_destroy": (None, [c_void_p]),
    "heed_execute": (c_int, [c_void_p, POINTER(Buffers)]),
    "heed_wisdom_import": (c_int, [c_void_p, c_char_p, POINTER(c_size_t), POINTER(c_size_t)]),
    "heed_wisdom_export": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "heed_wisdom_load": (c_int, [c_void_p, c_char_p, POINTER(c_size_t), POINTER(c_size_t)]),
    "heed_wisdom_save": (c_int, [c_void_p, c_char_p]),
    "heed_wisdom_forget": (None, [c_void_p]),
}


#: The path of the library.
PATH = os.environ.get("HEED_LIBRARY") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "libheed.so"
)


def _load() -> CDLL:
    try:
        library = CDLL(PATH)
    except OSError as error:
        raise ImportError(
            f"libheed cannot be loaded from {PATH}: {error}; install the package, or name the "
            "library in HEED_LIBRARY"
        ) from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


library = _load()
VERSION: str = library.heed_version().decode()


def check(status: int) -> None:
    """Raise the exception of a failed call, with heed's message."""
    if status:
        raise error_of(status, library.heed_message().decode(errors="replace"))


def text_of(function: Callable[..., int], *arguments: object) -> str:
    """The text of a function that writes up to a given number of bytes and returns the full length."""
    size = SPEC_SIZE
    while True:
        text = ctypes.create_string_buffer(size)
        length = function(*arguments, text, size)
        if length < size:
            return text.value.decode()
        size = length + 1

