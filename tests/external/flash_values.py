"""The cases of FlashAttention's grids as problems of heed: values, files for `heed run`, what is right.

A case has sequences, each with queries and keys of its own. In files they are dense, [batch, seq, heads, dim], packed
one after another, or, keys alone, in pages. All that a sequence does not show is NaN: keys behind its length and ahead
of its left pad, and pages that no sequence has.
"""

import itertools
import math
import random

import script

try:
    import numpy as np
    from halves import loaded, rounded as in_type, stored
except ImportError as error:
    script.skip(error)


class Sequences:
    """How many queries and keys each sequence has."""

    def __init__(self, batch, queries, keys):
        self.queries = [queries] * batch
        self.stored = [keys] * batch  # keys in memory,
        self.used = [keys] * batch  # of which these are seen,
        self.pad = [0] * batch  # from this one on
        self.packed_q = self.packed_k = False
        self.page = None

    @classmethod
    def packed(cls, batch, queries, keys, draw, case):
        """Sequences nearly as long as the longest."""
        new = cls(batch, queries, keys)
        near = lambda most, least=1: [draw.randint(max(least, most - 20), most) for _ in range(batch)]
        new.packed_q = new.packed_k = True
        new.queries, new.stored = near(queries), near(keys)
        if case.get("same"):  # one packed tensor of all three
            new.stored = list(new.queries)
        if "add_unused_qkv" in case:  # FlashAttention-3: some sequences without keys
            new.stored = [0 if b % 5 == 0 or b == batch - 1 else n for b, n in enumerate(new.stored)]
        new.used = list(new.stored)
        if case.get("add_unused_qkv"):
            another_q, another_k = near(queries), near(keys)
            new.queries = [min(pair) for pair in zip(new.queries, another_q)]
            new.used = [min(pair) for pair in zip(new.stored, another_k)]
            new.stored = [max(pair) for pair in zip(new.stored, another_k)]
        if case.get("paged_kv_block_size"):
            new.page, new.packed_k = case["paged_kv_block_size"], False
            new.stored = [keys] * batch
        return new

    @classmethod
    def cached(cls, batch, queries, keys, draw, case):
        """A few queries beside caches that are filled in part."""
        new = cls(batch, queries, keys)
        new.page = case.get("paged_kv_block_size", case.get("page_size"))
        new.used = [draw.randint(1, keys) for _ in range(batch)]
        if case["has_leftpad"]:
            new.pad = [draw.randrange(n) for n in new.used]
        if case.get("varlen_q"):
            new.packed_q = True
            new.queries = [draw.randint(max(1, queries - 20), queries) for _ in range(batch)]
        return new

    def ranges(self):
        """For each sequence its first query of all, the next one's, and its keys."""
        ends = list(itertools.accumulate(self.queries, initial=0))
        return [(ends[b], ends[b + 1], slice(self.pad[b], n)) for b, n in enumerate(self.used)]


