"""The rivals that compute attention with PyTorch's tensors: BACKENDS. All are for CUDA devices, CPU_BACKENDS also for
the CPU.

A row has the words of a spec that it supports (in addition to those of every rival), and a function that returns its
ways to call a library for a problem, or raises peer.Unsupported. Ways come in groups. The fastest way of the first
group with a working way is used.
"""

import functools
import os

import peer
import torch_serving
import torch_words
from torch_ways import Backend, Way, imported, only, torch_type

# The switches of scaled_dot_product_attention. Exactly one is on while a problem is prepared, so that PyTorch cannot
# use another backend.
SWITCHES = {
    "flash": "enable_flash_sdp",
    "efficient": "enable_mem_efficient_sdp",
    "cudnn": "enable_cudnn_sdp",
    "math": "enable_math_sdp",
}

# Backends whose float32 products use TF32 if PyTorch's switch is on: those with cuBLAS or compiled code. The products
# of the others do not depend on it.
TF32 = {"math", "flex"}


def allow_tf32(torch, problem, backend):
    """Allows TF32 if the problem permits it and it has an effect, and otherwise forbids it, whatever the user's default
    is. Returns words for the table."""
    allowed = backend in TF32 and peer.spec_words(problem).get("products") == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    return ", TF32" if allowed else ""


def sdpa(torch, problem, backend, device):
    """Tries grouped heads first with enable_gqa; if a backend does not support that, K and V are repeated."""
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
    """PyTorch's is_causal is aligned top left; for bottom right it has a special bias. Everything else is an explicit
    mask, made beforehand."""
    queries, keys = problem.seq_q, problem.seq_k
    words = torch_words.Words(torch, problem, device)
    if not words.said & MASKED:
        if problem.mask == "none":
            return {}
        if problem.mask == "causal=tl" or queries == keys:
            return {"is_causal": True}
        if backend in ("flash", "efficient"):
            return {"attn_mask": causal_lower_right(queries, keys)}
    if not peer.scores_fit(problem):
        raise peer.Unsupported("the mask, which torch needs written out, would not fit in memory")
    return {"attn_mask": words.mask(torch_type(torch, problem), numbers=backend in ("efficient", "cudnn"))}


def causal_lower_right(queries, keys):
    if queries > keys:
        raise peer.Unsupported("torch gives NaN where a row sees no key")
    from torch.nn.attention import bias

    return bias.causal_lower_right(queries, keys)


def flash_window(problem, words, serving):
    """Returns the sides of a window in FlashAttention's convention: relative to query i + keys - queries, -1 for an
    open side."""
    shift = (problem.seq_k - problem.seq_q) - words.ahead
    if serving.varies():  # the number of keys varies
        shift = 0
        if not words.below and (words.left, words.right) != (None, None) and not serving.level():
            raise peer.Unsupported("FlashAttention aligns masks bottom right where lengths differ")
    sides = []
    for side, name, move in ((words.left, "left", shift), (words.right, "right", -shift)):
        if side is None:
            sides.append(-1)
        elif side + move < 0:
            raise peer.Unsupported(
                f"FlashAttention aligns windows bottom right, where the {name} side of this one would "
                f"be {side + move}"
            )
        else:
            sides.append(side + move)
    return tuple(sides)


def flash_options(torch, problem, device):
    """Returns the words and the options that FlashAttention-2 and -3 share."""
    if problem.type == "f32":
        raise peer.Unsupported("FlashAttention takes f16 and bf16, not f32")
    words = torch_words.Words(torch, problem, device)
    serving = torch_serving.Serving(torch, problem, words, device)
    window = flash_window(problem, words, serving)
    causal = window == (-1, 0)
    options = {"softmax_scale": problem.scale, "causal": causal}
    if not causal and window != (-1, -1):
        options["window_size"] = window
    if words.softcap:
        options["softcap"] = words.softcap
    return words, options


