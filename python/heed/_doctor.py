"""heed.doctor(): which parts of heed this process has and which it lacks."""

from __future__ import annotations

import os
import sys
from typing import Callable, List, NamedTuple, Tuple

from . import _again
from . import _library as c
from ._context import Context
from ._errors import HeedError


class Finding(NamedTuple):
    """A part of heed: whether it was found, and its description or the remedy."""

    part: str
    found: bool
    text: str


class Findings(List[Finding]):
    """Findings; str() makes a table."""

    def __str__(self) -> str:
        width = max(len(finding.part) for finding in self)
        return "\n".join(
            f"{'ok' if finding.found else '--'}  {finding.part:{width}}  {finding.text}"
            for finding in self
        )


def _calls() -> str:
    if _again.module is None:
        raise HeedError(
            "heed_call.so is not used: it is not beside libheed, was built for another interpreter, "
            "or HEED_CALLS=ctypes is set; calls take a few microseconds longer"
        )
    return "known calls are repeated in C"


def _device(name: str) -> str:
    with Context(name) as context:
        threads = f", {context.cpu}, {context.threads} threads" if name == "cpu" else ""
        return f"{context.device}{threads}"


def _kernels() -> str:
    """The precompiled kernels, in the folders where libheed looks for them."""
    own = os.path.dirname(os.path.abspath(c.PATH))
    named = os.environ.get("HEED_CUBINS")
    below = ("cubins", "heed/cubins", "../lib/heed/cubins")
    folders = [named] if named is not None else [os.path.join(own, name) for name in below]
    for folder in folders:
        try:
            with open(os.path.join(folder, "compiler"), encoding="ascii") as file:
                compiler = file.read().strip()
            count = sum(name.endswith(".cubin") for name in os.listdir(folder))
        except (OSError, UnicodeDecodeError):
            continue
        return f"{count} by {compiler}, in {os.path.normpath(folder)}"
    raise HeedError("no precompiled kernels: on a GPU, NVRTC compiles all of them")


def _module(name: str) -> Callable[[], str]:
    def version() -> str:
        module = sys.modules.get(name)
        if module is None:
            raise HeedError("it is not imported")
        return str(getattr(module, "__version__", "version unknown"))

    return version


def doctor() -> Findings:
    """Check everything that heed uses, without loading anything but drivers.

    >>> print(heed.doctor())

    Returns:
        a list of (part, found, text). For a missing part the text is the reason or the remedy. Some
        parts, such as a GPU, are optional. The command `heed doctor` checks more.
    """
    looks: Tuple[Tuple[str, Callable[[], str]], ...] = (
        ("libheed", lambda: f"{c.VERSION}, {c.PATH}"),
        ("calls", _calls),
        ("cpu", lambda: _device("cpu")),
        ("cuda", lambda: _device("cuda")),
        ("kernels", _kernels),
        ("numpy", _module("numpy")),
        ("torch", _module("torch")),
        ("jax", _module("jax")),
    )
    found = Findings()
    for part, look in looks:
        try:
            found.append(Finding(part, True, look()))
        except HeedError as error:
            found.append(Finding(part, False, str(error)))
    return found
