"""The numbers that papers print: the entries of published.yaml."""

from pydantic import model_validator

from nmt.configuration.strict import Name, Strict
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
