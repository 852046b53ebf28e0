#!/usr/bin/env python3
"""Makes the disassemblies in tests/data/inspect/sass from the sources in its parent folder.

    scripts/record_sass.py HEED            writes those that differ
    scripts/record_sass.py --check HEED    changes nothing; exits with 1 if one differs

HEED is the program, such as build/release/cli/heed, which compiles with NVRTC. FILE_smARCH.sass is FILE.cu for sm_ARCH
by nvdisasm, FILE_MACRO_VALUE_smARCH.sass the same with -D MACRO=VALUE, .objdump by cuobjdump. To record a new one,
create an empty file of such a name. The first line of a .sass has the compiler's resource usage and both versions.
nvdisasm and cuobjdump are taken from PATH (PyPI: nvidia-cuda-nvdisasm, nvidia-cuda-cuobjdump). Another version of NVRTC
produces different code.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "inspect"
NAME = re.compile(r"(?P<file>[a-z_]+?)(_(?P<macro>[A-Z]+)_(?P<value>\d+))?_sm(?P<arch>\d+)$")
KEEPER = """#!/bin/sh
for file; do :; done
[ ! -f "$file" ] || cp "$file" {cubin}
exec nvdisasm "$@"
"""


def output_of(*command, expected=(0,), **variables):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    if done.returncode not in expected:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def compile_file(heed, path, scratch):
    """Compiles the source of the recording @path; returns the machine code and heed's facts about it."""
    parts = NAME.match(path.stem)
    define = ["-D", f"{parts['macro']}={parts['value']}"] if parts["macro"] else []
    cubin, keeper = scratch / "code.cubin", scratch / "nvdisasm"
    keeper.write_text(KEEPER.format(cubin=cubin))
    keeper.chmod(0o755)
    said = output_of(heed, "inspect", "--json", "--arch", f"sm_{parts['arch']}", *define,
                     FOLDER / f"{parts['file']}.cu", expected=(0, 1), HEED_NVDISASM=str(keeper))
    return cubin, json.loads(said)["kernels"][0]


def code_of(text):
    """Returns nvdisasm's output from the first label on, with instructions unaligned."""
    lines = text[re.search(r"^\.text\.\w+:$", text, re.MULTILINE).start():].rstrip("\n").splitlines()
    return [" ".join(line.split()) if "/*" in line else line for line in lines if line]


def record_sass(cubin, facts):
    version = re.search(r"V[0-9.]+", output_of("nvdisasm", "--version")).group()
    head = (f"// registers {facts['registers']} stack {facts['stack_bytes']} static {facts['static_bytes']} spills "
            f"{facts['spill_store_bytes']} {facts['spill_load_bytes']} code {facts['code_bytes']} by "
            f"{facts['compiler']} and nvdisasm {version}")
    return "".join(f"{line}\n" for line in [head, *code_of(output_of("nvdisasm", "-c", cubin))])


def record_objdump(cubin, _):
    return re.sub(r"[ \t]+(?=\S)", " ", output_of("cuobjdump", "-sass", cubin))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("heed", type=pathlib.Path, metavar="HEED")
    parser.add_argument("--check", action="store_true", help="change nothing; say which differ")
    args = parser.parse_args()
    differ = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted((FOLDER / "sass").glob("*_sm*.*")):
            record = record_sass if path.suffix == ".sass" else record_objdump
            made = record(*compile_file(args.heed.resolve(), path, pathlib.Path(scratch)))
            if made != path.read_text():
                differ.append(path)
                print(path.name)
                if not args.check:
                    path.write_text(made)
    return 1 if args.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
