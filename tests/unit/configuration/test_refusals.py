"""What makes no sense is refused when it is read, with the file, the entry and the key at fault."""

import shutil
from pathlib import Path

import pytest
import yaml

from nmt.configuration import (
    Part,
    Vocabulary,
    load_catalog,
    load_reproduction,
    read_yaml,
    validated,
)
from nmt.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
BASE = {
    "title": "Row",
    "vocabulary": "joint",
    "updates": 10,
    "batch_tokens": 100,
    "warmup": 1,
    "interval": 5,
    "dropout": 0.1,
}
LAYERS = {"layers": 2, "d_model": 16, "d_ff": 8, "heads": 4}
MODELS = {
    "transformer": LAYERS,
    "decoder-only": LAYERS,
    "seq2seq": {"layers": 2, "d_embedding": 8, "d_hidden": 8, "peak_learning_rate": 0.1},
    "gnmt": {"layers": 3, "d_model": 8, "peak_learning_rate": 0.1},
}
EXPERTS = {"experts": 4, "experts_used": 2, "d_expert": 8}
TABLE = {"title": "T", "experiments": ["demo-rnnsearch"], "split": "test", "metrics": ["bleu"]}
HALVING = {"schedule": "halving", "halve_every": 2}


def entry(family: str, /, **changes: object) -> dict:
    return {**BASE, "family": family, **MODELS[family]} | changes


def catalog(folder: Path, experiments: dict, ensembles: dict | None = None):
    """Return the catalog of these entries beside the demo's corpora."""
    config = folder / "config"
    shutil.copytree(ROOT / "config", config, ignore=shutil.ignore_patterns("experiments"))
    (config / "experiments").mkdir()
    (config / "published.yaml").write_text("[]")
    declared = {
        "vocabularies": {"joint": {"size": 100}, "apart": {"size": 100, "source_size": 90}},
        "experiments": experiments,
        "ensembles": ensembles or {},
    }
    (config / "experiments" / "rows.yaml").write_text(yaml.safe_dump(declared))
    return load_catalog(config)


@pytest.mark.parametrize(
    ("family", "changes", "key"),
    [
        ("transformer", {"batch_sentences": 8}, "batch_sentences"),
        ("transformer", {"batch_tokens": None}, "batch_sentences"),
        ("transformer", {"heads": 3}, "heads"),
        ("transformer", {"d_model": 15, "heads": 5}, "d_model"),
        ("transformer", {"d_k": 3, "positions": "rotary"}, "d_k"),
        ("transformer", {"positions_std": 0.1}, "positions_std"),
        ("transformer", {"vocabulary": "apart"}, "apart"),
        ("transformer", {"vocabulary": "jiont"}, "'joint'"),
        ("transformer", {"source_loss": [[0, 1.0]]}, "source_loss"),
        ("transformer", {"warmup": 11}, "warmup"),
        ("transformer", {"schedule": "cosine"}, "final_learning_rate"),
        ("transformer", {"halve_every": 3}, "halve_every"),
        ("transformer", HALVING | {"warmup": 5, "halve_from": 5}, "halve_from"),
        ("transformer", {"weight_decay": 0.1}, "weight_decay"),
        ("transformer", {"bleu_interval": 8}, "bleu_interval"),
        ("transformer", {"hads": 3}, "'heads'"),
        ("transformer", {"experts": 3}, "experts"),
        ("transformer", {"updates": 9.5}, "updates"),
        ("transformer", {"layers": 100_000}, "layers"),
        ("transformer", {"family": "transfromer"}, "'transformer'"),
        ("transformer", {"base": "row"}, "row -> row"),
        ("transformer", {"trained_as": "rwo"}, "rwo"),
        ("decoder-only", {"source_loss": [[0, 1.0]], "prefix": True}, "source_loss"),
        ("decoder-only", {"vocabulary": "apart"}, "apart"),
        ("seq2seq", {"attention": "global"}, "score"),
        ("seq2seq", {"score": "dot"}, "score"),
        ("seq2seq", {"input_feeding": True}, "input_feeding"),
        ("seq2seq", {"peak_learning_rate": None}, "peak_learning_rate"),
        ("seq2seq", {"schedule": "cosine", "final_learning_rate": 0.2}, "final_learning_rate"),
        ("gnmt", {"experts": 4}, "experts_used"),
        ("gnmt", EXPERTS | {"context": "current"}, "context"),
        ("gnmt", {"d_cell": 8}, "d_cell"),
    ],
)
def test_a_row_is_refused_by_file_entry_and_key(tmp_path, family, changes, key):
    with pytest.raises(UserError) as refused:
        catalog(tmp_path, {"row": entry(family, **changes)})
    assert "rows.yaml" in str(refused.value)
    assert "row" in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [{"layers": 3}, {"average": 6}, {"updates": 11}, {"vocabulary": "apart", "tie": "none"}],
)
def test_a_training_is_shared_by_what_differs_after_it_alone(tmp_path, changes):
    row = entry("transformer")
    same = {"base": "row", "title": "Same", "average": 1, "beam": 1, "trained_as": "row"}
    rows = {"row": row, "same": same, "child": {"base": "same", "title": "Child"}}
    assert catalog(tmp_path / "a", rows).experiment("child").trained_as is None
    with pytest.raises(UserError, match="trained_as"):
        catalog(tmp_path / "b", {"row": row, "new": {**same, **changes}})
    with pytest.raises(UserError, match="trained_as"):
        catalog(tmp_path / "c", {**rows, "new": {**same, "trained_as": "same"}})


