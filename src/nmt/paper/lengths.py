"""The figures of sentence length: BLEU by the source's, and the subwords of training sentences."""

import numpy as np
import pandas as pd

from nmt.data.tokens import sentence_lengths
from nmt.paper.costs import ROWS_OF_A_COLUMN
from nmt.paper.drawing import (
    COLORS,
    COLUMN,
    DASHES,
    PAGE,
    Drawing,
    Picture,
    new_figure,
    nothing,
)
from nmt.paper.results import corpus_folder

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


def subword_lengths(drawing: Drawing) -> Picture:
    """Draw how many subwords the training sentences have in each vocabulary of the table."""
    figure = new_figure(COLUMN, 1.9)
    grid = figure.subplots(1, 2, sharex=True, sharey=True)
    data = length_shares(drawing)
    for number, (vocabulary, rows) in enumerate(data.groupby("vocabulary", sort=False)):
        style = {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[number % len(DASHES)]}
        for axes, side in zip(grid, ("source", "target"), strict=True):
            shares = rows[rows.side == side]
            axes.plot(shares.subwords, 100 * shares.share, label=vocabulary, **style)
    for axes, side in zip(grid, ("source", "target"), strict=True):
        axes.set(title=side, xlabel="subwords of a sentence", xlim=(0, None), ylim=(0, None))
    grid[0].set_ylabel("sentences (%)")
    note = "The last point of a line is the longest sentence; ends of sentences are not counted."
    return Picture(figure, data, "Training set", drawing.single_runs, note, grid[0])


def length_shares(drawing: Drawing) -> pd.DataFrame:
    """Return the share of sentences by number of subwords, for each vocabulary and side."""
    names = dict.fromkeys(run.experiment for run in drawing.single_runs)
    vocabularies = [drawing.catalog.experiment(name).vocabulary for name in names]
    folder = corpus_folder(drawing.files, drawing.reproduction.corpus)
    parts = []
    for vocabulary in dict.fromkeys(vocabularies):
        for side in ("source", "target"):
            tokens = folder / vocabulary / "tokens" / "train"
            counts = np.bincount(sentence_lengths(tokens, side))
            part = {"subwords": np.arange(len(counts)), "share": counts / counts.sum()}
            parts.append(pd.DataFrame({"vocabulary": vocabulary, "side": side, **part}))
    return pd.concat(parts, ignore_index=True)
