"""Executions captured as CUDA graphs."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Tuple

from . import _library as c
from ._arrays import View, stream_of, written
from ._errors import InvalidError
from ._handle import Handle
from ._library import check, library


class Graph(Handle):
    """One execution of a plan as a CUDA graph; made by Plan.capture().

    It keeps references to the arrays and the workspace that it reads and writes at each replay. It
    is freed with its last reference, or with its plan.
    """

    _kind = "graph"

    def __init__(
        self, plan: int, buffers: c.Buffers, like: View, kept: Any, out: Any, changed: Tuple[Any, ...]
    ) -> None:
        super().__init__(library.heed_graph_create, plan, byref(buffers))
        self._like = like
        self._kept = kept
        self._out = out
        self._changed = changed

    @property
    def out(self) -> Any:
        """The array that a replay writes."""
        return self._out

    def replay(self) -> Any:
        """Launch the execution again on the current stream of q's library, with the present contents
        of the arrays. Nothing is checked unless HEED_CHECK=1 is set. Replays of one graph share the
        workspace and the result, so they must not overlap: launch them on one stream, from one
        thread at a time.

        Returns:
            out.

        Raises:
            InvalidError: the plan or its context was closed; or HEED_CHECK=1 found a bad index.
            DeviceError, LostError: the driver failed.
        """
        if self._pointer is None:
            raise InvalidError("graph: its plan is closed; capture another one")
        check(self._use(library.heed_graph_launch, stream_of(self._like) or None))
        written(self._out, *self._changed)
        return self._out

    def close(self) -> None:
        """Free it now. The work that it started must be complete."""
        self._kept = None
        super().close()