def fa2(torch, problem, _backend, device):
    """FlashAttention-2, from its own package."""
    (attention,) = imported("flash_attn", ["flash_attn_func"], "pip install flash-attn")
    words, options = flash_options(torch, problem, device)
    if "slopes" in words.operands:
        if words.ahead != problem.seq_k - problem.seq_q:
            raise peer.Unsupported("FlashAttention-2 aligns ALiBi bottom right")
        sizes = (problem.batch, problem.heads_q)
        slopes = words.operands["slopes"].expand(*sizes, 1, 1)
        options["alibi_slopes"] = slopes.contiguous().reshape(sizes)
    return [[Way("flash_attn_func", lambda q, k, v: only(attention(q, k, v, **options)), False)]]


def fa3(torch, problem, _backend, device):
    """FlashAttention-3. Its heuristic for splits and no splits are both tried."""
    (attention,) = imported("flash_attn_interface", ["flash_attn_func"], torch_serving.INTERFACE)
    words, options = flash_options(torch, problem, device)
    if torch_serving.is_serving(words):
        return torch_serving.fa3(torch, problem, words, options, device)
    if words.chunk:
        if words.ahead != problem.seq_k - problem.seq_q:
            raise peer.Unsupported("FlashAttention-3 aligns chunks bottom right")
        options["attention_chunk"] = words.chunk

    def attend(splits, q, k, v):
        return only(attention(q, k, v, num_splits=splits, **options))

    return [
        [
            Way(f"flash_attn_func, {text}", functools.partial(attend, splits), heads_first=False)
            for splits, text in ((1, "no splits"), (0, "splits by its heuristic"))
        ]
    ]


def flashinfer(torch, problem, _backend, device):
    """FlashInfer, for paged decoding."""
    words = torch_words.Words(torch, problem, device)
    return torch_serving.flashinfer(torch, problem, words, device)


def flex(torch, problem, _backend, device):
    """FlexAttention, compiled for this problem. Earlier compiled code is dropped, since PyTorch stops compiling beyond
    a limit."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # it is one kernel
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        raise peer.Unsupported(f"this torch has no FlexAttention: {error}") from error
    torch.compiler.reset()
    words = torch_words.Words(torch, problem, device)
    if "sinks" in words.said and device == "cpu":
        raise peer.Unsupported("torch gives no LSE of FlexAttention on a CPU, which sinks need")
    grouped = problem.heads_q != problem.heads_kv
    options = {"scale": problem.scale, "block_mask": None, "enable_gqa": grouped}
    if words.changes_logits():
        options["score_mod"] = lambda s, b, h, q, k: words.logit(s, b, h, q, k)
    if words.hides():
        each = words.said & {"starts", "shown", "lengths", "visible"}  # may differ from head to head
        sizes = (problem.batch, problem.heads_q) if each else (None, None)
        options["block_mask"] = create_block_mask(
            lambda b, h, q, k: words.seen(b, h, q, k), *sizes, problem.seq_q, problem.seq_k, device=device
        )
    function = flex_attention if "sinks" not in words.said else with_sinks(flex_attention, words)
    attend = torch.compile(function, dynamic=False, fullgraph=True)
    detail = "flex_attention, compiled" + ", enable_gqa" * grouped
    return [[Way(detail, functools.partial(attend, **options))]]


def with_sinks(flex_attention, words):
    """A sink is one more logit in the denominator: O is multiplied by the share of the other logits."""
    sinks = words.operands["sinks"].squeeze(3)

    def attend(q, k, v, **options):
        o, lse = flex_attention(q, k, v, return_lse=True, **options)
        return o * (lse - sinks).sigmoid().unsqueeze(3).to(o.dtype)

    return attend


MASKED = torch_words.HIDING | torch_words.ADDING
FLASH = frozenset({"window", "align", "softcap"})

BACKENDS = {
    "flash": Backend(sdpa),
    **{name: Backend(sdpa, MASKED) for name in ("efficient", "cudnn", "math")},
    "fa2": Backend(fa2, FLASH | {"alibi"}),
    "fa3": Backend(fa3, FLASH | {"chunk"} | torch_serving.WORDS),
    "flashinfer": Backend(flashinfer, frozenset({"align"}) | torch_serving.WORDS),
    "flex": Backend(flex, MASKED | {"softcap", "score", "sinks"}),
}

# Backends for a CPU besides scaled_dot_product_attention.
CPU_BACKENDS = ("flex",)
