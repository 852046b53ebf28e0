#!/bin/sh
# exports.sh LIBRARY HEADER - checks that the shared library exports the functions of its header and
# nothing else
set -eu
library=$1
header=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^HEED_API/ { on = 1 } on { print } /;/ { on = 0 }' "$header" | grep -o '\<heed_[a-z_]*(' | tr -d '(' | sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/exported"
[ -s "$work/declared" ] || { echo "no declarations found in $header" && exit 1; }
if ! diff "$work/declared" "$work/exported"; then
    echo "< is declared in heed.h and not exported, > is exported and not declared"
    exit 1
fi
readelf -d "$library" | grep 'SONAME.*\[libheed\.so\.0\]' || { echo "the SONAME is not libheed.so.0" && exit 1; }
echo "$(wc -l <"$work/exported") functions"
