"""The tabs of a turn in the order in which they are shown, and what their templates need."""

from collections.abc import Callable
from typing import Any, NamedTuple

from remora.errors import RemoraError
from remora.web.agent_records import AgentRecord, TurnRecord
from remora.web.tabs.recorded_tabs import events, prompt
from remora.web.tabs.turn_tab import turn_values


class Tab(NamedTuple):
    """A tab of a turn."""

    name: str
    title: str
    values: Callable[[TurnRecord], dict[str, Any]]
    """Returns what the template `tabs/NAME.html` shows.

    It raises NotFound, DiskError or StreamDamaged if that cannot be read.
    """


def _why(turn: TurnRecord) -> dict[str, Any]:
    """Return why the turn's agent failed."""
    return {"diagnosis": turn.agent.diagnosis}


TABS = {
    tab.name: tab
    for tab in (
        Tab("why", "Why", _why),
        Tab("turn", "Turn", turn_values),
        Tab("prompt", "Prompt", prompt),
        Tab("events", "Events", events),
    )
}
RECORD = (TABS["prompt"], TABS["events"])
"""What is recorded of a turn, as it is."""


def tab_values(agent: AgentRecord, turn: int, tab: str) -> dict[str, Any]:
    """Return what the templates need to show a tab. An error is shown in the tab's place."""
    found: dict[str, Any] = {"tab": TABS[tab], "problem": None, "values": {}}
    try:
        found["values"] = TABS[tab].values(agent.turn(turn))
    except RemoraError as error:
        found["problem"] = error
    return found
