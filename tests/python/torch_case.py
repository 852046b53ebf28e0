"""Tensors, torch's own attention and attention by its definition, for tests of heed.torch."""

import unittest

from source_tree import needed

with needed():
    import torch
    from torch._subclasses import FakeTensorMode
    from torch.nn.functional import scaled_dot_product_attention as of_torch  # noqa: F401

import heed.torch  # noqa: E402

of_heed = heed.torch.scaled_dot_product_attention
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, device=DEVICE)


def without_elements(x, device):
    """A tensor of FakeTensorMode."""
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device)


def of_backend(q, k, v):
    """The result of torch's backend that supports the type on a GPU, without elements."""
    with FakeTensorMode():
        tensors = [without_elements(x, "cuda") for x in (q, k, v)]
        efficient = q.dtype is torch.float32
        name = "_scaled_dot_product_efficient_attention" if efficient else "_scaled_dot_product_cudnn_attention"
        return getattr(torch.ops.aten, name)(*tensors, None, False)[0]


def define(q, k, v, mask=None, scale=1.0):
    """Attention by its definition in float64. Every query sees a key."""
    t = scale * q.double() @ k.double().transpose(-2, -1)
    if mask is not None:
        t = t.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else t + mask.double()
    return (t.softmax(-1) @ v.double()).to(q.dtype)


def draw_mask(*shape):
    mask = torch.rand(*shape, device=DEVICE) < 0.7
    mask[..., 0] = True
    return mask


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def near(self, mine, wanted, bound=1e-5):
        self.assertEqual(mine.shape, wanted.shape)
        self.assertIs(mine.dtype, wanted.dtype)
        off = (mine.float() - wanted.float()).norm() / wanted.float().norm()
        self.assertLess(off.item(), bound)

    def same(self, *tensors, bound=1e-5, **words):
        mine, wanted = of_heed(*tensors, **words), of_torch(*tensors, **words)
        self.near(mine, wanted, bound)
        return mine, wanted


    def laid_out(self, mine, wanted):
        """The strides are equal, except those of dimensions of size 1."""
        strides = [[step for size, step in zip(x.shape, x.stride()) if size > 1] for x in (mine, wanted)]
        self.assertEqual(*strides)
