"""The ways to compute attention with PyTorch on a CUDA device, each a rival of its own: BACKENDS.

A row names the words of a spec that it takes (beyond those that every rival takes), and the
function that makes its ways to call a library for a problem, or raises peer.Unsupported. These come
in groups. The first group with a way that works is taken, and of that group the fastest way.
"""

import collections
import functools
import os

import peer

Backend = collections.namedtuple("Backend", "ways words", defaults=[frozenset()])

# One way: what the table says of it, attend(q, k, v), which returns O, whether its tensors are views
# [batch, heads, seq, dim], and how often K and V are repeated beforehand. All tensors lie in memory
# as [batch, seq, heads, dim].
Way = collections.namedtuple("Way", "detail attend heads_first repeats", defaults=[True, 1])

# The switches of scaled_dot_product_attention. Exactly one is on while a problem is prepared, so that
# PyTorch cannot take another backend in its place.
SWITCHES = {
    "flash": "enable_flash_sdp",
    "efficient": "enable_mem_efficient_sdp",
    "cudnn": "enable_cudnn_sdp",
    "math": "enable_math_sdp",
}


def sdpa(torch, problem, backend, device):
    """Grouped heads are first tried with enable_gqa; where a backend does not take that, K and V
    are repeated."""
    for name, switch in SWITCHES.items():
        getattr(torch.backends.cuda, switch)(name == backend)
    attention = torch.nn.functional.scaled_dot_product_attention
    options = {"scale": problem.scale, **sdpa_mask(torch, problem, backend, device)}
    plain = functools.partial(attention, **options)
    group = problem.heads_q // problem.heads_kv
    if group == 1:
        return [[Way(backend, plain)]]
    grouped = functools.partial(attention, enable_gqa=True, **options)
    return [
        [Way(f"{backend}, enable_gqa", grouped)],
        [Way(f"{backend}, K and V repeated beforehand", plain, repeats=group)],
    ]


def sdpa_mask(torch, problem, backend, device):
    """PyTorch's is_causal is aligned top left; for the other one it has a bias of its own."""
    queries, keys = problem.seq_q, problem.seq_k
    if problem.mask == "none":
        return {}
    if problem.mask == "causal=tl" or queries == keys:
        return {"is_causal": True}
    if backend == "math":
        seen = torch.ones(queries, keys, dtype=torch.bool, device=device)
        return {"attn_mask": seen.tril(keys - queries)}
    if backend == "cudnn":
        raise peer.Unsupported("torch has no causal mask aligned bottom right for cuDNN")
    if queries > keys:
        raise peer.Unsupported("torch gives NaN where a row sees no key")
    from torch.nn.attention.bias import causal_lower_right

    return {"attn_mask": causal_lower_right(queries, keys)}


def fa3(_torch, problem, _backend, _device):
    """FlashAttention-3. Whether its heuristic for splits or none at all is faster shows when both
    are tried."""
    try:
        from flash_attn_interface import flash_attn_func
    except (ImportError, OSError) as error:
        raise peer.Unsupported(
            f"flash_attn_interface cannot be imported: {error} (FlashAttention-3, hopper/ of "
            "flash-attention; PYTHONPATH names its folder)"
        ) from error
    if problem.type == "f32":
        raise peer.Unsupported("FlashAttention-3 takes f16 and bf16, not f32")
    if problem.mask == "causal=tl" and problem.seq_q != problem.seq_k:
        raise peer.Unsupported("FlashAttention-3 aligns its causal mask bottom right")
    options = {"softmax_scale": problem.scale, "causal": problem.mask != "none"}

    def attend(splits, q, k, v):
        o = flash_attn_func(q, k, v, num_splits=splits, **options)
        return o[0] if isinstance(o, tuple) else o  # earlier ones return the LSE as well

    return [
        [
            Way(f"flash_attn_func, {text}", functools.partial(attend, splits), heads_first=False)
            for splits, text in ((1, "no splits"), (0, "splits by its heuristic"))
        ]
    ]


def flex(torch, problem, _backend, device):
    """FlexAttention, compiled for this problem. Code compiled before is dropped: past a limit PyTorch
    would compile no more."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # it is one kernel
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        raise peer.Unsupported(f"this torch has no FlexAttention: {error}") from error
    torch.compiler.reset()
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)
    ahead = problem.seq_k - problem.seq_q if problem.mask == "causal=br" else 0
    mask = None
    if problem.mask != "none":
        mask = create_block_mask(
            lambda _batch, _head, query, key: key <= query + ahead,
            None,
            None,
            problem.seq_q,
            problem.seq_k,
            device=device,
        )
    grouped = problem.heads_q != problem.heads_kv
    attend = functools.partial(
        compiled, scale=problem.scale, block_mask=mask, enable_gqa=grouped
    )
    return [[Way("flex_attention, compiled" + ", enable_gqa" * grouped, attend)]]


BACKENDS = {
    **{name: Backend(sdpa) for name in SWITCHES},
    "fa3": Backend(fa3),
    "flex": Backend(flex),
}
