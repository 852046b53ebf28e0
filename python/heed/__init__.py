"""heed: fused attention for CPUs and NVIDIA GPUs.

>>> import heed
>>> o = heed.attention(q, k, v, causal=True)

heed.attention() takes arrays of NumPy, PyTorch and any library with DLPack. heed.Problem, heed.Plan
and heed.Context are the library's steps: describe, plan, execute. docs/python.md has more.
"""

from . import wisdom
from ._attention import attention
from ._context import Context
from ._doctor import doctor
from ._errors import (
    ArgumentTypeError,
    CorruptError,
    DeviceError,
    HeedError,
    InvalidError,
    LostError,
    NoMemoryError,
    NoWisdomError,
    SystemCallError,
    UnsupportedError,
)
from ._graph import Graph
from ._library import VERSION as __version__
from ._plan import Plan
from ._problem import Problem

__all__ = [
    "ArgumentTypeError",
    "Context",
    "CorruptError",
    "DeviceError",
    "Graph",
    "HeedError",
    "InvalidError",
    "LostError",
    "NoMemoryError",
    "NoWisdomError",
    "Plan",
    "Problem",
    "SystemCallError",
    "UnsupportedError",
    "__version__",
    "attention",
    "doctor",
    "wisdom",
]

for _name in __all__:  # the public name, for tracebacks
    if callable(globals()[_name]):
        globals()[_name].__module__ = __name__
del _name
