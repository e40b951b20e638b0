"""Imports point one way."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

# What a module may import of ours: its own package, and all that stands above it.
LAYERS = [
    {"command", "device", "environment", "errors", "files", "progress", "provenance"},
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
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported(source: str) -> Iterator[str]:
    """Yield the full names of all modules, or names from them, that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "name the package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def wrong_imports(name: str, source: str) -> list[str]:
    """Return what the module `name`, as nmt.text.readers, imports of ours against the rule."""
    own = name.split(".")[1]
    wrong = []
    for module in imported(source):
        first, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        beside = part == own or RANKS[own] == RANKS.get(part) == 0
        above = part in RANKS and RANKS[part] < RANKS[own]
        if first == "benchmarks" or (first == "nmt" and not beside and not above):
            wrong.append(module)
    return wrong


def test_the_library_imports_one_way(root):
    wrong = []
    for path in root.glob("src/nmt/*/**/*.py"):
        parts = path.relative_to(root / "src").with_suffix("").parts
        wrong += wrong_imports(".".join(parts), path.read_text(encoding="utf-8"))
    for path in root.glob("src/nmt/*.py"):
        if path.stem != "__init__":
            wrong += wrong_imports(f"nmt.{path.stem}", path.read_text(encoding="utf-8"))
    assert wrong == []


def test_the_library_itself_is_cheap(root):
    code = "import nmt, sys; sys.exit(not {'torch', 'numpy', 'pydantic'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=root / "src").returncode == 0


def test_nothing_imports_a_script(root):
    scripts = {path.stem for path in root.glob("src/*.py")}
    assert len(scripts) > 10
    for path in root.glob("src/**/*.py"):
        packages = {name.partition(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
        assert packages.isdisjoint(scripts | {"benchmarks"}), path


def test_the_workflow_imports_little(root):
    files = [root / "Snakefile", *root.glob("workflow/**/*.smk")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    ours = set(re.findall(r"^\s*(?:from|import)\s+(nmt[\w.]*)", text, re.MULTILINE))
    allowed = ("configuration", "environment", "errors", "files", "paper.figures")
    assert ours <= {"nmt", *(f"nmt.{name}" for name in allowed)}
