"""What all families of models have in common."""

from nmt.configuration.strict import Strict


class Architecture(Strict):
    """The hyperparameters of a family."""

    @property
    def reach(self) -> int | None:
        """The subwords of a side with positions, beside tags and EOS; None: no limit."""
        return None

    @property
    def has_paper_rate(self) -> bool:
        """Whether the learning rate of AIAYN equation 3 is defined: it needs a d_model."""
        return False

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
