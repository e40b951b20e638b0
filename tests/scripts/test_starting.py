"""Every script says how to use it, from any folder."""

import pytest

from tests.support.files import SOURCE


@pytest.mark.parametrize("script", sorted(path.stem for path in SOURCE.glob("*.py")))
def test_it_says_how_to_use_it(script, run_script, tmp_path):
    process = run_script(script, "--help", cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(f"usage: {script}.py ")
