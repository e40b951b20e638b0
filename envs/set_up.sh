#!/bin/sh
# Makes .venv in the root of the repository: Python and every package of requirements.txt. `make`
# calls it. Called again it only says that all is well, unless the requirements have changed, the
# repository has moved, its Python has gone, or the last set-up was cut short. The variable PYTHON
# says which Python to take: python3 if it is not set.
set -eu
cd "$(dirname "$0")/.."

stamp=.venv/installed # where .venv was made, with which Python, and what is in it: written last
unfinished="being set up"

fail() {
    echo "$*" >&2
    exit 1
}

version() { # of the Python $1, as in 3.11
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

check_version() {
    version "$1" >/dev/null || fail "Python 3.11 or newer is needed, and $1 does not run: $advice"
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed; $1 is" \
            "$("$1" -c 'import sys; print(sys.version.split()[0])'): $advice"
}
advice='run `make PYTHON=/path/to/python3.12`.'

all_is_well() { # the text of the stamp if so
    echo "Python $1 in $(pwd -P)"
    cat envs/requirements.txt envs/cuda.txt
}

make_anew() { # $1 why, where it is not the first time
    python=${PYTHON:-python3}
    check_version "$python"
    "$python" -c 'import venv; from ensurepip import version' 2>/dev/null ||
        fail "$python cannot make environments: install its venv package, which Debian and" \
            "Ubuntu call python$(version "$python")-venv, then run make again."
    echo "$1Making .venv with Python $(version "$python")."
    rm -rf .venv
    mkdir .venv
    echo "$unfinished" >"$stamp"
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        fail "$python could not make .venv, see above: put that right, then run make again."
    fi
    # The Snakefile stands in the root, where snakemake does not look for workflow/profiles.
    profile='${SNAKEMAKE_PROFILE-${VIRTUAL_ENV%/*}/workflow/profiles/default}'
    echo "export SNAKEMAKE_PROFILE=\"$profile\"" >>.venv/bin/activate
    before=$unfinished
}

install() {
    echo "Installing the packages of envs/requirements.txt: the first time takes minutes and," \
        "with CUDA, 3 GB to download."
    echo "$unfinished" >"$stamp"
    if ! .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input \
        -r envs/requirements.txt; then
        echo "$before" >"$stamp"
        fail "The packages could not be installed, see above: put that right, then run make again."
    fi
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
        --no-build-isolation --editable . ||
        fail "The project itself could not be installed, see above: put that right, then run make" \
            "again."
    all_is_well "$(version .venv/bin/python)" >"$stamp"
    echo "The environment in .venv is ready."
}

before=$(cat "$stamp" 2>/dev/null) || before=
has=$(version .venv/bin/python) || has=
if [ ! -e .venv ]; then
    make_anew ""
elif [ -z "$has" ]; then
    make_anew "The Python of .venv has gone. "
elif [ "$before" = "$unfinished" ]; then
    make_anew "The last set-up was cut short. "
elif [ -n "$before" ] &&
    [ "$(echo "$before" | head -n 1)" != "$(all_is_well "$has" | head -n 1)" ]; then
    make_anew "Since .venv was made, the repository has moved or Python has changed. "
elif [ -n "${PYTHON:-}" ] && [ "$(version "$PYTHON")" != "$has" ]; then
    make_anew "The Python of .venv is $has, not that of $PYTHON. "
elif [ "$before" = "$(all_is_well "$has")" ]; then
    echo "The environment in .venv is up to date."
    exit 0
fi
check_version .venv/bin/python
install
