#!/bin/sh
# duels.sh FOLDER [SCALE [PHASE...]] - measures error rate and power of verdicts on two processes
#
# Runs duels of a candidate with a copy of itself ('heed bench --calibrate --duels') on all pairs of CPUs in parallel.
# All blocks of all duels go to JSON files in FOLDER; the last lines have the totals, with the 95 % interval of a
# proportion by Clopper and Pearson. Phases (default: all, 7.5 minutes times SCALE, which is 1 by default):
#
#   same-busy     a copy that is as fast, duels of 1 s beside 4 to 12 threads that come and go     300 s
#   six-busy      a copy that takes 6 % longer, duels of 4 s beside them                            75 s
#   same-quiet    a copy that is as fast, duels of 1 s, nothing beside them                         20 s
#   three-quiet   a copy that takes 3 % longer, duels of 2 s, nothing beside them                   50 s
#
# Environment:
#
#   HEED      the program [default: build/release/cli/heed]
#   CPUS      number of CPUs to use, from CPU 0 on [default: all]
#   SOURCE    the candidate [default: proposers/attention.c]
#   PROBLEM   the problem [default: b1 h2 s64 d64 f32]
set -eu
[ $# -ge 1 ] || { echo "usage: $0 FOLDER [SCALE [PHASE...]]" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
heed=${HEED:-$root/build/release/cli/heed}
source=${SOURCE:-$root/proposers/attention.c}
problem=${PROBLEM:-b1 h2 s64 d64 f32}
pairs=$((${CPUS:-$(nproc)} / 2))
scale=${2:-1}
folder=$1
shift "$(($# < 2 ? 1 : 2))"
[ $# -ge 1 ] || set -- same-busy six-busy same-quiet three-quiet
for name in "$@"; do
    case $name in
        same-busy | six-busy | same-quiet | three-quiet) ;;
        *) echo "there is no phase '$name'" >&2 && exit 2 ;;
    esac
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
[ "$pairs" -ge 1 ] || { echo "there must be 2 CPUs" >&2 && exit 3; }

# Until it is killed: keeps 4 to 12 new threads running for 2 to 5 seconds, then none for up to 2 seconds.
disturb() {
    state=$1
    busy=
    trap 'kill $busy 2>/dev/null; exit 0' TERM
    while :; do
        state=$(((state * 1103515245 + 12345) % 2147483648))
        busy=
        for _ in $(seq $((4 + state / 65536 % 9))); do
            (trap - TERM; while :; do :; done) &
            busy="$busy $!"
        done
        sleep $((2 + state / 16 % 4))
        # shellcheck disable=SC2086  # a list
        kill $busy
        wait
        sleep $((state / 1024 % 3))
    done
}

# Arguments: name, seconds of a duel, planted percent, time limit, 1: with disturbances
phase() {
    jobs=
    loads=
    for i in $(seq 0 $((pairs - 1))); do
        cpus=$((2 * i)),$((2 * i + 1))
        if [ "$5" = 1 ]; then
            disturb $((i * 7919 + 1)) &
            taskset -cp "$cpus" $! >/dev/null
            loads="$loads $!"
        fi
        taskset -c "$cpus" "$heed" bench --calibrate --duels 100000 --source "$source" --planted "$3" --seconds "$2" \
            --seed "$i" --time-limit "$4" -t 1 --device cpu --json "$problem" \
            >"$folder/$1-$i.json" 2>"$folder/$1-$i.txt" &
        jobs="$jobs $!"
    done
    # shellcheck disable=SC2086  # lists
    wait $jobs || echo "$1: a run failed: see $folder/$1-*.txt" >&2
    if [ -n "$loads" ]; then
        # shellcheck disable=SC2086
        kill $loads
        # shellcheck disable=SC2086
        wait $loads 2>/dev/null || :
    fi
    cat "$folder/$1"-*.txt | sed -n 's/^\([0-9]* duels of .*\)/\1/p' | awk -v name="$1" -v planted="$3" '
        function after(word, text) { return match(text, word " [0-9.]+") ? substr(text, RSTART + length(word) + 1, RLENGTH - length(word) - 1) : 0 }
        # The probability of at most k of n, each with probability p.
        function upto(k, n, p, i, term, sum) {
            term = n * log(1 - p)
            for (i = 0; i <= k; i++) { sum += exp(term); term += log((n - i) / (i + 1) * p / (1 - p) + 1e-300) }
            return sum
        }
        # The p for which that probability is @chance.
        function bound(k, n, chance, low, high, i) {
            low = 1e-9; high = 1 - 1e-9
            for (i = 0; i < 60; i++) { if (upto(k, n, (low + high) / 2) > chance) low = (low + high) / 2; else high = (low + high) / 2 }
            return low
        }
        function share(k, n, low, high) {
            low = k > 0 ? bound(k - 1, n, 0.975) : 0
            high = k < n ? bound(k, n, 0.025) : 1
            return sprintf("%d of %d, %.1f %% [%.1f, %.1f]", k, n, 100 * k / n, 100 * low, 100 * high)
        }
        { runs++; n += $1; split($0, part, "as for a champion:")
          f += after("FASTER", part[1]); s += after("SLOWER", part[1]); e += after("EQUIVALENT", part[1])
          a += after("AMBIGUOUS", part[1]); F += after("FASTER", part[2]); S += after("SLOWER", part[2])
          ratio += after("all pairs together", part[2]); split(part[2], ends, "[[]"); split(ends[2], ends, ","); width += ends[2] - ends[1] }
        END {
            if (!n) { print name ": no duels"; exit }
            printf "%-12s %5d duels: FASTER %d, SLOWER %d, EQUIVALENT %d, AMBIGUOUS %d; as for a champion: FASTER %d, SLOWER %d\n", name, n, f, s, e, a, F, S
            if (planted > 0) printf "%-12s found %s; as for a champion %s\n", "", share(f, n), share(F, n)
            else printf "%-12s wrong %s; as for a champion %s\n", "", share(f + s, n), share(F + S, n)
            printf "%-12s ratio by all pairs %.4f, 99 %% interval +- %.4f; 1 + %.2f was asked for\n", "", ratio / runs, width / 2 / runs / sqrt(runs), planted / 100
        }'
}

seconds() {
    echo "$1 $scale" | awk '{ print $1 * $2 }'
}

for name in "$@"; do
    case $name in
        same-busy) phase "$name" 1 0 "$(seconds 300)" 1 ;;
        six-busy) phase "$name" 4 6 "$(seconds 75)" 1 ;;
        same-quiet) phase "$name" 1 0 "$(seconds 20)" 0 ;;
        three-quiet) phase "$name" 2 3 "$(seconds 50)" 0 ;;
    esac
done
