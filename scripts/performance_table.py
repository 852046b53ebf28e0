#!/usr/bin/env python3
"""Writes the performance tables of docs/performance.md, README.md and docs/story.md, from the output of
`heed report --brief` for benchmarks/, draws those of README.md as docs/performance.svg, and takes docs/roofline.svg
from `heed report --final`.

    scripts/performance_table.py HEED            writes them between the two marker lines
    scripts/performance_table.py --check HEED    exits with 1 if they are not what it would write

HEED is the program, such as build/release/cli/heed. A record is a file of `heed bench --record benchmarks`:
benchmarks/<device>/<date>/<name>.json. Each device has a table for each kind of problem (KINDS), of the newest date
with such rows: no geometric mean covers rows of two kinds. README.md has an excerpt: the problems of EXCERPT for the
last device, and the means over all problems. docs/story.md has only the means of every table.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- made by scripts/performance_table.py from benchmarks/: do not edit -->"
END = "<!-- end of what scripts/performance_table.py made -->"


EXCERPT = ("b1 h8 s512 d64 f16", "b2 h8 s512 d64 f16 causal", "b32 h32 s512 d64 f16", "b4 h32 s4096 d64 f16",
           "b4 h16 s4096 d128 f16", "b1 h32/8 s1/4096 d128 f16", "b16 h32/8 s1/8192 d128 f16",
           "geometric mean")

# The picture, in pixels: the column of names, the bar of heed, a bar's height, the space between problems.
NAMES, FULL, BAR, GAP = 250, 400, 13, 12
COLOURS = ("#1b6ec2", "#9aa0a8", "#c4c8ce", "#6b717b", "#dcdfe3")


RECORDS = "[the records]("
DATE = "[0-9]*-*-*"  # folders of records; others, such as suites/, have reports of other programs

# Kinds of problems: the first words of a table's heading, the list of problems of such records, and words of which at
# least one is in a record of that kind. A row without any of them has that kind too if the list has its problem.
PLAIN = "plain"
KINDS = {
    PLAIN: ("", None, set()),
    "words": ("Words that hide keys or change logits, on ", "words.txt",
              {"window", "chunk", "align", "softcap", "bias", "alibi", "sinks", "starts", "shown", "array", "score",
               "visible"}),
    "serving": ("Sequences and caches, on ", "serving.txt",
                {"lengths", "paged", "varlen", "append", "shared", "prefix", "invariant"}),
    "f32": ("Float32, on ", "f32.txt", {"f32"}),
}


def words_of(problem):
    return {word.partition("=")[0] for word in problem.split()}


def kind_of(record, problem):
    """Returns the kind of a row of the record. Lists also have problems without their words, for comparison."""
    for kind, (_, _, words) in KINDS.items():
        if words & words_of(problem):
            return kind
    for kind, (_, name, words) in KINDS.items():
        listed = name and problem in (ROOT / "shapes" / name).read_text().splitlines()
        if listed and any(words & words_of(row["problem"]) for row in record["rows"]):
            return kind
    return PLAIN


def rows_with(path, kind):
    """Returns the rows of that kind in the record at @path."""
    record = json.loads(path.read_text())
    return [row for row in record.get("rows") or [] if kind_of(record, row["problem"]) == kind]


def newest(benchmarks, kind):
    """Yields the records of that kind, of each device's newest date with such records."""
    for device in sorted({path.parent.parent for path in benchmarks.glob(f"*/{DATE}/*.json")}):
        found = [path for path in sorted(device.glob(f"{DATE}/*.json")) if rows_with(path, kind)]
        yield from (path for path in found if path.parent == found[-1].parent)


def tables_of(heed, benchmarks, kind):
    """Returns the tables of `heed report --brief` for the rows of that kind, by device."""
    with tempfile.TemporaryDirectory() as scratch:
        copies = pathlib.Path(scratch) / benchmarks.name
        for path in newest(benchmarks, kind):
            copy = copies / path.relative_to(benchmarks)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(json.dumps({**json.loads(path.read_text()), "rows": rows_with(path, kind)}))
        text = report(heed, copies)
    parts = re.split(rf"(?m)^(?=.*{re.escape(RECORDS)})", text)[1:]
    return {re.search(rf"{re.escape(RECORDS)}[^/)]*/([^/)]*)", block)[1]: KINDS[kind][0] + block.strip() + "\n\n"
            for block in parts}


def tables(heed, benchmarks):
    """Returns all tables as Markdown, and the last table without words; "" in place of a missing one."""
    made = [tables_of(heed, benchmarks, kind) for kind in KINDS]
    devices = dict.fromkeys(device for found in made for device in found)
    plain = list(made[0].values())
    return "".join(found.get(device, "") for device in devices for found in made), plain[-1] if plain else ""


