#!/usr/bin/env python3
"""Runs the examples of README.md and docs/python.md and, with torch, of docs/torch.md. Exits with 77 without numpy."""

import doctest
import importlib.util
import os
import re
import sys

from source_tree import ROOT

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["HEED_DEVICE"] = "cpu"  # for plans without a device=; calls follow their arrays


def is_there(module):
    return importlib.util.find_spec(module) is not None


def run(name, text):
    """Runs the examples of a page, and returns the number of wrong ones."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    print(f"{name}: {runner.tries} examples, {runner.failures} wrong")
    return runner.failures + (runner.tries == 0)


def main():
    if not is_there("numpy"):
        print("SKIPPED: no numpy")
        sys.exit(77)
    for program in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        if "torch" not in program.split("\n")[0] or is_there("torch"):
            exec(compile(program, "README.md", "exec"), {})
    wrong = run("docs/python.md", (ROOT / "docs" / "python.md").read_text())
    if is_there("torch"):
        import heed.torch

        heed.torch.report(clear=True)
        page = (ROOT / "docs" / "torch.md").read_text()
        if not is_there("transformers"):
            page = page[: page.index("## transformers")]
        wrong += run("docs/torch.md", page)
    sys.exit(1 if wrong else 0)


main()
