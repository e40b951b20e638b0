"""Checks of a grammar on loading: errors come at once, not after an hour of sentences."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from nmt.errors import UserError, nearest
from nmt.text.productions import Phrase, Production, Template

Words = Mapping[str, Sequence[Phrase]]  # the words of each class
Rules = Mapping[str, Sequence[Production]]  # the productions of each symbol


def check_symbols(
    start: str, once: Collection[str], words: Words, rules: Rules, languages: Sequence[str]
) -> None:
    """Raise UserError when a symbol is used that is neither a rule nor a word class.

    The start symbol must yield both languages.
    """
    known = [*words, *rules]
    for symbol in (start, *once, *(symbol for symbol, _ in calls(rules))):
        if symbol not in known:
            raise UserError(f"there is no rule or word class {symbol!r}; {nearest(symbol, known)}")
    yields = rules[start][0].yields
    for language in languages:
        if language not in yields:
            raise UserError(f"{start} yields no {language!r}; {nearest(language, yields)}")


def check_rule(symbol: str, words: Words, rules: Rules, tables: Collection[str]) -> None:
    """Raise UserError when the productions of a symbol yield or refer to the wrong names.

    All must yield the same names, and refer only to features that some call passes, to tables, and
    to names in their own `let`.
    """
    passed = {name for called, features in calls(rules) if called == symbol for name in features}
    first_yields = rules[symbol][0].yields
    for number, production in enumerate(rules[symbol], start=1):
        where = f"{symbol}, production {number}"
        not_shared = sorted(production.yields.keys() ^ first_yields.keys())
        if not_shared:
            raise UserError(f"{where} and production 1 do not both yield {', '.join(not_shared)}")
        names = {*passed, *tables, *production.let}
        for path in production.paths():
            name = path[0]
            if name not in names:
                raise UserError(f"{where}: nothing is called {name!r}; {nearest(name, names)}")
            if name in production.let and len(path) > 1:
                form = path[1]
                known = forms(production.let[name][0], words, rules)
                if form not in known:
                    raise UserError(f"{where}: {name} has no {form!r}; {nearest(form, known)}")


def calls(rules: Rules) -> Iterator[tuple[str, dict[str, Template]]]:
    """Yield the symbol and the features of each call in a `let` of any production."""
    for rule in rules.values():
        for production in rule:
            yield from production.let.values()


def forms(symbol: str, words: Words, rules: Rules) -> list[str]:
    """Return the names of the forms of a word, or of what a phrase yields."""
    return list(words[symbol][0] if symbol in words else rules[symbol][0].yields)
