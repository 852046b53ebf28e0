#!/bin/sh
# sample_kernel.sh PAGE ROOT CC - compiles the CPU kernel that PAGE adds, with its declaration and
# its row
#
# The three are extracted from the page. They are only compiled: not every machine has AVX-512.
set -eu
page=$1 root=$2 cc=$3
case $(uname -m) in
x86_64) ;;
*) echo "skipped: the sample is for x86-64" && exit 77 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/cpu"

# The block of the page that contains $1, without the indentation of its list.
block() {
    awk -v word="$1" '/^ *```/ { if (on && index(text, word)) { printf "%s", text; exit }
                                 on = !on; text = ""; next }
                      on { sub(/^   /, ""); text = text $0 "\n" }' "$page"
}
block '#define TILE_CODE' >"$folder/cpu/attn_thin_avx512.c"
block 'HEED_KERNEL(' >"$folder/row"
grep -o 'extern const heed_tile_code [a-z0-9_]*;' "$page" >"$folder/declaration"
for part in cpu/attn_thin_avx512.c row; do
    [ -s "$folder/$part" ] || { echo "$page has no $part" >&2 && exit 1; }
done

awk 'FNR == NR { line = $0; next } { print } /^extern const heed_tile_code/ && !done { print line; done = 1 }' \
    "$folder/declaration" "$root/src/cpu/tile.h" >"$folder/cpu/tile.h"
cat "$root/src/kernels.def" "$folder/row" >"$folder/kernels.def"
cp "$root/src/kernel.c" "$folder"
set -- "$cc" -std=gnu17 -Wall -Wextra -Werror -Wno-psabi -D_GNU_SOURCE= -DHEED_X86=1 -DHEED_KERNEL_BUILD=\"sample\" \
    -iquote "$folder" -iquote "$folder/cpu" -I"$root/include" -iquote "$root/src" -iquote "$root/src/cpu"
"$@" -fsyntax-only "$folder/kernel.c"
"$@" -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -c "$folder/cpu/attn_thin_avx512.c" -o "$folder/sample.o"
nm "$folder/sample.o" | grep -q ' [RD] heed_thin_avx512$'
