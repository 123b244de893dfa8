#!/bin/sh
# Sets up .venv with the project and its development tools, SWI-Prolog, Chromium and the machine
# code of kernels.
# Safe to run again: does nothing while the stamp in .venv fits.
#
#   PYTHON=/path/to/python3 sh scripts/setup.sh    to choose the Python
set -eu

cd "$(dirname "$0")/.."
venv=.venv
stamp=$venv/.setup-stamp

say() { printf 'setup: %s\n' "$*"; }
die() {
    printf 'setup: error: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

# --- the system's packages ---------------------------------------------------

# Runs a command as root: directly, or through sudo, which asks for a password
# only where somebody can type one.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt_updated=no

# apt_install PACKAGE: succeeds if the package is installed afterwards.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        say "$1 is missing, and installing it takes root or sudo"
        return 1
    fi
    if [ "$apt_updated" = no ]; then
        as_root apt-get update -qq || say "apt-get update failed; trying with the lists there are"
        apt_updated=yes
    fi
    say "installing $1 with apt-get"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

# --- Python ------------------------------------------------------------------

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || die "PYTHON=$PYTHON is not a Python 3.11 or newer"
        echo "$PYTHON"
        return
    fi
    for name in python3 python3.11 python3.12 python3.13 python3.14 python; do
        if command -v "$name" >/dev/null 2>&1 && is_new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
    die "Python 3.11 or newer is needed and none was found" \
        "Debian 12, Ubuntu 24.04 and later:  apt install python3 python3-venv" \
        "Ubuntu 22.04:                       apt install python3.11 python3.11-venv" \
        "macOS:                              brew install python@3.12" \
        "or name one:                        PYTHON=/path/to/python3 make setup"
}

make_venv() {
    rm -rf "$venv"
    "$python" -m venv "$venv" >/dev/null 2>&1 && return
    # Debian and Ubuntu keep ensurepip in a package of its own.
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "$python cannot make a virtual environment yet"
    for package in "python$version-venv" python3-venv; do
        rm -rf "$venv"
        if apt_install "$package" && "$python" -m venv "$venv" >/dev/null 2>&1; then
            return
        fi
    done
    rm -rf "$venv"
    "$python" -m venv "$venv" >&2 || true
    rm -rf "$venv"
    die "$python cannot make a virtual environment (message above)" \
        "Debian, Ubuntu:  apt install python$version-venv   (as root)" \
        "or name a Python that has the venv module:  PYTHON=/path/to/python3 make setup"
}

# --- SWI-Prolog --------------------------------------------------------------

# Asks pyswip itself, which knows more places than PATH. A library it can find
# but not use may end the process, hence the query in a process of its own.
prolog_works() {
    "$venv/bin/python" -c '
from pyswip import Prolog
assert next(iter(Prolog.query("X is 6 * 7")))["X"] == 42
' >/dev/null 2>&1
}

fetch_prolog() {
    if ! command -v swipl >/dev/null 2>&1 && [ -z "${LIBSWIPL_PATH:-}" ]; then
        say "SWI-Prolog is missing"
        apt_install swi-prolog-nox || true
    fi
}

need_prolog() {
    prolog_works && return
    if command -v swipl >/dev/null 2>&1; then
        say "SWI-Prolog is here ($(swipl --version 2>/dev/null || echo swipl does not run)) but pyswip cannot use its library"
    else
        say "SWI-Prolog could not be installed from here"
    fi
    say "games that cannot be ground, and the tests, need it; everything else plays without"
    say "  Debian, Ubuntu, as root:  apt update && apt install swi-prolog-nox"
    say "  Fedora:                   dnf install pl"
    say "  macOS:                    brew install swi-prolog"
    say "  without root:             conda install -c conda-forge swi-prolog   (then activate it)"
    say "swipl must then be on PATH, or LIBSWIPL_PATH and SWI_HOME_DIR set"
}

# --- Chromium ----------------------------------------------------------------

# The tests of the table drive it; they are skipped, and say so, where there is none.
need_chromium() {
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null 2>&1; then
            return
        fi
    done
    if apt_install chromium && command -v chromium >/dev/null 2>&1; then
        return
    fi
    say "Chromium could not be installed from here; tests of pages in a browser will be skipped"
    say "  Debian, as root:  apt update && apt install chromium"
}

# --- all of it ---------------------------------------------------------------

# What .venv depends on: this script, the dependencies, and where the tree is.
wanted() {
    { pwd -P; cat pyproject.toml scripts/setup.sh; } | cksum
}

# Machine code depends on the sources of kernels too, so this asks on its own whether all is there.
need_kernels() {
    "$venv/bin/python" scripts/compile_kernels.py ||
        say "kernels are compiled when they are first needed"
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted)" ]; then
    need_kernels
    exit 0
fi

if ! is_new_enough "$venv/bin/python" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    say "making $venv with $("$python" --version)"
    make_venv
fi
rm -f "$stamp"

say "installing the project and its tools into $venv, which takes a minute or two"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --editable '.[dev]' &
installing=$!
# What a shell starts in the background ignores Ctrl-C.
trap 'kill "$installing" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fetch_prolog
need_chromium
wait "$installing" ||
    die "pip could not install the project (message above)" \
        "is there a way to the Python package index? then run make setup again"
trap - EXIT INT TERM
# pip would compile in one process, and the tests of the packages too, which are a third of it.
# Some packages hold files for other versions of Python.
"$venv/bin/python" -m compileall -qq -j 0 -x '/tests?/' "$venv"/lib/python*/site-packages || true
need_prolog
need_kernels
wanted >"$stamp"
say "ready"
