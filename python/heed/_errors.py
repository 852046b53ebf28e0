"""Exceptions. Each has heed's own message."""

from __future__ import annotations


class HeedError(Exception):
    """A call of libheed failed. Every exception that heed raises by itself is one."""


class InvalidError(HeedError, ValueError):
    """An argument is wrong; the message names the field, the value and the limit."""


class UnsupportedError(HeedError, NotImplementedError):
    """A valid problem that the device, or the kernel that was asked for, cannot do."""


class NoMemoryError(HeedError, MemoryError):
    """An allocation failed, of the host or of the device."""


class NoWisdomError(HeedError, LookupError):
    """Wisdom has no line for the problem, and nothing else was allowed."""


class SystemCallError(HeedError, OSError):
    """The operating system refused: a file, a thread."""


class CorruptError(HeedError, ValueError):
    """A wisdom text is not one, or is damaged."""


class DeviceError(HeedError, RuntimeError):
    """No such device, driver or compiler, or it refused."""


class LostError(DeviceError):
    """The device failed while it worked; nothing can run on it any more in this process."""


class ArgumentTypeError(HeedError, TypeError):
    """An argument has a type that heed does not take."""


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
    """The exception of a heed_status other than HEED_OK."""
    return _BY_STATUS.get(status, HeedError)(message)


def type_error(name: str, value: object, kind: str, remedy: str = "pass one") -> ArgumentTypeError:
    """The exception for an argument whose type is not @kind."""
    return ArgumentTypeError(f"{name}: {type(value).__name__} is no {kind}; {remedy}")
