"""The declarations of metrics: what the configuration imports must stay light."""

import subprocess
import sys

from nmt.evaluation.metrics import METRICS


def test_declarations_do_not_load_sacrebleu(root):
    heavy = {"sacrebleu", "sacremoses"}
    code = f"import sys, nmt.evaluation.metrics; sys.exit(bool({heavy} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(root / "src")})


def test_errors_alone_are_better_where_they_are_fewer():
    assert {name for name, metric in METRICS.items() if metric.lower_is_better} == {
        "perplexity",
        "ter",
    }
