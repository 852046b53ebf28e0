"""The words of a problem (docs/features.md) in PyTorch: functions of index tensors for FlexAttention, and explicit
masks for scaled_dot_product_attention.

    words = Words(torch, problem, device)
    words.logit(s, batch, head, query, key)     softcap, bias, ALiBi and score, in heed's order
    words.seen(batch, head, query, key)         whether a query sees a key
    words.mask(dtype, numbers)                  both as one mask, where logits only get addends

Indices are tensors of one element, as FlexAttention has them, or grids that broadcast.
"""

import math
import pathlib
import re

import peer

# Words that only hide keys, and words that only add to logits: an explicit mask can express them.
HIDING = frozenset({"window", "chunk", "align", "starts", "shown", "lengths", "visible", "array"})
ADDING = frozenset({"bias", "alibi"})

SIZES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8, "bytes": 1, "bits": 4}


class Words:
    def __init__(self, torch, problem, device):
        self.torch, self.problem, self.device = torch, problem, device
        said = peer.spec_words(problem)
        self.softcap = float(said["softcap"]) if "softcap" in said else None
        self.chunk = int(said["chunk"]) if "chunk" in said else None
        left, _, right = said.get("window", ":").partition(":")
        self.left, self.right = (int(side) if side else None for side in (left, right))
        below = problem.mask == "causal=br" or said.get("align") == "br"
        self.ahead = problem.seq_k - problem.seq_q if below else 0
        self.below, self.queries = below, problem.seq_q
        self.causal = problem.mask != "none"
        if self.causal:
            self.right = 0 if self.right is None else min(self.right, 0)
        self.operands, self.kinds, arrays = {}, {}, {}
        for row in getattr(problem, "operands", []):
            name = row.get("array", row["name"])
            tensor = self.read(row)
            if "array" in row:
                arrays[name] = tensor
            else:
                self.operands[name], self.kinds[name] = tensor, row["type"]
        known = {"heads": problem.heads_q, "queries": problem.seq_q, "keys": problem.seq_k}
        self.score = compiled(torch, said.get("score"), known, arrays)
        self.visible = compiled(torch, said.get("visible"), known, arrays)
        self.said = set(said)

    def read(self, row):
        torch, kind = self.torch, row["type"]
        types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        types.update({"i32": torch.int32, "i64": torch.int64, "bytes": torch.uint8, "bits": torch.int32})
        data = bytearray(pathlib.Path(row["file"]).read_bytes())
        if len(data) != math.prod(row["shape"]) * SIZES[kind]:
            raise ValueError(f"{row['name']} has {len(data)} bytes, and the shape {row['shape']}")
        return torch.frombuffer(data, dtype=types[kind]).reshape(row["shape"]).to(self.device)

    def at(self, name, *place):
        """Returns an operand's element for [batch, head, query, key], indexed by the dimensions along which it
        varies."""
        tensor = self.operands[name]
        along = [i for i, size in enumerate(tensor.shape) if size > 1]
        return tensor.squeeze()[tuple(place[i] for i in along)] if along else tensor.reshape(())

    def position(self, batch, query):
        """Returns the position of a query among the keys."""
        if self.below and "lengths" in self.operands:
            return query + self.at("lengths", batch, 0, query, 0) - self.queries
        return query + self.ahead

    def logit(self, s, batch, head, query, key):
        """Returns the changed logit s, in heed's order of steps."""
        if self.softcap:
            s = self.softcap * self.torch.tanh(s / self.softcap)
        s = s + self.addend(batch, head, query, key)
        if self.score:
            s = self.score(s=s, q=query, k=key, p=self.position(batch, query), head=head, batch=batch)
        return s

    def addend(self, batch, head, query, key):
        more = 0
        if "bias" in self.operands:
            more = more + self.at("bias", batch, head, query, key)
        if "slopes" in self.operands:
            slope = self.at("slopes", batch, head, query, key)
            more = more - slope * abs(self.position(batch, query) - key)
        return more

    def shown(self, *place):
        if self.kinds["shown"] != "bits":
            return self.at("shown", *place) != 0
        batch, head, query, key = place
        return (self.at("shown", batch, head, query, key // 32) >> key % 32) & 1 != 0

    def seen(self, batch, head, query, key):
        """Returns whether all words show the key; None if no word hides keys."""
        p = self.position(batch, query)
        tests = []
        if self.left is not None:
            tests.append(key >= p - self.left)
        if self.right is not None:
            tests.append(key <= p + self.right)
        if self.chunk:
            divide = self.torch.div
            rows, columns = (divide(x, self.chunk, rounding_mode="floor") for x in (p, key))
            tests.append(rows == columns)
        if "starts" in self.operands:
            tests.append(key >= self.at("starts", batch, head, query, key))
        if "lengths" in self.operands:
            tests.append(key < self.at("lengths", batch, head, query, key))
        if "shown" in self.operands:
            tests.append(self.shown(batch, head, query, key))
        if self.visible:
            tests.append(self.visible(q=query, k=key, p=p, head=head, batch=batch))
        seen = None
        for test in tests:
            seen = test if seen is None else seen & test
        return seen

    def hides(self):
        sides = (self.left, self.right) != (None, None)
        return bool(sides or self.chunk or self.visible or {"starts", "shown", "lengths"} & set(self.operands))

    def changes_logits(self):
        return bool(self.softcap or self.score or {"bias", "slopes"} & set(self.operands))

    def mask(self, dtype, numbers=False):
        """The words as attn_mask: None, of bool, or of numbers. A bias of the problem's own type
        stays one; all else is float32, as the products are.

        With @numbers it is of numbers of @dtype in any case. That is what PyTorch's fused kernels
        read: "efficient" refuses another type, and "cudnn" reads its bytes as if they were of
        @dtype (pytorch pull request 191612). Out of a mask of bool they make numbers in every
        call, which for "cudnn" are finite in some versions, so that rows that see no key come out
        as if they saw all (pytorch issue 177842)."""
        torch, problem = self.torch, self.problem
        sizes = (problem.batch, problem.heads_q, problem.seq_q, problem.seq_k)
        grid = [torch.arange(n, device=self.device) for n in sizes]
        grid = [x.reshape([-1 if i == j else 1 for j in range(4)]) for i, x in enumerate(grid)]
        seen = self.seen(*grid)
        if seen is None and not self.changes_logits():
            return None
        if not self.changes_logits() and not numbers:
            return whole(torch, seen, problem)
        added = self.addend(*grid)
        if numbers:
            added = added.to(dtype) if self.changes_logits() else torch.zeros(1, dtype=dtype, device=self.device)
        elif "slopes" in self.operands or added.dtype != dtype:
            added = added.float()
        if seen is not None:
            added = torch.where(seen, added, torch.tensor(-math.inf, dtype=added.dtype, device=self.device))
        return whole(torch, added, problem)


def whole(torch, mask, problem):
    """Returns a mask of four dimensions with the last two complete, as kernels require."""
    shape = torch.broadcast_shapes(mask.shape, (1, 1, problem.seq_q, problem.seq_k))
    return mask.expand(shape).contiguous()


# ---- Expressions: from their text to Python's, evaluated with the functions below ----

TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\w+|//|<=|>=|==|!=|&&|\|\||.)")
LEVELS = [["||"], ["&&"], ["==", "!=", "<=", ">=", "<", ">"], ["+", "-"], ["*", "//", "/", "%"]]
SIGNS = {"||": "|", "&&": "&"}


class Reader:
    def __init__(self, text):
        self.tokens, self.next = TOKEN.findall(text), 0

    def peek(self):
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def take(self):
        self.next += 1
        return self.tokens[self.next - 1]

    def choice(self):
        condition = self.level(0)
        if self.peek() != "?":
            return condition
        self.take()
        first = self.choice()
        self.take()  # the colon
        return f"f.select({condition}, {first}, {self.choice()})"

    def level(self, n):
        if n == len(LEVELS):
            return self.unary()
        value = self.level(n + 1)
        while self.peek() in LEVELS[n]:
            sign = self.take()
            other = self.level(n + 1)
            value = (
                f"f.{'quotient' if sign == '//' else 'rest'}({value}, {other})"
                if sign in ("//", "%")
                else f"({value} {SIGNS.get(sign, sign)} {other})"
            )
        return value

    def unary(self):
        if self.peek() in ("-", "!"):
            sign = self.take()
            return f"(-{self.unary()})" if sign == "-" else f"({self.unary()} ^ True)"
        return self.primary()

    def primary(self):
        word = self.take()
        if word == "(":
            value = self.choice()
            self.take()
            return f"({value})"
        if self.peek() == "(":
            return f"f.{word}_({', '.join(self.several(')'))})"
        if self.peek() == "[":
            return f"f.at({word!r}, {', '.join(self.several(']'))})"
        return {"true": "True", "false": "False"}.get(word, word)

    def several(self, end):
        self.take()
        values = [self.choice()]
        while self.peek() == ",":
            self.take()
            values.append(self.choice())
        if self.take() != end:
            raise ValueError(f"'{end}' expected")
        return values


class Functions:
    """Operations of expressions that differ from Python's own."""

    def __init__(self, torch, arrays):
        self.torch, self.arrays = torch, arrays
        for name in ("exp", "log", "tanh", "sqrt", "floor"):
            setattr(self, name + "_", self.float_function(name))

    def float_function(self, name):
        torch = self.torch
        return lambda x: getattr(torch, name)(self.float_(x)) if self.is_tensor(x) else getattr(math, name)(x)

    def is_tensor(self, x):
        return isinstance(x, self.torch.Tensor)

    def select(self, condition, a, b):
        if self.is_tensor(condition):
            return self.torch.where(condition, a, b)
        return a if condition else b

    def quotient(self, a, b):
        if not self.is_tensor(b):
            return a // b if b else 0
        return self.torch.where(b == 0, 0, a // self.torch.where(b == 0, 1, b))

    def rest(self, a, b):
        if not self.is_tensor(b):
            return a % b if b else 0
        return self.torch.where(b == 0, 0, a % self.torch.where(b == 0, 1, b))

    def abs_(self, x):
        return abs(x)

    def min_(self, a, b):
        return self.select(a < b, a, b)

    def max_(self, a, b):
        return self.select(a > b, a, b)

    def float_(self, x):
        return x.to(self.torch.float32) if self.is_tensor(x) else float(x)

    def int_(self, x):
        return x.to(self.torch.int32) if self.is_tensor(x) else int(x)

    def at(self, name, *indices):
        array = self.arrays[name]
        if not any(map(self.is_tensor, indices)):
            return array[tuple(min(max(i, 0), n - 1) for i, n in zip(indices, array.shape))]
        place = [
            i.clamp(0, n - 1) if self.is_tensor(i) else min(max(i, 0), n - 1)
            for i, n in zip(indices, array.shape)
        ]
        return array[tuple(place)]


def compiled(torch, text, known, arrays):
    """Returns the function of an expression, with the names of the language as arguments; None for an empty text."""
    if text is None:
        return None
    reader = Reader(text.strip('"'))
    source = reader.choice()
    if reader.peek() is not None:
        raise ValueError(f"'{reader.peek()}' is not expected in an expression")
    # It contains only names of the language: heed has checked the text.
    place = {"f": Functions(torch, arrays), "__builtins__": {}, **known}
    return eval(f"lambda q, k, p, head, batch, s=None: {source}", place)
