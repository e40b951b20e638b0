"""The declarations of metrics: what the configuration imports must stay light."""

import subprocess
import sys


def test_declarations_do_not_load_sacrebleu(root):
    heavy = {"sacrebleu", "sacremoses"}
    code = f"import sys, nmt.evaluation.metrics; sys.exit(bool({heavy} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(root / "src")})
