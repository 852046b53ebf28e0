#!/bin/sh
# gpu_kernels.sh SCRIPT HEED - checks that scripts/test-gpu.sh lists each CUDA kernel once
set -eu
script=$1
heed=$2
eval "$(sed -n '/^kernels() {$/,/^}$/p' "$script")"
found=$(kernels | sort)
expected=$("$heed" plan --list | grep -o '^fwd_[a-z0-9]*_sm[a-z0-9_]*' | sort -u)
if [ -z "$found" ] || [ "$found" != "$expected" ]; then
    printf 'test-gpu.sh would run the kernels\n%s\nand heed plan --list has\n%s\n' "$found" "$expected"
    exit 1
fi
