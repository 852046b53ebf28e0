"""A server's sequences and caches (docs/serving.md): lengths, page tables and packed sequences for FlashAttention-3 and
FlashInfer.

    serving = Serving(torch, problem, words, device)
    serving.lengths()           keys of each sequence, int32 on the device; None: all of them
    serving.table()             numbers of pages, int32 [batch, pages of a sequence]; None: no pages
    serving.packed("q")         cumulative lengths of packed queries, or of keys: int32; None: not packed

Schedules, plans and metadata that a library can make in advance are made before any call, and are not timed.
"""

import functools

import peer
from torch_ways import Way, imported, only, torch_type

# Words of sequences and caches. Words for the type or strides of an operand make no difference.
WORDS = frozenset({"lengths", "varlen", "paged", "shared", "table", "cu_q", "cu_k"})

# Bytes of FlashInfer's workspace for results of splits. Its examples use half as many.
WORKSPACE_BYTES = 256 << 20

INTERFACE = "FlashAttention-3, hopper/ of flash-attention; PYTHONPATH names its folder"


class Serving:
    def __init__(self, torch, problem, words, device):
        self.torch, self.problem, self.device = torch, problem, device
        self.operands = words.operands
        self.pages = getattr(problem, "pages", 0)
        self.page = getattr(problem, "page", 0)

    def flat(self, name, shape):
        if name not in self.operands:
            return None
        return self.operands[name].reshape(shape).to(self.torch.int32).contiguous()

    def lengths(self):
        return self.flat("lengths", (self.problem.batch,))

    def table(self):
        return self.flat("table", (self.problem.batch, -1))

    def packed(self, letter):
        return self.flat(f"cu_seqlens_{letter}", (self.problem.batch + 1,))

    def all_keys(self):
        """Returns the maximum number of keys for each sequence."""
        return self.whole([self.problem.seq_k] * self.problem.batch)

    def evenly(self, rows):
        """Returns the cumulative lengths of sequences with the given numbers of rows."""
        return self.whole([b * rows for b in range(self.problem.batch + 1)])

    def whole(self, numbers):
        return self.torch.tensor(numbers, dtype=self.torch.int32, device=self.device)

    def varies(self):
        return "lengths" in self.operands or self.packed("q") is not None or self.packed("k") is not None

    def level(self):
        """Returns whether each sequence has as many queries as keys, so that both alignments of masks coincide."""
        q, k = self.packed("q"), self.packed("k")
        return q is not None and k is not None and q.tolist() == k.tolist()


def is_serving(words):
    return bool(words.said & WORDS)


# ---- FlashAttention-3 ----


def fa3(torch, problem, words, options, device):
    """FlashAttention-3's functions for packed sequences and caches, with its heuristic for splits."""
    if words.chunk:
        raise peer.Unsupported("FlashAttention-3 is given no chunks of sequences that differ, or in pages")
    serving = Serving(torch, problem, words, device)
    mla = "shared" in words.said and problem.dim_qk - problem.dim_v == 64
    if serving.packed("k") is not None:
        return [packed_ways(serving, options, mla)]
    return [cache_ways(serving, options, mla)]


def split(problem, mla, q, k, v):
    """Returns Q, K, V for FlashAttention-3, and qv: with absorbed MLA the columns that K shares with V are a separate
    product."""
    dim = problem.dim_v
    if mla:
        return q[..., dim:], k[..., dim:], k[..., :dim], {"qv": q[..., :dim]}
    return q, k, k[..., :dim] if v is None else v, {}


def packed_ways(serving, options, mla):
    """K and V are packed, and Q is viewed as packed, which costs nothing."""
    problem = serving.problem
    (attention,) = imported("flash_attn_interface", ["flash_attn_varlen_func"], INTERFACE)
    queries = serving.packed("q")
    queries = serving.evenly(problem.seq_q) if queries is None else queries
    limits = queries, serving.packed("k"), problem.seq_q, problem.seq_k

    def attend(splits, q, k, v):
        rows = q.reshape((-1,) + tuple(q.shape[2:]))
        rows, k, v, more = split(problem, mla, rows, k[0], None if v is None else v[0])
        o = only(attention(rows, k, v, *limits, num_splits=splits, **options, **more))
        return o.reshape(tuple(q.shape[:3]) + tuple(o.shape[2:]))

    return [
        Way(f"flash_attn_varlen_func, {text}", functools.partial(attend, splits), heads_first=False)
        for splits, text in ((1, "no splits"), (0, "splits by its heuristic"))
    ]


