"""The page of an agent: its result, and its turns as a conversation."""

import shlex
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from remora.bootstrap.invocation import Invocation
from remora.errors import NotFound, RemoraError
from remora.ids import display_name
from remora.memory.events import Gates, RunStart
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.job_fold import read_job
from remora.runs.records.job_view import JobView
from remora.runs.records.results import with_review
from remora.runs.records.run_record import model_words
from remora.runs.report.job_texts import done_summary
from remora.statuses import RUNNING
from remora.trace.read.reader import read_events, typed_payload
from remora.web.addresses import query_number
from remora.web.agent_records import TURNS, AgentRecord, open_agent
from remora.web.html_responses import download, page
from remora.web.tabs.recorded_tabs import sent_bytes
from remora.web.tabs.tab_list import RECORD, tab_values
from remora.web.tabs.turn_tab import turn_values


def agent_page(invocation: Invocation, request: Request) -> Response:
    """Return the page of an agent, with the turns around the selected one."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn = query_number(request, "turn")
    if turn is None:
        turn = agent.turn_to_show
    is_open = "record" in request.query_params
    return page(
        "agent.html",
        agent=agent,
        turns=shown_turns(agent, max(0, turn - TURNS // 2), TURNS, request),
        is_earlier=False,
        is_later=False,
        is_running=agent.status == RUNNING,
        result=_result(agent),
        summary=done_summary,
        why=tab_values(agent, turn, "why") if agent.has_failed and not agent.is_large else None,
        selected=turn,
        recorded=turn if is_open else None,
        record_tabs=_record(agent, turn) if is_open else (),
    )


def shown_turns(
    agent: AgentRecord, first: int, number: int | None, request: Request | None = None
) -> list[dict[str, Any]]:
    """Return turns from `first` on. A large stream is read for packets only if asked to."""
    if not agent.is_large or (request is not None and "whole" in request.query_params):
        last = agent.last_turn if number is None else first + number
        agent.read_packets(range(first - 1, last + 1), last)
    return [turn_values(record) for record in agent.turns(first, number)]


def _record(agent: AgentRecord, turn: int) -> list[dict[str, Any]]:
    return [{**tab_values(agent, turn, tab.name), "turn": turn} for tab in RECORD]


class JobResult(NamedTuple):
    """What an agent's job came to."""

    job: JobView
    gates: Gates | None
    diff: str
    retry_command: str
    others: dict[str, str]
    """The jobs before and after it in the run, or nothing, by what they are called."""


def _result(agent: AgentRecord) -> JobResult | None:
    """Return what an agent's job came to, or None if it is not over or replaced, or cannot be read."""
    counting, model = CurrentAttempts(), tuple[str, ...]()
    with suppress(RemoraError):
        if agent.first is None or agent.is_large:
            return None
        for event in read_events(agent.project.trace.existing_run(agent.first.run_id)):
            counting.add(data := typed_payload(event))
            model = model_words(data) if isinstance(data, RunStart) else model
        starts = {start.agent_id: start for start in counting.starts()}
        own, end = starts.get(agent.agent_id), counting.ends.get(agent.agent_id)
        if own is None or end is None:
            return None
        ids = ["", *starts, ""]
        at = ids.index(agent.agent_id)
        others = {"previous job": ids[at - 1], "next job": ids[at + 1]}
        job = with_review(read_job(agent.project.trace, own, end), counting)
        gates = counting.gates if job.proposal.changes else None
        if gates is not None:
            taken = tuple(t for t in gates.taken_out if t.agent_id == agent.agent_id)
            gates = replace(gates, taken_out=taken)
        words = ["remora", "retry", agent.first.run_id, display_name(job.node_id), *model]
        diff = job_diff(agent.project, job)
        return JobResult(job, gates, diff, shlex.join(words), others)
    return None


def turns_part(invocation: Invocation, request: Request) -> Response:
    """Return turns of an agent: all around one, or those before or after the ones of a page."""
    agent = open_agent(invocation, request.path_params["agent"])
    before, after = query_number(request, "before"), query_number(request, "after")
    first, number = query_number(request, "from") or 0, TURNS
    if before is not None:
        first, number = max(0, before - TURNS), min(TURNS, before)
    elif after is not None:
        first = after + 1
    turns = shown_turns(agent, first, number, request)
    return page(
        "turns.html",
        agent=agent,
        turns=[turn for turn in turns if before is None or turn["turn"] < before],
        selected=None,
        recorded=None,
        is_earlier=before is not None,
        is_later=after is not None,
    )


def record_part(invocation: Invocation, request: Request) -> Response:
    """Return what is recorded of a turn, or why its agent failed."""
    agent = open_agent(invocation, request.path_params["agent"])
    turn = request.path_params["turn"]
    if "why" in request.query_params:
        return page("tab.html", agent=agent, **tab_values(agent, turn, "why"))
    return page("record.html", agent=agent, record_tabs=_record(agent, turn))


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
