#!/bin/sh
# readme.sh README INCLUDE LIBRARY_DIR CC - builds and runs the C program in README
#
# It must be a complete program of at most 12 statements, compile without a warning, and exit with
# 0. The two lines on wisdom, which README shows below it, must compile in it.
set -eu
readme=$1 include=$2 library=$3 cc=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sed -n '/^```c$/,/^```$/{/^```/d;p}' "$readme" >"$folder/program.c"
grep -q 'int main' "$folder/program.c" || {
    echo "readme: $readme shows no C program" >&2
    exit 1
}
statements=$(sed -n '/int main/,$p' "$folder/program.c" | grep -c ';$')
[ "$statements" -le 12 ] || {
    echo "readme: the program has $statements statements; at most 12 were promised" >&2
    exit 1
}
"$cc" -std=c17 -Wall -Wextra -Werror -I"$include" "$folder/program.c" -o "$folder/program" \
    -L"$library" -lheed -Wl,-rpath,"$library"
"$folder/program"

sed -n 's/^    \(heed_[a-z_]*(.*;\).*/\1/p' "$readme" >"$folder/wisdom.c"
grep -q HEED_WISDOM_ONLY "$folder/wisdom.c" || {
    echo "readme: $readme does not show how to plan with wisdom" >&2
    exit 1
}
sed "/buffers = {/r $folder/wisdom.c" "$folder/program.c" >"$folder/wise.c"
"$cc" -std=c17 -Wall -Wextra -Werror -I"$include" -fsyntax-only "$folder/wise.c"
