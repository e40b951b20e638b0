"""Write a configuration for two parallel files of your own, which Snakemake then runs.

The languages are the ends of the files' names, as in train.en and train.fr.gz. Dev and test sets
are held out of the text. Model, subwords and updates are those of the repository's row for about as
many pairs: the demo's, Multi30k's, Tatoeba's, IWSLT14's or, above 3 million, the paper's base model
for WMT14; for the last two a GPU is wanted. All can be changed in the file.
"""

import argparse
import logging
import re
import shlex
from functools import partial
from itertools import islice
from pathlib import Path
from string import Template

import yaml

from nmt import command
from nmt.configuration import read_reproduction
from nmt.errors import UserError
from nmt.files import atomic_write, read_lines
from nmt.provenance import REPOSITORY
from nmt.text.readers import pair_lines, safe

LEAST = 100  # pairs, of which five are held out
# By the most pairs: the entry in config/experiments, subwords and updates
SIZES = {
    15_000: ("demo-transformer", 2000, 1700),
    100_000: ("transformer-tiny-raw", 8000, 8000),
    400_000: ("tatoeba-transformer", 8000, 6000),
    3_000_000: ("iwslt-transformer", 16_000, 50_000),
    10**12: ("transformer-base", 37_000, 100_000),
}


def main(args: argparse.Namespace) -> None:
    """Count the pairs, write the file, and say how to go on."""
    files = [args.source, args.target]
    stem, _, _ = args.source.name.removesuffix(".gz").rpartition(".")
    languages = [path.name.removesuffix(".gz").rpartition(".")[2] for path in files]
    for path, language in zip(files, languages, strict=True):
        if not re.fullmatch("[a-z]{2,3}", language):
            raise UserError(f"{path} does not end in a language, as .en or .en.gz do: rename it.")
        if re.search("[{}]", str(path.resolve())):
            raise UserError(f"{path} has a brace, which snakemake takes for its own: rename it.")
    if languages[0] == languages[1]:
        raise UserError(f"{args.source} and {args.target} end in the same language: rename one.")
    output = args.source.with_name(f"{stem}.{'-'.join(languages)}.yaml")
    if output.exists():
        raise UserError(f"{output} is there already: move it away.")
    lines = read_lines(args.source), read_lines(args.target)
    pairs = sum(1 for _ in pair_lines(*lines, str(args.source), str(args.target)))
    first = [line for line in map(safe, islice(read_lines(args.source), LEAST)) if line]
    if pairs < LEAST or not first:
        raise UserError(f"{args.source} has too little text: give at least {LEAST} pairs.")
    base, size, updates = next(sizes for most, sizes in SIZES.items() if pairs <= most)
    sentence = min(first, key=lambda line: abs(len(line.split()) - 10))  # of some ten words
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", output.stem).strip(".-") or "mine"
    if (REPOSITORY / "results" / name).exists():
        raise UserError(f"results/{name} is there: delete it, or rename files of another text.")
    names = {"name": name, "sentence": sentence}
    names |= {"source": languages[0], "target": languages[1]}
    names |= {f"{side}_file": str(getattr(args, side).resolve()) for side in ("source", "target")}
    numbers = {"held_out": min(1000, pairs // 20), "size": min(size, max(200, pairs // 4))}
    template = Template(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    # In quotes: without them no, the language, would be false.
    in_yaml = partial(yaml.safe_dump, default_style='"', allow_unicode=True, width=10**6)
    values = {key: in_yaml(text).strip() for key, text in names.items()}
    text = template.substitute(values, **numbers, pairs=f"{pairs:,}", base=base, updates=updates)
    with atomic_write(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
        read_reproduction(temporary, temporary)  # refuses a name that config has
    logging.info(f"{pairs:,} pairs. Next: snakemake --configfile {shlex.quote(str(output))}")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FILE", source="text, plain or .gz", target="parallel to it")
    command.run(main, parser)
