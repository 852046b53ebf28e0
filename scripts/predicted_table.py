#!/usr/bin/env python3
"""Makes docs/predicted-l4.md: the cost model's times for heed on an NVIDIA L4.

    scripts/predicted_table.py HEED            writes it
    scripts/predicted_table.py --check HEED    exits with 1 if it is not what it would write

HEED is the program, such as build/release/cli/heed, which compiles each problem's best config with
NVRTC and reads the resource usage of the machine code; no GPU is needed. Another compiler allocates
registers differently, so without NVRTC, or with another version than the document's, --check exits
with 77, for "skipped".
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "predicted-l4.md"
SHAPES = "rivals.txt"  # those of seed.txt are among them
ARCH = "sm_89"
SMEM_MAX = 99 * 1024
SKIPPED = 77

HEAD = """# Predicted: heed on an NVIDIA L4

**Nothing on this page was measured.** No device of compute capability 8.9 was available. The code of every row was
compiled for sm_89, and its resource usage was read from the machine code; times are the cost model's.

Made by `scripts/predicted_table.py` from `heed inspect --arch sm_89` with the compiler {compiler}; do not edit. After a
change of a kernel, its configs or its costs: `scripts/predicted_table.py build/release/cli/heed`.

- **config**: of `{kernel}`, the one with the smallest predicted time among those that fit.
- **registers** are per thread; none of them spills to memory. **Shared memory** is in bytes per block, of which an L4
  can have {smem_max}.
- **blocks, warps**: the number resident on a multiprocessor, of {warps_max} possible warps, and what limits it.
- **predicted**: the time of one call by the cost model.
- **roofline**: the lower bound on the time: operations at 121 TFLOP/s (dense float16 products), or bytes at 300 GB/s,
  each by the L4's data sheet, whichever takes longer. **Share** is roofline / predicted. Data that are still in the
  48 MiB of L2 from an earlier call may take less time than the second bound.
"""


def inspect(heed):
    """Returns the launched kernels of `heed inspect --json`, or None where there is no NVRTC."""
    command = [heed, "inspect", "--json", "--no-code", "--arch", ARCH]
    command += ["--shapes", ROOT / "shapes" / SHAPES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 3 and "NVRTC" in done.stderr:
        print(f"skipped: {done.stderr.strip()}")
        return None
    if done.returncode != 0:
        raise SystemExit(f"heed inspect ended with {done.returncode}: {done.stderr.strip()}")
    kernels = json.loads(done.stdout)["kernels"]
    return [kernel for kernel in kernels if kernel["entry"] == "heed_attend"]


def check_row(row):
    """Checks the statements of the document about all rows."""
    where = f"{row['problem']}: {row['kernel']}"
    if row["spill_store_bytes"] != 0 or row["spill_load_bytes"] != 0:
        raise SystemExit(f"{where}: spills")
    if row["static_bytes"] + row["dynamic_bytes"] > SMEM_MAX or not row["blocks_per_sm"]:
        raise SystemExit(f"{where}: does not fit")
    if row["predicted"]["share"] > 1:
        raise SystemExit(f"{where}: predicted to be faster than the roofline")


def best(kernels):
    """Returns the row with the smallest predicted time of each problem, in order of problems."""
    rows = {}
    for kernel in kernels:
        other = rows.get(kernel["problem"])
        if not other or kernel["predicted"]["seconds"] < other["predicted"]["seconds"]:
            rows[kernel["problem"]] = kernel
    return list(rows.values())


def duration(seconds):
    """Formats a time with three digits and a unit."""
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1, "s")):
        text = f"{seconds * factor:#.3g}".rstrip(".")
        if float(text) < 1000:
            return f"{text} {unit}"
    return f"{seconds:.0f} s"


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(rows):
    heads = ("problem", "config", "registers", "shared memory", "blocks", "warps", "limited by",
             "predicted", "roofline", "share")
    lines = [line(heads), "|---|---|" + "---:|" * 4 + "---|" + "---:|" * 3]
    for row in rows:
        predicted = row["predicted"]
        lines.append(line((
            row["problem"],
            row["kernel"].partition("__")[2],
            row["registers"],
            row["static_bytes"] + row["dynamic_bytes"],
            row["blocks_per_sm"],
            row["warps_per_sm"],
            row["limited_by"],
            duration(predicted["seconds"]),
            duration(predicted["roofline_seconds"]),
            f"{100 * predicted['share']:.0f} %",
        )))
    return "\n".join(lines)


def made(rows):
    """Returns the document's text."""
    for row in rows:
        check_row(row)
    kernels = {row["kernel"].partition("__")[0] for row in rows}
    if len(kernels) != 1:
        raise SystemExit(f"several kernels are best for some problem: {', '.join(sorted(kernels))}")
    head = HEAD.format(compiler=rows[0]["compiler"], kernel=kernels.pop(), smem_max=SMEM_MAX,
                       warps_max=48)
    return head + "\n" + table(rows) + "\n"


def compiler_of(text):
    found = re.search(r"with the compiler (V[0-9.]*[0-9])", text)
    return found.group(1) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; say if it is right")
    parser.add_argument("--document", type=pathlib.Path, default=DOCUMENT)
    parser.add_argument("heed", help="the program")
    args = parser.parse_args()
    kernels = inspect(args.heed)
    if kernels is None:
        return SKIPPED
    text = made(best(kernels))
    if not args.check:
        args.document.write_text(text)
        return 0
    there = args.document.read_text()
    if compiler_of(there) != compiler_of(text):
        print(f"skipped: {args.document.name} was made with the compiler {compiler_of(there)}; "
              f"here is {compiler_of(text)}")
        return SKIPPED
    if there != text:
        print(f"{args.document}: not what heed predicts: run scripts/predicted_table.py {args.heed}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
