"""What a corpus is: corpora.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.strict import NUMBER, Count, Name, Seed, Strict, Text, Whole
from nmt.errors import nearest


class Archive(Strict):
    """A file to download: where from, where in a mirror folder, and what it must be.

    Without addresses it can only be in a mirror folder, as files of one's own are.
    """

    addresses: list[str] = Field(default=[])
    mirror: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    bytes: Count | None = None


class Part(Strict):
    """Parallel text inside archives. `source` and `target` are "archive" or "archive:member".

    format: lines (one sentence a line, .gz or not), sgml (one <seg> a sentence) or tsv (both sides
    in one member, `columns` says where).
    """

    source: str
    target: str
    format: Literal["lines", "sgml", "tsv"] = "lines"
    columns: tuple[Whole, Whole] = (0, 1)

    @model_validator(mode="after")
    def check(self) -> "Part":
        if self.columns[0] == self.columns[1]:
            raise ValueError(f"columns: both sides are column {self.columns[0]}")
        return self


class Generated(Strict):
    """Sentence pairs from a synchronous grammar instead of a download."""

    grammar: str
    seed: Seed
    sizes: dict[Literal["train", "dev", "test"], Count]


class Cleaning(Strict):
    """Which training pairs are kept, by their lengths in subwords; dev and test sets are never
    cleaned.
    """

    max_length: Count = 250
    max_ratio: Annotated[float, Field(ge=1), NUMBER] | None = None


class Corpus(Strict):
    """Parallel text in named splits; `train` and `dev` must be among them, all others are test
    sets.
    """

    title: Text
    source: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    target: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    license: str
    archives: dict[Name, Archive] = Field(default={})
    splits: dict[Name, Annotated[list[Part], Field(min_length=1)]] = Field(default={})
    generated: Generated | None = None
    cleaning: Cleaning = Cleaning()

    @model_validator(mode="after")
    def check(self) -> "Corpus":
        if self.source == self.target:
            raise ValueError(
                f"source and target are both {self.source}: their files would have one name"
            )
        if (self.generated is None) == (not self.splits):
            raise ValueError("give either splits or generated")
        for split in ("train", "dev"):
            if split not in self.split_names:
                raise ValueError(f"there is no split {split!r}")
        for parts in self.splits.values():
            for part in parts:
                for locator in (part.source, part.target):
                    archive = locator.partition(":")[0]
                    if archive not in self.archives:
                        raise ValueError(
                            f"unknown archive {archive!r}: {nearest(archive, self.archives)}"
                        )
        return self

    @property
    def split_names(self) -> list[str]:
        return list(self.generated.sizes if self.generated else self.splits)

    @property
    def languages(self) -> dict[str, str]:
        return {"source": self.source, "target": self.target}
