#!/bin/sh
# make_run.sh HEED SOURCE [sample] - tests the output of `make run` after the build, with a search
# of two seconds
#
# In a sample the gates are tried on one wrong kernel, not on all.
#
# No line is longer than 120 columns; the rivals compared are those available; and the titles and
# commands shown in docs/command-line.md are the ones printed, word for word and in that order.
set -eu
heed=$1 source=$2 part=${3:-all}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/cli"
if [ "$part" = sample ]; then
    cat >"$folder/cli/heed" <<EOF
#!/bin/sh
[ "\$1" != selftest ] || set -- selftest half-the-logits
exec "$heed" "\$@"
EOF
    chmod +x "$folder/cli/heed"
else
    ln -s "$heed" "$folder/cli/heed"
fi
cd "$source"
HEED_RUN_SECONDS=2 HEED_DEVICE=cpu scripts/run.sh "$folder" >"$folder/said" 2>&1 || {
    echo "make_run: scripts/run.sh returned $?" >&2
    tail -5 "$folder/said" >&2
    exit 1
}
# One mutant is not a full selftest, which tune reports in a long line.
[ "$part" = all ] || sed -i "/^new trials are 'untested'/d" "$folder/said"
awk 'length > 120 { print "make_run: a line of " length " columns: " $0; bad = 1 } END { exit bad }' "$folder/said" >&2

# A rival that cannot be started is named by the doctor, and nowhere else.
awk '$1 == "WARN" && $2 == "rival" && $3 ~ /:$/ { print $3 }' "$folder/said" | while read -r name; do
    [ "$(grep -c "$name" "$folder/said")" -eq 1 ] || {
        echo "make_run: $name cannot be started, and is named more than once" >&2
        exit 1
    }
done

# The gates kill wrong kernels and no others.
grep -Eqx 'killed ([1-9][0-9]*)/\1, accepted ([0-9]+)/\2' "$folder/run/selftest.txt" || {
    tail -3 "$folder/run/selftest.txt" >&2
    exit 1
}

# Directories differ, and so do the available rivals.
same() {
    sed -n "$1" "$2" | sed -e "s,$folder,build/release,g" -e 's/--peers .*/--peers .../'
}
same '/^`make run` prints/,/^A log of it/{/^    \(## \|\$ heed\)/s/^    //p}' docs/command-line.md >"$folder/shown"
same '/^## \|^\$ heed/p' "$folder/said" | grep -v '^\$ heed tune' >"$folder/printed"
[ -s "$folder/shown" ] && diff "$folder/shown" "$folder/printed"
