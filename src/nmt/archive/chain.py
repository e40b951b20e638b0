"""Which files of a results folder a reproduction has, and what each was made from.

Paths are relative to the folder of results, with "/" between their parts; one that ends with "/"
means all files in that folder.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt.configuration import Catalog, Reproduction

# Files of a run that its training itself leaves
TRAINED = ("training.json", "metrics.jsonl", "checkpoints/")
# Figures of attention
ATTENTION = ("attention", "encoder-self-attention", "decoder-self-attention", "alignment")
# Files of a reproduction that may be made after the others, or again
LATER = ("manifest.json", "article.pdf", "article.tex", "plan.csv", "plan.md")


@dataclass(frozen=True)
class Chain:
    """A reproduction's files below the folder of results."""

    results: Path
    reproduction: Reproduction
    catalog: Catalog

    @property
    def corpus(self) -> str:
        """The corpus's folder."""
        return f"corpora/{self.reproduction.corpus}"

    def run_folders(self, row: str) -> list[str]:
        """Return the folders of a row's runs: those of its seeds, or an ensemble's one."""
        if row in self.catalog.ensembles:
            return [f"runs/{self.reproduction.corpus}/{row}/ensemble"]
        return self.trained_folders(row)

    def trained_folders(self, row: str) -> list[str]:
        """Return the folders of the trainings that a row rests on."""
        trainings = self.catalog.trainings(row, self.reproduction.seeds_for(row))
        corpus = self.reproduction.corpus
        return [f"runs/{corpus}/{name}/seed-{seed}" for name, seed in trainings]

    def all_run_folders(self) -> list[str]:
        """Return every folder of a run once: the tables' rows, members, and shared trainings."""
        rows = self.reproduction.experiments
        folders = [folder for row in rows for folder in self.run_folders(row)]
        folders += [folder for row in rows for folder in self.trained_folders(row)]
        shared = [self.shared_folder(folder) for folder in folders]
        return list(dict.fromkeys(folders + [folder for folder in shared if folder]))

    def shared_folder(self, folder: str) -> str | None:
        """Return the run whose training a run takes, where it is not its own."""
        _, corpus, row, run = folder.split("/")
        if row in self.catalog.ensembles:
            return None
        shared = self.catalog.experiment(row).trained_as
        return f"runs/{corpus}/{shared}/{run}" if shared else None

    def vocabulary_folder(self, folder: str) -> str:
        """Return the folder of the vocabulary that a run uses."""
        vocabulary = self.catalog.experiment(folder.split("/")[2]).vocabulary
        return f"{self.corpus}/{vocabulary}"

    def vocabularies(self) -> list[str]:
        """Return the folders of all vocabularies."""
        trained = [name for name in self.all_run_folders() if not name.endswith("/ensemble")]
        return list(dict.fromkeys(self.vocabulary_folder(folder) for folder in trained))

    def files(self) -> Iterator[str]:
        """Yield every file: the corpus, the runs, and the reproduction's own folder."""
        runs = self.all_run_folders()
        parts = [f"{self.corpus}/{part}" for part in ("raw", "clean", "text")]
        folders = [*parts, *self.vocabularies(), *runs]
        for folder in [*folders, self.reproduction.name]:
            yield from self.files_below(folder)

    def files_below(self, folder: str) -> Iterator[str]:
        """Yield the files in a folder, without hidden ones and training's state.

        Nor the manifest and the article, which may be made after the manifest: all that it shows is
        in the manifest.
        """
        own = [f"{self.reproduction.name}/{name}" for name in LATER]
        for path in sorted((self.results / folder).rglob("*")):
            name = path.relative_to(self.results).as_posix()
            left_out = re.search(r"/\.|/state-[0-9a-f]{12}/", name)
            if path.is_file() and not left_out and name not in own:
                yield name

    def made_from(self, path: str) -> list[str]:
        """Return the files and folders that a file was made from.

        They are the inputs of its rule below the folder of results; of a figure, those that it
        shows.
        """
        if path.startswith("corpora/"):
            return self.corpus_inputs(path)
        if path.startswith("runs/"):
            return self.run_inputs(path)
        return self.paper_inputs(path)

    def corpus_inputs(self, path: str) -> list[str]:
        """Return what tokens, subwords and preprocessed text were made from."""
        parts = path.removeprefix(f"{self.corpus}/").split("/")
        if parts[0] == "raw":
            return []
        corpus = self.catalog.corpus(self.reproduction.corpus)
        if parts[0] == "clean":  # pairs of the dev and test sets are dropped
            tested = [table.split for table in self.reproduction.default_tables.values()]
            return [
                path
                for split in dict.fromkeys(["train", "dev", *tested])
                for path in self.raw(split)
            ]
        if parts[0] == "text":
            is_filtered = parts[-1].startswith("train.") and corpus.cleaning.filters
            return [f"{self.corpus}/{'clean' if is_filtered else 'raw'}/{parts[-1]}"]
        steps = self.catalog.vocabulary(parts[0]).preprocessing_name
        split = parts[2] if parts[1] == "tokens" else "train"
        text = [
            f"{self.corpus}/text/{steps}/{split}.{language}"
            for language in (corpus.source, corpus.target)
        ]
        return text + ([f"{self.corpus}/{parts[0]}/subwords/"] if parts[1] == "tokens" else [])

    def run_inputs(self, path: str) -> list[str]:
        """Return what a file of a run was made from."""
        folder, name = "/".join(path.split("/")[:4]), "/".join(path.split("/")[4:])
        dev_source, dev_references = self.raw("dev")
        row = folder.split("/")[2]
        if name.endswith(".scores.json"):
            split = name.removesuffix(".scores.json")
            return [f"{folder}/{split}.translations.txt", *reversed(self.raw(split))]
        if name.endswith(".translations.txt"):
            ensemble = row in self.catalog.ensembles
            members = self.trained_folders(row) if ensemble else [folder]
            source, _ = self.raw(name.removesuffix(".translations.txt"))
            return [*(f"{member}/model/" for member in members), source]
        vocabulary = self.vocabulary_folder(folder)
        if name.startswith("model/"):
            return [f"{folder}/checkpoints/", f"{folder}/training.json", f"{vocabulary}/subwords/"]
        if name == "dev.perplexity.json":
            return [f"{folder}/model/", f"{vocabulary}/tokens/dev/"]
        if name == "gradients.json":
            return [f"{folder}/model/", f"{vocabulary}/tokens/train/"]
        if name == "attention.json":
            return [f"{folder}/model/"]
        if name == "attention-maps.json":
            return [f"{folder}/model/", dev_source]
        if name == "dev.sweep.json":
            return [f"{folder}/model/", dev_source, dev_references]
        if name == "card.md":
            tables = self.reproduction.default_tables.values()
            splits = dict.fromkeys(table.split for table in tables if row in table.experiments)
            return [f"{folder}/model/", *(f"{folder}/{split}.scores.json" for split in splits)]
        shared = self.shared_folder(folder)
        if shared:
            return [f"{shared}/{part}" for part in TRAINED]
        tokens = [f"{vocabulary}/{part}/" for part in ("tokens/train", "tokens/dev", "subwords")]
        return [*tokens, dev_references]

    def raw(self, split: str) -> list[str]:
        """Return both sides of a split's raw text, the source first."""
        corpus = self.catalog.corpus(self.reproduction.corpus)
        return [f"{self.corpus}/raw/{split}.{side}" for side in (corpus.source, corpus.target)]

    def paper_inputs(self, path: str) -> list[str]:
        """Return what a table, a figure or a page was made from."""
        own = self.reproduction.name
        folder, _, name = path.removeprefix(f"{own}/").rpartition("/")
        stem = Path(name).stem.removesuffix(".significance")
        configuration = [f"{own}/configuration.json"]
        if folder == "figures":
            return self.figure_inputs(Path(name).stem) + configuration
        if stem == "complexity":  # formulas and the code's own layers
            return configuration
        if stem == "layers":
            return self.existing([f"{own}/layers.csv"]) + configuration
        if stem == "corpora":
            tokens = [f"{vocabulary}/tokens/" for vocabulary in self.vocabularies()]
            return self.existing([f"{self.corpus}/clean/train.json"]) + tokens + configuration
        if stem in self.reproduction.tables:
            split = self.reproduction.tables[stem].split
            if name.endswith(".significance.json"):
                return [
                    *self.outputs_of_rows(stem, f"{split}.translations.txt"),
                    self.raw(split)[1],
                ]
            inputs = self.files_of_rows(stem, f"{split}.scores.json")
            if "perplexity" in self.reproduction.tables[stem].metrics:
                inputs += self.files_of_rows(stem, "dev.perplexity.json")
            inputs += self.files_of_rows(stem, "metrics.jsonl")
            inputs = list(dict.fromkeys(inputs))
            significance = f"{own}/tables/{stem}.significance.json"
            return inputs + self.existing([significance]) + configuration
        if name.startswith("translations-"):
            table = stem.removeprefix("translations-")
            split = self.reproduction.tables[table].split
            significance = f"{own}/tables/{table}.significance.json"
            rows = self.reproduction.tables[table].experiments
            first_runs = [self.run_folders(row)[0] for row in rows]
            translations = [f"{folder}/{split}.translations.txt" for folder in first_runs]
            return [*translations, *self.raw(split), significance, *configuration]
        if name == "explorer.html":
            return self.outputs_of_rows(next(iter(self.reproduction.tables)), "attention-maps.json")
        if name == "index.html":
            pages = [f"{own}/translations-{table}.html" for table in self.reproduction.tables]
            rows = self.reproduction.experiments
            cards = [f"{folder}/card.md" for row in rows for folder in self.run_folders(row)]
            made = self.existing([*pages, f"{own}/explorer.html", *cards])
            return [f"{own}/tables/", f"{own}/figures/", *made, *configuration]
        return []

    def figure_inputs(self, figure: str) -> list[str]:
        """Return what a figure was drawn from: TABLE.KIND, or KIND of the first table's rows."""
        table, _, kind = figure.rpartition(".")
        table = table or next(iter(self.reproduction.tables))
        if kind == "positional-encodings":  # a formula, but for learned positions
            rows = self.catalog.with_learned_positions(self.reproduction.tables[table].experiments)
            folders = [folder for row in rows for folder in self.run_folders(row)]
            return self.existing([f"{folder}/model/" for folder in folders])
        if kind == "layers":
            return self.existing([f"{self.reproduction.name}/layers.csv"])
        if kind == "search":
            return self.files_of_rows(table, "dev.sweep.json")
        if kind in ATTENTION:
            return self.files_of_rows(table, "attention.json")
        split = self.reproduction.tables[table].split
        inputs = self.files_of_rows(table, "metrics.jsonl")
        if kind == "gradient-norms":
            return inputs + self.files_of_rows(table, "gradients.json")
        inputs += self.files_of_rows(table, f"{split}.scores.json")
        tokens = [f"{vocabulary}/tokens/train/" for vocabulary in self.vocabularies()]
        return list(dict.fromkeys(inputs)) + (tokens if kind == "subword-lengths" else [])

    def files_of_rows(self, table: str, name: str) -> list[str]:
        """Return a file of every run of a table that has it, and their training.json."""
        rows = self.reproduction.tables[table].experiments
        trained = [
            f"{folder}/training.json" for row in rows for folder in self.trained_folders(row)
        ]
        return self.outputs_of_rows(table, name) + self.existing(trained)

    def outputs_of_rows(self, table: str, name: str) -> list[str]:
        """Return a file of every run of a table that has it."""
        rows = self.reproduction.tables[table].experiments
        return self.existing(
            [f"{folder}/{name}" for row in rows for folder in self.run_folders(row)]
        )

    def existing(self, paths: list[str]) -> list[str]:
        """Return the paths of files that are there, each once."""
        return [path for path in dict.fromkeys(paths) if (self.results / path).exists()]
