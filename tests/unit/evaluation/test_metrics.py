"""The declarations of metrics: what the configuration can import before anything is installed."""

import subprocess
import sys

from nmt.evaluation.metrics import METRICS


def test_perplexity_alone_has_no_scorer():
    assert [name for name, metric in METRICS.items() if metric.scorer is None] == ["perplexity"]


def test_only_moses_tokens_are_preprocessed():
    for name, metric in METRICS.items():
        if metric.normalize or metric.map_quotes or metric.split_compounds:
            assert metric.moses_tokens, name


def test_labels_are_distinct():
    labels = [metric.label for metric in METRICS.values()]
    assert len(set(labels)) == len(labels)


def test_declarations_do_not_load_sacrebleu(root):
    heavy = {"sacrebleu", "sacremoses"}
    code = f"import sys, nmt.evaluation.metrics; sys.exit(bool({heavy} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(root / "src")})
