"""What all configuration classes share, and how YAML becomes them.

A fault is one sentence that names the file, the entry, the key and, for an unknown key, the
nearest known one.
"""

import re
from pathlib import Path
from reprlib import Repr
from typing import Annotated, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from nmt.errors import UserError, nearest
from nmt.files import UNSAFE

# Strict, because Python counts with true and false.
Count = Annotated[int, Field(ge=1, strict=True)]
Whole = Annotated[int, Field(ge=0, strict=True)]
# Far above any that was ever trained: neither a typing error nor a stranger's model is to fill the
# memory, or to compute without end.
Several = Annotated[int, Field(ge=2, le=10_000, strict=True)]
Length = Annotated[int, Field(ge=1, le=10_000, strict=True)]
Depth = Annotated[int, Field(ge=1, le=1000, strict=True)]
Width = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Fraction = Annotated[float, Field(ge=0, lt=1, strict=True)]
Positive = Annotated[float, Field(gt=0, strict=True)]
NotNegative = Annotated[float, Field(ge=0, strict=True)]
MOST_SEED = 2**32 - 1  # the limit of the strictest library
Seed = Annotated[int, Field(ge=0, le=MOST_SEED, strict=True)]
# Names become parts of file names.
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Name = Annotated[str, Field(pattern=NAME)]
# A name with overrides, "demo-transformer+updates-60": see nmt.configuration.rows
RowName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(\+[a-z_]+-[A-Za-z0-9_.-]+)*$")]
Language = Annotated[str, Field(pattern="^[a-z]{2,3}$")]
# Shortens values in messages: YAML's references can make a value as large as one likes.
BRIEF = Repr()
BRIEF.maxstring = BRIEF.maxother = BRIEF.maxlong = 200


def in_one_line(text: object) -> object:
    """Return the text; raises ValueError for what a report or a terminal could take for its own."""
    if isinstance(text, str) and UNSAFE.search(text):
        raise ValueError("has a line end or a control character: write it in one line")
    return text


Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(in_one_line)
]


class Strict(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def refuse_unknown_keys(cls, values: object) -> object:
        """Raise ValueError for an unknown key, with the nearest known one."""
        if isinstance(values, dict):
            for key in values:
                if key not in cls.model_fields:
                    hint = nearest(str(key), cls.model_fields)
                    raise ValueError(f"unknown key {BRIEF.repr(key)}: {hint}")
        return values

    def chosen(self) -> dict:
        """Return what differs from the defaults, which stays the same when a key is added."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def changed(self, **values: object) -> Self:
        """Return a copy with other values."""
        return self.model_copy(update=values)


def lookup(entries: dict, name: object, what: str, where: str = ""):
    """Return an entry; raises UserError for an unknown one.

    where: where the name stands, for the message.
    """
    if not isinstance(name, str) or name not in entries:
        raise UserError(
            f"{where}{': ' if where else ''}unknown {what} {name!r}: {nearest(str(name), entries)}"
        )
    return entries[name]


def validated(cls: type[Strict], values: object, where: str):
    """Return an instance of `cls`; raises UserError with the first fault in one sentence."""
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        # "[key]", or the type of one of several that a value may have, as "list[str]"
        keys = [str(part) for part in fault["loc"] if "[" not in str(part)]
        place = ", ".join([where, *([".".join(keys)] if keys else [])])
        message, given = fault["msg"].removeprefix("Value error, "), BRIEF.repr(fault["input"])
        if fault["type"] == "missing":
            message = "is missing"
        elif fault["type"] == "string_type" and fault["input"] is not None:
            message = f"put quotes around the value: without, YAML reads {given}"
        elif fault["type"] != "value_error":
            message += f", not {given}"
        raise UserError(f"{place}: {message}") from None


def read_list(path: Path, cls: type[Strict]) -> dict:
    """Return the entries of a list, instances of `cls`, by where they stand, for messages."""
    places = ((f"{path}, entry {n}", values) for n, values in enumerate(read_yaml(path, list), 1))
    return {where: validated(cls, values, where) for where, values in places}


def read_yaml(path: Path, kind: type):
    """Return what a file holds.

    Raises UserError when it is missing, is not YAML, or holds something else than `kind`.
    """
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{path} is not valid YAML: line {line}: {error.problem}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(values, kind):
        raise UserError(f"{path}: expected {'keys and values' if kind is dict else 'a list'}.")
    if isinstance(values, dict) and "__use_yte__" in values:
        raise UserError(
            f"{path}: take out __use_yte__, with which Snakemake has already run the code in it."
        )
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
