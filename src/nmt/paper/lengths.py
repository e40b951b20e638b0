"""The figure of BLEU by the source's length."""

import pandas as pd

from nmt.paper.costs import ROWS_OF_A_COLUMN
from nmt.paper.drawing import COLUMN, PAGE, Drawing, Picture, new_figure, nothing

# Error bars of rows stand side by side, by this share of the distance between two buckets.
OFFSET = 0.05
# Buckets of fewer sentences are left out, because their BLEU says nothing.
FEWEST_SENTENCES = 10


def bleu_by_length(drawing: Drawing) -> Picture:
    """Draw BLEU by source length, as the mean over seeds with its standard deviation.

    Where one row learns lower-cased text, case counts for no row.
    """
    lowercased = drawing.is_lowercased
    data = length_points(drawing, "lowercased_bleu" if lowercased else "bleu")
    if data.empty:
        return nothing(f"No range of lengths has {FEWEST_SENTENCES} sentences.")
    has_bars = data.seeds.max() > 1
    figure = new_figure(COLUMN if len(drawing.rows) <= ROWS_OF_A_COLUMN else PAGE, 2.2)
    axes = figure.subplots()
    for number, (experiment, row) in enumerate(data.groupby("experiment", sort=False)):
        offset = has_bars * OFFSET * (number - (len(drawing.rows) - 1) / 2)
        sd = row.sd if row.sd.notna().any() else None
        style = drawing.style(str(experiment))
        axes.errorbar(row.bucket + offset, row.bleu, sd, **style, elinewidth=0.8)
    buckets = data.drop_duplicates("bucket")
    axes.set_xticks(buckets.bucket, list(buckets.label))
    axes.set_xlabel("source length in words (sentences)")
    axes.set_ylabel(f"BLEU (sacreBLEU{', lower-cased' if lowercased else ''})")
    shows = f"Split {drawing.table.split}"
    note = "Bars: standard deviation over seeds." if has_bars else ""
    return Picture(figure, data, shows, drawing.runs, note, axes)


def length_points(drawing: Drawing, key: str) -> pd.DataFrame:
    """Return BLEU by bucket of source length: one line for each row and bucket."""
    name = f"{drawing.table.split}.scores.json"
    scored = [run for run in drawing.runs if run.has(name)]
    points = []
    for run in scored or drawing.runs:
        buckets = run.read(name, ["bleu_by_source_length"])["bleu_by_source_length"]
        large = [bucket for bucket in buckets if bucket["sentences"] >= FEWEST_SENTENCES]
        for number, bucket in enumerate(large):
            point = {"experiment": run.experiment, "bucket": number, "label": bucket_label(bucket)}
            points.append(point | {"bleu": bucket[key]})
    frame = pd.DataFrame(points, columns=["experiment", "bucket", "label", "bleu"])
    groups = frame.groupby(["experiment", "bucket", "label"], sort=False).bleu
    return groups.agg(bleu="mean", sd="std", seeds="size").reset_index()


def bucket_label(bucket: dict) -> str:
    """Return the bucket's range of lengths, and below it the number of its sentences."""
    low, high = bucket["from"], bucket["to"]
    lengths = f"{low}+" if high is None else f"{low}–{high - 1}"
    return f"{lengths}\n({bucket['sentences']})"
