"""Tasks that a reader might misclassify: attention with an additional step, in place, under other names, with masks
made in every way. Each has the class that heed suite must assign; test_numbers.py compares the named problem with the
task's result.

A task is the body of forward(), after "q, k, v = x" unless it begins with "!"; x are the inputs.
"""

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as sdpa
G = 0.1
def twice(f):
    return lambda *a: 2 * f(*a)
class Att(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
    def forward(self, q, k, v):
        return torch.softmax(q @ k.mT * self.s, -1) @ v

SCALE = 0.2
class Base(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
    @property
    def scale(self):
        return self.s
    def forward(self, q, k, v):
        return torch.softmax(q @ k.mT * self.s, -1) @ v
class Twice(Base):
    def forward(self, q, k, v):
        return super().forward(q, k, v) * 2
class Prop(Base):
    def forward(self, q, k, v):
        return torch.softmax(q @ k.mT * self.scale * 2, -1) @ v
class Klass(nn.Module):
    s = 0.3
    def forward(self, q, k, v):
        return torch.softmax(q @ k.mT * self.s, -1) @ v
class MyMHA(nn.MultiheadAttention):
    pass
def mm2(a, b):
    return a @ b
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        return torch.softmax(q @ k.mT, -1) @ v
def attq(q, k, v, soft):
    w = q @ k.mT
    w = w.softmax(-1) if soft else w
    return w @ v
"""


def normal(*shapes):
    """Random inputs of these shapes."""
    return ", ".join(f"torch.randn({shape})" for shape in shapes)


def qkv(q, k=None, v=None):
    """Those of Q, K and V; by default K has the shape of Q, and V that of K."""
    return normal(q, k or q, v or k or q)


QKV = qkv("2,4,16,8")


def given(body, inputs=QKV, init="", members=""):
    return body, inputs, init, members


def written(mask="w", scale="/ math.sqrt(8)", dim="-1", after="w", out="w @ v"):
    """Attention as two products, with a custom mask and other steps."""
    return (f"w = q @ k.transpose(-2, -1) {scale}; w = {mask}; w = F.softmax(w, dim={dim}); w = {after}; "
            f"return {out}")


def text_of(task):
    """The text of a task's file."""
    body, inputs, init, members = task if isinstance(task, tuple) else given(task)
    body = body[1:] if body.startswith("!") else "q, k, v = x\n" + body

    def indented(text):
        return "".join(f"        {line}\n" for line in text.splitlines())

    return (
        f"{HEAD}\n\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{indented(init)}\n"
        f"{members}\n    def forward(self, *x):\n{indented(body)}\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


#: Attention of the inputs and nothing else.
WHOLE = {
    "honest": "return sdpa(q,k,v)",
    "honest_written": written(),
    "honest_inplace_logits": (
        "w = q @ k.mT; w.div_(8**0.5); "
        "w.masked_fill_(torch.ones(16,16,dtype=torch.bool).triu(1), -1e9); "
        "return w.softmax(-1) @ v"),
    "mask_tril_method": "return sdpa(q,k,v,attn_mask=torch.ones(16,16).tril().bool())",
    "mask_gsm": "return sdpa(q,k,v,attn_mask=nn.Transformer.generate_square_subsequent_mask(16))",
    "mask_buffer": given(
        "return sdpa(q,k,v,attn_mask=self.m)",
        init="self.register_buffer('m', torch.ones(16,16,dtype=torch.bool).tril())"),
    "mask_buffer_triu": given(
        "return sdpa(q,k,v,attn_mask=self.m)",
        init="self.register_buffer('m', torch.full((16,16), float('-inf')).triu(1))"),
    "mask_ones": "return sdpa(q,k,v,attn_mask=torch.ones(16,16).bool())",
    "scale_neg": "return sdpa(q,k,v,scale=-0.3)",
    "mask_and_causal": "return sdpa(q,k,v,attn_mask=None,is_causal=True)",
    "wrong_scale": written(scale="/ 8"),
    "scale_twice": written(scale="/ 8 * 3"),
    "mf_1e9": written("w.masked_fill(torch.triu(torch.ones(16,16), 1) == 1, -1e9)"),
    "mf_twice": written((
        "w.masked_fill(torch.triu(torch.ones(16,16), 1) == 1, "
        "-1e9).masked_fill(torch.triu(torch.ones(16,16), 5) == 1, -1e9)")),
    "mask_first": written("torch.triu(torch.full((16,16), float('-inf')), 1) + w"),
    "add_1e9": written("w + torch.triu(torch.full((16,16), -1e9), 1)"),
    "where": written("torch.where(torch.tril(torch.ones(16,16)).bool(), w, torch.tensor(float('-inf')))"),
    "where2": written("torch.where(torch.triu(torch.ones(16,16), 1).bool(), float('-inf'), w)"),
    "alpha": written("torch.add(w, torch.triu(torch.full((16,16), 1e9), 1), alpha=-1)"),
    "sub_alpha": (
        "w = torch.sub(q @ k.mT, torch.triu(torch.full((16,16), float('-inf')), 1), alpha=-1); "
        "return w.softmax(-1) @ v"),
    "clone_logits": (
        "w = q @ k.mT; u = w.clone(); u.masked_fill_(torch.ones(16,16,dtype=torch.bool).triu(1), "
        "-1e9); return w.softmax(-1) @ v"),
    "kqT": "w = (k @ q.mT / 8**0.5).softmax(-2); return w.mT @ v",
    "manual_softmax": (
        "w = q @ k.mT / 8**0.5; w = torch.exp(w - w.max(-1, keepdim=True)[0]); w = w / w.sum(-1, "
        "keepdim=True); return w @ v"),
    "logsoftmax_exp": "w = F.log_softmax(q @ k.mT / 8**0.5, -1).exp(); return w @ v",
    "einsum": (
        "w = torch.einsum('bhqd,bhkd->bhqk', q, k) / 8**0.5; return torch.einsum('bhqk,bhkd->bhqd', "
        "w.softmax(-1), v)"),
    "gqa": given("return sdpa(q,k,v, enable_gqa=True)", inputs=qkv("2,4,16,8", "2,2,16,8")),
    "mqa": given("w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("2,4,16,8", "2,1,16,8")),
    "staticm": given("!return self.att(*x)", members=(
        "    @staticmethod\n    def att(q, k, v, s=0.1):\n"
        "        return torch.softmax(q @ k.mT * s, -1) @ v\n")),
    "classm": given("!return self.att(*x)", members=(
        "    @classmethod\n    def att(cls, q, k, v, s=0.1):\n"
        "        return torch.softmax(q @ k.mT * s, -1) @ v\n")),
    "prop": given(
        "return torch.softmax(q @ k.mT * self.scale, -1) @ v",
        members="    @property\n    def scale(self):\n        return 0.1\n"),
    "causal_rect": given("return sdpa(q,k,v,is_causal=True)", inputs=qkv("2,4,8,8", "2,4,16,8")),
    "causal_rect_br": given(
        written("w.masked_fill(torch.tril(torch.ones(8,16), diagonal=8) == 0, -1e9)"),
        inputs=qkv("2,4,8,8", "2,4,16,8")),
    "int_scale_tensor": written(scale="/ torch.sqrt(torch.tensor(8.0))"),
    "finfo": written("w.masked_fill(torch.ones(16,16).triu(1).bool(), torch.finfo(w.dtype).min)"),
    "mask_neg": written("w - torch.triu(torch.full((16,16), float('inf')), 1)"),
    "ones_like_w": written("w.masked_fill(torch.ones_like(w).triu(1).bool(), -math.inf)"),
    "mask_fill_inplace": (
        "m = torch.zeros(16,16).masked_fill_(torch.ones(16,16).triu(1) == 1, -math.inf); "
        "return sdpa(q,k,v,attn_mask=m)"),
    "softmax_f64": "w = F.softmax(q @ k.mT / 8**0.5, dim=-1, dtype=torch.float64).float(); return w @ v",
    "list_pop": "!x = list(x); q = x.pop(0); k = x.pop(0); v = x.pop(0); return sdpa(q, k, v)",
    "dict_update": "!d = {'s': 0.1}; d.update({'s': 0.2}); q, k, v = x; return sdpa(q, k, v, scale=d['s'])",
    "patch_method": given(
        "return self.f(q, k, v)",
        init="self.f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.2)"),
    "sdpa_kernel": (
        "from torch.nn.attention import sdpa_kernel, SDPBackend\n"
        "with sdpa_kernel(SDPBackend.MATH):\n    return sdpa(q, k, v)"),
    "torch_sdpa": "return sdpa(query=q, key=k, value=v, is_causal=True)",
    "sliced_mask0": written("w.masked_fill(torch.ones(32,32).tril()[:16, :16] == 0, -1e9)"),
    "mask_unsq0": written("w.masked_fill(torch.ones(16,16).tril().unsqueeze(0).unsqueeze(0) == 0, -1e9)"),
    "mask_tril_T_inv": written("w.masked_fill(torch.ones(16,16).triu().T == 0, -1e9)"),
    "k_input_zero": given(
        "return sdpa(q, k, v)",
        inputs="torch.zeros(2,4,16,8), torch.ones(2,4,16,8), torch.ones(2,4,16,8)"),
    "same_input": given("return sdpa(q, k, v)", inputs="*([torch.randn(2,4,16,8)] * 3)"),
    "decode_causal": given("return sdpa(q,k,v,is_causal=True)", inputs=qkv("2,4,1,8", "2,4,16,8")),
    "br_mask": given("return sdpa(q,k,v,attn_mask=torch.ones(8,16).tril(8).bool())", inputs=qkv("2,4,8,8", "2,4,16,8")),
    "br_all": given("return sdpa(q,k,v,attn_mask=torch.ones(8,16).tril(15).bool())", inputs=qkv("2,4,8,8", "2,4,16,8")),
    "tl_long": given("return sdpa(q,k,v,is_causal=True)", inputs=qkv("2,4,16,8", "2,4,8,8")),
    "dv": given("return sdpa(q,k,v)", inputs=qkv("2,4,16,8", "2,4,16,8", "2,4,16,24")),
    "mask_then_shift": (
        "w = (q @ k.mT).masked_fill(torch.ones(16,16).triu(1) == 1, -1e5); w = w - w.amax(-1, "
        "keepdim=True); return w.softmax(-1) @ v"),
    "inv_bool": "m = ~torch.ones(16,16, dtype=torch.bool).triu(1); return sdpa(q,k,v,attn_mask=m)",
    "tril_of_zero": "m = torch.zeros(16,16).tril(); return sdpa(q,k,v,attn_mask=m)",
    "neg_scale_mask": "w = (-(q @ k.mT)).masked_fill(torch.ones(16,16).triu(1) == 1, -1e9); return w.softmax(-1) @ v",
    "pos_mask_neg": "w = -((q @ k.mT).masked_fill(torch.ones(16,16).triu(1) == 1, 1e9)); return w.softmax(-1) @ v",
    "dropout0": given("return self.d(sdpa(q, k, v))", init="self.d = nn.Dropout(0.0)"),
    "class_attr": given("return self.m(q, k, v)", init="self.m = Klass()"),
    "reassign_list": "!x = list(x); w = x[0] @ x[1].mT; x[0] = x[2]; return w.softmax(-1) @ x[2]",
    "cond_branch": "if q.shape[-2] > 8:\n    w = q @ k.mT\nelse:\n    w = q @ v.mT\nreturn w.softmax(-1) @ v",
    "aug_list": "a = [0.1]; b = a; b += [0.5]; return sdpa(q, k, v, scale=a[-1])",
    "lambda_default": "f = lambda a, s=0.3: a * s; return torch.softmax(f(q @ k.mT), -1) @ v",
    "star_kw": "return sdpa(q, k, v, **{'is_causal': True})",
    "const_scale_module": "return sdpa(q, k, v, scale=SCALE)",
    "sub_logits": "w = q @ k.mT; w -= w.max(-1, keepdim=True).values; return w.softmax(-1) @ v",
    "w_imask": "w = q @ k.mT; w += torch.full((16,16), -math.inf).triu(1); return w.softmax(-1) @ v",
    "fstring": (
        "!d = {}\nfor i in range(2):\n    d[f's{i}'] = 0.1 * (i + 1)\nq, k, v = x\n"
        "return sdpa(q,k,v,scale=d['s0'])"),
    "module_dict": given("return self.m['b'](q, k, v)", init="self.m = nn.ModuleDict({'a': Att(0.1), 'b': Att(0.2)})"),
    "ellipsis": "w = (q @ k.mT).softmax(-1)[..., :]; return w @ v[..., :, :]",
    "new_ones": written("w.masked_fill(w.new_ones(16,16).tril() == 0, -1e9)"),
    "new_full": written("w + q.new_full((16,16), -math.inf).triu(1)"),
    "scale_as_int": written(scale="* torch.full((), 1.7).int()"),
    "while_else": "i = 0\nwhile i < 3:\n    i += 1\nelse:\n    i = 10\nreturn (q @ k.mT * 0.05 * i).softmax(-1) @ v",
    "assert": "assert q.dim() == 4 and torch.allclose(q, q), 'no'; return sdpa(q, k, v)",
}

#: Attention with additional steps, or of tensors other than the unchanged inputs.
ATTENTION = {
    "plus_q": "return sdpa(q,k,v)+q",
    "times2": "return sdpa(q,k,v)*2",
    "lnorm_out": "return F.layer_norm(sdpa(q,k,v), (8,))",
    "flip_out": "return sdpa(q,k,v).flip(2)",
    "store_out": "o = sdpa(q,k,v); o[:, 0] = 0; return o",
    "aug_out": "o = sdpa(q,k,v); o += q; return o",
    "inplace_out": "o = sdpa(q,k,v); o.mul_(2); return o",
    "inplace_view": "o = sdpa(q,k,v); o.transpose(1,2).zero_(); return o",
    "inplace_fn": "o = sdpa(q,k,v); torch.relu_(o); return o",
    "inplace_word": "o = sdpa(q,k,v); F.relu(o, inplace=True); return o",
    "inplace_module": given("o = sdpa(q,k,v); self.act(o); return o", init="self.act = nn.ReLU(inplace=True)"),
    "out_word": "o = sdpa(q,k,v); torch.mul(o, 2, out=o); return o",
    "data_store": "o = sdpa(q,k,v); o.data[0] = 1; return o",
    "q1": "return sdpa(q+1,k,v)",
    "qnorm": "return sdpa(F.normalize(q, dim=-1),k,v)",
    "kq": "return sdpa(k,q,v)",
    "kq_written": "return torch.softmax(k @ q.transpose(-2,-1) / 8**0.5, -1) @ v",
    "qmul_inplace": "q.mul_(3); return sdpa(q,k,v)",
    "q_after": "o = sdpa(q,k,v); q.zero_(); return o",
    "qhalf": "return sdpa(q.half().float(),k,v)",
    "dropout_out": "return F.dropout(sdpa(q,k,v), 0.5)",
    "neg_q": "return sdpa(-q,k,v)",
    "q_scaled": "return sdpa(q*2,k,v)",
    "roll_k": "return sdpa(q,k.roll(1, 2),v)",
    "sort_q": "return sdpa(q.sort(-1)[0],k,v)",
    "clone": "return sdpa(q.clone(),k,v)",
    "q_mut_between": "w = q @ k.mT / 8**0.5; q.mul_(2); return w.softmax(-1) @ v",
    "bmm": (
        "q, k, v = (y.reshape(8,16,8) for y in (q,k,v)); w = torch.bmm(q, k.transpose(1,2)) / 8**0.5; "
        "return torch.bmm(w.softmax(-1), v).view(2,4,16,8)"),
    "view_split": (
        "w = torch.bmm(q.reshape(8,16,8), k.reshape(8,16,8).mT) / 8**0.5; "
        "w = w.view(2,4,16,16).softmax(-1); return w @ v"),
    "view_merge": (
        "w = q @ k.mT / 8**0.5; w = w.view(8,16,16).softmax(-1); return torch.bmm(w, "
        "v.reshape(8,16,8)).view(2,4,16,8)"),
    "einsum_bshd": given(
        (
        "w = torch.einsum('bqhd,bkhd->bhqk', q, k) / 8**0.5; "
        "return torch.einsum('bhqk,bkhd->bqhd', w.softmax(-1), v)"),
        inputs=qkv("2,16,4,8", "2,12,4,8")),
    "einsum_wrongT": (
        "w = torch.einsum('bhqd,bhkd->bhkq', q, k) / 8**0.5; "
        "return torch.einsum('bhqk,bhkd->bhqd', w.softmax(-1), v)"),
    "kv_rep": given(
        "k = k.repeat_interleave(2, 1); v = v.repeat_interleave(2, 1); return sdpa(q,k,v)",
        inputs=qkv("2,4,16,8", "2,2,16,8")),
    "kv_repeat": given(
        "k = k.repeat(1, 2, 1, 1); v = v.repeat(1, 2, 1, 1); return sdpa(q,k,v)",
        inputs=qkv("2,4,16,8", "2,2,16,8")),
    "mqa_k_only": given(
        "w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v",
        inputs=qkv("2,4,16,8", "2,1,16,8", "2,4,16,8")),
    "q_bcast_head": given("w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("2,1,16,8", "2,4,16,8")),
    "q_bcast_batch": given("w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("1,4,16,8", "2,4,16,8")),
    "kv_bcast_batch": given("return sdpa(q,k,v)", inputs=qkv("3,4,16,8", "1,4,16,8")),
    "mixed_rank": given("w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("4,16,8", "2,4,16,8")),
    "two_d": given("w = q @ k.T / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("16,8", "12,8")),
    "three_d": given("w = q @ k.mT / 8**0.5; return w.softmax(-1) @ v", inputs=qkv("3,16,8", "3,12,8")),
    "sdpa3d": given("return sdpa(q,k,v)", inputs=qkv("3,16,8", "3,12,8")),
    "bshd": given(
        "q, k, v = (y.transpose(1, 2) for y in (q,k,v)); return sdpa(q,k,v).transpose(1,2)",
        inputs=qkv("2,16,4,8", "2,12,4,8")),
    "bshd_noT": given(
        "return sdpa(q.transpose(1,2),k.transpose(1,2),v.transpose(1,2))",
        inputs=qkv("2,16,4,8", "2,12,4,8")),
    "square": given("return sdpa(q.transpose(1,2),k.transpose(1,2),v.transpose(1,2))", inputs=qkv("2,8,8,8")),
    "square_out": given("return sdpa(q,k,v).transpose(1,2)", inputs=qkv("2,8,8,8")),
    "square_mT": given("return sdpa(q.mT,k,v)", inputs=qkv("2,8,8,8")),
    "square_noT": given("return (q @ k / 8**0.5).softmax(-1) @ v", inputs=qkv("2,8,8,8")),
    "batch_roll": "return sdpa(torch.cat([q[1:], q[:1]]),k,v)",
    "unbind_stack": "return sdpa(torch.stack(q.unbind(0)[::-1]),k,v)",
    "mha": given(
        "!return self.a(x[0], x[0], x[0], need_weights=False)[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "mha_cross": given(
        "!return self.a(x[0], x[1], x[1])[0]",
        inputs=normal("2,16,24", "2,10,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "mha_nobias": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, bias=False, batch_first=True)"),
    "mha_weights": given(
        "!return self.a(x[0], x[0], x[0])[1]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "mha_2d": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("16,24"),
        init="self.a = nn.MultiheadAttention(24, 3)"),
    "encoder": given(
        "!return self.e(x[0])",
        inputs=normal("2,16,24"),
        init="self.e = nn.TransformerEncoderLayer(24, 3, 32, 0.0, batch_first=True)"),
    "learned_q": given(
        "!q = self.q.expand(2, 4, 5, 8); k, v = x; return torch.softmax(q @ k.mT / 8**0.5, -1) @ v",
        inputs=normal("2,4,16,8", "2,4,16,8"),
        init="self.q = nn.Parameter(torch.randn(1, 4, 5, 8))"),
    "staticm_default": given("!return self.att(*x)", members=(
        "    @staticmethod\n    def att(q, k, v, u=None):\n"
        "        return torch.softmax(k @ q.mT * 0.2, -1) @ (u if u else v)\n")),
    "tuple_out": "return sdpa(q,k,v), q",
    "extra_input": given(
        "!q, k, v, s = x; return torch.softmax(q @ k.mT * s, -1) @ v",
        inputs="torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), 0.3"),
    "extra_tensor": given(
        "!q, k, v, s = x; return sdpa(q, k, v) + s",
        inputs=normal("2,4,16,8", "2,4,16,8", "2,4,16,8", "8")),
    "twoatt": "o = sdpa(q,k,v); return sdpa(o,k,v)",
    "discard": "o = sdpa(q,k,v); return q",
    "loop_heads": "return torch.stack([sdpa(q[:, i], k[:, i], v[:, i]) for i in range(4)], 1)",
    "v_softmaxed": "return sdpa(q.softmax(-1), k.softmax(-2), v)",
    "module_list": given(
        "for l in self.ls:\n    q = l(q, k, v)\nreturn q",
        init="self.ls = nn.ModuleList([Att(0.1), Att(0.2)])"),
    "q_pos_add": "q = q + torch.randn(8); return sdpa(q,k,v)",
    "softmax_f16": "w = F.softmax(q @ k.mT / 8**0.5, dim=-1, dtype=torch.bfloat16).float(); return w @ v",
    "logits_half": "w = (q @ k.mT / 8**0.5).half().float().softmax(-1); return w @ v",
    "roundtrip": "return sdpa(q,k,v).transpose(1,2).reshape(2,16,32).view(2,16,4,8).transpose(1,2)",
    "list_reverse": "!x = list(x); x.reverse(); q, k, v = x; return sdpa(q, k, v)",
    "exec_": "o = sdpa(q, k, v); exec('o.mul_(2)'); return o",
    "foreach": "o = sdpa(q,k,v); torch._foreach_mul_([o], 2.0); return o",
    "imul_alias": "o = sdpa(q,k,v); p = o; p *= 3; return o",
    "iadd_input": "q += 1; return sdpa(q,k,v)",
    "iadd_slice": "o = sdpa(q,k,v); o[0] += 1; return o",
    "set_data": "o = sdpa(q,k,v); o.data = q; return o",
    "index_put": "o = sdpa(q,k,v); o.index_put_((torch.tensor([0]),), torch.tensor(0.0)); return o",
    "chunks": (
        "o = torch.empty_like(q)\nfor i in range(0, 16, 4):\n    o[:, :, i:i+4] = torch.softmax(q[:, :, "
        "i:i+4] @ k.mT, -1) @ v\nreturn o"),
    "chunks_causal": (
        "outs = []\nfor i in range(0, 16, 4):\n    w = q[:, :, i:i+4] @ k.mT\n"
        "    m = torch.ones(4, 16).tril(i) == 0\n    outs.append(torch.softmax(w.masked_fill(m, "
        "-1e9), -1) @ v)\nreturn torch.cat(outs, 2)"),
    "f16_promoted": given(
        "q = q * torch.ones(8); k = k.float(); v = v.float(); return sdpa(q, k, v)",
        inputs="torch.randn(2,4,16,8).half(), torch.randn(2,4,16,8).half(), torch.randn(2,4,16,8).half()"),
    "fp8": "q = q.to(torch.float8_e4m3fn).float(); return sdpa(q,k,v)",
    "F_linear_2d": given(
        "w = F.linear(q, k) / 8**0.5; return F.linear(w.softmax(-1), v.T)",
        inputs=qkv("16,8", "12,8")),
    "q_through_linear": given("return sdpa(self.l(q), k, v)", init="self.l = nn.Linear(8, 8)"),
    "dropout_pos": "o = sdpa(q,k,v); F.dropout(o, 0.5, True, True); return o",
    "relu_pos": "o = sdpa(q,k,v); F.relu(o, True); return o",
    "seq_inplace": given(
        "o = sdpa(q,k,v); self.s(o); return o",
        init="self.s = nn.Sequential(nn.Identity(), nn.LeakyReLU(0.1, True))"),
    "super_forward": given("return self.m(q, k, v)", init="self.m = Twice(0.1)"),
    "nested_fn_swapped": (
        "def att(a, b, c):\n    return torch.softmax(a @ b.mT * 0.2, -1) @ c\nreturn att(c=q, "
        "b=k, a=v)"),
    "mm_reused": "return mm2(torch.softmax(q @ k.mT, -1), v) + mm2(q, k.mT @ v)",
    "two_uses": "return attq(q, k, v, True) + attq(q, k, v, False)",
    "loop_reassign": "for i in range(2):\n    w = q @ k.mT\n    q = q * 2\n    o = w.softmax(-1) @ v\nreturn o",
    "side_effect": "u = q.mul_(2); w = q @ k.mT; return w.softmax(-1) @ v",
    "while_loop": "i = 0\nwhile i < 2:\n    q = torch.softmax(q @ k.mT, -1) @ v\n    i += 1\nreturn q",
    "swap": "q, k = k, q; return sdpa(q, k, v)",
    "logits_T_softmax": "w = (q @ k.mT).transpose(-1, -2).softmax(-1); return w @ q",
    "cosine": "q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1); return (q @ k.mT * 10).softmax(-1) @ v",
    "torch_mm2d": given("return torch.mm(torch.softmax(torch.mm(q, k.t()), 1), v)", inputs=qkv("16,8", "12,8")),
    "mha_scaled": given(
        "!return self.a(x[0] * 2, x[0] * 2, x[0] * 2)[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "mha_scaled1": given(
        "!y = x[0] * 2; return self.a(y, y, y)[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "proj_scaled": given((
        "!y = x[0]; q, k, v = self.l(y).view(2, 16, 3, 2, 4).permute(2, 0, 3, 1, 4); "
        "return sdpa(q * 3, k, v)"), inputs=normal("2,16,8"), init="self.l = nn.Linear(8, 24)"),
    "packed_view": given(
        (
        "!y = x[0]; qkv = self.l(y).reshape(2, 16, 3, 2, 4).permute(2, 0, 3, 1, 4); q, k, "
        "v = qkv[0], qkv[1], qkv[2]; w = (q * 4**-0.5) @ k.transpose(-2, -1); "
        "w = w.softmax(dim=-1); return (w @ v).transpose(1, 2).reshape(2, 16, 8)"),
        inputs=normal("2,16,8"),
        init="self.l = nn.Linear(8, 24)"),
    "wrong_reshape": given(
        (
        "!y = x[0]; q, k, v = self.l(y).chunk(3, -1); q, k, v = (z.reshape(2, 2, 16, "
        "4) for z in (q, k, v)); return sdpa(q, k, v).reshape(2, 16, 8)"),
        inputs=normal("2,16,8"),
        init="self.l = nn.Linear(8, 24)"),
    "select_": "o = sdpa(q,k,v); o.select(1, 0).zero_(); return o",
    "numpy_": "o = sdpa(q,k,v); o.numpy()[0] = 0; return o",
    "numpy_aug": "o = sdpa(q,k,v); n = o.numpy(); n += 1; return o",
    "diag_": "o = sdpa(q,k,v); o.diagonal(0, 2, 3).fill_(5); return o",
    "dunder": "o = sdpa(q,k,v); o.__imul__(2); return o",
    "dunder2": "o = sdpa(q,k,v); o.__setitem__(0, 0.0); return o",
    "tensor_fn": "o = sdpa(q,k,v); torch.Tensor.mul_(o, 2); return o",
    "real_": "o = sdpa(q,k,v); o.real.zero_(); return o",
    "out_tuple": "o = sdpa(q,k,v); torch.max(q, 1, out=(o, torch.empty(0, dtype=torch.long))); return o",
    "row_loop": "o = sdpa(q,k,v)\nfor r in o:\n    r.zero_()\nreturn o",
    "dlpack": "o = sdpa(q,k,v); torch.from_dlpack(o).zero_(); return o",
    "ctypes_": "o = sdpa(q,k,v); import ctypes; ctypes.memset(o.data_ptr(), 0, 64); return o",
    "repeat_kv_fn": given(
        (
        "def rep(x, n):\n    b, h, s, d = x.shape\n    return x[:, :, None].expand(b, h, n, s, "
        "d).reshape(b, h * n, s, d)\nreturn sdpa(q, rep(k, 2), rep(v, 2))"),
        inputs=qkv("2,4,16,8", "2,2,16,8")),
    "gqa_5d": given(
        (
        "q5 = q.view(2, 2, 2, 16, 8); w = q5 @ k[:, :, None].mT / 8**0.5; return (w.softmax(-1) @ v[:, "
        ":, None]).reshape(2, 4, 16, 8)"),
        inputs=qkv("2,4,16,8", "2,2,16,8")),
    "setattr": given(
        "!setattr(self, 's', 0.3); q, k, v = x; return torch.softmax(q @ k.mT * self.s, -1) @ v",
        init="self.s = 0.1"),
    "reassign_attr": "self.z = q; w = self.z @ k.mT; self.z = v; return w.softmax(-1) @ v",
    "softmax_f32_of_half": given("w = (q @ k.mT / 8**0.5).float().softmax(-1).to(q.dtype); return w @ v", inputs=(
        "torch.randn(2,4,16,8).bfloat16(), torch.randn(2,4,16,8).bfloat16(), "
        "torch.randn(2,4,16,8).bfloat16()")),
    "softmax_f32_kw": given(
        "w = F.softmax(q @ k.mT / 8**0.5, dim=-1, dtype=torch.float32).to(q.dtype); return w @ v",
        inputs=(
        "torch.randn(2,4,16,8).bfloat16(), torch.randn(2,4,16,8).bfloat16(), "
        "torch.randn(2,4,16,8).bfloat16()")),
    "assert_writes": "assert q.mul_(2) is not None; return sdpa(q, k, v)",
    "with_writes": "with torch.set_grad_enabled(q.mul_(2) is None):\n    return sdpa(q, k, v)",
    "out_of_product": "o = torch.empty_like(q); torch.matmul((q @ k.mT).softmax(-1), v, out=o); return o",
    "mha_named": given(
        "!return self.a(query=x[0], key=x[0], value=x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "rotary": "a, b = q[..., :4], q[..., 4:]; return sdpa(torch.cat([-b, a], -1), k, v)",
}

#: Attention that no problem can describe.
UNFIT = {
    "mask_eye": "return sdpa(q,k,v,attn_mask=torch.eye(16).bool())",
    "mask_bool_triu": "return sdpa(q,k,v,attn_mask=torch.ones(16,16).triu().bool())",
    "mask_tril1": "return sdpa(q,k,v,attn_mask=torch.ones(16,16).tril(1).bool())",
    "causal_opaque2": "c = torch.is_grad_enabled(); return sdpa(q,k,v,is_causal=bool(c))",
    "scale0": "return sdpa(q,k,v,scale=0.0)",
    "scale_opaque": "return sdpa(q,k,v,scale=q.mean().item())",
    "dropout_p": "return sdpa(q,k,v,dropout_p=0.1)",
    "mf_1e9_prescale": (
        "w = q @ k.mT; w = w.masked_fill(torch.triu(torch.ones(16,16), 1) == 1, -1e4) / 1e4; "
        "return w.softmax(-1) @ v"),
    "mf_neg_scale": (
        "w = q @ k.mT; w = w.masked_fill(torch.triu(torch.ones(16,16), 1) == 1, -1e9) * -0.1; "
        "return w.softmax(-1) @ v"),
    "mf_shift": written("(w - 2e4).masked_fill(torch.triu(torch.ones(16,16), 1) == 1, -1e4)"),
    "mf_all": written("w.masked_fill(torch.triu(torch.ones(16,16), 0) == 1, float('-inf'))"),
    "mf_lower": written("w.masked_fill(torch.tril(torch.ones(16,16)) == 1, float('-inf'))"),
    "mf_row": written("w.masked_fill(torch.tril(torch.ones(1,16)) == 0, float('-inf'))"),
    "mf_col": written("w.masked_fill(torch.tril(torch.ones(16,1)) == 0, float('-inf'))"),
    "mf_expand": written("w.masked_fill(torch.tril(torch.ones(1,16)).expand(16,16) == 0, float('-inf'))"),
    "nan_mask": written("w + torch.triu(torch.ones(16,16), 1) * float('-inf')"),
    "div_round": "w = torch.div(q @ k.mT, 3, rounding_mode='floor'); return w.softmax(-1) @ v",
    "store_logits": "w = q @ k.mT; w[:, :, :, 0] = 0; return w.softmax(-1) @ v",
    "store_weights": "w = (q @ k.mT).softmax(-1); w[:, :, :, 0] = 0; return w @ v",
    "alias_logits": "w = q @ k.mT; u = w; u += 100 * torch.eye(16); return w.softmax(-1) @ v",
    "view_logits": (
        "w = q @ k.mT; w.view(8,16,16).masked_fill_(torch.ones(16,16,dtype=torch.bool).triu(1), "
        "-1e9); return w.softmax(-1) @ v"),
    "opaque_inplace": (
        "w = q @ k.mT; m = torch.linalg.qr(q)[0][..., :1] > 0; w.masked_fill_(m, -1e9); "
        "return w.softmax(-1) @ v"),
    "unknown_inplace_logits": "w = q @ k.mT; w.index_fill_(-1, torch.tensor([1]), -1e9); return w.softmax(-1) @ v",
    "eye_add": written("w + torch.eye(16)"),
    "capped": written("5 * torch.tanh(w / 5)"),
    "weights2": written(after="w * 2"),
    "mha_biaskv": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, add_bias_kv=True, batch_first=True)"),
    "mha_zero": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, add_zero_attn=True, batch_first=True)"),
    "mha_causal": given(
        "!return self.a(x[0], x[0], x[0], is_causal=True, attn_mask=torch.ones(16,16).triu(1).bool())[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True)"),
    "mha_dropout": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, 0.1, batch_first=True)"),
    "encoder_causal": given(
        (
        "!return self.e(x[0], is_causal=True, "
        "src_mask=nn.Transformer.generate_square_subsequent_mask(16))"),
        inputs=normal("2,16,24"),
        init="self.e = nn.TransformerEncoderLayer(24, 3, 32, 0.0, batch_first=True)"),
    "encoder_padding": given(
        "!return self.e(x[0], src_key_padding_mask=torch.zeros(2,16).bool())",
        inputs=normal("2,16,24"),
        init="self.e = nn.TransformerEncoderLayer(24, 3, 32, 0.0, batch_first=True)"),
    "encoder_stack_mask": given(
        "!return self.e(x[0], mask=nn.Transformer.generate_square_subsequent_mask(16))",
        inputs=normal("2,16,24"),
        init=(
        "self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(24, 3, 32, 0.0, "
        "batch_first=True), 2)")),
    "learned_temp": given(written(scale="* self.t"), init="self.t = nn.Parameter(torch.ones(()) * 0.5)"),
    "learned_temp2": given(written(scale="* self.t"), init="self.t = nn.Parameter(torch.tensor(0.5))"),
    "causal_pad": (
        "w = q @ k.mT; m = torch.tril(torch.ones(20, 20))[4:, :16]; return w.masked_fill(m == 0, "
        "-1e9).softmax(-1) @ v"),
    "window": written("w.masked_fill((torch.tril(torch.ones(16,16)) - torch.tril(torch.ones(16,16), -4)) == 0, -1e9)"),
    "dropout_w": written(after="F.dropout(w, 0.2)"),
    "f64": "return sdpa(q.double(),k.double(),v.double()).float()",
    "where_wrong": written("torch.where(torch.tril(torch.ones(16,16)).bool(), torch.tensor(float('-inf')), w)"),
    "add_bool": written("w + torch.ones(16,16).triu(1).bool()"),
    "mul_tril": written("w * torch.tril(torch.ones(16,16))"),
    "softmax_tril": written(after="w * torch.tril(torch.ones(16,16))"),
    "tril_logits": "w = torch.tril(q @ k.mT); return w.softmax(-1) @ v",
    "tril_logits_m": "w = (q @ k.mT).tril(); return w.softmax(-1) @ v",
    "mask_minus_neg": written("w - torch.triu(torch.full((16,16), float('-inf')), 1)"),
    "arange_mask": written("w.masked_fill(torch.arange(16)[None] > torch.arange(16)[:, None], -math.inf)"),
    "mask_store": "m = torch.ones(16,16).tril().bool(); m[0, 5] = True; return sdpa(q,k,v,attn_mask=m)",
    "mask_view_store": "m = torch.ones(16,16).tril().bool(); m.view(-1)[5] = True; return sdpa(q,k,v,attn_mask=m)",
    "param_init": given(
        "w = q @ k.mT * self.t; return w.softmax(-1) @ v",
        init="self.t = torch.ones(()); nn.init.constant_(self.t, 0.2)"),
    "buffer_fill": given(
        "w = q @ k.mT * self.t; return w.softmax(-1) @ v",
        init="self.register_buffer('t', torch.ones(())); self.t.fill_(0.2)"),
    "sliced_mask": written("w.masked_fill(torch.ones(32,32).tril()[:16, 8:24] == 0, -1e9)"),
    "sliced_step": written("w.masked_fill(torch.ones(32,32).tril()[::2, ::2] == 0, -1e9)"),
    "mask_none_mid": given(
        written("w.masked_fill(torch.ones(16,16).tril()[:, None, :] == 0, -1e9)"),
        inputs=qkv("2,16,16,8")),
    "mask_unsq": given(
        written("w.masked_fill(torch.ones(16,16).tril().unsqueeze(1) == 0, -1e9)"),
        inputs=qkv("2,16,16,8")),
    "mask_view_bad": written("w.masked_fill(torch.ones(4,64).tril().view(16,16) == 0, -1e9)"),
    "mask_repeat": written("w.masked_fill(torch.ones(8,8).tril().repeat(2,2) == 0, -1e9)"),
    "mask_T": written("w.masked_fill(torch.ones(16,16).tril().T == 0, -1e9)"),
    "mask_triu_T": written("w.masked_fill(torch.ones(16,16).triu(1).T == 0, -1e9)"),
    "mask_flip": written("w.masked_fill(torch.ones(16,16).triu(1).flip(0) == 1, -1e9)"),
    "mask_logical_not": written("w.masked_fill(torch.logical_not(torch.ones(16,16).tril()), -1e9)"),
    "mask_not_float": written("w.masked_fill((-torch.ones(16,16).tril()).bool(), -1e9)"),
    "mask_log": written("w + torch.log(torch.ones(16,16).tril())"),
    "mask_mul_then": written("w * torch.ones(16,16).tril() - 1e9 * (1 - torch.ones(16,16).tril())"),
    "mask_prefix": (
        "m = torch.ones(16,16).tril(); m[:, :4] = 1; w = (q @ k.mT).masked_fill(m == 0, -1e9); "
        "return w.softmax(-1) @ v"),
    "mask_input": given("!q, k, v, m = x; return sdpa(q, k, v, attn_mask=m)", inputs=(
        "torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), "
        "torch.ones(16,16).tril().bool()")),
    "mask_input_ones": given("!q, k, v, m = x; return (q @ k.mT).masked_fill(m == 0, -1e9).softmax(-1) @ v", inputs=(
        "torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), torch.randn(2, 4, 16, 8), "
        "torch.ones(16,16).tril()")),
    "br_mask_wrong": given(
        "return sdpa(q,k,v,attn_mask=torch.ones(8,16).tril(7).bool())",
        inputs=qkv("2,4,8,8", "2,4,16,8")),
    "br_long": given(
        "return sdpa(q,k,v,attn_mask=torch.ones(16,8).tril(-8).bool())",
        inputs=qkv("2,4,16,8", "2,4,8,8")),
    "row_scale": "w = q @ k.mT * torch.randn(16, 1); return w.softmax(-1) @ v",
    "row_shift_then_mask2": (
        "w = q @ k.mT - (1e6 + torch.rand(16, 1)); "
        "w = w.masked_fill(torch.ones(16,16).triu(1) == 1, -1e5); return w.softmax(-1) @ v"),
    "mask_then_clamp": (
        "w = (q @ k.mT).masked_fill(torch.ones(16,16).triu(1) == 1, -1e5).clamp(-50, 50); "
        "return w.softmax(-1) @ v"),
    "nan_to_num": "w = (q @ k.mT).softmax(-1).nan_to_num(0.0); return w @ v",
    "inv_wrong": "m = ~torch.ones(16,16, dtype=torch.bool).tril(); return sdpa(q,k,v,attn_mask=m)",
    "tril_of_random": "m = (torch.rand(16,16) > 0.2).tril(); return sdpa(q,k,v,attn_mask=m)",
    "opaque_diag": "m = torch.ones(16,16).tril(int(q.sum())).bool(); return sdpa(q,k,v,attn_mask=m)",
    "neg_after_mask": "w = -((q @ k.mT).masked_fill(torch.ones(16,16).triu(1) == 1, -1e9)); return w.softmax(-1) @ v",
    "training": "return sdpa(q, k, v, dropout_p=0.1 if self.training else 0.0)",
    "w_index": "w = (q @ k.mT).softmax(-1); return w[:, :, :, :8] @ v[:, :, :8]",
    "diff_attn": "a = (q @ k.mT).softmax(-1) - 0.5 * (k @ q.mT).softmax(-1); return a @ v",
    "topk": "w = q @ k.mT; t = w.topk(4, -1)[0][..., -1:]; w = w.masked_fill(w < t, -1e9); return w.softmax(-1) @ v",
    "logits_select": "w = q @ k.mT; w.select(3, 0).fill_(-1e9); return w.softmax(-1) @ v",
    "logits_numpy": "w = q @ k.mT; w.numpy()[..., 0] = -1e9; return w.softmax(-1) @ v",
    "logits_setitem": "w = q @ k.mT; w.__setitem__((Ellipsis, 0), -1e9); return w.softmax(-1) @ v",
    "mask_select": (
        "m = torch.ones(16,16).tril(); m.select(0, 0).fill_(1); "
        "return (q @ k.mT).masked_fill(m == 0, -1e9).softmax(-1) @ v"),
    "counter": given("!self.n += 1; q, k, v = x; return sdpa(q,k,v,scale=0.1*self.n)", init="self.n = 0"),
    "counts_in_list": given("self.c.append(1); return sdpa(q, k, v, scale=0.1 * len(self.c))", init="self.c = []"),
    "scale_as_zero": written(scale="* torch.full((), 0.5).long()"),
    "mask_as_int": written("w.masked_fill((torch.ones(16,16).tril() * 0.5).int() == 0, -1e9)"),
    "mask_as_int8": written("w.masked_fill((torch.ones(16,16).tril() * 0.5).to(torch.int8) == 0, -1e9)"),
    "scale_unknown": written(scale="* q.max().item()"),
}

#: Attention, or possibly attention, that the reader does not follow.
UNREAD = {
    "weights_T": written(out="w.transpose(-2,-1) @ v"),
    "v_w": "w = (q @ k.mT).softmax(-1); return (v.mT @ w.mT).mT",
    "manual_softmax_amax": (
        "w = q @ k.mT / 8**0.5; w = torch.exp(w - w.amax(-1, keepdim=True)); "
        "return (w @ v) / w.sum(-1, keepdim=True)"),
    "manual_wrong_dim": (
        "w = q @ k.mT / 8**0.5; w = torch.exp(w - w.amax(-1, keepdim=True)); w = w / w.sum(-2, "
        "keepdim=True); return w @ v"),
    "baddbmm": (
        "q, k, v = (y.reshape(8,16,8) for y in (q,k,v)); w = torch.baddbmm(torch.zeros(8,16,16), q, "
        "k.mT, beta=0, alpha=0.35).softmax(-1); return torch.bmm(w, v).view(2,4,16,8)"),
    "perm_heads": "w = (q @ k.mT / 8**0.5).transpose(0,1).softmax(-1); return (w @ v.transpose(0,1)).transpose(0,1)",
    "einsum_gqa": given(
        (
        "w = torch.einsum('bqhgd,bkhd->bhgqk', q, k) / 8**0.5; "
        "return torch.einsum('bhgqk,bkhd->bqhgd', w.softmax(-1), v)"),
        inputs=qkv("2,16,2,3,8", "2,12,2,8")),
    "einsum_sumT": (
        "w = torch.einsum('bhqd,bhkd->bhqk', q, k) / 8**0.5; return torch.einsum('bhqk,bhqd->bhkd', "
        "w.softmax(-1), v)"),
    "einsum_three": (
        "w = torch.einsum('bhqd,bhkd->bhqk', q, k).softmax(-1); "
        "return torch.einsum('bhqk,bhkd,de->bhqe', w, v, torch.eye(8))"),
    "index_flip": "return sdpa(q[[1,0]],k,v)",
    "mha_kdim": given(
        "!return self.a(x[0], x[1], x[1])[0]",
        inputs=normal("2,16,24", "2,10,12"),
        init="self.a = nn.MultiheadAttention(24, 3, kdim=12, vdim=12, batch_first=True)"),
    "decoder": given(
        "!return self.e(x[0], x[0])",
        inputs=normal("2,16,24"),
        init="self.e = nn.TransformerDecoderLayer(24, 3, 32, 0.0, batch_first=True)"),
    "deco": given("!return self.att(*x)", members=(
        "    @twice\n    def att(self, q, k, v):\n        return torch.softmax(q @ k.mT * 0.1, "
        "-1) @ v\n")),
    "global_": given(
        "!global G; G = 0.3; return self.att(*x)",
        members="    def att(self, q, k, v):\n        return torch.softmax(q @ k.mT * G, -1) @ v\n"),
    "autocast": "with torch.autocast('cpu', dtype=torch.bfloat16):\n    return (q @ k.mT * 0.3).softmax(-1) @ v",
    "softmax_plus_one": "w = q @ k.mT; w = torch.exp(w) / (1 + torch.exp(w).sum(-1, keepdim=True)); return w @ v",
    "weights_only": "return (q @ k.mT).softmax(-1)",
    "weights_sum": "w = (q @ k.mT).softmax(-1); return (w.unsqueeze(-1) * v.unsqueeze(2)).sum(3)",
    "self_dict": given(
        "!self.__dict__['s'] = 0.4; q, k, v = x; return sdpa(q, k, v, scale=self.s)",
        init="self.s = 0.1"),
    "patch_F": "F.softmax_ = 1; return sdpa(q, k, v)",
    "hook": given(
        "return self.a(q, k, v)",
        init="self.a = Att(0.1); self.a.register_forward_hook(lambda m, i, o: o * 2)"),
    "default_dtype": "torch.set_default_dtype(torch.float32); return sdpa(q, k, v)",
    "checkpoint": "return torch.utils.checkpoint.checkpoint(sdpa, q, k, v, use_reentrant=False)",
    "checkpoint2": given(
        "return torch.utils.checkpoint.checkpoint(self.f, q, k, v, use_reentrant=False)",
        init="self.f = Att(0.1)"),
    "compile": "return torch.compile(sdpa)(q, k, v)",
    "flex": "from torch.nn.attention.flex_attention import flex_attention; return flex_attention(q, k, v)",
    "star_kw_opaque": given(
        "return sdpa(q, k, v, **self.kw())",
        init="self.kw = __import__('functools').partial(dict, is_causal=True)"),
    "unpack_starred": "!q, *kv = x; return sdpa(q, *kv)",
    "w_chunk": "w = (q @ k.mT).softmax(-1); a, b = w.chunk(2, -1); return a @ v[:, :, :8] + b @ v[:, :, 8:]",
    "logits_cat": "w = torch.cat([q @ k.mT, torch.zeros(2,4,16,1)], -1).softmax(-1); return w[..., :16] @ v",
    "sink": "w = torch.cat([q @ k.mT, torch.zeros(2,4,16,1)], -1).softmax(-1)[..., :-1]; return w @ v",
    "w_batch_index": "w = (q @ k.mT).softmax(-1); return torch.stack([w[:, i] @ v[:, i] for i in range(4)], 1)",
    "talking": "w = (q @ k.mT).softmax(-1); w = torch.einsum('hg,bgst->bhst', torch.eye(4), w); return w @ v",
    "double_softmax": "w = (q @ k.mT).softmax(-1).softmax(-1); return w @ v",
    "mha_subclass": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = MyMHA(24, 3, batch_first=True)"),
    "mha_attr": given(
        "!return self.a(x[0], x[0], x[0])[0]",
        inputs=normal("2,16,24"),
        init="self.a = nn.MultiheadAttention(24, 3, batch_first=True); self.a.dropout = 0.5"),
    "autograd_fn": "return Fn.apply(q, k, v)",
    "online": (
        "m = torch.full((2,4,16,1), -math.inf)\nl = torch.zeros(2,4,16,1)\na = torch.zeros_like(v)\n"
        "for i in range(0, 16, 8):\n    s = q @ k[:, :, i:i+8].mT\n    n = torch.maximum(m, s.amax(-1, "
        "keepdim=True))\n    p = torch.exp(s - n)\n    c = torch.exp(m - n)\n    l = l * c + p.sum(-1, "
        "keepdim=True)\n    a = a * c + p @ v[:, :, i:i+8]\n    m = n\nreturn a / l"),
    "fstring2": (
        "!d = {}\nfor i in range(2):\n    d[f's{i:02d}'] = 0.1 * (i + 1)\nq, k, v = x\n"
        "return sdpa(q,k,v,scale=d['s00'])"),
    "del_attr": given("return self.m(q, k, v)", init="self.m = Klass(); self.m.s = 0.9; del self.m.s"),
    "lse_norm": "w = q @ k.mT; w = torch.exp(w - torch.logsumexp(w, -1, keepdim=True)); return w @ v",
    "autocast_renamed": (
        "from torch import autocast as kind\nwith kind('cpu', dtype=torch.bfloat16):\n"
        "    return (q @ k.mT * 0.3).softmax(-1) @ v"),
    "with_own_class": given(
        "class Other:\n    def __enter__(me):\n        self.s = 0.9\n    def __exit__(me, *a):\n        pass\n"
        "with Other():\n    return sdpa(q, k, v, scale=self.s)", init="self.s = 0.1"),
    "patch_class": "nn.Softmax.extra = lambda self, x: torch.sigmoid(x); return nn.Softmax(-1)(q @ k.mT) @ v",
    "patch_dict": "F.__dict__['extra'] = 1; return sdpa(q, k, v)",
    "patch_modules": "import sys; sys.modules['torch'].extra = 1; return sdpa(q, k, v)",
    "load_state": given(
        "return (q @ k.mT * self.t).softmax(-1) @ v",
        init="self.register_buffer('t', torch.ones(())); self.load_state_dict({'t': torch.tensor(0.2)})"),
    "if_requires_grad": "return sdpa(q, k, v, scale=0.3 if q.requires_grad else 0.6)",
    "if_sparse": "return sdpa(q, k, v, scale=0.3 if q.is_sparse else 0.6)",
    "private_sdpa": "return torch._scaled_dot_product_attention_math(q, k, v)[0]",
    "sum_of_products": "w = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1).softmax(-1); return w @ v",
    "einsum_of_sums": "w = torch.einsum('bhqd,bgkd->bqk', q, k).softmax(-1); return w.unsqueeze(1) @ v",
}

#: Not attention.
NONE = {
    "softmax_dim1": written(dim="1"),
    "softmax_dim2": written(dim="-2"),
    "softmax_nodim": "w = q @ k.mT / 8**0.5; return F.softmax(w) @ v",
    "softmax_module_nodim": given("w = q @ k.mT / 8**0.5; return self.s(w) @ v", init="self.s = nn.Softmax()"),
    "sigmoid": "w = torch.sigmoid(q @ k.mT); return w @ v",
    "linear_attn": "q, k = q.softmax(-1), k.softmax(-2); return q @ (k.mT @ v)",
}

#: name: (class, "whole" for attention and nothing else; text of the file)
HARD = {
    name: (kind, text_of(task))
    for kind, group in (
        ("whole", WHOLE), ("attention", ATTENTION), ("unfit", UNFIT), ("unread", UNREAD), ("none", NONE))
    for name, task in group.items()
}
