"""extract.py through its command line."""

import gzip
import io
import tarfile

import pytest

from tests.support.files import mirrored


@pytest.fixture
def corpus(tmp_path, catalog):
    """corpus(source bytes, target bytes, ...): the command to extract a split of such parts."""

    def make(*contents: bytes) -> list[str]:
        archives = tmp_path / "archives"
        archives.mkdir()
        names = []
        parts = []
        for number in range(len(contents) // 2):
            part = {"source": f"part{number}.en.gz", "target": f"part{number}.de.gz"}
            parts.append(part)
            names += part.values()
        for name, content in zip(names, contents, strict=True):
            (archives / name).write_bytes(gzip.compress(content))
        folder = catalog(
            {
                "tiny": {
                    "title": "Tiny",
                    "source": "en",
                    "target": "de",
                    "license": "free",
                    "archives": {
                        name: {"addresses": ["http://127.0.0.1:9"], "mirror": name}
                        for name in names
                    },
                    "splits": {"train": parts, "dev": parts},
                },
                "made": {
                    "title": "Made",
                    "source": "en",
                    "target": "de",
                    "license": "free",
                    "generated": {"grammar": "g.yaml", "seed": 1, "sizes": {"train": 1, "dev": 1}},
                },
            }
        )
        return command(folder, "tiny", archives, tmp_path / "raw")

    return make


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
    assert len(raw(tmp_path, "en").splitlines()) == len(raw(tmp_path, "de").splitlines()) == 5


def test_different_line_counts_are_an_error_that_names_both_sides(corpus, run_failing, tmp_path):
    error = run_failing(*corpus(b"a\n" * 3, b"x\n" * 3, b"a\n" * 5, b"x\n" * 2))
    assert "part1.en.gz has 5 lines but part1.de.gz has 2" in error
    assert nothing_written(tmp_path)
    assert "If a download is at fault, delete it, and snakemake makes it again: " in error


def test_a_truncated_gzip_is_named(corpus, run_failing, tmp_path):
    extract = corpus(b"a\n", bytes(range(32, 120)) * 50)
    path = tmp_path / "archives" / "part0.de.gz"
    path.write_bytes(path.read_bytes()[:-20])
    assert "part0.de.gz is damaged or truncated" in run_failing(*extract)
    assert nothing_written(tmp_path)


def test_invalid_utf8_is_named_with_its_line(corpus, run_failing, tmp_path):
    error = run_failing(*corpus(b"a\nb\n", b"gut\nM\xfcll\n"))
    assert "part0.de.gz, line 2: not valid UTF-8" in error
    assert nothing_written(tmp_path)


def test_a_missing_archive_is_named(corpus, run_failing, tmp_path):
    extract = corpus(b"a\n", b"x\n")
    (tmp_path / "archives" / "part0.en.gz").unlink()
    assert run_failing(*extract).endswith("part0.en.gz is not there.\n")
    assert nothing_written(tmp_path)


def test_both_sides_may_be_in_one_archive(catalog, run_script, run_failing, tmp_path):
    parts = [{"source": "a.tgz:t.en", "target": "a.tgz:t.de.gz"}]
    folder = catalog(
        {
            "tiny": {
                "title": "Tiny",
                "source": "en",
                "target": "de",
                "license": "free",
                "archives": {"a.tgz": {"addresses": ["http://127.0.0.1:9"], "mirror": "a.tgz"}},
                "splits": {"train": parts},
                "held_out": {"dev": 1},
            }
        }
    )
    archives = tmp_path / "archives"
    archives.mkdir()
    for invalid in (b"", b"\xff"):
        with tarfile.open(archives / "a.tgz", "w:gz") as archive:
            for name, content in (
                ("t.de.gz", gzip.compress(b"x\ny\nz\n" + invalid)),
                ("t.en", b"a\nb\nc\n"),
            ):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        extract = command(folder, "tiny", archives, tmp_path / "raw")
        if not invalid:
            assert run_script(*extract).returncode == 0
            assert len(raw(tmp_path, "en").splitlines()) == 2
        else:
            assert f"{archives}/a.tgz:t.de.gz, line 4: not valid UTF-8" in run_failing(*extract)
        assert [path.name for path in archives.iterdir()] == ["a.tgz"]


def test_a_full_disk_leaves_no_partial_output(corpus, run_failing, tiny_disk):
    numbers = "".join(f"{number}\n" for number in range(5000)).encode()
    extract = corpus(numbers, numbers)
    error = run_failing(*extract, "--source", tiny_disk / "en", "--target", tiny_disk / "de")
    assert "no disk space left" in error
    assert list(tiny_disk.iterdir()) == []


def test_unknown_names_are_errors(corpus, run_failing):
    extract = corpus(b"a\n", b"x\n")
    assert "unknown corpus 'tny': did you mean 'tiny'?" in run_failing(*extract, "--corpus=tny")
    assert "unknown split 'tran': did you mean 'train'?" in run_failing(*extract, "--split=tran")
    assert "is generated" in run_failing(*extract, "--corpus=made")


def test_one_file_for_both_sides_is_refused(corpus, run_failing, tmp_path):
    file = tmp_path / "both"
    error = run_failing(*corpus(b"a\n", b"x\n"), f"--source={file}", f"--target={file}")
    assert error == f"error: --source and --target are both {file}: name two files.\n"
    assert not file.exists()


def test_all_of_multi30k_is_extracted(run_script, catalog, tmp_path):
    archives = mirrored("multi30k/train.en.gz").parent
    names = {language: f"multi30k/train.{language}.gz" for language in ("en", "de")}
    part = {"source": "train.en.gz", "target": "train.de.gz"}
    folder = catalog(
        {
            "multi30k": {
                "title": "Multi30k",
                "source": "en",
                "target": "de",
                "license": "research",
                "archives": {
                    f"train.{language}.gz": {"addresses": ["http://127.0.0.1:9"], "mirror": name}
                    for language, name in names.items()
                },
                "splits": {"train": [part], "dev": [part]},
            }
        }
    )
    result = run_script(*command(folder, "multi30k", archives, tmp_path / "raw"))
    assert result.returncode == 0, result
    for language in ("en", "de"):
        text = raw(tmp_path, language)
        assert text.count("\n") == len(text.splitlines()) == 29_000
        assert "\t" not in text
        assert all(line == line.strip() for line in text.splitlines())
