#!/bin/sh
# lint.sh BUILD JOBS - checks format and runs static analysis on the whole tree
#
# BUILD is a configured build folder with a compile_commands.json. Runs every checker even after one has failed, and
# fails at the end if any did.
set -u
build=$1
jobs=$2
cd "$(dirname "$0")/.." || exit 1

failed=""
check() {
    name=$1
    shift
    echo "== $name"
    "$@" || failed="$failed $name"
}

# Lists files that git tracks or would add, by pattern.
files() {
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        [ -f "$file" ] && printf '%s\n' "$file"
    done
}

format() {
    files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

# One file per process: after the first, clang-tidy 14 reports every va_list as uninitialized. It counts suppressed
# warnings on stderr; its findings are on stdout. The command lines are gcc's. A clean file leaves its key, and is not
# checked again until the key changes.
tidy() {
    mkdir -p "$build/lint/clean"
    scripts/lint_commands.py "$build" >"$build/lint/files" || return
    while read -r key file; do
        [ -e "$build/lint/clean/$key" ] || echo "$key $file"
    done <"$build/lint/files" >"$build/lint/changed"
    count=$(wc -l <"$build/lint/changed")
    echo "$count of $(wc -l <"$build/lint/files") files are new or have changed since they were clean"
    # shellcheck disable=SC2016  # the inner shell's variables
    awk '{ print NR, $0 }' "$build/lint/changed" | xargs -r -P "$jobs" -n 3 sh -c '
        echo "   $2 of $1: ${4#"$PWD"/}"
        clang-tidy --quiet -p "$0/lint" --extra-arg=-Wno-unknown-warning-option "$4" 2>/dev/null || exit 1
        [ "$3" = - ] || : >"$0/lint/clean/$3"' "$build" "$count"
}

cppcheck_all() {
    cppcheck --project="$build/lint/compile_commands.json" -j "$jobs" --quiet --inline-suppr \
        --cppcheck-build-dir="$build/cppcheck" --enable=warning,performance,portability \
        --suppressions-list=.cppcheck-suppressions --error-exitcode=1
}

scripts() {
    { files '*.sh' && echo .ci/run; } | xargs shellcheck
}

# Templates of lab/suite have placeholders, such as @TYPE@, that heed fills in.
python() {
    files '*.py' | xargs -r python3 -c '
import ast, re, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(re.sub("@[A-Z_]+@", "0", file.read()), path)'
}

# Checks the types of only the package, independent of installed packages; pyproject.toml has the options.
types() {
    command -v mypy >/dev/null || {
        echo "skipped: no mypy"
        return 0
    }
    mypy --strict --no-site-packages --cache-dir "$build/mypy"
}

prose() {
    scripts/prose.py
}

# Subjects of commits since the last tag, or of the last 20: at most 72 characters, and no semicolon.
subjects() {
    range=-20
    tag=$(git describe --tags --abbrev=0 2>/dev/null) && range=$tag..HEAD
    ! git log --no-merges --format='%h %s' "$range" | grep -E '^[^ ]+ (.{73}|.*;)'
}

# Relative links of Markdown files must lead somewhere.
links() {
    files '*.md' | xargs python3 -c '
import pathlib, re, sys
broken = 0
for path in map(pathlib.Path, sys.argv[1:]):
    for link in re.findall(r"\]\(([^)#: ]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not (path.parent / link).exists():
            broken = print(f"{path}: {link} does not exist") or 1
sys.exit(broken)'
}

manuals() {
    find "$build" -name '*.[1-9]' -path '*man*' -print0 2>/dev/null |
        xargs -0 -r mandoc -T lint -W warning
}

mkdir -p "$build/cppcheck"
check clang-format format
check clang-tidy tidy
check cppcheck cppcheck_all
check shellcheck scripts
check python python
check mypy types
check prose prose
check subjects subjects
check links links
check mandoc manuals
if [ -n "$failed" ]; then
    echo "not clean:$failed"
    exit 1
fi
echo "clean"
