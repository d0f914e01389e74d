"""The calls that a request offers, and answers that make one of them."""

import json
import re
from collections.abc import Callable

from remora.models.protocol import Request

_NAME = re.compile(r"(?:, )?(\w+)=")
_EARLIER = re.compile(r"- (?:recall|undo)\((?!\w+=)")
"""A tool for earlier turns, which follows the candidates and leaves all arguments open."""


def offered(request: Request) -> list[str]:
    """The candidates of a request with the renderer `lines`, each as an answer that makes it."""
    shown = (request.messages or ())[-1].content
    lines = (
        shown.rpartition("\nSuggestions:\n")[2].split("\n") if "\nSuggestions:\n" in shown else []
    )
    return [_answer(line.removeprefix("- ")) for line in lines if not _EARLIER.match(line)]


def choose(number: int) -> Callable[[Request], str]:
    """A model that always takes the candidate with this index."""
    return lambda request: offered(request)[number]


def _answer(line: str) -> str:
    tool, _, rest = line.partition("(")
    args = {}
    while (name := _NAME.match(rest)) is not None:
        args[name[1]], end = json.JSONDecoder().raw_decode(rest, name.end())
        rest = rest[end:]
    return json.dumps({"tool": tool, "args": args}, separators=(",", ":"))
