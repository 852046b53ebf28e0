#!/usr/bin/env python3
"""The structs of heed.h as declared in python/heed, compared with those of a C compiler.

    test_abi.py HEED_H CC

Every field of heed.h's structs must be there, with its offset and size, and the sizes of the structs and the numbers of
the enums must be equal. Exits with 77 without compiler.
"""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from source_tree import ROOT

from heed import _library as c

STRUCTS = {
    "heed_strides": c.Strides,
    "heed_window": c.Window,
    "heed_operand": c.Operand,
    "heed_array": c.Array,
    "heed_problem": c.Problem,
    "heed_options": c.Options,
    "heed_candidate": c.Candidate,
    "heed_buffers": c.Buffers,
}
NUMBERS = {
    "HEED_ARRAYS_MAX": c.ARRAYS_MAX,
    "HEED_ARRAY_RANK_MAX": c.ARRAY_RANK_MAX,
    "HEED_ARRAY_NAME_SIZE": c.ARRAY_NAME_SIZE,
    "HEED_EXPRESSION_SIZE": c.EXPRESSION_SIZE,
    "HEED_SPEC_SIZE": c.SPEC_SIZE,
    "HEED_ALIGNMENT": c.ALIGNMENT,
    "HEED_F32": c.F32,
    "HEED_F16": c.F16,
    "HEED_BF16": c.BF16,
    "HEED_MASK_NONE": c.MASK_NONE,
    "HEED_MASK_CAUSAL_TOP_LEFT": c.MASK_TOP_LEFT,
    "HEED_MASK_CAUSAL_BOTTOM_RIGHT": c.MASK_BOTTOM_RIGHT,
    "HEED_ALIGN_TOP_LEFT": c.ALIGN_TOP_LEFT,
    "HEED_ALIGN_BOTTOM_RIGHT": c.ALIGN_BOTTOM_RIGHT,
    "HEED_WINDOW_LEFT": c.WINDOW_LEFT,
    "HEED_WINDOW_RIGHT": c.WINDOW_RIGHT,
    "HEED_ALONG_BATCH": c.ALONG_BATCH,
    "HEED_ALONG_HEAD": c.ALONG_HEAD,
    "HEED_ALONG_QUERY": c.ALONG_QUERY,
    "HEED_ALONG_KEY": c.ALONG_KEY,
    "HEED_ALONG_POSITION": c.ALONG_POSITION,
    "HEED_DATA_NONE": c.DATA_NONE,
    "HEED_DATA_F32": c.DATA_F32,
    "HEED_DATA_F16": c.DATA_F16,
    "HEED_DATA_BF16": c.DATA_BF16,
    "HEED_DATA_I32": c.DATA_I32,
    "HEED_DATA_BYTES": c.DATA_BYTES,
    "HEED_DATA_BITS": c.DATA_BITS,
    "HEED_PRODUCTS_FULL": c.PRODUCTS["full"],
    "HEED_PRODUCTS_TF32": c.PRODUCTS["tf32"],
    "HEED_PRODUCTS_BF16X3": c.PRODUCTS["bf16x3"],
    "HEED_PRODUCTS_COUNT": len(c.PRODUCTS),
    "HEED_COMPILE_NOW": c.COMPILE["now"],
    "HEED_COMPILE_BACKGROUND": c.COMPILE["background"],
    "HEED_ESTIMATE": c.EFFORTS["estimate"],
    "HEED_MEASURE": c.EFFORTS["measure"],
    "HEED_PATIENT": c.EFFORTS["patient"],
    "HEED_WISDOM_ONLY": c.EFFORTS["wisdom"],
}


def expected():
    """The output expected from a C program."""
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            place = getattr(struct, field)
            lines.append(f"{name}.{field} {place.offset} {place.size}")
    return lines + [f"{name} {value}" for name, value in NUMBERS.items()]


def program():
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <heed.h>", "int main(void) {"]
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, _ in struct._fields_:
            lines.append(
                f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                f"sizeof((({name} *)0)->{field}));"
            )
    lines += [f'printf("{name} %d\\n", (int){name});' for name in NUMBERS]
    return "\n".join(lines + ["return 0; }", ""])


def fields_of(header, name):
    """Parses the field names of a struct from the text of heed.h."""
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return [re.search(r"(\w+)(\[\w+\])?$", part.strip()).group(1) for part in body.split(";")[:-1]]


def main():
    header, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not shutil.which(compiler):
        print(f"SKIPPED: no {compiler}")
        sys.exit(77)
    for name, struct in STRUCTS.items():
        own = [field for field, _ in struct._fields_]
        assert fields_of(header.read_text(), name) == own, (name, own)
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text(program())
        subprocess.run([compiler, f"-I{header.parent}", "-o", binary, source], check=True)
        printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    for own, theirs in zip(expected(), printed.splitlines(), strict=True):
        assert own == theirs, f"python: {own}; C: {theirs}"
    print(f"{len(printed.splitlines())} facts are equal")


main()
