"""Sentence pairs generated from a synchronous grammar that is written as data.

The grammar file (config/grammar.yaml explains its notation) holds words, tables and rules. This
module only interprets it and knows no word and no ending of any language: a rule draws words and
phrases under names, top down, and its templates say what they yield in each language. The templates
of one production share all choices, which makes the grammar synchronous. A phrase may yield several
parts (a finite verb and its prefix or participle), which the rule above places separately; so words
are reordered.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any

from nmt.configuration import lookup
from nmt.errors import UserError
from nmt.progress import progress
from nmt.text.productions import Phrase, Production, agree

JOINT = re.compile(r"(\w?)~(\w)")
ATTEMPTS = 1000


class NoWordLeftError(Exception):
    """All words that fit are in the sentence already: start the sentence again."""


class Grammar:
    """A grammar that generates sentence pairs, checked on construction."""

    def __init__(
        self, data: dict, name: str = "the grammar", source: str = "en", target: str = "de"
    ):
        """Raise UserError, naming the entry, when `data` is not a grammar."""
        self.name = name
        self.languages = (source, target)
        self.fitting_words: dict[tuple, list[Phrase]] = {}
        try:
            self.read(data)
        except UserError as error:
            raise self.error(str(error)) from None
        except (KeyError, TypeError, AttributeError, ValueError, re.error) as error:
            raise self.error(f"a part is missing or is not what it should be ({error!r})") from None

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
            fitting = [production for production in self.rules[symbol] if production.fits(scope)]
            if not fitting:
                raise self.error(f"no production of {symbol} fits {features}")
            weights = [production.weight for production in fitting]
            production = random.choices(fitting, weights)[0]
            for name, (part, templates) in production.let.items():
                passed = {feature: template.fill(scope) for feature, template in templates.items()}
                scope[name] = self.draw(part, passed, random, used)
            return {name: template.fill(scope) for name, template in production.yields.items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise self.error(f"rule {symbol} looks for {error}, which it is not given") from None

    def draw_word(self, kind: str, features: Phrase, random: Random, used: set[int]) -> Phrase:
        """Return a random word of the class `kind` that agrees with all features.

        Raises NoWordLeftError when words of the class come at most once, and all have.
        """
        key = (kind, *features.items())
        if key not in self.fitting_words:
            self.fitting_words[key] = [
                word
                for word in self.words[kind]
                if all(agree(word[name], tags) for name, tags in features.items())
            ]
        words = self.fitting_words[key]
        if not words:
            raise self.error(f"there is no {kind} with {features}")
        if kind in self.once:
            words = [word for word in words if id(word) not in used]
            if not words:
                raise NoWordLeftError
        word = random.choice(words)
        used.add(id(word))
        return word

    def finish(self, text: str, language: str) -> str:
        """Return a sentence with parts joined, marks replaced and the first letter capitalized."""
        # The second part is in lower case after a first.
        text = JOINT.sub(lambda m: m[1] + (m[2].lower() if m[1] else m[2]), " ".join(text.split()))
        for pattern, replacement in self.replacements[language]:
            text = pattern.sub(replacement, text)
        return text[:1].upper() + text[1:]

    def error(self, message: str) -> UserError:
        """Return a UserError that names the grammar."""
        return UserError(f"{self.name}: {message}.")

    def read(self, data: dict) -> None:
        """Set the attributes from the contents of a grammar file."""
        self.start = data["start"]
        self.once = set(data["once"])
        self.tables = data["tables"]
        self.min_words = data["length"]["least"]
        self.max_words = data["length"]["most"]
        self.words = {
            kind: [word for group in groups for word in read_words(kind, group)]
            for kind, groups in data["words"].items()
        }
        self.rules = {
            symbol: [Production(production) for production in rule]
            for symbol, rule in data["rules"].items()
        }
        for language in self.languages:
            lookup(data["finish"], language, "language", "finish")
        for kind in self.once:
            lookup(self.words, kind, "class", "once")
        for symbol, rule in self.rules.items():
            for production in rule:
                for called, _ in production.let.values():
                    lookup(self.words | self.rules, called, "class or rule", symbol)
        self.replacements = {
            language: [(re.compile(pattern), replacement) for pattern, replacement in patterns]
            for language, patterns in data["finish"].items()
        }


def read_words(kind: str, group: dict) -> Iterator[Phrase]:
    """Yield the words of a group of `columns` and `rows`; its other entries hold for all rows."""
    common = {name: value for name, value in group.items() if name not in ("columns", "rows")}
    for row in group["rows"]:
        word = {**common, **dict(zip(group["columns"], row, strict=False))}
        if len(row) != len(group["columns"]) or not all(isinstance(v, str) for v in word.values()):
            raise UserError(
                f"{kind} {row} must have {len(group['columns'])} forms, all text: put words such as"
                " no and on in quotes"
            )
        yield word


def generate(
    grammar: Grammar, sizes: Mapping[Any, int], seed: int
) -> dict[str, list[tuple[str, str]]]:
    """Return as many sentence pairs for each split as `sizes` says.

    No source sentence and no target sentence occurs twice in all splits together. The same seed
    gives the same pairs. Raises UserError when the grammar cannot generate that many.
    """
    pairs = new_pairs(grammar, Random(seed))
    return {
        split: list(progress(islice(pairs, size), f"generating {split}", size, "pairs"))
        for split, size in sizes.items()
    }


def new_pairs(grammar: Grammar, random: Random) -> Iterator[tuple[str, str]]:
    """Yield random pairs, of which no side comes twice, as long as there are any."""
    sources: set[str] = set()
    targets: set[str] = set()
    attempts = 0
    while attempts < ATTEMPTS:
        attempts += 1
        source, target = grammar.sentence(random)
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            attempts = 0
            yield source, target
    raise grammar.error(
        f"after {len(sources)} distinct pairs {ATTEMPTS} attempts gave no new one: ask for fewer"
        " pairs, or add words and rules"
    )
