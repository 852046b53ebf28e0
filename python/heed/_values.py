"""Checks and converts arguments other than arrays: ctypes would accept wrong ones silently, or refuse
them without naming the argument."""

from __future__ import annotations

import operator
import os
from typing import Any, Optional, Tuple

from ._errors import ArgumentTypeError, InvalidError, type_error

_INT_MAX = (1 << 31) - 1
SIZE_MAX = 1 << 31  # HEED_SIZE_MAX: of sizes, windows and chunks
_SCALE_MIN = 2.0**-126


def text(name: str, value: Any) -> bytes:
    """A str for C."""
    if not isinstance(value, str):
        raise type_error(name, value, "a str")
    if "\0" in value:
        raise InvalidError(f"{name}: {value[:40]!r} has a null character; leave it out")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InvalidError(f"{name}: {value[:40]!r} is not text in UTF-8; pass one") from None


def text_or_none(name: str, value: Any) -> Optional[bytes]:
    """text(), or None."""
    return None if value is None else text(name, value)


def path(value: Any) -> bytes:
    """A file name for C."""
    try:
        name = os.fsencode(value)
    except TypeError:
        raise type_error("path", value, "a path") from None
    if b"\0" in name:
        raise InvalidError(f"path: {value!r} has a null character; leave it out")
    return name


def span(low: int, high: int) -> str:
    """The whole numbers from @low to @high, for a message."""
    return str(low) if low == high else f"{low} to {high}" if low < high else "none"


def integer(name: str, value: Any, low: int = -_INT_MAX, high: int = _INT_MAX) -> int:
    """A whole number from @low to @high, and not a bool, whose caller means another argument."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise type_error(name, value, "a whole number", "pass an int")
    if not low <= number <= high:
        raise InvalidError(f"{name}: {number} is not in {span(low, high)}; pass a number that is")
    return number


def number(name: str, value: Any) -> float:
    """A number."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError:
        raise InvalidError(f"{name}: the number is too large for a float; pass another") from None
    raise type_error(name, value, "a number", "pass a float")


def flag(name: str, value: Any, choices: str = "True or False") -> bool:
    """True or False, of Python or NumPy."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
        raise type_error(name, value, "a bool", f"pass {choices}")
    return bool(value)


def truth(name: str, value: Any) -> bool:
    """The truth of a bool, of a number, such as 2, or of None, as FlashAttention's functions take it."""
    numpy = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    if value is None or numpy or isinstance(value, (bool, int, float)):
        return bool(value)
    raise type_error(name, value, "a bool", "pass True or False")


def scale(name: str, value: Any) -> Optional[float]:
    """A scale of logits for C, where 0 means the default, which is None here. 0 becomes the smallest
    normal float32: logits then differ too little to change softmax, if products are below 1e30."""
    if value is None:
        return None
    found = number(name, value)
    return _SCALE_MIN if abs(found) < _SCALE_MIN else found


def word(name: str, value: Any, choices: Tuple[str, ...]) -> str:
    """One of the @choices."""
    if not isinstance(value, str):
        raise type_error(name, value, "a str", f"pass one of {', '.join(choices)}")
    if value not in choices:
        raise InvalidError(f"{name}: {value[:40]!r} is not one of {', '.join(choices)}; pass one")
    return value


def pair(name: str, value: Any, remedy: str) -> Tuple[Any, Any]:
    """The two elements of a window."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return value[0], value[1]
    kind = InvalidError if isinstance(value, (list, tuple)) else ArgumentTypeError
    raise kind(f"{name}: {str(value)[:40]!r} is not a pair (left, right); pass one, {remedy}")
