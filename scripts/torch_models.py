#!/usr/bin/env python3
"""Times prefill and decode of a Llama model with random weights, with heed and with PyTorch's backends.

    scripts/torch_models.py [--model 8b] [--device cuda] [--json FILE]

Prints for each case and backend the time of a step, tokens per second, and the share of attention in the step. A case
is BATCHxLENGTH: the prompt's tokens of a prefill, or the tokens in the cache before a decode step, which computes one
token for each sequence. The model is transformers' LlamaForCausalLM; nothing is downloaded.

Backends, if they are installed and support the case:

    heed           attn_implementation="heed" (heed.transformers)
    heed-sdpa      attn_implementation="sdpa" under heed.torch.enable()
    sdpa           attn_implementation="sdpa", with the backend that PyTorch chooses
    sdpa-flash, sdpa-cudnn, sdpa-efficient    the same with only that backend
    flash-attn-2, flash-attn-3                transformers' own, where these packages are installed

Backends take turns, --repeat times each; figures are medians, by the device's clock on a GPU. The share of attention is
measured in separate turns, in which each layer's call of attention is timed: on a GPU the time between two events,
which includes waits of the device for the host. The cache is truncated after each decode step, so that all steps have
the same length. Before it is timed, each backend's last logits are compared with those of sdpa: the largest difference
over the largest logit, and the share of sequences with the same first token.

python/heed is imported from the source tree if HEED_LIBRARY is set, else the installed package.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import sys
import time

if os.environ.get("HEED_LIBRARY"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
import transformers  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import heed  # noqa: E402
import heed.torch  # noqa: E402
import heed.transformers  # noqa: E402

MODELS = {
    "8b": {"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
           "num_attention_heads": 32, "num_key_value_heads": 8},
    "1b": {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
           "num_attention_heads": 32, "num_key_value_heads": 8},
    "tiny": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2},
}
#: Name, attn_implementation, and context.
BACKENDS = (
    ("heed", "heed", contextlib.nullcontext),
    ("heed-sdpa", "sdpa", lambda: heed.torch.enable()),
    ("sdpa", "sdpa", contextlib.nullcontext),
    ("sdpa-flash", "sdpa", lambda: sdpa_kernel(SDPBackend.FLASH_ATTENTION)),
    ("sdpa-cudnn", "sdpa", lambda: sdpa_kernel(SDPBackend.CUDNN_ATTENTION)),
    ("sdpa-efficient", "sdpa", lambda: sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)),
    ("flash-attn-2", "flash_attention_2", contextlib.nullcontext),
    ("flash-attn-3", "flash_attention_3", contextlib.nullcontext),
)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=MODELS, default="8b")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default=None,
                        help="default: bfloat16, and float32 on a CPU")
    parser.add_argument("--prefill", default="1x512,1x2048,1x8192,8x2048", help="BATCHxTOKENS,...")
    parser.add_argument("--decode", default="1x1024,1x8192,16x2048,64x2048", help="BATCHxTOKENS,...")
    parser.add_argument("--generate", default="1x512", help="BATCHxTOKENS,...: prompts of model.generate()")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--backends", default=",".join(name for name, _, _ in BACKENDS))
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--json", help="also write the rows to this file")
    return parser.parse_args()


def cases(text):
    return [tuple(int(x) for x in case.split("x")) for case in text.split(",") if case]


class Clock:
    """Returns the seconds of a function, by the device's events on a GPU."""

    def __init__(self, device):
        self.cuda = torch.device(device).type == "cuda"

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, a, b):
        return 1e-3 * a.elapsed_time(b) if self.cuda else b - a

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def time(self, function):
        self.wait()
        begin = self.mark()
        function()
        end = self.mark()
        self.wait()
        return self.between(begin, end)


class Watch:
    """Adds up the time of the calls of an attention function of transformers."""

    def __init__(self, clock, name):
        self.clock, self.name, self.marks = clock, name, []

    def __enter__(self):
        functions = transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS
        self.before = functions[self.name]

        def timed(*args, **words):
            begin = self.clock.mark()
            found = self.before(*args, **words)
            self.marks.append((begin, self.clock.mark()))
            return found
        transformers.AttentionInterface.register(self.name, timed)
        return self

    def __exit__(self, *_):
        transformers.AttentionInterface.register(self.name, self.before)

    def seconds(self):
        self.clock.wait()
        return sum(self.clock.between(*pair) for pair in self.marks)


class Prefill:
    """Computes all tokens of a prompt, and the logits of the last."""

    kind = "prefill"

    def __init__(self, model, ids):
        self.model, self.ids, self.tokens = model, ids, ids.numel()

    def __call__(self):
        return self.model(self.ids, use_cache=True, logits_to_keep=1).logits


