"""The article, in LaTeX and where there is LaTeX as a PDF."""

import re
import shutil

import pytest
from markupsafe import Markup

from nmt.errors import UserError
from nmt.pages.article import article_text, latex, set_article
from tests.support import paper_runs
from tests.support.made_up_folder import FIGURES, make_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory, root):
    return make_folder(tmp_path_factory.mktemp("article"), root)


@pytest.fixture
def needs_latex():
    if not shutil.which("latexmk") and not shutil.which("tectonic"):
        pytest.skip("neither latexmk nor tectonic is here: apt-get install latexmk, say.")


def test_every_table_and_figure_is_there_by_file_with_links(made, root):
    folder, catalog = made
    captions = root / "workflow" / "report"
    text = article_text(paper_runs.reproduction(), catalog, folder, captions, root / "src")
    inputs = re.findall(r"\\(?:input|includegraphics\[[^]]*\]){(.+?)}", text)
    assert inputs == [
        "figures/systems.learning-curves.pdf",
        "tables/systems.tex",
        "figures/systems.bleu-by-length.pdf",
        "figures/attention.pdf",
    ]
    assert all((folder / name).exists() for name in inputs)
    links = re.findall(r"\\origin{(.+?)}{(.+?)}{(.+?)}", text)
    assert len(links) == len(FIGURES) + 1
    for script, run, _ in links:
        assert (folder / script).resolve().parent == root / "src"
        assert run.startswith(r"index.html\#")
    # Numbers are in the files alone.
    body = text.partition(r"\begin{document}")[2].partition("arxiv.org")[0]
    assert not re.search(r"\d\.\d", re.sub(r"\[width=[^]]*\]", "", body))


def test_captions_become_latex():
    html = Markup("<strong>50% &lt;x&gt;</strong> of <code>a_b</code> &amp; c")
    assert latex(html) == r"\textbf{50\% \textless{}x\textgreater{}} of \texttt{a\_b} \& c"


def test_it_is_set_the_same_each_time(made, run_script, needs_latex):
    folder, _ = made
    pdfs = []
    for name in ("article.pdf", "article.pdf"):
        process = run_script(
            "set_article",
            *("--reproduction", folder.parent / "reproduction.json", "--output", folder / name),
        )
        assert process.returncode == 0, process.stderr
        pdfs.append((folder / name).read_bytes())
    assert pdfs[0].startswith(b"%PDF")
    assert pdfs[0] == pdfs[1]
    assert {path.name for path in folder.glob("article*")} == {"article.pdf", "article.tex"}


def test_an_error_of_latex_is_a_sentence(tmp_path, needs_latex):
    text = tmp_path / "article.tex"
    text.write_text(r"\documentclass{article}\begin{document}\nonsense\end{document}")
    with pytest.raises(UserError, match="Undefined control sequence"):
        set_article(text, tmp_path / "article.pdf")
    assert not (tmp_path / "article.pdf").exists()


def test_without_latex_a_sentence_says_so(made, run_failing, tmp_path):
    folder, _ = made
    output = tmp_path / "article.pdf"
    error = run_failing(
        "set_article",
        *("--reproduction", folder.parent / "reproduction.json", "--output", output),
        env={"PATH": str(tmp_path)},
    )
    assert "needs latexmk or tectonic, and neither is here" in error
    assert not list(tmp_path.glob("article*"))
