"""Values of a task that are neither Python's nor tensors (abstract.py), and the ways in which its blocks end."""

from __future__ import annotations

import ast
import math
from typing import Any, Callable, Dict, List, Optional

MATH = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}


class Path:
    """A dotted name of a library, such as torch.nn.functional; nothing of it is imported."""

    def __init__(self, name: str) -> None:
        self.name = name


class Class:
    def __init__(self, node: ast.ClassDef, bases: List[Any], scope: "Scope") -> None:
        self.node, self.bases, self.scope = node, bases, scope
        self.values: Dict[str, Any] = {}

    def find(self, name: str) -> Any:
        if name in self.values:
            return self.values[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if found is not None:
                return found
        return None


class Instance:
    def __init__(self, of: Class) -> None:
        self.of = of
        self.values: Dict[str, Any] = {}


class Function:
    def __init__(self, node: Any, scope: "Scope", owner: Optional[Class] = None) -> None:
        self.node, self.scope, self.owner = node, scope, owner
        self.defaults: List[Any] = []
        self.named_defaults: List[Any] = []
        self.kind = ""  # "staticmethod", "classmethod" or "property"


class Bound:
    """A method of an object: `call` gets the arguments behind it."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call, self.name = call, name


class Super:
    def __init__(self, of: Instance, above: Class) -> None:
        self.of, self.above = of, above


class Scope:
    """Names: those of a call, with those around it; `frame` is the call's function, None of the file."""

    def __init__(self, outer: Optional["Scope"], frame: Any = None, owner: Any = None, this: Any = None) -> None:
        self.names: Dict[str, Any] = {}
        self.outer, self.frame, self.owner, self.this = outer, frame, owner, this

    def find(self, name: str) -> Any:
        scope: Optional[Scope] = self
        while scope:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        raise KeyError(name)


class Returned(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Broken(Exception):
    pass


class Continued(Exception):
    pass
