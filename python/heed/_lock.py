"""Locks that a child process does not inherit locked."""

from __future__ import annotations

import os
import threading


class Lock:
    """A lock of one process. A child that is forked while a thread holds it has a new one: the
    thread that would open it is the parent's."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