def test_a_later_base_goes_before_an_earlier_one(tmp_path):
    rows = {
        "first": entry("transformer"),
        "second": {"updates": 20, "warmup": 2},
        "row": {"base": ["first", "second"], "warmup": 3},
    }
    row = catalog(tmp_path, rows).experiment("row")
    assert (row.title, row.training.updates, row.training.warmup) == ("Row", 20, 3)


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"row": [1], "other": [1]}, "vocabulary"),
        ({"row": [1], "rwo": [1]}, "'row'"),
        ({"row": [1, 1]}, "members"),
        ({}, "translations"),
    ],
)
def test_an_ensemble_is_refused_by_name(tmp_path, members, named):
    rows = {
        "row": entry("transformer"),
        "other": entry("transformer", vocabulary="apart", tie="none"),
    }
    with pytest.raises(UserError, match="both") as refused:
        catalog(tmp_path, rows, {"both": {"title": "Both", "members": members}})
    assert named in str(refused.value)


@pytest.mark.parametrize("name", ["a/b", "row"])
def test_names_are_parts_of_files_and_declared_once(tmp_path, name):
    both = {"row": {"title": "Both", "members": {"row": [1, 2]}}} if name == "row" else {}
    with pytest.raises(UserError, match=name):
        catalog(tmp_path, {"row": entry("transformer"), name: entry("transformer")}, both)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"size": 256, "byte_fallback": True}, "byte_fallback"),
        ({"size": 256, "kind": "bytes"}, "260"),
        ({"size": 999, "kind": "char", "byte_fallback": True}, "byte_fallback"),
        ({"size": 5}, "size"),
    ],
)
def test_bytes_need_their_room_and_kinds_that_spell(changes, named):
    with pytest.raises(UserError, match=named):
        validated(Vocabulary, changes, "vocabulary")


