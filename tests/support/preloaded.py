"""Imports all that scripts and snakemake import; the server of scripts.py loads this module."""

from contextlib import suppress
from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

for path in sorted(SOURCE.glob("nmt/**/*.py")):
    # A module that cannot be imported fails again in the program that needs it.
    with suppress(Exception):
        import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
import_module("snakemake.cli")
