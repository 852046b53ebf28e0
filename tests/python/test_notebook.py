#!/usr/bin/env python3
"""Executes the cells of examples/laboratory.ipynb, and checks their results.

    test_notebook.py PROGRAM

Exits with 77 without matplotlib.
"""

import json
import math
import os
import sys

from source_tree import ROOT, needed


def main():
    os.environ["HEED_PROGRAM"], os.environ["MPLBACKEND"] = sys.argv[1], "Agg"
    with needed():
        import matplotlib.pyplot as plt
    notebook = json.loads((ROOT / "examples" / "laboratory.ipynb").read_text())
    names = {"__name__": "__main__"}
    for i, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None, f"cell {i} has outputs"
            exec(compile("".join(cell["source"]), f"cell {i}", "exec"), names)
    problems, rows = names["problems"], names["rows"]
    assert len(problems) == 3 and len(plt.get_fignums()) == 2
    own = [row for row in rows if row["side"] == "heed"]
    assert [row["problem"] for row in own] == problems and all(row["p50"] > 0 for row in own)
    bars = [bar.get_height() for bar in plt.figure(1).axes[0].patches]
    assert sum(not math.isnan(height) for height in bars) == sum(row["p50"] is not None for row in rows)
    assert [row["problem"] for row in names["tuned"]] == problems
    assert {row["problem"] for row in names["trials"]} == set(problems)
    assert len(names["chosen"]) == 3 and "fwd_any_sm80_naive" in names["rejected"]


main()