class Case:
    """A problem, with its values."""

    def __init__(self, suite, grid, case):
        draw = random.Random(repr(sorted((k, v) for k, v in case.items() if v is not None)))
        self.kind = case["dtype"]
        queries, keys = case.get("seqlen_q", case.get("seqlen")), case.get("seqlen_k", case.get("seqlen"))
        if case.get("swap_sq_sk"):
            queries, keys = keys, queries
        self.longest = (queries, keys)
        self.softcap = case.get("softcap", 0.0)
        self.causal = case.get("causal", grid.endswith("causal"))
        self.dim, self.dim_v = case["d"], case.get("dv", case["d"])
        self.heads, self.batch = suite.heads(grid, self), suite.batch(grid, self)
        few = suite.few_heads(grid)
        self.heads_kv = {"mha": self.heads, "gqa": few, "mqa": 1}[case.get("mha_type", "mha")]
        self.qv = case.get("has_qv", False)
        self.window = [draw.randrange(keys) for _ in range(2)] if case.get("local") else [-1, -1]
        if self.causal:
            self.window[1] = 0
        self.chunk = draw.randrange(1, 2 * keys) if case.get("attention_chunk") else 0
        self.slopes = case.get("alibi", False)
        self.rate, self.slack, self.rate_of_means = suite.rule(grid, self)
        make = {"dense": lambda b, n, m, *_: Sequences(b, n, m), "varlen": Sequences.packed, "cache": Sequences.cached}
        self.of = make[suite.layout(grid)](self.batch, queries, keys, draw, dict(case, same="qkvpacked" in grid))
        self.wide = draw.random() < 0.5  # cumulative lengths of 64 bits
        self.seed = draw.randrange(2**32)

    def words(self):
        sides = ["" if side < 0 else str(side) for side in self.window]
        dense = not self.of.packed_q and self.of.used == self.of.stored
        words = ["align=br"] if not dense or self.longest[0] != self.longest[1] else []
        words += [f"window={sides[0]}:{sides[1]}"] if any(sides) else []
        if self.chunk and any(self.of.pad):  # chunks are counted from the first key that is shown
            words += [f"visible=(k-first[batch])//{self.chunk}==(p-first[batch])//{self.chunk}"]
        elif self.chunk:
            words += [f"chunk={self.chunk}"]
        words += [f"softcap={self.softcap:g}"] if self.softcap else []
        return " ".join(words)

    def values(self, suite):
        """Returns Q [tokens, heads, dim], lists of K and V of each sequence, and slopes; float32 of elements of the
        type. With qv, q.k + qv.v is one product of longer vectors, of which those of V come first."""
        draw = np.random.default_rng(self.seed)
        normal = lambda *shape: draw.standard_normal(shape, np.float32)
        tokens = sum(self.of.queries)
        q = in_type(normal(tokens, self.heads, self.dim), self.kind)
        if self.softcap:
            q = in_type(q * self.softcap * suite.cap_factor, self.kind)
        k, v = ([in_type(normal(n, self.heads_kv, dim), self.kind) for n in self.of.stored] for dim in (self.dim, self.dim_v))
        if self.qv:
            q = np.concatenate([in_type(normal(tokens, self.heads, self.dim_v), self.kind), q], axis=-1)
            k = [np.concatenate(pair, axis=-1) for pair in zip(v, k)]
        for x, n, pad in zip(k + v, self.of.used * 2, self.of.pad * 2):
            x[n:] = x[:pad] = np.nan
        slopes = draw.random((self.batch, self.heads), np.float32) * np.float32(0.3) if self.slopes else None
        return q, k, v, slopes

    def places(self, queries, keys):
        """p of each query, and the numbers of the keys."""
        return np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None, :]

    def hidden(self, queries, keys):
        """Returns which keys are hidden, [queries, keys]."""
        at, j = self.places(queries, keys)
        hidden = np.zeros((queries, keys), bool)
        if self.window[0] >= 0:
            hidden |= j < at - self.window[0]
        if self.window[1] >= 0:
            hidden |= j > at + self.window[1]
        if self.chunk:
            hidden |= j // self.chunk != at // self.chunk
        return hidden

    def attend(self, q, k, v, slope, hidden, exact):
        """Returns O of one head: in float64, or with each step rounded to the type."""
        step = (lambda x: x.astype(np.float64)) if exact else (lambda x: in_type(x, self.kind))
        scale = 1 / math.sqrt(q.shape[-1])
        s = step(step(q) @ step(step(k) * (scale if exact else np.float32(scale))).T)
        if self.softcap:
            s = step(step(np.tanh(step(s / self.softcap))) * self.softcap)
        if slope is not None:
            at, j = self.places(*hidden.shape)
            s = step(s + step(-slope * np.abs(at - j).astype(s.dtype)))
        s = np.where(hidden, -np.inf, s)
        top = s.max(axis=-1, keepdims=True, initial=-np.inf)
        p = np.exp(s - np.where(np.isfinite(top), top, 0))
        total = p.sum(axis=-1, keepdims=True)
        return step(step(p / np.where(total > 0, total, 1)) @ step(v))

    def both(self, q, k, v, slopes):
        """Returns the exact O, rounded to the type, and that of attention in the type."""
        group = self.heads // self.heads_kv
        o = np.zeros((2, len(q), self.heads, self.dim_v), np.float32)
        for b, (first, last, keys) in enumerate(self.of.ranges()):
            hidden = self.hidden(last - first, max(keys.stop - keys.start, 0))
            for h, exact in itertools.product(range(self.heads), (True, False)):
                slope = None if slopes is None else float(slopes[b, h])
                own = q[first:last, h], k[b][keys, h // group], v[b][keys, h // group]
                o[0 if exact else 1, first:last, h] = self.attend(*own, slope, hidden, exact)
        return in_type(o[0], self.kind), o[1]

    def judge(self, o, exact, typed):
        """Returns None, or what is wrong with O."""
        error, other = np.abs(o - exact), np.abs(typed - exact)
        allowed = self.rate * float(other.max()) + self.slack(exact, self.kind)
        if not float(error.max()) <= allowed:
            return f"error {error.max():.3g}, {allowed:.3g} is allowed"
        if self.rate_of_means and not error.mean() <= self.rate_of_means * other.mean():
            return f"mean error {error.mean():.3g}, {self.rate_of_means * other.mean():.3g} is allowed"
        return None


class Files:
    """The files of a case, and the options of `heed run` that name them."""

    def __init__(self, it, values, folder):
        self.it, self.folder, self.options = it, folder, []
        q, k, v, slopes = values
        of = it.of
        self.vectors("q", q if of.packed_q else q.reshape(it.batch, -1, *q.shape[1:]))
        order = self.write_table() if of.page else None
        self.vectors("k", self.keys(k, order))
        if it.qv:
            self.options += ["--dim-v", str(it.dim_v)]
        else:
            self.vectors("v", self.keys(v, order))
        if of.packed_q:
            self.cumulative("q", of.queries)
        if of.packed_k:
            self.cumulative("k", of.stored)
        if of.used != of.stored or (of.page and any(n % of.page for n in of.used)):
            self.operand("lengths", np.array(of.used, np.int32))
        if slopes is not None:
            self.operand("slopes", slopes)
        if any(of.pad):
            first = np.array(of.pad, np.int32)
            self.operand("starts", np.repeat(first[:, None], max(of.queries), axis=1))
            if it.chunk:
                np.save(folder / "first.npy", first)
                self.options += ["--array", f"first={folder / 'first.npy'}"]
        if it.words():
            self.options += ["--words", it.words()]

    def operand(self, name, array):
        np.save(self.folder / f"{name}.npy", array)
        self.options += [f"--{name}", self.folder / f"{name}.npy"]

    def vectors(self, name, array):
        self.operand(name, stored(array, self.it.kind))

    def cumulative(self, side, lengths):
        kind = np.int64 if self.it.wide else np.int32
        self.operand(f"cu-seqlens-{side}", np.array(list(itertools.accumulate(lengths, initial=0)), kind))

    def write_table(self):
        """Pages in a random order, more than are needed. Entries behind a length are no pages at all."""
        of, draw = self.it.of, np.random.default_rng(self.it.seed + 1)
        each = -(-of.stored[0] // of.page)
        order = draw.permutation(self.it.batch * each + 3)[: self.it.batch * each].reshape(self.it.batch, each)
        table = order.astype(np.int32)
        for b, n in enumerate(of.used):
            table[b, -(-n // of.page) :] = -1
        self.operand("table", table)
        return order

    def keys(self, each, order):
        """K or V as they lie in their file."""
        if self.it.of.packed_k:
            none = np.full((0 if sum(map(len, each)) else 1, *each[0].shape[1:]), np.nan, np.float32)
            return np.concatenate([*each, none])  # an array without rows is no problem: one of no sequence
        if order is None:
            return np.stack(each)
        page = self.it.of.page
        pool = np.full((order.size + 3, page, *each[0].shape[1:]), np.nan, np.float32)
        for b, x in enumerate(each):
            for n, at in enumerate(order[b]):
                part = x[n * page : (n + 1) * page]
                pool[at, : len(part)] = part
        return pool


def run(heed, options, it, values, folder):
    """Returns O by `heed run`, [tokens, heads, dim_v], float32, or raises RuntimeError."""
    kind = "bf16" if it.kind == "bfloat16" else "f16"
    files = Files(it, values, folder)
    script.run([heed, "run", "--type", kind, "--out", folder / "o.npy", *files.options, *options])
    return loaded(np.load(folder / "o.npy"), it.kind).reshape(-1, it.heads, it.dim_v)
