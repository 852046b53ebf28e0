#!/bin/sh
# run.sh BUILD - the tour behind `make run`: plan, execute, verify and time attention on this machine
#
# Takes the values that a real text model computed, in tests/data, and the shapes of shapes/seed.txt.
# Each step prints the command that it runs. What is verified here is one pass of what `make test`
# does at length.
set -eu
heed=$1/cli/heed
captured=tests/data/minilm.safetensors
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

step() {
    printf '\n## %s\n' "$1"
    shift
    printf '$ heed %s\n' "$*"
    "$heed" "$@"
}

# The doctor's exit status says whether it found something worth a warning; that ends nothing here.
step "This machine" doctor || [ $? -eq 1 ]
step "What heed would run, and why" plan --explain b1 h8 s512 d64 f32
step "Attention of a real model's first layer" run --tensors "$captured" --prefix layer0. --out "$out/O.npy"
for layer in layer0. layer2. layer5.; do
    step "The proof, on values of a real model" verify --tensors "$captured" --prefix "$layer" --once
done
step "The proof, on the canonical shapes" verify --shapes shapes/seed.txt --once --time-limit 0.1
step "The time, beside the rivals that are here" bench --tensors "$captured" --shapes shapes/seed.txt \
    b1 h8 s512 d64 f32 --seconds 0.5
