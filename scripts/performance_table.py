#!/usr/bin/env python3
"""Puts the performance tables of docs/performance.md and README.md there, as `heed report --brief` makes
them of benchmarks/.

    scripts/performance_table.py HEED            writes them between the two marker lines
    scripts/performance_table.py --check HEED    exits with 1 if they are not what it would write

HEED is the program, such as build/release/cli/heed. A record is what `heed bench --record benchmarks`
keeps: benchmarks/<device>/<date>/<name>.json. Each device has one table, of its newest date. README.md
has an excerpt, the problems of EXCERPT.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- made by scripts/performance_table.py from benchmarks/: do not edit -->"
END = "<!-- end of what scripts/performance_table.py made -->"


EXCERPT = ("b1 h8 s512 d64 f16", "b2 h8 s512 d64 f16 causal", "b32 h32 s512 d64 f16", "b4 h32 s4096 d64 f16",
           "b4 h16 s4096 d128 f16", "b1 h32/8 s1/4096 d128 f16", "b16 h32/8 s1/8192 d128 f16",
           "geometric mean")


def tables(heed, benchmarks):
    """Returns the Markdown that `heed report --brief` makes of the records; "" without any."""
    if not any(benchmarks.glob("*/*/*.json")):
        return ""
    command = [heed.resolve(), "report", "--brief", benchmarks.name]
    done = subprocess.run(command, cwd=benchmarks.parent, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"heed report ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def excerpt(text):
    """Returns the tables with no other problems than those of EXCERPT."""
    kept, in_body = [], False
    for line in text.splitlines(keepends=True):
        row = in_body and line.startswith("|")
        if not row or line.split("|")[1].strip() in EXCERPT:
            kept.append(line)
        in_body = row or line.startswith("|---")
    return "".join(kept)


def update(page, text, benchmarks, check):
    """Writes @text between the markers of @page, or with @check ends if it is not there."""
    old = page.read_text()
    before, found, rest = old.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{page}: lacks the lines\n{BEGIN}\n{END}")
    right = f"{before}{BEGIN}\n\n{text}{END}{after}" if text else f"{before}{BEGIN}\n{END}{after}"
    if check and old != right:
        raise SystemExit(f"{page}: its tables are not those of {benchmarks}: "
                         "run scripts/performance_table.py")
    if old != right:
        page.write_text(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("heed", type=pathlib.Path, metavar="HEED")
    parser.add_argument("--check", action="store_true", help="change nothing; say if it is right")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where all of them are")
    args = parser.parse_args()
    benchmarks = args.root / "benchmarks"
    text = tables(args.heed, benchmarks)
    update(args.root / "docs" / "performance.md", text.replace("](benchmarks/", "](../benchmarks/"),
           benchmarks, args.check)
    update(args.root / "README.md", excerpt(text), benchmarks, args.check)


if __name__ == "__main__":
    sys.exit(main())
