"""The figure of BLEU by the source's length."""

import pandas as pd

from nmt.paper.drawing import Drawing, Picture, new_figure, nothing

# Buckets of fewer sentences are left out, because their BLEU says nothing.
FEWEST_SENTENCES = 10


def bleu_by_length(drawing: Drawing) -> Picture:
    """Draw BLEU by source length, as the mean over seeds, in a band from the lowest to the highest.

    Where one row learns lower-cased text, case counts for no row.
    """
    lowercased = drawing.is_lowercased
    data = length_points(drawing, "lowercased_bleu" if lowercased else "bleu")
    if data.empty:
        return nothing(f"No range of lengths has {FEWEST_SENTENCES} sentences.")
    figure = new_figure(2.2)
    axes = figure.subplots()
    drawing.plot(axes, data, "bucket", "bleu")
    buckets = data.drop_duplicates("bucket")
    axes.set_xticks(buckets.bucket, list(buckets.label))
    axes.set_xlabel("source length in words (sentences)")
    axes.set_ylabel(f"BLEU (sacreBLEU{', lower-cased' if lowercased else ''})")
    note = "Means over seeds, several in a band from the lowest to the highest."
    return Picture(figure, data, f"Split {drawing.table.split}", drawing.runs, note, axes)


def length_points(drawing: Drawing, key: str) -> pd.DataFrame:
    """Return BLEU by bucket of source length: one line for each row and bucket."""
    name = f"{drawing.table.split}.scores.json"
    points = []
    for run in drawing.runs:
        if not run.has(name):
            continue
        buckets = run.read(name, ["bleu_by_source_length"])["bleu_by_source_length"]
        large = [bucket for bucket in buckets if bucket["sentences"] >= FEWEST_SENTENCES]
        for number, bucket in enumerate(large):
            point = {"experiment": run.experiment, "bucket": number, "label": bucket_label(bucket)}
            points.append(point | {"bleu": bucket[key]})
    frame = pd.DataFrame(points, columns=["experiment", "bucket", "label", "bleu"])
    groups = frame.groupby(["experiment", "bucket", "label"], sort=False).bleu
    return groups.agg(bleu="mean", lowest="min", highest="max", seeds="size").reset_index()


def bucket_label(bucket: dict) -> str:
    """Return the bucket's range of lengths, and below it the number of its sentences."""
    low, high = bucket["from"], bucket["to"]
    lengths = f"{low}+" if high is None else f"{low}–{high - 1}"
    return f"{lengths}\n({bucket['sentences']})"
