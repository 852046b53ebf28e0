#!/usr/bin/env python3
"""Makes the performance tables of README.md from the records in benchmarks/.

    scripts/performance_table.py            writes them between the two marker lines
    scripts/performance_table.py --check    exits with 1 if they are not what it would write

A record is what `heed bench --record benchmarks` keeps: benchmarks/<device>/<date>/<name>.json. Each
device has one table, of its newest date. Of several records of that day that have the same problem
the last one counts. Rivals whose problem was refused, or went wrong, have a dash.
"""

import argparse
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = "heed.bench/1"
BEGIN = "<!-- made by scripts/performance_table.py from benchmarks/: do not edit -->"
END = "<!-- end of what scripts/performance_table.py made -->"


def newest(folder):
    """Returns the records of the newest date of a device, oldest first."""
    dates = sorted(path for path in folder.iterdir() if path.is_dir())
    records = []
    for path in sorted(dates[-1].glob("*.json")) if dates else []:
        record = json.loads(path.read_text())
        if record.get("schema") != SCHEMA:
            raise SystemExit(f"{path}: no record of {SCHEMA}")
        records.append(record)
    return dates[-1] if dates else folder, sorted(records, key=lambda r: r["environment"]["time"])


def number(value):
    """Three digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value < 100 else f"{value:.0f}"


def heed_cell(row, unit):
    return f"{number(row['seconds']['p50'] * 1e6)} us, {number(row['flops_per_second'] / unit)}"


def rival_cell(match):
    """Its time and how many times heed's that is; bold where heed is slower."""
    if not match or match["outcome"] != "ok":
        return "-"
    ratio = f"{match['comparison']['ratio']:.2f}x"
    bold = "**" if match["comparison"]["verdict"] == "SLOWER" else ""
    return f"{number(match['seconds'] * 1e6)} us, {bold}{ratio}{bold}"


def collect(records):
    """Returns the rows by problem, and the names of the rivals that have any figure."""
    rows = {}
    for record in records:
        for row in record["rows"]:
            if row["outcome"] == "ok":
                rows[row["problem"]] = row
    names = {}
    for row in rows.values():
        for match in row["rivals"]:
            if match["outcome"] == "ok":
                names.setdefault(match["name"])
    return rows, list(names)


def means(rows, names):
    """Returns the line of geometric means of the ratios."""
    cells = ["geometric mean", ""]
    for name in names:
        ratios = [
            match["comparison"]["ratio"]
            for row in rows.values()
            for match in row["rivals"]
            if match["name"] == name and match["outcome"] == "ok"
        ]
        cells.append(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x")
    return cells


def line(cells):
    return "| " + " | ".join(cells) + " |"


def table(folder):
    """Returns the lines for one device."""
    date, records = newest(folder)
    rows, names = collect(records)
    if not rows:
        return []
    last, unit = records[-1], ("TFLOP/s", 1e12)
    if not last.get("replay"):
        unit = ("GFLOP/s", 1e9)
    buffers = "cold" if last["cold"] else "hot"
    facts = last["device_facts"]["features"]
    lines = [
        f"{last['device']} ({facts}), {date.name}, heed at commit {last['environment']['commit']}, "
        f"{buffers} buffers; [the records](benchmarks/{folder.name}/{date.name}).",
        "",
        line(["problem", f"heed: time, {unit[0]}", *names]),
        "|---|" + "---:|" * (len(names) + 1),
    ]
    for problem, row in rows.items():
        matches = {match["name"]: match for match in row["rivals"]}
        cells = [rival_cell(matches.get(name)) for name in names]
        lines.append(line([problem, heed_cell(row, unit[1]), *cells]))
    return lines + ([line(means(rows, names))] if names else []) + [""]


def made(benchmarks):
    folders = sorted(p for p in benchmarks.iterdir() if p.is_dir()) if benchmarks.is_dir() else []
    lines = [text for folder in folders for text in table(folder)]
    return "\n".join([BEGIN, *([""] + lines if lines else []), END])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; say if it is right")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    parser.add_argument("--benchmarks", type=pathlib.Path, default=ROOT / "benchmarks")
    args = parser.parse_args()
    text = args.readme.read_text()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{args.readme}: lacks the lines\n{BEGIN}\n{END}")
    right = before + made(args.benchmarks) + after
    if args.check and text != right:
        raise SystemExit(f"{args.readme}: its tables are not those of {args.benchmarks}: "
                         "run scripts/performance_table.py")
    if not args.check and text != right:
        args.readme.write_text(right)


if __name__ == "__main__":
    sys.exit(main())
