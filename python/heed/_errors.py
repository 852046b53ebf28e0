"""Exceptions, which carry libheed's messages."""

from __future__ import annotations

import re
from typing import Dict


class HeedError(Exception):
    """A call of libheed failed. The base class of all exceptions of heed."""


class InvalidError(HeedError, ValueError):
    """An argument is wrong; the message names the field, the value and the limit."""


class UnsupportedError(HeedError, NotImplementedError):
    """A valid problem that the device or the requested kernel cannot compute."""


class NoMemoryError(HeedError, MemoryError):
    """An allocation failed, on the host or on the device."""


class NoWisdomError(HeedError, LookupError):
    """There is no wisdom for the problem, and the effort allows nothing else."""


class SystemCallError(HeedError, OSError):
    """A system call failed, such as for a file or a thread."""


class CorruptError(HeedError, ValueError):
    """A text is not wisdom, or is damaged."""


class DeviceError(HeedError, RuntimeError):
    """A device, driver or compiler is missing, or refused."""


class LostError(DeviceError):
    """The device failed during execution; this process can no longer use it."""


class ArgumentTypeError(HeedError, TypeError):
    """An argument has a type that heed does not accept."""


_BY_STATUS = {
    1: InvalidError,
    2: UnsupportedError,
    3: NoMemoryError,
    4: NoWisdomError,
    5: SystemCallError,
    6: CorruptError,
    7: DeviceError,
    8: LostError,
}


def error_of(status: int, message: str) -> HeedError:
    """The exception for a heed_status other than HEED_OK."""
    return _BY_STATUS.get(status, HeedError)(message)


def type_error(name: str, value: object, kind: str, remedy: str = "pass one") -> ArgumentTypeError:
    """The exception for an argument that must be @kind, such as "a str"."""
    own = type(value).__name__
    if own == "bool" and not isinstance(value, bool):
        own = f"{type(value).__module__}.bool"  # NumPy's
    return ArgumentTypeError(f"{name}: {own} is not {kind}; {remedy}")


def refuse_other(name: str, dtype: str, of: str, wanted: str) -> ArgumentTypeError:
    """The exception for an array whose type is not that of another argument."""
    return ArgumentTypeError(f"{name}: dtype is {dtype}, that of {of} {wanted}; convert one of them")


def renamed(error: HeedError, named: re.Pattern[str], names: Dict[str, str]) -> HeedError:
    """The exception with other argument names: each match of @named in its message is a key of @names."""
    return type(error)(named.sub(lambda found: names[found[0]], str(error)))
