"""Tests the rivals on sequences and caches: lengths, pages, packed sequences and MLA, with fake versions of torch,
FlashAttention-3 and FlashInfer."""

import pathlib

from conversation import check, check_error, problem_of
from judged import attention, operand

FAKE_FLASHINFER = pathlib.Path(__file__).resolve().parent / "fake_flashinfer"

CACHE, PACKED = "flash_attn_with_kvcache", "flash_attn_varlen_func, no splits"


def sizes(np, dims, spec):
    """Numbers of queries and keys of each sequence."""
    batch, words = dims[0], spec.split()
    queries = np.full(batch, dims[3]) if "varlen" not in spec or "varlen=0/" in spec else np.arange(batch) % (dims[3] + 1)
    keys = np.full(batch, dims[4])
    if "varlen" in spec or any(word.startswith("lengths") for word in words):
        keys = 1 + np.arange(batch) * 7 % dims[4]
    if "level" in spec:
        keys = queries
    return queries, keys


def packed(np, parts):
    return np.concatenate(parts)[None]


def padded(np, parts, rows):
    out = np.full((len(parts), rows) + parts[0].shape[1:], 7.0)
    for row, part in zip(out, parts):
        row[: len(part)] = part
    return out


def in_pages(np, parts, page, table, pages):
    """The page pool, with NaN wherever no sequence has a key."""
    pool = np.full((pages, page) + parts[0].shape[1:], np.nan)
    for part, row in zip(parts, table):
        for j in range(len(part)):
            pool[row[j // page], j % page] = part[j]
    return pool


class Case:
    """A problem with its sequences: the request to a peer, and the expected reply."""

    def __init__(self, np, dims, mask, spec, page=0):
        batch, heads, groups, seq_q, seq_k, dim, dim_v = dims
        random = np.random.default_rng(3)
        self.np, self.problem, rows = np, problem_of(dims, mask, "f16", 2, 0.3), []
        queries, keys = sizes(np, dims, spec)
        draw = lambda n, h, d: random.standard_normal((n, h, d)).astype(np.float16).astype(float)  # noqa: E731
        q = [draw(n, heads, dim) for n in queries]
        k = [draw(n, groups, dim) for n in keys]
        v = [x[..., :dim_v] if "shared" in spec else draw(len(x), groups, dim_v) for x in k]
        tokens_q = int(queries.sum()) if "varlen" in spec and "varlen=0/" not in spec else 0
        tokens_k = int(keys.sum()) if "varlen" in spec and "/0" not in spec else 0
        if "lengths" in spec:
            rows.append(operand("lengths", "i32", keys.astype(np.int32).reshape(-1, 1, 1, 1)))
        for name, counts, tokens in (("cu_seqlens_q", queries, tokens_q), ("cu_seqlens_k", keys, tokens_k)):
            if tokens:
                kind = "i64" if "i64" in spec else "i32"
                ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64 if kind == "i64" else np.int32)
                rows.append(operand(name, kind, ends.reshape(1, 1, 1, -1)))
        if page:
            pages = batch * seq_k // page + 3
            table = random.permutation(pages)[: batch * seq_k // page].reshape(batch, -1).astype(np.int32)
            rows.append(operand("table", "i32", table.reshape(batch, 1, 1, -1)))
            lay = lambda parts: in_pages(np, parts, page, table, pages)  # noqa: E731
            self.problem.update(page=page, pages=pages)
        else:
            lay = lambda parts: packed(np, parts) if tokens_k else padded(np, parts, seq_k)  # noqa: E731
        self.problem.update({n: x for n, x in (("tokens_q", tokens_q), ("tokens_k", tokens_k)) if x})
        tensors = {"q": packed(np, q) if tokens_q else padded(np, q, seq_q), "k": lay(k), "v": lay(v)}
        self.tensors = {n: x.astype(np.float16).tobytes() for n, x in tensors.items()}
        if "shared" in spec:
            self.tensors["v"] = b""
        self.problem["spec"] = spec.replace(" level", "")
        self.rows, self.shape = rows, tensors["q"].shape[:3] + (dim_v,)
        self.sequences = q, k, v
        self.packed = bool(tokens_q)

    def expected(self):
        """Computes each sequence separately."""
        parts = []
        for q, k, v in zip(*self.sequences):
            if len(q) == 0:
                continue
            one = {**self.problem, "mask": self.problem["mask"] if len(q) != 1 else "none"}
            spec = " ".join(w for w in self.problem["spec"].split() if w.startswith(("window", "softcap")))
            parts.append(attention(self.np, {**one, "spec": spec}, q[None], k[None], v[None])[0])
        return self.np.concatenate(parts).reshape(self.shape)

    def try_on(self, peer, backend):
        """Returns the peer's choice, or its reason for refusing."""
        np, size = self.np, 2 * int(self.np.prod(self.shape))
        rows = [dict(row) for row in self.rows]
        reply = peer.prepare(self.tensors, size, rows, **self.problem, backend=backend)
        if reply["status"] != "ok":
            return reply["reason"]
        expected = self.expected()
        for calls in (1, 3):
            check(peer.ask("run", mode="replay", calls=calls, warmup=1, replays=1)["status"] == "ok", "run")
        check(peer.ask("check")["status"] == "ok", "check")
        got = np.frombuffer(peer.output(), np.float16).reshape(self.shape)
        error = np.abs(got - expected).max()
        check(error < 1e-2, f"error {error} of {backend}: {self.problem}")
        flat = expected.transpose(0, 2, 1, 3).reshape(-1, self.shape[3])
        numbers = [0, len(flat) // 2, len(flat) - 1]
        check(peer.ask("check", rows=numbers)["status"] == "ok", "rows")
        got = np.frombuffer(peer.output(), np.float16).reshape(3, -1)
        check(np.abs(got - flat[numbers]).max() < 1e-2, f"rows of {backend}: {self.problem}")
        check(peer.ask("release")["status"] == "ok", "release")
        return reply["detail"]


FEW, ONE, MLA = (3, 4, 2, 3, 12, 16, 16), (4, 4, 2, 1, 12, 16, 16), (2, 4, 1, 1, 12, 80, 16)
LEVEL = "FlashAttention aligns masks bottom right where lengths differ"
INFER = "FlashInfer's paged decoding is for "

# dims, mask, words, page, rival, and its reply.
CASES = (
    (FEW, "causal=br", "lengths=b", 0, "fa3", CACHE + ", metadata"),
    (FEW, "none", "lengths=b", 0, "fa3", CACHE + ", metadata"),
    (FEW, "none", "paged=4/12", 4, "fa3", CACHE + ", metadata"),
    (FEW, "causal=br", "lengths=b paged=4/12 softcap=2", 4, "fa3", CACHE + ", metadata"),
    (FEW, "causal=br", "lengths=b paged=1/36 window=2:", 1, "fa3", CACHE + ", metadata"),
    (ONE, "none", "lengths=b paged=3/16", 3, "fa3", CACHE + ", causal, metadata"),
    (ONE, "causal=br", "lengths=b paged=3/16", 3, "fa3", CACHE + ", causal, metadata"),
    (FEW, "causal=tl", "lengths=b", 0, "fa3", LEVEL),
    (FEW, "none", "lengths=b chunk=4", 0, "fa3", "FlashAttention-3 is given no chunks of sequences that differ, or in pages"),
    (FEW, "none", "varlen=3/24", 0, "fa3", PACKED),
    (FEW, "causal=br", "varlen=3/24 cu_q=i64 cu_k=i64", 0, "fa3", PACKED),
    (FEW, "causal=tl", "varlen=3/24", 0, "fa3", LEVEL),
    (FEW, "causal=tl", "varlen=3 level", 0, "fa3", PACKED),
    (FEW, "none", "varlen=0/24", 0, "fa3", PACKED),
    (FEW, "none", "varlen=3/0 lengths=b paged=4/12", 4, "fa3", CACHE + ", metadata"),
    (MLA, "none", "shared", 0, "fa3", CACHE + ", causal, metadata"),
    (MLA, "causal=br", "shared lengths=b paged=6/7", 6, "fa3", CACHE + ", causal, metadata"),
    (ONE, "none", "lengths=b paged=3/16", 3, "flashinfer", "decode, tensor cores, fa2; not decode, tensor cores: no compiler"),
    ((2, *ONE[1:]), "causal=br", "paged=3/16", 3, "flashinfer", "decode; not decode, tensor cores: no compiler"),
    (FEW, "none", "paged=4/12", 4, "flashinfer", INFER + "one query for each sequence"),
    (ONE, "causal=tl", "paged=4/12", 4, "flashinfer", INFER + "a causal mask that is aligned bottom right"),
    (ONE, "none", "lengths=b", 0, "flashinfer", INFER + "keys in pages alone"),
    (ONE, "none", "", 0, "flashinfer", INFER + "keys in pages alone"),
    (MLA, "none", "shared paged=6/7", 6, "flashinfer", INFER + "head dims of Q and V that are equal"),
    ((2, 4, 2, 1, 12, 24, 24), "none", "paged=4/6", 4, "flashinfer", "head_dim 24"),
    (ONE, "none", "paged=3/16 softcap=2", 3, "flashinfer", "the word softcap of the problem is not supported"),
    (ONE, "none", "lengths=b paged=3/16", 3, "flex", "the word paged of the problem is not supported"),
    (ONE, "none", "varlen=3/24", 0, "fa2", "the word varlen of the problem is not supported"),
)


def test_serving(np, open_torch, folder, fake_fa3):
    for environment in ({}, {"FAKE_FA3_PAIRS": "1"}):
        peer, _ = open_torch(folder, fake_fa3, FAKE_FLASHINFER, **environment)
        for dims, mask, spec, page, backend, answer in CASES:
            got = Case(np, dims, mask, spec, page).try_on(peer, backend)
            check(got == answer, f"{dims} {mask} {spec}: {answer!r} expected: {got!r}")
        check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
    peer, _ = open_torch(folder)
    for backend, module in (("fa3", "flash_attn_interface"), ("flashinfer", "flashinfer")):
        case = Case(np, ONE, "none", "lengths=b paged=3/16", 3)
        reply = peer.prepare(case.tensors, 8, [dict(r) for r in case.rows], **case.problem, backend=backend)
        check_error(reply, "unsupported", f"{module} cannot be imported")
    check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
