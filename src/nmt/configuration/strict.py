"""What all configuration classes share, and how YAML becomes them.

Unknown keys are errors that name the nearest known one.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from reprlib import Repr
from typing import Annotated

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from nmt.errors import UserError, nearest


def no_truth_value(value: object) -> object:
    """Raises ValueError for true and false, which Python counts with."""
    if isinstance(value, bool):
        raise ValueError(f"expected a number, not {str(value).lower()}")
    return value


NUMBER = BeforeValidator(no_truth_value)
Count = Annotated[int, Field(ge=1), NUMBER]
# Far above any that was ever trained: a typing error is not to fill the memory.
Depth = Annotated[int, Field(ge=1, le=1000), NUMBER]
Width = Annotated[int, Field(ge=1, le=1_000_000), NUMBER]
Several = Annotated[int, Field(ge=2), NUMBER]
Whole = Annotated[int, Field(ge=0), NUMBER]
Fraction = Annotated[float, Field(ge=0, lt=1), NUMBER]
Positive = Annotated[float, Field(gt=0), NUMBER]
NotNegative = Annotated[float, Field(ge=0), NUMBER]
MOST_SEED = 2**32 - 1  # the limit of the strictest library
Seed = Annotated[int, Field(ge=0, le=MOST_SEED), NUMBER]
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=NAME)]  # names become parts of file names
# A name with overrides, "demo-transformer+updates-60": see nmt.configuration.overrides
ROW_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(\+[a-z_]+-[A-Za-z0-9_.-]+)*$"
RowName = Annotated[str, Field(pattern=ROW_NAME)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
NO_NAME = "{} is no name: take letters, digits, _ . and -, no sign at the start"
# Shortens values in messages: YAML's references can make a value as large as one likes.
BRIEF = Repr()
BRIEF.maxstring = BRIEF.maxother = BRIEF.maxlong = 200
# Plain words for pydantic's types of errors, whose own messages are for programmers
EXPECTED = {
    "int_": "expected a whole number",
    "float_": "expected a number",
    "bool_": "expected true or false",
    "string_type": "expected text",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "dict_type": "expected keys and values",
    "model_type": "expected keys and values",
}


class Strict(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def chosen(self) -> dict:
        """Return what differs from the defaults, and the class's name.

        It stays what it was when a key is added.
        """
        return {"class": type(self).__name__} | self.model_dump(exclude_defaults=True)


def lookup(entries: dict, name: object, what: str, where: str | None = None):
    """Return an entry; raises UserError for what is no name or is not there.

    where: where the name stands, for the message.
    """
    if not isinstance(name, str) or name not in entries:
        raise UserError(
            f"{where + ': ' if where else ''}unknown {what} {name!r}: {nearest(str(name), entries)}"
        )
    return entries[name]


def check_names(names: Iterable[object], where: str) -> None:
    """Raises UserError for what cannot be a part of a file's name."""
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            raise UserError(f"{where}: {NO_NAME.format(brief(name))}")


def validated(cls: type[Strict], values: object, where: str):
    """An instance of `cls`, or UserError with the first fault in one sentence."""
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        faults = error.errors()
        # A misspelled key is also a missing one: what is there says more than what is not.
        first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
        # A value of a list has no key but a place; a fault of a key itself is marked after it.
        loc = [part for part in first["loc"] if part != "[key]"]
        *path, last = [f"value {part + 1}" if isinstance(part, int) else part for part in loc] or [
            ""
        ]
        inside = f", {'.'.join(path)}" if path else ""
        if first["type"] == "extra_forbidden":
            fault = f"unknown key {last!r}: {nearest(last, known_keys(cls, path))}"
        elif first["type"] == "missing":
            fault = (
                f"{last} is missing"
                if isinstance(first["loc"][-1], int)
                else f"the key {last!r} is missing"
            )
        elif first["type"] == "literal_error" and "[key]" in first["loc"]:
            fault = f"unknown key {last!r}: it can be {first['ctx']['expected']}"
        elif (
            first.get("ctx", {}).get("pattern") in (NAME, ROW_NAME)
            or first["type"] == "invalid_key"
            or "[key]" in first["loc"]
        ):
            fault = NO_NAME.format(brief(first["input"]))
        else:
            message = next(
                (what for kind, what in EXPECTED.items() if first["type"].startswith(kind)),
                first["msg"],
            )
            if not first["type"].startswith(("value_error", "too_", "literal_")):
                message += f", not {brief(first['input'])}"
            message = message.removeprefix("Value error, ")
            fault = f"{last}: {message}" if last else message
        raise UserError(f"{where}{inside}: {fault}") from None


def brief(value: object) -> str:
    """Return a value as Python writes it, without most of it where it is large."""
    return BRIEF.repr(value)


def known_keys(cls: type[Strict], path: list[str]) -> list[str]:
    """The keys known at `path` inside `cls`: found by walking its JSON schema."""
    schema = cls.model_json_schema()
    node = schema
    for part in path:
        node = next(
            (
                found
                for option in [node, *node.get("anyOf", []), *node.get("oneOf", [])]
                if (found := step_into(follow(option, schema), part)) is not None
            ),
            {},
        )
    options = [
        follow(option, schema) for option in [node, *node.get("anyOf", []), *node.get("oneOf", [])]
    ]
    return [key for option in options for key in option.get("properties", {})]


def step_into(node: dict, part: str) -> dict | None:
    """Return the schema of a key, or of the items, inside a schema."""
    if part in node.get("properties", {}):
        return node["properties"][part]
    for key in ("additionalProperties", "items"):
        if isinstance(node.get(key), dict):
            return node[key]
    return next(iter(node.get("patternProperties", {}).values()), None)


def follow(node: dict, schema: dict) -> dict:
    """Return a node, or what it refers to."""
    return schema["$defs"][node["$ref"].rsplit("/", 1)[-1]] if "$ref" in node else node


def read_yaml(path: Path, kind: type):
    """Return what a file holds.

    Raises UserError when it is missing, is not YAML, or holds something else than `kind`.
    """
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}: name another file.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not valid YAML: it is not in UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        raise UserError(
            f"{path} is not valid YAML: line {error.problem_mark.line + 1}: {error.problem}."
        ) from None
    except RecursionError:
        raise UserError(f"{path} is not valid YAML: it is nested too deep.") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    except ValueError as error:  # a number of more digits, or a date with more days, than there are
        raise UserError(f"{path} is not valid YAML: {error}.") from None
    if values is None:
        raise UserError(f"{path} is empty.")
    if not isinstance(values, kind):
        raise UserError(f"{path}: expected {'keys and values' if kind is dict else 'a list'}.")
    return values


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key that is there twice: YAML lets the later one win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return a mapping; raises ConstructorError for a key that is there twice."""
        seen = []
        for entry, _ in node.value:
            if entry.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(entry, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", entry.start_mark
                )
            seen.append(key)
        return super().construct_mapping(node, deep)


# Without a point 3e-4 is text to YAML 1.1, and to nobody else.
UniqueKeys.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+[eE][-+]?\d+$"), list("-+0123456789")
)
