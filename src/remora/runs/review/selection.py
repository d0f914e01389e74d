"""Selection of the pending changes to review, for given nodes or for the whole run."""

from collections.abc import Iterable, Sequence

from remora.code.syntax.node_patterns import match_nodes
from remora.errors import NotFound, StreamDamaged, UsageError
from remora.ids import NodeKey, display_name
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named
from remora.statuses import REVERTED, UNDECIDED, status_text
from remora.text import some_of

_NAMED = 5
"""Maximum number of pending nodes listed in a hint."""


def choose_pending(view: RunView, nodes: Sequence[str], *, every: bool, verb: str) -> list[JobView]:
    """Return the jobs of `nodes` that have a pending change set.

    If `every` is True, return all jobs that have a pending change set. Raises UsageError if `nodes`
    is empty and `every` is False. Raises NotFound if a node is unknown or has no pending change
    set.
    """
    open_jobs = [job for job in view.jobs if job.review in UNDECIDED]
    if every:
        return open_jobs
    if not nodes:
        raise UsageError(
            f"no changes selected; specify nodes to {verb}, or use --all, --rule or --if",
            hint=_waiting(open_jobs) or "no change of this run is pending",
        )
    picked: list[JobView] = []
    for name in nodes:
        picked += [job for job in _named(view, name, open_jobs) if job not in picked]
    return picked


def named_nodes(job: JobView, names: Sequence[str]) -> set[NodeKey]:
    """Return the nodes of a job that are named, or nothing if the whole job is."""
    keys = [NodeKey(key) for key in job.nodes or ()]
    if job.agent_id in names:
        return set()
    named = {key for name in names for key in match_nodes([*keys, NodeKey(job.node_id)], name)}
    covers_all = all(any(is_in(key, each) for each in named) for key in keys)
    return set() if covers_all or (job.node_id in named and job.node_id not in keys) else named


def is_in(key: str, outer: NodeKey) -> bool:
    return key == outer or key.startswith(f"{outer}.")


def _waiting(jobs: Iterable[JobView]) -> str:
    names = [display_name(job.node_id) for job in jobs]
    return f"pending: {some_of(names, _NAMED)}" if names else ""


def _named(view: RunView, name: str, open_jobs: Sequence[JobView]) -> list[JobView]:
    named = jobs_named(view, name)
    found = [job for job in named if job in open_jobs]
    broken = next((job for job in named if job.damaged), None)
    if not found and broken is not None:
        raise StreamDamaged(str(broken.error), hint=_waiting(open_jobs))
    if not found:
        states = {job.review or str(job.status) for job in named}
        again = f"`remora retry {view.run_id} {name}` proposes it again"
        raise NotFound(
            f"{name} has no pending change ({', '.join(map(status_text, sorted(states)))})",
            hint=again if states == {REVERTED} else _waiting(open_jobs),
        )
    return found
