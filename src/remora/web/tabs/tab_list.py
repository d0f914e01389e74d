"""The tabs of a turn in the order in which they are shown, and what their templates need."""

from collections.abc import Callable
from typing import Any, NamedTuple

from remora.errors import RemoraError
from remora.web.agent_records import AgentRecord, TurnRecord
from remora.web.tabs.packet_tab import outputs, packet
from remora.web.tabs.recorded_tabs import candidates, events, files, prompt


class Tab(NamedTuple):
    """A tab of a turn."""

    name: str
    title: str
    values: Callable[[TurnRecord, int | None], dict[str, Any]]
    """Returns what the template `tabs/NAME.html` shows.

    It gets the turn and the number of another turn, with which packets are compared. It raises
    NotFound, DiskError or StreamDamaged if that cannot be read.
    """
    first_values: Callable[[TurnRecord], dict[str, Any]] | None = None
    """Returns what is shown of a large stream at first, if `values` reads the whole stream."""


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


def tab_values(
    agent: AgentRecord, turn: int, tab: str, against: int | None, *, in_parts: bool = False
) -> dict[str, Any]:
    """Return what the templates need to show a tab. An error is shown in the tab's place.

    With `in_parts`, a tab for which the whole of a large stream has to be read shows what the turn
    itself has, and `whole` is the query for all of it.
    """
    chosen = TABS.get(tab, TABS["packet"])
    found: dict[str, Any] = {"tabs": TABS.values(), "tab": chosen, "problem": None, "values": {}}
    is_part = in_parts and agent.is_large and chosen.first_values is not None
    found["whole"] = f"tab={chosen.name}&whole=1" if is_part else ""
    try:
        record = agent.turn(turn)
        if is_part and chosen.first_values is not None:
            found["values"] = chosen.first_values(record)
        else:
            found["values"] = chosen.values(record, against)
    except RemoraError as error:
        found["problem"] = error
    return found
