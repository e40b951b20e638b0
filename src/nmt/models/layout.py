"""Who attends to whom: masks and distances, of a sentence a row and of several."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmt.data.sequences import Sequences

# B rows, T queries, S keys, H heads

# Added to the scores of what must not be seen: softmax makes exactly 0 of it in all precisions. Not
# minus infinity, of which it makes NaN where a row of padding sees nothing at all.
HIDDEN = -1e4


@dataclass(frozen=True)
class Layout:
    """Where queries and keys are in their sentences: the same for all layers of a stack.

    mask: added to the scores, broadcast to (B, H, T, S); None where every query sees every key.
    queries: their positions, (T,) or (B, T). keys: theirs, (S,) or (B, S). columns: (T,), where a
    cache gets what belongs to the queries.
    """

    mask: Tensor | None
    queries: Tensor
    keys: Tensor
    columns: Tensor | None = None

    @property
    def distances(self) -> Tensor:
        """How far each key is behind (negative) or ahead of its query: (T, S) or (B, 1, T, S)."""
        distances = self.keys[..., None, :] - self.queries[..., :, None]
        return distances if distances.dim() == 2 else distances[:, None]

    def __getitem__(self, rows: Tensor) -> "Layout":
        """Return that of some rows, whose mask each row has for itself; positions stay."""
        return self if self.mask is None else replace(self, mask=self.mask[rows])


def layout(
    queries: Sequences,
    keys: Sequences,
    dtype: torch.dtype,
    causal: bool = False,
    prefix: int = 0,
    reach: int | None = None,
) -> Layout:
    """Return the layout in which queries see the keys of their own sentences.

    dtype: of the mask. causal: whether a query sees no key behind its own position, but for those
    in the first `prefix` columns. reach: the largest distance at which a query sees a key.
    """
    conditions = []
    if keys.segments is not None:
        # (B, 1, 1 or T): a row of one sentence has the number 0
        own = 0 if queries.segments is None else queries.segments[:, None, :, None]
        conditions.append(keys.segments[:, None, None, :] == own)
    where = Layout(None, queries.positions, keys.positions)
    if causal:
        not_behind = where.distances <= 0
        not_behind[..., :prefix] = True
        conditions.append(not_behind)
    if reach is not None:
        conditions.append(where.distances.abs() <= reach)
    if not conditions:
        return where
    visible = torch.stack(torch.broadcast_tensors(*conditions)).all(0)
    return replace(where, mask=mask_of(visible, dtype))


def mask_of(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what is added to scores so that only the visible ones count, of the same shape."""
    zeros = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return zeros.masked_fill_(~visible, HIDDEN)
