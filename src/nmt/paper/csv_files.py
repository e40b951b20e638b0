"""Strict reading of CSV files."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from nmt.errors import UserError


def read_csv(path: Path, columns: Iterable[str], remedy: str) -> pd.DataFrame:
    """Return a CSV file of at least one row.

    columns: those that it must have. remedy: what brings the file back. Raises UserError for a
    damaged file.
    """
    try:
        frame = pd.read_csv(path)
    except ValueError as error:
        raise UserError(f"{path} is no valid CSV ({error}): delete it, {remedy}.") from None
    missing = [column for column in columns if column not in frame]
    if missing or frame.empty:
        reason = f"it has no column {missing[0]}" if missing else "it has no row"
        raise UserError(f"{path} is damaged ({reason}): delete it, {remedy}.")
    return frame
