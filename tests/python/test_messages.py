#!/usr/bin/env python3
"""Mistakes that users make first: each message names the argument, its value and the remedy.

    test_messages.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without numpy.
"""

import unittest

from case import Case, heed, np

try:
    import torch
except ImportError:
    torch = None

WRONG, INVALID = heed.ArgumentTypeError, heed.InvalidError


class Messages(Case):
    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = self.tensors(batch=2, queries=5, keys=7, heads=4, heads_kv=2, dim=8, dim_v=8)

    def says(self, kind, name, value, remedy, call):
        with self.assertRaises(kind) as caught:
            call()
        text = str(caught.exception)
        self.assertTrue(text.startswith((f"{name}:", f"{name} is", f"{name} strides")), text)
        self.assertIn(value, text)
        said, _, end = text.rpartition("; ")
        self.assertIn(remedy, end if said else text)

    def test_arrays(self):
        q, k, v = self.q, self.k, self.v
        sealed = np.empty_like(q)
        sealed.flags.writeable = False
        wide = np.zeros((2, 5, 4, 16), np.float32)
        for kind, name, value, remedy, args, words in (
                (WRONG, "q", "float64", "convert", (q.astype("f8"), k, v), {}),
                (WRONG, "q", ">f4", "convert", (q.astype(">f4"), k, v), {}),
                (WRONG, "q", "object", "convert", (q.astype(object), k, v), {}),
                (WRONG, "q", "i32", "convert", (q.astype("i4"), k, v), {}),
                (WRONG, "v", "f16", "convert", (q, k, v.astype("f2")), {}),
                (WRONG, "k", "list", "pass an array", (q, k.tolist(), v), {}),
                (WRONG, "v", "float", "pass an array", (q, k, 1.0), {}),
                (INVALID, "q", "(5, 4, 8)", "(batch, sequence, heads, head dim)", (q[0], k[0], v[0]), {}),
                (INVALID, "q", "(5, 4, 8)", "(batch, heads, sequence, head dim)", (q[0], k[0], v[0]), {"layout": "bhsd"}),
                (INVALID, "q", "(0, 5, 4, 8)", "skip", (q[:0], k[:0], v[:0]), {}),
                (INVALID, "k", "batch is 1", "equal", (q, k[:1], v[:1]), {}),
                (INVALID, "k", "heads is 2", "divide", (q[:, :, :3], k, v), {}),
                (INVALID, "q", "(160, -32, 8, 1)", "contiguous", (q[:, ::-1], k, v), {}),
                (INVALID, "q", "2 apart", "contiguous", (wide[..., ::2], k, v), {}),
                (INVALID, "out", "read-only", "writable", (q, k, v), {"out": sealed}),
                (INVALID, "out", "16", "equal", (q, k, v), {"out": wide}),
                (WRONG, "out", "f16", "pass one", (q, k, v), {"out": np.empty_like(q, np.float16)}),
                (INVALID, "bias", "(5, 6)", "pass one", (q, k, v), {"bias": np.zeros((5, 6), np.float32)}),
                (INVALID, "bias", "5 dimensions", "at most 4", (q, k, v), {"bias": np.zeros((1, 1, 1, 5, 7), "f4")}),
                (WRONG, "mask", "int64", "bool", (q, k, v), {"mask": np.ones((5, 7), int)}),
                (INVALID, "layout", "'bhsd'", "'bshd'", (q[0], k, v), {"cu_seqlens_q": np.int32([0, 2, 5]), "layout": "bhsd"}),
                (INVALID, "q", "(2, 5, 4, 8)", "3 dimensions", (q, k, v), {"cu_seqlens_q": np.int32([0, 2, 5])}),
                (INVALID, "max_seqlen_q", "3", "leave it out", (q, k, v), {"max_seqlen_q": 3}),
                (INVALID, "max_seqlen_q", "8", "smaller", (q.reshape(10, 4, 8)[:8], k, v),
                 {"cu_seqlens_q": np.int32([0, 2, 5]), "lengths": np.int32([7, 7]), "k_new": k.reshape(14, 2, 8)[:8],
                  "v_new": v.reshape(14, 2, 8)[:8]}),
                (WRONG, "chunk", "bool", "int", (q, k, v), {"chunk": True}),
                (WRONG, "window[0]", "bool", "int", (q, k, v), {"window": (True, 1), "align": "top-left"}),
                (INVALID, "prefix", "is not in 0 to 2147483648", "pass a number", (q, k, v), {"prefix": 2147483649}),
                (INVALID, "softcap", "1e-46", "pass 0", (q, k, v), {"softcap": 1e-46}),
                (INVALID, "out", "4:32:8", "must be 8", (q, k, v),
                 {"out": np.lib.stride_tricks.as_strided(wide, (2, 5, 4, 8), (16, 128, 32, 4))}),
                (INVALID, "dim_v", "own", "v=None", (q, k, v), {"dim_v": 4})):
            with self.subTest(name=name, value=value):
                self.says(kind, name, value, remedy, lambda: heed.attention(*args, **words))

    def test_results_without_memory(self):
        """Also where the library of the arrays fails to allocate."""
        q, k, v = (np.broadcast_to(x[:1, :1], (1 << 31, 1 << 20, *x.shape[2:])) for x in (self.q, self.k, self.v))
        self.says(heed.NoMemoryError, "out", "2147483648", "", lambda: heed.attention(q, k, v))

    def test_plans(self):
        q, k, v = self.q, self.k, self.v
        plan = heed.Plan("b2 h4/2 s5/7 d8 f32")
        for kind, name, value, remedy, args, words in (
                (WRONG, "q", "f16", "make a plan", (q.astype("f2"), k, v), {}),
                (INVALID, "k", "(1, 7, 2, 8)", "make a plan", (q, k[:1], v), {}),
                (INVALID, "v", "(1, 2, 14, 28)", "make a plan", (q, k, np.asfortranarray(v)), {}),
                (INVALID, "operands", "bais", "leave it out", (q, k, v), {"operands": {"bais": q}})):
            with self.subTest(name=name, value=value):
                self.says(kind, name, value, remedy, lambda: plan.execute(*args, **words))
        self.says(INVALID, "operands", "bias", "add it", lambda: heed.Plan("b2 h4/2 s5/7 d8 f32 bias=f32").execute(q, k, v))
        plan.close()
        self.says(INVALID, "plan", "closed", "make another", lambda: plan.execute(q, k, v))
        plan.context.close()
        self.says(INVALID, "context", "closed", "make another", lambda: heed.Plan("b1 h1 s1 d8 f32", plan.context))

    @unittest.skipUnless(torch, "no torch")
    def test_tensors(self):
        import heed.torch

        q = torch.randn(2, 4, 5, 8)
        attend = heed.torch.scaled_dot_product_attention
        odd = torch.from_numpy(np.zeros(5 * 4 * 2 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(2, 4, 5, 8))
        with torch.device("meta"):
            nowhere = torch.empty(2, 4, 5, 8)
        for kind, name, value, remedy, call in (
                (WRONG, "q", "meta", "move it", lambda: heed.attention(nowhere, nowhere, nowhere)),
                (WRONG, "q", "sparse_coo", "to_dense", lambda: heed.attention(q.to_sparse(), q, q)),
                (WRONG, "query", "torch.float64", "convert", lambda: attend(*[q.double()] * 3)),
                (WRONG, "key", "f32", "convert", lambda: attend(q.half(), q, q)),
                (WRONG, "attn_mask", "torch.int32", "convert", lambda: attend(q, q, q, torch.ones(5, 5).int())),
                (INVALID, "attn_mask", "is_causal", "one mask", lambda: attend(q, q, q, torch.ones(5, 5), is_causal=True)),
                (INVALID, "key", "3", "divide", lambda: attend(q, q[:, :3], q[:, :3], enable_gqa=True)),
                (INVALID, "key", "(3,)", "broadcast", lambda: attend(q, q[:1].expand(3, 4, 5, 8), q)),
                (INVALID, "attn_mask", "(4, 5)", "pass one", lambda: attend(q, q, q, torch.ones(4, 5))),
                (INVALID, "query", "0x", "4 bytes", lambda: attend(odd, q, q)),
                (WRONG, "is_causal", "numpy.bool", "pass one", lambda: attend(q, q, q, is_causal=np.True_)),
                (INVALID, "query", "5 apart", "contiguous", lambda: attend(q.mT.contiguous().mT, q, q))):
            with self.subTest(name=name, value=value):
                self.says(kind, name, value, remedy, call)


if __name__ == "__main__":
    unittest.main()
