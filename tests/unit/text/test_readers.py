"""Readers of sentences in files and archives."""

import gzip
import io
import tarfile
import zipfile

import pytest

from nmt.errors import UserError
from nmt.text.readers import pair_lines, read_sentences, unpack
from tests.support.files import mirrored

TEXT = b"one\ntwo\n\nfour\n"
SENTENCES = ["one", "two", "", "four"]


def read(path, member="", form="lines", column=0):
    return list(read_sentences(path, member, form, column))


def make_tar(path, mode, members):
    with tarfile.open(path, mode) as archive:
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
    "in/text.de.gz": gzip.compress(TEXT),
    "last": b"no\n",
}


@pytest.fixture(params=["plain", "gz", "tgz", "gz in tgz", "tar", "gz in tar", "zip", "gz in zip"])
def container(request, tmp_path):
    kind = request.param
    member = "in/text.de.gz" if kind.startswith("gz in") else "in/text.en"
    if kind == "plain":
        return make_file(tmp_path / "text", TEXT), ""
    if kind == "gz":
        return make_file(tmp_path / "text.gz", gzip.compress(TEXT)), ""
    if kind.endswith("tgz"):
        return make_tar(tmp_path / "a.tgz", "w:gz", MEMBERS), member
    if kind.endswith("tar"):
        return make_tar(tmp_path / "a.tar", "w", MEMBERS), member
    return make_zip(tmp_path / "a.zip", MEMBERS), member


def test_every_container_yields_the_same_sentences(container):
    assert read(*container) == SENTENCES


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b\r\n", "a b"),
        ("a\tb\n", "a b"),
        ("a\u00a0b\n", "a\u00a0b"),
        ("a\u2028b\u2029c\n", "a b c"),
        ("a\x85b\x0bc\x0cd\n", "a b c d"),
        ("a\x1cb\x1dc\x1ed\n", "a b c d"),
        ("a\rb\x00c\n", "a b c"),
        ("  a  b \n", "a  b"),
        ("\n", ""),
        ("\u00a0\t\n", ""),
        ("no end", "no end"),
    ],
)
def test_only_a_line_feed_ends_a_line(tmp_path, line, expected):
    path = make_file(tmp_path / "text", f"before\n{line}".encode())
    sentences = read(path)
    assert sentences == ["before", expected]
    # Nor does any other line break remain
    assert "\n".join([*sentences, "after"]).splitlines() == ["before", expected, "after"]


def test_sgml_yields_one_sentence_per_segment(tmp_path):
    text = (
        '<refset setid="x"><doc docid="1">\n<hl>\n<seg id="1">AT&amp;T &lt;b&gt; &quot;q&quot;'
        ' &#233; R&D &copy</seg>\n</hl>\n<p>\n<SEG id="2"> two\nlines&#10;of it </SEG><seg'
        ' id="3"></seg>\n</p></doc></refset>\n'
    )
    sentences = read(make_file(tmp_path / "a.sgm", text.encode()), form="sgml")
    assert sentences == ['AT&T <b> "q" é R&D &copy', "two lines of it", ""]


def test_sgml_without_segments_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no <seg>"):
        read(make_file(tmp_path / "a.sgm", TEXT), form="sgml")


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


def test_a_missing_column_is_an_error_with_its_line(tmp_path):
    with pytest.raises(UserError, match=r"a\.tsv, line 2: column 2 is missing, there are 1"):
        read(make_file(tmp_path / "a.tsv", b"a\tb\nc\n"), form="tsv", column=1)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"a\.tgz is not there"):
        read(tmp_path / "a.tgz", "member")


@pytest.mark.parametrize("kind", ["tgz", "tar", "zip"])
def test_a_missing_member_is_an_error_with_the_nearest_name(tmp_path, kind):
    modes = {"tgz": "w:gz", "tar": "w"}
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        make_zip(path, MEMBERS)
    else:
        make_tar(path, modes[kind], MEMBERS)
    with pytest.raises(UserError, match=r"no member 'in/test\.en': did you mean 'in/text\.en'"):
        read(path, "in/test.en")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (tarfile.SYMTYPE, r"is a link to 'text\.de'"),
        (tarfile.LNKTYPE, r"is a link to 'text\.de'"),
        (tarfile.DIRTYPE, "is a folder"),
        (tarfile.CHRTYPE, "is a device or a pipe"),
    ],
)
def test_a_member_of_a_tar_that_is_no_file_is_an_error(tmp_path, kind, message):
    info = tarfile.TarInfo("x.en")
    info.type, info.linkname = kind, "text.de"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(info)
    with pytest.raises(UserError, match=rf"a\.tar: the member 'x\.en' {message}: name a file"):
        read(tmp_path / "a.tar", "x.en")


