"""Downloads from a mirror folder or the network: resumed when broken, checked before use."""

import errno
import logging
import os
import shutil
from functools import partial
from http.client import HTTPException
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from nmt.configuration import Archive
from nmt.errors import UserError
from nmt.files import checksum, no_link
from nmt.progress import Progress

TIMEOUT = 60  # seconds without an answer or a byte
CHUNK = 2**20  # bytes
SPARE = 2**27  # bytes of the disk that are left to others, whatever a server sends
NETWORK_ERRORS = (URLError, HTTPException, ConnectionError, TimeoutError, SSLError)


class SourceError(Exception):
    """A source did not provide the right file; the message says why."""


def download(name: str, archive: Archive, output: Path, mirror: Path | None) -> None:
    """Put an archive at `output`: a link into the mirror folder if it has it, else a download.

    The addresses are tried in order. What came before a connection broke is kept as
    `<output>.part` and completed by the next call. Raises UserError saying what was tried when no
    source has the right file.
    """
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"the mirror {mirror} is not a folder.")
    output.parent.mkdir(parents=True, exist_ok=True)
    sources = [partial(link, mirror / archive.mirror)] if mirror else []
    sources += [partial(fetch, address) for address in archive.addresses]
    failures = []
    for source in sources:
        try:
            return source(archive, output)
        except SourceError as error:
            failures.append(f"{source.args[0]}: {error}")
    raise UserError(
        f"{name} could not be fetched ({'; '.join(failures) or 'it has no address'}): check the"
        f" network and run the same command again, or put the right file at {archive.mirror} in a"
        " folder and name that folder with --mirror (for snakemake: --config mirror=FOLDER) or"
        " NMT_MIRROR."
    )


def link(path: Path, archive: Archive, output: Path) -> None:
    """Make `output` a link to a file of the mirror folder, if it is the right one."""
    if not path.is_file():
        raise SourceError("not there")
    check(path, archive)
    output.unlink(missing_ok=True)
    output.symlink_to(path.resolve())


def fetch(address: str, archive: Archive, output: Path) -> None:
    """Download a file to `output`, resuming a broken connection as long as each brings more."""
    part = output.with_name(f"{output.name}.part")
    may_be_another = part.exists()  # begun by an earlier call
    while True:
        before = size(part)
        try:
            receive(address, archive, part)
            check(part, archive)
            return os.replace(part, output)
        except SourceError:
            part.unlink()
            if not may_be_another:
                raise
            may_be_another = False
        except HTTPError as error:
            raise SourceError(f"HTTP {error.code} {error.reason}") from None
        except NETWORK_ERRORS as error:
            if size(part) <= before:
                raise SourceError(str(getattr(error, "reason", error))) from None


def size(path: Path) -> int:
    """Return the size of a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def receive(address: str, archive: Archive, part: Path) -> None:
    """Download to `part` what it lacks, or the whole file where no checksum would tell halves."""
    headers = {"User-Agent": "nmt-reproduction"}  # some sites refuse Python's own
    start = size(part) if archive.sha256 or archive.md5 else 0
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response = urlopen(Request(address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and start:
            return  # there is no more of it: the checksum tells whether this is all
        raise
    with response:
        if response.status != 206:  # the whole file
            start = 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        room = shutil.disk_usage(part.parent).free - SPARE
        with (
            open(part, "ab" if start else "wb", opener=no_link) as file,
            Progress(part.stem, total, "bytes", start) as progress,
        ):
            while chunk := response.read(CHUNK):
                room -= len(chunk)
                if room < 0:
                    part.unlink()
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))
                file.write(chunk)
                progress.update(len(chunk))
    if total is not None and size(part) != total:
        raise ConnectionError(f"the connection ended after {size(part)} of {total} bytes")


def check(file: Path, archive: Archive) -> None:
    """Raise SourceError when a file is not the archive; warn of one that no checksum tells."""
    algorithm = "md5" if archive.md5 and not archive.sha256 else "sha256"
    expected = archive.sha256 or archive.md5
    found = checksum(file, algorithm)
    if not expected:
        logging.warning(
            f"nothing tells whether {archive.mirror} is the right file: compare its sha256"
            f" elsewhere, and write it into corpora.yaml: {found}"
        )
    elif found != expected:
        raise SourceError(f"{algorithm} is {found}, must be {expected}")
