"""Downloads from a mirror folder or the network: resumed when broken, checked before use."""

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from nmt.configuration import Archive
from nmt.errors import UserError
from nmt.files import checksum, flush_to_disk
from nmt.progress import Progress
from nmt.text.checksums import Checksums

TIMEOUT = 60  # seconds without an answer or a byte
CHUNK = 2**20  # bytes
FIRST_WAIT = 5  # seconds until the network is tried again, which double each time


class SourceError(Exception):
    """A source did not provide the right file; the message says why."""


class NetworkError(SourceError):
    """The connection failed; another attempt may succeed."""


def download(
    name: str,
    archive: Archive,
    output: Path,
    mirror: Path | None,
    checksums: Checksums,
    attempts: int = 1,
) -> None:
    """Put an archive at `output`: a link into the mirror folder if it has it, else a download.

    The addresses are tried in order, and where the network failed all of them again, up to
    `attempts` times, after ever longer waits. What an address has sent before the connection broke
    is kept, and completed by the same address alone (see Part); a file with the wrong checksum is
    kept as `<output>.bad`. A checksum that corpora.yaml does not know is recorded at the first
    download and holds ever after.

    Raises UserError saying what was tried when no source has the right file.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    archive = checksums.added_to(name, archive)
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"the mirror {mirror} is not a folder.")
    sources: list[Path | str] = list(archive.addresses)
    if mirror:
        sources.insert(0, mirror / archive.mirror)
    for attempt in range(attempts):
        failures = failures_before_success(sources, archive, output)
        tried = "; ".join(f"{source}: {error}" for source, error in failures)
        if len(failures) < len(sources):
            if failures:
                logging.info(f"{name}: skipped {tried}")
            return checksums.record(name, archive, output)
        network_failed = any(isinstance(error, NetworkError) for _, error in failures)
        if not network_failed or attempt == attempts - 1:
            break
        wait = FIRST_WAIT * 2**attempt
        logging.info(f"{name}: {tried}: the next attempt is in {wait} s.")
        time.sleep(wait)
    retry = "check the network and run the same command again, or " if network_failed else ""
    raise UserError(
        f"{name} could not be fetched ({tried or 'it has no address'}): {retry}put the right file"
        f" at {archive.mirror} in a folder and name that folder with --mirror (for snakemake:"
        f" --config mirror=FOLDER) or NMT_MIRROR.{checksums.remedy(name)}"
    )


def failures_before_success(
    sources: list[Path | str], archive: Archive, output: Path
) -> list[tuple[Path | str, SourceError]]:
    """Try sources until one has the right file; return why those before it, or all, have not."""
    failures: list[tuple[Path | str, SourceError]] = []
    for source in sources:
        try:
            if isinstance(source, Path):
                link(source, archive, output)
            else:
                fetch(source, archive, output)
            break
        except SourceError as error:
            failures.append((source, error))
    return failures


def link(path: Path, archive: Archive, output: Path) -> None:
    """Make `output` a link to a file of the mirror folder.

    Raises SourceError when it is missing or not the right file.
    """
    if not path.is_file():
        raise SourceError("not there")
    if problem := difference(path, archive):
        raise SourceError(problem)
    temporary = output.with_name(f".{output.name}.link")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(path.resolve())
    os.replace(temporary, output)


def fetch(address: str, archive: Archive, output: Path) -> None:
    """Download a file to `output`, resuming a broken connection as long as each brings more.

    Raises SourceError when that fails, or it is not the right file.
    """
    part = Part(address, output)
    complete = False
    while not complete:
        size_before = part.size
        try:
            receive(part, archive, output.name)
            complete = True
        except NetworkError:
            if part.size <= size_before:
                raise
    problem = difference(part.path, archive)
    if problem:
        bad = output.with_name(f"{output.name}.bad")
        os.replace(part.path, bad)
        part.forget()
        raise SourceError(f"{problem}; the file is kept as {bad}")
    flush_to_disk(part.path)
    os.replace(part.path, output)
    for leftover in output.parent.glob(f"{output.name}.*.part*"):
        leftover.unlink()


class Part:
    """What has come of a file from one address, and which version of the file it is."""

    def __init__(self, address: str, output: Path):
        self.address = address
        digits = hashlib.sha256(address.encode()).hexdigest()[:8]
        self.path = output.with_name(f"{output.name}.{digits}.part")
        self.note = output.with_name(f"{output.name}.{digits}.part.version")

    @property
    def size(self) -> int:
        """Bytes that have come."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> str:
        """The server's name for the version of the file (ETag or date), "" if it has none."""
        return self.note.read_text(encoding="utf-8") if self.note.exists() else ""

    def begin(self, response: HTTPResponse) -> None:
        """Keep the name of the version that a response begins with, unless it is a weak one."""
        etag = response.headers.get("ETag", "")
        weak = etag.startswith("W/") or not etag
        version = response.headers.get("Last-Modified", "") if weak else etag
        self.note.write_text(version, encoding="utf-8")

    def forget(self) -> None:
        """Remove what has come."""
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def receive(part: Part, archive: Archive, description: str) -> None:
    """Download the rest of a part, or all of it where the file at its address is another by now."""
    if not (part.version or archive.sha256 or archive.md5):
        part.forget()  # nobody would notice two halves of different files
    start = part.size
    headers = {"User-Agent": "nmt-reproduction"}  # some sites refuse Python's own
    if start:
        headers["Range"] = f"bytes={start}-"
        if part.version:
            headers["If-Range"] = part.version
    try:
        response = urlopen(Request(part.address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        # Nothing after `start`: either the part is complete, or it is of another file.
        if error.code == 416 and start:
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return
            part.forget()
            return receive(part, archive, description)
        passing = error.code in (408, 425, 429) or error.code >= 500
        kind = NetworkError if passing else SourceError
        raise kind(f"HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise NetworkError(reason(error)) from None
    with response:
        if response.status != 206:  # no ranges, or another version: the whole file
            start = 0
            part.begin(response)
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with (
            open(part.path, "ab" if start else "wb") as file,
            Progress(description, total, "bytes", start) as progress,
        ):
            for chunk in chunks(response):
                file.write(chunk)
                progress.update(len(chunk))
    if total is not None and part.size != total:
        raise NetworkError(f"the connection ended after {part.size} of {total} bytes")


def chunks(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the body of a response.

    Raises NetworkError when the connection fails, so that errors of the local disk, where the
    caller writes, stay distinct.
    """
    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, HTTPException) as error:
            raise NetworkError(reason(error)) from None
        if not chunk:
            return
        yield chunk


def reason(error: Exception) -> str:
    """Return the shortest description of a network error."""
    cause = error.reason if isinstance(error, URLError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def difference(file: Path, archive: Archive) -> str | None:
    """Return in what a file differs from what is known of the archive, or None."""
    if not file.stat().st_size:
        return "the file is empty"
    checks = {"sha256": archive.sha256, "md5": archive.md5, "bytes": archive.bytes}
    for name, expected in checks.items():
        if expected is None:
            continue
        actual = file.stat().st_size if name == "bytes" else checksum(file, name)
        if actual != expected:
            return f"{name} is {actual}, must be {expected}"
    return None