def cache_ways(serving, options, mla):
    """A padded or paged cache: without and with a schedule made in advance. With one query that sees all keys a causal
    mask hides nothing, but selects other kernels."""
    attention, schedule = imported(
        "flash_attn_interface", ["flash_attn_with_kvcache", "get_scheduler_metadata"], INTERFACE
    )
    problem, lengths, queries = serving.problem, serving.lengths(), serving.packed("q")
    single = problem.seq_q == 1 and queries is None and "window_size" not in options
    given = [(lengths, True), (lengths, False)] if lengths is not None else [(None, False), (serving.all_keys(), True)]
    ways = []
    for causal in (True, False) if single else (options["causal"],):
        for seen, beforehand in given:
            more = {**options, "causal": causal, "num_splits": 0, "page_table": serving.table()}
            if queries is not None:
                more.update(cu_seqlens_q=queries, max_seqlen_q=problem.seq_q)
            if seen is not None:
                more["cache_seqlens"] = seen
            make = functools.partial(metadata, schedule, serving, mla, seen, more) if beforehand else None
            text = "flash_attn_with_kvcache" + ", causal" * (causal and single) + ", metadata" * beforehand
            ways.append(Way(text, cached(attention, problem, mla, more, make), heads_first=False))
    return ways


def cached(attention, problem, mla, options, make):
    """Attention over a cache. The first call, which is not timed, makes the metadata."""
    made = {}

    def attend(q, k, v):
        if make and not made:
            made["scheduler_metadata"] = make()
        rows = q[0] if "cu_seqlens_q" in options else q
        rows, k, v, more = split(problem, mla, rows, k, v)
        o = only(attention(rows, k, v, **options, **more, **made))
        return o.reshape(tuple(q.shape[:3]) + tuple(o.shape[-1:]))

    return attend


def metadata(schedule, serving, mla, seen, options):
    problem = serving.problem
    more = {name: options[name] for name in ("cu_seqlens_q", "window_size") if name in options}
    return schedule(
        problem.batch,
        problem.seq_q,
        problem.seq_k,
        problem.heads_q,
        problem.heads_kv,
        problem.dim_qk - problem.dim_v if mla else problem.dim_qk,
        seen,
        qkv_dtype=torch_type(serving.torch, problem),
        headdim_v=problem.dim_v,
        page_size=serving.page or None,
        causal=options["causal"],
        has_softcap="softcap" in options,
        num_splits=0,
        **more,
    )


# ---- FlashInfer ----


def flashinfer(torch, problem, words, device):
    """FlashInfer's paged decoding, with and without tensor cores, with the plan made in advance. On Hopper it chooses
    tensor-core kernels that it compiles on first use; those of the backend fa2 may be precompiled."""
    refuse_others(problem, words)
    (decoder,) = imported("flashinfer", ["BatchDecodeWithPagedKVCacheWrapper"], "pip install flashinfer-python")
    serving = Serving(torch, problem, words, device)
    pages = page_lists(serving)
    return [
        [
            Way(text, planned(decoder, serving, pages, words), heads_first=False)
            for text, words in (
                ("decode, tensor cores, fa2", {"use_tensor_cores": True, "backend": "fa2"}),
                ("decode, tensor cores", {"use_tensor_cores": True}),
                ("decode", {"use_tensor_cores": False}),
            )
        ]
    ]


def refuse_others(problem, words):
    """Raises Unsupported unless the problem has one query for each sequence, over pages."""
    one = problem.seq_q == 1 and "varlen" not in words.said
    for good, what in (
        ("paged" in words.said, "keys in pages alone"),
        (one, "one query for each sequence"),
        (problem.mask != "causal=tl", "a causal mask that is aligned bottom right"),
        (problem.dim_qk == problem.dim_v, "head dims of Q and V that are equal"),
        (problem.type != "f32", "f16 and bf16"),
    ):
        if not good:
            raise peer.Unsupported(f"FlashInfer's paged decoding is for {what}")


def page_lists(serving):
    """Returns FlashInfer's three lists: the start of each sequence's pages, all pages, and the number of keys in each
    last page."""
    problem, page = serving.problem, serving.page
    lengths = serving.lengths()
    lengths = [problem.seq_k] * problem.batch if lengths is None else lengths.tolist()
    starts, numbers, last = [0], [], []
    for row, length in zip(serving.table().tolist(), lengths):
        used = -(-length // page)
        numbers += row[:used]
        starts.append(starts[-1] + used)
        last.append(length - (used - 1) * page if used else 0)
    return serving.whole(starts), serving.whole(numbers), serving.whole(last)


def planned(decoder, serving, pages, words):
    """The first call, which is not timed, makes the plan. @words are options of the decoder."""
    torch, problem = serving.torch, serving.problem
    ready = []

    def plan():
        room = torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=serving.device)
        wrapper = decoder(room, "NHD", **words)
        kind = torch_type(torch, problem)
        wrapper.plan(
            *pages,
            problem.heads_q,
            problem.heads_kv,
            problem.dim_qk,
            serving.page,
            q_data_type=kind,
            kv_data_type=kind,
            sm_scale=problem.scale,
        )
        return wrapper

    def attend(q, k, v):
        if not ready:
            ready.append(plan())
        o = only(ready[0].run(q[:, 0], (k, v)))
        return o.reshape(tuple(q.shape))

    return attend
