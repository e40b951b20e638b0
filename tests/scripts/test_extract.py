"""extract.py through its command line."""

import gzip
import io
import json
import tarfile

import pytest

MADE = {"grammar": "g.yaml", "seed": 1, "sizes": {"train": 1, "dev": 1}}


@pytest.fixture
def corpus(tmp_path, catalog):
    """corpus(source bytes, target bytes, ...): the command to extract a split of such parts."""

    def make(*contents: bytes) -> list[str]:
        archives = tmp_path / "archives"
        archives.mkdir()
        parts = []
        for number in range(0, len(contents), 2):
            parts.append({"source": f"{number}.en.gz", "target": f"{number}.de.gz"})
        names = [name for part in parts for name in part.values()]
        for name, content in zip(names, contents, strict=True):
            (archives / name).write_bytes(gzip.compress(content))
        read = {"archives": entries(names), "splits": {"train": parts, "dev": parts}}
        folder = catalog(
            {
                "tiny": entry(**read),
                "filtered": entry(**read, cleaning={"duplicates": True, "overlap": True}),
                "made": entry(generated=MADE),
            }
        )
        return command(folder, "tiny", archives, tmp_path / "raw")

    return make


def entry(**values):
    return {"title": "Tiny", "source": "en", "target": "de", "license": "free", **values}


def entries(names):
    return {name: {"addresses": ["http://127.0.0.1:9"], "mirror": name} for name in names}


def command(catalog, corpus, archives, output):
    options = {
        "catalog": catalog,
        "corpus": corpus,
        "split": "train",
        "archives": archives,
        "source": output / "train.en",
        "target": output / "train.de",
    }
    return ["extract", *(f"--{name}={value}" for name, value in options.items())]


def raw(tmp_path, language):
    return (tmp_path / "raw" / f"train.{language}").read_bytes().decode()


def nothing_written(tmp_path):
    return not (tmp_path / "raw").exists() or not list((tmp_path / "raw").iterdir())


def test_parts_follow_one_another(corpus, run_script, tmp_path):
    result = run_script(*corpus(b"a\nb\n", b"x\ny\n", b"c", b"z\n"))
    assert result.returncode == 0, result
    assert raw(tmp_path, "en") == "a\nb\nc\n"
    assert raw(tmp_path, "de") == "x\ny\nz\n"


def test_no_character_shifts_the_alignment(corpus, run_script, tmp_path):
    source = "\ufeffa\r\nb\u2028b\n\nd\x0cd\x0bd\ne\x85e\rf\n"
    target = "v\nw\tw\nx\u00a0x\n y \n\n"
    result = run_script(*corpus(source.encode(), target.encode()))
    assert result.returncode == 0, result
    assert raw(tmp_path, "en") == "a\nb b\n\nd d d\ne e f\n"
    assert raw(tmp_path, "de") == "v\nw w\nx\u00a0x\ny\n\n"


def test_of_training_text_what_the_filters_leave_is_written(corpus, run_script, tmp_path):
    extract = corpus(b"A b.\nA b.\nC\nA b.\n", b"X.\nX.\nZ\nY.\n")
    for name, line in (("test.en", "c"), ("test.de", "")):
        (tmp_path / name).write_text(f"{line}\n")
    extract += ["--corpus", "filtered", "--test-sources", tmp_path / "test.en"]
    extract += ["--test-targets", tmp_path / "test.de", "--counts", tmp_path / "counts.json"]
    assert run_script(*extract).returncode == 0
    assert (raw(tmp_path, "en"), raw(tmp_path, "de")) == ("A b.\nA b.\n", "X.\nY.\n")
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts == {"raw": 4, "kept": 2, "dropped": {"overlap": 1, "duplicates": 1}}
    assert run_script(*extract, "--split=dev").returncode == 0
    assert raw(tmp_path, "en").count("\n") == 4


def test_bad_input_is_named_and_nothing_is_written(corpus, run_failing, tmp_path):
    extract = corpus(b"a\nb\n", b"gut\ngut\n", b"a\n", bytes(range(32, 120)) * 50)
    path = tmp_path / "archives" / "2.de.gz"
    intact = path.read_bytes()
    for content, words in (
        (intact[:-20], "2.de.gz is damaged or truncated"),
        (gzip.compress(b"gut\nM\xfcll\n"), "2.de.gz, line 2"),
        (gzip.compress(b"x\n" * 3), "2.en.gz has 1 lines but 2.de.gz has 3"),
    ):
        path.write_bytes(content)
        assert words in run_failing(*extract)
    path.unlink()
    assert "2.de.gz is not there" in run_failing(*extract)
    assert "--test-sources" in run_failing(*extract, "--corpus=filtered")
    assert "did you mean 'tiny'?" in run_failing(*extract, "--corpus=tny")
    assert "did you mean 'train'?" in run_failing(*extract, "--split=tran")
    assert "generate" in run_failing(*extract, "--corpus=made")
    assert nothing_written(tmp_path)


def test_both_sides_may_be_in_one_archive(catalog, run_script, tmp_path):
    parts = [{"source": "a.tgz:t.en", "target": "a.tgz:t.de.gz"}]
    settings = {"archives": entries(["a.tgz"]), "splits": {"train": parts}, "held_out": {"dev": 1}}
    folder = catalog({"tiny": entry(**settings)})
    archives = tmp_path / "archives"
    archives.mkdir()
    with tarfile.open(archives / "a.tgz", "w:gz") as archive:
        for name, content in (("t.de.gz", gzip.compress(b"x\ny\nz\n")), ("t.en", b"a\nb\nc\n")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert run_script(*command(folder, "tiny", archives, tmp_path / "raw")).returncode == 0
    pairs = set(zip(raw(tmp_path, "en").split(), raw(tmp_path, "de").split(), strict=True))
    assert len(pairs) == 2
    assert pairs < {("a", "x"), ("b", "y"), ("c", "z")}


def test_a_full_disk_leaves_no_partial_output(corpus, run_failing, tiny_disk):
    numbers = "".join(f"{number}\n" for number in range(5000)).encode()
    extract = corpus(numbers, numbers)
    error = run_failing(*extract, "--source", tiny_disk / "en", "--target", tiny_disk / "de")
    assert "no disk space left" in error
    assert list(tiny_disk.iterdir()) == []
