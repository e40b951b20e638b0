"""What a corpus is: the entries of corpora.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.strict import NUMBER, Count, Name, Seed, Strict, Text, Whole
from nmt.errors import nearest


class Archive(Strict):
    """A file to download: where from, where in a mirror folder, and what it must be."""

    addresses: list[str] = Field(default=[])
    """Tried in order. Without any it can only be in a mirror folder, as files of one's own are."""
    mirror: str
    """Its path in a mirror folder."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Its checksum, if known."""
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    """Its checksum, if only this one is known."""
    bytes: Count | None = None
    """Its size, if known."""


class Part(Strict):
    """Parallel text inside archives; a split is one part or several."""

    source: str
    """The source side: "archive" or "archive:member"."""
    target: str
    """The target side: "archive" or "archive:member"."""
    format: Literal["lines", "sgml", "tsv"] = "lines"
    """lines (one sentence a line, .gz or not), sgml (one <seg> a sentence) or tsv (both sides in
    one member)."""
    columns: tuple[Whole, Whole] = (0, 1)
    """Columns of source and target (tsv), from 0."""

    @model_validator(mode="after")
    def check(self) -> "Part":
        """Refuse one column for both sides."""
        if self.columns[0] == self.columns[1]:
            raise ValueError(f"columns: both sides are column {self.columns[0]}")
        return self


class Generated(Strict):
    """Sentence pairs from a synchronous grammar instead of a download."""

    grammar: str
    """A YAML file with words, tables and rules."""
    seed: Seed
    """The same seed gives the same text."""
    sizes: dict[Literal["train", "dev", "test"], Count]
    """Pairs of each split."""


class Cleaning(Strict):
    """Which training pairs are kept; dev and test sets are never cleaned."""

    max_length: Count = 250
    """Subwords of a side at most."""
    max_ratio: Annotated[float, Field(ge=1), NUMBER] | None = None
    """The longer side's subwords for each of the shorter one's, at most."""


class Corpus(Strict):
    """Parallel text in named splits."""

    title: Text
    """What tables and figures call it."""
    source: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    """The source language, as en."""
    target: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    """The target language, as de."""
    license: str
    """What may be done with the data; model cards repeat it."""
    archives: dict[Name, Archive] = Field(default={})
    """Files to download; a name is the file's in results/downloads."""
    splits: dict[Name, Annotated[list[Part], Field(min_length=1)]] = Field(default={})
    """`train` and `dev` must be among them, all others are test sets."""
    generated: Generated | None = None
    """Instead of archives and splits."""
    cleaning: Cleaning = Cleaning()
    """Of the training set."""

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
