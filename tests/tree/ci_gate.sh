#!/bin/sh
# ci_gate.sh SCRIPT - tests scripts/ci_gpu_gate.sh with a fake heed: the calls it makes, and its
# reaction to the results
set -eu
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HEED_DEVICE GATE_SECONDS GATE_ALLOW_AMBIGUOUS GATE_CRITERIA GATE_TRUST

# A heed that logs its arguments, and exits with the status in its verb's line of $ANSWERS, "VERB
# STATUS", or with 0.
cat >"$work/heed" <<'EOF'
#!/bin/sh
echo "$HEED_DEVICE: $*" >>"$WORK/asked"
exit "$(sed -n "s/^$1 //p" "$WORK/answers" | head -1 | grep . || echo 0)"
EOF
chmod +x "$work/heed"
touch "$work/board.db"

# The script with the settings $3..., when heed's statuses are $1, exits with $2; the calls are in
# asked.
expect() {
    printf '%b' "$1" >"$work/answers"
    : >"$work/asked"
    wanted=$2
    shift 2
    code=0
    env WORK="$work" HEED="$work/heed" "$@" "$script" "$work/board.db" >"$work/said" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || fail "$* ended with $code and not with $wanted"
}

fail() {
    echo "$1" >&2
    cat "$work/answers" "$work/asked" "$work/said" >&2
    exit 1
}

asked() {
    grep -qx -- "$1" "$work/asked" || fail "not called: $1"
}

not_asked() {
    ! grep -q -- "$1" "$work/asked" || fail "was called: $1"
}

# Everything passes, on a CPU and on a GPU.
expect '' 0 HEED_DEVICE=cpu
asked 'cpu: selftest --device cpu'
asked 'cpu: verify --shapes seed --once --time-limit 1'
asked "cpu: gate --board $work/board.db --seconds 5"
not_asked 'plan\|criteria\|ambiguous\|trust'
expect '' 0
asked 'cuda: plan b1 h1 s64 d64 f16'
asked 'cuda: selftest --device cuda'
expect '' 0 HEED_DEVICE=cuda:1 GATE_SECONDS=9 GATE_ALLOW_AMBIGUOUS=1 GATE_TRUST=1 GATE_CRITERIA=1
asked 'cuda:1: selftest --device cuda:1'
asked "cuda:1: gate --board $work/board.db --seconds 9 --allow-ambiguous --trust-board"
asked 'cuda:1: gate --criteria --seconds 9'

# It stops at the first failure.
expect 'selftest 1' 1 HEED_DEVICE=cpu
not_asked 'verify\|gate'
expect 'verify 5' 1 HEED_DEVICE=cpu # an error fails, whatever its name
not_asked 'gate'
expect 'gate 1' 1 HEED_DEVICE=cpu GATE_CRITERIA=1
not_asked 'criteria'
expect 'gate 3' 3 HEED_DEVICE=cpu
grep -q 'cannot be told' "$work/said" || fail 'it does not say that nothing is known'
expect 'gate 7' 7 HEED_DEVICE=cpu
expect 'gate 8' 8 HEED_DEVICE=cpu GATE_CRITERIA=1 # an open verdict is not a pass
not_asked 'criteria'
expect 'plan 3' 77
not_asked 'selftest'

# There must be a board and a heed, which may be on PATH.
rm "$work/board.db"
expect '' 3 HEED_DEVICE=cpu
grep -q "heed tune --board $work/board.db" "$work/said" || fail 'it does not say how to make a board'
touch "$work/board.db"
expect '' 3 HEED_DEVICE=cpu HEED="$work/none"
expect '' 0 HEED_DEVICE=cpu HEED=heed PATH="$work:$PATH"
code=0
"$script" >"$work/said" 2>&1 || code=$?
[ "$code" -eq 2 ] || fail 'it ran without a board'
