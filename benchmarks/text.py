"""Measure the steps from text to tokens on synthetic text like WMT's: time and memory of each.

Snakemake runs the steps, as for any corpus of one's own files, and measures each. Lengths are near
those of newstest, word frequencies follow Zipf's law, and words mean nothing.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from nmt import command
from nmt.errors import UserError
from nmt.files import write_text
from nmt.provenance import REPOSITORY, commit

MEAN_WORDS, SIGMA = 22, 0.6  # of newstest2014: near a log-normal distribution
TYPES = 1_000_000  # different words
PAIRS_AT_A_TIME = 50_000
SYLLABLES = [consonant + vowel for vowel in "aeiou" for consonant in "bdfghklmnprstvwz"]
# The least that Snakemake takes
CONFIGURATION = """
name: made
title: Made
corpus: made
seeds: [1]
attention: ba .
tables: {made: {title: Made, experiments: [made], split: dev, metrics: [bleu]}}
corpora:
  made:
    {title: Made, source: en, target: de, license: none, splits: {
      train: [{source: FOLDER/train-PAIRS.en, target: FOLDER/train-PAIRS.de}],
      dev: [{source: FOLDER/dev-1000.en, target: FOLDER/dev-1000.de}]}}
vocabularies: {made: {size: SIZE}}
experiments: {made: {base: demo-transformer, title: Made, vocabulary: made}}
"""


def main(args: argparse.Namespace) -> None:
    """Make the text unless it is there, take every step anew, and print the table."""
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in {"train": args.pairs, "dev": 1000}.items():
        if not (folder / f"{split}-{count}.de").exists():
            write_pairs(folder, split, count)
    text = CONFIGURATION.replace("FOLDER", str(folder)).replace("PAIRS", str(args.pairs))
    write_text(folder / "made.yaml", text.replace("SIZE", str(args.vocabulary_size)))
    target = "results/corpora/made/made/tokens/train"
    words = [sys.executable, "-m", "snakemake", "--snakefile", REPOSITORY / "Snakefile"]
    words += ["--directory", folder, "--configfile", folder / "made.yaml"]
    words += ["--profile=none", "--cores", str(args.jobs), "--forceall", "--quiet=all", target]
    if subprocess.run(words, cwd=REPOSITORY, check=False).returncode:
        raise UserError(f"the steps failed: see above, and {folder}/results/logs.")
    lines = []
    files = (folder / "results" / "benchmarks").rglob("*.tsv")
    for file in sorted(files, key=lambda file: file.stat().st_mtime):
        step = pd.read_csv(file, sep="\t").iloc[0]
        lines.append({"step": file.stem, "seconds": step["s"], "memory (MB)": step["max_rss"]})
    table = pd.DataFrame(lines)
    table.loc[len(table)] = ["all", table["seconds"].sum(), table["memory (MB)"].max()]
    table["pairs/s"] = args.pairs / table["seconds"]
    text = table.to_markdown(index=False, floatfmt=("", ",.1f", ",.0f", ",.0f"))
    text += f"\n\n{args.pairs:,} pairs, {args.jobs} processes, commit {commit()}.\n"
    print(text, end="")
    if args.output:
        write_text(args.output, text)


def write_pairs(folder: Path, split: str, count: int) -> None:
    """Write so many pairs of lines to two files."""
    words = np.array([word(rank) for rank in range(TYPES)], object)
    for language, side in {"en": 0, "de": 1}.items():
        path = folder / f"{split}-{count}.{language}"
        with open(path, "w", encoding="utf-8") as file:
            for start in range(0, count, PAIRS_AT_A_TIME):
                pairs = np.random.default_rng([1, start])
                own = np.random.default_rng([2, start, side])
                common = pairs.normal(np.log(MEAN_WORDS) - SIGMA**2 / 2, SIGMA, PAIRS_AT_A_TIME)
                lengths = np.exp(common + own.normal(0, 0.12, PAIRS_AT_A_TIME)).astype(int)
                ends = np.cumsum(lengths.clip(1, 120)[: count - start])
                ranks = np.exp(own.random(ends[-1]) * np.log(TYPES)).astype(int) - 1
                for line in np.split(words[ranks], ends[:-1]):
                    file.write(f"“{' '.join(line).capitalize()}” .\n")


def word(rank: int) -> str:
    """Return the word of a rank: the more frequent, the shorter."""
    rest, syllable = divmod(rank, len(SYLLABLES))
    return (word(rest) if rest else "") + SYLLABLES[syllable]


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--pairs", type=command.whole_number(1000), required=True)
    parser.add_argument("--vocabulary-size", type=command.whole_number(300), default=37_000)
    parser.add_argument("--folder", type=Path, required=True, help="for text and tokens")
    parser.add_argument("--output", type=Path, metavar="FILE", help="to write the table to, too")
    command.add_jobs(parser)
    command.run(main, parser)
