"""A list of layers of one type, for type checkers: torch's ModuleList has modules of any type."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)

if TYPE_CHECKING:

    class Layers(nn.Module, Generic[Layer]):
        """An nn.ModuleList of `Layer`."""

        def __init__(self, modules: Iterable[Layer]): ...
        def __iter__(self) -> Iterator[Layer]: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: int) -> Layer: ...

else:
    Layers = nn.ModuleList
