"""download.py, from a mirror folder and from a server on this machine."""

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.configuration import Archive, load_catalog
from nmt.errors import UserError
from nmt.text import download as module
from nmt.text.checksums import Checksums

CONTENT = bytes(range(256)) * 400
OTHER = b"<html>moved</html>"
CLOSED = "http://127.0.0.1:9/file"  # the discard port: nothing listens there
NO_NETWORK = {"NMT_MIRROR": "", "no_proxy": "*"}


@dataclass
class Site:
    """The files of the server, and the ranges that were requested of it."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    breaks_after: int | None = None  # bytes of each response
    knows_ranges: bool = True
    etag: str | None = None
    ranges: list[str | None] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)  # of the next requests, as HTTP's numbers
    redirections: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requested_range = self.headers["Range"]
            site.ranges.append(requested_range)
            if site.failures:
                return self.send_error(site.failures.pop(0))
            if self.path in site.redirections:
                self.send_response(302)
                self.send_header("Location", site.redirections[self.path])
                self.send_header("Content-Length", "0")
                return self.end_headers()
            content = site.files.get(self.path)
            if content is None:
                return self.send_error(404)
            start = 0
            same = self.headers["If-Range"] in (None, site.etag)
            if requested_range and site.knows_ranges and same:
                start = int(requested_range.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            if site.etag:
                self.send_header("ETag", site.etag)
            self.end_headers()
            self.wfile.write(content[start:][: site.breaks_after])
            return None

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


def download(name, archive, output, mirror=None, attempts=1):
    """Download with the lock file beside the folder of downloads."""
    output.parent.mkdir(parents=True, exist_ok=True)
    checksums = Checksums(output.parent.parent)
    module.download(name, archive, output, mirror, checksums, attempts)


def part_of(output, address):
    output.parent.mkdir(parents=True, exist_ok=True)
    return module.Part(address, output)


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


def test_a_file_is_downloaded_whole(site, output):
    site.files["/file"] = CONTENT
    download("file", archive(f"{site.address}/file", bytes=len(CONTENT)), output)
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file"}
    assert site.ranges == [None]


def test_a_broken_download_is_resumed_while_connections_bring_more(site, output):
    site.files["/file"] = CONTENT
    site.breaks_after = 50_000
    download("file", archive(f"{site.address}/file"), output)
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file"}
    assert site.ranges == [None, "bytes=50000-", "bytes=100000-"]


def test_a_connection_without_a_byte_is_an_error_and_a_later_call_resumes(site, output):
    site.files["/file"] = CONTENT
    site.breaks_after = 0
    resumed = archive(f"{site.address}/file")
    part = part_of(output, f"{site.address}/file").path
    part.write_bytes(CONTENT[:1000])
    broken = (
        f"the connection ended after 1000 of {len(CONTENT)} bytes.*: check the network and run the"
        " same command"
    )
    with pytest.raises(UserError, match=broken):
        download("file", resumed, output)
    assert names_in(output.parent) == {part.name}
    site.breaks_after = None
    download("file", resumed, output)
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file"}
    assert site.ranges == 2 * ["bytes=1000-"]


def test_another_address_does_not_complete_what_the_first_has_begun(site, output):
    site.files["/file"] = CONTENT
    part_of(output, f"{site.address}/none").path.write_bytes(OTHER)
    download("file", archive(f"{site.address}/none", f"{site.address}/file"), output)
    assert output.read_bytes() == CONTENT
    assert site.ranges == [f"bytes={len(OTHER)}-", None]
    assert names_in(output.parent) == {"file"}


def test_a_file_that_has_changed_meanwhile_is_downloaded_anew(site, output):
    """No checksum is known: nobody else would notice two halves of different files."""
    site.files["/file"], site.etag = OTHER * 1000, '"first"'
    site.breaks_after = 0
    unknown = archive(f"{site.address}/file", content=None)
    with pytest.raises(UserError, match="the connection ended after 0"):
        download("file", unknown, output)
    part_of(output, f"{site.address}/file").path.write_bytes(OTHER * 10)
    site.files["/file"], site.etag, site.breaks_after = CONTENT, '"second"', 50_000
    download("file", unknown, output)
    assert output.read_bytes() == CONTENT
    assert site.ranges[-3:] == ["bytes=180-", "bytes=50000-", "bytes=100000-"]


def test_without_checksum_and_version_nothing_is_resumed(site, output):
    site.files["/file"] = CONTENT
    part_of(output, f"{site.address}/file").path.write_bytes(OTHER)
    download("file", archive(f"{site.address}/file", content=None), output)
    assert output.read_bytes() == CONTENT
    assert site.ranges == [None]


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_part_that_is_complete_or_too_long_is_handled(site, output, knows_ranges):
    site.files["/file"] = CONTENT
    site.knows_ranges = knows_ranges
    for part in (CONTENT, CONTENT + b"more"):
        part_of(output, f"{site.address}/file").path.write_bytes(part)
        download("file", archive(f"{site.address}/file"), output)
        assert output.read_bytes() == CONTENT
        assert names_in(output.parent) == {"file"}
        output.unlink()


@pytest.mark.parametrize(
    "known", [{"sha256": "0" * 64}, {"md5": "0" * 32, "sha256": None}, {"bytes": 5}]
)
def test_a_wrong_file_is_kept_aside_and_the_next_address_is_tried(site, output, known):
    site.files |= {"/wrong": OTHER, "/file": CONTENT}
    wrong = archive(f"{site.address}/wrong", f"{site.address}/file", **known)
    with pytest.raises(UserError) as caught:
        download("file", wrong, output)
    message = str(caught.value)
    if "bytes" not in known:
        algorithm, expected = next(iter(known.items()))
        actual = hashlib.new(algorithm, OTHER).hexdigest()
        assert f"{site.address}/wrong: {algorithm} is {actual}, must be {expected}" in message
    assert f"{site.address}/file: " in message
    assert f"kept as {output}.bad" in message
    assert "network" not in message
    assert names_in(output.parent) == {"file.bad"}


def test_the_next_address_may_be_right(site, output):
    site.files |= {"/wrong": OTHER, "/file": CONTENT}
    download("file", archive(CLOSED, f"{site.address}/wrong", f"{site.address}/file"), output)
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file", "file.bad"}
    assert (output.parent / "file.bad").read_bytes() == OTHER


def test_what_may_pass_is_tried_again_after_ever_longer_waits(site, output, monkeypatch):
    waits = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
    site.files["/file"] = CONTENT
    site.failures = [503, 429, 500]
    download("file", archive(f"{site.address}/file"), output, attempts=4)
    assert output.read_bytes() == CONTENT
    assert waits == [5, 10, 20]
    site.failures = [503, 503, 503]
    with pytest.raises(UserError, match=r"HTTP 503 .*check the network"):
        download("file", archive(f"{site.address}/file"), output, attempts=2)
    assert waits == [5, 10, 20, 5]


@pytest.mark.parametrize("path", ["/none", "/wrong"])
def test_what_would_fail_again_is_tried_once(site, output, path):
    site.files["/wrong"] = OTHER
    with pytest.raises(UserError):
        download("file", archive(f"{site.address}{path}"), output, attempts=9)
    assert len(site.ranges) == 1


def test_nothing_leads_to_files_outside_the_mirror(site, output, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    for mirror in ("../secret", str(secret), "corpus/../../secret", ".", ""):
        with pytest.raises(ValueError, match="is no path inside the mirror folder"):
            archive(mirror=mirror)
    for address in (f"file://{secret}", f"FILE://{secret}", f"local_file://{secret}", str(secret)):
        with pytest.raises(ValueError, match="belongs in the mirror folder"):
            archive(address)
    site.redirections["/file"] = f"file://{secret}"
    with pytest.raises(UserError, match="HTTP 302"):
        download("file", archive(f"{site.address}/file"), output)
    assert not output.exists()


def test_the_mirror_comes_first(site, output, tmp_path):
    (tmp_path / "mirror" / "corpus").mkdir(parents=True)
    (tmp_path / "mirror" / "corpus" / "file").write_bytes(CONTENT)
    download("file", archive(f"{site.address}/file"), output, tmp_path / "mirror")
    assert output.read_bytes() == CONTENT
    assert output.readlink() == tmp_path / "mirror" / "corpus" / "file"
    assert site.ranges == []


@pytest.mark.parametrize("mirrored", [None, OTHER, b""])
def test_without_the_right_file_in_the_mirror_the_network_is_asked(
    site, output, tmp_path, mirrored
):
    site.files["/file"] = CONTENT
    (tmp_path / "mirror" / "corpus").mkdir(parents=True)
    if mirrored is not None:
        (tmp_path / "mirror" / "corpus" / "file").write_bytes(mirrored)
    download("file", archive(f"{site.address}/file"), output, tmp_path / "mirror")
    assert output.read_bytes() == CONTENT
    assert names_in(output.parent) == {"file"}
    if mirrored is not None:
        assert (tmp_path / "mirror" / "corpus" / "file").read_bytes() == mirrored


def test_a_full_disk_keeps_what_has_come(site, tiny_disk, catalog, run_failing):
    site.files["/file"] = CONTENT
    folder = catalog(entry(file=archive(f"{site.address}/file")))
    error = run_failing(*command(folder, tiny_disk / "file"), env={"no_proxy": "*"})
    assert "no disk space left" in error
    assert not (tiny_disk / "file").exists()
    (part,) = tiny_disk.glob("*.part")
    assert part.stat().st_size > 0


def entry(**archives: Archive) -> dict:
    return {
        "demo": {
            "title": "Demo",
            "source": "en",
            "target": "de",
            "license": "free",
            "archives": {
                name: value.model_dump(exclude_none=True) for name, value in archives.items()
            },
            "splits": {
                split: [{"source": "file", "target": "file", "format": "tsv"}]
                for split in ("train", "dev")
            },
        }
    }


def command(catalog: Path, output: Path, **changes: object) -> list[object]:
    options = {"catalog": catalog, "corpus": "demo", "archive": "file", "output": output, **changes}
    return ["download", *(f"--{name}={value}" for name, value in options.items())]


def test_the_mirror_may_be_named_in_the_environment(run_script, catalog, output, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "file").write_bytes(CONTENT)
    folder = catalog(entry(file=archive()))
    result = run_script(*command(folder, output), env={"NMT_MIRROR": str(tmp_path)})
    assert result.returncode == 0, result
    assert output.read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["file.gz", "file.tar.gz", "file.tgz"])
def test_an_archive_may_be_compressed(run_script, catalog, tmp_path, name):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "file").write_bytes(CONTENT)
    output = tmp_path / "downloads" / name
    result = run_script(*command(catalog(entry(file=archive())), output, mirror=tmp_path))
    assert result.returncode == 0, result
    assert output.read_bytes() == CONTENT


def test_an_unknown_checksum_is_recorded_and_holds(
    run_script, run_failing, catalog, output, tmp_path
):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "file").write_bytes(CONTENT)
    folder = catalog(entry(file=archive(content=None)))
    lock = folder / "corpora.lock.json"
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    result = run_script(*command(folder, output, mirror=tmp_path))
    assert f"file: recorded its sha256 in {lock}: {sha256}" in result.stderr
    assert json.loads(lock.read_text()) == {"file": sha256}
    assert run_script(*command(folder, output, mirror=tmp_path)).stderr == ""
    (tmp_path / "corpus" / "file").write_bytes(OTHER)
    error = run_failing(*command(folder, output, mirror=tmp_path), env=NO_NETWORK)
    assert f"must be {sha256}" in error
    assert f"The checksum of file was recorded in {lock}: remove it from the file if" in error


def test_a_lock_file_that_cannot_be_written_costs_no_download(site, output, tmp_path, caplog):
    site.files["/file"] = CONTENT
    (tmp_path / ".corpora.lock.json").mkdir()
    with caplog.at_level("INFO"):
        download("file", archive(f"{site.address}/file", content=None), output)
    assert output.read_bytes() == CONTENT
    assert f"(Is a directory): {hashlib.sha256(CONTENT).hexdigest()}" in caplog.text


def test_without_a_network_one_sentence_says_what_was_tried(run_failing, catalog, output):
    closed_too = CLOSED.replace("file", "elsewhere")
    folder = catalog(entry(file=archive(CLOSED, closed_too)))
    error = run_failing(*command(folder, output), env=NO_NETWORK)
    assert f"{CLOSED}: Connection refused; {closed_too}: Connection refused" in error
    assert "at corpus/file in a folder and name that folder with --mirror" in error
    assert names_in(output.parent) == set()


def test_a_file_without_an_address_comes_from_the_mirror(output, tmp_path):
    local = Archive(mirror="mine/file", sha256=hashlib.sha256(CONTENT).hexdigest())
    with pytest.raises(UserError, match="it has no address"):
        download("file", local, output)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_bytes(CONTENT)
    download("file", local, output, tmp_path)
    assert output.read_bytes() == CONTENT


def test_a_wrong_checksum_ends_with_both_sums(run_failing, catalog, output, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "file").write_bytes(OTHER)
    folder = catalog(entry(file=archive()))
    error = run_failing(*command(folder, output, mirror=tmp_path), env=NO_NETWORK)
    assert hashlib.sha256(OTHER).hexdigest() in error
    assert hashlib.sha256(CONTENT).hexdigest() in error
    assert f"{tmp_path}/corpus/file: sha256" in error
    assert names_in(output.parent) == set()


def test_unknown_names_are_errors(run_failing, catalog, output, tmp_path):
    folder = catalog(entry(file=archive()))
    error = run_failing(*command(folder, output, corpus="dmo"))
    assert "unknown corpus 'dmo': did you mean 'demo'?" in error
    error = run_failing(*command(folder, output, archive="fle"))
    assert "unknown archive 'fle': did you mean 'file'?" in error
    error = run_failing(*command(folder, output, mirror=tmp_path / "none"))
    assert "none is not a folder" in error
    assert not output.exists()


def test_archives_of_the_same_name_are_the_same_in_all_corpora(root):
    if not (root / "config" / "published.yaml").exists():
        pytest.skip("needs the whole catalog")
    archives: dict[str, Archive] = {}
    for corpus in load_catalog(root / "config").corpora.values():
        for name, value in corpus.archives.items():
            assert archives.setdefault(name, value) == value
