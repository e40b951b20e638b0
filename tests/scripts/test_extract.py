"""extract.py through its command line."""

import gzip
import json
import zipfile

import pytest

MADE = {"grammar": "g.yaml", "seed": 1, "sizes": {"train": 1, "dev": 1}}


@pytest.fixture
def corpus(tmp_path, catalog):
    """corpus(source bytes, target bytes, ...): the command to extract a split of such parts."""

    def make(*contents: bytes) -> list[str]:
        parts, files = [], {}
        for number in range(0, len(contents), 2):
            part = {"source": f"{number}.en.gz", "target": f"{number}.de.gz"}
            files |= zip(part.values(), contents[number : number + 2], strict=True)
            parts.append(part)
        write(tmp_path, {name: gzip.compress(content) for name, content in files.items()})
        read = {"archives": entries(files), "splits": {"train": parts, "dev": parts}}
        cleaning = {"duplicates": True, "overlap": True}
        corpora = {
            "tiny": entry(**read),
            "filtered": entry(**read, cleaning=cleaning),
            "made": entry(generated=MADE),
        }
        return command(catalog(corpora), tmp_path)

    return make


def write(folder, files):
    (folder / "archives").mkdir()
    for name, content in files.items():
        (folder / "archives" / name).write_bytes(content)


def entry(**values):
    return {"title": "Tiny", "source": "en", "target": "de", "license": "free", **values}


def entries(names):
    return {name: {"addresses": ["http://127.0.0.1:9"], "mirror": name} for name in names}


def command(catalog, folder):
    options = {
        "catalog": catalog,
        "corpus": "tiny",
        "split": "train",
        "archives": folder / "archives",
        "source": folder / "raw" / "train.en",
        "target": folder / "raw" / "train.de",
    }
    return ["extract", *(f"--{name}={value}" for name, value in options.items())]


def raw(tmp_path):
    """The two files that were written."""
    files = (tmp_path / "raw" / f"train.{language}" for language in ("en", "de"))
    return tuple(file.read_bytes().decode() for file in files)


def test_parts_follow_one_another_and_no_character_shifts_the_alignment(
    corpus, run_script, tmp_path
):
    source = "\ufeffa\r\nb\u2028b\n\nd\x0cd\x0bd\ne\x85e\rf\n"
    target = "v\nw\tw\nx\u00a0x\n y \n\n"
    result = run_script(*corpus(source.encode(), target.encode(), b"g", b"z\n"))
    assert result.returncode == 0, result
    assert raw(tmp_path) == ("a\nb b\n\nd d d\ne e f\ng\n", "v\nw w\nx\u00a0x\ny\n\nz\n")


def test_of_training_text_what_the_filters_leave_is_written(corpus, run_script, tmp_path):
    extract = corpus(b"A b.\nA b.\nC\nA b.\n", b"X.\nX.\nZ\nY.\n")
    for name, line in (("test.en", "c"), ("test.de", "")):
        (tmp_path / name).write_text(f"{line}\n")
    extract += ["--corpus", "filtered", "--test-sources", tmp_path / "test.en"]
    extract += ["--test-targets", tmp_path / "test.de", "--counts", tmp_path / "counts.json"]
    assert run_script(*extract).returncode == 0
    assert raw(tmp_path) == ("A b.\nA b.\n", "X.\nY.\n")
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts == {"raw": 4, "kept": 2, "dropped": {"overlap": 1, "duplicates": 1}}
    assert run_script(*extract, "--split=dev").returncode == 0
    assert raw(tmp_path)[0].count("\n") == 4


def test_bad_input_is_named_and_nothing_is_written(corpus, run_failing, tmp_path):
    extract = corpus(b"a\nb\n", b"gut\ngut\n", b"a\n", bytes(range(32, 120)) * 50)
    path = tmp_path / "archives" / "2.de.gz"
    path.write_bytes(path.read_bytes()[:-20])
    assert "2.de.gz is damaged or truncated" in run_failing(*extract)
    path.write_bytes(gzip.compress(b"x\n" * 3))
    assert "2.en.gz has 1 lines but 2.de.gz has 3" in run_failing(*extract)
    path.unlink()
    assert "2.de.gz is not there" in run_failing(*extract)
    assert "--test-sources" in run_failing(*extract, "--corpus=filtered")
    assert "'tiny'" in run_failing(*extract, "--corpus=tny")
    assert "'train'" in run_failing(*extract, "--split=tran")
    assert "generate" in run_failing(*extract, "--corpus=made")
    assert not (tmp_path / "raw").exists() or not list((tmp_path / "raw").iterdir())


def test_both_sides_may_be_in_one_archive(catalog, run_script, tmp_path):
    (tmp_path / "archives").mkdir()
    with zipfile.ZipFile(tmp_path / "archives" / "a.zip", "w") as archive:
        archive.writestr("t.de.gz", gzip.compress(b"x\ny\nz\n"))
        archive.writestr("t.en", b"a\nb\nc\n")
    parts = [{"source": "a.zip:t.en", "target": "a.zip:t.de.gz"}]
    settings = {"archives": entries(["a.zip"]), "splits": {"train": parts}, "held_out": {"dev": 1}}
    extract = command(catalog({"tiny": entry(**settings)}), tmp_path)
    assert run_script(*extract).returncode == 0
    pairs = set(zip(*map(str.split, raw(tmp_path)), strict=True))
    assert len(pairs) == 2
    assert pairs < {("a", "x"), ("b", "y"), ("c", "z")}
