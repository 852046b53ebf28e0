#!/bin/sh
# ci_gpu_gate.sh BOARD - the regression gate as a job on a machine with a GPU
#
# BOARD is the leaderboard with the champions to compare with, made by 'heed tune --board BOARD' on this machine: keep
# it where the job finds it again. Nothing is written to it. Environment:
#
#   HEED            the program [default: build/release/cli/heed]
#   HEED_DEVICE     cuda, cuda:N or cpu [default: cuda]
#   GATE_SECONDS    seconds for each problem [default: 5]
#   GATE_ALLOW_AMBIGUOUS  1: an ambiguous comparison passes; else the exit status is 8
#   GATE_CRITERIA   1: also compare with SDPA by the criteria
#   GATE_TRUST      1: rebuild champions from the board's sources even if others may write to the board
#
# There are three checks, the cheapest first: the gates still kill every wrong kernel, heed's results are right, and
# heed is as fast as the champions. The exit status is that of the first failed check: 1 for a regression or a wrong
# result, 77 if there is no GPU, anything else if this machine cannot decide, which is not a verdict on the change.
set -u
[ $# -eq 1 ] || { echo "usage: $0 BOARD" >&2 && exit 2; }
board=$1
heed=${HEED:-$(cd "$(dirname "$0")/.." && pwd)/build/release/cli/heed}
HEED_DEVICE=${HEED_DEVICE:-cuda}
export HEED_DEVICE

command -v "$heed" >/dev/null || { echo "$heed is not there: build it with make" >&2 && exit 3; }
[ -r "$board" ] || { echo "$board is not there: make it with heed tune --board $board" >&2 && exit 3; }
case $HEED_DEVICE in
cuda*) "$heed" plan b1 h1 s64 d64 f16 >/dev/null 2>&1 || { echo "no GPU that works: skipped" >&2 && exit 77; } ;;
esac

step() {
    printf '\n## %s\n$ heed' "$1"
    shift
    printf ' %s' "$@"
    printf '\n'
    "$heed" "$@"
    code=$?
    if [ "$code" -ne 0 ]; then
        [ "$code" -ne 5 ] || code=1
        [ "$code" -eq 1 ] && echo "failed" || echo "cannot be told here: exit status $code"
        exit "$code"
    fi
}

allow=
[ "${GATE_ALLOW_AMBIGUOUS:-0}" = 0 ] || allow=--allow-ambiguous
trust=
[ "${GATE_TRUST:-0}" = 0 ] || trust=--trust-board
step "Do the gates kill what is wrong?" selftest --device "$HEED_DEVICE"
step "Is it right?" verify --shapes seed --once --time-limit 1
# shellcheck disable=SC2086  # options or none
step "Is it as fast?" gate --board "$board" --seconds "${GATE_SECONDS:-5}" $allow $trust
if [ "${GATE_CRITERIA:-0}" != 0 ]; then
    step "Is it good enough?" gate --criteria --seconds "${GATE_SECONDS:-5}"
fi
