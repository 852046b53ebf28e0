"""Functions that torch.compile does not trace."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def eager(function: Function) -> Function:
    """A decorator: torch.compile breaks its graph at the function and does not trace into it.
    Without torch, and before anything was compiled, the function is called directly."""
    disabled: List[Callable[..., Any]] = []

    @functools.wraps(function)
    def call(*arguments: Any, **words: Any) -> Any:
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        if disable is None:
            return function(*arguments, **words)
        if not disabled:
            disabled.append(disable(function))
        return disabled[0](*arguments, **words)

    return cast(Function, call)
