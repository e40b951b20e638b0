# `make` sets everything up and runs the default reproduction; `make check` runs linters and quick
# tests, `make test` all tests. After the first time, `. .venv/bin/activate` and then `snakemake
# --cores N` is the same as `make CORES=N`. `make PYTHON=/path/to/python3.12` sets up with another
# Python than python3.

CORES ?= all

all: environment
	. .venv/bin/activate && snakemake --cores $(CORES)

# A file is tested by one process, and the slowest files, which tests/conftest.py puts first, are
# begun first.
PYTEST = python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: environment
	. .venv/bin/activate && ruff check . && ruff format --check . \
		&& snakefmt --check Snakefile workflow && mypy && $(PYTEST) tests/unit

test: environment
	. .venv/bin/activate && $(PYTEST)

# Faults of clusters, tried on a real SLURM on this machine; needs Debian's packages, and root to
# install them.
test-slurm: environment
	@sh tests/slurm/install.sh
	. .venv/bin/activate && python -m pytest --numprocesses 4 --dist load --maxschedchunk 1 tests/slurm

environment:
	@sh envs/set_up.sh

.PHONY: all check test test-slurm environment
