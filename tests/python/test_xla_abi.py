#!/usr/bin/env python3
"""python/xla/xla.h compared with the header in jaxlib: each field must have the same offset.

    test_xla_abi.py CC

Exits with 77 without jaxlib or a compiler.
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

#: Structs and their fields, in xla.h and in XLA.
FIELDS = {
    ("xla_version", "XLA_FFI_Api_Version"): {"major": "major_version", "minor": "minor_version"},
    ("xla_metadata", "XLA_FFI_Metadata"): {"version": "api_version", "traits": "traits"},
    ("xla_metadata_extension", "XLA_FFI_Metadata_Extension"): {"metadata": "metadata"},
    ("xla_error_args", "XLA_FFI_Error_Create_Args"): {"message": "message", "code": "errc"},
    ("xla_stream_args", "XLA_FFI_Stream_Get_Args"): {"context": "ctx", "stream": "stream"},
    ("xla_ordinal_args", "XLA_FFI_DeviceOrdinal_Get_Args"): {"context": "ctx", "ordinal": "device_ordinal"},
    ("xla_api", "XLA_FFI_Api"): {
        "version": "api_version", "error_create": "XLA_FFI_Error_Create", "stream_get": "XLA_FFI_Stream_Get",
        "ordinal_get": "XLA_FFI_DeviceOrdinal_Get",
    },
    ("xla_buffer", "XLA_FFI_Buffer"): {"type": "dtype", "data": "data", "rank": "rank", "dims": "dims"},
    ("xla_buffers", "XLA_FFI_Args"): {"count": "size", "types": "types", "items": "args"},
    ("xla_buffers", "XLA_FFI_Rets"): {"count": "size", "types": "types", "items": "rets"},
    ("xla_text", "XLA_FFI_ByteSpan"): {"data": "ptr", "length": "len"},
    ("xla_array", "XLA_FFI_Array"): {"type": "dtype", "count": "size", "data": "data"},
    ("xla_attributes", "XLA_FFI_Attrs"): {"count": "size", "types": "types", "names": "names", "items": "attrs"},
    ("xla_call", "XLA_FFI_CallFrame"): {
        "extensions": "extension_start", "api": "api", "context": "ctx", "stage": "stage", "arguments": "args",
        "results": "rets", "attributes": "attrs",
    },
}
NUMBERS = {
    "XLA_EXTENSION_METADATA": "XLA_FFI_Extension_Metadata",
    "XLA_TRAIT_CAPTURES": "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE",
    "XLA_INVALID_ARGUMENT": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "XLA_RESOURCE_EXHAUSTED": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
    "XLA_INTERNAL": "XLA_FFI_Error_Code_INTERNAL",
    "XLA_ATTRIBUTE_ARRAY": "XLA_FFI_AttrType_ARRAY",
    "XLA_ATTRIBUTE_TEXT": "XLA_FFI_AttrType_STRING",
    "XLA_S64": "XLA_FFI_DataType_S64",
    "XLA_STAGE_EXECUTE": "XLA_FFI_ExecutionStage_EXECUTE",
}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def main():
    found = importlib.util.find_spec("jaxlib")
    if found is None or not shutil.which(sys.argv[1]):
        skip("no jaxlib" if found is None else f"no {sys.argv[1]}")
    folder = pathlib.Path(found.submodule_search_locations[0]) / "include"
    if not (folder / "xla/ffi/api/c_api.h").exists():
        skip(f"no c_api.h in {folder}")
    lines = ['#include "xla.h"', "#include <xla/ffi/api/c_api.h>"]
    for (own, theirs), fields in FIELDS.items():
        for field, name in fields.items():
            where = f"offsetof({own}, {field}) == offsetof({theirs}, {name})"
            size = f"sizeof((({own} *)0)->{field}) <= sizeof((({theirs} *)0)->{name})"
            lines.append(f'_Static_assert({where} && {size}, "{own}.{field}");')
    lines += [f'_Static_assert((int){own} == (int){theirs}, "{own}");' for own, theirs in NUMBERS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "abi.c"
        source.write_text("\n".join(lines) + "\n")
        subprocess.run([sys.argv[1], "-std=gnu17", "-w", "-fsyntax-only", f"-I{ROOT / 'python/xla'}", f"-isystem{folder}",
                        str(source)], check=True)
    print(f"{sum(map(len, FIELDS.values()))} fields, {len(NUMBERS)} numbers")


main()
