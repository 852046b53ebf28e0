#!/bin/sh
# test-gpu.sh [HEED [TESTS]] - all tests that need a GPU, on the GPU of this machine
#
# HEED is the program, TESTS the folder with test_on_gpu [default: those of build/release]. Needs no build tools.
# HEED_DEVICE=cuda:N chooses the device. There are six parts:
#
#   selftest    wrong kernels that the gates must kill, and a correct one
#   verify      heed verify with every CUDA kernel over all shape files, captured values, many configs
#   sanitizer   compute-sanitizer's four tools over a few problems that cover every kernel
#   tests       graphs, streams, threads, refusals, an unusable device
#   trials      built-in sources as candidates in a separate process, and candidates with one fault each
#   laboratory  sweep, evolve, tune, board and gate, killed and resumed
#
# Names of parts after "--" select some. Ends with a line that counts what passed, failed and was skipped; the exit
# status is 1 if anything failed, 77 if there is no GPU.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
heed=$here/build/release/cli/heed
tests=$here/build/release/tests/gpu
if [ $# -gt 0 ] && [ "$1" != -- ]; then heed=$1 && shift; fi
if [ $# -gt 0 ] && [ "$1" != -- ]; then tests=$1 && shift; fi
if [ $# -gt 0 ]; then shift; fi
parts=${*:-selftest verify sanitizer tests trials laboratory}

case ${HEED_DEVICE:-} in
cuda*) ;;
*) HEED_DEVICE=cuda ;;
esac
export HEED_DEVICE
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

passed=0 failed=0 skipped=0
start=$(date +%s)

note() {
    printf '%4d s  %s\n' $(($(date +%s) - start)) "$*"
}

# Adds "P passed, F failed, S skipped", the last line of the file $1 that has such counts. The
# command's status, $2, must agree with it: a crash counts as a failure.
count() {
    line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$1" | tail -1)
    # shellcheck disable=SC2086
    set -- "$2" ${line:-0 0 0}
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    if [ "$1" -ne 0 ] && [ "$3" -eq 0 ]; then failed=$((failed + 1)); fi
}

# verify NAME ARGUMENTS...: a run of heed verify; prints the failures.
verify() {
    name=$1
    shift
    "$heed" verify --time-limit 1 "$@" >"$out/verify" 2>"$out/errors"
    code=$?
    # Having nothing to verify is not a failure: a kernel may support none of these problems.
    if [ $code -eq 4 ]; then
        skipped=$((skipped + 1))
        note "verify $name: skipped: $(tail -1 "$out/errors")"
        return
    fi
    count "$out/verify" $code
    note "verify $name: $(tail -1 "$out/verify")"
    [ $code -eq 0 ] || sed 's/^/        /' "$out/errors"
}

# Prints the names of the CUDA kernels, such as fwd_any_sm80_naive.
kernels() {
    "$heed" plan --list --json | sed -n 's/^ *"name": "\(fwd_[a-z0-9]*_sm[a-z0-9_]*\)",$/\1/p'
}

part_selftest() {
    if "$heed" selftest --device "$HEED_DEVICE" >"$out/selftest" 2>"$out/errors"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        sed 's/^/        /' "$out/errors"
    fi
    note "selftest: $(sed -n '/^killed/p' "$out/selftest")"
}

part_verify() {
    for shapes in seed edge features grid far; do
        verify "$shapes" --shapes "$here/shapes/$shapes.txt"
    done
    for layer in layer0. layer2. layer5.; do
        verify "captured $layer" --tensors "$here/tests/data/minilm.safetensors" --prefix $layer
        verify "captured $layer in bf16" --tensors "$here/tests/data/minilm.safetensors" --prefix $layer --type bf16
    done
    verify "listed tiles of each head or batch element" --quick "b4 h8/2 s64/16384 d64 bf16 causal=br shown=bits:b" \
        "b8 h16 s1/2048 d64 bf16 shown=bytes:bh" "b2 h4 s2048 d128 f16 causal visible=abs(q-k)*(head+1)<300" \
        "b3 h8/2 s1/16384 d64 bf16 starts shown=bits:" "b2 h4 s2048 d64 bf16 starts visible=k%50!=7"
    verify "all configs that planning looks at" --configs worthwhile --quick "b2 h2 s200 d64 f16 causal" "b1 h4/2 s70/300 d128 bf16" \
        "b1 h8/2 s1/3000 d64 f16" "b1 h1 s131 d80/40 f16"
}

# Problems for every feature and every kernel: masks, groups, tails, dims, strides, few queries, every type.
sanitized="b1_h2_s100_d64_f16_causal b1_h4/2_s40/150_d128_bf16 b2_h2_s1/700_d64_f16 b1_h1_s33/70_d40/24_f16_causal=br
b1_h1_s20_d256_bf16 b1_h2_s30_d33_f32 b1_h2_s70_d64_f32_causal b1_h1_s66/530_d264_f32_causal=br b1_h1_s66/140_d320_bf16
b1_h16/1_s2/150_d576/512_bf16_shared b1_h1_s65_d64_f16_q=7000:67:64_k=7000:66:64_v=7000:65:64_o=7000:68:64
b2_h1_s150_d64_f16_invariant_causal_visible=abs(q-k)%90<40"

find_sanitizer() {
    for found in "$(command -v compute-sanitizer)" "${CUDA_HOME:-}/bin/compute-sanitizer" \
        /usr/local/cuda*/bin/compute-sanitizer /opt/nvidia/compute-sanitizer/compute-sanitizer; do
        if [ -x "$found" ]; then
            echo "$found"
            return
        fi
    done
}

# sanitize TOOL KERNEL PROBLEMS...: leaves output and exit status in $out/TOOL-KERNEL.*
sanitize() {
    name=$1-$2
    tool=$1 kernel=$2
    shift 2
    "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 5 "$heed" verify --together --exact --jobs 1 \
        --kernel "$kernel" --inputs normal --gate error --gate unaligned "$@" >"$out/$name.text" 2>&1
    echo $? >"$out/$name.code"
}

# racecheck misjudges one pattern: some of a block's warps store after a barrier for these warps (bar.sync 3, 128), then
# arrive at another one (bar.arrive 1, 256) that other warps wait for before they read (bar.sync 1, 256).
# docs/kernels/attn_mla.md has a kernel of ten lines that shows it. The emulator checks attn_mla for races.
misjudged="racecheck-fwd_16bit_sm90_mla"

# All run in parallel: each is slow, and their times do not matter.
part_sanitizer() {
    sanitizer=$(find_sanitizer)
    if [ -z "$sanitizer" ]; then
        skipped=$((skipped + 1))
        note "sanitizer: skipped: there is no compute-sanitizer on PATH, in CUDA_HOME or /usr/local/cuda"
        return
    fi
    set --
    for problem in $sanitized; do
        set -- "$@" "$(echo "$problem" | tr _ ' ')"
    done
    names=""
    for tool in memcheck racecheck initcheck synccheck; do
        for kernel in $(kernels); do
            if [ $tool-"$kernel" = "$misjudged" ]; then
                skipped=$((skipped + 1))
                note "sanitizer $misjudged: skipped: it misjudges barriers of a part of a block"
                continue
            fi
            sanitize $tool "$kernel" "$@" &
            names="$names $tool-$kernel"
        done
    done
    wait
    for name in $names; do
        code=$(cat "$out/$name.code")
        if [ "$code" -eq 0 ]; then
            passed=$((passed + 1))
            note "sanitizer $name: passed"
        elif [ "$code" -eq 4 ]; then
            skipped=$((skipped + 1))
            note "sanitizer $name: skipped: it does none of these problems"
        else
            failed=$((failed + 1))
            note "sanitizer $name: failed, status $code"
            head -60 "$out/$name.text" | sed 's/^/        /'
        fi
    done
}

# program PART NAME ARGUMENTS...: one of the programs in $tests, whose last line has the counts.
program() {
    part=$1 name=$2
    shift 2
    if [ ! -x "$tests/$name" ]; then
        failed=$((failed + 1))
        note "$part: there is no $tests/$name"
        return
    fi
    {
        "$tests/$name" "$@"
        echo $? >"$out/status"
    } | tee "$out/$part" | sed -u 's/^/        /'
    count "$out/$part" "$(cat "$out/status")"
    note "$part: $(tail -1 "$out/$part")"
}

part_tests() {
    program tests test_on_gpu
}

part_trials() {
    program trials test_trial_on_gpu "$here/tests/data/trial"
}

part_laboratory() {
    program laboratory test_laboratory "$heed"
}

# Planning from wisdom only creates a context, which shows whether there is a usable GPU.
"$heed" plan --effort wisdom b1 h1 s64 d64 f16 >"$out/plan" 2>&1
if [ $? -eq 3 ]; then
    echo "skipped: no GPU to test on: $(tail -1 "$out/plan")"
    exit 77
fi
for part in $parts; do
    "part_$part"
done
note "done"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
