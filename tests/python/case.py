"""Random tensors, and attention by its formula in float64, for tests of the Python package.

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. The process exits with 77 without numpy.
"""

import os
import unittest

from source_tree import needed

with needed():
    import numpy as np

os.environ["HEED_DEVICE"] = "cpu"  # for plans without a device=; calls follow their arrays
import heed  # noqa: E402

def formula(q, k, v, seen=True, change=lambda t: t, scale=None, sinks=None):
    """O and LSE in float64, for arrays in the order bshd. @seen and @change have the dimensions (batch, heads, queries,
    keys)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    t = np.einsum("bihd,bjhd->bhij", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    t = np.where(seen, change(t), -np.inf)
    top = t.max(-1, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks[..., None, None])
    safe = np.where(np.isfinite(top), top, 0)
    weights = np.exp(t - safe)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total += np.exp(sinks[..., None, None] - safe)
    with np.errstate(divide="ignore", invalid="ignore"):
        o = np.einsum("bhij,bjhd->bihd", np.where(total > 0, weights / total, 0), v)
        return o, (safe + np.log(total))[..., 0]


class Case(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def tensors(self, batch=2, queries=37, keys=53, heads=4, heads_kv=2, dim=32, dim_v=40):
        return [
            self.random.standard_normal(shape).astype(np.float32)
            for shape in (
                (batch, queries, heads, dim),
                (batch, keys, heads_kv, dim),
                (batch, keys, heads_kv, dim_v),
            )
        ]

    def near(self, x, wanted, unit=2.0**-20):
        x = np.asarray(x, np.float64)
        self.assertEqual(x.shape, wanted.shape)
        same = np.isneginf(x) & np.isneginf(wanted)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0, np.abs(x - wanted) / (1 + np.abs(np.where(same, 0, wanted))))
        self.assertLess(error.max(), 8 * unit)

    def refused(self, kind, text, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(text, str(caught.exception))
        self.assertIsInstance(caught.exception, heed.HeedError)
