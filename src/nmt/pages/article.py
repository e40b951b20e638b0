"""The article: a LaTeX text that inputs every table and figure of a reproduction by file."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nmt.configuration import Catalog, Reproduction
from nmt.errors import UserError
from nmt.files import atomic_write
from nmt.pages.captions import caption
from nmt.pages.index import distinct_figures, kind_of, sections, tables_in_order
from nmt.pages.render import TEMPLATES, is_wide
from nmt.paper.markup import escape_latex

# LaTeX has braces and percent signs of its own.
LATEX = Environment(
    loader=FileSystemLoader(TEMPLATES),
    block_start_string="<%",
    block_end_string="%>",
    variable_start_string="<<",
    variable_end_string=">>",
    comment_start_string="<#",
    comment_end_string="#>",
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
)
COMMANDS = {
    "latexmk": ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error"],
    "tectonic": ["tectonic"],
}


def article_text(
    reproduction: Reproduction, catalog: Catalog, folder: Path, captions: Path, scripts: Path
) -> str:
    """Return the LaTeX text of what is in a reproduction's folder.

    captions: the folder of the figures' captions. scripts: that of the scripts.
    """
    tables = [{"name": path.stem} for path in tables_in_order(folder, reproduction)]
    figures = {
        path.stem: {
            "name": path.stem,
            "caption": figure_caption(path.stem, captions, reproduction, shown),
            "data": data_of(path),
            "wide": is_wide(path.with_suffix(".png")),
        }
        for path, shown in distinct_figures(folder, reproduction, "pdf").items()
    }
    corpus = catalog.corpus(reproduction.corpus)
    return LATEX.get_template("article.tex.j2").render(
        title=escape_latex(reproduction.title),
        name=reproduction.name,
        corpus=escape_latex(corpus.title),
        source=corpus.source,
        target=corpus.target,
        sections=list(sections(tables, figures, reproduction)),
        scripts=Path(os.path.relpath(scripts, folder)).as_posix(),
    )


def figure_caption(
    figure: str, captions: Path, reproduction: Reproduction, tables: list[dict]
) -> str:
    """Return a figure's caption, with the titles of the tables whose rows it shows."""
    text = latex(caption(captions / f"{kind_of(figure)}.rst", reproduction))
    titles = "; ".join(escape_latex(table["title"]) for table in tables)
    return f"{text} Rows: {titles}." if titles else text


def data_of(figure: Path) -> str:
    """Return the address of a figure's numbers, or of the manifest, which names their files."""
    numbers = figure.with_suffix(".csv")
    return f"figures/{numbers.name}" if numbers.exists() else "manifest.json"


def latex(html: Markup) -> str:
    """Return a caption in LaTeX: of HTML it may have strong text and code."""
    parts = re.split(r"</?(strong|code)>", str(html))
    commands = {"strong": r"\textbf", "code": r"\texttt"}
    pieces = []
    for index in range(0, len(parts), 4):
        pieces.append(escape_latex(Markup(parts[index]).unescape()))
        if index + 2 < len(parts):
            text = escape_latex(Markup(parts[index + 2]).unescape())
            pieces.append(f"{commands[parts[index + 1]]}{{{text}}}")
    return "".join(pieces)


def require_latex() -> list[str]:
    """Return the command that sets a text. Raises UserError where there is none."""
    for program, command in COMMANDS.items():
        if shutil.which(program):
            return command
    raise UserError(
        "an article needs latexmk or tectonic, and neither is here: `apt-get install latexmk"
        " texlive-latex-extra texlive-fonts-recommended lmodern`, say."
    )


def set_article(text: Path, output: Path) -> None:
    """Set the text, in whose folder its tables and figures are.

    Raises UserError with the first error of LaTeX.
    """
    command = require_latex()
    with TemporaryDirectory() as temporary:
        option = f"--outdir={temporary}" if command[0] == "tectonic" else f"-outdir={temporary}"
        process = subprocess.run(
            [*command, option, text.name],
            cwd=text.parent,
            env=os.environ | {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        pdf = Path(temporary) / f"{text.stem}.pdf"
        if process.returncode or not pdf.exists():
            lines = (process.stdout + process.stderr).splitlines()
            problem = next((line for line in lines if line.startswith(("!", "error"))), "no PDF")
            raise UserError(f"{text}: {command[0]} failed ({problem}).")
        with atomic_write(output) as partial:
            shutil.copyfile(pdf, partial)
