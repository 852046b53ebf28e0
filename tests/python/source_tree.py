"""The source tree, whose python/heed tests import, and the end of a test that lacks a package.

    from source_tree import ROOT, needed    before heed is imported
    with needed():                   exits with 77 unless all imports succeed
        import torch
"""

import contextlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))


@contextlib.contextmanager
def needed():
    try:
        yield
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(77)
