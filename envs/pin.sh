#!/bin/sh
# Pins every package: writes requirements.txt, cuda.txt and nmt.yaml from requirements.in, with the
# versions that pip installs today. On Linux, with the oldest Python that is supported, and 10 GB of
# room for temporary files:
#     PYTHON=python3.11 sh envs/pin.sh
set -eu
cd "$(dirname "$0")"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
pins=$fresh/pins
cuda='^(nvidia-|cuda-|triton=)' # what torch brings on Linux, unless it is a build for the CPU alone

"${PYTHON:-python3}" -m venv "$fresh/environment"
"$fresh/environment/bin/python" -m pip install --quiet --requirement requirements.in
# Without "+cpu" or "+cu130": any build of a version will do.
"$fresh/environment/bin/python" -m pip freeze --all --exclude pip | sed 's/+.*//' >"$pins"

{
    echo "# Versions of the CUDA libraries, should torch ask for them. Made by pin.sh."
    grep -E "$cuda" "$pins"
} >cuda.txt
{
    echo "# Every package that gets installed. Made by pin.sh: edit requirements.in instead."
    echo "--constraint cuda.txt"
    grep -vE "$cuda" "$pins"
} >requirements.txt
{
    cat <<END
# conda env create --file envs/nmt.yaml && conda activate nmt
# Conda brings Python, and pip the same builds as in .venv. Made by pin.sh: edit requirements.in.
name: nmt
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python =3.11
  - pip
  - pip:
END
    # Listed, as Snakemake copies the file elsewhere to install from it
    grep -vE "$cuda" "$pins" | sed 's/.*/      - "&"/'
    grep -E "$cuda" "$pins" | sed "s/.*/      - \"&; sys_platform == 'linux'\"/"
} >nmt.yaml
