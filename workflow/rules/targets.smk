"""What a run of the workflow makes by default: tables, figures, models, scores and pages."""

# Figures that every table has
TABLE_FIGURES = [
    "learning-curves",
    "learning-rate",
    "gradient-norms",
    "bleu-by-length",
    "cost",
    "parameters",
    "speed",
    "subword-lengths",
]
# Figures of the first table alone
FIGURES_ONCE = [
    "positional-encodings",
    "attention",
    "encoder-self-attention",
    "decoder-self-attention",
    "alignment",
]
FIRST_TABLE = next(iter(REPRODUCTION.tables))


def tables():
    """Return all forms of the tables that are made by default."""
    return [
        f"results/{REPRODUCTION.name}/tables/{name}.{form}"
        for name in (*REPRODUCTION.default_tables, "complexity", "corpora")
        for form in ("md", "csv", "html", "tex")
    ]


def figures_of(table):
    """Return the names of a table's figures."""
    return [*TABLE_FIGURES, *(FIGURES_ONCE if table == FIRST_TABLE else ())]


def figure_path(figure, table, ending):
    """Return the file of a figure."""
    name = f"{table}.{figure}" if figure in TABLE_FIGURES else figure
    return f"results/{REPRODUCTION.name}/figures/{name}.{ending}"


def figures():
    """Return all forms of the figures that are made by default."""
    return [
        figure_path(figure, table, form)
        for table in REPRODUCTION.default_tables
        for figure in figures_of(table)
        for form in ("png", "pdf", "csv")
    ]


def default_models():
    """Return the model of every training of the rows made by default."""
    return trained("model", [row for row in ROWS if row not in CATALOG.ensembles])


def translations_and_scores():
    """Return the translations and scores that the default tables show."""
    return [
        path
        for table in REPRODUCTION.default_tables.values()
        for name in ("translations.txt", "scores.json")
        for path in translated(f"{table.split}.{name}", table.experiments)
    ]


def recorded_attention():
    """Return the attention that the first table's models have with their first seed."""
    folder = f"results/runs/{REPRODUCTION.corpus}"
    return [
        f"{folder}/{name}/seed-{REPRODUCTION.seeds_for(name)[0]}/attention.json"
        for name in experiments_of(FIRST_TABLE)
    ]


def translation_pages():
    """Return the pages of the tables that show scores of translations."""
    return [
        f"results/{REPRODUCTION.name}/translations-{name}.html"
        for name in REPRODUCTION.default_tables
        if compared_metrics(name)
    ]


def pages():
    """Return the pages and the manifest of the reproduction."""
    folder = f"results/{REPRODUCTION.name}"
    names = ("index.html", "explorer.html", "manifest.json")
    return [*(f"{folder}/{name}" for name in names), *translation_pages()]
