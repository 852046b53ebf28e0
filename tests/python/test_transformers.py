#!/usr/bin/env python3
"""heed.transformers compared with transformers' own eager attention, for small models with random weights, on a CPU, or
on a GPU if torch has one.

    test_transformers.py

python/heed is imported from the source tree, and libheed from HEED_LIBRARY. Exits with 77 without torch or
transformers.
"""

import copy
import os
import shutil
import unittest
import warnings
from unittest import mock

from source_tree import needed

os.environ.setdefault("HF_HUB_OFFLINE", "1")
with needed():
    import torch
    import transformers
    from transformers import AttentionInterface  # noqa: F401

import heed.torch  # noqa: E402
from heed import _again, _attention  # noqa: E402
import heed.transformers  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
transformers.logging.set_verbosity_error()
heed.transformers.register()

SMALL = {
    "vocab_size": 99, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "max_position_embeddings": 128,
}
DECODERS = {
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SMALL, num_key_value_heads=2)),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=7)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(**SMALL, num_key_value_heads=2)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=16, use_sliding_window=True,
                                 sliding_window=7, max_window_layers=2)),
    "gemma2": lambda: transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(**SMALL, num_key_value_heads=2, head_dim=16, sliding_window=7,
                                  attn_logit_softcapping=2.0, query_pre_attn_scalar=16)),
    "gpt_oss": lambda: transformers.GptOssForCausalLM(
        transformers.GptOssConfig(**SMALL, num_key_value_heads=2, head_dim=16, sliding_window=7,
                                  num_local_experts=2, num_experts_per_tok=1)),
}


def both(make):
    """A model with eager attention, and a copy that uses heed."""
    torch.manual_seed(0)
    eager = make().eval().to(DEVICE)
    for name, weight in eager.named_parameters():
        if name.endswith("sinks"):
            torch.nn.init.normal_(weight)
    eager.set_attn_implementation("eager")
    mine = copy.deepcopy(eager)
    mine.set_attn_implementation("heed")
    return eager, mine


def tokens(*shape):
    return torch.randint(5, 99, shape, device=DEVICE)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        heed.torch.report(clear=True)
        grad = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        self.addCleanup(torch.set_grad_enabled, grad)

    def near(self, mine, wanted, seen=None):
        error = (mine.float() - wanted.float()).abs()
        if seen is not None:  # outputs at padding are ignored
            error = error[seen.bool()]
        self.assertLess(error.max().item() / wanted.abs().max().item(), 1e-4)

    def problems(self):
        return " ".join(row.problem for row in heed.torch.report())


