"""Checksums that are recorded at the first download of an archive, and hold ever after."""

import fcntl
import logging
from pathlib import Path

from nmt.configuration import Archive
from nmt.files import read_json, sha256, write_json

LOCK_FILE = "corpora.lock.json"
REMEDY = "remove it from the file if you know that the address has a new version"


class Checksums:
    """The lock file beside corpora.yaml, with the SHA-256 of archives that this has none of."""

    def __init__(self, catalog: Path):
        self.path = catalog / LOCK_FILE

    def read(self) -> dict[str, str]:
        """Return the checksums by archive; raises UserError when the file is damaged."""
        return read_json(self.path, remedy="mend it or delete it") if self.path.exists() else {}

    def added_to(self, name: str, archive: Archive) -> Archive:
        """Return the archive with its recorded checksum, if corpora.yaml has none."""
        if archive.sha256 or archive.md5:
            return archive
        return archive.model_copy(update={"sha256": self.read().get(name)})

    def remedy(self, name: str) -> str:
        """Return a sentence for when the file at the address is another than the recorded one."""
        if not self.path.exists() or name not in self.read():
            return ""
        return f" The checksum of {name} was recorded in {self.path}: {REMEDY}."

    def record(self, name: str, archive: Archive, file: Path) -> None:
        """Record the checksum of a file that has none; where that is not possible, print it."""
        if archive.sha256 or archive.md5:
            return
        checksum = sha256(file)
        try:
            # Several archives are downloaded at the same time.
            with open(self.path.with_name(f".{LOCK_FILE}"), "w", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                write_json(self.path, dict(sorted((self.read() | {name: checksum}).items())))
        except OSError as error:
            logging.info(f"{name}: record this in {self.path} ({error.strerror}): {checksum}")
        else:
            logging.info(f"{name}: recorded its sha256 in {self.path}: {checksum}")
