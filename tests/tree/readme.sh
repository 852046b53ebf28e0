#!/bin/sh
# readme.sh README INCLUDE LIBRARY_DIR CC - build and run the C program that README shows
#
# It must be a whole program of at most 12 statements, compile without a warning, and end with 0.
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
