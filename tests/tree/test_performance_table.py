#!/usr/bin/env python3
"""Tests scripts/performance_table.py, and checks that the pages contain the tables that it makes.

    test_performance_table.py HEED
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEED = pathlib.Path(sys.argv[1])
SCRIPT = ROOT / "scripts" / "performance_table.py"
sys.path.insert(0, str(SCRIPT.parent))
import performance_table  # noqa: E402, whose folder was unknown before

MEANS = "The means are over all 9 rows of it.\n"
P1, P2, P3, OLD, BAD = (f"b{n} h8 s512 d64 f16" for n in range(1, 6))


def match(name, seconds, ratio, verdict="FASTER", outcome="ok"):
    comparison = {"ratio": ratio, "verdict": verdict} if outcome == "ok" else None
    return {"name": name, "outcome": outcome, "seconds": seconds, "comparison": comparison}


def row(problem, seconds, *rivals, outcome="ok"):
    figures = {"p50": seconds} if outcome == "ok" else None
    rate = 2e8 / seconds if outcome == "ok" else None
    return {"problem": problem, "outcome": outcome, "seconds": figures, "flops_per_second": rate,
            "rivals": list(rivals)}


def write(folder, date, name, time, *rows):
    path = folder / "benchmarks" / "some-gpu" / date / name
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"schema": "heed.bench/1", "device": "Some GPU", "cold": True, "replay": True,
              "device_facts": {"features": "sm_90"}, "rows": rows,
              "environment": {"time": f"{date}T{time}Z", "commit": "c0ffee"}}
    path.write_text(json.dumps(record))


def run(folder, *arguments):
    command = [sys.executable, "-B", SCRIPT, HEED, "--root", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_table(folder):
    readme, page = folder / "README.md", folder / "docs" / "performance.md"
    page.parent.mkdir()
    story = folder / "docs" / "story.md"
    for file in (readme, page, story):
        file.write_text("before\n" + MEANS * (file == readme) +
                        f"{performance_table.BEGIN}\nold\n{performance_table.END}\nafter\n")
    assert run(folder, "--check").returncode == 1
    # Reports of suites are beside the dates, and are not records.
    other = folder / "benchmarks" / "some-gpu" / "suites" / "models.json"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"schema": "heed.torch-models/1", "rows": [{"model": "x"}]}))
    assert run(folder).returncode == 0
    assert "old" not in readme.read_text() + page.read_text()
    assert run(folder, "--check").returncode == 0
    write(folder, "2026-01-01", "a.json", "00:00:00", row(OLD, 1e-6))
    write(folder, "2026-01-02", "b.json", "10:00:00", row(P1, 1e-4), row(P3, 3e-5))
    write(folder, "2026-01-02", "a.json", "11:00:00",
          row(P1, 1e-5, match("x", 2e-5, 2.0), match("y", 5e-6, 0.5, "SLOWER")),
          row(P2, 1.234e-3, match("x", 9.87e-3, 8.0), match("y", None, None, None, "refused")),
          row(BAD, None, outcome="wrong"))
    assert run(folder, "--check").returncode == 1
    assert run(folder).returncode == 0 and run(folder, "--check").returncode == 0
    text = page.read_text()
    assert "](../benchmarks/some-gpu/2026-01-02)" in text
    assert text.startswith("before\n") and text.endswith("after\n")
    for line in ("| problem | heed: time, TFLOP/s | x | y |",
                 f"| {P1} | 10.0 us, 20.0 | 20.0 us, 2.00x | 5.00 us, **0.50x** |",
                 f"| {P2} | 1234 us, 0.162 | 9870 us, 8.00x | - |",
                 f"| {P3} | 30.0 us, 6.67 | - | - |",
                 "| geometric mean |  | 4.00x over 2 | 0.50x over 1 |"):
        assert line + "\n" in text, f"{line!r} expected in:\n{text}"
    assert OLD not in text and BAD not in text and "c0ffee" in text
    short = readme.read_text()
    assert "](benchmarks/some-gpu/2026-01-02)" in short and short.endswith("after\n")
    assert f"| {P1} |" in short and f"| {P3} |" not in short and "| geometric mean |" in short
    assert "| geometric mean of 3 rows |  | 4.00x over 2 | 0.50x over 1 |\n\n" in story.read_text() and P1 not in story.read_text()
    drawing = page.with_suffix(".svg")
    tree = xml.etree.ElementTree.parse(drawing)
    labels = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert labels[1:5] == [P1, "heed: 10.0 us, 20.0 TFLOP/s", "x: 20.0 us, 2.00x", "y: 5.00 us, 0.50x"]
    widths = [float(bar.get("width")) for bar in tree.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths[1:4] == [widths[1], widths[1] / 2, widths[1] * 2]
    for file in (readme, page, story, drawing):
        whole = file.read_text()
        file.write_text(whole.replace("2.00x", "2.10x").replace("4.00x", "4.10x"))
        assert run(folder, "--check").returncode == 1, "a figure that was changed by hand"
        file.write_text(whole)
    # Words have a separate table, which also contains the one problem in their list without words.
    plain, means = page.read_text(), "| geometric mean |  | 4.00x over 2 | 0.50x over 1 |"
    write(folder, "2026-01-02", "words.json", "12:00:00",
          row(f"{P1} causal window=9:", 1e-5, match("flex", 3e-5, 3.0)),
          row("b1 h16 s2048 d64 bf16", 1e-5, match("flex", 27e-5, 27.0)))
    assert run(folder).returncode == 0
    whole = page.read_text()
    assert plain.partition(performance_table.END)[0].strip() in whole and whole.count(means) == 1
    heading = performance_table.KINDS["words"][0]
    words = whole.partition(heading)[2]
    assert "| problem | heed: time, TFLOP/s | flex |" in words and "| geometric mean |  | 9.00x |" in words
    assert f"| {P1} |" not in words and "window" not in whole.partition(heading)[0]
    assert readme.read_text() == short and run(folder, "--check").returncode == 0
    # So do sequences and caches. A table is from the newest date with some of its rows.
    write(folder, "2026-01-03", "plain.json", "12:00:00", row(P1, 1e-5, match("x", 2e-5, 2.0)))
    write(folder, "2026-01-04", "serving.json", "12:00:00",
          row("b16 h32/8 s1/4096 d128 bf16 lengths paged=16", 1e-5, match("y", 2e-5, 2.0)),
          row("b8 h32/8 s4/4096 d128 bf16", 1e-5, match("y", 8e-5, 8.0)))
    write(folder, "2026-01-04", "single.json", "12:00:00",
          row("b1 h8 s9 d64 f32", 1e-5, match("y", 2e-5, 2.0, verdict="AMBIGUOUS")))
    assert run(folder).returncode == 0
    whole = page.read_text()
    served = whole.partition(performance_table.KINDS["serving"][0])[2]
    served, _, single = served.partition(performance_table.KINDS["f32"][0])
    assert "2026-01-04)" in served and "| geometric mean |  | 4.00x |" in served and served.count("| b") == 2
    # A mean says how many of its ratios are ambiguous.
    assert "| geometric mean |  | 2.00x, 1 of 1 ambiguous |" in single and single.count("| b") == 1
    assert words.partition(performance_table.END)[0].strip() in whole and P2 not in whole
    assert "over all 1 rows of it" in readme.read_text()
    readme.write_text("no markers")
    assert "lacks the lines" in run(folder).stderr


with tempfile.TemporaryDirectory() as scratch:
    test_table(pathlib.Path(scratch))
performance_table.sys.argv = ["performance_table.py", "--check", str(HEED)]
sys.exit(performance_table.main())
