#!/bin/sh
# test_install.sh BUILD CC CXX VERSION - installs BUILD into a temporary directory and uses it from
# outside
#
# Through pkg-config and through CMake's find_package; shared and static; C, and C++ if CXX is a
# compiler. The installed tree is moved first, since it must be relocatable.
set -eu
build=$1
cc=$2
cxx=$3
version=$4
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/usr"
lib=$(dirname "$(find "$work/usr" -name libheed.so)")
export PKG_CONFIG_PATH="$lib/pkgconfig"

for file in "$lib/libheed.so.0" "$lib/libheed.a" "$work/usr/include/heed.h" "$lib/cmake/heed/heedConfig.cmake"; do
    [ -e "$file" ] || { echo "not installed: $file" && exit 1; }
done

if [ -d "$work/usr/bin" ]; then
    echo "== command line"
    "$work/usr/bin/heed" --version
    for file in man/man1/heed.1 bash-completion/completions/heed heed/shapes/seed.txt; do
        [ -s "$work/usr/share/$file" ] || { echo "not installed: share/$file" && exit 1; }
    done
    "$work/usr/bin/heed" bench --seconds 0.01 --peers naive --json 'b1 h1 s1 d1 f32' | grep -q libexec/heed/peers/naive_peer ||
        { echo "the installed heed does not find the installed rivals" && exit 1; }
fi

echo "== pkg-config, shared"
[ "$(pkg-config --modversion heed)" = "$version" ]
# shellcheck disable=SC2046  # lists of flags
"$cc" -o "$work/shared" "$here/consumer.c" $(pkg-config --cflags --libs heed)
LD_LIBRARY_PATH=$lib "$work/shared"

echo "== pkg-config, static"
# shellcheck disable=SC2046
"$cc" -o "$work/static" "$here/consumer.c" $(pkg-config --cflags heed) -L"$lib" -l:libheed.a \
    $(pkg-config --static --libs heed | sed 's/-lheed//')
"$work/static"

with_cxx=OFF
if [ -x "$cxx" ]; then
    with_cxx=ON
    echo "== pkg-config, C++"
    # shellcheck disable=SC2046
    "$cxx" -o "$work/cxx" "$here/consumer.cpp" $(pkg-config --cflags --libs heed)
    LD_LIBRARY_PATH=$lib "$work/cxx"
else
    echo "== C++: SKIPPED, there is no C++ compiler"
fi

echo "== find_package"
cmake -S "$here" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$work/usr" \
    -DHEED_CXX=$with_cxx -DHEED_WANTED_VERSION="$version" >"$work/log" || { cat "$work/log" && exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
"$work/build/consumer_shared"
"$work/build/consumer_static"
[ $with_cxx = OFF ] || "$work/build/consumer_cxx"

if cmake -S "$here" -B "$work/other" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$work/usr" \
    -DHEED_WANTED_VERSION=99.0 >"$work/log" 2>&1; then
    echo "find_package accepted version 99.0" && exit 1
fi