@pytest.mark.parametrize(
    ("name", "attributes", "flags", "message"),
    [
        ("x.en", 0o120777 << 16, 0, "is a link"),
        ("x.en/", 0o040755 << 16, 0, "is a folder"),
        ("x.en", 0o100644 << 16, 1, "is encrypted"),
    ],
)
def test_a_member_of_a_zip_that_is_no_file_is_an_error(tmp_path, name, attributes, flags, message):
    info = zipfile.ZipInfo(name)
    info.external_attr = attributes
    path = make_zip(tmp_path / "a.zip", {info: b"text.de"})
    if flags:
        path.write_bytes(encrypted(path.read_bytes()))
    with pytest.raises(UserError, match=rf"a\.zip: the member '{name}' {message}: name a file"):
        read(path, name)


def encrypted(archive: bytes) -> bytes:
    """Return a zip archive of one member with the flag of encryption in both headers."""
    content = bytearray(archive)
    content[6] |= 1
    content[archive.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def test_a_member_of_a_file_that_is_not_an_archive_is_an_error(tmp_path):
    with pytest.raises(UserError, match="not an archive"):
        read(make_file(tmp_path / "a.gz", gzip.compress(TEXT)), "member")


LONG = {"text": bytes(range(32, 127)) * 40 + b"\n", "more": b"x" * 5000}


@pytest.mark.parametrize(
    "make",
    [
        lambda path: make_file(path / "a.gz", gzip.compress(LONG["text"])),
        lambda path: make_tar(path / "a.tgz", "w:gz", LONG),
        lambda path: make_tar(path / "a.tar", "w", LONG),
        lambda path: make_zip(path / "a.zip", LONG),
    ],
    ids=["gz", "tgz", "tar", "zip"],
)
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_truncated_archives_are_errors(tmp_path, make, share):
    path = make(tmp_path)
    member = "" if path.suffix == ".gz" else "text"
    assert len(read(path, member)) == 1
    content = path.read_bytes()
    path.write_bytes(content[: max(20, int(len(content) * share))])
    with pytest.raises(UserError, match=rf"{path.name} is damaged or truncated \(.+\)"):
        read(path, member)


@pytest.mark.parametrize(
    "make",
    [
        lambda path, text: make_file(path / "a.gz", gzip.compress(text)),
        lambda path, text: make_tar(path / "a.tgz", "w:gz", {"text": text}),
        lambda path, text: make_zip(path / "a.zip", {"text": text}),
    ],
    ids=["gz", "tgz", "zip"],
)
def test_archives_broken_in_the_middle_are_errors(tmp_path, make):
    path = make(tmp_path, "".join(f"{n * n:x}\n" for n in range(20_000)).encode())
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"{path.name}(:text)?[ ,].*(damaged|not valid UTF-8)"):
        read(path, "" if path.suffix == ".gz" else "text")


def test_a_line_of_a_megabyte_is_one_sentence(tmp_path):
    line = "wort " * 200_000 + "ende"
    assert read(make_file(tmp_path / "a", f"a\n{line}\nb\n".encode())) == ["a", line, "b"]


def test_a_file_that_is_not_gzip_is_an_error(tmp_path):
    with pytest.raises(UserError, match="damaged or truncated"):
        read(make_file(tmp_path / "a.gz", TEXT))


def test_invalid_utf8_is_an_error_with_file_member_and_line(tmp_path):
    path = make_tar(tmp_path / "a.tgz", "w:gz", {"text.de": b"gut\nM\xfcll\n"})
    with pytest.raises(UserError, match=r"a\.tgz:text\.de, line 2: not valid UTF-8 \(byte 2"):
        read(path, "text.de")


def test_lines_that_do_not_pair_are_an_error_with_both_counts():
    assert list(pair_lines("ab", "xy", "s", "t")) == [("a", "x"), ("b", "y")]
    for source, target in [("abc", "x"), ("a", "xyz")]:
        counts = f"left has {len(source)} lines but right has {len(target)}"
        with pytest.raises(UserError, match=counts):
            list(pair_lines(source, target, "left", "right"))


def test_members_are_unpacked_in_one_pass(tmp_path):
    path = make_tar(tmp_path / "a.tgz", "w:gz", MEMBERS)
    copies = unpack(path, ["in/text.de.gz", "in/text.en"], tmp_path)
    assert {name: read(copy) for name, copy in copies.items()} == {
        "in/text.de.gz": SENTENCES,
        "in/text.en": SENTENCES,
    }
    with pytest.raises(UserError, match=r"no member 'in/test\.en': did you mean 'in/text\.en'"):
        unpack(path, ["last", "in/test.en"], tmp_path)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(UserError, match=r"a\.tgz is damaged or truncated"):
        unpack(path, ["last", "in/text.en"], tmp_path)


def test_the_real_tsv_archive():
    path = mirrored("tatoeba/deu-eng.zip")
    sides = [list(read_sentences(path, "deu.txt", "tsv", column)) for column in (0, 1)]
    assert [len(side) for side in sides] == [169197, 169197]
    assert all(sides[0])
    assert all(sides[1])
