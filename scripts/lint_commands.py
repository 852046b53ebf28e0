#!/usr/bin/env python3
"""Lists the work of the analysis: one command for each file that was compiled.

lint_commands.py BUILD reads BUILD/compile_commands.json and writes BUILD/lint/compile_commands.json, in
which each file stands once, with its shortest command: analysers take every command for a file, and a
kernel is compiled for dozens of configs. Where a source is made of definitions and an #include, the
command is that of what it includes. It prints a line for each file: a key and the file. The key
changes with the file, with any header that the compiler read for it, with the command, with clang-tidy
and with what that is to look for.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys


def unwrapped(entry, build):
    """The entry of the source that a source of the build includes after its definitions, or the same."""
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
    """The files that the compiler read, or the file alone where it has not said."""
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
