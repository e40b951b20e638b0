"""Catalogs and reproductions that make no sense are refused when they are read, by file and
entry.
"""

import shutil
from pathlib import Path

import pytest
import yaml

from nmt.configuration import Part, load_catalog, load_reproduction, validated
from nmt.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
ROW = {
    "title": "Row",
    "vocabulary": "demo-bpe-2000",
    "updates": 10,
    "batch_tokens": 100,
    "warmup": 1,
    "peak_learning_rate": 0.1,
    "interval": 5,
    "dropout": 0.1,
}
LAYERS = {"layers": 2, "d_model": 16, "d_ff": 8, "heads": 4}
CONVOLUTIONS = {"encoder": [[8, 3, 1]], "decoder": [[8, 3, 1]], "d_embedding": 8, "d_output": 8}


def chosen(catalog: Path) -> dict:
    """A reproduction with a table of the experiment `row`."""
    table = {"title": "Rows", "experiments": ["row"], "split": "dev", "metrics": ["bleu"]}
    return {
        "name": "made-up",
        "title": "Made up",
        "corpus": "demo",
        "seeds": [1],
        "tables": {"rows": table},
        "attention": "A dog runs.",
        "catalog": str(catalog),
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        (
            "corpora.yaml",
            "test: 1000",
            "tset: 1000",
            "demo, generated.sizes: unknown key 'tset': it can be 'train'",
        ),
        (
            "corpora.yaml",
            "config/grammar.yaml",
            "config/grammar",
            "config/grammar, the grammar of demo, is not there",
        ),
        (
            "published.yaml",
            "split: newstest2014",
            "split: newstest2015",
            "unknown split 'newstest2015': did you mean",
        ),
        (
            "corpora.yaml",
            "source: multi30k.val.en.gz",
            "source: multi30k.valid.en.gz",
            "unknown archive 'multi30k.valid.en.gz': did you mean 'multi30k.val.en.gz'? (the path",
        ),
        (
            "corpora.yaml",
            "  splits:\n    train: [{source: multi30k",
            "  held_out: {dev: 10}\n  splits:\n    train: [{source: multi30k",
            "entry multi30k-en-de: dev is given in splits and in held_out",
        ),
        (
            "corpora.yaml",
            "  generated:\n    grammar",
            "  held_out: {more: 10}\n  generated:\n    grammar",
            "entry demo: held_out: there is no split 'train' to take pairs from",
        ),
        (
            "corpora.yaml",
            "      addresses:\n        - https://www.statmt.org/wmt14/test-full.tgz\n"
            "        - https://huggingface.co/datasets/wmt/wmt14/resolve/main/test-full.tgz\n"
            "      mirror: wmt14/wmt14-test-full.tgz\n      md5: a8cd784e006feb32ac6f3d9ec7eb389a",
            "      mirror: wmt14/wmt14-test-full.tgz",
            "archives: wmt14-test-full.tgz: an archive has addresses or a checksum: a file of your",
        ),
    ],
)
def test_a_catalog_that_makes_no_sense_is_refused(tmp_path, file, old, new, fault):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    text = (tmp_path / "config" / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "config" / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    table = {
        "title": "Rows",
        "experiments": ["demo-transformer"],
        "split": "dev",
        "metrics": ["bleu"],
    }
    with pytest.raises(UserError) as refused:
        load_reproduction(chosen(tmp_path / "config") | {"tables": {"rows": table}}, root=ROOT)
    assert fault in str(refused.value)


@pytest.mark.parametrize("text_format", ["lines", "sgml"])
def test_both_sides_are_not_the_same_text(text_format):
    for source, target in (("a.tgz:x.en", "a.tgz:x.en"), ("data/x", "./data/x")):
        values = {"source": source, "target": target, "format": text_format}
        with pytest.raises(UserError, match=f"source and target are both {source}: give each"):
            validated(Part, values, "entry demo, train")
    Part(source="a.tgz:x.en", target="a.tgz:x.de", format=text_format)
    Part(source="a.tgz:x", target="a.tgz:x", format="tsv")


@pytest.mark.parametrize(
    ("columns", "fault"),
    [([1, 1], "both sides are column 1"), ([0, -1], "greater than or equal to 0")],
)
def test_the_columns_of_both_sides_are_two(columns, fault):
    with pytest.raises(ValueError, match=fault):
        Part(source="pairs", target="pairs", format="tsv", columns=columns)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({7: 1}, "made-up.yaml: 7 is no name"),
        ({"tables": {7: {}}}, "made-up.yaml, tables: 7 is no name"),
        (
            {"seeds": [2**32]},
            "made-up.yaml, seeds: value 1: Input should be less than or equal to 4294967295, not",
        ),
        ({"seeds": [1, True]}, "made-up.yaml, seeds: value 2: expected a number, not true"),
    ],
)
def test_keys_are_told_from_places(changes, fault):
    with pytest.raises(UserError) as refused:
        load_reproduction(chosen(ROOT / "config") | changes, "made-up.yaml")
    assert str(refused.value).startswith(fault)


