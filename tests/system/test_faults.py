"""Harmful names and sentences, as shells meet them."""

import re
import subprocess

import pytest

from nmt.configuration import load_catalog
from nmt.errors import UserError
from tests.support.workflows import copy_repository, dry_run

# What a shell would run, in each way of quoting
INJECTION = 'the man\'s "dog" $(touch harm) `touch harm` ; touch harm & \\ {x} *'


def test_a_sentence_that_a_shell_would_run_is_one_argument(tmp_path):
    copy = copy_repository(tmp_path / "a copy; touch harm $(touch harm)")
    reproduction = copy / "tests" / "workflow" / "tiny" / "reproduction.yaml"
    text = reproduction.read_text()
    before = re.search("^attention: .*$", text, re.MULTILINE)[0]
    quoted = INJECTION.replace("'", "''")
    text = text.replace(before, f"attention: '{quoted}'")
    reproduction.write_text(text.replace("title: Ensemble", f"title: '{quoted}'"))
    process = dry_run(copy, "--printshellcmds")
    assert process.returncode == 0, process.stdout
    commands = re.findall(
        r"^Shell command: (python .*attend\.py .*) 2>> .*$", process.stdout, re.MULTILINE
    )
    shell = "python() { printf '%s\\0' \"$@\"; }\n" + "\n".join(commands)
    arguments = subprocess.run(["bash", "-c", shell], cwd=copy, capture_output=True, text=True)
    assert arguments.stdout.split("\0").count(INJECTION) == len(commands) > 2
    assert not list(tmp_path.rglob("harm"))


@pytest.mark.parametrize("name", ["a;b", "$(touch harm)", "../a", "-a", "a b", "a/b"])
def test_a_name_that_a_shell_would_run_is_refused(catalog, name):
    corpus = {"title": "T", "source": "en", "target": "de", "license": "none"}
    corpus |= {"generated": {"grammar": "g", "seed": 1, "sizes": {"train": 1, "dev": 1}}}
    with pytest.raises(UserError, match=re.escape(name)):
        load_catalog(catalog({name: corpus}))
