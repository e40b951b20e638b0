#!/bin/sh
# Makes .venv in the root of the repository: Python and every package of requirements.txt. `make`
# calls it. Called again it installs what has changed, and begins anew where the repository has
# moved, Python is another, or the last call was cut short. The variable PYTHON says which Python to
# take: python3 if it is not set.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
stamp=.venv/installed # where .venv was made, with which Python, and what is in it: written last

fail() {
    echo "$*: put that right, then run make again." >&2
    exit 1
}

place() { # of the environment, and its Python; "" if that does not work
    .venv/bin/python -c 'import os, pip, sys
print("Python %d.%d in" % sys.version_info[:2], os.path.realpath("."))' 2>/dev/null
}

all_is_well() { # the text of the stamp if so
    place
    cat envs/requirements.txt envs/cuda.txt
}

installed=$(cat "$stamp" 2>/dev/null) || installed=$(place) || installed= # made by hand, or not there
if [ -z "$installed" ] || [ "$(echo "$installed" | head -n 1)" != "$(place)" ]; then
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed, as in \`make PYTHON=/path/to/python3.12\`"
    echo "Making .venv with $("$python" --version)."
    rm -rf .venv
    "$python" -m venv .venv || { rm -rf .venv && fail "$python could not make .venv, see above"; }
elif [ "$installed" = "$(all_is_well)" ]; then
    echo "The environment in .venv is up to date."
    exit 0
fi

echo "Installing the packages of envs/requirements.txt: the first time takes minutes and, with" \
    "CUDA, 3 GB to download."
echo "being set up" >"$stamp"
pip=".venv/bin/python -m pip install -qq --disable-pip-version-check --no-input"
if ! $pip -r envs/requirements.txt || ! $pip --no-deps --no-build-isolation --editable .; then
    rm "$stamp" # pip has left all in order, and can go on
    fail "The packages could not be installed, see above"
fi
all_is_well >"$stamp"
echo "The environment in .venv is ready."
