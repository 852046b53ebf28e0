#!/usr/bin/env python3
"""A training step of transformers' models with heed: gradients compared with those of eager attention.

    test_training.py

test_transformers.py has the models, and says where the package and the library come from. Exits with 77 without torch
or transformers.
"""

import unittest
import warnings

from test_transformers import DECODERS, DEVICE, SMALL, both, heed, tokens, torch, transformers

ENCODER = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        heed.torch.report(clear=True)
        caught = warnings.catch_warnings()
        caught.__enter__()
        warnings.simplefilter("ignore")
        self.addCleanup(caught.__exit__, None, None, None)

    def same(self, models, loss_of, bound=1e-5, **words):
        """One step of each model: every weight has a gradient, and they are equal."""
        losses = [loss_of(model.train(), **words) for model in models]
        for loss in losses:
            loss.backward()
        self.assertTrue(any(row.kernel for row in heed.torch.report()))
        self.assertLess((losses[0] - losses[1]).abs().item(), bound * losses[0].abs().item())
        both_of = zip(models[0].named_parameters(), models[1].parameters())
        whole = torch.stack([x.grad.norm() for x in models[0].parameters() if x.grad is not None]).norm()
        for (name, wanted), mine in both_of:
            self.assertEqual(mine.grad is None, wanted.grad is None, name)
            if wanted.grad is not None:
                off = (mine.grad - wanted.grad).norm() / (wanted.grad.norm() + 1e-3 * whole)
                self.assertLess(off.item(), bound, name)


def of_decoder(model, x, seen=None, **words):
    labels = x
    if seen is not None:  # tokens predicted at padding are ignored
        labels = x.masked_fill((seen == 0) | (seen.roll(1, 1) == 0), -100)
    return model(x, attention_mask=seen, labels=labels, **words).loss


class Decoders(Case):
    def test_whole_sequences(self):
        for name, make in DECODERS.items():
            with self.subTest(model=name):
                self.same(both(make), of_decoder, x=tokens(2, 19))

    def test_padding(self):
        for name, make in DECODERS.items():
            for side in ("left", "right"):
                with self.subTest(model=name, side=side):
                    seen = torch.ones(3, 17, dtype=torch.long, device=DEVICE)
                    for row, n in enumerate((0, 5, 11)):
                        seen[row, slice(0, n) if side == "left" else slice(17 - n, 17)] = 0
                    self.same(both(make), of_decoder, x=tokens(3, 17), seen=seen)

    def test_packed(self):
        at = torch.cat([torch.arange(8), torch.arange(12)])[None].to(DEVICE)
        for name in ("llama", "gemma2", "gpt_oss"):
            with self.subTest(model=name):
                self.same(both(DECODERS[name]), of_decoder, x=tokens(1, 20), position_ids=at)

    def test_sinks(self):
        """Sinks are learned, whether or not keys and queries are."""
        models = both(DECODERS["gpt_oss"])
        for model in models:
            for name, weight in model.named_parameters():
                weight.requires_grad_(name.endswith("sinks"))
        self.same(models, of_decoder, x=tokens(2, 19))

    def test_checkpoints(self):
        models = both(DECODERS["gemma2"])
        models[1].gradient_checkpointing_enable()
        self.same(models, of_decoder, x=tokens(2, 19))

    def test_compile(self):
        module = torch.nn.Module()
        module.is_causal = True

        def call(q, kv, sinks):
            return heed.transformers.attention_forward(module, q, kv, 2 * kv, None, softcap=3.0, sliding_window=4,
                                                       s_aux=sinks)[0]

        tensors = [torch.randn(*shape, device=DEVICE) for shape in ((2, 4, 9, 8), (2, 2, 9, 8), (4,))]
        found = []
        for function in (torch.compile(call, fullgraph=True, backend="aot_eager"), call):
            own = [x.clone().requires_grad_() for x in tensors]
            function(*own).square().sum().backward()
            found.append([x.grad for x in own])
        for mine, wanted in zip(*found):
            self.assertLess((mine - wanted).abs().max().item(), 1e-5)

    def test_half_precision(self):
        for name in ("llama", "gpt_oss"):
            with self.subTest(model=name), torch.autocast(DEVICE, torch.bfloat16):
                self.same(both(DECODERS[name]), of_decoder, bound=5e-2, x=tokens(2, 19))


class Encoders(Case):
    def test_bert(self):
        seen = torch.ones(3, 17, dtype=torch.long, device=DEVICE)
        seen[1, 9:] = 0
        make = lambda: transformers.BertForMaskedLM(transformers.BertConfig(**SMALL, **ENCODER))  # noqa: E731
        for mask in (None, seen):
            self.same(both(make), of_decoder, x=tokens(3, 17), seen=mask)

    def test_vit(self):
        words = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
                 "image_size": 32, "patch_size": 8, **ENCODER}
        make = lambda: transformers.ViTForImageClassification(transformers.ViTConfig(**words))  # noqa: E731
        x = torch.randn(2, 3, 32, 32, device=DEVICE)
        self.same(both(make), lambda model: model(x, labels=torch.tensor([0, 1], device=DEVICE)).loss)

    def test_t5(self):
        """A learned bias of positions."""
        words = {"vocab_size": 99, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4,
                 "dropout_rate": 0.0}
        try:
            models = both(lambda: transformers.T5EncoderModel(transformers.T5Config(**words)))
        except (ValueError, KeyError) as error:
            self.skipTest(f"this T5 has no AttentionInterface: {error}")
        x, y = tokens(2, 19), torch.randn(2, 19, 64, device=DEVICE)
        self.same(models, lambda model: (model(x).last_hidden_state * y).mean())


class Mistakes(Case):
    def test_dropout(self):
        _, mine = both(lambda: transformers.BertModel(transformers.BertConfig(**SMALL)))
        with self.assertRaisesRegex(heed.UnsupportedError, "dropout: 0.1, .* call model.eval"):
            mine.train()(tokens(2, 9))

    def test_transforms(self):
        q = torch.randn(1, 2, 5, 8, device=DEVICE)
        call = lambda q: heed.transformers.attention_forward(None, q, q, q, None)[0]  # noqa: E731
        with self.assertRaisesRegex(heed.UnsupportedError, "torch.func"):
            torch.func.grad(lambda q: call(q).sum())(q)
        with self.assertRaises(heed.HeedError):
            torch.func.jvp(call, (q,), (q,))

    def test_said_once(self):
        _, mine = both(DECODERS["llama"])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            for _ in range(2):
                of_decoder(mine.train(), tokens(2, 9)).backward()
        self.assertEqual([str(one.message)[:12] for one in said], ["heed has no "])


if __name__ == "__main__":
    unittest.main()
