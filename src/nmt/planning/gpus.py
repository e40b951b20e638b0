"""Rates of GPUs that are not here, from what others have published."""

from dataclasses import dataclass

# NVIDIA's Transformer big in mixed precision (DeepLearningExamples, PyTorch/Translation):
# 82,059 target tokens/s on one A100. Its model is AIAYN's big one, whose weights in products,
# 210 million, take 6 FLOPs for each token, attention aside.
PUBLISHED_RATE = 82_059 * 6 * 210e6  # FLOP/s


@dataclass(frozen=True)
class GPU:
    """A GPU and its dense bfloat16 peak in FLOP/s, as NVIDIA's data sheet prints it."""

    title: str
    peak: float

    @property
    def rate(self) -> float:
        """The FLOP/s that training is predicted to reach: the A100's fraction of its peak."""
        return self.peak * PUBLISHED_RATE / GPUS["a100"].peak


GPUS = {
    "a100": GPU("NVIDIA A100", 312e12),
    "h100": GPU("NVIDIA H100 SXM", 989e12),
    "h200": GPU("NVIDIA H200 SXM", 989e12),
}
