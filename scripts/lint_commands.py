#!/usr/bin/env python3
"""Lists the compile commands for static analysis: one for each compiled file.

lint_commands.py BUILD reads BUILD/compile_commands.json and writes BUILD/lint/compile_commands.json, which has each
file once, with its shortest command: analysers use every command of a file, and a kernel is compiled for dozens of
configs. If a source consists of definitions and an #include, its command is used for the included file. It prints a
line for each file: a key and the file. The key changes with the file, with any header that the compiler read for it,
with the command, and with clang-tidy and its configuration.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys


def unwrapped(entry, build):
    """Returns the entry of the source that a generated source includes after its definitions, or the same entry."""
    if not entry["file"].startswith(os.path.realpath(build) + os.sep):
        return entry
    with open(entry["file"], encoding="utf-8") as file:
        lines = [line.split(None, 2) for line in file.read().splitlines()]
    words = shlex.split(entry["command"])
    for name in (line[1].strip('"') for line in lines if line[0] == "#include"):
        paths = [os.path.join(word[2:], name) for word in words if word.startswith("-I")]
        path = next((path for path in paths if os.path.isfile(path)), None)
        if path:
            defines = [f"-D{line[1]}={line[2]}" for line in lines if line[0] == "#define"]
            words = words[:1] + defines + [path if word == entry["file"] else word for word in words[1:]]
            return dict(entry, file=path, command=shlex.join(words))
    return entry


def depends(entry):
    """Returns the files that the compiler read, or only the file if there is no dependency file."""
    words = shlex.split(entry["command"])
    output = words[words.index("-o") + 1] if "-o" in words else ""
    notes = os.path.join(entry["directory"], output + ".d")
    if not output or not os.path.isfile(notes):
        return None
    with open(notes, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    return sorted(path for path in shlex.split(text.partition(":")[2]) if os.path.isfile(path))


def key_of(entry, config, digests):
    paths = depends(entry)
    if paths is None:
        return "-"
    total = hashlib.sha256((config + entry["command"]).encode())
    for path in paths:
        if path not in digests:
            with open(path, "rb") as file:
                digests[path] = hashlib.sha256(file.read()).hexdigest()
        total.update((path + digests[path]).encode())
    return total.hexdigest()


def main():
    build = sys.argv[1]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    with open(".clang-tidy", encoding="utf-8") as file:
        config = file.read()
    config += subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True, text=True).stdout
    chosen = {}
    for entry in (unwrapped(entry, build) for entry in entries):
        known = chosen.get(entry["file"])
        if known is None or len(entry["command"]) < len(known["command"]):
            chosen[entry["file"]] = entry
    os.makedirs(os.path.join(build, "lint"), exist_ok=True)
    with open(os.path.join(build, "lint", "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(list(chosen.values()), file, indent=1)
    digests = {}
    for name in sorted(chosen):
        print(key_of(chosen[name], config, digests), name)


if __name__ == "__main__":
    main()
