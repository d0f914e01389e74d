"""What the templates need to show a tab of a turn."""

from typing import Any

from remora.errors import RemoraError
from remora.web.agent_records import AgentRecord
from remora.web.tabs.tab_list import TABS


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
