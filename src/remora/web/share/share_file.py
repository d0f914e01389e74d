"""Share files: one HTML file with everything that the page shows of an agent or a run."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import Any

import msgspec
from markupsafe import Markup

from remora.errors import NotFound, RemoraError, StreamDamaged
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run, run_document
from remora.runs.report.job_texts import done_summary
from remora.statuses import WITHOUT_RESULT
from remora.trace.read.reader import read_events, typed_payload
from remora.trace.verify.anchor_check import RunAnchors
from remora.trace.verify.verify_report import StreamReport
from remora.version import __version__
from remora.web.addresses import FileLinks
from remora.web.html_responses import render
from remora.web.run_pages import job_rows, used_model
from remora.web.share.agent_part import AgentPart, agent_part
from remora.web.share.stream_copy import MOST_BYTES, StreamCopy, copy_stream

_RENDERED = 2_000_000
"""Characters of HTML for the turns of all agents of a file."""
MOST_AGENTS = 100
_MOST_JOBS = 1_000


class ShareFile(msgspec.Struct, frozen=True, kw_only=True):
    """A share file."""

    html: str
    agents: int
    """The number of agents in the file."""
    reports: tuple[StreamReport, ...]
    """The reports on the streams in the file."""


def share_agent(project: Project, agent_id: str) -> ShareFile:
    """Return the share file of an agent.

    Raises NotFound if there is no such agent, UsageError if its stream is too large for a file, and
    DiskError or StreamDamaged if it cannot be read at all. A damaged stream is shown as it is.
    """
    path = project.trace.existing_agent(agent_id)
    links = FileLinks([agent_id])
    part = agent_part(project, path, links, _RENDERED)
    run = None if part.run_id is None else _anchors(project, part.run_id)
    copy = copy_stream(path, project.redact, run, of_run=False)
    return _file(agent_id, part.run_id, links, (part,), (copy,))


def share_run(project: Project, run_id: str) -> ShareFile:
    """Return the share file of a run with its agents, failed ones first.

    Raises NotFound if there is no such run, and StreamDamaged if its stream is damaged.
    """
    view = read_run(project, run_id, details=False)
    jobs = sorted(view.jobs, key=lambda job: job.status not in WITHOUT_RESULT)
    anchors = _anchors(project, run_id)
    copies = [copy_stream(project.trace.existing_run(run_id), project.redact, None, of_run=True)]
    copies += _agent_copies(project, jobs, anchors, MOST_BYTES - copies[0].size)
    links = FileLinks([copy.name for copy in copies[1:]])
    parts = _agent_parts(project, links)
    run = _run_values(project, view, jobs, parts)
    return _file(f"run {run_id}", run_id, links, parts, copies, run)


def _agent_copies(
    project: Project, jobs: Iterable[JobView], anchors: RunAnchors | None, most: int
) -> list[StreamCopy]:
    """Return the streams of the first jobs, as long as they fit into the file."""
    found: list[StreamCopy] = []
    for job in jobs:
        with suppress(RemoraError):  # too large, or removed meanwhile: the list names the job
            path = project.trace.existing_agent(job.agent_id)
            copy = copy_stream(path, project.redact, anchors, of_run=False)
            most -= copy.size
            if most < 0 or len(found) == MOST_AGENTS:
                break
            found.append(copy)
    return found


def _agent_parts(project: Project, links: FileLinks) -> list[AgentPart]:
    left, found = _RENDERED, []
    for place, agent_id in enumerate(links.agents):
        path = project.trace.existing_agent(agent_id)
        part = agent_part(project, path, links, left // (len(links.agents) - place))
        left -= part.size
        found.append(part)
    return found


def _run_values(
    project: Project, view: RunView, jobs: Sequence[JobView], parts: Iterable[AgentPart]
) -> dict[str, Any]:
    causes = {part.agent_id: part.cause for part in parts if part.has_failed and part.cause}
    said = {
        job.agent_id: project.redact.text(job.outcome.error or job.outcome.why or "")
        for job in jobs
    }
    return {
        "view": view,
        "totals": run_document(project, view)["totals"],
        "jobs": jobs[:_MOST_JOBS],
        "rows": [*job_rows(jobs[:_MOST_JOBS], said | causes)],
        "model": used_model(view),
        "summary": done_summary,
    }


def _anchors(project: ProjectRecords, run_id: str) -> RunAnchors | None:
    """Return the heads of agents in a run's stream, or None if it is missing.

    If the stream is damaged, those before the damage are returned.
    """
    found = RunAnchors()
    try:
        with suppress(StreamDamaged):
            for number, event in enumerate(read_events(project.trace.existing_run(run_id)), 1):
                found.see(number, typed_payload(event))
    except NotFound:
        return None
    return found


def _file(
    title: str,
    run_id: str | None,
    links: FileLinks,
    parts: Sequence[AgentPart],
    copies: Sequence[StreamCopy],
    run: dict[str, Any] | None = None,
) -> ShareFile:
    static = files("remora.web") / "static"
    style = "".join((static / name).read_text("utf-8") for name in ("page.css", "share.css"))
    script = (static / "share.js").read_text("utf-8")
    html = render(
        "share/file.html",
        link=links,
        title=title,
        run_id=run_id,
        parts=parts,
        copies=copies,
        run=run,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 (our own)
        script=Markup(script),  # noqa: S704 (our own)
        written=datetime.now(UTC).isoformat(),
        version=__version__,
    )
    return ShareFile(
        html=html + "\n", agents=len(parts), reports=tuple(copy.report for copy in copies)
    )


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style and this script, and no request."""
    allowed = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'"
    ).format(*allowed)
