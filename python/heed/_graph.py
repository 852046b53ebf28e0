"""Executions that CUDA replays."""

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

    It keeps the arrays, and the workspace, whose memory it reads and writes at each replay. It is
    freed with its last reference, or with its plan.
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
        """Start the execution again, on the current stream of q's library, with what the arrays
        hold by then: one launch, and without HEED_CHECK=1 no check. Replays of one graph must not
        overlap, as they share a workspace and the result: start them on one stream, from one thread
        at a time.

        Returns:
            out.

        Raises:
            InvalidError: the plan or its context was closed; or HEED_CHECK=1 found a wrong number.
            DeviceError, LostError: the driver refuses.
        """
        if self._pointer is None:
            raise InvalidError("graph: its plan is closed; capture another one")
        check(library.heed_graph_launch(self._pointer, stream_of(self._like) or None))
        written(self._out, *self._changed)
        return self._out

    def close(self) -> None:
        """Free it now. The work that it started must have ended."""
        self._kept = None
        super().close()
