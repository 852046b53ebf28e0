"""A fake FlashInfer: decoding of one query per sequence over pages, in the numpy of ../fake_torch. With tensor cores it
takes longer for less than three sequences, and without them for more; for pages of three keys it only has kernels of
the backend fa2."""

import time

import flash_attn_interface
import numpy as np
import torch


class BatchDecodeWithPagedKVCacheWrapper:
    def __init__(self, workspace, kv_layout="NHD", use_cuda_graph=False, use_tensor_cores=False, backend="auto"):
        assert workspace.array.dtype == np.uint8 and kv_layout == "NHD"
        self.cores, self.backend = use_tensor_cores, backend

    def plan(
        self,
        indptr,
        indices,
        last_page_len,
        num_qo_heads,
        num_kv_heads,
        head_dim,
        page_size,
        q_data_type="float16",
        kv_data_type=None,
        sm_scale=None,
    ):
        assert torch.recording is None, "it is planned beforehand"
        if head_dim == 24:
            raise AssertionError("head_dim 24")
        if self.cores and self.backend != "fa2" and page_size == 3:
            raise RuntimeError("no compiler")
        self.starts, self.numbers, self.last = (flash_attn_interface.whole(x) for x in (indptr, indices, last_page_len))
        assert self.starts[-1] == len(self.numbers) and ((1 <= self.last) & (self.last <= page_size)).all()
        self.sizes, self.scale = (num_qo_heads, num_kv_heads, head_dim, page_size), sm_scale
        self.types = q_data_type, kv_data_type

    def run(self, q, paged_kv_cache):
        k, v = (x.array for x in paged_kv_cache)
        assert (q.shape[1], k.shape[2], q.shape[2], k.shape[1]) == self.sizes
        assert self.types == (q.array.dtype, k.dtype)
        if self.cores == (len(self.last) < 3):
            torch.launch(lambda: time.sleep(3e-3))
        parts = []
        for b, last in enumerate(self.last):
            pages = self.numbers[self.starts[b] : self.starts[b + 1]]
            used = (len(pages) - 1) * k.shape[1] + last
            keys, values = (x[pages].reshape((-1,) + x.shape[2:])[:used] for x in (k, v))
            parts.append((slice(b, b + 1), keys, values, None))
        return flash_attn_interface.sequences(q, parts, self.scale, False, (-1, -1), 0)
