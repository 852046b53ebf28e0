"""Reads a task in KernelBench's format and prints its attention, as JSON on stdout.

    read_task.py read [FD]      {"class": ..., "reason": ..., "attention": [...], "beside": [...]}
    read_task.py batch [FD]     {"answers": [...]}: those of several tasks, each preceded by its number of bytes
                                and a newline
    read_task.py rewrite [FD]   {"model": ...}: the task's model as ModelNew, whose attention calls heed_attention()

The task is read from the file descriptor FD [default: 0].

The task is parsed and interpreted (interpret.py), never run. heed starts this in a sandbox (lab/suite/read.c).
"""

import ast
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from abstract import CannotTell, Opaque, Storage, Tensor, dense, like, same_view  # noqa: E402
from attention import Notebook  # noqa: E402
from interpret import Interpreter  # noqa: E402
from objects import Class, Function, Instance  # noqa: E402
from operations import Library  # noqa: E402
from rewrite import rewrite  # noqa: E402

HINTS = ("softmax", "attention", "transformer", "from_pretrained", "bert", "gpt")
TEXT_MAX = 1 << 20


class NoTask(CannotTell):
    """The file is not a task."""


def words_of(tree):
    """Yields the names that a program uses, without words in strings and comments."""
    for node in ast.walk(tree):
        yield from (getattr(node, field) for field in ("id", "attr") if isinstance(getattr(node, field, None), str))
        if isinstance(node, ast.alias):
            yield node.name


def hint_of(tree):
    """Returns a name that suggests attention, or None."""
    return next((w for w in words_of(tree) if any(h in w.lower() for h in HINTS)), None)


def follow(tree):
    """Builds the model and calls it; returns the notebook, and the reason if this failed."""
    library = Library()
    interpreter = Interpreter(library)
    top = interpreter.top
    try:
        interpreter.run(tree.body, top)
        missing = [name for name in ("Model", "get_inputs", "get_init_inputs") if name not in top.names]
        if missing:
            return library.book, NoTask(f"it has no {missing[0]}")
        given = interpreter.enter(top.names["get_init_inputs"], [], {}, None)
        inputs = interpreter.enter(top.names["get_inputs"], [], {}, None)
        if not isinstance(top.names["Model"], Class) or not isinstance(inputs, (list, tuple)):
            return library.book, CannotTell("Model is no class, or get_inputs() returns no list")
        model = interpreter.create(top.names["Model"], list(given or []), {})
        library.book.init, library.book.inputs = given, as_given(inputs)
        library.book.result = run_model(interpreter, model, library.book.inputs)
        check_again(library, interpreter, model, inputs)
    except CannotTell as error:
        error.line = error.line or interpreter.line
        return library.book, error
    except RecursionError:
        return library.book, CannotTell("it is nested too deep", interpreter.line)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return library.book, CannotTell(f"a step that is not known ({type(error).__name__}: {error})", interpreter.line)
    return library.book, None


def check_again(library, interpreter, model, inputs):
    """Calls the model again: one that counts its calls may compute another attention."""
    book, interpreter.steps = library.book, 0
    library.book = library.attention.book = Notebook(inputs=as_given(inputs))
    try:
        run_model(interpreter, model, library.book.inputs)
    finally:
        again, library.book, library.attention.book = library.book, book, book
    specs, specs_again = ([found.spec(found.scale) for found in one.found] for one in (book, again))
    if specs != specs_again:
        for found in book.found:
            found.unfit.append("its second call has other attention")


def as_given(inputs):
    """Returns the inputs for the model: separate tensors of unknown elements."""
    plain_kinds = (int, float, bool, str, list, tuple)
    return [
        like(x, factor=1.0, fact=None, learned=False, origin="an input", storage=Storage())
        if isinstance(x, Tensor)
        else x if isinstance(x, plain_kinds) else Opaque("an input")
        for x in inputs
    ]


def run_model(interpreter, model, inputs):
    if not isinstance(model, Instance):
        raise CannotTell("Model is no module")
    forward = model.of.find("forward")
    if not isinstance(forward, Function):
        raise CannotTell("Model has no forward()")
    return interpreter.enter(forward, list(inputs), {}, model)


def reason_of(book, error, hint):
    """Returns the class of a task without attention, and the reason."""
    if book.outside:
        what, line = book.outside
        return "outside", f"{where(line)}its model is that of {what}: its attention is not in the file"
    if book.opaque:
        what, line = book.opaque[0]
        return "unread", f"{where(line)}attention may be in {what}, which cannot be followed"
    if error and (hint or book.softmaxes):
        return "unread", f"{where(error.line)}{error.what}"
    if book.open:
        what, line = next(iter(book.open.values()))
        return "unread", f"{where(line)}it has {what}, and what becomes of it was not followed"
    if book.handed and hint:
        what, line = book.handed[0]
        return "unread", f"{where(line)}attention may be in a function that {what} calls"
    if book.stand_ins:
        return "none", book.stand_ins[0]
    if book.softmaxes:
        return "none", book.softmaxes[0]
    if hint:
        return "none", f"it names {hint}, and computes no softmax of products of two tensors"
    return "none", "it has no softmax, and names no attention"


