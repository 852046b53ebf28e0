#!/usr/bin/env python3
"""heed's ranges in PyTorch's profiler: examples/torch_profiler.py does what docs/profiling.md says

    test_torch_ranges.py LIBRARY PROFILING.MD    exits with 77 if torch cannot be imported
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "torch_profiler.py"
SKIPPED = 77
CALLS = 4


def run(library, *arguments):
    command = [sys.executable, "-B", str(EXAMPLE), *arguments]
    variables = dict(os.environ, HEED_LIBRARY=library, PYTHONPATH=str(ROOT / "python"))
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)


def check_range(library, spec):
    """A row of the table, and one slice of the trace per call."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        said = run(library, "--calls", str(CALLS), "--trace", str(trace), spec)
        assert said.returncode == 0, said.stderr
        events = json.loads(trace.read_text())["traceEvents"]
    rows = [line for line in said.stdout.splitlines() if line.strip().startswith("heed fwd_")]
    assert len(rows) == 1 and spec in rows[0] and rows[0].split()[-1] == str(CALLS), said.stdout
    ranges = [e for e in events if e.get("name", "").startswith("heed fwd_")]
    assert len(ranges) == CALLS, ranges
    for event in ranges:
        assert event["cat"] == "user_annotation" and event["name"].endswith(spec), event
        assert event["ph"] == "X" and event["dur"] > 0, event


def check_refusal(library):
    said = run(library, "b1 h1 s8 d8 f31")
    assert said.returncode == 1 and 'unknown word "f31"' in said.stderr, said.stderr


def check_page(page):
    """The page's snippet is part of the example, line by line."""
    example = [line.strip() for line in EXAMPLE.read_text().splitlines()]
    text = pathlib.Path(page).read_text()
    snippet = text.split("```python\n")[1].split("```")[0]
    missing = [line for line in snippet.splitlines() if line and line.strip() not in example]
    assert not missing, missing


def main():
    library, page = sys.argv[1:]
    check_page(page)
    try:
        import torch.profiler  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    check_range(library, "b1 h4/2 s48 d64 f32 causal")
    check_range(library, "b2 h2 s40/56 d64/32 f16")
    check_range(library, "b1 h2 s40 d64 f32 softcap=0.1")  # unsupported by torch
    check_refusal(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
