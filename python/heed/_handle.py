"""Handles: objects of libheed that are freed with their last reference, but not when the process ends:
a daemon thread may use them until then, and so may __del__()."""

from __future__ import annotations

import os
import time
import weakref
from ctypes import byref, c_void_p
from threading import get_ident
from typing import Any, Callable, List, NoReturn, Optional, TypeVar

from ._errors import ArgumentTypeError, InvalidError
from ._library import check, library

_H = TypeVar("_H", bound="Handle")


def _destroy(kind: str, pointer: int, owner: int) -> None:
    """Free an object, unless the process is a child of the @owner."""
    if os.getpid() == owner:
        getattr(library, f"heed_{kind}_destroy")(pointer)


class Handle:
    """An object that create(pointer, *arguments) makes. "with" closes it at the end of its block."""

    _kind: str  # "context", "plan" or "graph"

    def __init__(self, create: Callable[..., int], *arguments: Any) -> None:
        pointer = c_void_p()
        check(create(byref(pointer), *arguments))
        assert pointer.value is not None
        self._pointer: Optional[int] = pointer.value
        self._users: List[int] = []  # threads that are in a function of libheed
        self._owner = os.getpid()
        self._finish = weakref.finalize(self, _destroy, self._kind, pointer.value, self._owner)
        self._finish.atexit = False

    def _open(self) -> int:
        if self._pointer is None:
            raise InvalidError(f"{self._kind}: it is closed; make another one")
        return self._pointer

    def _use(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """call(pointer, *arguments), until whose end close() waits."""
        thread = get_ident()
        self._users.append(thread)
        try:
            return call(self._open(), *arguments)
        finally:
            self._users.remove(thread)

    def _is_used(self) -> bool:
        """Whether another thread uses it."""
        thread = get_ident()
        return any(user != thread for user in list(self._users))

    def _wait(self) -> None:
        while self._is_used() and os.getpid() == self._owner:  # a child lacks the threads
            time.sleep(1e-4)

    def close(self) -> None:
        """Free it now. Waits until no other thread is in a function that uses it."""
        self._pointer = None
        self._wait()
        self._finish()

    def __enter__(self: _H) -> _H:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(f"{self._kind}: it cannot be copied or pickled; make another one")
