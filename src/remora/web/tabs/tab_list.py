"""The tabs of a turn, in the order in which they are shown."""

from collections.abc import Callable
from typing import Any, NamedTuple

from remora.web.agent_records import TurnRecord
from remora.web.tabs.candidates_tab import candidates
from remora.web.tabs.events_tab import events
from remora.web.tabs.files_tab import files
from remora.web.tabs.packet_tab import packet
from remora.web.tabs.prompt_tab import prompt
from remora.web.tabs.why_tab import why


class Tab(NamedTuple):
    """A tab. `values` returns what its template `tabs/NAME.html` shows.

    It gets the turn and the number of another turn, with which packets are compared. It raises
    NotFound, DiskError or StreamDamaged if that cannot be read.
    """

    name: str
    title: str
    values: Callable[[TurnRecord, int | None], dict[str, Any]]


TABS = {
    tab.name: tab
    for tab in (
        Tab("why", "Why", why),
        Tab("packet", "Raw | Packet", packet),
        Tab("prompt", "Prompt", prompt),
        Tab("candidates", "Candidates", candidates),
        Tab("files", "Files", files),
        Tab("events", "Events", events),
    )
}
