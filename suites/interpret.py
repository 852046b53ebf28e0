"""A task followed statement by statement, over values without elements (abstract.py). Nothing of it is run.

Known are the statements of straight programs, classes, and loops over known lists; operations.py knows
torch. A value that cannot be followed is Opaque, and harms nobody until attention is made of it.
"""

from __future__ import annotations

import ast
import operator
from typing import Any, Callable, Dict, List

from abstract import CannotTell, Opaque, Tensor
from objects import Bound, Broken, Class, Continued, Function, Instance, Path, Returned, Scope, Super

STEPS_MAX = 400_000
DEPTH_MAX = 60
ITEMS_MAX = 100_000
BITS_MAX = 4096


BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
BUILTINS: Dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "str": str, "len": len, "abs": abs, "min": min, "max": max,
    "sum": sum, "round": round, "tuple": tuple, "list": list, "zip": zip, "enumerate": enumerate,
    "reversed": reversed, "sorted": sorted, "dict": dict, "set": set, "all": all, "any": any, "divmod": divmod,
}
PLAIN = (int, float, bool, str, bytes, type(None), tuple, list, dict, range, slice, set)
SILENT = ("print", "setattr")
TYPES_KNOWN: Dict[str, Any] = {
    "int": int, "float": float, "bool": bool, "str": str, "tuple": tuple, "list": list, "dict": dict,
    "Iterable": (list, tuple, dict, str, range, set), "Sequence": (list, tuple, str, range),
    "Number": (int, float), "Tensor": Tensor,
}


def guard(kind: type, left: Any, right: Any) -> None:
    """Numbers and lists stay of a size that a task could mean."""
    numbers = isinstance(left, int) and isinstance(right, int)
    if kind in (ast.Pow, ast.LShift) and numbers:
        bits = left.bit_length() * abs(right) if kind is ast.Pow else left.bit_length() + abs(right)
        if bits > BITS_MAX:
            raise CannotTell(f"a number of {bits} bits; {BITS_MAX} at most")
    if kind is ast.Mult and not numbers:
        items = [x for x in (left, right) if isinstance(x, (str, bytes, tuple, list))]
        times = [x for x in (left, right) if isinstance(x, int)]
        if items and times and len(items[0]) * times[0] > ITEMS_MAX:
            raise CannotTell(f"a list of {len(items[0]) * times[0]} items; {ITEMS_MAX} at most")


