#!/bin/sh
# ci_gate.sh SCRIPT - scripts/ci_gpu_gate.sh with a made-up heed: which questions it asks, and what it makes of the answers
set -eu
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HEED_DEVICE GATE_SECONDS GATE_ALLOW_AMBIGUOUS GATE_CRITERIA GATE_TRUST

# A heed that notes what it is asked, and answers each verb with its line of $ANSWERS, "VERB STATUS", else with 0.
cat >"$work/heed" <<'EOF'
#!/bin/sh
echo "$HEED_DEVICE: $*" >>"$WORK/asked"
exit "$(sed -n "s/^$1 //p" "$WORK/answers" | head -1 | grep . || echo 0)"
EOF
chmod +x "$work/heed"
touch "$work/board.db"

# The script with the settings $3..., where heed answers $1, ends with $2; the questions are in asked.
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
    grep -qx -- "$1" "$work/asked" || fail "nobody asked: $1"
}

not_asked() {
    ! grep -q -- "$1" "$work/asked" || fail "was asked: $1"
}

# All is well, on a CPU and on a GPU.
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

# The first answer that is not good ends it.
expect 'selftest 1' 1 HEED_DEVICE=cpu
not_asked 'verify\|gate'
expect 'verify 5' 1 HEED_DEVICE=cpu # what is wrong fails, whatever it is called
not_asked 'gate'
expect 'gate 1' 1 HEED_DEVICE=cpu GATE_CRITERIA=1
not_asked 'criteria'
expect 'gate 3' 3 HEED_DEVICE=cpu
grep -q 'cannot be told' "$work/said" || fail 'it does not say that nothing is known'
expect 'gate 7' 7 HEED_DEVICE=cpu
expect 'gate 8' 8 HEED_DEVICE=cpu GATE_CRITERIA=1 # what cannot be told is no pass
not_asked 'criteria'
expect 'plan 3' 77
not_asked 'selftest'

# There must be a board and a heed, which may be one of PATH.
rm "$work/board.db"
expect '' 3 HEED_DEVICE=cpu
grep -q "heed tune --board $work/board.db" "$work/said" || fail 'it does not say how to make a board'
touch "$work/board.db"
expect '' 3 HEED_DEVICE=cpu HEED="$work/none"
expect '' 0 HEED_DEVICE=cpu HEED=heed PATH="$work:$PATH"
code=0
"$script" >"$work/said" 2>&1 || code=$?
[ "$code" -eq 2 ] || fail 'it ran without a board'
