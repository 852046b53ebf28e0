"""Rewrites a task's model as a solution: the same modules and parameters, with calls of heed instead of its attention.

Calls are heed_attention(q, k, v, causal, scale) of [batch, heads, sequence, dim], and heed_multihead(module, x) for
nn.MultiheadAttention of one tensor. Comments and docstrings are left out, since a check of the suite searches for
words.
"""

import ast

from abstract import Tensor

ATTEND, MULTIHEAD = "heed_attention", "heed_multihead"
LEFT_OUT = ("get_inputs", "get_init_inputs")


class Refusal(Exception):
    pass


def rewrite(tree, book, error):
    try:
        return {"model": rewritten(tree, book, error)}
    except Refusal as refusal:
        return {"refused": str(refusal)}


def rewritten(tree, book, error):
    if error is not None:
        raise Refusal(f"line {error.line}: {error.what}")
    if not book.found:
        raise Refusal("there is no attention in it")
    todo = {}
    if not has_tensors_alone(book.result):
        raise Refusal("its result is not followed: something else than attention's output is in it")
    for found in book.found:
        if found.unfit:
            raise Refusal(f"line {found.line}: {found.unfit[0]}")
        if found.rewrite.refusal:
            raise Refusal(f"line {found.line}: {found.rewrite.refusal}")
        check_alike(todo.setdefault(id(found.rewrite.node), found.rewrite), found)
    for node in book.plain:
        if id(node) in todo:
            raise Refusal(f"line {node.lineno}: it is attention in one call, and something else in another")
    for change in todo.values():
        if change.kind == "product":
            check_names(change)
    made = Replace(todo).visit(tree)
    for change in todo.values():
        if change.kind == "product":
            drop_dead(change.frame.node)
    keep_model(made)
    ast.fix_missing_locations(made)
    return ast.unparse(made) + "\n"


def has_tensors_alone(result):
    if isinstance(result, (list, tuple)):
        return all(has_tensors_alone(x) for x in result)
    return isinstance(result, (Tensor, int, float, type(None)))


def check_alike(first, found):
    """Requires that one place of the file is the same attention in each call."""
    now = found.rewrite
    if (first.causal, first.scale, first.kind, first.rank) != (now.causal, now.scale, now.kind, now.rank):
        raise Refusal(f"line {found.line}: it has another scale or mask in each call")


class Replace(ast.NodeTransformer):
    """Replaces attention with calls, and Model with ModelNew, and removes docstrings."""

    def __init__(self, todo):
        self.todo = todo

    def visit(self, node):
        change = self.todo.get(id(node))
        if change is not None:
            return ast.copy_location(call_of(change), node)
        return super().visit(node)

    def visit_Name(self, node):
        return ast.copy_location(ast.Name("ModelNew", node.ctx), node) if node.id == "Model" else node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        node.name = "ModelNew" if node.name == "Model" else node.name
        node.body = without_text(node.body)
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.body = without_text(node.body)
        return node

    def visit_Pass(self, node):
        return ast.copy_location(ast.Expr(ast.Constant(...)), node)  # the same with another method


def without_text(body):
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:] or [ast.Return(None)]
    return body


def call_of(change):
    if change.kind == "module":
        return ast.Call(ast.Name(MULTIHEAD, ast.Load()), [change.node.func, arguments_of(change.node)[0]], [])
    if change.kind == "sdpa":
        parts = arguments_of(change.node)
    else:
        q, k, v = change.parts
        turned = ast.Call(ast.Attribute(k, "transpose", ast.Load()), [ast.UnaryOp(ast.USub(), ast.Constant(2)),
                          ast.UnaryOp(ast.USub(), ast.Constant(1))], [])
        parts = [q, untransposed(k) or turned, v]
    if change.rank == 3:  # without heads
        parts = [method_call(part, "unsqueeze") for part in parts]
    settings = [ast.Constant(change.causal), ast.Constant(change.scale)]
    made = ast.Call(ast.Name(ATTEND, ast.Load()), [*parts, *settings], [])
    return method_call(made, "squeeze") if change.rank == 3 else made


def arguments_of(node):
    """Returns the expressions of queries, keys and values."""
    names = ("query", "key", "value")
    named = dict(zip(names, node.args))
    named.update({w.arg: w.value for w in node.keywords})
    if any(isinstance(x, ast.Starred) for x in node.args) or not set(names) <= set(named):
        raise Refusal(f"line {node.lineno}: its arguments are not written out")
    return [named[name] for name in names]


def method_call(node, name):
    return ast.Call(ast.Attribute(node, name, ast.Load()), [ast.Constant(1)], [])


def untransposed(k):
    """Returns x of x.transpose(-2, -1)."""
    if isinstance(k, ast.Call) and isinstance(k.func, ast.Attribute) and k.func.attr == "transpose":
        try:
            dims = sorted(ast.literal_eval(a) for a in k.args)
        except ValueError:
            return None
        return k.func.value if dims == [-2, -1] else None
    return None


def names_in(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def assigned(node):
    """Returns names that are assigned to, or whose members or items are."""
    made = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            made.add(n.id)
        elif isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store):
            made |= names_in(n.value)
    return made


def has(statements, part):
    return any(n is part for s in statements for n in ast.walk(s))


def block_of(body, parts):
    """Returns the innermost list of statements with all the parts, and the indices of the statements that have them."""
    while True:
        at = [next((i for i, s in enumerate(body) if has([s], part)), None) for part in parts]
        if None in at:
            raise Refusal("its products stand in blocks of their own")
        inner = [getattr(body[at[0]], name, []) for name in ("body", "orelse")]
        deeper = [b for b in inner if isinstance(b, list) and all(has(b, part) for part in parts)]
        if not deeper:
            return body, at
        body = deeper[0]


def has_effect(node):
    """Returns whether an expression has side effects. Names of methods that work in place end in "_"."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [getattr(n.func, "attr", getattr(n.func, "id", "")) for n in calls]
    return any(name.endswith("_") and name != "requires_grad_" for name in names) or any(
        w.arg in ("inplace", "out") for n in calls for w in n.keywords)


def check_names(change):
    """Requires that queries and keys have not changed since they were multiplied."""
    q, k, _ = change.parts
    body = change.frame.node.body
    if not isinstance(body, list):
        raise Refusal("its attention is in a lambda")
    body, (begin, end) = block_of(body, (q, change.node))
    wanted = names_in(q) | names_in(k)
    if begin > end:
        raise Refusal(f"line {body[begin].lineno}: its products are those of two rounds of a loop")
    for statement in body[begin:end]:
        if assigned(statement) & wanted:
            raise Refusal(f"line {statement.lineno}: its queries or keys get another value between the products")


def drop_dead(function):
    """Removes assignments to names that are no longer read, the last ones first."""
    live, kept = set(), []
    for statement in reversed(function.body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if isinstance(target, ast.Name) and target.id not in live and not has_effect(statement.value):
            continue
        if isinstance(target, ast.Name):
            live.discard(target.id)
        live |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign):
            live |= names_in(statement.target)
        kept.append(statement)
    function.body[:] = reversed(kept)


def keep_model(tree):
    """Keeps the imports, classes, functions and constants that the model needs."""
    body = [s for s in tree.body if not (isinstance(s, ast.FunctionDef) and s.name in LEFT_OUT)]
    read = set()
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            read |= names_in(statement)
    for statement in reversed([s for s in body if isinstance(s, ast.Assign)]):
        if assigned(statement) & read:
            read |= names_in(statement)
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)
    tree.body = [s for s in body if isinstance(s, kinds) or isinstance(s, ast.Assign) and assigned(s) & read]
