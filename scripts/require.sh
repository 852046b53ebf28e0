#!/bin/sh
# require.sh GROUP... - installs the missing Debian packages of each group
#
# Installs with apt-get, as root or through sudo, and prints what it installs and why. HEED_NO_INSTALL=1 forbids that.
# If packages are still missing, it prints them and the command that would install them, and the exit status is 3.
set -eu

# group     package             check                            purpose
packages() {
    cat <<'TABLE'
build       gcc                 command:cc                       the C compiler
build       libc6-dev           header:stdio.h                   the C library's headers
build       make                command:make                     the targets of the Makefile
build       cmake               command:cmake                    configures the build
build       ninja-build         command:ninja                    runs the build: make calls it through cmake
build       pkg-config          command:pkg-config               finds libraries
build       libmd-dev           library:libmd                    SHA-256, for the cache of compiled kernels
build       libjansson-dev      library:jansson                  JSON for the command line
build       libsqlite3-dev      library:sqlite3                  the leaderboard
build       libcurl4-openssl-dev library:libcurl             asks a language model for kernels
rivals      libopenblas-dev     library:openblas                 a rival to be timed against
test        libcmocka-dev       library:cmocka                   the unit tests
test        python3             command:python3                  tests of the layering and of the tools
test        python3-numpy       python:numpy                     tests of the tools and the Python rivals
test        python3-hypothesis  python:hypothesis                bad input for the Python package
test        valgrind            command:valgrind                 finds memory errors
browser     chromium            command:chromium                 tests of the pages of heed report
wheel       gcc                 command:cc                       the C compiler
wheel       libc6-dev           header:stdio.h                   the C library's headers
wheel       make                command:make                     runs the build
wheel       pkg-config          command:pkg-config               finds libraries
wheel       libmd-dev           library:libmd                    SHA-256, for the cache of compiled kernels
wheel       python3-venv        python:ensurepip                 the environment that the wheel is built in
lint        clang-format        command:clang-format             checks the format
lint        clang-tidy          command:clang-tidy               analyses the C code
lint        cppcheck            command:cppcheck                 analyses the C code
lint        shellcheck          command:shellcheck               analyses the scripts
lint        mandoc              command:mandoc                   checks the manual pages
fuzz        clang               command:clang                    the compiler with libFuzzer
fuzz        libclang-rt-dev     clang-runtime:fuzzer             libFuzzer itself
coverage    gcovr               command:gcovr                    adds up the coverage
TABLE
}

# is_there KIND:NAME
is_there() {
    name=${1#*:}
    case ${1%%:*} in
    command) command -v "$name" >/dev/null 2>&1 ;;
    header) echo "#include <$name>" | cc -E - >/dev/null 2>&1 ;;
    library) pkg-config --exists "$name" 2>/dev/null ;;
    # The first python3 of the PATH need not be the one that Debian's packages serve.
    python) python3 -c "import $name" 2>/dev/null || /usr/bin/python3 -c "import $name" 2>/dev/null ;;
    clang-runtime) echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -x c -fsanitize="$name" -o /dev/null - 2>/dev/null ;;
    esac
}

# Prints the missing packages of the groups "$@"; the reasons go to stderr.
missing() {
    packages | while read -r group package test reason; do
        case " $* " in
        *" $group "*) is_there "$test" || { echo "$package" && echo "  $package: $reason" >&2; } ;;
        esac
    done
}

names=$(missing "$@" 2>/dev/null | tr '\n' ' ')
names=${names% }
[ -z "$names" ] && exit 0

echo "heed needs packages that are not installed:" >&2
missing "$@" >/dev/null

as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
command="${as_root:+$as_root }apt-get install -y --no-install-recommends $names"

refuse() {
    echo "$1" >&2
    exit 3
}

command -v apt-get >/dev/null 2>&1 ||
    refuse "There is no apt-get on this system: install what carries these names here, and try again."
[ "${HEED_NO_INSTALL:-0}" = 0 ] || refuse "HEED_NO_INSTALL is set. To install them: $command"
if [ -n "$as_root" ]; then
    command -v sudo >/dev/null 2>&1 || refuse "Neither root nor sudo. As root, type: ${command#sudo }"
    # Without a terminal sudo would wait forever for a password.
    [ -t 0 ] || as_root="sudo -n"
fi

echo "Installing them: $command" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086  # lists of words
{
    $as_root apt-get update &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $names
} >"$log" 2>&1 || { cat "$log" >&2 && refuse "Installing failed. Try by hand: $command"; }

names=$(missing "$@" 2>/dev/null | tr '\n' ' ')
[ -z "$names" ] || refuse "Still missing after the installation: $names"
