"""Locks that are never locked in a new child process."""

from __future__ import annotations

import os
import threading


class Lock:
    """A lock within one process. A forked child gets a new one, as a thread that holds the lock does
    not exist there."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
