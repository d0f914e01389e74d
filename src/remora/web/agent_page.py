"""The page of an agent: a row for each turn, and the tabs of the selected turn."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from remora.bootstrap.invocation import Invocation
from remora.errors import NotFound, RemoraError
from remora.memory.events import GateResult
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.job_fold import read_job
from remora.runs.records.job_view import JobView, ReviewState
from remora.runs.report.job_texts import done_summary
from remora.statuses import RUNNING
from remora.trace.read.reader import read_events, typed_payload
from remora.web.addresses import query_number
from remora.web.agent_records import ROWS, AgentRecord, open_agent
from remora.web.html_responses import download, page
from remora.web.tabs.recorded_tabs import sent_bytes
from remora.web.tabs.tab_list import tab_values


def agent_page(invocation: Invocation, request: Request) -> Response:
    """Return the page of an agent, with the rows around the selected turn."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn, first = query_number(request, "turn"), query_number(request, "from")
    if turn is None:
        turn = agent.turn_to_show
    rows = agent.rows(max(0, turn - ROWS // 2) if first is None else first)
    return page(
        "agent.html",
        agent=agent,
        turn=turn,
        rows=[*rows],
        size=ROWS,
        is_earlier=False,
        is_later=False,
        is_running=agent.status == RUNNING,
        result=_result(agent),
        summary=done_summary,
        **_requested_values(request, agent, turn, _tab(request, agent)),
    )


class JobResult(NamedTuple):
    """What an agent's job came to."""

    job: JobView
    gates: Sequence[GateResult]
    diff: str


def _result(agent: AgentRecord) -> JobResult | None:
    """Return what an agent's job came to, or None if it is not over or replaced, or cannot be read."""
    counting = CurrentAttempts()
    with suppress(RemoraError):
        if agent.first is None or agent.is_large:
            return None
        for event in read_events(agent.project.trace.existing_run(agent.first.run_id)):
            counting.add(typed_payload(event))
        own = next((s for s in counting.starts() if s.agent_id == agent.agent_id), None)
        end = counting.ends.get(agent.agent_id)
        if own is None or end is None:
            return None
        job = read_job(agent.project.trace, own, end)
        job = replace(
            job,
            review=ReviewState(state=counting.review(agent.agent_id)),
            proposal=replace(job.proposal, proof=counting.proofs.get(agent.agent_id, "")),
        )
        gates = counting.gates.results if counting.gates and job.proposal.changes else ()
        return JobResult(job, gates, job_diff(agent.project, job))
    return None


def rows_part(invocation: Invocation, request: Request) -> Response:
    """Return rows of an agent: all around a turn, or those before or after the ones of a page."""
    agent = open_agent(invocation, request.path_params["agent"])
    before, after = query_number(request, "before"), query_number(request, "after")
    first = query_number(request, "from") or 0
    if before is not None:
        first = max(0, before - ROWS)
    elif after is not None:
        first = after + 1
    rows = [row for row in agent.rows(first) if before is None or row.turn < before]
    return page(
        "rows.html",
        agent=agent,
        rows=rows,
        turn=None,
        size=ROWS,
        is_earlier=before is not None,
        is_later=after is not None,
    )


def turn_part(invocation: Invocation, request: Request) -> Response:
    """Return the tabs of a turn, for a page that shows the rows."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn = request.path_params["turn"]
    values = _requested_values(request, agent, turn, request.query_params.get("tab", "packet"))
    return page("turn.html", agent=agent, turn=turn, **values)


def line_file(invocation: Invocation, request: Request) -> Response:
    """Return the recorded bytes of a line."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn, number = request.path_params["turn"], request.path_params["line"]
    for line in agent.turn(turn).lines:
        if line.number == number:
            return download(line.raw + b"\n", f"{agent.agent_id}-{number}.json")
    raise NotFound(f"turn {turn} of {agent.agent_id} has no line {number}")


def prompt_file(invocation: Invocation, request: Request) -> Response:
    """Return the bytes of a turn's last prompt, as they were sent."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn = request.path_params["turn"]
    record = agent.turn(turn)
    requests = record.data(step.event for step in record.events.requests)
    if not requests:
        raise NotFound(f"no model was asked in turn {turn} of {agent.agent_id}")
    return download(sent_bytes(requests[-1]), f"{agent.agent_id}-{turn}-prompt")


def _tab(request: Request, agent: AgentRecord) -> str:
    """Return the name of the tab to show. The cause of a failure comes first."""
    has_cause = agent.has_failed and not agent.is_large
    return request.query_params.get("tab", "why" if has_cause else "packet")


def _requested_values(request: Request, agent: AgentRecord, turn: int, tab: str) -> dict[str, Any]:
    against = query_number(request, "against")
    in_parts = against is None and "whole" not in request.query_params
    return tab_values(agent, turn, tab, against, in_parts=in_parts)
