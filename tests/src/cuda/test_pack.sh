#!/bin/sh
# test_pack.sh HEED_PACK FAKE_CUDA LIST - packs the kernels of LIST twice, with a fake compiler
set -eu
pack=$1
fake=$2
list=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}
export HEED_NVRTC="$fake" HEED_CACHE_LIMIT=0

"$pack" "$work/none" "$list" 2>"$work/said" && fail "code of CUDA 13 was packed, which drivers for CUDA 12 refuse"
grep -q "NVRTC 13.0; drivers for CUDA 12.0, which heed takes, refuse its code" "$work/said" || fail "$(cat "$work/said")"
[ ! -e "$work/none" ] || fail "there is a folder"

export FAKE_NVRTC=12
for folder in one other; do
    "$pack" "$work/$folder" "$list" 3 >"$work/said"
done
count=$(sed 's/ .*//' "$work/said")
files=$(find "$work/one" -name '*.cubin' | wc -l)
[ "$files" = "$count" ] || fail "$files files of $count kernels: two have the same key"
[ "$count" -ge 200 ] || fail "only $count kernels"
[ "$(cat "$work/one/compiler")" = "NVRTC 12.0" ] || fail "signed as $(cat "$work/one/compiler")"
diff -r "$work/one" "$work/other" >/dev/null || fail "packed twice, the files differ"
for arch in 80 86 89 90; do
    grep -q " [1-9][0-9]* for sm_$arch" "$work/said" || fail "nothing for sm_$arch"
done

# The count, and an invalid list.
"$pack" "$work/counted" "$list" 0 | grep -q "^$count kernels" || fail "counted otherwise"
[ ! -e "$work/counted" ] || fail "counting made a folder"
echo 'b1 h1 s8 d64 f17' >"$work/bad"
"$pack" "$work/none" "$work/bad" 2>"$work/said" && fail "a bad problem was taken"
grep -q 'unknown word "f17"' "$work/said" || fail "$(cat "$work/said")"
