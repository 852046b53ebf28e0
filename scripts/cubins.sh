#!/bin/sh
# cubins.sh BUILD FOLDER [JOBS] - compile the kernels that come with the library, those of shapes/shipped.txt, into FOLDER
#
# heed_pack of the build folder BUILD compiles them; no GPU is needed. The compiler is the NVRTC that HEED_NVRTC names,
# else the version below from the Python package index, in an environment beside FOLDER: the same sources and the same
# compiler give the same files. A cache beside FOLDER keeps all code, so that only changed kernels are compiled again.
# Each kernel takes about one CPU second.
set -eu
build=$1
folder=$2
jobs=${3:-$(nproc)}
nvrtc=nvidia-cuda-nvrtc-cu12==12.9.86
here=$(cd "$(dirname "$0")/.." && pwd)

if [ -z "${HEED_NVRTC:-}" ]; then
    [ -x "$folder.env/bin/pip" ] || python3 -m venv "$folder.env"
    "$folder.env/bin/pip" install --quiet --disable-pip-version-check --no-deps "$nvrtc"
    HEED_NVRTC=$(find "$folder.env" -name 'libnvrtc.so.12' | head -n 1)
    [ -n "$HEED_NVRTC" ] || { echo "$nvrtc has no libnvrtc.so.12" >&2; exit 1; }
    export HEED_NVRTC
fi
rm -rf "$folder"
HEED_CACHE="$folder.cache" HEED_CACHE_LIMIT=1024 "$build/tools/heed_pack" "$folder" "$here/shapes/shipped.txt" "$jobs"
