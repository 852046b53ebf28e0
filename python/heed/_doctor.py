"""heed.doctor(): the parts of heed that this process has, and those that it lacks."""

from __future__ import annotations

import os
import sys
from typing import Callable, List, NamedTuple, Tuple

from . import _again
from . import _library as c
from ._context import Context
from ._errors import HeedError


class Finding(NamedTuple):
    """A part: whether it is there, and what it is or what to do."""

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
            "heed_call.so is not used: it is not beside libheed, is another interpreter's, or "
            "HEED_CALLS=ctypes; calls cost some microseconds more"
        )
    return "known calls are repeated in C"


def _device(name: str) -> str:
    with Context(name) as context:
        threads = f", {context.cpu}, {context.threads} threads" if name == "cpu" else ""
        return f"{context.device}{threads}"


def _kernels() -> str:
    """The compiled kernels that came with the library, where libheed looks for them."""
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
    raise HeedError("no precompiled kernels: on a GPU NVRTC compiles all")


def _module(name: str) -> Callable[[], str]:
    def version() -> str:
        module = sys.modules.get(name)
        if module is None:
            raise HeedError("it is not imported")
        return str(getattr(module, "__version__", "of no version"))

    return version


def doctor() -> Findings:
    """Look at everything that heed uses, and load nothing of it but drivers.

    >>> print(heed.doctor())

    Returns:
        a list of (part, found, text). The text of a part that is not found is the reason or the remedy: a
        GPU, for one, need not be there. `heed doctor`, of the command line, looks at more.
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
