"""Handles: objects of libheed that are freed with their last reference."""

from __future__ import annotations

import os
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Optional

from ._errors import InvalidError
from ._library import check, library


def _destroy(kind: str, pointer: int, owner: int) -> None:
    """Free an object, unless the process is a child of the @owner."""
    if os.getpid() == owner:
        getattr(library, f"heed_{kind}_destroy")(pointer)


class Handle:
    """An object that create(pointer, *arguments) makes."""

    _kind: str  # "context", "plan" or "graph"

    def __init__(self, create: Callable[..., int], *arguments: Any) -> None:
        pointer = c_void_p()
        check(create(byref(pointer), *arguments))
        assert pointer.value is not None
        self._pointer: Optional[int] = pointer.value
        self._finish = weakref.finalize(self, _destroy, self._kind, pointer.value, os.getpid())

    def _open(self) -> int:
        if self._pointer is None:
            raise InvalidError(f"{self._kind}: it is closed")
        return self._pointer

    def close(self) -> None:
        """Free it now."""
        self._pointer = None
        self._finish()
