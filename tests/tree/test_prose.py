#!/usr/bin/env python3
"""Tests scripts/prose.py, and checks that it finds nothing in the tree.

    test_prose.py

Skipped if the tree is not a git checkout.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "prose.py"
sys.path.insert(0, str(SCRIPT.parent))
import prose  # noqa: E402, whose folder was unknown before

# A sentence that the pattern matches, and a similar one that no pattern matches.
EXAMPLES = {
    "opening": ("What a kernel takes is counted.", "What does a kernel take?"),
    "title": ("x.c - what a kernel takes", "x.c - the limits of what a kernel takes"),
    "semicolon": ("They are judged; who is refused goes.", "They are judged; those refused go."),
    "there": ("All kernels that there are.", "It finds nothing where there is none."),
    "nor": ("A task gives equal bits, nor does the order.", "It cannot wait, nor does it spin."),
    "rightly": ("Can it run the problem, and rightly?", "It is rightly refused."),
    "of which": ("Names, of which the last is NULL.", "The rows, each of which is counted."),
    "is none": ("A time without a clock is none.", "There is none, and it is none of these."),
}
BAD = EXAMPLES["opening"][0]

NOTEBOOK = """{"cells": [
 {"cell_type": "code",
  "source": ["x = what\\n", "y = 1"]},
 {"cell_type": "markdown", "source": ["What a kernel takes is counted."]}
]}
"""

# Each kind of file: name, text, and the line of its only finding.
FILES = [
    ("a.c", f"int a; /* A comment. {BAD} */\n", 1),
    ("a.h", f"/*\n * a.h - a title\n *\n * {BAD}\n */\n", 4),
    ("a.cu", f"// {BAD}\n", 1),
    ("a.def", "ROW(a,\n    \"What a kernel takes \"\n    \"is counted.\")\n", 2),
    ("b.c", "char c = '\"'; /* What counts. */\nchar *s = \"a \\\" b\";\n", 1),
    ("a.sql", f"CREATE TABLE t; -- {BAD}\n-- A second line.\n", 1),
    ("a.py", f'x = 1\n"""A docstring.\n\n{BAD}\n"""\n', 4),
    ("b.py", f"# {BAD}\n", 1),
    ("c.py", 'print("What a kernel "\n      "takes is counted.")\n', 1),
    ("a.sh", f"ls\n# {BAD}\n", 2),
    ("b.sh", "ls\nls # what it is\n", 2),
    ("d.py", "x = 1\ny = 2  # what it is\n", 2),
    ("a.cmake", f"# {BAD}\n", 1),
    ("a.md", f"A paragraph.\n\n- {BAD}\n", 3),
    ("c.c", "int a;\nint b; /* what it is */\n", 2),
    ("d.c", "int a; /* whose end it is */\n", 1),
    ("c.md", "| a | b |\n|---|---|\n| 1 | what it is |\n", 3),
    ("b.md", "Two things:\nwhat is right, and the rest.\n", 1),
    ("Makefile", f"all: x\n# {BAD}\n", 2),
    ("run", f"#!/bin/sh\n# {BAD}\n", 2),
    ("a.ipynb", NOTEBOOK, 4),
]
CLEAN = [
    ("code.c", "int What, who; /* code */ int is, none;\n"),
    ("rows.c", "{ \"all that\", 1 },\n{ \"there is\", 2 },\n"),
    ("lines.sh", "echo What is counted.\n"),
    ("names.c", "/* @what, or NULL */\n"),
    ("format.py", 'print(f"{what}: wrong")\n'),
    ("board.sql", "CREATE TABLE t (x); -- what it was, where that is on the board\n"),
]


def test_patterns():
    assert set(EXAMPLES) == set(prose.PATTERNS), set(EXAMPLES) ^ set(prose.PATTERNS)
    for name, (bad, good) in EXAMPLES.items():
        assert prose.names_in(bad) == [name], (bad, prose.names_in(bad))
        assert prose.names_in(good) == [], (good, prose.names_in(good))


def test_files(folder):
    for name, text, line in FILES:
        path = folder / name
        path.write_text(text)
        found = list(prose.findings(path))
        assert [(at, pattern) for at, pattern, _ in found] == [(line, "opening")], (name, found)
    title = folder / "title.c"
    for text in ("/*\n * title.c - what it is\n */\n", "/* title.c BUILD JOBS - whose end it is */\n"):
        title.write_text(text)
        assert [pattern for _, pattern, _ in prose.findings(title)] == ["title"], text
    for name, text in CLEAN:
        path = folder / name
        path.write_text(text)
        assert not list(prose.findings(path)), name


def test_exit_code(folder):
    for name, code in (("a.c", 1), ("code.c", 0)):
        ran = subprocess.run([sys.executable, "-B", SCRIPT, folder / name], capture_output=True, text=True, check=False)
        assert (ran.returncode, bool(ran.stdout)) == (code, code == 1), ran


def test_tree():
    ran = subprocess.run([sys.executable, "-B", SCRIPT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, "rewrite these sentences:\n" + ran.stdout + ran.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        test_patterns()
        test_files(pathlib.Path(name))
        test_exit_code(pathlib.Path(name))
    if not (ROOT / ".git").exists():
        print("skipped: this is not a checkout of git")
        sys.exit(77)
    test_tree()


main()
