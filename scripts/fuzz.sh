#!/bin/sh
# fuzz.sh BUILD SECONDS - run every fuzz target of BUILD for SECONDS
#
# Starts from the inputs in tests/fuzz/corpus. New inputs that reach new code are kept under BUILD; libFuzzer names a
# failing input, which belongs in the corpus once its bug is fixed.
set -eu
build=$1
seconds=$2
source=$(cd "$(dirname "$0")/.." && pwd)

export ASAN_OPTIONS="${ASAN_OPTIONS:-allocator_may_return_null=1}"
for target in "$build"/tests/fuzz_*; do
    [ -x "$target" ] || continue
    name=${target##*/fuzz_}
    found=$build/corpus/$name
    mkdir -p "$found"
    echo "== fuzz_$name for $seconds s"
    "$target" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/failed-$name-" \
        "$found" "$source/tests/fuzz/corpus/$name"
done
