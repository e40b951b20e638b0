"""fairseq-preprocess, which Python 3.11 and newer do not start by itself."""

from nmt.benchmarks.peers.fairseq import import_fairseq

import_fairseq()

from fairseq_cli.preprocess import cli_main  # noqa: E402

cli_main()