@pytest.mark.parametrize(
    "values",
    [
        {"source": "a.tgz:x.en", "target": "a.tgz:x.en"},
        {"source": "pairs", "target": "pairs", "format": "tsv", "columns": [1, 1]},
        {"source": "pairs", "target": "pairs", "format": "tsv", "columns": [0, -1]},
    ],
)
def test_both_sides_are_not_the_same_text(values):
    with pytest.raises(UserError, match="entry demo"):
        validated(Part, values, "entry demo")


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("corpora.yaml", "test: 1000", "tset: 1000", "tset"),
        ("published.yaml", "split: newstest2014", "split: newstest2015", "newstest2014"),
        ("corpora.yaml", "source: multi30k.val.en", "source: multi30k.valid.en", "multi30k.val.en"),
        ("corpora.yaml", "  generated:\n", "  held_out: {more: 1}\n  generated:\n", "held_out"),
        ("corpora.yaml", "source: en\n  target: de", "source: en\n  target: en", "en"),
        (
            "corpora.yaml",
            "  dev_every: 23\n",
            "  dev_every: 23\n  held_out: {more: 1}\n",
            "dev_every",
        ),
    ],
)
def test_a_catalog_is_refused_by_file_and_entry(tmp_path, file, old, new, named):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as refused:
        load_catalog(tmp_path / "config")
    assert file in str(refused.value)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"sedes": [1]}, "'seeds'"),
        ({"seeds": [1, True]}, "seeds"),
        ({"seeds": {"demo-rnnsearch": [1]}}, "default"),
        ({"seeds": {"default": [1], "demo-rnnsaerch": [1]}}, "'demo-rnnsearch'"),
        ({"only": ["demo-rnnsaerch"]}, "'demo-rnnsearch'"),
        ({"name": "runs"}, "runs"),
        ({"title": "\n.. include:: /etc/passwd\n"}, "title"),
        ({"corpus": "demmo"}, "'demo'"),
        ({"update": 60}, "'updates'"),
        ({"experts": 2}, "experts"),
        ({"updates": 0}, "updates"),
        ({"vocabulary": "none-such"}, "none-such"),
        ({"tables": {"corpora": TABLE}}, "corpora"),
    ],
)
def test_a_reproduction_is_refused_by_key(changes, named):
    values = read_yaml(ROOT / "config" / "demo.yaml", dict)
    with pytest.raises(UserError) as refused:
        load_reproduction(values | changes, "made-up.yaml", ROOT / "config")
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


def with_table(rows: list[str], **changes: object) -> dict:
    """Return the demo with one table of these rows."""
    table = TABLE | {"experiments": rows} | changes
    return read_yaml(ROOT / "config" / "demo.yaml", dict) | {"tables": {"t": table}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"experiments": ["demo-rnnsaerch"]}, "'demo-rnnsearch'"),
        ({"experiments": ["demo-rnnsearch", "demo-rnnsearch"]}, "demo-rnnsearch"),
        ({"metrics": ["blue"]}, "'bleu'"),
        ({"metrics": ["perplexity"]}, "perplexity"),
        ({"split": "tset"}, "'test'"),
        ({"base": "demo-transformer"}, "demo-transformer"),
    ],
)
def test_a_table_is_refused_by_key(changes, named):
    values = with_table(["demo-rnnsearch"], **changes)
    with pytest.raises(UserError) as refused:
        load_reproduction(values, "made-up.yaml", ROOT / "config")
    assert named in str(refused.value)


def test_a_metric_that_makes_no_sense_for_the_language_is_refused(tmp_path):
    catalog(tmp_path, {"row": entry("transformer", vocabulary="joint")})
    corpora = tmp_path / "config" / "corpora.yaml"
    values = with_table(["row"], metrics=["bleu", "ter"])
    load_reproduction(values, "made-up.yaml", corpora.parent)
    corpora.write_text(corpora.read_text().replace("target: de", "target: zh"))
    with pytest.raises(UserError, match="metric of zh 'ter'"):
        load_reproduction(values, "made-up.yaml", corpora.parent)


def test_two_rows_of_one_title_are_told(tmp_path):
    rows = {"row": entry("transformer", vocabulary="joint")}
    rows["again"] = {"base": "row", "dropout": 0.2}
    catalog(tmp_path, rows)
    with pytest.raises(UserError, match="Row"):
        load_reproduction(with_table([*rows]), "made-up.yaml", tmp_path / "config")


def test_positions_must_reach_as_far_as_the_pairs(tmp_path):
    """A decoder-only model with 1,024 learned positions has 510 for a side."""
    row = entry("decoder-only", positions="learned")
    catalog(tmp_path, {"row": row})
    values = with_table(["row"])
    load_reproduction(values, "made-up.yaml", tmp_path / "config")
    corpora = tmp_path / "config" / "corpora.yaml"
    text = corpora.read_text(encoding="utf-8")
    longer = text.replace("  generated:\n", "  cleaning: {max_length: 511}\n  generated:\n", 1)
    corpora.write_text(longer, encoding="utf-8")
    with pytest.raises(UserError, match="510"):
        load_reproduction(values, "made-up.yaml", tmp_path / "config")
