"""fairseq-preprocess and fairseq-train, which Python 3.11 and newer do not start by themselves.

The first argument is `preprocess` or `train`; the program takes the others.
"""

import importlib
import sys

from nmt.benchmarks.peers.fairseq import import_fairseq

import_fairseq()
importlib.import_module(f"fairseq_cli.{sys.argv.pop(1)}").cli_main()