class Decode:
    """Computes one token for each sequence after a cache of random keys and values, which is then truncated."""

    kind = "decode"

    def __init__(self, model, ids):
        self.model, self.length, self.tokens = model, ids.shape[1], ids.shape[0]
        self.ids = ids[:, :1].contiguous()
        self.cache = transformers.DynamicCache(config=model.config)
        config = model.config
        shape = (ids.shape[0], config.num_key_value_heads, self.length, config.hidden_size // config.num_attention_heads)
        for layer in range(config.num_hidden_layers):
            k, v = (torch.randn(shape, device=ids.device, dtype=model.dtype) for _ in range(2))
            self.cache.update(k, v, layer)

    def __call__(self):
        try:
            return self.model(self.ids, past_key_values=self.cache, use_cache=True).logits
        finally:  # also in layers that a backend computed before it refused
            for layer in self.cache.layers:
                layer.keys, layer.values = layer.keys[..., : self.length, :], layer.values[..., : self.length, :]


class Generate:
    """Generates a whole reply, whose cache grows with each token."""

    kind = "generate"

    def __init__(self, model, ids, new):
        self.model, self.ids, self.new, self.tokens = model, ids, new, ids.shape[0] * new

    def __call__(self):
        mask = torch.ones_like(self.ids)
        return self.model.generate(self.ids, attention_mask=mask, max_new_tokens=self.new, min_new_tokens=self.new,
                                   do_sample=False, pad_token_id=0)


@contextlib.contextmanager
def running(model, backend):
    """Returns the model with the backend; raises an exception if the backend is missing."""
    _, implementation, context = backend
    model.set_attn_implementation(implementation)
    with torch.no_grad(), context():
        yield


def reason_of(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:100] if str(error).strip() else ''}"


def compare(found, wanted):
    """Returns the difference of logits, or of whole replies."""
    if not found.is_floating_point():
        return {"same_tokens": (found == wanted).float().mean().item()}
    a, b = found[:, -1].float(), wanted[:, -1].float()
    return {"difference": ((a - b).abs().max() / b.abs().max()).item(),
            "same_tokens": (a.argmax(-1) == b.argmax(-1)).float().mean().item()}


def measure(model, step, backends, clock, repeat):
    """Returns a row for each backend."""
    rows, live = [], []
    with running(model, ("sdpa", "sdpa", contextlib.nullcontext)):
        wanted = step()
    for backend in backends:
        row = {"kind": step.kind, "backend": backend[0], "tokens": step.tokens, "reason": None}
        rows.append(row)
        try:
            with running(model, backend):
                row.update(compare(step(), wanted))
                step()
            live.append((backend, row, []))
        except Exception as error:  # it is missing, or does not support the case
            row["reason"] = reason_of(error)
    for _ in range(repeat):
        for backend, _, times in live:
            with running(model, backend):
                times.append(clock.time(step))
    for backend, row, times in live:
        row["seconds"] = statistics.median(times)
        row["tokens_per_second"] = step.tokens / row["seconds"]
        shares = []
        for _ in range(max(1, repeat // 3)):
            with Watch(clock, backend[1]) as watch, running(model, backend):
                whole = clock.time(step)
            shares.append(watch.seconds() / whole)
        row["attention"] = statistics.median(shares)
    return rows


def print_row(row):
    if row["reason"]:
        print(f"  {row['backend']:16} {row['reason']}")
        return
    far = f"  differs by {row['difference']:.1e}" if "difference" in row else ""
    print(f"  {row['backend']:16} {1e3 * row['seconds']:10.3f} ms  {row['tokens_per_second']:12.1f} tokens/s  "
          f"attention {100 * row['attention']:5.1f} %{far}  same tokens {100 * row['same_tokens']:.0f} %", flush=True)


def main():
    options = arguments()
    dtype = getattr(torch, options.dtype or ("float32" if options.device == "cpu" else "bfloat16"))
    names = options.backends.split(",")
    backends = [backend for backend in BACKENDS if backend[0] in names]
    heed.transformers.register()
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**MODELS[options.model], max_position_embeddings=131072, rope_theta=500000.0,
                                      tie_word_embeddings=False)
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(dtype)
    with torch.device(options.device):
        model = transformers.LlamaForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    clock = Clock(options.device)
    name = torch.cuda.get_device_name(options.device) if clock.cuda else "CPU"
    weights = sum(x.numel() for x in model.parameters())
    print(f"{name}, {dtype}, {weights / 1e9:.2f} billion weights; torch {torch.__version__}, transformers "
          f"{transformers.__version__}, heed {heed.__version__}")
    rows = []
    kinds = (("prefill", options.prefill, Prefill), ("decode", options.decode, Decode),
             ("generate", options.generate, lambda model, ids: Generate(model, ids, options.new_tokens)))
    for kind, text, make in kinds:
        for batch, length in cases(text):
            print(f"{kind} {batch} x {length}", flush=True)
            ids = torch.randint(1, config.vocab_size, (batch, length), device=options.device)
            step = make(model, ids)
            for row in measure(model, step, backends, clock, options.repeat if kind != "generate" else 3):
                rows.append({"batch": batch, "length": length, **row})
                print_row(row)
            del step
            if clock.cuda:
                torch.cuda.empty_cache()
    print(heed.torch.report())
    if options.json:
        about = {"device": name, "dtype": str(dtype), "model": options.model, "torch": torch.__version__,
                 "transformers": transformers.__version__, "heed": heed.__version__}
        pathlib.Path(options.json).write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
