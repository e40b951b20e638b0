"""What a corpus is: the entries of corpora.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.strict import NUMBER, Count, Name, Seed, Strict, Text, Whole
from nmt.errors import nearest


class Archive(Strict):
    """A file to download: its addresses, its path in a mirror folder, and its checksums."""

    addresses: list[str] = Field(default=[])
    """Download addresses, tried in order. Without any, the file must be in a mirror folder, as
    files of your own are."""
    mirror: str
    """Path in a mirror folder."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """SHA-256 checksum, if known."""
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    """MD5 checksum, if only this one is known."""
    bytes: Count | None = None
    """Size in bytes, if known."""


class Part(Strict):
    """Parallel text inside archives; a split is one part or several."""

    source: str
    """Location of the source side: "archive" or "archive:member"."""
    target: str
    """Location of the target side: "archive" or "archive:member"."""
    format: Literal["lines", "sgml", "tsv"] = "lines"
    """File format: lines (one sentence per line, .gz or not), sgml (one <seg> per sentence) or tsv
    (both sides in one member)."""
    columns: tuple[Whole, Whole] = (0, 1)
    """Columns of source and target in a tsv file, counted from 0."""

    @model_validator(mode="after")
    def check(self) -> "Part":
        """Refuse one column for both sides."""
        if self.columns[0] == self.columns[1]:
            raise ValueError(f"columns: both sides are column {self.columns[0]}")
        return self


class Generated(Strict):
    """Sentence pairs from a synchronous grammar instead of a download."""

    grammar: str
    """YAML file with the words, tables and rules of the grammar."""
    seed: Seed
    """Random seed of the grammar: the same seed gives the same text."""
    sizes: dict[Literal["train", "dev", "test"], Count]
    """Number of sentence pairs of each split."""


class Cleaning(Strict):
    """Filters for training pairs; dev and test sets are never filtered."""

    max_length: Count = 250
    """Largest number of subwords per side."""
    max_ratio: Annotated[float, Field(ge=1), NUMBER] | None = None
    """Largest length ratio: subwords of the longer side divided by those of the shorter one."""


class Corpus(Strict):
    """Parallel text in named splits."""

    title: Text
    """Title in tables and figures."""
    source: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    """Source language, such as en."""
    target: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    """Target language, such as de."""
    license: str
    """License of the data, which model cards repeat."""
    archives: dict[Name, Archive] = Field(default={})
    """Files to download, by their names in results/downloads."""
    splits: dict[Name, Annotated[list[Part], Field(min_length=1)]] = Field(default={})
    """Splits by name: `train` and `dev` are required, all others are test sets."""
    generated: Generated | None = None
    """Grammar that generates the text, instead of archives and splits."""
    cleaning: Cleaning = Cleaning()
    """Filters for training pairs."""

    @model_validator(mode="after")
    def check(self) -> "Corpus":
        """Refuse missing splits and unknown archives."""
        if self.source == self.target:
            raise ValueError(
                f"source and target are both {self.source}: their files would have one name"
            )
        if (self.generated is None) == (not self.splits):
            raise ValueError("give either splits or generated")
        for split in ("train", "dev"):
            if split not in self.split_names:
                raise ValueError(f"there is no split {split!r}")
        for locator in self.locators(*self.splits):
            archive = locator.partition(":")[0]
            if archive not in self.archives:
                raise ValueError(f"unknown archive {archive!r}: {nearest(archive, self.archives)}")
        return self

    def locators(self, *splits: str) -> list[str]:
        """Return where both sides of these splits come from: "archive" or "archive:member"."""
        parts = [part for split in splits for part in self.splits[split]]
        return [locator for part in parts for locator in (part.source, part.target)]

    @property
    def split_names(self) -> list[str]:
        """All splits, downloaded or generated."""
        return list(self.generated.sizes if self.generated else self.splits)

    @property
    def languages(self) -> dict[str, str]:
        """The language of each side."""
        return {"source": self.source, "target": self.target}

    def cleaning_for(self, max_length: int | None) -> Cleaning:
        """Return the cleaning with a vocabulary's own limit on lengths, if it has one."""
        if max_length is None:
            return self.cleaning
        return self.cleaning.model_copy(update={"max_length": max_length})
