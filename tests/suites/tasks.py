"""Tasks in KernelBench's form, written for heed's tests: a name, and the text of a file."""

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
"""


def task(forward, inputs, init="", given="[]", head=HEAD, arguments=""):
    """A task whose Model has `init` in its constructor and `forward` as the body of forward()."""

    def indented(text):
        return "".join(f"        {line}\n" for line in text.strip().splitlines())

    return (
        f"{head}\nclass Model(nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n"
        f"{indented(init)}\n    def forward(self, *x):\n{indented(forward)}\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return {given}\n"
    )


QKV = "torch.rand(2, 4, 16, 8), torch.rand(2, 4, 16, 8), torch.rand(2, 4, 16, 8)"
WRITTEN = """
q, k, v = x
w = q @ k.transpose(-2, -1) / math.sqrt(8)
w = {mask}
w = F.softmax(w, dim=-1)
return w @ v
"""
PACKED_INIT = """
self.qkv = nn.Linear(width, 3 * width)
self.out = nn.Linear(width, width)
self.register_buffer("seen", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))
self.heads = heads
"""
PACKED = """
x = x[0]
b, t, c = x.shape
q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
att = torch.matmul(q, k.transpose(-2, -1)) * (c // self.heads) ** -0.5
att = att.masked_fill(self.seen[:, :, :t, :t] == 0, float("-inf"))
att = att.softmax(dim=-1)
y = torch.matmul(att, v)
return self.out(y.transpose(1, 2).reshape(b, t, c))
"""

#: name: (text, class, parts of the specs in order, a part of the reason or of a note)
TASKS = {
    "sdpa": (
        task("return F.scaled_dot_product_attention(*x)", QKV), "attention", ["b2 h4 s16 d8 f32 q=512:8:128"], ""),
    "sdpa_causal": (
        task("return F.scaled_dot_product_attention(x[0], x[1], x[2], is_causal=True, scale=0.5)", QKV),
        "attention", ["b2 h4 s16 d8 f32 causal scale=0.5"], ""),
    "written": (task(WRITTEN.format(mask="w"), QKV), "attention", ["b2 h4 s16 d8 f32 q="], ""),
    "triu": (
        task(WRITTEN.format(mask='w + torch.triu(torch.ones(16, 16) * float("-inf"), diagonal=1)'), QKV),
        "attention", ["b2 h4 s16 d8 f32 causal q="], ""),
    "tril_bool": (
        task(WRITTEN.format(mask='w.masked_fill(~torch.tril(torch.ones(16, 16, dtype=torch.bool)), -math.inf)'), QKV),
        "attention", ["b2 h4 s16 d8 f32 causal q="], ""),
    "packed": (
        task(PACKED, "torch.rand(2, 32, 48)", PACKED_INIT, "[48, 4]", arguments=", width, heads"),
        "attention", ["b2 h4 s32 d12 f32 causal q=4608:144:12 k=4608:144:12 v=4608:144:12 o=1536:48:12"], ""),
    "multihead": (
        task("return self.attn(x[0], x[0], x[0])[0]", "torch.rand(32, 2, 24)",
             "self.attn = nn.MultiheadAttention(24, 3)"),
        "attention", ["b2 h3 s32 d8 f32 q=24:48:8"], "averaged weights"),
    "batch_for_sequence": (
        task("return self.deep(x[0])", "torch.rand(2, 50, 16)",
             "self.deep = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0), 3)"),
        "attention", ["b50 h2 s2 d8 f32"], "a batch of 2 for the sequence"),
    "einsum": (
        task("""
q, k, v = x
w = torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
return torch.einsum("bhqk,bhkd->bhqd", torch.softmax(w, -1), v)
""", QKV), "attention", ["b2 h4 s16 d8 f32 scale=0.25"], ""),
    "scaled_queries": (
        task("q, k, v = x\nq = q * 0.5\nreturn torch.softmax(q @ k.transpose(2, 3), -1) @ v", QKV),
        "attention", ["b2 h4 s16 d8 f32 scale=0.5"], ""),
    "one_head_of_keys": (
        task("q, k, v = x\nreturn torch.softmax(q @ k.expand(2, 4, 16, 8).mT / 8**0.5, -1) @ v.expand(2, 4, 16, 8)",
             "torch.rand(2, 4, 16, 8), torch.rand(2, 1, 16, 8), torch.rand(2, 1, 16, 8)"),
        "attention", ["b2 h4/1 s16 d8 f32"], ""),
    "half": (
        task("return F.scaled_dot_product_attention(*x)", QKV.replace(", 8)", ", 8, dtype=torch.float16)")),
        "attention", ["b2 h4 s16 d8 f16"], ""),
    "keys_longer": (
        task("q, k, v = x\nreturn torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, dim=3) @ v",
             "torch.rand(1, 2, 4, 8), torch.rand(1, 2, 20, 8), torch.rand(1, 2, 20, 6)"),
        "attention", ["b1 h2 s4/20 d8/6 f32"], ""),
    "relu": (
        task("q, k, v = x\nreturn F.relu(q @ k.transpose(2, 3) / 3) @ v", QKV),
        "none", [], "ReLU stands where a softmax"),
    "softmax_of_linear": (
        task("return torch.softmax(self.map(x[0]), dim=-1)", "torch.rand(4, 8)", "self.map = nn.Linear(8, 8)"),
        "none", [], "a softmax of the output of a linear map"),
    "softmax_along_queries": (
        task("q, k, v = x\nreturn torch.softmax(q @ k.transpose(2, 3), dim=2) @ v", QKV), "none", [], "not along keys"),
    "convolution": (
        task("return self.map(x[0])", "torch.rand(1, 3, 8, 8)", "self.map = nn.Conv2d(3, 4, 3)"),
        "none", [], "no softmax"),
    "learned_bias": (
        task(WRITTEN.format(mask="w + self.bias"), QKV, "self.bias = nn.Parameter(torch.zeros(4, 16, 16))"),
        "unfit", [""], "a learned bias"),
    "dropped": (
        task(WRITTEN.format(mask="w").replace("return w @ v", "return self.drop(w) @ v"), QKV,
             "self.drop = nn.Dropout(0.1)"),
        "unfit", [""], "changed after the softmax by dropout"),
    "scores_capped": (task(WRITTEN.format(mask="torch.tanh(w)"), QKV), "unfit", [""], "changed by tanh"),
    "pretrained": (
        task("return self.model(x[0])", "torch.rand(1)", 'self.model = transformers.AutoModel.from_pretrained("x")',
             head=HEAD + "import transformers\n"), "outside", [], "not in the file"),
    "unknown": (
        task("return torch.softmax(torch.stft(x[0], 4), -1) @ x[1]", QKV), "unread", [], "a softmax of '.stft()'"),
    "unknown_loop": (
        task("while True:\n    y = torch.softmax(x[0], -1)\nreturn y", QKV), "unread", [], "more than 400000 steps"),
    "base_2": (
        task("q, k, v = x\nw = torch.exp2(q @ k.mT * 0.5)\nreturn w / w.sum(-1, keepdim=True) @ v", QKV), "unread", [],
        "products of two tensors as exponents of 2"),
    "power": (
        task("q, k, v = x\nw = math.e ** (q @ k.mT)\nreturn w / w.sum(-1, keepdim=True) @ v", QKV), "unread", [],
        "products of two tensors as exponents"),
    "all_names": (
        task("return scaled_dot_product_attention(*x)", QKV, head=HEAD + "from torch.nn.functional import *\n"), "unread",
        [], "an import of all names of torch.nn.functional"),
    "huge_number": (task("n = 9 ** 9 ** 9\nreturn torch.softmax(x[0], n)", QKV), "unread", [], "bits"),
    "huge_list": (task("n = [0] * 10 ** 12\nreturn torch.softmax(x[0], n)", QKV), "unread", [], "items"),
    "recursive": (
        task("return self.forward(*x) + torch.softmax(x[0], -1)", QKV), "unread", [], "deep"),
    "syntax": ("class Model(\n", "damaged", [], "line 1"),
    "empty": ("", "damaged", [], "it has no Model"),
    "nested": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "damaged", [], ""),
    "null": ("x = '\0'\n", "damaged", [], "UTF-8"),
    "latin": (b"# \xe9\n", "damaged", [], "UTF-8"),
}
