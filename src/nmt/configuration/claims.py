"""What a claim is: an entry of claims.yaml."""

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from nmt.configuration.strict import Name, NotNegative, RowName, Strict, Text, read_yaml, validated
from nmt.errors import nearest
from nmt.evaluation.metrics import METRICS


class Claim(Strict):
    """A sentence of a paper or a lecture, and the two rows whose difference tells if it holds."""

    claim: Text
    """What is claimed."""
    source: Text
    """Paper or lecture, and the place in it."""
    reproduction: Name
    """Reproduction that trains the rows, a file of this folder."""
    table: Name
    """Its table that has both rows, and whose split they are compared on."""
    rows: tuple[RowName, RowName]
    """Two rows: the first one's number minus the second one's is measured."""
    metric: str
    """Metric of the table that is compared."""
    predicted: Literal["lower", "higher", "equal"]
    """What the claim says of the first row's number."""
    within: NotNegative = 0
    """Largest difference that still counts as equal."""

    @model_validator(mode="after")
    def check(self) -> "Claim":
        """Refuse unknown metrics, and equality without a measure."""
        if self.metric not in METRICS:
            raise ValueError(f"unknown metric {self.metric!r}: {nearest(self.metric, METRICS)}")
        if (self.predicted == "equal") != bool(self.within):
            raise ValueError("`within` belongs to predicted: equal, and equal needs it")
        return self


def read_claims(file: Path) -> list[Claim]:
    """Return the claims of a file. Raises UserError naming the entry and the key at fault."""
    return [
        validated(Claim, values, f"{file}, entry {number}")
        for number, values in enumerate(read_yaml(file, list), start=1)
    ]
