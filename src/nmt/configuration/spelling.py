"""Keys that had another spelling: what was made then keeps its name and stays readable."""

from typing import Any

FORMER = {
    "license": "licence",
    "micro_batches": "batches",
    "normalize": "normalise",
    "optimizer": "optimiser",
    "p_randomization": "p_randomisation",
    "tokenize": "tokenise",
}
PRESENT = {former: present for present, former in FORMER.items()}


def former_spelling(value: Any) -> Any:
    """Return nested dictionaries with their keys as they were first spelled."""
    return respelled(value, FORMER)


def present_spelling(value: Any) -> Any:
    """Return nested dictionaries with their keys as they are spelled now."""
    return respelled(value, PRESENT)


def respelled(value: Any, names: dict[str, str]) -> Any:
    """Return nested dictionaries and lists with some keys renamed."""
    if isinstance(value, dict):
        return {names.get(key, key): respelled(inside, names) for key, inside in value.items()}
    if isinstance(value, list):
        return [respelled(inside, names) for inside in value]
    return value
