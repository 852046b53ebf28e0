#!/bin/sh
# run.sh BUILD - `make run`: tune attention for this machine, on the best device present
#
# Takes the values that a real text model computed, in tests/data, and the canonical shapes of
# shapes/seed.txt; HEED_RUN_SECONDS in all for that, 60 if that is not set. Its findings are on a board,
# BUILD/run/board.db, from which BUILD/run/heed.wisdom is made. Each step prints the command that it runs.
set -eu
heed=$1/cli/heed
captured=tests/data/minilm.safetensors
out=$1/run
mkdir -p "$out"

# A head line, and the command below it in lines of at most 120 columns, which a shell takes as one.
title() {
    printf '\n## %s\n' "$1"
    shift
    printf '$ heed %s\n' "$*" | fold -s -w 116 | sed -e '$!s/ *$/ \\/' -e '2,$s/^/    /'
}

step() {
    title "$@"
    shift
    "$heed" "$@"
}

step "Attention of a real model's first layer" run --tensors "$captured" --prefix layer0. --out "$out/O.npy"
step "The proof, on its values" verify --tensors "$captured" --prefix layer0. --once

# The doctor starts every rival: those that can run are compared below, and it says once what the others lack. The naive
# one, three loops, is nobody's rival. The exit status says whether the doctor found something worth a warning; that
# ends nothing here.
title "This machine, and the rivals on it" doctor
"$heed" doctor >"$out/doctor.txt" || [ $? -eq 1 ] || [ $? -eq 3 ]
cat "$out/doctor.txt"
rivals=$(awk '$1 == "OK" && $2 == "rival" && $3 != "naive" { list = list (list ? "," : "") $3 } END { print list }' \
    "$out/doctor.txt")

step "How fast that is, beside them" bench --tensors "$captured" --seconds 0.3 --peers "${rivals:-none}"

# The gates by which everything on the board is trusted or not are tried themselves.
set -- selftest --record --board "$out/board.db"
case ${HEED_DEVICE:-auto} in
cpu) ;;
cuda*) set -- "$@" --device "$HEED_DEVICE" ;;
*) if "$heed" plan --device cuda b1 h1 s64 d64 f16 >/dev/null 2>&1; then set -- "$@" --device cuda; fi ;;
esac
title "Do the gates kill every wrong kernel?" "$@"
"$heed" "$@" >"$out/selftest.txt" || [ $? -eq 1 ]
tail -2 "$out/selftest.txt"

step "A search for the fastest kernels here, beside the rivals" tune --tensors "$captured" \
    --shapes shapes/seed.txt --seconds "${HEED_RUN_SECONDS:-60}" --board "$out/board.db" --peers "${rivals:-none}"
step "The leaders" board --board "$out/board.db"

# Nothing to export is no failure: a board may have leaders of other numbers of threads alone.
title "Wisdom, to plan with from now on" wisdom export --board "$out/board.db" ">$out/heed.wisdom"
"$heed" wisdom export --board "$out/board.db" >"$out/heed.wisdom" || [ $? -eq 1 ]
