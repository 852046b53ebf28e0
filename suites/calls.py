"""Calls in an interpreted task (interpret.py): its functions, classes and objects, Python's builtins, and members."""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List

from abstract import CannotTell, Opaque, Tensor, spoil
from objects import Bound, Class, Function, Instance, Path, Returned, Scope, Super

DEPTH_MAX = 60
ITEMS_MAX = 100_000

BUILTINS: Dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "str": str, "len": len, "abs": abs, "min": min, "max": max,
    "sum": sum, "round": round, "tuple": tuple, "list": list, "zip": zip, "enumerate": enumerate,
    "reversed": reversed, "sorted": sorted, "dict": dict, "set": set, "all": all, "any": any, "divmod": divmod,
}
PLAIN = (int, float, bool, str, bytes, type(None), tuple, list, dict, range, slice, set)
SILENT = ("print",)
#: Builtins and members through which a task could change facts that were already read.
HIDDEN = ("exec", "eval", "compile", "globals", "locals", "vars", "delattr", "__import__")
#: Supported methods of Python's own values; those that insert values also accept unknown ones.
PUTTING = ("append", "extend", "insert", "add", "update", "setdefault")
OWN = {
    list: ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "index", "count", "copy"),
    dict: ("items", "keys", "values", "get", "pop", "update", "setdefault", "clear", "copy"),
    set: ("add", "remove", "discard", "clear", "update", "copy"),
    tuple: ("index", "count"),
    str: ("lower", "upper", "startswith", "endswith", "strip", "split", "join", "replace", "format", "isdigit"),
}
#: Members of these libraries may not be replaced, except for settings: the interpreter relies on them.
KNOWN = ("torch", "nn", "math", "builtins", "sys")
SETTINGS = ("torch.backends", "torch._dynamo", "torch._inductor")
TYPES_KNOWN: Dict[str, Any] = {
    "int": int, "float": float, "bool": bool, "str": str, "tuple": tuple, "list": list, "dict": dict,
    "Iterable": (list, tuple, dict, str, range, set), "Sequence": (list, tuple, str, range),
    "Number": (int, float), "Tensor": Tensor,
}


