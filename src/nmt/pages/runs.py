"""What a page says of a run: where it comes from, what it cost, and how it scored."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from nmt.configuration import Catalog, Reproduction
from nmt.evaluation.metrics import METRICS
from nmt.files import read_json
from nmt.paper.results import Run, provenance

# Files of a run that a page links to where they are there
FILES = ("training.json", "metrics.jsonl", "model/README.md", "model/configuration.json")


@dataclass(frozen=True)
class RunSection:
    """A run of a row, or a member of an ensemble, as (label, value) pairs and tables."""

    label: str
    facts: list[tuple[str, str]]
    scores: list[tuple[str, str, str, str]]  # split, metric, value, signature
    validations: list[tuple[int, str, str]]  # update, perplexity and BLEU of the dev set
    command: str
    settings: str
    files: list[tuple[str, str]]  # name, address


@dataclass(frozen=True)
class Row:
    """A row of the tables: its anchor in the page, and its runs."""

    name: str
    title: str
    anchor: str
    parts: list[RunSection]
    members: list[str]  # anchors of an ensemble's rows


def described_rows(
    runs: Path, reproduction: Reproduction, catalog: Catalog, page: Path
) -> list[Row]:
    """Return all rows of the tables that have been trained, in their order.

    runs: the folder of all runs. page: the folder of the page, which addresses start from. The
    members of an ensemble are rows too.
    """
    corpus = runs / reproduction.corpus
    names = list(reproduction.experiments)
    seeds = {name: reproduction.seeds_for(name) for name in names if name not in catalog.ensembles}
    for name in reproduction.experiments:
        if name in catalog.ensembles:
            for member, own_seeds in catalog.ensembles[name].members.items():
                names += [] if member in names else [member]
                seeds[member] = sorted({*seeds.get(member, []), *own_seeds})
    rows = []
    for name in names:
        if name in catalog.ensembles:
            run = Run(corpus / name / "ensemble", name, None)
            row_runs = [run] if run.folder.exists() else []
            members = [anchor(member) for member in catalog.ensembles[name].members]
        else:
            candidates = [Run(corpus / name / f"seed-{seed}", name, seed) for seed in seeds[name]]
            row_runs = [run for run in candidates if (run.folder / "training.json").exists()]
            members = []
        parts = [described_run(run, page) for run in row_runs]
        if parts:
            rows.append(Row(name, catalog.rows[name].title, anchor(name), parts, members))
    return rows


def anchor(name: str) -> str:
    """Return a row's place in the page."""
    return f"row-{name}"


def described_run(run: Run, page: Path) -> RunSection:
    """Return what the files of a run say."""
    files = [
        (name, address(run.folder / name, page)) for name in FILES if (run.folder / name).exists()
    ]
    translations = sorted(run.folder.glob("*.translations.txt"))
    files += [(path.name, address(path, page)) for path in translations]
    if run.seed is None:
        return RunSection("ensemble", [], described_scores(run.folder), [], "", "", files)
    training = run.training()
    return RunSection(
        label=f"seed {run.seed}",
        facts=facts(training),
        scores=described_scores(run.folder),
        validations=validations(run),
        command=training["made_by"][0].get("command", ""),
        settings=json.dumps(training["settings"], indent=1, ensure_ascii=False),
        files=files,
    )


def facts(training: dict) -> list[tuple[str, str]]:
    """Return what training.json says of a run's origin and cost."""
    settings = training["settings"]
    commits = provenance([training], "commit")
    tree = "with uncommitted changes" if "+" in commits else "clean tree"
    pairs = [
        ("seed", settings["seed"]),
        ("commit", f"{commits} ({'outside git' if 'unknown' in commits else tree})"),
        ("training data (sha256)", settings["tokens"]),
        ("dev data (sha256)", settings.get("dev", "")),
        ("updates", f"{training['updates']:,}"),
        ("parameters", f"{training['parameters']:,}"),
        ("target tokens", f"{training['target_tokens']:,}"),
        ("training FLOPs", f"{training['flops']:.1e}".replace("e+", "e")),
        ("time", f"{training['seconds'] / 60:.1f} minutes"),
        ("device", provenance([training], "device")),
        ("processes × threads", processes(training)),
        ("torch", provenance([training], "torch")),
    ]
    return [(label, str(value)) for label, value in pairs if value != ""]


def processes(training: dict) -> str:
    """Return the processes and threads of all calls that made updates."""
    calls = [f"{call['processes']} × {call['threads']}" for call in training["made_by"]]
    return ", ".join(dict.fromkeys(calls))


def described_scores(folder: Path) -> list[tuple[str, str, str, str]]:
    """Return all scores in a run's folder: split, metric, value and signature."""
    lines = []
    for path in sorted(folder.glob("*.scores.json")):
        scores = read_json(path)
        split = path.name.removesuffix(".scores.json")
        lines += [
            (split, metric.label, f"{scores[name]['score']:.2f}", scores[name]["signature"])
            for name, metric in METRICS.items()
            if name in scores
        ]
    perplexity = folder / "dev.perplexity.json"
    if perplexity.exists():
        values = read_json(perplexity, ["perplexity", "tokens"])
        label = METRICS["perplexity"].label
        lines.append(("dev", label, f"{values['perplexity']:.2f}", f"{values['tokens']} subwords"))
    return lines


def validations(run: Run) -> list[tuple[int, str, str]]:
    """Return update, perplexity and BLEU of each validation, empty where none was recorded."""
    return [
        (
            line["update"],
            f"{line['dev_perplexity']:.2f}",
            f"{line['dev_bleu']:.2f}" if line.get("dev_bleu") is not None else "",
        )
        for line in run.metrics()
        if line.get("dev_perplexity") is not None
    ]


def address(path: Path, page: Path) -> str:
    """Return the path of a file as seen from the page's folder."""
    return Path(os.path.relpath(path, page)).as_posix()
