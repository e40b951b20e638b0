# `make` sets everything up and runs the default reproduction; `make check` runs linters and quick tests, `make test` all
# tests. After the first time, `. .venv/bin/activate` and then `snakemake --cores N` is the same as `make CORES=N`.
# `make PYTHON=/path/to/python3.12` sets up with another Python than python3.

CORES ?= all

all: environment
	. .venv/bin/activate && snakemake --cores $(CORES)

check: environment
	. .venv/bin/activate && ruff check src tests envs && ruff format --check src tests envs \
		&& snakefmt --check Snakefile workflow && python -m pytest --numprocesses 2 --dist loadfile tests/unit

test: environment
	. .venv/bin/activate && python -m pytest --numprocesses 2 --dist loadfile

environment:
	@sh envs/set_up.sh

.PHONY: all check test environment
