"""docs/systems.md sets Table 3 in small beside the paper's: no script prints the differences, so a test holds them."""

from nmt.configuration import load_catalogue, read_yaml


def cells(table: str) -> list[list[str]]:
    """The lines of a table in Markdown, without its head."""
    return [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def from_base(perplexities: list[float], bleus: list[float]) -> list[list[str]]:
    """Each row's perplexity in percent above the first's, and its BLEU above the first's."""
    return [
        [f"{100 * (perplexity / perplexities[0] - 1):+.0f}", f"{bleu - bleus[0]:+.1f}"]
        for perplexity, bleu in zip(perplexities, bleus, strict=True)
    ][1:]


def test_differences_are_those_of_the_tables(root):
    catalogue = load_catalogue(root / "config")
    small, paper = (
        read_yaml(root / "config" / f"{name}.yaml", dict)["tables"]["table3"]["experiments"]
        for name in ("multi30k-en-de", "wmt14-en-de")
    )
    paper = paper[: len(small)]  # without the big model
    published = {(entry.experiment, entry.metric): entry.value for entry in catalogue.published if entry.split == "dev"}
    page = (root / "docs" / "systems.md").read_text(encoding="utf-8")
    section = page.split("\n## Table 3 in small\n")[1].split("\n## ")[0]
    printed, differences = (
        cells(paragraph) for paragraph in section.split("\n\n") if paragraph.startswith("| system ")
    )

    titles = [catalogue.rows[name].title for name in small]
    assert [row[0] for row in printed] == titles
    ours = from_base([float(row[1]) for row in printed], [float(row[2]) for row in printed])
    theirs = from_base(*([published[row, metric] for row in paper] for metric in ("perplexity", "tokenized_bleu")))
    assert differences == [
        [title, catalogue.rows[row].title, *(cell for pair in zip(here, there, strict=True) for cell in pair)]
        for title, row, here, there in zip(titles[1:], paper[1:], ours, theirs, strict=True)
    ]
