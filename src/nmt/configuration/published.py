"""What papers print: numbers, the entries of published.yaml, and claims, those of claims.yaml."""

from typing import Literal

from pydantic import model_validator

from nmt.configuration.strict import Name, NotNegative, RowName, Strict, Text
from nmt.errors import nearest
from nmt.evaluation.metrics import COSTS, METRICS


class Published(Strict):
    """A number as printed in a paper, for an experiment here or a system that is only cited."""

    corpus: Name
    """Corpus, an entry of corpora.yaml."""
    split: Name | None = None
    """Split that a metric was measured on; costs belong to none."""
    metric: str
    """Metric of tables or a cost (flops, parameters, parameters_without_embeddings,
    training_tokens, gpu_hours, flops_per_second)."""
    value: float
    """Value as printed."""
    source: str
    """Source of the number: paper, table and row."""
    experiment: Name | None = None
    """Experiment or ensemble that the number is compared with."""
    system: str | None = None
    """Name of a system that is only cited."""

    @model_validator(mode="after")
    def check(self) -> "Published":
        """Refuse unknown metrics, and numbers that belong to nothing."""
        if (self.experiment is None) == (self.system is None):
            raise ValueError("give either experiment or system")
        known = METRICS | COSTS
        if self.metric not in known:
            raise ValueError(f"unknown metric {self.metric!r}: {nearest(self.metric, known)}")
        if (self.split is None) != (self.metric in COSTS):
            belongs = "belongs to no" if self.metric in COSTS else "needs a"
            raise ValueError(f"{self.metric} {belongs} split")
        return self


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
