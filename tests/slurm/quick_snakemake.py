"""Snakemake that asks SLURM for the state of jobs every second, not less and less often."""

import sys

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 1.0, lambda self, value: None)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
