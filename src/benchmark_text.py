"""Measure the steps from archives to tokens on synthetic text like WMT's, beside other programs.

The table has pairs a second, memory and disk of each step. Pairs with markers are looked for in the
tokens: a line says that those of both sides are together. Programs that are installed do the
same steps in turn, and their outputs are compared with ours.
"""

import argparse
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd

from nmt.benchmarks.synthetic_text import write_archive
from nmt.benchmarks.text_peers import peers
from nmt.benchmarks.text_speed import (
    LANGUAGES,
    OUTPUTS,
    Cost,
    markers_together,
    measured,
    measured_beginning,
    megabytes_on_disk,
    our_steps,
)
from nmt.files import write_text
from nmt.provenance import commit


def main(args: argparse.Namespace) -> None:
    """Make the text unless it is there, take every step once a round, and write the table."""
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"made-{args.pairs}"
    if not made.exists():
        for other in folder.glob("made-*"):  # of another number of pairs, in the same archive
            other.unlink()
        write_archive(folder / "made.tgz", args.pairs, LANGUAGES)
        write_text(made, "")
    rivals = (
        {} if args.alone else peers(args.vocabulary_size, args.jobs, args.moses, args.peers_python)
    )
    steps = our_steps(folder, args.vocabulary_size, args.jobs)
    costs: dict[tuple[str, str], list[Cost]] = {}
    notes: dict[tuple[str, str], str] = {}
    for _ in range(args.rounds):
        for step, ours in steps.items():
            costs.setdefault((step, "this"), []).append(measured(ours, folder))
            for name, peer in rivals.items():
                if peer.step == step:
                    costs.setdefault((step, name), []).append(measured(peer.command, folder))
                    notes[step, name] = peer.agreement(folder)
    kept, planted = markers_together(folder, args.pairs)
    table = markdown(costs, notes, folder, args.pairs)
    table += "\n" + beginning(measured_beginning(folder / "tokens", args.rounds))
    table += f"\n{kept:,} of {planted:,} marked pairs are in the tokens, all with both sides.\n"
    table += f"\nOf {args.pairs:,} pairs, {args.jobs} processes, commit {commit()}.\n"
    write_text(args.markdown, table)
    print(table, end="")


def markdown(
    costs: dict[tuple[str, str], list[Cost]],
    notes: dict[tuple[str, str], str],
    folder: Path,
    pairs: int,
) -> str:
    """Return the table, one line for each step and program, and the sum of our own."""
    rows = []
    for (step, program), rounds in costs.items():
        seconds = pd.Series([cost.seconds for cost in rounds]).median()
        row = {"step": step, "program": program, "seconds": seconds}
        row |= {"pairs/s": pairs / seconds, "memory (MB)": max(cost.megabytes for cost in rounds)}
        paths = [folder / name for name in OUTPUTS[step]]
        row["disk (MB)"] = f"{megabytes_on_disk(paths):,.0f}" if program == "this" else ""
        rows.append(row | {"output": notes.get((step, program), "")})
    data = pd.DataFrame(rows)
    ours = data[data.program == "this"]
    total = {"step": "all", "program": "this", "seconds": ours.seconds.sum()}
    total |= {"pairs/s": pairs / total["seconds"], "memory (MB)": ours["memory (MB)"].max()}
    made = [folder / name for names in OUTPUTS.values() for name in names]
    total |= {"disk (MB)": f"{megabytes_on_disk(made):,.0f}", "output": ""}
    data = pd.concat([data, pd.DataFrame([total])])
    alignment = ("left", "left", "right", "right", "right", "right", "left")
    return data.to_markdown(index=False, floatfmt=",.0f", colalign=alignment) + "\n"


def beginning(costs: dict[str, list[Cost]]) -> str:
    """Return the table of the steps with which a training begins."""
    rows = [
        {
            "as a training begins": step,
            "seconds": pd.Series([cost.seconds for cost in rounds]).median(),
            "memory (MB)": max(cost.megabytes for cost in rounds),
        }
        for step, rounds in costs.items()
    ]
    return pd.DataFrame(rows).to_markdown(index=False, floatfmt=("", ",.2f", ",.0f")) + "\n"


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--pairs", type=command.whole_number(1000), required=True)
    parser.add_argument("--vocabulary-size", type=command.whole_number(300), default=37_000)
    parser.add_argument("--rounds", type=command.whole_number(1), default=1)
    parser.add_argument("--alone", action="store_true", help="without other programs")
    parser.add_argument("--moses", type=Path, metavar="FOLDER", help="of mosesdecoder, for Perl")
    parser.add_argument("--peers-python", metavar="FILE", help="the Python that has fairseq")
    parser.add_argument("--folder", type=Path, required=True, help="for text and tokens")
    parser.add_argument("--markdown", type=Path, required=True, help="the table to write")
    command.add_jobs(parser, "processes")
    command.run(main, parser)
