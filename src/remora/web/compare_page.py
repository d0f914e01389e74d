"""Two agents or two runs side by side."""

from starlette.requests import Request
from starlette.responses import Response

from remora.errors import RemoraError, UsageError
from remora.ids import display_name
from remora.runs.records.job_view import JobView
from remora.runs.records.name_lookup import stream_named
from remora.runs.records.packet_diff import PacketChange, packet_changes
from remora.runs.records.results import RunView, read_run
from remora.web.agent_records import AgentRecord, Records
from remora.web.html_responses import page
from remora.web.short_numbers import query_number
from remora.web.turn_rows import TurnRow

_TURNS = 200
_NAMES = ("/agent_id", "/run_id")
"""Places of a packet that differ between any two agents."""


def compare_page(records: Records, request: Request) -> Response:
    """Return the page that compares two agents, or two runs, whose names are in the query."""
    project = records.project()
    names = [request.query_params.get(side, "") for side in ("left", "right")]
    if not all(names):
        raise UsageError("two names are needed", hint="choose two runs in the list of runs")
    left, right = (stream_named(project.trace, name) for name in names)
    are_runs = [project.trace.find_run(name) is not None for name in (left, right)]
    if all(are_runs):
        views = [read_run(project, name, details=False) for name in (left, right)]
        return page("compare_runs.html", views=views, pairs=_job_pairs(views[0], views[1]))
    if any(are_runs):
        raise UsageError("a run cannot be compared with an agent", hint="choose two of a kind")
    agents = records.agent(left), records.agent(right)
    pairs = _turn_pairs(*agents)
    turn = query_number(request, "turn")
    number = 1 if turn is None else turn
    changes, problem = _packet_changes(*agents, number)
    first = [agent.first for agent in agents if agent.first is not None]
    return page(
        "compare_agents.html",
        agents=agents,
        runs=dict.fromkeys(event.run_id for event in first),
        targets=dict.fromkeys(f"{e.operation} {display_name(e.node_id)}" for e in first),
        pairs=pairs,
        more=max(agent.last_turn for agent in agents) - max(pairs, default=0),
        turn=number,
        changes=changes,
        problem=problem,
    )


def _job_pairs(left: RunView, right: RunView) -> list[tuple[JobView | None, JobView | None]]:
    """Return the jobs of two runs, those on the same node beside each other."""
    others = {(job.operation, job.node_id): job for job in right.jobs}
    pairs: list[tuple[JobView | None, JobView | None]] = [
        (job, others.pop((job.operation, job.node_id), None)) for job in left.jobs
    ]
    return [*pairs, *((None, job) for job in others.values())]


def _turn_pairs(
    left: AgentRecord, right: AgentRecord
) -> dict[int, tuple[TurnRow | None, TurnRow | None]]:
    """Return the first turns of two agents, by their numbers."""
    one, other = ({row.turn: row for row in agent.rows(0, _TURNS)} for agent in (left, right))
    turns = sorted({**one, **other})[:_TURNS]
    return {turn: (one.get(turn), other.get(turn)) for turn in turns}


def _packet_changes(
    left: AgentRecord, right: AgentRecord, turn: int
) -> tuple[list[PacketChange], str]:
    """Return how the packets of a turn differ, or why that is not known."""
    try:
        packets = [agent.turn(turn).packet() for agent in (left, right)]
    except RemoraError as error:
        return [], error.with_hint
    return [each for each in packet_changes(*packets) if each.path not in _NAMES], ""
