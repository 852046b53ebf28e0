#!/usr/bin/env python3
"""Puts the performance tables of README.md there, as `heed report --brief` makes them of benchmarks/.

    scripts/performance_table.py HEED            writes them between the two marker lines
    scripts/performance_table.py --check HEED    exits with 1 if they are not what it would write

HEED is the program, such as build/release/cli/heed. A record is what `heed bench --record benchmarks`
keeps: benchmarks/<device>/<date>/<name>.json. Each device has one table, of its newest date.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- made by scripts/performance_table.py from benchmarks/: do not edit -->"
END = "<!-- end of what scripts/performance_table.py made -->"


def made(heed, benchmarks):
    """Returns what belongs between the markers, and these."""
    if not any(benchmarks.glob("*/*/*.json")):
        return f"{BEGIN}\n{END}"
    command = [heed.resolve(), "report", "--brief", benchmarks.name]
    done = subprocess.run(command, cwd=benchmarks.parent, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"heed report ended with {done.returncode}: {done.stderr.strip()}")
    return f"{BEGIN}\n\n{done.stdout}{END}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("heed", type=pathlib.Path, metavar="HEED")
    parser.add_argument("--check", action="store_true", help="change nothing; say if it is right")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    parser.add_argument("--benchmarks", type=pathlib.Path, default=ROOT / "benchmarks")
    args = parser.parse_args()
    text = args.readme.read_text()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{args.readme}: lacks the lines\n{BEGIN}\n{END}")
    right = before + made(args.heed, args.benchmarks) + after
    if args.check and text != right:
        raise SystemExit(f"{args.readme}: its tables are not those of {args.benchmarks}: "
                         "run scripts/performance_table.py")
    if not args.check and text != right:
        args.readme.write_text(right)


if __name__ == "__main__":
    sys.exit(main())