def rows_file(folder: Path) -> Path:
    """Return the file that declares a catalog's experiments; all else is the demo's."""
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.rmtree(folder / "config" / "experiments")
    (folder / "config" / "experiments").mkdir()
    (folder / "config" / "published.yaml").write_text("[]")
    return folder / "config" / "experiments" / "rows.yaml"


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ({"a/b": {}}, "rows.yaml, experiments: 'a/b' is no name: take letters"),
        ({7: {}}, "rows.yaml, experiments: 7 is no name: take letters"),
        (
            {"row": {"dropout": 0.1}},
            "table rows: row is only a base: give it a family and a title.",
        ),
        ({"rows": {"dropout": 0.1}}, "table rows: unknown experiment 'row'"),
    ],
)
def test_a_table_needs_rows(tmp_path, entries, fault):
    rows_file(tmp_path).write_text(yaml.safe_dump({"experiments": entries}))
    with pytest.raises(UserError) as refused:
        load_reproduction(chosen(tmp_path / "config"))
    assert fault in str(refused.value)


@pytest.mark.parametrize(
    ("sizes", "changes", "reach"),
    [
        (LAYERS, {"family": "transformer", "positions": "learned", "max_positions": 250}, 249),
        (LAYERS, {"family": "decoder-only", "positions": "learned", "max_positions": 502}, 249),
        (CONVOLUTIONS, {"family": "convs2s", "max_positions": 250}, 249),
    ],
)
def test_positions_must_reach_as_far_as_the_pairs(tmp_path, sizes, changes, reach):
    """The demo corpus keeps pairs of up to 250 subwords."""
    file = rows_file(tmp_path)

    def written(**more: object) -> None:
        row = {**ROW, **sizes, **changes, **more}
        file.write_text(
            yaml.safe_dump(
                {"vocabularies": {"demo-bpe-2000": {"size": 2000}}, "experiments": {"row": row}}
            )
        )

    written()
    with pytest.raises(
        UserError, match=f"table rows: row has positions for {reach} subwords .* pairs up to 250"
    ):
        load_reproduction(chosen(tmp_path / "config"))
    written(max_positions=changes["max_positions"] + 1)
    load_reproduction(chosen(tmp_path / "config"))


def test_no_row_of_a_table_is_called_by_its_key():
    rows = load_catalog(ROOT / "config").rows
    for file in (ROOT / "config").glob("*.yaml"):
        declared = yaml.safe_load(file.read_text(encoding="utf-8"))
        for table in declared["tables"].values() if "seeds" in declared else ():
            assert [
                name for name in table["experiments"] if rows[name.partition("+")[0]].title == name
            ] == []


def test_a_name_is_declared_once(tmp_path):
    file = rows_file(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        file.with_name(name).write_text(yaml.safe_dump({"experiments": {"row": {"dropout": 0.1}}}))
    with pytest.raises(UserError, match=r"b.yaml, entry row is there twice: .*a.yaml, entry row"):
        load_catalog(tmp_path / "config")


def test_an_ensemble_is_no_experiment(tmp_path):
    sizes = {**ROW, **LAYERS, "family": "transformer", "vocabulary": "joint"}
    values = {"vocabularies": {"joint": {"size": 100}}, "experiments": {"row": sizes}}
    values["ensembles"] = {"row": {"title": "Both", "members": {"row": [1, 2]}}}
    rows_file(tmp_path).write_text(yaml.safe_dump(values))
    with pytest.raises(UserError, match="ensemble row: there is an experiment of that name"):
        load_catalog(tmp_path / "config")


def test_rows_of_a_table_can_be_told_apart(tmp_path):
    row = {**ROW, **LAYERS, "family": "transformer"}
    entries = {"row": row, "again": {"base": "row", "dropout": 0.2}}
    values = {"vocabularies": {"demo-bpe-2000": {"size": 2000}}, "experiments": entries}
    rows_file(tmp_path).write_text(yaml.safe_dump(values))
    values = chosen(tmp_path / "config")
    values["tables"]["rows"]["experiments"] = ["row", "again"]
    with pytest.raises(UserError, match="row and again have the title"):
        load_reproduction(values)
