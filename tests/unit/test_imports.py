"""Imports point one way."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# What a module may import of ours: its own package, and all that stands above it.
LAYERS = [
    {"errors", "files", "progress", "command", "environment", "provenance", "device", "records"},
    {"evaluation"},
    {"configuration"},
    {"text"},
    {"data"},
    {"models"},
    {"decoding"},
    {"training"},
    {"serving"},
    {"paper"},
    {"pages"},
    {"archive"},
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported(source: str, package: str) -> Iterator[str]:
    """Yield the full names of all modules, or names from them, that a module imports.

    package: the package of the module.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level + 1 or None] if node.level else []
            yield from (
                ".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names
            )


def faults(name: str, source: str, scripts: set[str]) -> list[str]:
    """Return what the module `name`, as nmt.text.readers, imports against the rule."""
    own = name.split(".")[1]
    wrong = []
    for module in imported(source, name.rpartition(".")[0]):
        first, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        rank = RANKS.get(part, -1)
        beside = rank == RANKS[own] and (rank == 0 or part == own)
        if first in scripts or (first == "nmt" and rank >= RANKS[own] and not beside):
            wrong.append(module)
    return wrong


def test_the_library_imports_one_way(root):
    scripts = {path.stem for path in (root / "src").glob("*.py")}
    modules = {
        path: path.relative_to(root / "src").with_suffix("").parts
        for path in root.glob("src/nmt/**/*.py")
    }
    assert {parts[1] for parts in modules.values()} - {"__init__"} == set(RANKS)
    wrong = []
    for path, parts in modules.items():
        source = path.read_text(encoding="utf-8")
        if parts[1] == "__init__":
            assert list(imported(source, "nmt")) == []
        else:
            wrong += faults(".".join(parts), source, scripts)
    assert wrong == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("nmt.text.readers", "from nmt.errors import UserError\nimport nmt.text.grammar", []),
        ("nmt.text.readers", "from nmt.data.tokens import Ragged", ["nmt.data.tokens.Ragged"]),
        ("nmt.text.readers", "from nmt import models", ["nmt.models"]),
        (
            "nmt.text.readers",
            "from ..models import build\nfrom . import grammar",
            ["nmt.models.build"],
        ),
        ("nmt.text.readers", "def late():\n    import nmt.paper", ["nmt.paper"]),
        ("nmt.training.loop", "import nmt.serving.folder", ["nmt.serving.folder"]),
        ("nmt.decoding.search", "import nmt.training.state", ["nmt.training.state"]),
        ("nmt.paper.tables", "import nmt.training.state\nimport torch", []),
        ("nmt.paper.tables", "from train import main", ["train.main"]),
        ("nmt.files", "import nmt.errors", []),
        ("nmt.files", "import nmt.configuration", ["nmt.configuration"]),
    ],
)
def test_the_rule_itself(module, source, wrong):
    assert faults(module, source, {"train", "translate"}) == wrong


def test_scripts_import_no_script(root):
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in (root / "src").glob("*.py")}
    assert len(scripts) > 10
    for text in scripts.values():
        packages = {module.partition(".")[0] for module in imported(text, "")}
        assert packages.isdisjoint(scripts)


def test_the_workflow_imports_the_configuration_alone(root):
    files: list[Path] = [root / "Snakefile", *(root / "workflow").rglob("*.smk")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    ours = set(re.findall(r"^\s*(?:from|import)\s+(nmt[\w.]*)", text, re.MULTILINE))
    assert ours == {"nmt", "nmt.configuration", "nmt.environment", "nmt.errors"}
