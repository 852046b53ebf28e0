#!/bin/sh
# not-run.sh HEED - lists the kernels that the tests could not run on this machine
set -eu
"$1" plan --explain --device cpu 'b1 h1 s64 d64 bf16' | awk '
    BEGIN { n = 0 }
    $2 == "-" && $3 == "-" { name[n] = $1; $1 = $2 = $3 = ""; sub(/^ +/, ""); why[n++] = $0 }
    END {
        if (n == 0) { print "This machine ran every kernel."; exit }
        print "Not run on this machine; run the tests on another one, or make test-gpu, before you call them verified:"
        for (i = 0; i < n; i++) printf "  %-26s %s\n", name[i], why[i]
    }'
