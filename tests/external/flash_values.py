"""The cases of FlashAttention's grids as problems for heed: values, files for `heed run`, expected results.

A case has sequences, each with its own queries and keys. In files they are dense, [batch, seq, heads, dim], packed one
after another, or, for keys, in pages. Everything outside the sequences is NaN: keys after a sequence's length and
before its left pad, and unused pages.

heed appends the same number of keys to each sequence, or one per packed query, and lengths count them. If sequences get
other numbers, NaN follows the new keys of the shorter ones; an expression hides it, and removes it from the positions.
FlashAttention rotates query i by the position of new key i, heed by the query's own position, which for the last one is
that of the last key. The two agree if there are as many new keys as queries, and so NaN follows the new keys up to that
number. Packed queries that are fewer than the new keys are padded up to that number.
Without a mask and window, FlashAttention rotates all queries by the position of the first new key. heed can do that for
one query and one new key; with more, each query is rotated by its own position here. A rotation turns one normally
distributed Q into another, so it is FlashAttention's problem with another Q.
"""

import collections

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
    """Numbers of queries and keys of each sequence."""

    def __init__(self, batch, queries, keys):
        self.queries = [queries] * batch
        self.stored = [keys] * batch  # keys in memory,
        self.used = [keys] * batch  # visible ones among them,
        self.pad = [0] * batch  # starting at this one
        self.packed_q = self.packed_k = False
        self.page = None
        self.longest = queries
        self.added = [0] * batch  # new keys, which are visible,
        self.append = [0] * batch  # number of keys that heed appends to each
        self.packed_new = False  # whether new keys are packed as queries are

    @classmethod
    def packed(cls, batch, queries, keys, draw, case):
        """Sequences nearly as long as the longest."""
        new = cls(batch, queries, keys)
        near = lambda most, least=1: [draw.randint(max(least, most - 20), most) for _ in range(batch)]
        new.packed_q = new.packed_k = True
        new.queries, new.stored = near(queries), near(keys)
        if case.get("same"):  # one packed tensor for all three
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
        """A few queries with partly filled caches."""
        new = cls(batch, queries, keys)
        new.page = case.get("paged_kv_block_size", case.get("page_size"))
        near = lambda most: [draw.randint(max(1, most - 20), most) for _ in range(batch)]
        alike = rotary_of(case) > 0 and (case["causal"] or case["local"])
        if case.get("new_kv"):
            most = queries if case["seqlen_new_eq_seqlen_q"] else draw.randint(1, queries)
            new.added = near(most) if case.get("varlen_q") else [most] * batch
            new.append = [queries if alike else max(new.added)] * batch
            before = [draw.randint(0, keys - (queries if alike else most)) for _ in range(batch)]
        else:
            before = [draw.randint(1, keys) for _ in range(batch)]
        new.used = [n + more for n, more in zip(before, new.added)]
        if case["has_leftpad"]:
            new.pad = [draw.randrange(n) if n else 0 for n in before]
        if case.get("varlen_q"):
            new.queries = near(queries)
            new.packed_q = not alike or all(more <= n for more, n in zip(new.added, new.queries))
            new.packed_new = alike and new.packed_q
            new.append = list(new.queries) if new.packed_new else new.append
        return new

    @property
    def filled(self):
        """Number of keys in a cache without the new ones."""
        return [n - more for n, more in zip(self.used, self.added)]

    @property
    def lengths(self):
        """Lengths passed to heed."""
        return [n + more for n, more in zip(self.filled, self.append)]

    @property
    def rows(self):
        """Number of query rows per sequence in files; for packed ones the number in the longest."""
        return max(self.queries) if self.packed_q else self.longest

    @property
    def firsts(self):
        """heed's positions of the first query of each sequence."""
        own = self.queries if self.packed_q else [self.rows] * len(self.queries)
        return [n - q for n, q in zip(self.lengths, own)]

    @property
    def shifts(self):
        """Offset of heed's query positions from theirs."""
        return [at - (used - queries) for at, used, queries in zip(self.firsts, self.used, self.queries)]

    @property
    def capacity(self):
        """Capacity of the cache in keys."""
        return max(self.stored) if not self.page else -(-max(self.stored) // self.page) * self.page

    def ranges(self):
        """For each sequence its first query, the end of its queries, and its keys."""
        ends = list(itertools.accumulate(self.queries, initial=0))
        return [(ends[b], ends[b + 1], slice(self.pad[b], n)) for b, n in enumerate(self.used)]


def rotary_of(case):
    """Number of rotated columns, a multiple of 16."""
    return int(case.get("rotary_fraction", 0) * case["d"]) // 16 * 16 if case.get("new_kv") else 0


#: Q [tokens, heads, dim], lists of K and V of each sequence, the new ones likewise, slopes [batch, heads] or None, and
#: cosines and sines [positions, pairs]; float32, with elements of the type, except the slopes.
Values = collections.namedtuple("Values", "q k v k_new v_new slopes cos sin")


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
        self.rotary, self.interleaved = rotary_of(case), case.get("rotary_interleaved", False)
        self.window = [draw.randrange(keys) for _ in range(2)] if case.get("local") else [-1, -1]
        if self.causal:
            self.window[1] = 0
        self.chunk = draw.randrange(1, 2 * keys) if case.get("attention_chunk") else 0
        self.slopes = case.get("alibi", False)
        self.masked = self.causal or case.get("local", False)
        self.rate, self.slack, self.rate_of_means = suite.rule(grid, self)
        make = {"dense": lambda b, n, m, *_: Sequences(b, n, m), "varlen": Sequences.packed, "cache": Sequences.cached}
        self.of = make[suite.layout(grid)](self.batch, queries, keys, draw, dict(case, same="qkvpacked" in grid))
        self.shifted = any(self.of.shifts) or self.of.lengths != self.of.used
        self.wide = draw.random() < 0.5  # 64-bit cumulative lengths
        self.seed = draw.randrange(2**32)

    def words(self):
        whole = not self.of.packed_q and self.of.lengths == [self.of.capacity] * self.batch
        words = ["align=br"] if not whole or self.of.rows != self.of.capacity else []
        words += self.expressions() if self.shifted else self.intervals()
        words += [f"softcap={self.softcap:g}"] if self.softcap else []
        words += [f"rotary={self.rotary}:interleaved"] if self.rotary and self.interleaved else []
        return " ".join(words)

    def intervals(self):
        """Words for the visible keys."""
        sides = ["" if side < 0 else str(side) for side in self.window]
        words = [f"window={sides[0]}:{sides[1]}"] if any(sides) else []
        if self.chunk and any(self.of.pad):  # chunks are counted from the first visible key
            words += [f"visible=(k-first[batch])//{self.chunk}==(p-first[batch])//{self.chunk}"]
        elif self.chunk:
            words += [f"chunk={self.chunk}"]
        return words

    def expressions(self):
        """The same if heed's positions differ."""
        p, first = "p-shift[batch]", "-first[batch]" if any(self.of.pad) else ""
        shown = ["k<used[batch]"]
        shown += [f"k>={p}-{self.window[0]}"] if self.window[0] >= 0 else []
        shown += [f"k<={p}+{self.window[1]}"] if self.window[1] >= 0 else []
        shown += [f"(k{first})//{self.chunk}==({p}{first})//{self.chunk}"] if self.chunk else []
        words = ["visible=" + "&&".join(shown)]
        return words + ([f"score=s-slope[batch,head]*float(abs({p}-k))"] if self.slopes else [])

    def arrays(self, values):
        """The arrays that expressions read, by their names."""
        found = {"first": np.array(self.of.pad, np.int32)} if self.chunk and any(self.of.pad) else {}
        if self.shifted:
            found |= {"shift": np.array(self.of.shifts, np.int32), "used": np.array(self.of.used, np.int32)}
            found |= {"slope": values.slopes} if self.slopes else {}
        return found

    def values(self, suite):
        """Returns the Values before the run. With qv, q.k + qv.v is one product of longer vectors, in which those of V
        come first."""
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
        for x, n, pad in zip(k + v, self.of.filled * 2, self.of.pad * 2):
            x[n:] = x[:pad] = np.nan
        slopes = draw.random((self.batch, self.heads), np.float32) * np.float32(0.3) if self.slopes else None
        dims = (self.dim, self.dim_v)
        k_new, v_new = ([in_type(normal(n, self.heads_kv, dim), self.kind) for n in self.of.append] for dim in dims)
        if self.qv:
            k_new = [np.concatenate(pair, axis=-1) for pair in zip(v_new, k_new)]
        for x, n in zip(k_new + v_new, self.of.added * 2):
            x[n:] = np.nan
        angles = draw.random((self.of.capacity, self.rotary // 2)) * 2 * math.pi
        cos, sin = (in_type(table, self.kind) for table in (np.cos(angles), np.sin(angles)))
        return Values(q, k, v, k_new, v_new, slopes, cos, sin)

    def turn(self, x, at, values):
        """Rotates x, [n, heads, dim], each vector to the position in @at: exact except for one rounding to float64, one
        to float32 and one to the type."""
        first, half = (self.dim_v if self.qv else 0), self.rotary // 2
        columns = np.arange(first, first + self.rotary)
        one, two = (columns[::2], columns[1::2]) if self.interleaved else (columns[:half], columns[half:])
        cos, sin = (table[at].astype(np.float64)[:, None, :] for table in (values.cos, values.sin))
        a, b = x[..., one].astype(np.float64), x[..., two].astype(np.float64)
        turned = x.copy()
        turned[..., one], turned[..., two] = a * cos - b * sin, b * cos + a * sin
        return in_type(turned, self.kind)

    def append(self, values):
        """Writes the new keys and values to K and V of each sequence, and rotates them and Q, in place."""
        for b, (first, last, _) in enumerate(self.of.ranges()):
            begin, count = self.of.filled[b], np.arange(last - first)
            places = np.arange(begin, begin + self.of.append[b])
            values.k[b][places] = self.turn(values.k_new[b], places, values)
            values.v[b][places] = values.v_new[b]
            at = begin + count if self.masked else np.maximum(count + self.of.firsts[b], 0)
            if self.rotary:
                values.q[first:last] = self.turn(values.q[first:last], at, values)

    def places(self, queries, keys):
        """p of each query, and the key numbers."""
        return np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None, :]

    def hidden(self, queries, keys):
        """Returns the hidden keys, [queries, keys]."""
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

    def both(self, values):
        """Returns the exact O, rounded to the type, and that of attention in the type, for the Values after the run."""
        q, k, v, slopes = values.q, values.k, values.v, values.slopes
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
        """Returns None, or the error of O."""
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
        of = it.of
        self.vectors("q", values.q if of.packed_q else self.padded(values.q))
        self.order = self.write_table() if of.page else None
        self.vectors("k", self.keys(values.k))
        if it.qv:
            self.options += ["--dim-v", str(it.dim_v)]
        else:
            self.vectors("v", self.keys(values.v))
        if of.packed_q:
            self.cumulative("q", of.queries)
        if of.packed_k:
            self.cumulative("k", of.stored)
        if any(of.append) or of.used != of.stored or (of.page and any(n % of.page for n in of.used)):
            self.operand("lengths", np.array(of.lengths, np.int32))
        if any(of.append):
            self.appended(values)
        if it.slopes and not it.shifted:
            self.operand("slopes", values.slopes)
        if any(of.pad):
            self.operand("starts", np.repeat(np.array(of.pad, np.int32)[:, None], of.rows, axis=1))
        for name, array in it.arrays(values).items():
            np.save(folder / f"{name}.npy", array)
            self.options += ["--array", f"{name}={folder / name}.npy"]
        if it.words():
            self.options += ["--words", it.words()]

    def appended(self, values):
        """New keys and values, cosines and sines, and the output files of K and V."""
        joined = np.concatenate if self.it.of.packed_new else np.stack
        self.vectors("k-new", joined(values.k_new))
        self.options += ["--k-out", self.folder / "k_out.npy"]
        if not self.it.qv:
            self.vectors("v-new", joined(values.v_new))
            self.options += ["--v-out", self.folder / "v_out.npy"]
        if self.it.rotary:
            self.vectors("rotary-cos", values.cos)
            self.vectors("rotary-sin", values.sin)

    def padded(self, q):
        """Q of each sequence, [batch, queries, heads, dim], padded with NaN."""
        found = np.full((self.it.batch, self.it.of.rows, *q.shape[1:]), np.nan, np.float32)
        for b, (first, last, _) in enumerate(self.it.of.ranges()):
            found[b, : last - first] = q[first:last]
        return found

    def output(self):
        """O, [tokens, heads, dim_v], float32."""
        o = loaded(np.load(self.folder / "o.npy"), self.it.kind)
        if self.it.of.packed_q:
            return o
        return np.concatenate([rows[:n] for rows, n in zip(o, self.it.of.queries)])

    def judge_caches(self, values):
        """Returns None, or the difference between K and V after the run and the Values, bit by bit except for NaN."""
        for name, each in (("k", values.k), ("v", values.v)):
            path = self.folder / f"{name}_out.npy"
            if any(self.it.of.append) and path.exists():
                found, right = loaded(np.load(path), self.it.kind), self.keys(each)
                wrong = (found != right) & ~(np.isnan(found) & np.isnan(right))
                if wrong.any():
                    at = tuple(map(int, np.argwhere(wrong)[0]))
                    return f"{name}{list(at)} is {found[at]:g} in the cache, where {right[at]:g} belongs"
        return None

    def operand(self, name, array):
        np.save(self.folder / f"{name}.npy", array)
        self.options += [f"--{name}", self.folder / f"{name}.npy"]

    def vectors(self, name, array):
        self.operand(name, stored(array, self.it.kind))

    def cumulative(self, side, lengths):
        kind = np.int64 if self.it.wide else np.int32
        self.operand(f"cu-seqlens-{side}", np.array(list(itertools.accumulate(lengths, initial=0)), kind))

    def write_table(self):
        """Pages in a random order, more than are needed. Entries past a length are invalid pages."""
        of, draw = self.it.of, np.random.default_rng(self.it.seed + 1)
        each = -(-of.stored[0] // of.page)
        order = draw.permutation(self.it.batch * each + 3)[: self.it.batch * each].reshape(self.it.batch, each)
        table = order.astype(np.int32)
        for b, n in enumerate(of.lengths):
            table[b, -(-n // of.page) :] = -1
        self.operand("table", table)
        return order

    def keys(self, each):
        """K or V in the layout of the file."""
        if self.it.of.packed_k:
            none = np.full((0 if sum(map(len, each)) else 1, *each[0].shape[1:]), np.nan, np.float32)
            return np.concatenate([*each, none])  # an unused row, since there must be one
        if self.order is None:
            return np.stack(each)
        page = self.it.of.page
        pool = np.full((self.order.size + 3, page, *each[0].shape[1:]), np.nan, np.float32)
        for b, x in enumerate(each):
            for n, at in enumerate(self.order[b]):
                part = x[n * page : (n + 1) * page]
                pool[at, : len(part)] = part
        return pool


def judge(heed, options, it, values, folder):
    """Returns None, or the error in the results of `heed run`. Raises RuntimeError if it fails."""
    kind = "bf16" if it.kind == "bfloat16" else "f16"
    files = Files(it, values, folder)
    script.run([heed, "run", "--type", kind, "--out", folder / "o.npy", *files.options, *options])
    if any(it.of.append):
        it.append(values)
    return it.judge(files.output(), *it.both(values)) or files.judge_caches(values)
