#!/usr/bin/env python3
"""Finds sentences at which an English-speaking engineer stumbles.

    scripts/prose.py [FILE]...     prints FILE:LINE: PATTERN: SENTENCE for each, and exits with 1 if there is one

Without files it reads all that git tracks, except data: Markdown, notebooks, comments of C, CUDA, SQL, CMake, make,
shell and Python, and string literals of C, CUDA and Python, where messages and help are. tests/tree/test_prose.py has
an example of each pattern.
"""

import ast
import io
import json
import pathlib
import re
import subprocess
import sys
import tokenize

RELATIVE = r"(?:what|who|whom|whose|whoever|whatever)\b"
NEGATION = r"\b(?:no|not|never|neither|cannot|nothing|none|nobody|nowhere|without|nor|hardly)\b|n't\b"
PATTERNS = {
    # The first words of a sentence, of a comment beside code, or after a colon, unless it is a question. {what} and
    # @what are variables.
    "opening": re.compile(rf"^[^\w{{@]*{RELATIVE}(?!.*\?$)", re.I),
    # The title line of a file: "x.c - what ..." or "x.sh FILE - what ...".
    "title": re.compile(rf"^\W*\S+(?: [A-Z\[\].]+)* - {RELATIVE}", re.I),
    "semicolon": re.compile(rf"; {RELATIVE}(?!.*\?$)"),
    "there": re.compile(r"\bthat there (?:is|are|was|were)\b", re.I),
    "nor": re.compile(rf"^(?:(?!{NEGATION}).)*\bnor (?:do|does|did|is|are|has|have|can|will)\b", re.I),
    "rightly": re.compile(r"\band rightly\b", re.I),
    "of which": re.compile(r"\bof which (?:the|there|it|what)\b", re.I),
    "is none": re.compile(r"(?<![Tt]here )\b(?:[Ii]s|[Aa]re) none\b(?! of\b)"),  # None is Python's
}
C_TOKENS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
C_SUFFIXES = {".c", ".h", ".cu", ".cuh", ".def"}
HASH_SUFFIXES = {".cmake", ".txt", ".sh"}
HASH_NAMES = {"Makefile", "run"}  # run: of .ci
# Boards contain the text of their tables, comments included, and the laboratory compares it: these must not change.
# The last is the head of a column of `heed inspect`.
FROZEN = {"what `seconds` is; the two never compare", "what it was, where that is on the board", "what"}
SENTENCE_END = re.compile(r"(?<=[.:!?])[\")*_`]*\s+|\n")


def unescaped(literal):
    return re.sub(r"\\(.)", lambda m: " " if m.group(1) in "nt" else m.group(1), literal[1:-1])


def parts_of_c(text):
    """Yields (line, text) of each comment and of each string, whose literals are joined."""
    strings, line, end = [], 1, 0
    for match in C_TOKENS.finditer(text):
        found = match.group()
        if strings and (not found.startswith('"') or text[end:match.start()].strip(" \n\t\\")):
            yield line, "".join(strings)
            strings = []
        if found.startswith('"'):
            line = line if strings else text.count("\n", 0, match.start()) + 1
            strings.append(unescaped(found))
        elif found.startswith("/"):
            yield (text.count("\n", 0, match.start()) + 1,
                   re.sub(r"(?m)^[ \t]*\*(?!/)|/\*|\*/|//", lambda m: " " * len(m.group()), found))
        end = match.end()
    if strings:
        yield line, "".join(strings)


def comments_after(mark, text):
    """Yields the comments of lines that begin with the mark as one text, line by line, without the #! line; and each
    comment beside code."""
    comments = [line.strip() if line.lstrip().startswith(mark) else "" for line in text.split("\n")]
    lines = ("" if line.startswith("#!/") else line.lstrip(mark) for line in comments)
    yield 1, "\n".join(lines)
    for number, line in enumerate(text.split("\n"), 1):
        _, found, beside = line.partition(f" {mark} ")
        if found and not comments[number - 1]:
            yield number, beside


def parts_of_sql(text):
    """Yields comments after --; code before a comment starts a new one."""
    comment, first = [], 1
    for number, line in enumerate(text.split("\n"), 1):
        code, mark, rest = line.partition("--")
        if code.strip() or not mark:
            yield first, "\n".join(comment)
            comment, first = [], number
        comment.append(rest)
    yield first, "\n".join(comment)


def parts_of_python(text):
    """Yields comments, and strings whose adjacent literals are joined."""
    yield from comments_after("#", text)
    strings, line = [], 1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            line = line if strings else token.start[0]
            literal = token.string.lstrip("rbuRBU")
            formatted = literal[:1] in "fF"
            strings.append(literal[1:].strip("\"'") if formatted else str(ast.literal_eval(token.string)))
        elif strings and token.type not in (tokenize.NL, tokenize.COMMENT):
            yield line, "".join(strings)
            strings = []


def parts_of_notebook(text):
    """Yields text cells, and the comments of code cells, with the line of the cell's first line."""
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        line = text.count("\n", 0, text.find(json.dumps(cell["source"][0], ensure_ascii=False))) + 1 if source else 1
        for first, part in [(1, source)] if cell["cell_type"] == "markdown" else comments_after("#", source):
            yield line + first - 1, part


def parts_of(path):
    text = path.read_text(errors="replace")
    if path.suffix in C_SUFFIXES:
        return parts_of_c(text)
    if path.suffix in HASH_SUFFIXES or path.name in HASH_NAMES:
        return comments_after("#", text)
    kinds = {".py": parts_of_python, ".sql": parts_of_sql, ".ipynb": parts_of_notebook}
    return kinds.get(path.suffix, lambda whole: [(1, whole)])(text)


def paragraphs(text, first):
    """Yields (line, paragraph): lines between blank ones, without fences; and each cell of a table."""
    lines, start = [], first
    for number, line in enumerate(text.split("\n") + [""], first):
        if line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in line.split("|") if cell.strip())
        if line.strip() and not line.lstrip().startswith(("|", "```")):
            start = start if lines else number
            lines.append(line.strip().lstrip("-*> "))
            continue
        if lines:
            yield start, " ".join(lines)
        lines = []


def names_in(sentence):
    return [name for name, pattern in PATTERNS.items() if pattern.search(sentence)]


def findings(path):
    """Yields (line of the paragraph, pattern's name, sentence)."""
    for first, part in parts_of(path):
        for line, paragraph in paragraphs(part, first):
            for sentence in SENTENCE_END.split(paragraph):
                for name in names_in(sentence) if sentence.strip() not in FROZEN else []:
                    yield line, name, sentence


def tracked(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\n") if not {"data", "corpus"} & set(pathlib.PurePath(name).parts)]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    suffixes = C_SUFFIXES | HASH_SUFFIXES | {".md", ".py", ".sql", ".ipynb"}
    count = 0
    for name in sys.argv[1:] or tracked(root):
        path = root / name
        known = path.suffix in suffixes or path.name in HASH_NAMES
        if not known or not path.is_file() or path.name in ("prose.py", "test_prose.py"):
            continue
        for line, pattern, sentence in findings(path):
            print(f"{name}:{line}: {pattern}: {sentence[:110]}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