class Interpreter:
    """Follows one file. `library` knows what torch does (operations.py)."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.top = Scope(None)
        self.steps = 0
        self.depth = 0
        self.line = 0
        self.call_node: Any = None  # the call that is being followed, and the scope that it stands in
        self.call_scope: Any = None
        library.interpreter = self

    def count(self, node: Any) -> None:
        self.steps += 1
        self.line = getattr(node, "lineno", self.line)
        if self.steps > STEPS_MAX:
            raise CannotTell(f"more than {STEPS_MAX} steps", self.line)

    # ---- Statements ----

    def run(self, body: List[ast.stmt], scope: Scope) -> None:
        for node in body:
            self.count(node)
            method = getattr(self, "do_" + type(node).__name__, None)
            if method is None:
                raise CannotTell(f"a statement '{type(node).__name__.lower()}'", node.lineno)
            method(node, scope)

    def do_Import(self, node: ast.Import, scope: Scope) -> None:
        for name in node.names:
            first = name.name.split(".")[0]
            scope.names[name.asname or first] = Path(name.name if name.asname else first)

    def do_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        for name in node.names:
            scope.names[name.asname or name.name] = Path(f"{node.module}.{name.name}")

    def do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        return

    def do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        return

    def do_Global(self, node: ast.Global, scope: Scope) -> None:
        return

    def do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        return

    def do_Return(self, node: ast.Return, scope: Scope) -> None:
        raise Returned(self.value(node.value, scope) if node.value else None)

    def do_Break(self, node: ast.Break, scope: Scope) -> None:
        raise Broken

    def do_Continue(self, node: ast.Continue, scope: Scope) -> None:
        raise Continued

    def do_Raise(self, node: ast.Raise, scope: Scope) -> None:
        raise CannotTell("it raises an error", node.lineno)

    def do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value:
            self.assign(node.target, self.value(node.value, scope), scope)

    def do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        load = ast.copy_location(ast.BinOp(as_load(node.target), node.op, node.value), node)
        self.assign(node.target, self.value(load, scope), scope)

    def do_If(self, node: ast.If, scope: Scope) -> None:
        self.run(node.body if self.truth(node.test, scope) else node.orelse, scope)

    def do_With(self, node: ast.With, scope: Scope) -> None:
        self.run(node.body, scope)

    def do_For(self, node: ast.For, scope: Scope) -> None:
        for item in self.items(self.value(node.iter, scope), node):
            self.count(node)
            self.assign(node.target, item, scope)
            try:
                self.run(node.body, scope)
            except Continued:
                continue
            except Broken:
                return
        self.run(node.orelse, scope)

    def do_While(self, node: ast.While, scope: Scope) -> None:
        while self.truth(node.test, scope):
            self.count(node)
            try:
                self.run(node.body, scope)
            except Continued:
                continue
            except Broken:
                return

    def do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        if any(getattr(d, "id", getattr(d, "attr", "")) == "property" for d in node.decorator_list):
            raise CannotTell("a property", node.lineno)
        scope.names[node.name] = self.function(node, scope)

    def do_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        made = Class(node, [self.value(base, scope) for base in node.bases], scope)
        inner = Scope(scope, owner=made)
        self.run(node.body, inner)
        made.values = inner.names
        for value in made.values.values():
            if isinstance(value, Function):
                value.owner, value.scope = made, scope
        scope.names[node.name] = made

    def assign(self, target: Any, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.spread(target, value, scope)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            if isinstance(owner, Instance):
                owner.values[target.attr] = value
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value, scope)
            key = self.value(target.slice, scope)
            if isinstance(owner, (list, dict)) and not isinstance(key, Opaque):
                owner[key] = value
            elif isinstance(owner, Tensor):
                owner.fact = None
        else:
            raise CannotTell("an assignment", target.lineno)

    def spread(self, target: Any, value: Any, scope: Scope) -> None:
        if isinstance(value, Opaque):
            for part in target.elts:
                self.assign(part, value, scope)
            return
        values = list(self.items(value, target))
        if any(isinstance(part, ast.Starred) for part in target.elts) or len(values) != len(target.elts):
            raise CannotTell(f"{len(values)} values for {len(target.elts)} names", target.lineno)
        for part, item in zip(target.elts, values):
            self.assign(part, item, scope)

    # ---- Expressions ----

    def value(self, node: Any, scope: Scope) -> Any:
        self.count(node)
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            raise CannotTell(f"an expression '{type(node).__name__.lower()}'", self.line)
        return method(node, scope)

    def of_Constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def of_Name(self, node: ast.Name, scope: Scope) -> Any:
        try:
            return scope.find(node.id)
        except KeyError:
            return Path("builtins." + node.id)

    def of_Tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self.sequence(node.elts, scope))

    def of_List(self, node: ast.List, scope: Scope) -> Any:
        return self.sequence(node.elts, scope)

    def of_Set(self, node: ast.Set, scope: Scope) -> Any:
        return set(self.sequence(node.elts, scope))

    def of_Dict(self, node: ast.Dict, scope: Scope) -> Any:
        if None in node.keys:
            raise CannotTell("a dictionary in a dictionary", node.lineno)
        return {self.value(k, scope): self.value(v, scope) for k, v in zip(node.keys, node.values)}

    def of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        return ""

    def of_Lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return self.function(node, scope)

    def of_IfExp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.value(node.body if self.truth(node.test, scope) else node.orelse, scope)

    def of_Slice(self, node: ast.Slice, scope: Scope) -> Any:
        parts = [self.value(x, scope) if x else None for x in (node.lower, node.upper, node.step)]
        return Opaque("a slice", node.lineno) if any(isinstance(p, (Opaque, Tensor)) for p in parts) else slice(*parts)

    def of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Any:
        value = None
        for part in node.values:
            value = self.value(part, scope)
            if self.is_true(value) != isinstance(node.op, ast.And):
                return value
        return value

    def of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.value(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return not self.is_true(value)
        if isinstance(value, Opaque):
            return value
        if isinstance(value, Tensor):
            return self.library.unary(type(node.op), value)
        return {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(node.op)](value)

    def of_BinOp(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(node.op, ast.MatMult):
            return self.library.product(left, right, (node.left, node.right), node, scope)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.library.binary(type(node.op), left, right)
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return left if isinstance(left, Opaque) else right
        guard(type(node.op), left, right)
        return self.plainly(BINARY[type(node.op)], (left, right), {}, node)

    def of_Compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        for op, part in zip(node.ops, node.comparators):
            right = self.value(part, scope)
            tensors = [x for x in (left, right) if isinstance(x, Tensor)]
            if tensors and not isinstance(op, (ast.Is, ast.IsNot)):
                return self.library.compare(type(op), left, right)
            if isinstance(left, Opaque) or isinstance(right, Opaque):
                return left if isinstance(left, Opaque) else right
            if isinstance(op, (ast.Is, ast.IsNot)):
                if (left is right) is isinstance(op, ast.IsNot):
                    return False
                left = right
                continue
            if isinstance(left, Path) and isinstance(right, Path):
                left, right = left.name, right.name
            held = self.plainly(COMPARE[type(op)], (left, right), {}, node)
            if held is False or isinstance(held, Opaque):
                return held
            left = right
        return True

    def of_Subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        owner, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(owner, Opaque):
            return owner
        if isinstance(owner, Tensor):
            return self.library.index(owner, key)
        if hasattr(owner, "parts"):
            return owner.parts[key]
        if isinstance(owner, Path):
            return Opaque(f"'{owner.name}[]'", node.lineno)
        return self.plainly(operator.getitem, (owner, key), {}, node)

    def of_Attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return self.attribute(self.value(node.value, scope), node.attr, node)

    def of_ListComp(self, node: ast.ListComp, scope: Scope) -> Any:
        made: List[Any] = []
        self.comprehend(node, node.generators, Scope(scope, scope.frame, scope.owner, scope.this), made)
        return made

    of_GeneratorExp = of_ListComp

    def comprehend(self, node: Any, generators: List[Any], scope: Scope, made: List[Any]) -> None:
        if not generators:
            made.append(self.value(node.elt, scope))
            return
        for item in self.items(self.value(generators[0].iter, scope), node):
            self.count(node)
            self.assign(generators[0].target, item, scope)
            if all(self.truth(test, scope) for test in generators[0].ifs):
                self.comprehend(node, generators[1:], scope, made)

    def of_Call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and scope.this is not None:
            return Super(scope.this, scope.owner)
        called = self.value(node.func, scope)
        args = self.sequence(node.args, scope)
        words: Dict[str, Any] = {}
        for word in node.keywords:
            value = self.value(word.value, scope)
            words.update({word.arg: value} if word.arg else value if isinstance(value, dict) else {})
        self.line = node.lineno
        return self.call(called, args, words, node, scope)

    def call(self, called: Any, args: List[Any], words: Dict[str, Any], node: Any, scope: Scope) -> Any:
        self.call_node, self.call_scope = node, scope
        if isinstance(called, Opaque):
            return called
        if isinstance(called, Bound):
            return called.call(*args, **words)
        if isinstance(called, Function):
            return self.enter(called, args, words, None)
        if isinstance(called, Class):
            return self.create(called, args, words)
        if isinstance(called, Instance):
            forward = called.of.find("forward") or called.of.find("__call__")
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

    # ---- Their parts ----

    def attribute(self, owner: Any, name: str, node: Any) -> Any:
        if isinstance(owner, Opaque):
            return owner
        if isinstance(owner, Path):
            return self.library.constant(f"{owner.name}.{name}")
        if isinstance(owner, Instance):
            return self.member(owner, owner.of, name)
        if isinstance(owner, Super):
            return self.member_above(owner, name)
        if isinstance(owner, Class):
            found = owner.find(name)
            return found if found is not None else Opaque(f"'{name}' of a class", node.lineno)
        if isinstance(owner, Tensor):
            return self.library.attribute(owner, name, node)
        if isinstance(owner, (list, dict, str, tuple)) and name in ("append", "extend", "items", "keys", "values"):
            return Bound(lambda *a: getattr(owner, name)(*a), name)
        if hasattr(owner, "part"):
            return owner.part(name)
        return Opaque(f"'{name}' of a {type(owner).__name__}", node.lineno)

    def member(self, owner: Instance, cls: Class, name: str) -> Any:
        if name in owner.values:
            return owner.values[name]
        found = cls.find(name)
        if isinstance(found, Function):
            return Bound(lambda *a, **w: self.enter(found, list(a), w, owner), name)
        if found is not None:
            return found
        return self.library.of_module(owner, name)

    def member_above(self, owner: Super, name: str) -> Any:
        for base in owner.above.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if isinstance(found, Function):
                return Bound(lambda *a, f=found, **w: self.enter(f, list(a), w, owner.of), name)
        return Bound(lambda *a, **w: None, name)

    def create(self, cls: Class, args: List[Any], words: Dict[str, Any]) -> Any:
        made = Instance(cls)
        init = cls.find("__init__")
        if isinstance(init, Function):
            self.enter(init, args, words, made)
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
        if name == "isinstance":
            return self.is_instance(args[0], args[1], node)
        if name == "hasattr":
            return not isinstance(self.attribute(args[0], args[1], node), Opaque)
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
        """An operation of Python's own on values of Python's own."""
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
        return bool(value) if isinstance(value, PLAIN) else True


def as_load(node: Any) -> Any:
    made = ast.parse(ast.unparse(node), mode="eval").body
    return ast.copy_location(made, node)
