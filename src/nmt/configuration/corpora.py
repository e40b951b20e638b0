"""What a corpus is: the entries of corpora.yaml."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.strict import Count, Language, Length, Name, Seed, Strict, Text, Whole
from nmt.errors import nearest

# The ends of the names of archives, which have members
ARCHIVE = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))$", re.IGNORECASE)


class Archive(Strict):
    """A file to download: its addresses, its path in a mirror folder, and its checksums."""

    addresses: list[Annotated[str, Field(pattern="^(https?|ftp)://")]] = Field(default=[])
    """Download addresses, tried in order. Without any, a checksum is required, and the file must be
    in a mirror folder."""
    mirror: str
    """Path in a mirror folder."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """SHA-256 checksum, if known."""
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    """MD5 checksum, if only this one is known."""

    @model_validator(mode="after")
    def check(self) -> "Archive":
        """Refuse what cannot be told from another file, and files outside the mirror folder."""
        path = PurePosixPath(self.mirror)
        if not path.name or path.is_absolute() or ".." in path.parts:
            raise ValueError(f"mirror: {self.mirror!r} is no path inside the mirror folder")
        if not (self.addresses or self.sha256 or self.md5):
            raise ValueError(
                "an archive has addresses or a checksum: a file of your own needs no archive, give"
                " its path as source or target of a split"
            )
        return self


class Part(Strict):
    """Parallel text in archives or files; a split is one part or several."""

    source: str
    """Location of the source side: "archive", "archive:member", or the path of a file of your own,
    with a slash, such as data/train.en: absolute or in the repository."""
    target: str
    """Location of the target side, likewise."""
    format: Literal["lines", "sgml", "tsv", "talks"] = "lines"
    """File format: lines (one sentence per line, also .gz, .bz2 or .xz), sgml (one <seg> per
    sentence), tsv (both sides in one member) or talks (lines of TED talks; of those in tags, only
    titles and descriptions are sentences)."""
    columns: tuple[Whole, Whole] = (0, 1)
    """Columns of source and target in a tsv file, counted from 0."""

    @model_validator(mode="after")
    def check(self) -> "Part":
        """Refuse one text for both sides."""
        sides = (self.source, self.target) if self.format != "tsv" else self.columns
        if sides[0] == sides[1]:
            raise ValueError(f"source and target are both {sides[0]}: give each side its own")
        return self


def located(locator: str) -> tuple[str, str]:
    """Return the archive or path, with a slash, of a part's location, and the member or ""."""
    name, _, member = locator.partition(":")
    if "/" in name and not ARCHIVE.search(name):
        return locator, ""  # a colon in a path
    return name, member


class Generated(Strict):
    """Sentence pairs from a synchronous grammar instead of a download."""

    grammar: str
    """YAML file with the words, tables and rules of the grammar."""
    seed: Seed
    """Random seed of the grammar: the same seed gives the same text."""
    sizes: dict[Literal["train", "dev", "test"], Count]
    """Number of sentence pairs of each split."""


class Cleaning(Strict):
    """Filters for training pairs; dev and test sets are never filtered.

    A pair is dropped, and counted, by the first filter that holds, in the order below. Then pairs
    with an empty side are dropped, and at last those that are too long or of too different lengths.
    """

    words: tuple[Count, Annotated[float, Field(ge=1, strict=True)]] | None = None
    """Largest number of words per side, and largest ratio of the two: [175, 1.5]. Words are Moses
    tokens, counted before there are subwords; a side without any is dropped too."""
    overlap: bool = False
    """Whether pairs are dropped if a side is, whatever its case, a sentence of the dev set or of
    the test set of a default table (not on request)."""
    duplicates: bool = False
    """Whether all but the first of identical pairs are dropped."""
    max_length: Length = 250
    """Largest number of subwords per side."""
    max_ratio: Annotated[float, Field(ge=1, strict=True)] | None = None
    """Largest length ratio: subwords of the longer side divided by those of the shorter one."""

    @property
    def filters(self) -> list[str]:
        """The filters of raw text that are on, in their order."""
        return [name for name in FILTERS if getattr(self, name)]


FILTERS = ("words", "overlap", "duplicates")


class Corpus(Strict):
    """Parallel text in named splits."""

    title: Text
    """Title in tables and figures."""
    source: Language
    """Source language, such as en."""
    target: Language
    """Target language, such as de."""
    license: str
    """License of the data, which model cards repeat."""
    archives: dict[Name, Archive] = Field(default={})
    """Files to download, by their names in results/downloads."""
    splits: dict[Name, Annotated[list[Part], Field(min_length=1)]] = Field(default={})
    """Splits by name: `train` and `dev` are required, all others are test sets."""
    held_out: dict[Name, Count] = Field(default={})
    """Splits that are taken out of `train`, with their number of pairs. The pairs are chosen at
    random, by a checksum of each: the choice hardly changes when text is added. No pair of them
    stays in `train`, not even as a duplicate."""
    dev_every: Count | None = None
    """N: every N-th pair that the filters leave goes to `dev`, not to `train`."""
    generated: Generated | None = None
    """Grammar that generates the text, instead of archives and splits."""
    cleaning: Cleaning = Cleaning()
    """Filters for training pairs."""

    @model_validator(mode="after")
    def check(self) -> "Corpus":
        """Refuse missing splits and unknown archives."""
        if self.source == self.target:
            raise ValueError(f"source and target are both {self.source}")
        if (self.generated is None) == (not self.splits):
            raise ValueError("give either splits or generated")
        if self.generated and self.cleaning.filters:
            raise ValueError(f"cleaning: generated text has no {self.cleaning.filters[0]}")
        if self.held_out and "train" not in self.splits:
            raise ValueError("held_out: there is no split 'train' to take pairs from")
        if self.dev_every and ("dev" in self.splits or self.held_out or self.cleaning.overlap):
            raise ValueError("dev_every: there can be no other dev, no held_out and no overlap")
        for split in ("train", "dev"):
            if split not in self.split_names:
                raise ValueError(f"there is no split {split!r}")
        for split in self.splits:
            if split in self.held_out:
                raise ValueError(f"{split} is given in splits and in held_out")
            for name in self.sources_of(split)[0]:
                if name not in self.archives:
                    raise ValueError(
                        f"unknown archive {name!r}: {nearest(name, self.archives)} (the path of a"
                        f" file of your own has a slash, as ./{name})"
                    )
        return self

    def parts(self, split: str) -> list[Part]:
        """Return what a split is read from: a split that is held out, from the training text."""
        return self.splits[split if split in self.splits else "train"]

    def filters_of(self, split: str) -> list[str]:
        """Return the filters of a split's raw text, in their order."""
        if self.dev_every and split in ("train", "dev"):
            return [*self.cleaning.filters, "dev_every"]
        return self.cleaning.filters if split == "train" else []

    def sources_of(self, split: str) -> tuple[list[str], list[str]]:
        """Return the archives and the paths of own files that a split is read from, each once."""
        locators = [locator for part in self.parts(split) for locator in (part.source, part.target)]
        names = dict.fromkeys(located(locator)[0] for locator in locators)
        return [name for name in names if "/" not in name], [name for name in names if "/" in name]

    @property
    def split_names(self) -> list[str]:
        """All splits: extracted, held out or generated."""
        taken_out = self.held_out | ({"dev": 1} if self.dev_every else {})
        return list(self.generated.sizes if self.generated else self.splits | taken_out)

    @property
    def languages(self) -> dict[str, str]:
        """The language of each side."""
        return {"source": self.source, "target": self.target}
