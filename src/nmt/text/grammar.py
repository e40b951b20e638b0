"""Generated text: sentence pairs from a synchronous grammar that is written as data.

The grammar file (config/grammar.yaml explains its notation) holds words, tables and rules. This
module only interprets it and knows no word and no ending of any language: a rule picks words and
phrases under names, top down, and its templates say what they yield in each language. So two
templates of one production share all choices, which makes the grammar synchronous, and a phrase may
yield several parts (a finite verb and its far end) that the rule above puts into their places,
which makes words move.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from nmt.configuration import read_yaml
from nmt.errors import UserError, nearest
from nmt.progress import progress

REFERENCE = re.compile(r"\{([^{}]*)\}")
PASSED = re.compile(r"(\w+)=(\{[^{}]*\}|\S+)")
JOINED = re.compile(r"(\w?)~(\w)")
SECTIONS = {"start", "length", "once", "finish", "tables", "words", "rules"}
ATTEMPTS = 1000

Phrase = dict[str, object]


class NoneLeftError(Exception):
    """All words that fit are in the sentence already: it has to be begun anew."""


class Template:
    """Text with references in braces, as in `{noun.en}s` or `{endings noun.gender case}`.

    A reference is a path into the names in scope, then names whose values are keys to look up
    further.
    """

    def __init__(self, text: str):
        if not isinstance(text, str):
            raise UserError(f"{text!r} is not text: put it in quotes")
        self.text = text
        pieces = REFERENCE.split(text)  # literals at even places, references at odd ones
        self.pieces = [
            reference(piece) if i % 2 else piece for i, piece in enumerate(pieces) if i % 2 or piece
        ]
        self.references = [piece for piece in self.pieces if not isinstance(piece, str)]

    def value(self, scope: Phrase):
        """The text, filled in; a lone reference gives the very thing that it refers to, text or
        not.
        """
        if not self.references:
            return self.text
        if len(self.pieces) == 1:
            return look_up(self.pieces[0], scope)
        return "".join(
            [piece if isinstance(piece, str) else look_up(piece, scope) for piece in self.pieces]
        )


def reference(text: str) -> list[list[str]]:
    if not text.split():
        raise UserError("'{}' refers to nothing")
    return [path.split(".") for path in text.split()]


def look_up(paths: list[list[str]], scope: Phrase):
    found = follow(paths[0], scope)
    for path in paths[1:]:
        found = found[follow(path, scope)]
    return found


def follow(path: list[str], scope: Phrase):
    for step in path:
        scope = scope[step]
    return scope


def agree(tags: str, wanted: str) -> bool:
    """Whether two lists of tags, parted by spaces, have one in common."""
    return not set(tags.split()).isdisjoint(wanted.split())


class Production:
    """One way to rewrite a symbol: `when` it may be, what to `let` names stand for, what it
    `yields`.
    """

    def __init__(self, data: dict):
        if not isinstance(data, dict):
            raise UserError(f"{data!r} is not a mapping")
        data = dict(data)
        self.weight = data.pop("weight", 1)
        self.when = [
            (Template(f"{{{path}}}"), Template(tags)) for path, tags in data.pop("when", {}).items()
        ]
        self.let = {name: call(text) for name, text in data.pop("let", {}).items()}
        self.yields = {name: Template(text) for name, text in data.items()}

    def fits(self, scope: Phrase) -> bool:
        return all(agree(tags.value(scope), wanted.value(scope)) for tags, wanted in self.when)

    def paths(self) -> Iterator[list[str]]:
        """All that its templates refer to."""
        passed = [template for _, features in self.let.values() for template in features.values()]
        conditions = [template for pair in self.when for template in pair]
        for template in [*conditions, *passed, *self.yields.values()]:
            for paths in template.references:
                yield from paths


def call(text: str) -> tuple[str, dict[str, Template]]:
    """`Symbol feature=value feature={reference}`, parted."""
    symbol, _, rest = text.partition(" ")
    if PASSED.sub("", rest).strip():
        raise UserError(f"{text!r} is not of the form 'Symbol feature=value ...'")
    return symbol, {name: Template(value) for name, value in PASSED.findall(rest)}


def conditions(productions: list[Production]) -> Iterator[Template]:
    """All that the conditions of some productions look at, each once."""
    templates = [
        template for production in productions for pair in production.when for template in pair
    ]
    yield from {template.text: template for template in templates if template.references}.values()


class Grammar:
    """A grammar that makes sentence pairs, checked when it is made."""

    def __init__(
        self, data: dict, name: str = "the grammar", source: str = "en", target: str = "de"
    ):
        """Raises UserError, naming the entry, where `data` is not a grammar."""
        self.name, self.languages = name, (source, target)
        self.chosen: dict[tuple, list | tuple] = {}
        try:
            self.read(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{name}: a part is missing or is not what it should be ({error!r})."
            ) from None
        self.check_symbols()
        for symbol in self.rules:
            self.check_rule(symbol)

    @classmethod
    def load(cls, path: str | Path, source: str = "en", target: str = "de") -> "Grammar":
        """Raises UserError when the file is missing, is not YAML or not a grammar."""
        return cls(read_yaml(Path(path), dict), str(path), source, target)

    def sentence(self, random: Random) -> tuple[str, str]:
        """One sentence in both languages. Raises UserError when none of the allowed length
        comes.
        """
        for _ in range(ATTEMPTS):
            try:
                phrase = self.draw(self.start, {}, random, set())
            except (NoneLeftError, RecursionError):
                continue
            pair = tuple(self.finished(phrase[language], language) for language in self.languages)
            if all(self.least <= len(text.split()) <= self.most for text in pair):
                return pair
        raise UserError(
            f"{self.name}: {ATTEMPTS} sentences, and none of {self.least} to {self.most} words."
        )

    def draw(self, symbol: str, features: Phrase, random: Random, used: set[int]) -> Phrase:
        """A word of the class `symbol` with such features, or a phrase made by a rule from them."""
        if symbol in self.words:
            return self.word(symbol, features, random, used)
        scope = {**self.tables, **features}
        try:
            production = random.choices(*self.choice(symbol, scope))[0]
            for name, (part, passed) in production.let.items():
                passed = {feature: template.value(scope) for feature, template in passed.items()}
                scope[name] = self.draw(part, passed, random, used)
            return {name: template.value(scope) for name, template in production.yields.items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{self.name}: rule {symbol} looks for {error}, which it is not given."
            ) from None

    def choice(self, symbol: str, scope: Phrase) -> tuple[list[Production], list[float]]:
        """The productions that fit, and their weights; remembered by what their conditions look
        at.
        """
        key = (symbol, *[template.value(scope) for template in self.looks_at[symbol]])
        if key not in self.chosen:
            fitting = [production for production in self.rules[symbol] if production.fits(scope)]
            self.check(fitting, f"no production of {symbol} fits {', '.join(map(str, key[1:]))}")
            self.chosen[key] = fitting, [production.weight for production in fitting]
        return self.chosen[key]

    def word(self, kind: str, features: Phrase, random: Random, used: set[int]) -> Phrase:
        """Any word that agrees with all features. Raises NoneLeftError when each may come once and
        has.
        """
        key = (kind, *features.items())
        if key not in self.chosen:
            self.chosen[key] = [
                word
                for word in self.words[kind]
                if all(agree(word[name], tags) for name, tags in features.items())
            ]
            self.check(self.chosen[key], f"there is no {kind} with {features}")
        words = self.chosen[key]
        if kind in self.once:
            words = [word for word in words if id(word) not in used]
            if not words:
                raise NoneLeftError
        word = random.choice(words)
        used.add(id(word))
        return word

    def finished(self, text: str, language: str) -> str:
        """Parts joined, marks resolved and the first letter raised."""
        text = JOINED.sub(
            lambda ends: ends[1] + (ends[2].lower() if ends[1] else ends[2]), " ".join(text.split())
        )
        for pattern, replacement in self.finish[language]:
            text = pattern.sub(replacement, text)
        return text[:1].upper() + text[1:]

    # Reading and checking: what is wrong is said when the grammar is loaded, not after an hour of
    # sentences.

    def check(self, condition: object, message: str) -> None:
        if not condition:
            raise UserError(f"{self.name}: {message}.")

    def read(self, data: dict) -> None:
        for section in data.keys() ^ SECTIONS:
            self.check(
                section in SECTIONS, f"unknown section {section!r}; {nearest(section, SECTIONS)}"
            )
            self.check(False, f"there is no section {section!r}")
        self.start, self.once, self.tables = data["start"], set(data["once"]), data["tables"]
        self.least, self.most = data["length"]["least"], data["length"]["most"]
        self.words = {
            kind: list(self.read_words(kind, groups)) for kind, groups in data["words"].items()
        }
        self.rules = {
            symbol: list(self.read_rule(symbol, rule)) for symbol, rule in data["rules"].items()
        }
        self.finish = {
            language: list(self.read_finish(language, data["finish"]))
            for language in self.languages
        }
        self.looks_at = {symbol: list(conditions(rule)) for symbol, rule in self.rules.items()}

    def read_words(self, kind: str, groups: list[dict]) -> Iterator[Phrase]:
        """The words of one class. A group has `columns` and `rows`; what else it says holds for all
        its rows.
        """
        for group in groups:
            common = {
                name: value for name, value in group.items() if name not in ("columns", "rows")
            }
            for row in group["rows"]:
                whole = len(row) == len(group["columns"])
                self.check(
                    whole,
                    f"{kind} {row} has {len(row)} forms, not the {len(group['columns'])} of its"
                    " columns",
                )
                word = {**common, **dict(zip(group["columns"], row, strict=True))}
                missing = groups[0].keys() - {"columns", "rows"} | set(groups[0]["columns"])
                self.check(
                    word.keys() == missing,
                    f"{kind} {row} has not the forms {', '.join(sorted(missing))}",
                )
                odd = [value for value in word.values() if not isinstance(value, str)]
                self.check(
                    not odd, f"{kind} {row} has a form that is not text: put {odd} in quotes"
                )
                yield word

    def read_rule(self, symbol: str, productions: list[dict]) -> Iterator[Production]:
        for number, data in enumerate(productions, start=1):
            try:
                yield Production(data)
            except UserError as error:
                raise UserError(f"{self.name}: {symbol}, production {number}: {error}.") from None

    def read_finish(self, language: str, data: dict) -> Iterator[tuple[re.Pattern, str]]:
        self.check(language in data, f"it has no language {language!r}; {nearest(language, data)}")
        for pattern, replacement in data[language]:
            try:
                yield re.compile(pattern), replacement
            except re.error as error:
                raise UserError(f"{self.name}: {pattern!r} is not a pattern ({error}).") from None

    def check_symbols(self) -> None:
        known = [*self.words, *self.rules]
        called = [
            part
            for rule in self.rules.values()
            for production in rule
            for part, _ in production.let.values()
        ]
        for symbol in [self.start, *self.once, *called]:
            self.check(
                symbol in known,
                f"there is no rule or word class {symbol!r}; {nearest(symbol, known)}",
            )
        for language in self.languages:
            made = self.rules[self.start][0].yields
            self.check(
                language in made, f"{self.start} yields no {language!r}; {nearest(language, made)}"
            )

    def check_rule(self, symbol: str) -> None:
        """All productions yield the same names, and refer only to what they are given or let be."""
        calls = [
            passed
            for rule in self.rules.values()
            for production in rule
            for part, passed in production.let.values()
            if part == symbol
        ]
        given = {feature for passed in calls for feature in passed} | self.tables.keys()
        for number, production in enumerate(self.rules[symbol], start=1):
            where = f"{symbol}, production {number}"
            odd = sorted(production.yields.keys() ^ self.rules[symbol][0].yields.keys())
            self.check(not odd, f"{where} and production 1 do not both yield {', '.join(odd)}")
            names = {*given, *production.let}
            for path in production.paths():
                self.check(
                    path[0] in names,
                    f"{where}: nothing is called {path[0]!r}; {nearest(path[0], names)}",
                )
                if path[0] in production.let and len(path) > 1:
                    forms = self.forms(production.let[path[0]][0])
                    self.check(
                        path[1] in forms,
                        f"{where}: {path[0]} has no {path[1]!r}; {nearest(path[1], forms)}",
                    )

    def forms(self, symbol: str) -> list[str]:
        return list(self.words[symbol][0] if symbol in self.words else self.rules[symbol][0].yields)


def generate(
    grammar: Grammar, sizes: dict[str, int], seed: int
) -> dict[str, list[tuple[str, str]]]:
    """Pairs for each split, `sizes` of them; no source and no target sentence comes twice in all
    the splits.

    Raises UserError when the grammar has not so many.
    """
    random = Random(seed)
    seen: tuple[set[str], set[str]] = (set(), set())
    return {
        split: [
            new_pair(grammar, random, seen)
            for _ in progress(range(size), f"generating {split}", size, "pairs")
        ]
        for split, size in sizes.items()
    }


def new_pair(grammar: Grammar, random: Random, seen: tuple[set[str], set[str]]) -> tuple[str, str]:
    for _ in range(ATTEMPTS):
        source, target = grammar.sentence(random)
        if source not in seen[0] and target not in seen[1]:
            seen[0].add(source)
            seen[1].add(target)
            return source, target
    raise UserError(
        f"{grammar.name}: after {len(seen[0])} distinct pairs {ATTEMPTS} attempts gave none that is"
        " new: ask for fewer pairs, or add words and rules."
    )
