"""See ../../__init__.py."""

import numpy as np


def create_block_mask(mask_mod, batch, heads, queries, keys, device):
    assert batch is None and heads is None and device == "cuda:0"
    return mask_mod(0, 0, np.arange(queries)[:, None], np.arange(keys)[None, :])


def flex_attention(q, k, v, scale, block_mask, enable_gqa, compiled=False):
    import torch

    assert compiled
    group = q.shape[1] // k.shape[1]
    assert enable_gqa == (group > 1)
    if q.shape[3] == 7:
        raise ValueError("NYI: embedding dimension 7")
    k, v = (torch.Tensor(x.array.repeat(group, 1)) for x in (k, v))
    return torch.kernel(q, k, v, scale, block_mask)
