"""Addresses: numbers in them, and what templates link to: paths of the server or places in a share file."""

from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import quote

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request

_DIGITS = 9
"""Digits of the largest number. Python refuses to read numbers of thousands of digits."""


class _ShortNumber(IntegerConvertor):
    """A number in a path. A path with a longer one does not exist."""

    regex = f"[0-9]{{1,{_DIGITS}}}"


register_url_convertor("number", _ShortNumber())


class PageLinks:
    """Paths of the server."""

    in_file: ClassVar = False

    def agent(self, agent_id: str) -> str:
        """Return the address of an agent."""
        return f"/agents/{quote(agent_id, safe='')}"

    def turn(self, agent_id: str, turn: int, _tab: str = "") -> str:
        """Return the address of a turn."""
        return f"{self.agent(agent_id)}?turn={turn}#t{turn}"

    def event(self, agent_id: str, turn: int, seq: int) -> str:
        """Return the address of an event in the record of its turn."""
        return f"{self.agent(agent_id)}?turn={turn}&record=1#e{seq}"


class FileLinks:
    """Places in a share file with these agents. `static/share.js` shows them."""

    in_file: ClassVar = True

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents

    def row(self, agent_id: str, turn: int) -> str:
        """Return the ID of a turn's row."""
        return f"{agent_id}-row-{turn}"

    def agent(self, agent_id: str) -> str:
        """Return the fragment of an agent, or nothing if the file does not have it."""
        return f"#{agent_id}" if agent_id in self.agents else ""

    def turn(self, agent_id: str, turn: int, tab: str = "") -> str:
        """Return the fragment of a turn, or of one of its tabs."""
        return f"#{agent_id}-t{turn}" + (f"-{tab}" if tab else "")

    def event(self, agent_id: str, turn: int, _seq: int) -> str:
        """Return the fragment of the turn's events."""
        return self.turn(agent_id, turn, "events")


Links = PageLinks | FileLinks


def number_in(text: str | None) -> int | None:
    """Return the number that a text is, or None if it is none, or a long one."""
    return int(text) if text and len(text) <= _DIGITS and text.isdecimal() else None


def query_number(request: Request, name: str) -> int | None:
    """Return a number of the query, or None if it is missing or not a short number."""
    return number_in(request.query_params.get(name))
