#!/usr/bin/env python3
"""python/call checked against Python's headers and symbols.

    test_call_abi.py HEED_CALL CC

Its sources must compile without a warning with Python.h in place of python.h, and heed_call.so may use only interpreter
symbols that python.h declares. Exits with 77 without a compiler or Python.h.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALL = ROOT / "python" / "call"


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def main():
    library, compiler = sys.argv[1:]
    declared = set(re.findall(r"\b_?Py\w+", (CALL / "python.h").read_text()))
    if shutil.which("nm"):
        text = subprocess.run(
            ["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True
        ).stdout
        used = set(re.findall(r"\b_?Py\w+", text))
        assert used and used <= declared, used - declared
        print(f"{len(used)} symbols of Python")
    folder = pathlib.Path(sysconfig.get_path("include"))
    if not shutil.which(compiler):
        skip(f"no {compiler}")
    if sys.version_info < (3, 11):
        skip("PyObject_Vectorcall is no function before Python 3.11")
    if not (folder / "Python.h").exists():
        skip(f"no Python.h in {folder}")
    flags = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-DHEED_OF_PYTHON"]
    subprocess.run(
        [compiler, *flags, "-fsyntax-only", f"-isystem{folder}", f"-I{ROOT / 'include'}", *CALL.glob("*.c")],
        check=True,
    )
    print("compiles with Python's own headers")


main()
