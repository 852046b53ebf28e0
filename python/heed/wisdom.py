"""Wisdom of the contexts that heed.attention() uses: choices that planning has measured.

>>> heed.wisdom.load("heed.wisdom")     # such as of `heed tune --wisdom heed.wisdom`
>>> heed.attention(q, k, v)             # planned with it

Each function takes device="cpu", "cuda" or "cuda:N"; None: HEED_DEVICE, else "cpu". Existing plans
stay as they are. docs/file-formats.md has the format.
"""

from __future__ import annotations

import os
from typing import Optional, Tuple

from ._context import Context, context_of

__all__ = ["add", "export", "forget", "load", "save"]


def _context(device: Optional[str]) -> Context:
    device = device or os.environ.get("HEED_DEVICE") or "cpu"
    return context_of("cuda:0" if device == "cuda" else device)


def load(path: "os.PathLike[str] | str", *, device: Optional[str] = None) -> Tuple[int, int]:
    """Add the lines of a file. Returns the numbers of lines taken and skipped; lines of other machines
    are skipped.

    Raises:
        CorruptError: the file is not wisdom; nothing was added.
        SystemCallError: it cannot be read.
    """
    return _context(device).load_wisdom(path)


def add(text: str, *, device: Optional[str] = None) -> Tuple[int, int]:
    """load() from a text of export()."""
    return _context(device).import_wisdom(text)


def save(path: "os.PathLike[str] | str", *, device: Optional[str] = None) -> None:
    """Write all wisdom to a file, which is replaced as a whole."""
    _context(device).save_wisdom(path)


def export(*, device: Optional[str] = None) -> str:
    """All wisdom as text."""
    return _context(device).export_wisdom()


def forget(*, device: Optional[str] = None) -> None:
    """Drop all wisdom."""
    _context(device).forget_wisdom()