class Decoders(Case):
    def test_whole_sequences(self):
        for name, make in DECODERS.items():
            with self.subTest(model=name):
                eager, mine = both(make)
                x = tokens(2, 19)
                self.near(mine(x).logits, eager(x).logits)
                self.near(mine(x[:, :1]).logits, eager(x[:, :1]).logits)
        problems = self.problems()
        for word in ("causal", "window=6:", "softcap=2", "sinks=", "h4/2"):
            self.assertIn(word, problems)
        self.assertNotIn("shown=", problems)  # none of these needs a boolean mask

    def test_products_of_float32(self):
        """Products follow torch's setting when a layer runs, compiled or not."""
        def layer(x):
            return heed.transformers.attention_forward(None, x, x, x, None)[0]

        x = torch.randn(1, 2, 9, 16, device=DEVICE)
        self.addCleanup(torch.set_float32_matmul_precision, "highest")
        for call in (layer, torch.compile(layer, fullgraph=True, backend="aot_eager")):
            for setting, permitted in (("highest", False), ("high", True), ("highest", False)):
                torch.set_float32_matmul_precision(setting)
                heed.torch.report(clear=True)
                call(x)
                self.assertEqual("f32 causal products=tf32" in self.problems(), permitted, self.problems())
                self.assertIn("causal", self.problems())

    def test_padding(self):
        for name, make in DECODERS.items():
            eager, mine = both(make)
            x = tokens(3, 17)
            for side in ("left", "right"):
                with self.subTest(model=name, side=side):
                    seen = torch.ones_like(x)
                    for row, n in enumerate((0, 5, 11)):
                        seen[row, slice(0, n) if side == "left" else slice(17 - n, 17)] = 0
                    self.near(mine(x, attention_mask=seen).logits, eager(x, attention_mask=seen).logits, seen)

    def test_generation(self):
        for name, make in DECODERS.items():
            eager, mine = both(make)
            x = tokens(2, 9)
            seen = torch.ones_like(x)
            seen[1, :4] = 0
            for words in ({}, {"cache_implementation": "static"}):
                for mask in (torch.ones_like(x), seen):
                    with self.subTest(model=name, padded=mask is seen, **words):
                        words.update(attention_mask=mask, max_new_tokens=12, do_sample=False,
                                     output_logits=True, return_dict_in_generate=True, pad_token_id=0,
                                     eos_token_id=None, disable_compile=True)
                        one, two = mine.generate(x, **words), eager.generate(x, **words)
                        self.assertEqual(one.sequences.tolist(), two.sequences.tolist())
                        self.near(torch.stack(one.logits), torch.stack(two.logits))

    def test_plans_of_a_generation(self):
        """One per length of a growing cache; for a static one, one for the prompt and one for all tokens."""
        for name, static in (("llama", 2), ("gemma2", 4)):  # its layers are of two kinds
            _, mine = both(DECODERS[name])
            x = tokens(3, 11)
            for words, plans in (({}, range(64, 70)), ({"cache_implementation": "static"}, (static,))):
                with mock.patch.dict(_attention._plans, clear=True), self.subTest(model=name, **words):
                    _attention._calls.known.clear()
                    heed.transformers._calls.known.clear()
                    mine.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=64, do_sample=False,
                                  pad_token_id=0, eos_token_id=None, disable_compile=True, **words)
                    self.assertIn(len(_attention._plans), plans)

    def test_chunks_of_a_prompt(self):
        """Several queries after a cache: the mask is aligned bottom right."""
        for name, make in DECODERS.items():
            with self.subTest(model=name):
                eager, mine = both(make)
                x = tokens(2, 21)
                one = mine(x[:, :13], use_cache=True)
                self.near(mine(x[:, 13:], past_key_values=one.past_key_values).logits, eager(x).logits[:, 13:])

    def test_packed(self):
        for name, make in DECODERS.items():
            with self.subTest(model=name):
                eager, mine = both(make)
                x = tokens(1, 20)
                at = torch.cat([torch.arange(8), torch.arange(12)])[None].to(DEVICE)
                self.near(mine(x, position_ids=at).logits, eager(x, position_ids=at).logits)

    def test_masks_of_four_dimensions(self):
        eager, mine = both(DECODERS["llama"])
        x = tokens(2, 9)
        shown = torch.rand(2, 1, 9, 9, device=DEVICE) < 0.6
        shown |= torch.eye(9, dtype=torch.bool, device=DEVICE)
        added = torch.randn(2, 1, 9, 9, device=DEVICE)
        self.near(mine(x, attention_mask=added).logits, eager(x, attention_mask=added).logits)
        added = torch.zeros(2, 1, 9, 9, device=DEVICE).masked_fill(~shown, torch.finfo(torch.float32).min)
        self.near(mine(x, attention_mask=shown).logits, eager(x, attention_mask=added).logits)

    def test_half_precision(self):
        eager, mine = both(DECODERS["llama"])
        x = tokens(2, 19)
        wanted = eager(x).logits
        for dtype, bound in ((torch.float16, 5e-3), (torch.bfloat16, 5e-2)):
            off = (mine.to(dtype)(x).logits.float() - wanted).norm() / wanted.norm()
            self.assertLess(off.item(), bound)

    def test_autocast(self):
        eager, mine = both(DECODERS["gemma2"])
        x = tokens(2, 19)
        wanted = eager(x).logits
        with torch.autocast(DEVICE, torch.bfloat16):
            off = (mine(x).logits.float() - wanted).norm() / wanted.norm()
        self.assertLess(off.item(), 5e-2)
        self.assertIn("bf16", self.problems())

    def test_compile(self):
        eager, mine = both(DECODERS["gemma2"])
        x = tokens(2, 19)
        compiled = torch.compile(mine, backend="aot_eager")
        self.near(compiled(x).logits, eager(x).logits)
        self.near(compiled(x[:, :11]).logits, eager(x[:, :11]).logits)


    @unittest.skipUnless(DEVICE == "cuda" and shutil.which("gcc"), "no GPU, or no compiler for torch.compile")
    def test_compiled_generation(self):
        """A static cache, for which transformers compiles the model and captures CUDA graphs."""
        eager, mine = both(DECODERS["llama"])
        x = tokens(2, 9)
        words = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None,
                 "attention_mask": torch.ones_like(x)}
        one = mine.generate(x, cache_implementation="static", **words)
        self.assertEqual(one.tolist(), eager.generate(x, **words).tolist())


