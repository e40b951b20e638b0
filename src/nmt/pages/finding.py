"""What a page opens with: who won, by how much, and one translated sentence."""

import pandas as pd

from nmt.configuration import Table
from nmt.evaluation.metrics import METRICS
from nmt.pages.translations import Texts

WORDS = range(6, 16)  # that an example's source has, where there is such a sentence


def ranked(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Return our rows that have the table's leading metric, the best first."""
    metric = table.leading_metric
    ours = rows[(rows.kind == "run") & rows[metric].notna()]
    return ours.sort_values(metric, ascending=table.leads_by_less, kind="stable")


def finding(table: Table, rows: pd.DataFrame) -> str:
    """Return which of the ranked rows is best, by how much, and if that may be chance."""
    metric = table.leading_metric
    best, *others = rows.round({metric: 2}).to_dict("records")  # as the table has them
    text = f"{best[metric]:.2f} {METRICS[metric].label} on the split {table.split}"
    if pd.notna(best[f"{metric}_published"]) and not table.counterparts:
        text += f" (published: {best[f'{metric}_published']:g})"
    if not others:
        return f"{best['title']} has {text}."
    second = others[0]
    more = "less" if table.leads_by_less else "more"
    difference = f"{abs(best[metric] - second[metric]):.2f} {more} than {second['title']}"
    text = f"{best['title']} is the best of {len(rows)} systems: {text}, {difference}"
    if f"{metric}_p_bootstrap" not in second:
        return f"{text}; whether that is chance was not tested."
    may_be_chance = second[f"{metric}_may_be_best"]
    return f"{text}, {'which may be chance' if may_be_chance else 'a significant difference'}."


def example(texts: Texts, rows: list[str]) -> dict[str, str]:
    """Return the first sentence of WORDS that most rows translate otherwise than the reference."""
    suitable = [n for n, source in enumerate(texts.sources) if len(source.split()) in WORDS]
    number = max(
        suitable or range(len(texts.sources)),
        key=lambda n: sum(texts.translations[row][n] != texts.references[n] for row in rows),
    )
    translated = {row: texts.translations[row][number] for row in rows}
    return {"Source": texts.sources[number], "Reference": texts.references[number]} | translated
