"""Contexts: devices and their wisdom."""

from __future__ import annotations

import atexit
import os
import weakref
from ctypes import byref, c_size_t, sizeof
from typing import TYPE_CHECKING, Callable, Dict, Optional, Tuple

from . import _library as c
from . import _values
from ._handle import Handle
from ._library import check, library, text_of
from ._lock import Lock

if TYPE_CHECKING:
    from ._plan import Plan

_compiling: "weakref.WeakSet[Context]" = weakref.WeakSet()  # those that compile in the background


class Context(Handle):
    """A device, its threads, and the wisdom that planning has learned there.

    Args:
        device: "cpu", "cuda" or "cuda:N"; None: the environment's HEED_DEVICE, else "cpu".
        threads: CPU threads, 1 to 1024; 0: one for each CPU of this process.
        cpu: best CPU features to use ("scalar", "avx2", "avx512", "avx512bf16", "amx"); None: the
            environment's HEED_CPU, else all.
        compile: "now", or "background": on a GPU, a plan is ready at once, although its kernel must
            be compiled, if another kernel whose code is ready can be used meanwhile.

    Raises:
        InvalidError: a bad argument.
        DeviceError: there is no such device, driver or compiler.

    Many threads may use a context at once. It is also a context manager.
    """

    _kind = "context"

    def __init__(
        self,
        device: Optional[str] = None,
        *,
        threads: int = 0,
        cpu: Optional[str] = None,
        compile: str = "now",
    ) -> None:
        options = c.Options(
            size=sizeof(c.Options),
            threads=_values.integer("threads", threads),
            device=_values.text_or_none("device", device),
            cpu=_values.text_or_none("cpu", cpu),
            compile=c.COMPILE[_values.word("compile", compile, tuple(c.COMPILE))],
        )
        super().__init__(library.heed_context_create, byref(options))
        self._plans: "weakref.WeakSet[Plan]" = weakref.WeakSet()
        if compile == "background" and self.backend == "cuda":
            _compiling.add(self)

    def close(self) -> None:
        """Stop its threads, and free it and its plans. Waits until no other thread is in a function
        that uses them."""
        self._pointer = None
        self._wait()  # for new plans
        for plan in list(self._plans):
            plan.close()
        super().close()

    @property
    def backend(self) -> str:
        """ "cpu" or "cuda" """
        return str(self._use(library.heed_context_backend).decode())

    @property
    def device(self) -> str:
        """The name of the device, such as "NVIDIA H200"."""
        return str(self._use(library.heed_context_device).decode())

    @property
    def cpu(self) -> str:
        """CPU features in use, such as "avx2"."""
        return str(self._use(library.heed_context_cpu).decode())

    @property
    def threads(self) -> int:
        """The maximum number of threads that a plan uses."""
        return int(self._use(library.heed_context_threads))

    def __repr__(self) -> str:
        if self._pointer is None:
            return "<heed.Context, closed>"
        return f"<heed.Context on {self.device}>"

    # ---- Wisdom

    def export_wisdom(self) -> str:
        """All wisdom of the context as text."""
        return str(self._use(lambda at: text_of(library.heed_wisdom_export, at)))

    def import_wisdom(self, text: str) -> Tuple[int, int]:
        """Add lines of wisdom. Returns the numbers of lines taken and skipped; lines of other
        machines are skipped.

        Raises:
            CorruptError: the text is not wisdom; nothing was added.
        """
        return self._add_wisdom(library.heed_wisdom_import, _values.text("text", text))

    def load_wisdom(self, path: "os.PathLike[str] | str") -> Tuple[int, int]:
        """import_wisdom() from a file."""
        return self._add_wisdom(library.heed_wisdom_load, _values.path(path))

    def _add_wisdom(self, add: Callable[..., int], source: bytes) -> Tuple[int, int]:
        taken, skipped = c_size_t(), c_size_t()
        check(self._use(add, source, byref(taken), byref(skipped)))
        return taken.value, skipped.value

    def save_wisdom(self, path: "os.PathLike[str] | str") -> None:
        """Write all wisdom to a file, which is replaced as a whole."""
        check(self._use(library.heed_wisdom_save, _values.path(path)))

    def forget_wisdom(self) -> None:
        """Drop all wisdom."""
        self._use(library.heed_wisdom_forget)


@atexit.register
def _end_compilations() -> None:
    """A compiler must not run in a thread while the process ends."""
    for context in list(_compiling):
        context.close()


_contexts: Dict[Tuple[str, int], Context] = {}
_contexts_lock = Lock()


def context_of(device: str) -> Context:
    """This process's context for a device, made on first use. A child process makes its own. It
    compiles in the background unless the environment has HEED_COMPILE=now."""
    key = (device, os.getpid())
    found = _contexts.get(key)
    if found is not None and found._pointer is not None:
        return found
    with _contexts_lock:
        found = _contexts.get(key)
        if found is None or found._pointer is None:
            when = _values.word(
                "HEED_COMPILE", os.environ.get("HEED_COMPILE") or "background", tuple(c.COMPILE)
            )
            found = _contexts[key] = Context(device, compile=when)
        return found