class Encoders(Case):
    def test_bert(self):
        eager, mine = both(lambda: transformers.BertModel(transformers.BertConfig(**SMALL)))
        x = tokens(3, 17)
        seen = torch.ones_like(x)
        seen[1, 9:] = 0
        self.near(mine(x).last_hidden_state, eager(x).last_hidden_state)
        self.near(mine(x, attention_mask=seen).last_hidden_state,
                  eager(x, attention_mask=seen).last_hidden_state, seen)
        self.assertNotIn("causal", self.problems())

    def test_vit(self):
        words = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
                 "image_size": 32, "patch_size": 8}
        eager, mine = both(lambda: transformers.ViTModel(transformers.ViTConfig(**words)))
        x = torch.randn(2, 3, 32, 32, device=DEVICE)
        self.near(mine(x).last_hidden_state, eager(x).last_hidden_state)
        self.assertIn("b2 h4 s17 d16 f32", self.problems())
        self.assertNotIn("causal", self.problems())

    def test_modernbert(self):
        make = getattr(transformers, "ModernBertModel", None)
        if make is None:
            self.skipTest("no ModernBERT")
        words = dict(SMALL, global_attn_every_n_layers=2, local_attention=8, pad_token_id=0, bos_token_id=1,
                     eos_token_id=2, cls_token_id=1, sep_token_id=2)
        eager, mine = both(lambda: make(transformers.ModernBertConfig(**words)))
        x = tokens(2, 33)
        self.near(mine(x).last_hidden_state, eager(x).last_hidden_state)

    def test_bart(self):
        """Cross attention of a decoder to an encoder."""
        words = {"vocab_size": 99, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 96,
                 "decoder_ffn_dim": 96, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        eager, mine = both(lambda: transformers.BartModel(transformers.BartConfig(**words)))
        x, y = tokens(2, 19), tokens(2, 7)
        seen = torch.ones_like(x)
        seen[1, 11:] = 0
        for mask in (None, seen):
            self.near(mine(x, attention_mask=mask, decoder_input_ids=y).last_hidden_state,
                      eager(x, attention_mask=mask, decoder_input_ids=y).last_hidden_state)

    def test_t5(self):
        """A bias of positions."""
        words = {"vocab_size": 99, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4}
        try:
            eager, mine = both(lambda: transformers.T5EncoderModel(transformers.T5Config(**words)))
        except (ValueError, KeyError) as error:
            self.skipTest(f"this T5 has no AttentionInterface: {error}")
        x = tokens(2, 19)
        self.near(mine(x).last_hidden_state, eager(x).last_hidden_state)


class Mistakes(Case):
    def test_arguments(self):
        q = torch.randn(1, 2, 5, 8, device=DEVICE)
        with self.assertRaisesRegex(heed.UnsupportedError, "dropout: 0.1"):
            heed.transformers.attention_forward(None, q, q, q, None, dropout=0.1)
        with self.assertRaisesRegex(heed.InvalidError, "attention_mask: shape is"):
            heed.transformers.attention_forward(None, q, q, q, torch.ones(2, 5, 5, device=DEVICE))
        for dtype in (torch.float32, torch.int64):  # not numbers to add
            with self.assertRaisesRegex(heed.ArgumentTypeError, "attention_mask: dtype .* convert it to torch.bool"):
                heed.transformers.attention_forward(None, q, q, q, torch.ones(1, 5, device=DEVICE, dtype=dtype))

    def test_empty_and_means(self):
        """An empty batch gives an empty result, as in eager attention; a scale of 0 gives means."""
        q, v = torch.randn(2, 4, 5, 8, device=DEVICE), torch.randn(2, 2, 5, 8, device=DEVICE)
        call = heed.transformers.attention_forward
        self.assertEqual(call(None, q[:0], v[:0], v[:0], None)[0].shape, (0, 5, 4, 8))
        self.assertEqual(call(None, q[:, :, :0], v, v, None)[0].shape, (2, 0, 4, 8))
        with self.assertRaisesRegex(heed.InvalidError, "key: batch is 2, that of query 0"):
            call(None, q[:0], v, v, None)
        means = call(None, q, v, v, None, scaling=0.0, is_causal=False)[0]
        wanted = v.repeat_interleave(2, 1).mean(2, keepdim=True).transpose(1, 2).expand_as(means)
        self.assertLess((means - wanted).abs().max().item(), 1e-6)

    def test_autocast_of_float64(self):
        """torch's autocast does not cast it, and heed has no kernel for it."""
        q = torch.randn(1, 2, 5, 8, device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            for tensors in ((q.double(),) * 3, (q, q.double(), q)):
                with self.assertRaises(heed.ArgumentTypeError):
                    heed.transformers.attention_forward(None, *tensors, None)

    def test_repeated_calls(self):
        """C serves them; other states of torch and other words, shapes and types go the long way."""
        of = heed.transformers
        if not _again.knows(torch.Tensor):
            self.skipTest("heed_call.so is not used")
        q, k, v = (torch.randn(2, heads, keys, 8, device=DEVICE) for heads, keys in ((4, 3), (2, 5), (2, 5)))
        shown = torch.rand(2, 5, device=DEVICE) < 0.7
        shown[:, 0] = True
        bias, sinks = torch.randn(2, 1, 3, 5, device=DEVICE), torch.nn.Parameter(torch.randn(4, device=DEVICE))
        calls = [(None, {}), (shown, {}), (bias, {}), (bias > 0, {}), (None, {"sliding_window": 2}),
                 (None, {"softcap": 3.0}), (None, {"s_aux": sinks}), (None, {"is_causal": False}),
                 (None, {"scaling": 0.3}), (bias > 0, {"position_bias": bias}), (None, {"position_bias": bias})]
        wanted = [of.attention_forward(None, q, k, v, mask, **words)[0] for mask, words in calls]
        for i, x in enumerate(wanted):
            for y in wanted[:i]:
                self.assertGreater((x - y).abs().max().item(), 1e-3)
        with mock.patch.object(of, "_compute", side_effect=AssertionError("the long way")):
            for (mask, words), o in zip(calls, wanted):
                again = of.attention_forward(None, q, k, v, mask, **words)[0]
                self.assertEqual((again.shape, again.stride()), (o.shape, o.stride()))
                self.assertLess((again - o).abs().max().item(), 1e-6)
        rows = [row.calls for row in heed.torch.report()]
        self.assertEqual(sum(rows), 2 * len(calls))
        x = q.clone().requires_grad_()
        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # heed has no backward pass
            of.attention_forward(None, x, k, v, None)[0].sum().backward()
            self.assertIsNotNone(x.grad)
            of.attention_forward(None, q, k, v, None, s_aux=sinks)[0].sum().backward()
            self.assertIsNotNone(sinks.grad)
        with torch.autocast(DEVICE, torch.bfloat16):
            self.assertIs(of.attention_forward(None, q, k, v, None)[0].dtype, torch.bfloat16)
        self.assertIs(of.attention_forward(None, q, k, v.half(), None)[0].dtype, torch.float16)
        with torch.inference_mode():
            o = of.attention_forward(None, q, k, v, None)[0]
            self.assertTrue(o.is_inference())
            self.assertLess((o - wanted[0]).abs().max().item(), 1e-6)

    def test_windows_are_recognised(self):
        from transformers import masking_utils as of

        plain = heed.transformers._plain_window
        self.assertTrue(plain(of.causal_mask_function, None))
        self.assertTrue(plain(of.sliding_window_causal_mask_function(7), 7))
        chunks = of.chunked_causal_mask_function(7, torch.zeros(1, dtype=torch.int))
        for function, size in ((of.sliding_window_causal_mask_function(7), 8), (chunks, 7), (chunks, None),
                               (of.bidirectional_mask_function, None), (lambda *x: True, 7), (None, 7)):
            self.assertFalse(plain(function, size))


if __name__ == "__main__":
    unittest.main()
