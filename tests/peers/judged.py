"""Problems for peers, whose results are compared with attention in float64."""

from conversation import check

# Maximum error of a rival, in units of the largest |V|: these tests check how a library is called; heed itself judges
# errors far more precisely.
TOLERANCE = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}


def encode(np, values, kind):
    if kind == "bf16":  # rounded to nearest even
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype({"f32": np.float32, "f16": np.float16}[kind])


def decode(np, values, kind):
    if kind == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def attention(np, problem, q, k, v, change=None, sees=None):
    """Attention in float64. change(t, p, j) makes a logit from t, and sees(p, j) shows a key, for the positions p and
    keys j, in addition to the words window, chunk and softcap of the spec."""
    group = problem["heads_q"] // problem["heads_kv"]
    words = dict(word.split("=", 1) for word in problem.get("spec", "").split() if "=" in word)
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    logits = np.einsum("bihd,bjhd->bhij", q, k) * problem["scale"]
    if "softcap" in words:
        logits = float(words["softcap"]) * np.tanh(logits / float(words["softcap"]))
    below = problem["mask"] == "causal=br" or words.get("align") == "br"
    at = np.arange(q.shape[1])[:, None] + (k.shape[1] - q.shape[1]) * below
    key = np.arange(k.shape[1])[None, :]
    left, right = (int(side) if side else 1 << 30 for side in words.get("window", ":").split(":"))
    seen = (key >= at - left) & (key <= at + (0 if problem["mask"] != "none" else right))
    seen &= at // int(words.get("chunk", 1 << 30)) == key // int(words.get("chunk", 1 << 30))
    seen = seen & sees(at, key) if sees else seen
    logits = np.where(seen, change(logits, at, key) if change else logits, -np.inf)
    top = np.maximum(logits.max(axis=-1, keepdims=True), -1e30)
    weights = np.exp(logits - top)
    total = weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights / np.where(total == 0, 1, total), v)


def try_problem(np, peer, problem, operands=(), **meaning):
    """Returns the peer's choice, or None if it does not support the problem. @meaning: see attention()."""
    b, h, g, s, t, d, e = list(problem.values())[:7]
    shapes = {"q": (b, s, h, d), "k": (b, t, g, d), "v": (b, t, g, e)}
    random = np.random.default_rng(7)
    kind = problem["type"]
    encoded = {n: encode(np, random.standard_normal(shape), kind) for n, shape in shapes.items()}
    size = b * s * h * e * encoded["q"].itemsize
    reply = peer.prepare({n: x.tobytes() for n, x in encoded.items()}, size, operands, **problem)
    if reply["status"] == "unsupported":
        return None, reply["reason"]
    check(reply["status"] == "ok", reply)
    check(peer.ask("run", warmup=1, calls=4)["status"] == "ok", "run")
    check(peer.ask("check")["status"] == "ok", "check")
    o = decode(np, np.frombuffer(peer.output(), encoded["q"].dtype), kind).reshape(b, s, h, e)
    q, k, v = (decode(np, encoded[n], kind) for n in "qkv")
    error = np.abs(o - attention(np, problem, q, k, v, **meaning)).max() / np.abs(v).max()
    check(error <= TOLERANCE[kind], f"error {error:.2e} of {reply.get('detail')}: {problem}")
    check(peer.ask("release")["status"] == "ok", "release")
    return reply.get("detail"), f"error {error:.1e}"


def operand(name, kind, values, **more):
    return {"name": name, "type": kind, "shape": list(values.shape), "data": values.tobytes(), **more}
