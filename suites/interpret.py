"""Interprets a task statement by statement, on values without elements (abstract.py), without running it.

It supports straight-line code, classes, and loops over known lists; operations.py has torch's functions. An unsupported
value is Opaque, which has no effect until attention depends on it.
"""

from __future__ import annotations

import ast
import operator
from typing import Any, Dict, List

from abstract import CannotTell, Opaque, Tensor, spoil, write
from calls import ITEMS_MAX, Calls
from objects import Broken, Class, Continued, Function, Path, Returned, Scope, Super

STEPS_MAX = 400_000
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
#: Members of a class that would change its usual behaviour.
SPECIAL = ("__call__", "__getattr__", "__getattribute__", "__setattr__", "__new__", "__init_subclass__")
#: Decorators that do not change a function's result, and those that determine how it is called.
DECORATORS = (
    "torch.no_grad", "torch.inference_mode", "torch.compile", "torch.compiler.disable", "torch.jit.script",
    "torch.jit.export", "torch.jit.ignore", "torch.jit.unused", "functools.lru_cache", "functools.cache",
    "functools.wraps", "abc.abstractmethod", "typing.overload", "typing.final", "typing.no_type_check",
)
#: Contexts of 'with' that do not change results.
CONTEXTS = (
    "torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled", "torch.device",
    "torch.cuda.device", "torch.cuda.stream", "torch.cuda.nvtx.range", "torch.nn.attention.sdpa_kernel",
    "torch.backends.cuda.sdp_kernel", "torch.profiler.record_function", "torch.autograd.profiler.record_function",
    "contextlib.nullcontext", "warnings.catch_warnings",
)
METHODS = ("builtins.staticmethod", "builtins.classmethod", "builtins.property")


def guard(kind: type, left: Any, right: Any) -> None:
    """Limits numbers and lists to sizes that are plausible in a task."""
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


class Interpreter(Calls):
    """Interprets one file. `library` has torch's functions (operations.py)."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.top = Scope(None)
        self.steps = 0
        self.depth = 0
        self.line = 0
        self.call_node: Any = None  # the current call, and its scope
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
            if name.name == "*":  # it may hide anything, scaled_dot_product_attention() too
                raise CannotTell(f"an import of all names of {node.module}", node.lineno)
            scope.names[name.asname or name.name] = Path(f"{node.module}.{name.name}")

    def do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        return

    def do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        for part in conditions(node.test):  # they may write to a tensor
            self.value(part, scope)

    def do_Global(self, node: ast.Global, scope: Scope) -> None:
        raise CannotTell("a statement 'global'", node.lineno)

    def do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        if not all(isinstance(target, ast.Name) for target in node.targets):
            raise CannotTell("a member or an item that is deleted", node.lineno)

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
        value = self.value(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node), scope)
        kept = self.value(node.target, scope)
        spoil(kept if isinstance(kept, Opaque) else None)
        if isinstance(kept, Tensor) and not isinstance(node.op, ast.MatMult):
            if isinstance(value, Tensor):
                write(kept, value)
                value = kept
            else:
                spoil(kept)
        elif isinstance(kept, (list, dict, set)) and type(value) is type(kept):
            value = self.put_in(kept, value)  # += also changes the values of other names
        self.assign(node.target, value, scope)

    @staticmethod
    def put_in(kept: Any, value: Any) -> Any:
        if isinstance(kept, list):
            kept[:] = value
        else:
            kept.clear()
            kept.update(value)
        return kept

    def do_If(self, node: ast.If, scope: Scope) -> None:
        self.run(node.body if self.truth(node.test, scope) else node.orelse, scope)

    def do_With(self, node: ast.With, scope: Scope) -> None:
        for item in node.items:
            made = item.context_expr
            at = made.func if isinstance(made, ast.Call) else made
            name = getattr(self.value(at, scope), "name", "")
            if "autocast" in name:
                raise CannotTell("autocast, which chooses types", node.lineno)
            if name not in CONTEXTS:
                raise CannotTell(f"a 'with {ast.unparse(at)[:40]}'", node.lineno)
            if isinstance(made, ast.Call):
                self.sequence([*made.args, *(word.value for word in made.keywords)], scope)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, Opaque("the value of 'with'", node.lineno), scope)
        self.run(node.body, scope)

    def goes_on(self, body: List[ast.stmt], scope: Scope) -> bool:
        """Run a loop's body once; whether the loop goes on."""
        try:
            self.run(body, scope)
        except Continued:
            pass
        except Broken:
            return False
        return True

    def do_For(self, node: ast.For, scope: Scope) -> None:
        for item in self.items(self.value(node.iter, scope), node):
            self.count(node)
            self.assign(node.target, item, scope)
            if not self.goes_on(node.body, scope):
                return
        self.run(node.orelse, scope)

    def do_While(self, node: ast.While, scope: Scope) -> None:
        while self.truth(node.test, scope):
            self.count(node)
            if not self.goes_on(node.body, scope):
                return
        self.run(node.orelse, scope)

    def do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        made = self.function(node, scope)
        for decorator in node.decorator_list:
            at = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = getattr(self.value(at, scope), "name", "")
            if name in METHODS:
                made.kind = name[9:]
            elif name not in DECORATORS:
                raise CannotTell(f"a decorator '{ast.unparse(at)[:40]}'", node.lineno)
        scope.names[node.name] = made

    def do_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        if node.decorator_list or node.keywords:
            raise CannotTell(f"a class with a {'decorator' if node.decorator_list else 'metaclass'}", node.lineno)
        made = Class(node, [self.value(base, scope) for base in node.bases], scope)
        inner = Scope(scope, owner=made)
        self.run(node.body, inner)
        special = [name for name in SPECIAL if name in inner.names]
        if special:
            raise CannotTell(f"a class with {special[0]}", node.lineno)
        made.values = inner.names
        for value in made.values.values():
            if isinstance(value, Function) and value.owner is None:
                value.owner, value.scope = made, scope
        scope.names[node.name] = made

    def assign(self, target: Any, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.spread(target, value, scope)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.value(target.value, scope), target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value, scope)
            key = self.value(target.slice, scope)
            if isinstance(owner, (list, dict)) and isinstance(key, Opaque):
                raise CannotTell(f"a store at {key.why}", target.lineno)
            if isinstance(owner, (list, dict)):
                owner[key] = value
            elif isinstance(owner, (Tensor, Opaque)):
                spoil(owner)
            elif isinstance(owner, Path):
                self.check_setting(owner, target)
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
        parts = [part if isinstance(part, ast.Constant) else part.value for part in node.values]
        plain = all(isinstance(p, ast.Constant) or (p.conversion == -1 and p.format_spec is None) for p in node.values)
        values = [self.value(part, scope) for part in parts]
        if not plain or not all(isinstance(value, (int, float, str)) for value in values):
            return Opaque("a text", node.lineno)
        return "".join(str(value) for value in values)

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


def conditions(node: Any) -> List[Any]:
    """Returns the parts of a condition."""
    inner = node.values if isinstance(node, ast.BoolOp) else []
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = [node.operand]
    return [part for one in inner for part in conditions(one)] or [node]
