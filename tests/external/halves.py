"""16-bit types in float32, and in files: numpy has no bfloat16, which `heed run` reads as 16-bit integers."""

import numpy as np

KINDS = ("float16", "bfloat16")


def rounded(array, kind):
    """Rounds to the type, ties to even; the result is float32."""
    array = np.ascontiguousarray(array, np.float32)  # at least one-dimensional
    if kind == "float16":
        with np.errstate(over="ignore"):
            return array.astype(np.float16).astype(np.float32)
    bits = array.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)


def stored(array, kind):
    """The elements of a rounded array, as stored in a file."""
    array = np.ascontiguousarray(array, np.float32)
    return array.astype(np.float16) if kind == "float16" else (array.view(np.uint32) >> 16).astype(np.uint16)


def loaded(array, kind):
    """The elements of a file in float32."""
    return array.astype(np.float32) if kind == "float16" else (array.astype(np.uint32) << 16).view(np.float32)