class Calls:
    """The part of interpret.Interpreter for calls; each part calls the other."""

    library: Any
    line: int
    depth: int
    call_node: Any
    call_scope: Any
    run: Any
    value: Any

    def call(self, called: Any, args: List[Any], words: Dict[str, Any], node: Any, scope: Scope) -> Any:
        self.call_node, self.call_scope = node, scope
        if isinstance(called, Opaque):
            spoil(called)  # a method that may work in place
            self.library.unknown(f"a call of {called.why}", args, words, node)
            return called
        if isinstance(called, Bound):
            return called.call(*args, **words)
        if isinstance(called, Function):
            return self.enter(called, args, words, None)
        if isinstance(called, Class):
            return self.create(called, args, words)
        if isinstance(called, Instance):
            forward = called.of.find("forward")
            if not isinstance(forward, Function):
                raise CannotTell(f"a call of a {called.of.node.name}", node.lineno)
            return self.enter(forward, args, words, called)
        if isinstance(called, Path) and called.name.startswith("builtins."):
            return self.built_in(called.name[9:], args, words, node)
        if isinstance(called, Path):
            return self.library.function(called.name, args, words, node, scope)
        if hasattr(called, "forward"):
            return called.forward(args, words, node, scope)
        raise CannotTell(f"a call of a {type(called).__name__}", node.lineno)

    def set_attribute(self, owner: Any, name: str, value: Any, node: Any) -> None:
        if isinstance(owner, (Instance, Class)) and not (name.startswith("__") or name == "forward"):
            owner.values[name] = value
            self.library.book.kept += self.library.book.inputs is not None
        elif isinstance(owner, Opaque):
            spoil(owner)
        elif isinstance(owner, Tensor) and name in ("grad", "requires_grad"):
            return
        elif isinstance(owner, Tensor):
            spoil(owner)
        elif isinstance(owner, Path):
            self.check_setting(owner, node, name)
        else:
            if getattr(owner, "kind", "") in ("", "MultiheadAttention") or name not in ("weight", "bias"):
                raise CannotTell(f"an assignment to '{name}' of {getattr(owner, 'name', 'a module')}", node.lineno)

    @staticmethod
    def check_setting(owner: Path, node: Any, name: str = "[]") -> None:
        """Requires that a store to a member of a library does not change its functions."""
        if owner.name.split(".")[0] in KNOWN and not owner.name.startswith(SETTINGS):
            raise CannotTell(f"an assignment to '{name}' of {owner.name}", node.lineno)

    def attribute(self, owner: Any, name: str, node: Any) -> Any:
        if isinstance(owner, Opaque):
            if "softmax" in name:
                self.library.book.opaque.append((f"a softmax of {owner.why}", node.lineno))
            return owner
        if isinstance(owner, Path) and (name == "__dict__" or (owner.name, name) == ("sys", "modules")):
            raise CannotTell(f"'{name}' of {owner.name}", node.lineno)
        if isinstance(owner, Path):
            return self.library.constant(f"{owner.name}.{name}")
        if isinstance(owner, Instance):
            return self.member(owner, owner.of, name)
        if isinstance(owner, Super):
            return self.member_above(owner, name)
        if isinstance(owner, Class):
            return self.of_class(owner, name, node)
        if isinstance(owner, Tensor):
            return self.library.attribute(owner, name, node)
        if hasattr(owner, "part"):
            return owner.part(name)
        if isinstance(owner, tuple(OWN)):
            return self.of_own(owner, name, node)
        return Opaque(f"'{name}' of a {type(owner).__name__}", node.lineno)

    def of_own(self, owner: Any, name: str, node: Any) -> Any:
        """A method of a value of Python's own."""
        if not any(isinstance(owner, kind) and name in names for kind, names in OWN.items()):
            raise CannotTell(f"'.{name}()' of a {type(owner).__name__}", node.lineno)

        def method(*args: Any, **words: Any) -> Any:
            if name not in PUTTING and any(isinstance(a, (Opaque, Path)) for a in args):
                raise CannotTell(f"'.{name}()' of what is not known", node.lineno)
            return getattr(owner, name)(*args, **words)

        return Bound(method, name)

    def of_class(self, owner: Class, name: str, node: Any) -> Any:
        found = owner.find(name)
        if isinstance(found, Function) and found.kind == "classmethod":
            return Bound(lambda *a, **w: self.enter(found, [owner, *a], w, None), name)
        if found is None:
            self.library.book.handed.append((f"'{name}' of a class", node.lineno))
            return Opaque(f"'{name}' of a class", node.lineno)
        return found

    def bound(self, found: Function, owner: Instance, name: str) -> Any:
        """Returns a function of a class as a member of an object."""
        if found.kind == "property":
            return self.enter(found, [], {}, owner)
        if found.kind in ("staticmethod", "classmethod"):
            first = [owner.of] if found.kind == "classmethod" else []
            return Bound(lambda *a, **w: self.enter(found, [*first, *a], w, None), name)
        return Bound(lambda *a, **w: self.enter(found, list(a), w, owner), name)

    def member(self, owner: Instance, cls: Class, name: str) -> Any:
        if name in owner.values:
            return owner.values[name]
        found = cls.find(name)
        if isinstance(found, Function):
            return self.bound(found, owner, name)
        if found is not None:
            return found
        return self.library.of_module(owner, name)

    def member_above(self, owner: Super, name: str) -> Any:
        for base in owner.above.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if isinstance(found, Function):
                return self.bound(found, owner.of, name)
        if name != "__init__":
            return self.library.of_module(owner.of, name)
        return Bound(lambda *a, **w: None, name)

    def create(self, cls: Class, args: List[Any], words: Dict[str, Any]) -> Any:
        made = Instance(cls)
        init = cls.find("__init__")
        if isinstance(init, Function):
            self.enter(init, args, words, made)
        elif args or words:
            raise CannotTell(f"a {cls.node.name} of arguments, which has no __init__()", self.line)
        return made

    def function(self, node: Any, scope: Scope) -> Function:
        made = Function(node, scope)
        made.defaults = [self.value(x, scope) for x in node.args.defaults]
        made.named_defaults = [self.value(x, scope) if x else None for x in node.args.kw_defaults]
        return made

    def enter(self, function: Function, args: List[Any], words: Dict[str, Any], this: Any) -> Any:
        scope = Scope(function.scope, function, function.owner, this)
        self.bind(function, scope, ([this] if this is not None else []) + list(args), dict(words))
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise CannotTell(f"calls more than {DEPTH_MAX} deep", self.line)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            self.run(function.node.body, scope)
        except Returned as returned:
            return returned.value
        finally:
            self.depth -= 1
        return None

    def bind(self, function: Function, scope: Scope, args: List[Any], words: Dict[str, Any]) -> None:
        wanted = function.node.args
        names = [a.arg for a in wanted.posonlyargs + wanted.args]
        given = dict(zip(names, args))
        first = len(names) - len(function.defaults)
        for i, name in enumerate(names):
            if name not in given and name in words:
                given[name] = words.pop(name)
            elif name not in given and i >= first:
                given[name] = function.defaults[i - first]
            elif name not in given:
                raise CannotTell(f"a call without '{name}'", self.line)
        for word, value in zip(wanted.kwonlyargs, function.named_defaults):
            given[word.arg] = words.pop(word.arg, value)
        if wanted.vararg:
            given[wanted.vararg.arg] = tuple(args[len(names) :])
        if wanted.kwarg:
            given[wanted.kwarg.arg] = words
        scope.names.update(given)

    def built_in(self, name: str, args: List[Any], words: Dict[str, Any], node: Any) -> Any:
        if name == "range":
            made = range(*args) if all(isinstance(a, int) for a in args) else Opaque("a range", node.lineno)
            if isinstance(made, range) and len(made) > ITEMS_MAX:
                raise CannotTell(f"a range of {len(made)}; {ITEMS_MAX} at most", node.lineno)
            return made
        if name in SILENT:
            return None
        if name in HIDDEN:
            raise CannotTell(f"'{name}()'", node.lineno)
        if name == "setattr":
            if not isinstance(args[1], str):
                raise CannotTell("'setattr()' of a name that is not known", node.lineno)
            return self.set_attribute(args[0], args[1], args[2], node)
        if name == "map" and len(args) == 2:
            return [self.call(args[0], [x], {}, node, self.call_scope) for x in self.items(args[1], node)]
        if name == "isinstance":
            return self.is_instance(args[0], args[1], node)
        if name == "hasattr":
            return self.has(args[0], args[1], node)
        if name == "getattr":
            return self.attribute(args[0], args[1], node)
        if name == "len" and hasattr(args[0], "parts"):
            return len(args[0].parts)
        if name == "len" and isinstance(args[0], Tensor):
            return args[0].shape[0]
        if name in BUILTINS and not any(isinstance(a, (Opaque, Path)) for a in args):
            listed = [list(self.items(a, node)) if hasattr(a, "parts") else a for a in args]
            made = self.plainly(BUILTINS[name], tuple(listed), words, node)
            return list(made) if name in ("zip", "enumerate", "reversed") else made
        return Opaque(f"'{name}()'", node.lineno)

    def has(self, owner: Any, name: str, node: Any) -> Any:
        if isinstance(owner, Instance) and not (name in owner.values or owner.of.find(name) is not None):
            return False
        found = self.attribute(owner, name, node)
        return found if isinstance(found, Opaque) and isinstance(owner, Opaque) else not isinstance(found, Opaque)

    def is_instance(self, value: Any, kind: Any, node: Any) -> Any:
        """isinstance() of a value of Python's own, a tensor, or an object of the file."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if isinstance(one, Class) and isinstance(value, Instance):
                above = [value.of]
                while above:
                    cls = above.pop()
                    if cls is one:
                        return True
                    above += [base for base in cls.bases if isinstance(base, Class)]
                continue
            name = one.name.rsplit(".", 1)[-1] if isinstance(one, Path) else ""
            if name not in TYPES_KNOWN or isinstance(value, Opaque):
                return Opaque("a type", node.lineno)
            if isinstance(value, TYPES_KNOWN[name]):
                return True
        return False

    def plainly(self, what: Callable[..., Any], args: Any, words: Dict[str, Any], node: Any) -> Any:
        """Applies an operation of Python to values of Python's own types."""
        if any(isinstance(a, (Opaque, Path)) for a in args):
            return Opaque("a value", node.lineno)
        if not all(isinstance(a, PLAIN) for a in args):
            return Opaque(f"a {type(args[0]).__name__}", node.lineno)
        try:
            return what(*args, **words)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise CannotTell(str(error) or type(error).__name__, node.lineno) from None

    def sequence(self, nodes: List[Any], scope: Scope) -> List[Any]:
        made: List[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                made.extend(self.items(self.value(node.value, scope), node))
            else:
                made.append(self.value(node, scope))
        return made

    def items(self, value: Any, node: Any) -> Any:
        if isinstance(value, (list, tuple, range, str, dict, set)) or hasattr(value, "__next__"):
            return value
        if hasattr(value, "parts"):
            return list(value.parts.values()) if isinstance(value.parts, dict) else value.parts
        if isinstance(value, Tensor):
            return [self.library.index(value, i) for i in range(min(value.shape[0], ITEMS_MAX))]
        raise CannotTell(f"a loop over {getattr(value, 'why', 'a ' + type(value).__name__)}", node.lineno)

    def truth(self, node: Any, scope: Scope) -> bool:
        return self.is_true(self.value(node, scope))

    def is_true(self, value: Any) -> bool:
        if isinstance(value, (Opaque, Tensor)):
            raise CannotTell(f"a condition on {getattr(value, 'why', 'a tensor')}", self.line)
        if isinstance(value, Bound):  # a property that is not known, such as .is_sparse
            raise CannotTell(f"a condition on '.{value.name}'", self.line)
        if isinstance(value, Path) and value.name.split(".")[0] not in ("torch", "math", "builtins"):
            raise CannotTell(f"a condition on '{value.name}'", self.line)
        return bool(value) if isinstance(value, PLAIN) else True
