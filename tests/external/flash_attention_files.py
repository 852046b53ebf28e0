#!/usr/bin/env python3
"""Runs FlashAttention's own test files on heed.flash_attn and heed.flash_attn_3.

    tests/external/flash_attention_files.py CHECKOUT {2,3} [--every N] [--device cuda] [-- PYTEST OPTIONS...]

CHECKOUT is a checkout of https://github.com/Dao-AILab/flash-attention, whose tests/test_flash_attn.py (2) or
hopper/test_flash_attn.py (3) is run unchanged, with modules that provide heed's functions under FlashAttention's names.
Needs torch, pytest and einops; --device cpu runs it on a CPU, slowly. With --every N one case in N is run, the same
ones each time.

Left out, and counted by reason: dropout, gradients, which heed does not have yet, 8-bit types, and cases that heed
refuses with a message. In a case that computes a gradient besides its output, the output is judged: all gradients are
zeros then, for heed's result and for the files' own references. Prints how many cases passed, how many were left out
and why, and each that failed. Exits with 1 if one failed, with 77 without pytest and einops.
"""

import argparse
import collections
import functools
import os
import pathlib
import random
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent))
import script  # noqa: E402

try:
    import einops  # noqa: F401
    import pytest
    import torch
except ImportError as missing:
    script.skip(missing)

import heed  # noqa: E402
import heed.flash_attn  # noqa: E402
import heed.flash_attn_3  # noqa: E402

#: Prefixes of names of tests that are left out, and the reason.
LEFT_OUT = {
    "test_flash_attn_bwd_": "a gradient alone",
    "test_flash_attn_deterministic": "a gradient alone",
    "test_flash_attn_varlen_deterministic": "a gradient alone",
    "test_flash_attn_varlen_paged_kv_num_splits": "calls a private function",
    "test_flash_attn_generator_arg_must_be_none": "calls a private function",
    "test_flash3_bw_compatibility": "FlashAttention-3's own operators",
}


def served(function):
    """The function without gradients. If heed refuses, the case is left out."""

    @functools.wraps(function)
    def call(*args, **words):
        with torch.no_grad():
            try:
                return function(*args, **words)
            except heed.UnsupportedError as error:
                pytest.skip(f"refused: {str(error).split(':')[0]}")
    return call


def functions_of(module):
    return {name: served(x) for name, x in vars(module).items() if name.startswith("flash_attn_") and callable(x)}


def zeros(outputs, inputs, *_, **__):
    """Replaces torch.autograd.grad(); gradients are not judged."""
    return tuple(torch.zeros_like(x) for x in ((inputs,) if isinstance(inputs, torch.Tensor) else inputs))


def take_place_of_2(checkout, device):
    """The package flash_attn of the checkout, with heed's functions in place of compiled ones."""
    package = types.ModuleType("flash_attn")
    package.__path__ = [str(checkout / "flash_attn")]
    vars(package).update(functions_of(heed.flash_attn))
    interface = types.ModuleType("flash_attn.flash_attn_interface")
    vars(interface).update(functions_of(heed.flash_attn), USE_TRITON_ROCM=False,
                           _get_block_size_n=lambda *_: 128)
    sys.modules.update({"flash_attn": package, "flash_attn.flash_attn_interface": interface})
    take_rotary(device)


def take_rotary(device):
    """On a CPU the checkout's rotary embedding in torch, since the other one is in Triton."""
    if device == "cpu":
        triton = types.ModuleType("flash_attn.ops.triton.rotary")
        triton.apply_rotary = None
        sys.modules["flash_attn.ops.triton.rotary"] = triton
        from flash_attn.layers import rotary

        def apply(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, cu_seqlens=None, max_seqlen=None):
            offsets = torch.as_tensor(seqlen_offsets).view(-1, 1).expand(x.shape[0], 1)
            at = offsets.to(x.device) + torch.arange(x.shape[1], device=x.device)
            return rotary.apply_rotary_emb_torch(x.float(), cos[at].float(), sin[at].float(), interleaved).to(x.dtype)
        rotary.apply_rotary_emb = apply


def take_place_of_3(checkout, device):
    """The module flash_attn_interface of hopper/, and for its rotary embedding the package flash_attn."""
    take_place_of_2(checkout, device)
    interface = types.ModuleType("flash_attn_interface")
    vars(interface).update(functions_of(heed.flash_attn_3),
                           get_scheduler_metadata=heed.flash_attn_3.get_scheduler_metadata)
    sys.modules["flash_attn_interface"] = interface
    for name in ("BACKWARD", "FP8"):
        os.environ[f"FLASH_ATTENTION_DISABLE_{name}"] = "TRUE"


def run_on_cpu():
    """Replaces the GPU queries of the files."""
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.synchronize, torch.cuda.manual_seed = lambda *_: None, lambda *_: None
    properties = types.SimpleNamespace(total_memory=8 << 30, multi_processor_count=132)
    torch.cuda.get_device_properties = lambda *_: properties


class Plugin:
    """Samples the cases, and counts their outcomes."""

    def __init__(self, every, device):
        self.every, self.device = every, device
        self.passed, self.failed, self.left_out = 0, [], collections.Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        kept = []
        for item in items:
            reason = next((why for name, why in LEFT_OUT.items() if item.name.startswith(name)), None)
            if not reason and getattr(item, "callspec", None) and item.callspec.params.get("dropout_p", 0) > 0:
                reason = "dropout"
            if reason:
                self.left_out[reason] += 1
            else:
                kept.append(item)
        self.whole = len(kept)
        items[:] = random.Random(1).sample(kept, -(-len(kept) // self.every)) if self.every > 1 else kept
        print(f"{len(items)} of {self.whole} cases")

    @pytest.hookimpl
    def pytest_pycollect_makemodule(self, module_path, parent):
        return Module.from_parent(parent, path=module_path, device=self.device)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.left_out[reason.removeprefix("Skipped").lstrip(": ") or "the file's own condition"] += 1
        elif report.failed:
            self.failed.append((report.nodeid, str(report.longrepr).strip().splitlines()[-1]))


class Module(pytest.Module):
    """A test file, run on the requested device."""

    def __init__(self, *args, device, **words):
        super().__init__(*args, **words)
        self.device = device

    def _getobj(self):
        module = types.ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        text = self.path.read_text().replace('device = "cuda"', f'device = "{self.device}"')
        exec(compile(text, str(self.path), "exec"), vars(module))
        return module


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("version", choices=("2", "3"))
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("options", nargs="*", help="further options of pytest, after --")
    return parser.parse_intermixed_args()


def main():
    options = arguments()
    checkout = options.checkout.resolve()
    if options.device == "cpu":
        run_on_cpu()
    take_place = take_place_of_2 if options.version == "2" else take_place_of_3
    take_place(checkout, options.device)
    torch.autograd.grad = zeros
    folder = checkout / ("tests" if options.version == "2" else "hopper")
    sys.path.insert(0, str(folder))
    plugin = Plugin(options.every, options.device)
    pytest.main([str(folder / "test_flash_attn.py"), "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "--no-header",
                 "--tb=line", "-W", "ignore", *options.options], plugins=[plugin])
    print(f"\npassed {plugin.passed}, failed {len(plugin.failed)}, left out {sum(plugin.left_out.values())}")
    for reason, count in plugin.left_out.most_common():
        print(f"  {count:7d}  {reason}")
    for name, why in plugin.failed:
        print(f"FAILED {name}: {why}")
    sys.exit(1 if plugin.failed or not plugin.passed else 0)


if __name__ == "__main__":
    main()
