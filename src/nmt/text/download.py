"""Files from a mirror folder or the network: resumed where they broke off, and never used unless
they are right.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from nmt.configuration import Archive
from nmt.errors import UserError
from nmt.files import flush_to_disk, written_whole
from nmt.progress import Progress

TIMEOUT = 60  # seconds without an answer or a byte
CHUNK = 2**20


class SourceError(Exception):
    """One source did not give the file; the message says which source and why."""


class NetworkError(SourceError):
    """The connection is to blame, which may be better another time."""


def download(name: str, archive: Archive, output: Path, mirror: Path | None = None) -> None:
    """Puts an archive at `output`, from the mirror folder if it is there, else from its addresses
    in order.

    A download that breaks off stays beside it as `<output>.part` and is resumed. A file with the
    wrong checksum is kept aside as `<output>.bad`.
    Raises UserError saying what was tried when no source gives the right file.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"the mirror {mirror} is not a folder.")
    failures, again = [], ""
    for source in [*([mirror / archive.mirror] if mirror else []), *archive.addresses]:
        try:
            if isinstance(source, Path):
                copy(source, archive, output)
            else:
                fetch(source, archive, output)
        except SourceError as failure:
            failures.append(f"{source}: {failure}")
            if isinstance(failure, NetworkError):
                again = "check the network and run the same command again, or "
            continue
        for failure in failures:
            logging.info(f"{name}: passed over {failure}")
        if not (archive.sha256 or archive.md5):
            found = digest_of(output, "sha256")
            logging.info(
                f"{name}: no checksum is known: record this one in corpora.yaml: sha256: {found}"
            )
        return
    tried = "; ".join(failures) or "it has no address"
    raise UserError(
        f"{name} could not be fetched ({tried}): {again}put the right file at {archive.mirror} in a"
        " folder and name that folder with --mirror (for snakemake: --config mirror=FOLDER) or"
        " NMT_MIRROR."
    )


def copy(path: Path, archive: Archive, output: Path) -> None:
    if not path.is_file():
        raise SourceError("not there")
    with written_whole(output) as beside:
        shutil.copyfile(path, beside)
        verify(beside, archive, output)


def fetch(address: str, archive: Archive, output: Path) -> None:
    """A connection that broke is taken up again as long as each brings something."""
    part = output.with_name(f"{output.name}.part")
    complete = False
    while not complete:
        before = size(part)
        try:
            receive(address, part, output.name)
            complete = True
        except NetworkError:
            if size(part) <= before:
                raise
    verify(part, archive, output)
    flush_to_disk(part)
    os.replace(part, output)


def receive(address: str, part: Path, description: str) -> None:
    """Downloads to `part`, going on where it ends."""
    done = size(part)
    headers = {"User-Agent": "nmt-reproduction"}  # some sites turn Python's own away
    if done:
        headers["Range"] = f"bytes={done}-"
    try:
        response = urlopen(Request(address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if (
            error.code == 416 and done
        ):  # nothing after `done`: either we have it all, or it is another file
            if error.headers.get("Content-Range") == f"bytes */{done}":
                return
            part.unlink()
            return receive(address, part, description)
        raise SourceError(f"HTTP {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise NetworkError(reason(error)) from None
    with response:
        if response.status != 206:
            done = 0  # the server sends it all
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else None
        with (
            open(part, "ab" if done else "wb") as file,
            Progress(description, total, "bytes", done) as shown,
        ):
            for chunk in chunks(response):
                file.write(chunk)
                shown.update(len(chunk))
    if total is not None and size(part) != total:
        raise NetworkError(f"the connection ended after {size(part)} of {total} bytes")


def size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def chunks(response: HTTPResponse) -> Iterator[bytes]:
    """Keeps failures of the network apart from those of our disk."""
    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, HTTPException) as error:
            raise NetworkError(reason(error)) from None
        if not chunk:
            return
        yield chunk


def reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def verify(file: Path, archive: Archive, output: Path) -> None:
    """Raises SourceError for an empty file; and, moving `file` aside, for bytes or a checksum that
    differ.
    """
    if not file.stat().st_size:
        raise SourceError("the file is empty")
    expected = {"sha256": archive.sha256, "md5": archive.md5, "bytes": archive.bytes}
    for what, value in expected.items():
        if value is None:
            continue
        found = file.stat().st_size if what == "bytes" else digest_of(file, what)
        if found != value:
            bad = output.with_name(f"{output.name}.bad")
            os.replace(file, bad)
            raise SourceError(f"{what} is {found}, must be {value}; the file is kept as {bad}")


def digest_of(path: Path, algorithm: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
