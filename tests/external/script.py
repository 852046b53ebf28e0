"""The command line and the runs of heed shared by the scripts in this folder."""

import argparse
import pathlib
import subprocess
import sys

SKIPPED = 77


def skip(why):
    """Ends the script: ctest shows it as skipped."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def parser_of(doc):
    """Returns the parser of a script, whose first argument is the program heed; its description is the first line of
    @doc."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("heed", help="the program heed")
    return parser


def add_options(parser):
    parser.add_argument("options", nargs="*", help="further options of heed run, after --")


def package_arguments(doc):
    """Returns the arguments for a suite from a package: HEED [--verbose] [-- OPTIONS...]."""
    parser = parser_of(doc)
    parser.add_argument("--verbose", action="store_true", help="name every case")
    add_options(parser)
    return parser.parse_args()


def checkout_arguments(doc, project, needed=True, grids=False):
    """Returns the arguments for a suite from a project's sources: HEED CHECKOUT [--every N] [--jobs N] [--
    OPTIONS...]."""
    parser = parser_of(doc)
    parser.add_argument("checkout", type=pathlib.Path, nargs=None if needed else "?", help=f"the folder of {project}'s sources")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run one case in N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run N cases at a time")
    if grids:
        parser.add_argument("--cases", type=int, default=3, metavar="N", help="without sources, draw N of each grid")
        parser.add_argument("--grids", default="", metavar="WORD", help="run the grids whose name has it")
    own = sys.argv[1:]
    cut = own.index("--") if "--" in own else len(own)
    found = parser.parse_intermixed_args(own[:cut])
    found.options = own[cut + 1 :]  # for heed run
    return found


def report(name, what, whole, run, failed, left_out):
    """Prints the counts of a grid, of which @whole cases could be run; @left_out has the numbers of others by
    reason."""
    reasons = ", ".join(f"{count} {why}" for why, count in left_out.most_common())
    print(
        f"{name}: {what}: {run} run, {run - failed} passed, {failed} failed, {whole - run} not drawn; "
        f"left out {sum(left_out.values())}{': ' + reasons if reasons else ''}",
        flush=True,
    )


def run(command):
    """Runs heed, or raises RuntimeError with its message."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
