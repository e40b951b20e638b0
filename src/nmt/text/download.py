"""Downloads from a mirror folder or the network: resumed when broken, checked before use."""

import hashlib
import logging
import os
import shutil
import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from nmt.configuration import Archive
from nmt.errors import UserError
from nmt.files import atomic_write, flush_to_disk
from nmt.progress import Progress

TIMEOUT = 60  # seconds without an answer or a byte
CHUNK = 2**20  # bytes
FIRST_WAIT = 5  # seconds until the network is tried again, which double each time


class SourceError(Exception):
    """A source did not provide the right file; the message says why."""


class NetworkError(SourceError):
    """The connection failed; another attempt may succeed."""


def download(
    name: str, archive: Archive, output: Path, mirror: Path | None = None, attempts: int = 1
) -> None:
    """Put an archive at `output`, from the mirror folder if it has it, else from its addresses.

    The addresses are tried in order, and where the network failed all of them again, up to
    `attempts` times, after ever longer waits. A download that breaks off is kept as `<output>.part`
    and resumed; a file with the wrong checksum is kept as `<output>.bad`.

    Raises UserError saying what was tried when no source has the right file.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
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
            if not (archive.sha256 or archive.md5):
                logging.info(
                    f"{name}: no checksum is known: record this one in corpora.yaml: sha256:"
                    f" {digest(output, 'sha256')}"
                )
            return
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
        " --config mirror=FOLDER) or NMT_MIRROR."
    )


def failures_before_success(
    sources: list[Path | str], archive: Archive, output: Path
) -> list[tuple[Path | str, SourceError]]:
    """Try sources until one has the right file; return why those before it, or all, have not."""
    failures: list[tuple[Path | str, SourceError]] = []
    for source in sources:
        try:
            if isinstance(source, Path):
                copy(source, archive, output)
            else:
                fetch(source, archive, output)
            break
        except SourceError as error:
            failures.append((source, error))
    return failures


def copy(path: Path, archive: Archive, output: Path) -> None:
    """Copy a file of the mirror folder to `output`.

    Raises SourceError when it is missing or not the right file.
    """
    if not path.is_file():
        raise SourceError("not there")
    with atomic_write(output) as temporary:
        shutil.copyfile(path, temporary)
        verify(temporary, archive, output)


def fetch(address: str, archive: Archive, output: Path) -> None:
    """Download a file to `output`, resuming a broken connection as long as each brings more.

    Raises SourceError when that fails, or it is not the right file.
    """
    part = output.with_name(f"{output.name}.part")
    complete = False
    while not complete:
        size_before = size(part)
        try:
            receive(address, part, output.name)
            complete = True
        except NetworkError:
            if size(part) <= size_before:
                raise
    verify(part, archive, output)
    flush_to_disk(part)
    os.replace(part, output)


def receive(address: str, part: Path, description: str) -> None:
    """Download to `part`, starting from its present end."""
    start = size(part)
    headers = {"User-Agent": "nmt-reproduction"}  # some sites refuse Python's own
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response = urlopen(Request(address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        # Nothing after `start`: either the part is complete, or it is of another file.
        if error.code == 416 and start:
            if error.headers.get("Content-Range") == f"bytes */{start}":
                return
            part.unlink()
            return receive(address, part, description)
        passing = error.code in (408, 429) or error.code >= 500
        kind = NetworkError if passing else SourceError
        raise kind(f"HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise NetworkError(reason(error)) from None
    with response:
        if response.status != 206:  # the server does not know ranges and sends the whole file
            start = 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with (
            open(part, "ab" if start else "wb") as file,
            Progress(description, total, "bytes", start) as progress,
        ):
            for chunk in chunks(response):
                file.write(chunk)
                progress.update(len(chunk))
    if total is not None and size(part) != total:
        raise NetworkError(f"the connection ended after {size(part)} of {total} bytes")


def size(path: Path) -> int:
    """Return the size of a file in bytes, 0 when it does not exist."""
    return path.stat().st_size if path.exists() else 0


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


def verify(file: Path, archive: Archive, output: Path) -> None:
    """Raise SourceError when a file is empty or differs from what is known of the archive.

    A file of the wrong size or with the wrong checksum is moved to `<output>.bad`.
    """
    if not file.stat().st_size:
        raise SourceError("the file is empty")
    checks = {"sha256": archive.sha256, "md5": archive.md5, "bytes": archive.bytes}
    for name, expected in checks.items():
        if expected is None:
            continue
        actual = file.stat().st_size if name == "bytes" else digest(file, name)
        if actual != expected:
            bad = output.with_name(f"{output.name}.bad")
            os.replace(file, bad)
            raise SourceError(f"{name} is {actual}, must be {expected}; the file is kept as {bad}")


def digest(path: Path, algorithm: str) -> str:
    """Return the checksum of a file in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
