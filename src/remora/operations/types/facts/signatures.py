"""Callables as the type checker prints them."""

import functools
import re
from typing import NamedTuple

from remora.operations.types.source.terms import from_checker, split

_NAMED = re.compile(r"(?:def|bound method) ([\w.@<>]+?)\s*(?:\[[^()]*\])?\(")
_CLASS = re.compile(r"<class '([\w.]+)'>|type\[([\w.]+)(?:@[\w.]+)?\]")
_SELF = re.compile(r"\bSelf@[\w.]+|\b(\w+)@[\w.]+")


class Shown(NamedTuple):
    """A parameter as the checker prints it. `term` is empty if there is no annotation."""

    name: str
    term: str


class Callee(NamedTuple):
    """What a call calls: a class, or a function with the class of its receiver.

    `returns` is empty if the checker does not know the result.
    """

    owner: str
    name: str
    parameters: tuple[Shown, ...]
    returns: str


@functools.lru_cache(maxsize=65536)
def parse_callee(text: str) -> Callee | None:
    """Return the callee that the checker prints, or None if it is not a single function or class.

    The constructor of a class has the name `__init__`, and no parameters.
    """
    named = _CLASS.fullmatch(text)
    if named:
        owner = (named[1] or named[2]).rpartition(".")[2]
        return Callee(owner, "__init__", (), "")
    found = _NAMED.match(text)
    if found is None:
        return None
    # `bound method Self@f.m` names the function whose receiver it is
    owner, _, name = _SELF.sub("Self", found[1]).rpartition(".")
    inside, _, rest = _closing(text[found.end() :])
    returns = rest.removeprefix(" -> ")
    parameters = tuple(
        _parameter(part) for part in split(inside, ", ") if part.strip() not in ("", "/", "*")
    )
    return Callee(
        owner.partition("[")[0], name, parameters, from_checker(returns) if returns else ""
    )


def _closing(text: str) -> tuple[str, str, str]:
    """Split text at the parenthesis that closes an open one before it."""
    depth, quote = 1, ""
    for position, char in enumerate(text):
        if quote or char in "\"'":
            quote = "" if quote == char else quote or char
            continue
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return text[:position], char, text[position + 1 :]
    return text, "", ""


def _parameter(text: str) -> Shown:
    name, colon, rest = text.partition(": ")
    if not colon:
        return Shown(name.partition(" = ")[0].partition("=")[0], "")
    return Shown(name, from_checker(split(rest, " = ")[0]))
