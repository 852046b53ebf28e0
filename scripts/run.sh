#!/bin/sh
# run.sh BUILD - `make run`: verifies and tunes attention on this machine, on the best device
#
# Uses the values of a real text model in tests/data, and the canonical shapes of shapes/seed.txt, for HEED_RUN_SECONDS
# in all [default: 60]. The results are on the board BUILD/run/board.db, from which BUILD/run/heed.wisdom is made. Each
# step prints its command.
set -eu
heed=$1/cli/heed
captured=tests/data/minilm.safetensors
out=$1/run
mkdir -p "$out"

# Prints a title, and the command below it in continued lines of at most 120 columns.
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

# The doctor starts every rival: those that run are compared below, and it prints what the others lack. The naive rival,
# three loops, is left out. The exit status says whether the doctor has a warning, which does not end this script.
title "This machine, and the rivals on it" doctor
"$heed" doctor >"$out/doctor.txt" || [ $? -eq 1 ] || [ $? -eq 3 ]
cat "$out/doctor.txt"
rivals=$(awk '$1 == "OK" && $2 == "rival" && $3 != "naive" { list = list (list ? "," : "") $3 } END { print list }' \
    "$out/doctor.txt")

step "How fast that is, beside them" bench --tensors "$captured" --seconds 0.3 --peers "${rivals:-none}"

# The gates, on which trust in the board depends, are tested themselves.
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

# Having nothing to export is not an error: a board may have leaders only for other numbers of threads.
title "Wisdom, to plan with from now on" wisdom export --board "$out/board.db" ">$out/heed.wisdom"
"$heed" wisdom export --board "$out/board.db" >"$out/heed.wisdom" || [ $? -eq 1 ]
