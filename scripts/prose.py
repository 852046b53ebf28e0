#!/usr/bin/env python3
"""Finds sentences that open with a free relative, such as "What a kernel takes is ...".

    scripts/prose.py [FILE]...     prints FILE:LINE: SENTENCE for each, and exits with 1 if there is one

Without files it reads all that git tracks: Markdown, and the comments of C, CUDA, CMake, shell and Python.
Questions are no such sentences.
"""

import pathlib
import re
import subprocess
import sys

OPENING = re.compile(r"(?:^|(?<=[.:!?] )|(?<=[.:!?]  ))(?:What|Who|Whom|Whoever|Whatever)\b[^.?!]*[.?!:]?")
MARKS = {".md": None, ".c": "c", ".h": "c", ".cu": "c", ".cuh": "c", ".def": "c", ".cmake": "#", ".txt": "#",
         ".sh": "#", ".py": "#"}


def comments_of_c(text):
    """Returns the text with all but comments blanked, line for line."""
    kept, place = [], 0
    for match in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', text, re.DOTALL):
        kept.append(re.sub(r"[^\n]", " ", text[place:match.start()]))
        found = match.group()
        if found.startswith('"'):
            kept.append(" " * len(found))
        else:
            kept.append(re.sub(r"(?m)^[ \t]*\*(?!/)|/\*|\*/|//", lambda m: " " * len(m.group()), found))
        place = match.end()
    kept.append(re.sub(r"[^\n]", " ", text[place:]))
    return "".join(kept)


def comments_after_hash(text):
    """Returns the text of lines that begin with #, line for line."""
    lines = (line.strip().lstrip("#!") if line.lstrip().startswith("#") else "" for line in text.split("\n"))
    return "\n".join(lines)


def prose_of(path):
    text = path.read_text(errors="replace")
    mark = MARKS[path.suffix]
    if mark == "c":
        return comments_of_c(text)
    return comments_after_hash(text) if mark == "#" else text


def findings(path):
    """Yields (line, sentence) of each sentence that opens so."""
    paragraph, first = [], 1
    for number, line in enumerate(prose_of(path).split("\n") + [""], 1):
        if line.strip() and not line.lstrip().startswith(("|", "```")):
            if not paragraph:
                first = number
            paragraph.append(line.strip().lstrip("-*> "))
            continue
        text = " ".join(paragraph).strip()
        for match in OPENING.finditer(text):
            if not match.group().endswith("?"):
                yield first, match.group().strip()
        paragraph = []


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = sys.argv[1:] or subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True,
                                           check=True).stdout.split("\n")
    count = 0
    for name in names:
        path = root / name
        if path.suffix not in MARKS or not path.is_file() or "data" in path.parts:
            continue
        for line, sentence in findings(path):
            print(f"{name}:{line}: {sentence[:90]}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
