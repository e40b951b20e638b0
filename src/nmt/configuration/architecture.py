"""What all families of models have in common."""

from nmt.configuration.strict import Strict


class Architecture(Strict):
    """The hyperparameters of a family."""

    @property
    def reach(self) -> int | None:
        """The subwords of a side with positions, beside tags and EOS; None: no limit."""
        return None

    def paper_rate(self, warmup: int) -> float | None:
        """Return the largest learning rate of AIAYN equation 3; None without a d_model."""
        return None

    @property
    def table3_settings(self) -> dict[str, int | float]:
        """The settings that AIAYN's Table 3 varies, by its columns; empty without such a table."""
        return {}

    @property
    def has_alignment_matrix(self) -> bool:
        """Whether attention is one matrix of alignment, as Bahdanau et al. 2015 draw it."""
        return False

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return self.widest

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have; much, where the family does not say."""
        return 100 * self.widest**2

    @property
    def widest(self) -> int:
        """The largest width among the settings."""
        widths = [
            value
            for name, value in self.model_dump().items()
            if name.startswith("d_") and isinstance(value, int)
        ]
        return max(widths, default=1000)

    @property
    def learns_source(self) -> bool:
        """Whether the model predicts the source's tokens too."""
        return False

    @property
    def has_loss_of_batches(self) -> bool:
        """Whether a part of the loss depends on which sentences share a micro-batch."""
        return False

    @property
    def needs_joint_vocabulary(self) -> str | None:
        """The reason why both sides must have one vocabulary, if they must."""
        return None
