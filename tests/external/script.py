"""The command line and the runs of heed that the scripts of this folder share."""

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
    """Returns the parser of a script, whose first argument is the program heed, with its first line."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("heed", help="the program heed")
    return parser


def add_options(parser):
    parser.add_argument("options", nargs="*", help="further options of heed run, after --")


def package_arguments(doc):
    """Returns the arguments of a suite that comes from a package: HEED [--verbose] [-- OPTIONS...]."""
    parser = parser_of(doc)
    parser.add_argument("--verbose", action="store_true", help="name every case")
    add_options(parser)
    return parser.parse_args()


def checkout_arguments(doc, project):
    """Returns the arguments of a suite of a project's sources: HEED CHECKOUT [--every N] [--jobs N] [-- OPTIONS...]."""
    parser = parser_of(doc)
    parser.add_argument("checkout", type=pathlib.Path, help=f"the folder of {project}'s sources")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run one case in N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run N cases at a time")
    add_options(parser)
    return parser.parse_intermixed_args()


def run(command):
    """Runs heed, or raises RuntimeError with its message."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
