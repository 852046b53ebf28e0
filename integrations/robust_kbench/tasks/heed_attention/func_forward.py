"""Causal or full attention of Q, K and V as [batch, heads, sequence, dim], as a task of robust-kbench.

Queries are peaked: each is close to one key, so that outputs do not shrink as the sequence grows, and a mean of V is
far from all of them. With outputs that shrink, the suite's filters would drop the task beyond some 10,000 keys.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def forward_fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = True) -> torch.Tensor:
    """Softmax of q k^T / sqrt(dim), over the keys up to each query's own if `causal`, times v.

    Args:
        q, k, v (torch.Tensor): of shape (batch_size, num_heads, seq_len, head_dim)
        causal (bool): whether query i sees only the keys j <= i

    Returns:
        torch.Tensor: of the shape of q
    """
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


class Model(nn.Module):
    """Attention without parameters."""

    def __init__(self, causal: bool = True):
        super().__init__()
        self.causal = causal

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, fn=forward_fn) -> torch.Tensor:
        return fn(q, k, v, self.causal)


def get_inputs(
    batch_size: int = 4,
    num_heads: int = 16,
    seq_len: int = 2048,
    head_dim: int = 64,
    dtype: str = "float16",
    peak: float = 2.0,
):
    shape = (batch_size, num_heads, seq_len, head_dim)
    kind = torch.float16 if dtype == "float16" else torch.float32
    q = torch.randn(shape, dtype=kind) * peak
    k = torch.randn(shape, dtype=kind)
    v = torch.randn(shape, dtype=kind)
    return [q, k, v]


def get_init_inputs():
    """For suites in which Model has no settings."""
    return [True]


input_names = ["q", "k", "v"]
