"""The page of an agent: a row for each turn, and the tabs of the selected turn."""

from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from remora.errors import NotFound, RemoraError
from remora.memory.events import ModelRequest
from remora.runs.diagnosis.diagnosis import why
from remora.trace.read.reader import RUNNING
from remora.web.agent_records import ROWS, AgentRecord, Records
from remora.web.html_responses import download, page
from remora.web.tabs.prompt_tab import sent_bytes
from remora.web.tabs.tab_list import TABS
from remora.web.turn_bars import turn_bars

_LARGE = 4_000_000
FAILED = ("failed", "error", "interrupted", "damaged")
"""Statuses of agents that are shown at the turn that failed."""


def agent_page(records: Records, request: Request) -> Response:
    """Return the page of an agent, with the rows around the selected turn."""
    agent = records.agent(request.path_params["agent"])
    turn = _number(request, "turn")
    has_failed = agent.status in FAILED
    if turn is None:
        turn = _failing_turn(agent) if has_failed else min(1, agent.last_turn)
    tab = request.query_params.get("tab", "why" if has_failed else "packet")
    first = _number(request, "from")
    rows = agent.rows(max(0, turn - ROWS // 2) if first is None else first)
    return page(
        "agent.html",
        agent=agent,
        turn=turn,
        rows=rows,
        is_running=agent.status == RUNNING,
        **tab_values(agent, turn, tab, _number(request, "against")),
    )


def rows_part(records: Records, request: Request) -> Response:
    """Return the next rows of an agent, for a page that shows the ones before."""
    agent = records.agent(request.path_params["agent"])
    rows = agent.rows(_number(request, "from") or 0)
    return page("rows.html", agent=agent, rows=rows, turn=_number(request, "turn"))


def turn_part(records: Records, request: Request) -> Response:
    """Return the tabs of a turn, for a page that shows the rows."""
    agent = records.agent(request.path_params["agent"])
    turn, tab = int(request.path_params["turn"]), request.query_params.get("tab", "packet")
    values = tab_values(agent, turn, tab, _number(request, "against"))
    return page("turn.html", agent=agent, turn=turn, **values)


def bars_part(records: Records, request: Request) -> Response:
    """Return the bars of all turns, which take a pass over the stream."""
    agent = records.agent(request.path_params["agent"])
    return page("bars.html", agent=agent, bars=turn_bars(agent))


def line_file(records: Records, request: Request) -> Response:
    """Return the recorded bytes of a line."""
    agent = records.agent(request.path_params["agent"])
    turn, number = int(request.path_params["turn"]), int(request.path_params["line"])
    for line in agent.turn(turn).lines:
        if line.number == number:
            return download(line.raw + b"\n", f"{agent.agent_id}-{number}.json")
    raise NotFound(f"turn {turn} of {agent.agent_id} has no line {number}")


def prompt_file(records: Records, request: Request) -> Response:
    """Return the bytes of a turn's last prompt, as they were sent."""
    agent = records.agent(request.path_params["agent"])
    turn = int(request.path_params["turn"])
    requests = agent.turn(turn).data(ModelRequest.type)
    if not requests:
        raise NotFound(f"no model was asked in turn {turn} of {agent.agent_id}")
    return download(sent_bytes(requests[-1]), f"{agent.agent_id}-{turn}-prompt")


def tab_values(agent: AgentRecord, turn: int, tab: str, against: int | None) -> dict[str, Any]:
    """Return what the templates need to show a tab. An error is shown in the tab's place."""
    chosen = TABS.get(tab, TABS["packet"])
    found: dict[str, Any] = {"tabs": TABS.values(), "tab": chosen, "problem": None, "values": {}}
    try:
        found["values"] = chosen.values(agent.turn(turn), against)
    except RemoraError as error:
        found["problem"] = error
    return found


def _failing_turn(agent: AgentRecord) -> int:
    """Return the turn to look at: the one that the why line names, or the last with an error.

    The why line of a large stream takes too long for the first look.
    """
    if agent.path.stat().st_size < _LARGE:
        with suppress(RemoraError):
            return why(agent.project.trace, agent.agent_id).look_at
    last = agent.last_turn
    rows = agent.rows(max(0, last - ROWS), ROWS + 1)
    return next((row.turn for row in reversed(rows) if row.error or row.unreadable), last)


def _number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 10 else None
