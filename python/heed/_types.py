"""Element types of arrays: a row for each."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from . import _library as c


class Type(NamedTuple):
    """An element type."""

    name: str  # in specs
    dtype: str  # in NumPy, PyTorch and JAX
    dlpack: Tuple[int, int]  # code and bits of DLDataType
    data: int  # as heed_data
    type: Optional[int] = None  # as heed_type; None: only operands may have it


ALL = (
    Type("f32", "float32", (2, 32), c.DATA_F32, c.F32),
    Type("f16", "float16", (2, 16), c.DATA_F16, c.F16),
    Type("bf16", "bfloat16", (4, 16), c.DATA_BF16, c.BF16),
    Type("i32", "int32", (0, 32), c.DATA_I32),
    Type("i64", "int64", (0, 64), c.DATA_I64),
    Type("bool", "bool", (6, 8), c.DATA_BYTES),
)

#: Names by those in NumPy, PyTorch and JAX, and by code and bits of DLDataType.
DTYPES = {row.dtype: row.name for row in ALL}
DLPACK = {row.dlpack: row.name for row in ALL}

#: Numbers by name: heed_type of Q, K, V and O, and heed_data of operands.
TYPES = {row.name: row.type for row in ALL if row.type is not None}
DATA = {row.name: row.data for row in ALL}

#: The dtypes of Q, K, V and O.
OF_Q = tuple(row.dtype for row in ALL if row.type is not None)
