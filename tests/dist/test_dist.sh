#!/bin/sh
# test_dist.sh BUILD - unpacks the tarball in BUILD into a directory with another name and uses it
# there
#
# Its programs may need only the C library, not newer than glibc 2.36, and must not depend on the
# build machine.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}

set -- "$build"/heed-*-linux-*.tar.gz
[ "$#" = 1 ] || fail "there is more than one tarball in $build: $*"
[ -f "$1" ] || fail "there is no tarball in $build"
tar --extract --gzip --file "$1" --directory "$work"
name=$(basename "$1" .tar.gz)
[ "$(ls "$work")" = "$name" ] || fail "the tarball does not unpack into $name alone"
root="$work/elsewhere"
mv "$work/$name" "$root"

echo "== contents"
for file in bin/heed lib/libheed.so lib/libheed.so.0 lib/libheed.a lib/pkgconfig/heed.pc lib/cmake/heed/heedConfig.cmake \
    include/heed.h libexec/heed/heed_candidate libexec/heed/peers/torch_peer.py libexec/heed/peers/onnxruntime_peer.py libexec/heed/peers/peer.py \
    share/heed/shapes/seed.txt share/man/man1/heed.1 share/man/man1/heed-bench.1 \
    share/bash-completion/completions/heed share/zsh/site-functions/_heed share/fish/vendor_completions.d/heed.fish \
    LICENSE README.md CHANGELOG.md share/doc/heed/licenses/jansson.txt share/doc/heed/licenses/md.txt \
    share/doc/heed/licenses/sqlite3.txt; do
    [ -s "$root/$file" ] || fail "$file is missing or empty"
done

echo "== dependencies"
for file in bin/heed lib/libheed.so libexec/heed/heed_candidate libexec/heed/peers/naive_peer; do
    needed=$(readelf -d "$root/$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    for library in $needed; do
        case $library in
        libc.so.6 | libm.so.6 | ld-linux*.so.*) ;;
        *) fail "$file needs $library" ;;
        esac
    done
    ! readelf -d "$root/$file" | grep -E '\((RPATH|RUNPATH)\)' || fail "$file has a search path of its own"
    newest=$(objdump -T "$root/$file" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
    [ "$(printf '%s\n2.36\n' "$newest" | sort -V | tail -n 1)" = 2.36 ] || fail "$file needs glibc $newest"
    echo "$file: $(echo "$needed" | tr '\n' ' ')glibc $newest"
done
exported=$(nm -D --defined-only "$root/lib/libheed.so" | awk '$2 != "A" && $3 !~ /^heed_/ { print $3 }')
[ -z "$exported" ] || fail "libheed.so exports $exported"
! grep -rlF "$(cd "$build" && pwd)" "$root" || fail "these name the folder that they were built in"

# An environment without anything from the source tree.
heed() {
    env -u HEED_PEERS -u HEED_CPU -u HEED_DEVICE "$root/bin/heed" "$@"
}
cd "$work"

echo "== doctor"
heed doctor --json >doctor.json || [ $? = 1 ] || fail "doctor failed"
for rival in onnxruntime torch; do
    grep -q "$rival" doctor.json || fail "doctor does not see the rival $rival"
done

echo "== plan"
heed plan --shapes seed | grep -q fwd_ || fail "plan does not find the shapes that came with it"

echo "== verify"
heed verify --once --quick 'b1 h2 s33 d16 f16' | tail -n 1

echo "== bench, beside a rival in Python"
mkdir peers
cp "$here/plain_peer.py" peers/
HEED_PEERS="$work/peers" HEED_TEST_PEERS="$root/libexec/heed/peers" HEED_PYTHON="${HEED_PYTHON:-python3}" \
    "$root/bin/heed" bench --seconds 0.1 --peers naive,plain 'b1 h1 s8 d8 f32' >table || fail "bench failed"
grep '^ *naive\|^ *plain' table || { cat table && fail "a rival is missing from the table"; }