def report(heed, benchmarks):
    """Returns the Markdown of `heed report --brief` for the records; "" without any."""
    if not any(benchmarks.glob(f"*/{DATE}/*.json")):
        return ""
    command = [heed.resolve(), "report", "--brief", benchmarks.name]
    done = subprocess.run(command, cwd=benchmarks.parent, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"heed report ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def excerpt(text):
    """Returns the table with only the problems of EXCERPT."""
    kept, in_body = [], False
    for line in text.splitlines(keepends=True):
        row = in_body and line.startswith("|")
        if not row or line.split("|")[1].strip() in EXCERPT:
            kept.append(line)
        in_body = row or line.startswith("|---")
    return "".join(kept)


def rows_of(text):
    """Returns the number of problems of the table, over which its means are."""
    return sum(line.startswith("|") for line in text.splitlines()) - 3


def means(text):
    """Returns every table with only its means and the number of rows."""
    made = ""
    for block in re.split(rf"(?m)^(?=.*{re.escape(RECORDS)})", text)[1:]:
        lines = block.splitlines()
        table = [i for i, line in enumerate(lines) if line.startswith("|")]
        of = f"| geometric mean of {len(table) - 3} rows |"
        last = lines[table[-1]].replace("| geometric mean |", of)
        made += "\n".join([*lines[: table[0] + 2], last]) + "\n\n"
    return made


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def bars(row, names):
    """Yields the speed relative to heed's, and the label, of each bar of a table's row."""
    yield 1.0, f"heed: {row[1]}".removesuffix(": ") + " TFLOP/s" * bool(row[1])
    for name, cell in zip(names, row[2:]):
        factor = re.search(r"([0-9.]+)x", cell)
        if factor and float(factor[1]) > 0:
            yield 1 / float(factor[1]), f"{name}: {cell}".replace("**", "")


def picture(text):
    """Returns the first table of @text as an SVG: the speed of each rival relative to heed's, per problem."""
    table = [cells(line) for line in text.partition("\n\n")[2].splitlines() if line.startswith("|")]
    title = text.partition(" (")[0]
    parts, y = [], 52
    for row in table[2:]:
        drawn = list(bars(row, table[0][2:]))
        middle = y + len(drawn) * BAR / 2 + 4
        parts.append(f'<text x="{NAMES - 10}" y="{middle:g}" text-anchor="end" '
                     f'font-weight="600">{escape(row[0])}</text>')
        for i, (speed, label) in enumerate(drawn):
            width = speed * FULL
            parts.append(f'<rect x="{NAMES}" y="{y}" width="{width:.1f}" height="{BAR - 2}" '
                         f'fill="{COLOURS[min(i, len(COLOURS) - 1)]}"/>')
            parts.append(f'<text x="{NAMES + width + 6:.1f}" y="{y + BAR - 4}">{escape(label)}</text>')
            y += BAR
        y += GAP
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="860" height="{y + 4}" '
            f'viewBox="0 0 860 {y + 4}" font-family="sans-serif" font-size="11" fill="#24292f">\n'
            f'<rect width="860" height="{y + 4}" fill="#ffffff"/>\n'
            f'<text x="20" y="28" font-size="16" font-weight="600">{escape(title)}: speed beside '
            f'heed\'s (longer is faster)</text>\n')
    return head + "\n".join(parts) + "\n</svg>\n"


def roofline(heed, benchmarks):
    """Returns the roofline, as SVG, of the last device with ceilings; "" without one."""
    drawn = sorted({path for kind in (PLAIN, "words") for path in newest(benchmarks, kind)})
    dates = {path.parent.parent: path.parent.name for path in drawn}  # of each device
    with tempfile.TemporaryDirectory() as scratch:
        drawing = pathlib.Path(scratch) / "final" / "roofline.svg"
        for device in sorted(dates, key=lambda device: (dates[device], device), reverse=True):
            named = [path for path in drawn if path.parent.parent == device]
            board = ["--board", f"{scratch}/{device.name}.db"]
            for command in (["board", "add", *board, *named], ["report", "--final", drawing.parent, *board]):
                # Ceilings measured on this machine are not part of the tree. No kernel is compiled for its registers.
                done = subprocess.run([heed.resolve(), *command], capture_output=True, check=False,
                                      env={**os.environ, "HEED_CACHE": scratch, "HEED_NVRTC": os.devnull})
                if done.returncode != 0:
                    break
            if drawing.exists():
                return drawing.read_text()
    return ""


def update(page, text, benchmarks, check, rows=0):
    """Writes @text between the markers of @page, or with @check ends the program if it differs. The sentence before it
    with the number of rows of the means gets the number @rows."""
    before, found, rest = page.read_text().partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{page}: lacks the lines\n{BEGIN}\n{END}")
    if rows > 0:
        before = re.sub(r"(means are over all) [0-9]+ rows", rf"\1 {rows} rows", before)
    replace(page, f"{before}{BEGIN}\n\n{text}{END}{after}" if text else f"{before}{BEGIN}\n{END}{after}",
            benchmarks, check)


def replace(file, right, benchmarks, check):
    """Writes @right to @file, or with @check ends the program if it differs."""
    old = file.read_text() if file.exists() else ""
    if check and old != right:
        raise SystemExit(f"{file}: its figures are not those of {benchmarks}: "
                         "run scripts/performance_table.py")
    if old != right:
        file.write_text(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("heed", type=pathlib.Path, metavar="HEED")
    parser.add_argument("--check", action="store_true", help="change nothing; say if it is right")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where all of them are")
    args = parser.parse_args()
    benchmarks = args.root / "benchmarks"
    text, last = tables(args.heed, benchmarks)
    update(args.root / "docs" / "performance.md", text.replace("](benchmarks/", "](../benchmarks/"),
           benchmarks, args.check)
    story = args.root / "docs" / "story.md"
    if story.exists():
        update(story, means(text).replace("](benchmarks/", "](../benchmarks/"), benchmarks, args.check)
    update(args.root / "README.md", excerpt(last), benchmarks, args.check, rows_of(last))
    if last:
        replace(args.root / "docs" / "performance.svg", picture(excerpt(last)), benchmarks, args.check)
    drawn = roofline(args.heed, benchmarks)
    if drawn:
        replace(args.root / "docs" / "roofline.svg", drawn, benchmarks, args.check)


if __name__ == "__main__":
    sys.exit(main())
