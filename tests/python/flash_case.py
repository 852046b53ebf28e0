"""Random tensors, and attention by its formula in float32 as FlashAttention defines it, for the tests of
heed.flash_attn and heed.flash_attn_3, on a CPU, or on a GPU if torch has one.

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. The process exits with 77 without torch.
"""

import math
import unittest

from source_tree import needed

with needed():
    import torch

import heed  # noqa: E402
from heed import flash_attn, flash_attn_3  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def formula(q, k, v, scale=None, causal=False, window=(-1, -1), softcap=0.0, slopes=None, chunk=0):
    """O and LSE in float32 of (batch, sequence, heads, dim), as defined by FlashAttention."""
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    queries, keys = q.shape[2], k.shape[2]
    t = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap > 0:
        t = softcap * torch.tanh(t / softcap)
    p = torch.arange(queries, device=q.device)[:, None] + keys - queries
    j = torch.arange(keys, device=q.device)
    if slopes is not None:
        t = t - slopes.reshape(-1, slopes.shape[-1], 1, 1) * (p - j).abs()
    seen = torch.ones(queries, keys, dtype=torch.bool, device=q.device)
    left, right = window
    if causal:
        right = 0
    if left >= 0:
        seen &= j >= p - left
    if right >= 0:
        seen &= j <= p + right
    if chunk:
        seen &= torch.div(j, chunk, rounding_mode="floor") == torch.div(p, chunk, rounding_mode="floor")
    some = seen.any(-1)  # other rows have logits of 0 here, so that their gradients are defined
    t = t.masked_fill(~seen & some[:, None], -math.inf)
    o = torch.softmax(t, -1).masked_fill(~some[:, None], 0) @ v
    return o.transpose(1, 2), torch.logsumexp(t, -1).masked_fill(~some, -math.inf)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def draw(self, *shape, dtype=torch.float32):
        return torch.randn(*shape, device=DEVICE).to(dtype)

    def near(self, mine, wanted, bound=2e-5):
        self.assertEqual(mine.shape, wanted.shape)
        same = torch.isinf(wanted) & (mine.float() == wanted)
        self.assertTrue((torch.isfinite(mine) | same).all())
        error = (mine.float() - wanted).abs() / (1 + wanted.abs())
        self.assertLess(error[~same].max().item() if (~same).any() else 0.0, bound)

    def fa2_lse(self, lse, slopes=None, causal_alone=False, keys=0):
        """In the form of FlashAttention-2."""
        if slopes is not None and causal_alone:
            p = torch.arange(lse.shape[2], device=lse.device) + keys - lse.shape[2]
            lse = lse + slopes.reshape(-1, slopes.shape[-1], 1) * p
        return lse.masked_fill(torch.isneginf(lse), math.inf)
