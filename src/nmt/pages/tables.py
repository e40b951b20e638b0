"""Tables that are set already, taken into a page with links from their numbers to the runs."""

import re
from html import escape, unescape
from pathlib import Path

from markupsafe import Markup

from nmt.errors import UserError
from nmt.paper.notes import MARK

ROW = re.compile(r"<tr\b([^>]*)>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"(<td\b[^>]*>)(.*?)(</td>)", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def linked_table(path: Path, anchors: dict[str, str]) -> Markup:
    """Return the body of a table's HTML, without its heading.

    anchors: the place in the page of each row, by the title in the row's first cell. Raises
    UserError for a file that is no page.
    """
    text = path.read_text(encoding="utf-8")
    body = re.search(r"<body>(.*)</body>", text, re.DOTALL)
    if not body:
        raise UserError(f"{path} is no HTML page: delete it and make it again.")
    content = re.sub(r"<h1>.*?</h1>", "", body[1], flags=re.DOTALL)
    content = ROW.sub(lambda row: linked_row(row, anchors), content)
    name = escape(f"table {path.stem}")
    content = content.replace(
        "<table>", f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>'
    ).replace("</table>", "</table></div>")
    content = content.replace("<ul>", "<details><summary>Notes and signatures</summary><ul>")
    return Markup(content.replace("</ul>", "</ul></details>"))


def linked_row(row: re.Match, anchors: dict[str, str]) -> str:
    """Return a row of HTML, with a link in every cell that is not empty where it has an anchor."""
    cells = CELL.findall(row[2])
    text = unescape(TAG.sub("", cells[0][1])) if cells else ""
    title = text.strip().removesuffix(MARK).strip()
    if title not in anchors:
        return row[0]
    anchor = anchors[title]
    first, *others = (
        f'{start}<a href="#{anchor}">{text}</a>{end}' if text.strip() else start + text + end
        for start, text, end in cells
    )
    first = re.sub(r"^<td\b", '<th scope="row"', first).removesuffix("</td>") + "</th>"
    return f"<tr{row[1]}>{first}{''.join(others)}</tr>"
