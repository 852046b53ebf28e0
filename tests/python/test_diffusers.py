#!/usr/bin/env python3
"""heed.diffusers compared with diffusers' own attention. Exits with 77 without diffusers."""

import os
import unittest

from source_tree import needed

os.environ["HF_HUB_OFFLINE"] = "1"
with needed():
    import torch
    from diffusers import FluxTransformer2DModel
    from diffusers.models.attention_dispatch import dispatch_attention_fn

import heed.diffusers  # noqa: E402
import heed.torch  # noqa: E402


class Diffusers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        heed.torch.report(clear=True)
        heed.diffusers.register()
        self.addCleanup(heed.diffusers.unregister)

    def both(self, function):
        """The function's result with heed and without, and the calls to heed."""
        found = function()
        rows = heed.torch.report(clear=True)
        heed.diffusers.unregister()
        wanted = function()
        self.assertFalse(heed.torch.report())
        heed.diffusers.register()
        return found, wanted, rows

    def test_dispatcher(self):
        q, k, v = torch.randn(2, 9, 4, 16), torch.randn(2, 7, 4, 16), torch.randn(2, 7, 4, 16)
        for mask in (None, torch.rand(2, 7) > 0.3, torch.randn(2, 1, 9, 7)):
            found, wanted, rows = self.both(lambda: dispatch_attention_fn(q, k, v, attn_mask=mask))
            self.assertEqual([row.calls for row in rows if row.kernel], [1])
            self.assertEqual(found.shape, wanted.shape)
            torch.testing.assert_close(found, wanted)

    def test_what_falls_back(self):
        q = torch.randn(2, 9, 4, 16).double()
        found, wanted, rows = self.both(lambda: dispatch_attention_fn(q, q, q))
        torch.testing.assert_close(found, wanted)
        self.assertRegex(rows[0].reason, "float64")

    def test_model(self):
        model = FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=2,
                                       attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32,
                                       pooled_projection_dim=16, axes_dims_rope=(4, 4, 8)).eval()
        words = {"hidden_states": torch.randn(2, 16, 4), "encoder_hidden_states": torch.randn(2, 5, 32),
                 "pooled_projections": torch.randn(2, 16), "timestep": torch.tensor([0.3, 0.7]),
                 "img_ids": torch.zeros(16, 3), "txt_ids": torch.zeros(5, 3)}
        with torch.no_grad():
            found, wanted, rows = self.both(lambda: model(**words).sample)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        self.assertEqual([row.calls for row in rows], [3])  # one per layer, none by torch

    def test_mistakes(self):
        with self.assertRaisesRegex(heed.InvalidError, "backend: 'nosuch'"):
            heed.diffusers.register("nosuch")


if __name__ == "__main__":
    unittest.main()
