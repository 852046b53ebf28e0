"""Tests that the rivals compute attention on a CPU."""

from conversation import PEERS, Conversation, check, problem_of
from judged import operand, try_problem

SKIPPED = 77

# dims, mask, types
PROBLEMS = [
    ((2, 3, 3, 17, 17, 32, 32), "none", ("f32", "f16", "bf16")),
    ((1, 8, 8, 128, 128, 64, 64), "causal=tl", ("f32", "f16", "bf16")),
    ((1, 8, 8, 128, 128, 64, 64), "causal=br", ("f32",)),
    ((1, 4, 4, 20, 70, 64, 48), "none", ("f32",)),
    ((1, 4, 4, 20, 70, 64, 64), "causal=tl", ("f32", "f16")),
    ((1, 4, 4, 70, 20, 64, 64), "causal=tl", ("f32",)),
    ((2, 8, 2, 64, 64, 64, 64), "none", ("f32", "bf16")),
    ((2, 8, 2, 20, 70, 64, 64), "causal=br", ("f32", "f16")),
    ((1, 8, 2, 1, 300, 64, 64), "none", ("f32",)),
    ((1, 8, 8, 1, 300, 64, 64), "causal=br", ("f32", "bf16")),
]


def worded(np):
    """Problems with words: dims, mask, words, operands, and their definitions."""
    draw = np.random.default_rng(3)
    wide, long = (2, 4, 2, 20, 70, 16, 16), (1, 4, 4, 70, 20, 16, 16)
    bias = draw.standard_normal((2, 1, 20, 70)).astype(np.float16)
    slopes = draw.random((2, 4, 1, 1)).astype(np.float32)
    starts = np.sort(draw.integers(0, 60, (2, 1, 20, 1)), axis=2).astype(np.int32)
    shown = draw.random((1, 4, 1, 70)) < 0.5
    padded = np.concatenate([shown, np.zeros((1, 4, 1, 26), bool)], axis=3)
    bits = np.packbits(padded, axis=3, bitorder="little").view(np.int32)
    doc = draw.integers(0, 3, 70).astype(np.int32)
    return [
        (wide, "none", "window=9:30 align=tl", [], {}),
        (wide, "none", "window=9:4 align=br", [], {}),
        (wide, "causal=br", "window=9:", [], {}),
        (wide, "causal=tl", "chunk=8", [], {}),
        (long, "causal=br", "window=3:", [], {}),
        (wide, "none", "bias=f16:bq", [operand("bias", "f16", bias)], {"change": lambda t, p, j: t + bias}),
        (
            wide,
            "causal=br",
            "alibi=bh",
            [operand("slopes", "f32", slopes)],
            {"change": lambda t, p, j: t - slopes * abs(p - j)},
        ),
        (wide, "none", "starts=bq", [operand("starts", "i32", starts)], {"sees": lambda p, j: j >= starts}),
        (
            wide,
            "none",
            "shown=bytes:h",
            [operand("shown", "bytes", shown.astype(np.uint8))],
            {"sees": lambda p, j: shown},
        ),
        (wide, "none", "shown=bits:h", [operand("shown", "bits", bits)], {"sees": lambda p, j: shown}),
        (
            wide,
            "none",
            "array=doc:i32:70 visible=doc[q]==doc[k]&&!(k%5==2)||k<2",
            [operand("arrays[0]", "i32", doc, array="doc")],
            {"sees": lambda p, j: (doc[p] == doc[j]) & (j % 5 != 2) | (j < 2)},
        ),
        (
            wide,
            "causal=br",
            "softcap=5 score=head==1?max(s,-0.5):s-float(q//3)/9",
            [],
            {"change": score_of(np)},
        ),
        (
            wide,
            "none",
            "array=doc:i32:70 score=s+float(doc[k])",
            [operand("arrays[0]", "i32", doc, array="doc")],
            {"change": lambda t, p, j: t + doc[j]},
        ),
    ]


def score_of(np):
    """The definition of the last score."""

    def change(t, p, _key):
        query = np.arange(t.shape[2])[:, None]
        head = np.arange(t.shape[1]).reshape(1, -1, 1, 1)
        return np.where(head == 1, np.maximum(t, -0.5), t - query // 3 / 9)

    return change


def test_worded(np, peer):
    """Words that scaled_dot_product_attention supports by masks, and FlexAttention by functions."""
    for number, (dims, mask, spec, operands, meaning) in enumerate(worded(np)):
        problem = {**problem_of(dims, mask, "f32", 1, 0.2), "spec": spec}
        of_flex = "score" in spec
        if of_flex or number == 3:
            both = {**problem, "backend": "flex"}
            rows = [dict(row) for row in operands]
            chosen, remark = try_problem(np, peer, both, rows, **meaning)
            print(f"{dims} {mask} {spec}: {chosen}: {remark}")
            check(chosen is not None, remark)
        chosen, remark = try_problem(np, peer, problem, operands, **meaning)
        print(f"{dims} {mask} {spec}: {chosen}: {remark}")
        check((chosen is None) == of_flex, remark)


def check_sinks(np, peer):
    """PyTorch returns no LSE from FlexAttention on a CPU."""
    problem = {**problem_of((1, 4, 4, 20, 20, 16, 16)), "spec": "sinks", "backend": "flex"}
    rows = [operand("sinks", "f32", np.zeros((1, 4, 1, 1), np.float32))]
    chosen, reason = try_problem(np, peer, problem, rows)
    check(chosen is None and "sinks" in reason, reason)


def test_rival(name, folder):
    import numpy as np

    peer = Conversation(PEERS / (name + "_peer.py"), folder=folder)
    hello = peer.hello()
    if hello["status"] == "unsupported":
        print("SKIPPED: " + hello["reason"])
        return SKIPPED
    check(hello["status"] == "ok", hello)
    done = 0
    for dims, mask, kinds in PROBLEMS:
        for kind in kinds:
            if kind not in hello["types"]:
                continue
            for copies in (1, 3):
                chosen, remark = try_problem(np, peer, problem_of(dims, mask, kind, copies, 0.2))
                done += chosen is not None
            print(f"{dims} {mask} {kind}: {chosen or 'unsupported'}: {remark}")
    check(done > 10, f"only {done} problems were done")
    if name == "torch":
        test_worded(np, peer)
        check_sinks(np, peer)
    check(peer.ask("quit")["status"] == "ok" and peer.end() == 0, "quit")
    return 0
