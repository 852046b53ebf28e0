#!/usr/bin/env python3
"""Runs tritonbench's unmodified operator flash_attention with an additional row for heed.

    scripts/tritonbench.py CHECKOUT [--out FOLDER] [--library FILE] [--only ROWS] [tritonbench's own options]

CHECKOUT is an unmodified checkout of tritonbench (db2155c): integrations/tritonbench/heed_row.py adds the row, and
tritonbench's run.py does the rest, in a separate process. By default the operator's shapes are b4 h48 d64 and 128 to
16384 keys in bf16; tritonbench's options include --causal, --d-head, --seq-len and --device. tritonbench_report.json in
FOLDER has the suite's own figures for each shape and row, and its commit.

The operator's inputs require gradients, so the other rows store a log-sum-exp for a backward pass that never runs;
heed's does not. (--fwd-no-grad does not help: with it the rows return nothing to check.) The row sdpa is only
FLASH_ATTENTION, unless --native-sdpa is given; cudnn runs because --only names it.
"""

import argparse
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

import kernelbench

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = "heed.tritonbench/1"
ROWS = "sdpa,cudnn,heed"
EARLY = "Caught exception, terminating early"
METRICS = "latency,tflops,accuracy,speedup"
# The suite ends a row's name at its first hyphen: the latency of "cudnn-91900" is "...-cudnn]_91900-latency".
FIGURE = re.compile(r"\[x_(?P<shape>\([^)]*\))-(?P<row>[^-]+)\]_(?P<rest>.+-)?(?P<metric>\w+)$")
NUMBER = re.compile(r"[-+0-9.e]+")


def run_suite(checkout, words):
    """Runs in the measuring process: adds the row, then runs tritonbench's own run.py."""
    sys.path[:] = [path for path in sys.path if pathlib.Path(path or ".").resolve() != ROOT / "scripts"]
    sys.path[:0] = [str(checkout), str(ROOT / "integrations" / "tritonbench"), str(ROOT / "python")]
    import heed_row

    heed_row.add()
    sys.argv = ["run.py", *words]
    runpy.run_path(str(pathlib.Path(checkout) / "run.py"), run_name="__main__")


def rows_of(figures):
    """Returns {shape: {row: {metric: value}}} from the suite's output; times are in milliseconds."""
    shapes = {}
    for name, value in figures.items():
        found = FIGURE.search(name)
        if not found:
            continue
        number = NUMBER.match(value) if isinstance(value, str) else None
        name = "-".join(filter(None, [found["row"], (found["rest"] or "").rstrip("-")]))
        row = shapes.setdefault(found["shape"], {}).setdefault(name, {})
        row[found["metric"]] = float(number.group()) if number else value
    return shapes


def listen(command, environment):
    """Runs the suite; returns its exit status, and the line after which it skipped shapes, which the status hides."""
    early, last = None, None
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stderr:
            sys.stderr.write(line)
            if EARLY in line:
                early = last = line.strip()
            elif early is last and re.match(r"\w+(\.\w+)*: ", line):
                early = line.strip()  # the exception
    return process.returncode, early


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--library", type=pathlib.Path, help="libheed.so; else as the Python package finds it")
    parser.add_argument("--only", default=ROWS)
    parser.add_argument("--baseline", default="sdpa", help="the baseline of speed-up and accuracy; aten fills memory")
    args, words = parser.parse_known_args(arguments)
    if not (args.checkout / "tritonbench" / "operators" / "flash_attention").is_dir():
        parser.error(f"{args.checkout} is not a checkout of tritonbench: it has no operator flash_attention")
    args.checkout = args.checkout.resolve()
    return args, words


def main():
    if sys.argv[1:2] == ["--inside"]:
        run_suite(sys.argv[2], sys.argv[3:])
        return 0
    args, own = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        answer = pathlib.Path(folder) / "figures.json"
        words = ["--op", "flash_attention", "--only", args.only, "--baseline", args.baseline,
                 "--metrics", METRICS, *own]
        environment = dict(os.environ)
        if args.library:
            environment["HEED_LIBRARY"] = str(args.library.resolve())
        command = [sys.executable, __file__, "--inside", str(args.checkout), *words, "--output-json", str(answer)]
        status, early = listen(command, environment)
        figures = json.loads(answer.read_text()) if answer.exists() else {}
    report = {"schema": SCHEMA, "suite": "tritonbench", "suite_commit": kernelbench.commit_of(args.checkout),
              "heed": kernelbench.version_beside(args.library),
              "command": kernelbench.command_of(sys.argv), "options": words, "time": kernelbench.now(),
              "status": status, "ended_early": early, "shapes": rows_of(figures)}
    if report["shapes"]:
        kernelbench.write_whole(args.out / "tritonbench_report.json", json.dumps(report, indent=2) + "\n")
    missing = [f"{shape}: no time" for shape, rows in report["shapes"].items() if "latency" not in rows.get("heed", {})]
    if early:
        missing.append(f"tritonbench ended early: {early}")
    if not report["shapes"]:
        missing.append(f"tritonbench ended with {status} and no figures: there is no report")
    print("\n".join(missing) or f"{len(report['shapes'])} shapes with a row of heed")
    return 1 if status != 0 or missing or not report["shapes"] else 0


if __name__ == "__main__":
    kernelbench.end(main)
