#!/bin/sh
# require.sh SCRIPT - tests scripts/require.sh on machines that lack a package, simulated by a PATH
# of fake commands
set -eu
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
sh=$(command -v sh)

# A machine where uid $1 lacks gcovr, with the fake apt-get and sudo given by $2...
machine() {
    uid=$1
    shift
    rm -rf "$bin" "$work/log"
    mkdir "$bin"
    for tool in cat env mktemp rm sed tr; do
        ln -s "$(command -v $tool)" "$bin/$tool"
    done
    command_is id "echo $uid"
    for tool in "$@"; do
        case $tool in
        # Installing makes the command appear.
        apt-get) command_is apt-get "echo apt-get \$* >>'$work/log'; case \$1 in install) echo '#!$sh' >'$bin/gcovr'; chmod +x '$bin/gcovr' ;; esac" ;;
        broken-apt-get) command_is apt-get 'echo no network; exit 100' ;;
        sudo) command_is sudo "echo sudo \$* >>'$work/log'; [ \"\$1\" != -n ] || shift; \"\$@\"" ;;
        gcovr) command_is gcovr true ;;
        esac
    done
    cp "$(command -v chmod)" "$bin/chmod"
}

command_is() {
    printf '#!%s\n%s\n' "$sh" "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# expect NAME STATUS WORDS...: the script must exit with STATUS and print each of the WORDS.
expect() {
    name=$1
    wanted=$2
    shift 2
    status=0
    PATH=$bin "$sh" "$script" coverage >"$work/said" 2>&1 </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || { echo "$name: status $status instead of $wanted" && cat "$work/said" && exit 1; }
    for words in "$@"; do
        grep -qF -e "$words" "$work/said" || { echo "$name: does not say \"$words\"" && cat "$work/said" && exit 1; }
    done
}

called() {
    grep -qF -e "$1" "$work/log" || { echo "did not call: $1" && cat "$work/log" && exit 1; }
}

unset HEED_NO_INSTALL
machine 1000 gcovr
expect "all there" 0
[ ! -s "$work/said" ] || { echo "says something though all is there" && exit 1; }

machine 0 apt-get
expect "root" 0 "gcovr: adds up the coverage" "Installing them: apt-get install"
called "apt-get update"
called "apt-get install -y --no-install-recommends gcovr"

machine 1000 apt-get sudo
expect "sudo" 0 "Installing them: sudo apt-get install"
called "sudo -n apt-get update"
called "apt-get install -y --no-install-recommends gcovr"

machine 1000 apt-get
expect "neither root nor sudo" 3 "gcovr: adds up" "Neither root nor sudo" "apt-get install -y"
[ ! -e "$work/log" ] || { echo "installed without being root" && exit 1; }

machine 0
expect "no apt" 3 "gcovr: adds up" "no apt-get"

machine 0 broken-apt-get
expect "apt fails" 3 "no network" "Installing failed"

machine 0 apt-get
export HEED_NO_INSTALL=1
expect "forbidden" 3 "gcovr: adds up" "HEED_NO_INSTALL is set" "apt-get install -y --no-install-recommends gcovr"
[ ! -e "$work/log" ] || { echo "installed though forbidden" && exit 1; }
export HEED_NO_INSTALL=0
expect "not forbidden by 0" 0
