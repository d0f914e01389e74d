"""Calls with random arguments of the types that known calls pass."""

import ast
import random
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from remora.judges.calls.boundaries import boundary_values
from remora.judges.calls.case import CallInput
from remora.judges.calls.own_cases import arguments_of, with_arguments
from remora.judges.calls.target_function import TargetFunction
from remora.python_text import parse

_IS_NUMBER = re.compile(r"\d{1,9}", re.ASCII).fullmatch
_CHARACTERS = " aBz09-_./:,\n\té"
_LARGEST = 1_000
_SEED = 13
_TRIES = 5
"""Attempts for each wanted call, of which some repeat others."""


def random_calls(subject: TargetFunction, known: Sequence[CallInput], most: int) -> list[CallInput]:
    """Return at most `most` different calls like the known ones, the same ones each time.

    The boundary values of the function's code come first. In the others, each literal of a known
    call is kept, or replaced by a random value of its type.
    """
    draw = random.Random(_SEED)  # noqa: S311 - inputs, no secrets
    found = {(call.call, call.setup): call for call in (*known, *boundary_calls(subject, known))}
    for number in range(_TRIES * most if known else 0):
        if len(found) >= most:
            break
        call = known[number % len(known)]
        tree = parse(call.call, "eval").body
        if isinstance(tree, ast.Call):
            _vary(tree, draw)
            made = msgspec.structs.replace(call, call=ast.unparse(tree))
            found.setdefault((made.call, made.setup), made)
    return list(found.values())[:most]


def boundary_calls(subject: TargetFunction, known: Sequence[CallInput]) -> list[CallInput]:
    """Return the known calls, each with a boundary value of the code for one argument."""
    found = dict[tuple[str, tuple[str, ...]], CallInput]()
    for call in known:
        given = arguments_of(call.call, subject)
        for name in given:
            try:
                values = boundary_values(subject, name, given)
            except (ValueError, TypeError, SyntaxError):  # the argument is not a literal
                continue
            for value in values:
                made = with_arguments(call, subject, {name: repr(value)})
                found.setdefault((made.call, made.setup), made)
    return list(found.values())


def _vary(call: ast.Call, draw: random.Random) -> None:
    """Replace literals of a call, also by numbers of others: `f("5", 6)` becomes `f("6", 6)`."""
    parts = (node for argument in (*call.args, *call.keywords) for node in ast.walk(argument))
    literals = [node for node in parts if isinstance(node, ast.Constant)]
    numbers = [int(text) for node in literals if _IS_NUMBER(text := str(node.value))]
    for node in literals:
        if draw.random() < 0.5:
            node.value = _like(node.value, draw, numbers)


def _like(value: Any, draw: random.Random, numbers: Sequence[int]) -> Any:
    """Return a random value of the type of another one."""
    match value:
        case bool():
            return draw.random() < 0.5
        case int():
            near = value + 1, value - 1, draw.randint(-_LARGEST, _LARGEST)
            return draw.choice([0, 1, -1, *near, *numbers])
        case float():
            return draw.choice([0.0, -value, draw.uniform(-_LARGEST, _LARGEST)])
        case str():
            return _text_like(value, draw, numbers)
        case bytes():
            text = _text_like(value.decode("latin-1"), draw, numbers)
            return text.encode("latin-1", "replace")
    return value


def _text_like(text: str, draw: random.Random, numbers: Sequence[int]) -> str:
    if _IS_NUMBER(text) and draw.random() < 0.5:
        return str(_like(int(text), draw, numbers))
    more = "".join(draw.choices(_CHARACTERS, k=draw.randint(1, 8)))
    cut = draw.randint(0, len(text))
    return draw.choice(["", text[:cut], text[cut:], text + more, more + text, text.upper(), more])
