"""The tabs of a turn, in the order in which they are shown."""

from collections.abc import Callable
from typing import Any, NamedTuple

from remora.web.agent_records import TurnRecord
from remora.web.tabs.candidates_tab import candidates
from remora.web.tabs.events_tab import events
from remora.web.tabs.files_tab import files
from remora.web.tabs.packet_tab import outputs, packet
from remora.web.tabs.prompt_tab import prompt


class Tab(NamedTuple):
    """A tab. `values` returns what its template `tabs/NAME.html` shows.

    It gets the turn and the number of another turn, with which packets are compared. It raises
    NotFound, DiskError or StreamDamaged if that cannot be read. If it reads the whole stream,
    `first_values` returns what is shown of a large stream at first.
    """

    name: str
    title: str
    values: Callable[[TurnRecord, int | None], dict[str, Any]]
    first_values: Callable[[TurnRecord], dict[str, Any]] | None = None


def _why(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return why the turn's agent failed."""
    return {"diagnosis": turn.agent.diagnosis}


def _nothing(_turn: TurnRecord) -> dict[str, Any]:
    return {}


TABS = {
    tab.name: tab
    for tab in (
        Tab("why", "Why", _why, _nothing),
        Tab("packet", "Raw | Packet", packet, outputs),
        Tab("prompt", "Prompt", prompt),
        Tab("candidates", "Candidates", candidates, _nothing),
        Tab("files", "Files", files),
        Tab("events", "Events", events),
    )
}