def where(line):
    return f"line {line}: " if line else ""


def describe_found(found):
    return {
        "spec": found.spec(found.scale),
        "call": found.spec(found.rewrite.scale),
        "how": found.how,
        "line": found.line,
        "layers": 1,
        "unfit": found.unfit,
        "notes": found.notes,
        "operations": found.operations,
    }


def merged(attentions):
    """Merges equal attentions of several layers."""
    made = []
    for one in attentions:
        same = [m for m in made if all(m[k] == one[k] for k in ("spec", "call", "how", "line", "unfit", "notes"))]
        if same:
            same[0]["layers"] += 1
            same[0]["operations"] += one["operations"]
        else:
            made.append(one)
    return made


def beside_of(book):
    return [
        {"kind": kind, "count": int(number), "operations": operations}
        for kind, (number, operations) in sorted(book.work.items())
    ]


def is_whole(book):
    """Returns whether the task is only attention of its inputs Q, K and V, [batch, heads, sequence, dim]: it returns
    the very tensor that attention made of them, and writes to nothing."""
    inputs = book.inputs or []
    if len(book.found) != 1 or len(inputs) != 3 or not all(isinstance(x, Tensor) for x in inputs):
        return False
    found = book.found[0]
    wanted = [
        (found.batch, found.heads_q, found.seq_q, found.dim_qk),
        (found.batch, found.heads_kv, found.seq_k, found.dim_qk),
        (found.batch, found.heads_kv, found.seq_k, found.dim_v),
    ]
    made = book.result
    beside = book.work or book.opaque or book.handed or book.open or book.kept or found.unfit or found.rounded
    return (
        not beside
        and [x.shape for x in inputs] == wanted
        and all(x.strides == dense(x.shape) and x.storage.version == 0 for x in inputs)
        and all(same_view(x, given) for x, given in zip(inputs, found.given))
        and isinstance(made, Tensor)
        and made is found.made
        and made.storage.version == 0
        and made.shape == (found.batch, found.heads_q, found.seq_q, found.dim_v)
    )


def shapes_of(inputs):
    """Returns the shapes of the inputs if all are float32 tensors; else None."""
    if not inputs or not all(isinstance(x, Tensor) and x.dtype == "f32" for x in inputs):
        return None
    return [list(x.shape) for x in inputs]


def plain(values):
    """Returns the arguments of Model if JSON can express them; else None."""
    try:
        return json.loads(json.dumps(values))
    except (TypeError, ValueError):
        return None


def read(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return {"class": "damaged", "reason": f"line {getattr(error, 'lineno', 0)}: {getattr(error, 'msg', error)}"}
    except (RecursionError, MemoryError):
        return {"class": "damaged", "reason": "it is nested too deep"}
    book, error = follow(tree)
    book.settle()
    if isinstance(error, NoTask):
        return {"class": "damaged", "reason": error.what}
    if not book.found:
        kind, reason = reason_of(book, error, hint_of(tree))
        return {"class": kind, "reason": reason, "attention": [], "beside": beside_of(book)}
    attention = merged([describe_found(found) for found in book.found])
    unfit = [words for found in attention for words in found["unfit"]]
    whole = "" if error is None else f"followed as far as {where(error.line)}{error.what}"
    return {
        "class": "unfit" if unfit and all(f["unfit"] for f in attention) else "attention",
        "reason": "; ".join(dict.fromkeys(unfit)) or whole,
        "attention": attention,
        "beside": beside_of(book),
        "whole": is_whole(book),
        "init": plain(book.init),
        "inputs": shapes_of(book.inputs),
        "output": list(book.result.shape) if isinstance(book.result, Tensor) else None,
    }


def answer_of(way, data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if len(data) > TEXT_MAX or "\0" in text:
        return {"class": "damaged", "reason": "it is no text in UTF-8 of at most 1 MiB"}
    if way != "rewrite":
        return read(text)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return {"refused": f"it is no Python: {error}"}
    return rewrite(tree, *follow(tree))


def batch_of(data):
    answers, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        size = int(data[at:end])
        answers.append(answer_of("read", data[end + 1 : end + 1 + size]))
        at = end + 1 + size
    return {"answers": answers}


def main():
    sys.setrecursionlimit(8000)
    way, fd = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with open(fd, "rb") as file:
        data = file.read()
    json.dump(batch_of(data) if way == "batch" else answer_of(way, data), sys.stdout)


if __name__ == "__main__":
    main()
