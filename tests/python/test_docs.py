#!/usr/bin/env python3
"""Runs the examples of docs/python.md. Exits with 77 where there is no numpy."""

import doctest
import pathlib
import sys

try:
    import numpy  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
result = doctest.testfile(
    str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
)
print(f"{result.attempted} examples, {result.failed} wrong")
sys.exit(1 if result.failed or result.attempted == 0 else 0)
