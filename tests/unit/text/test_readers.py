"""Readers of sentences in files and archives."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from nmt import files
from nmt.configuration import located
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.text.readers import pair_lines, read_sentences, segment_pairs
from tests.support.files import mirrored

TEXT = b"one\ntwo\n\nfour\n"
SENTENCES = ["one", "two", "", "four"]


def read(path, member="", form="lines", column=0):
    return list(read_sentences(path, member, form, column))


def make_tar(path, members):
    pack = {".tar": "", ".xz": "xz"}.get(path.suffix, "gz")
    with tarfile.open(path, f"w:{pack}") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def make_file(path, content):
    path.write_bytes(content)
    return path


MEMBERS = {
    "readme": b"no\n",
    "in/text.en": TEXT,
    "in/text.de.GZ": gzip.compress(TEXT),
    "last": b"no\n",
}


def make_archive(folder, kind, members):
    return (make_zip if kind == "zip" else make_tar)(folder / f"a.{kind}", members)


@pytest.mark.parametrize("kind", ["tgz", "tar.gz", "TAR.xz", "tar", "zip"])
def test_every_archive_yields_the_sentences_of_its_members(tmp_path, kind):
    path = make_archive(tmp_path, kind, MEMBERS)
    assert read(path, "in/text.en") == read(path, "in/text.de.GZ") == SENTENCES


def test_files_are_plain_or_compressed(tmp_path):
    assert read(make_file(tmp_path / "text", TEXT)) == SENTENCES
    for name, module in {"a.gz": gzip, "A.GZ": gzip, "a.bz2": bz2, "a.xz": lzma}.items():
        packed = make_file(tmp_path / name, module.compress(TEXT))
        assert read(packed) == list(read_lines(packed)) == SENTENCES
        make_file(packed, TEXT)
        for reader in (read, read_lines):
            with pytest.raises(UserError, match=rf"{name} is damaged"):
                list(reader(packed))
    for reader in (read, read_lines):
        with pytest.raises(UserError, match=r"text\.zst: \.zst cannot be read here"):
            list(reader(make_file(tmp_path / "text.zst", b"\x28\xb5\x2f\xfd")))


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        ("data/a:b.en", ("data/a:b.en", "")),
        ("data/a.tar.xz:b/c.en", ("data/a.tar.xz", "b/c.en")),
        ("archive:b.en", ("archive", "b.en")),
    ],
)
def test_a_colon_in_a_path_begins_no_member(locator, expected):
    assert located(locator) == expected


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"\xef\xbb\xbfa\r", "a"),
        ("  a\u2028b\x85c\x0bd\te ".encode(), "a b c d e"),
        ("5\u00a0%".encode(), "5\u00a0%"),
    ],
)
def test_sentences_are_safe_lines(tmp_path, raw, sentence):
    assert read(make_file(tmp_path / "a", raw + b"\n")) == [sentence]


def sgml(*documents: tuple[str, list[str]]) -> bytes:
    """Return documents by name, with segments that are numbered from 1."""
    texts = [
        f'<doc sysid="ref" docid="{name}">\n<p>'
        + "\n".join(f'<seg id="{number}">{text}</seg>' for number, text in enumerate(segments, 1))
        + "</p>\n</doc>\n"
        for name, segments in documents
    ]
    return f'<refset setid="x">\n{"".join(texts)}</refset>\n'.encode()


def pair_sgml(tmp_path, source: bytes, target: bytes) -> list[tuple[str, str]]:
    paths = make_file(tmp_path / "a.sgm", source), make_file(tmp_path / "b.sgm", target)
    return list(segment_pairs(*((path, "") for path in paths)))


def test_sgml_segments_are_paired_by_document_and_number_with_entities_replaced(tmp_path):
    source = (
        b'<refset setid="x"><doc docid="the 1">\n<hl>\n<seg id="1">AT&amp;T &lt;b&gt; &quot;q&quot;'
        b' &#233; R&D &copy</seg>\n</hl>\n<p>\n<SEG id="2"> two\nlines&#10;of it </SEG><seg'
        b' id="3"></seg>\n</p></doc><doc docid=2><seg id="1">x</seg></doc>'
        b'<doc docid="the 2"><seg id="1">y</seg></doc></refset>\n'
    )
    target = sgml(("the 2", ["e"]), ("2", ["d"]), ("the 1", ["a", "b", "c"]))
    assert pair_sgml(tmp_path, source, target) == [
        ('AT&T <b> "q" é R&D &copy', "a"),
        ("two lines of it", "b"),
        ("", "c"),
        ("x", "d"),
        ("y", "e"),
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (TEXT, "no <seg>"),
        (sgml(("1", ["a"])), "b.sgm lacks document '2', segment '1'"),
        (sgml(("1", ["a", "b"]), ("2", ["c"])), "a.sgm lacks document '1', segment '2'"),
        (sgml(("1", ["a"]), ("1", ["b"])), "document '1', segment '1' is there twice"),
        (
            sgml(("1", ["a"]), ("2", ["b"])).replace(b"a</seg>", b"a"),
            "document '1', segment '1' is not closed",
        ),
    ],
)
def test_sgml_whose_sides_do_not_fit_is_refused(tmp_path, target, message):
    with pytest.raises(UserError, match=message):
        pair_sgml(tmp_path, sgml(("1", ["a"]), ("2", ["b"])), target)


def test_talks_yield_sentences_titles_and_descriptions(tmp_path):
    text = (
        b"<url>http://x</url>\n<speaker>A B</speaker>\n<talkid>1</talkid>\n<keywords>a</keywords>"
        b"\n<title>A: B</title>\n<description>TED talk: C.</description>\n One < two > 3. \n\n"
        b'<title>\n<reviewer href="x">R</reviewer>\n<translator>T</translator>\n'
        b"<transcript>\nEnd.\n"
    )
    sentences = read(make_file(tmp_path / "a", text), form="talks")
    assert sentences == ["A: B", "TED talk: C.", "One < two > 3.", "", "", "End."]


def test_tsv_yields_the_column(tmp_path):
    path = make_file(tmp_path / "a.tsv", b"Hi.\tHallo!\tCC-BY\n\nGo.\tGeh.\n")
    assert read(path, form="tsv", column=0) == ["Hi.", "", "Go."]
    assert read(path, form="tsv", column=1) == ["Hallo!", "", "Geh."]
    with pytest.raises(UserError, match=r"b\.tsv, line 2: column 2"):
        read(make_file(tmp_path / "b.tsv", b"a\tb\nc\n"), form="tsv", column=1)


@pytest.mark.parametrize("kind", ["tgz", "tar", "zip"])
def test_a_missing_member_is_an_error_with_the_nearest_name(tmp_path, kind):
    with pytest.raises(UserError, match=r"a\.\w+ is not there"):
        read(tmp_path / f"a.{kind}", "in/test.en")
    with pytest.raises(UserError, match=r"'in/test\.en': did you mean 'in/text\.en'"):
        read(make_archive(tmp_path, kind, MEMBERS), "in/test.en")


def test_a_member_of_a_file_that_is_not_an_archive_is_an_error(tmp_path):
    with pytest.raises(UserError, match="not an archive"):
        read(make_file(tmp_path / "a.gz", gzip.compress(TEXT)), "member")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_member_of_a_tar_that_is_no_file_is_refused(tmp_path, kind):
    info = tarfile.TarInfo("x.en")
    info.type, info.linkname = kind, "../text.de"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(info)
    with pytest.raises(UserError, match=r"a\.tar: the member 'x\.en'"):
        read(tmp_path / "a.tar", "x.en")


@pytest.mark.parametrize(("name", "attributes"), [("x.en", 0o120777), ("x.en/", 0o040755)])
def test_a_member_of_a_zip_that_is_no_file_is_refused(tmp_path, name, attributes):
    info = zipfile.ZipInfo(name)
    info.external_attr = attributes << 16
    with pytest.raises(UserError, match=rf"a\.zip: the member '{name}'"):
        read(make_zip(tmp_path / "a.zip", {info: b"../text.de"}), name)


LONG = {"text": bytes(range(32, 127)) * 40 + b"\n", "more": b"x" * 5000}


@pytest.mark.parametrize("kind", ["gz", "tgz", "tar", "zip"])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_truncated_archives_are_errors(tmp_path, kind, share):
    if kind == "gz":
        path, member = make_file(tmp_path / "a.gz", gzip.compress(LONG["text"])), ""
    else:
        path, member = make_archive(tmp_path, kind, LONG), "text"
    assert len(read(path, member)) == 1
    content = path.read_bytes()
    path.write_bytes(content[: max(20, int(len(content) * share))])
    with pytest.raises(UserError, match=rf"{path.name} is damaged or truncated"):
        read(path, member)


def test_invalid_utf8_is_an_error_with_file_member_and_line(tmp_path):
    path = make_tar(tmp_path / "a.tgz", {"text.de": b"gut\nM\xfcll\n"})
    with pytest.raises(UserError, match=r"a\.tgz:text\.de, line 2"):
        read(path, "text.de")


def test_lines_that_do_not_pair_are_an_error_with_both_counts():
    assert list(pair_lines("ab", "xy", "s", "t")) == [("a", "x"), ("b", "y")]
    for source, target in [("abc", "x"), ("a", "xyz")]:
        counts = f"left has {len(source)} .* right has {len(target)}"
        with pytest.raises(UserError, match=counts):
            list(pair_lines(source, target, "left", "right"))


def test_the_real_tsv_archive():
    path = mirrored("tatoeba/deu-eng.zip")
    sides = [list(read_sentences(path, "deu.txt", "tsv", column)) for column in (0, 1)]
    assert [len(side) for side in sides] == [169197, 169197]
    assert all(sides[0])
    assert all(sides[1])


@pytest.mark.parametrize("text", [b"x" * 11_000_000, b"x\n" * 60_000])
@pytest.mark.parametrize("kind", ["gz", "tgz", "zip"])
def test_what_unpacks_without_end_is_no_text(tmp_path, monkeypatch, kind, text):
    monkeypatch.setattr(files, "most_bytes", lambda path: 100_000 if text[1:2] == b"\n" else 10**9)
    if kind == "gz":
        path, member = make_file(tmp_path / "a.gz", gzip.compress(text)), ""
    else:
        path, member = make_archive(tmp_path, kind, {"x": text}), "x"
    with pytest.raises(UserError, match=r"line 1: over 10,000,000 bytes|unpacks to over 100 times"):
        read(path, member)


def test_a_tar_that_declares_more_than_text_can_be_is_refused(tmp_path):
    info = tarfile.TarInfo("hole")
    info.size = 2**40
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.addfile(info)
    with pytest.raises(UserError, match="unpacks to over 100 times"):
        read(tmp_path / "a.tgz", "x.en")
