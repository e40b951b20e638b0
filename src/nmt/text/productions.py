"""Productions of a grammar: templates, and the conditions under which they are used."""

import re
from functools import cache, reduce
from operator import getitem
from typing import Any

from nmt.errors import UserError

REFERENCE = re.compile(r"\{([^{}]*)\}")
FEATURE = re.compile(r"(\w+)=(\{[^{}]*\}|\S+)")

Phrase = dict[str, Any]
Reference = list[list[str]]  # paths into a scope, each a list of keys


class Template:
    """Text with references in braces, as in `{noun.en}s` or `{endings noun.gender case}`.

    A reference is a path into the names in scope, optionally followed by paths whose values are
    keys to look up in what the first path gives.
    """

    def __init__(self, text: str):
        """Raise UserError when `text` is not a string."""
        if not isinstance(text, str):
            raise UserError(f"{text!r} is not text: put it in quotes")
        # What the group of the pattern matched stands at odd places.
        self.pieces = [
            [path.split(".") for path in piece.split()] if number % 2 else piece
            for number, piece in enumerate(REFERENCE.split(text))
            if piece or not text
        ]
        self.references = [piece for piece in self.pieces if not isinstance(piece, str)]

    def fill(self, scope: Phrase) -> Any:
        """Return the text with its references resolved.

        A template that is a single reference gives the value that it refers to, text or not.
        """
        if not self.references:
            return self.pieces[0]
        if len(self.pieces) == 1:
            return resolve(self.references[0], scope)
        return "".join(
            [piece if isinstance(piece, str) else resolve(piece, scope) for piece in self.pieces]
        )


def resolve(reference: Reference, scope: Any) -> Any:
    """Return the value that a reference refers to."""
    value, *keys = [reduce(getitem, path, scope) for path in reference]
    return reduce(getitem, keys, value)


@cache
def agree(tags: str, allowed_tags: str) -> bool:
    """Return whether two lists of tags, separated by spaces, have a tag in common."""
    return not set(tags.split()).isdisjoint(allowed_tags.split())


class Production:
    """One way to rewrite a symbol.

    weight: relative frequency among the productions that fit.
    when: conditions, pairs of a path into the scope and the tags allowed there.
    let: names with the symbol, and the features passed to it, that each stands for.
    yields: names with the templates of what the production yields.
    """

    def __init__(self, data: dict):
        """Raise UserError when `data` is not a production."""
        parts = dict(data)
        self.weight = parts.pop("weight", 1)
        self.when = [
            (Template(f"{{{path}}}"), Template(tags))
            for path, tags in parts.pop("when", {}).items()
        ]
        self.let = {name: parse_call(text) for name, text in parts.pop("let", {}).items()}
        self.yields = {name: Template(text) for name, text in parts.items()}

    def fits(self, scope: Phrase) -> bool:
        """Return whether the scope meets all conditions."""
        return all(agree(tags.fill(scope), allowed.fill(scope)) for tags, allowed in self.when)


def parse_call(text: str) -> tuple[str, dict[str, Template]]:
    """Return the symbol and the features of `Symbol feature=value feature={reference}`."""
    symbol, _, features = text.partition(" ")
    if FEATURE.sub("", features).strip():
        raise UserError(f"{text!r} is not of the form 'Symbol feature=value ...'")
    return symbol, {name: Template(value) for name, value in FEATURE.findall(features)}
