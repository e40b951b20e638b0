"""download.py, from a mirror folder and from a server on this machine."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import disk_usage

import pytest

from nmt.configuration import Archive
from nmt.errors import UserError
from nmt.text.download import SPARE, download

CONTENT = bytes(range(256)) * 400
OTHER = b"<html>moved</html>"
CLOSED = "http://127.0.0.1:9/file"  # the discard port: nothing listens there


@dataclass
class Site:
    """The files of the server, and the ranges that were requested of it."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    breaks_after: int | None = None  # bytes of each response
    knows_ranges: bool = True
    says_length: bool = True
    ranges: list[str | None] = field(default_factory=list)
    redirections: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requested_range = self.headers["Range"]
            site.ranges.append(requested_range)
            if self.path in site.redirections:
                return self.answer(302, {"Location": site.redirections[self.path]})
            content = site.files.get(self.path)
            if content is None:
                return self.answer(404)
            start = 0
            if requested_range and site.knows_ranges:
                start = int(requested_range.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.answer(416)
            length = len(content) - start if site.says_length else None
            self.answer(206 if start else 200, {"Content-Length": length})
            self.wfile.write(content[start:][: site.breaks_after])

        def answer(self, code, headers=None):
            self.send_response(code)
            for key, value in ({"Content-Length": 0} | (headers or {})).items():
                if value is not None:
                    self.send_header(key, str(value))
            self.end_headers()

        def log_message(self, *_):
            pass

    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def output(tmp_path) -> Path:
    return tmp_path / "downloads" / "file"


def archive(*addresses: str, content: bytes | None = CONTENT, **options) -> Archive:
    settings = {
        "addresses": addresses or (CLOSED,),
        "mirror": "corpus/file",
        "sha256": hashlib.sha256(content).hexdigest() if content is not None else None,
    }
    return Archive(**settings | options)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def check_downloaded(output: Path) -> None:
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file"}


def test_a_broken_download_is_resumed_while_connections_bring_more(site, output):
    site.files["/file"] = CONTENT
    site.breaks_after = 50_000
    download("file", archive(f"{site.address}/file"), output, None)
    check_downloaded(output)
    assert site.ranges == [None, "bytes=50000-", "bytes=100000-"]


def begun(site, output, wanted, content: bytes) -> None:
    """Leave what a download of `content` leaves when it is killed at its end."""
    site.files["/file"] = content + b"x"
    site.breaks_after = len(content)
    site.knows_ranges = False
    with pytest.raises(UserError, match=f"{len(content)} of {len(content) + 1} bytes"):
        download("file", wanted, output, None)
    assert "file.part" in names_in(output.parent)
    site.files["/file"], site.breaks_after, site.knows_ranges = CONTENT, None, True
    site.ranges.clear()


def test_a_later_call_resumes(site, output):
    wanted = archive(f"{site.address}/file")
    begun(site, output, wanted, CONTENT[:1000])
    download("file", wanted, output, None)
    check_downloaded(output)
    assert site.ranges == ["bytes=1000-"]


def test_what_another_address_has_begun_spoils_no_download(site, output):
    begun(site, output, archive(f"{site.address}/file"), OTHER)
    site.files = {"/other": CONTENT}
    download("file", archive(f"{site.address}/file", f"{site.address}/other"), output, None)
    check_downloaded(output)
    assert site.ranges[-1] is None


def test_without_a_checksum_nothing_is_resumed(site, output):
    """Nobody would notice two halves of different files."""
    unknown = archive(f"{site.address}/file", content=None)
    begun(site, output, unknown, OTHER)
    download("file", unknown, output, None)
    check_downloaded(output)
    assert site.ranges == [None]


@pytest.mark.parametrize("knows_ranges", [True, False])
@pytest.mark.parametrize("part", [CONTENT, CONTENT + b"more"])
def test_a_part_that_is_complete_or_too_long_is_handled(site, output, knows_ranges, part):
    wanted = archive(f"{site.address}/file")
    begun(site, output, wanted, part)
    site.knows_ranges = knows_ranges
    download("file", wanted, output, None)
    check_downloaded(output)
    is_fetched_again = knows_ranges and part != CONTENT
    assert len(site.ranges) == 1 + is_fetched_again


@pytest.mark.parametrize("known", [{"sha256": "0" * 64}, {"md5": "0" * 32, "sha256": None}])
def test_a_wrong_file_is_named_with_both_sums_and_not_kept(site, output, known):
    site.files["/wrong"] = OTHER
    with pytest.raises(UserError) as caught:
        download("file", archive(f"{site.address}/wrong", **known), output, None)
    algorithm, expected = next(iter(known.items()))
    for part in (f"{site.address}/wrong", hashlib.new(algorithm, OTHER).hexdigest(), expected):
        assert part in str(caught.value)
    assert names_in(output.parent) == set()


def test_the_next_address_may_be_right(site, output):
    site.files |= {"/wrong": OTHER, "/file": CONTENT}
    addresses = [f"{site.address}/{name}" for name in ("none", "wrong", "file")]
    download("file", archive(CLOSED, *addresses), output, None)
    check_downloaded(output)


def test_nothing_leads_to_files_outside_the_mirror(site, output, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    for mirror in ("../secret", str(secret), "corpus/../../secret"):
        with pytest.raises(ValueError, match="mirror"):
            archive(mirror=mirror)
    for address in (f"file://{secret}", f"local_file://{secret}", str(secret)):
        with pytest.raises(ValueError, match="addresses"):
            archive(address)
    site.redirections["/file"] = f"file://{secret}"
    with pytest.raises(UserError, match="302"):
        download("file", archive(f"{site.address}/file"), output, None)
    assert not output.exists()


def test_a_stranger_s_link_leads_to_no_file_of_ours(site, output):
    site.files["/file"] = CONTENT
    output.parent.mkdir()
    ours = output.parent.parent / "ours"
    ours.write_bytes(OTHER)
    (output.parent / "file.part").symlink_to(ours)
    with pytest.raises(UserError, match="part is a link"):
        download("file", archive(f"{site.address}/file"), output, None)
    assert ours.read_bytes() == OTHER


def test_an_endless_answer_does_not_fill_the_disk(site, output, monkeypatch):
    site.files["/file"], site.says_length = CONTENT, False
    free = disk_usage(output.parent.parent)._replace(free=SPARE + len(CONTENT) - 1)
    monkeypatch.setattr("shutil.disk_usage", lambda _: free)
    with pytest.raises(OSError, match="No space left"):
        download("file", archive(f"{site.address}/file"), output, None)
    assert names_in(output.parent) == set()


def mirrored(folder: Path, content: bytes) -> Path:
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "file").write_bytes(content)
    return folder


def test_the_mirror_comes_first(site, output, tmp_path):
    mirror = mirrored(tmp_path / "mirror", CONTENT)
    download("file", archive(f"{site.address}/file"), output, mirror)
    check_downloaded(output)
    assert output.readlink() == mirror / "corpus" / "file"
    assert site.ranges == []


@pytest.mark.parametrize("content", [None, OTHER])
def test_without_the_right_file_in_the_mirror_the_network_is_asked(site, output, tmp_path, content):
    site.files["/file"] = CONTENT
    mirror = mirrored(tmp_path / "mirror", content or b"")
    if content is None:
        (mirror / "corpus" / "file").unlink()
    download("file", archive(f"{site.address}/file"), output, mirror)
    check_downloaded(output)


def test_a_file_without_an_address_comes_from_the_mirror(output, tmp_path):
    local = archive(addresses=[])
    with pytest.raises(UserError, match="corpus/file"):
        download("file", local, output, None)
    download("file", local, output, mirrored(tmp_path / "mirror", CONTENT))
    check_downloaded(output)


def command(catalog, output: Path, wanted: Archive) -> list[object]:
    """Return the command that downloads the archive of the only corpus of a catalog."""
    part = {"source": "file", "target": "file", "format": "tsv"}
    corpus = {
        "title": "Demo",
        "source": "en",
        "target": "de",
        "license": "free",
        "archives": {"file": wanted.model_dump(exclude_none=True)},
        "splits": {"train": [part], "dev": [part]},
    }
    folder = catalog({"demo": corpus})
    options = {"catalog": folder, "corpus": "demo", "archive": "file", "output": output}
    return ["download", *(f"--{name}={value}" for name, value in options.items())]


def test_the_mirror_may_be_named_in_the_environment(run_script, catalog, output, tmp_path):
    mirror = mirrored(tmp_path / "mirror", CONTENT)
    wanted = archive(content=None)
    result = run_script(*command(catalog, output, wanted), env={"NMT_MIRROR": str(mirror)})
    assert result.returncode == 0, result
    check_downloaded(output)
    assert "warning: nothing tells whether corpus/file is the right file" in result.stderr
    assert hashlib.sha256(CONTENT).hexdigest() in result.stderr


def test_without_a_network_one_sentence_says_what_was_tried(run_failing, catalog, output):
    closed_too = CLOSED.replace("file", "elsewhere")
    no_network = {"NMT_MIRROR": "", "no_proxy": "*"}
    error = run_failing(*command(catalog, output, archive(CLOSED, closed_too)), env=no_network)
    for part in (CLOSED, closed_too, "corpus/file", "--mirror"):
        assert part in error
    assert names_in(output.parent) == set()


def test_a_full_disk_is_told_from_a_broken_connection(site, tiny_disk, catalog, run_failing):
    site.files["/file"] = CONTENT
    wanted = archive(f"{site.address}/file")
    error = run_failing(*command(catalog, tiny_disk / "file", wanted), env={"no_proxy": "*"})
    assert "no disk space left" in error
    assert not (tiny_disk / "file").exists()
