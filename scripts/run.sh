#!/bin/sh
# run.sh BUILD - what `make run` does: tune attention for this machine, on the best device present
#
# Takes the values that a real text model computed, in tests/data, and the canonical shapes of
# shapes/seed.txt; HEED_RUN_SECONDS in all for that, 60 if that is not set. What is found is on a board,
# BUILD/run/board.db, from which BUILD/run/heed.wisdom is made. Each step prints the command that it runs.
set -eu
heed=$1/cli/heed
captured=tests/data/minilm.safetensors
out=$1/run
mkdir -p "$out"

step() {
    printf '\n## %s\n' "$1"
    shift
    printf '$ heed %s\n' "$*"
    "$heed" "$@"
}

# The doctor's exit status says whether it found something worth a warning; that ends nothing here.
step "This machine" doctor || [ $? -eq 1 ]
step "Attention of a real model's first layer" run --tensors "$captured" --prefix layer0. --out "$out/O.npy"
step "The proof, on its values" verify --tensors "$captured" --prefix layer0. --once

# What the gates are worth, by which everything on the board is trusted or not.
set -- selftest --record --board "$out/board.db"
case ${HEED_DEVICE:-auto} in
cpu) ;;
cuda*) set -- "$@" --device "$HEED_DEVICE" ;;
*) if "$heed" plan --device cuda b1 h1 s64 d64 f16 >/dev/null 2>&1; then set -- "$@" --device cuda; fi ;;
esac
printf '\n## Do the gates kill every wrong kernel?\n$ heed %s\n' "$*"
"$heed" "$@" >"$out/selftest.txt" || [ $? -eq 1 ]
tail -2 "$out/selftest.txt"

step "What is fastest here, beside the rivals, before and after" tune --tensors "$captured" \
    --shapes shapes/seed.txt --seconds "${HEED_RUN_SECONDS:-60}" --board "$out/board.db" \
    --peers openblas,onnxruntime,torch
step "Who leads" board --board "$out/board.db"

# Nothing to export is no failure: a board may have leaders of other numbers of threads alone.
printf '\n## Wisdom, to plan with from now on\n$ heed wisdom export --board %s >%s\n' \
    "$out/board.db" "$out/heed.wisdom"
"$heed" wisdom export --board "$out/board.db" >"$out/heed.wisdom" || [ $? -eq 1 ]
