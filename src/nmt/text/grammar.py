"""Sentence pairs generated from a synchronous grammar that is written as data.

The grammar file (config/grammar.yaml explains its notation) holds words, tables and rules. This
module only interprets it and knows no word and no ending of any language: a rule draws words and
phrases under names, top down, and its templates say what they yield in each language. The templates
of one production share all choices, which makes the grammar synchronous. A phrase may yield several
parts (a finite verb and its prefix or participle), which the rule above places separately; so words
are reordered.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from nmt.configuration import read_yaml
from nmt.errors import UserError, nearest
from nmt.progress import progress
from nmt.text.grammar_checks import check_rule, check_symbols
from nmt.text.productions import Phrase, Production, agree, condition_templates

JOINT = re.compile(r"(\w?)~(\w)")
SECTIONS = {"start", "length", "once", "finish", "tables", "words", "rules"}
ATTEMPTS = 1000


class NoWordLeftError(Exception):
    """All words that fit are in the sentence already: start the sentence again."""


def join(match: re.Match) -> str:
    """Return the letters on both sides of a "~", the second in lower case after a first."""
    before, after = match.groups()
    return before + after.lower() if before else after


class Grammar:
    """A grammar that generates sentence pairs, checked on construction."""

    def __init__(
        self, data: dict, name: str = "the grammar", source: str = "en", target: str = "de"
    ):
        """Raise UserError, naming the entry, when `data` is not a grammar."""
        self.name = name
        self.languages = (source, target)
        self.fitting_words: dict[tuple, list[Phrase]] = {}
        self.fitting_productions: dict[tuple, tuple[list[Production], list[float]]] = {}
        try:
            self.read(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise self.error(f"a part is missing or is not what it should be ({error!r})") from None
        try:
            check_symbols(self.start, self.once, self.words, self.rules, self.languages)
            for symbol in self.rules:
                check_rule(symbol, self.words, self.rules, self.tables)
        except UserError as error:
            raise self.error(str(error)) from None

    @classmethod
    def load(cls, path: str | Path, source: str = "en", target: str = "de") -> "Grammar":
        """Read a grammar from a YAML file.

        Raises UserError when the file is missing, is not YAML or not a grammar.
        """
        return cls(read_yaml(Path(path), dict), str(path), source, target)

    def sentence(self, random: Random) -> tuple[str, str]:
        """Return a random sentence in both languages.

        Raises UserError when none of ATTEMPTS sentences has an allowed length.
        """
        source, target = self.languages
        for _ in range(ATTEMPTS):
            try:
                phrase = self.draw(self.start, {}, random, set())
            except (NoWordLeftError, RecursionError):
                continue
            pair = self.finish(phrase[source], source), self.finish(phrase[target], target)
            if all(self.min_words <= len(text.split()) <= self.max_words for text in pair):
                return pair
        raise self.error(
            f"{ATTEMPTS} sentences, and none of {self.min_words} to {self.max_words} words"
        )

    def draw(self, symbol: str, features: Phrase, random: Random, used: set[int]) -> Phrase:
        """Return a random word of the class, or a random phrase of the rule, called `symbol`.

        used: ids of the words in the sentence so far; words that are drawn are added.
        """
        if symbol in self.words:
            return self.draw_word(symbol, features, random, used)
        scope = {**self.tables, **features}
        try:
            productions, weights = self.choices(symbol, scope)
            production = random.choices(productions, weights)[0]
            for name, (part, templates) in production.let.items():
                passed = {feature: template.fill(scope) for feature, template in templates.items()}
                scope[name] = self.draw(part, passed, random, used)
            return {name: template.fill(scope) for name, template in production.yields.items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise self.error(f"rule {symbol} looks for {error}, which it is not given") from None

    def choices(self, symbol: str, scope: Phrase) -> tuple[list[Production], list[float]]:
        """Return the productions that fit the scope, and their weights.

        They are cached by the values that the conditions of the rule look at.
        """
        values = [template.fill(scope) for template in self.conditions[symbol]]
        key = (symbol, *values)
        if key not in self.fitting_productions:
            fitting = [production for production in self.rules[symbol] if production.fits(scope)]
            if not fitting:
                raise self.error(
                    f"no production of {symbol} fits {', '.join(str(value) for value in values)}"
                )
            weights = [production.weight for production in fitting]
            self.fitting_productions[key] = (fitting, weights)
        return self.fitting_productions[key]

    def draw_word(self, kind: str, features: Phrase, random: Random, used: set[int]) -> Phrase:
        """Return a random word of the class `kind` that agrees with all features.

        Raises NoWordLeftError when words of the class come at most once, and all have.
        """
        key = (kind, *features.items())
        if key not in self.fitting_words:
            fitting = [
                word
                for word in self.words[kind]
                if all(agree(word[name], tags) for name, tags in features.items())
            ]
            if not fitting:
                raise self.error(f"there is no {kind} with {features}")
            self.fitting_words[key] = fitting
        words = self.fitting_words[key]
        if kind in self.once:
            words = [word for word in words if id(word) not in used]
            if not words:
                raise NoWordLeftError
        word = random.choice(words)
        used.add(id(word))
        return word

    def finish(self, text: str, language: str) -> str:
        """Return a sentence with parts joined, marks replaced and the first letter capitalized."""
        text = JOINT.sub(join, " ".join(text.split()))
        for pattern, replacement in self.replacements[language]:
            text = pattern.sub(replacement, text)
        return text[:1].upper() + text[1:]

    def error(self, message: str) -> UserError:
        """Return a UserError that names the grammar."""
        return UserError(f"{self.name}: {message}.")

    def read(self, data: dict) -> None:
        """Set the attributes from the contents of a grammar file."""
        for section in data.keys() - SECTIONS:
            raise self.error(f"unknown section {section!r}; {nearest(section, SECTIONS)}")
        for section in SECTIONS - data.keys():
            raise self.error(f"there is no section {section!r}")
        self.start = data["start"]
        self.once = set(data["once"])
        self.tables = data["tables"]
        self.min_words = data["length"]["least"]
        self.max_words = data["length"]["most"]
        self.words = {
            kind: list(self.read_words(kind, groups)) for kind, groups in data["words"].items()
        }
        self.rules = {
            symbol: list(self.read_rule(symbol, rule)) for symbol, rule in data["rules"].items()
        }
        self.replacements = {
            language: list(self.read_replacements(language, data["finish"]))
            for language in self.languages
        }
        self.conditions = {symbol: condition_templates(rule) for symbol, rule in self.rules.items()}

    def read_words(self, kind: str, groups: list[dict]) -> Iterator[Phrase]:
        """Yield the words of one class.

        A group has `columns` and `rows`; its other entries hold for all its rows.
        """
        layout = {"columns", "rows"}
        for group in groups:
            expected = groups[0].keys() - layout | set(groups[0]["columns"])
            columns = group["columns"]
            common = {name: value for name, value in group.items() if name not in layout}
            for row in group["rows"]:
                if len(row) != len(columns):
                    raise self.error(
                        f"{kind} {row} has {len(row)} forms, not the {len(columns)} of its columns"
                    )
                word = {**common, **dict(zip(columns, row, strict=True))}
                if word.keys() != expected:
                    raise self.error(
                        f"{kind} {row} does not have the forms {', '.join(sorted(expected))}"
                    )
                not_text = [value for value in word.values() if not isinstance(value, str)]
                if not_text:
                    raise self.error(
                        f"{kind} {row} has a form that is not text: put {not_text} in quotes"
                    )
                yield word

    def read_rule(self, symbol: str, productions: list[dict]) -> Iterator[Production]:
        """Yield the productions of a symbol."""
        for number, data in enumerate(productions, start=1):
            try:
                yield Production(data)
            except UserError as error:
                raise self.error(f"{symbol}, production {number}: {error}") from None

    def read_replacements(self, language: str, data: dict) -> Iterator[tuple[re.Pattern, str]]:
        """Yield the patterns to replace in a finished sentence, with their replacements."""
        if language not in data:
            raise self.error(f"it has no language {language!r}; {nearest(language, data)}")
        for pattern, replacement in data[language]:
            try:
                yield re.compile(pattern), replacement
            except re.error as error:
                raise self.error(f"{pattern!r} is not a pattern ({error})") from None


def generate(
    grammar: Grammar, sizes: dict[str, int], seed: int
) -> dict[str, list[tuple[str, str]]]:
    """Return as many sentence pairs for each split as `sizes` says.

    No source sentence and no target sentence occurs twice in all splits together. The same seed
    gives the same pairs. Raises UserError when the grammar cannot generate that many.
    """
    random = Random(seed)
    sources: set[str] = set()
    targets: set[str] = set()
    corpus = {}
    for split, size in sizes.items():
        corpus[split] = [
            new_pair(grammar, random, sources, targets)
            for _ in progress(range(size), f"generating {split}", size, "pairs")
        ]
    return corpus


def new_pair(
    grammar: Grammar, random: Random, sources: set[str], targets: set[str]
) -> tuple[str, str]:
    """Return a random pair whose sides are not in `sources` and `targets`, and add them there."""
    for _ in range(ATTEMPTS):
        source, target = grammar.sentence(random)
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            return source, target
    raise grammar.error(
        f"after {len(sources)} distinct pairs {ATTEMPTS} attempts gave no new one: ask for fewer"
        " pairs, or add words and rules"
    )
