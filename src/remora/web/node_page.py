"""The page of a node: the Hub's facts about it, with their tiers, and the jobs that worked on it."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import HostError, NotFound, RemoraError
from remora.hub.link_progress import why_unknown
from remora.hub.node import NodeState
from remora.hub.sources.node_lookup import answered
from remora.ids import MODULE, display_name, split_node_key, unescape_path
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import read_run
from remora.runs.records.run_listing import list_run_lines
from remora.usecases.hub.open_hub import SharedHub
from remora.web.html_responses import page
from remora.workspaces.rooted_files import RootedFiles

_RUNS = 10
"""Runs in which jobs on a node are looked for, newest first."""
_MOST_FOUND = 100
_MOST_LINES = 500
_LINKS = frozenset({"callers", "references", "callees", "related_tests"})


class PastJob(NamedTuple):
    """A job on a node, and the run that it was part of."""

    run_id: str
    started: str
    job: JobView


async def node_page(invocation: Invocation, hub: SharedHub, request: Request) -> Response:
    """Return the page of the node that the path names."""
    context = await hub.facts(request.path_params["node"])
    (node,) = context.values()
    unknown = ""
    if None in (node.callers, node.callees, node.related_tests):
        opened = await hub.opened()
        unknown = await asyncio.to_thread(why_unknown, opened.places) or ""
    project = await asyncio.to_thread(open_records, invocation)
    jobs = await asyncio.to_thread(lambda: [*_jobs_on(project, node.key)])
    return page(
        "node.html",
        node=node,
        facts=_facts(node),
        source=await asyncio.to_thread(_source, project, node),
        links=[
            ("Callers, tests included", node.callers),
            ("References", node.references),
            ("Callees", node.callees),
        ],
        unknown=unknown,
        jobs=jobs,
    )


async def nodes_page(_invocation: Invocation, hub: SharedHub, request: Request) -> Response:
    """Return the nodes whose path or name contains all words of a query, first those so named."""
    words, hint = request.query_params.get("name", "").strip(), ""
    found, named = list[dict[str, Any]](), list[str]()
    if words:
        opened = await hub.opened()
        found = (await answered(opened.client.search(words, _MOST_FOUND + 1)))["nodes"]
        keys = [node["key"] for node in found]
        ending = re.compile(rf"(^|[/:.]){re.escape(words)}$")
        named = [key for key in keys if display_name(key) == words]
        named = named or [key for key in keys if ending.search(display_name(key))]
        if not found:
            try:
                named = [(await opened.client.find(words, folder=opened.folder)).key]
            except NotFound as error:
                hint = error.hint
    if len(named) == 1:
        return RedirectResponse(f"/nodes/{quote(named[0], safe='')}", 303)
    found.sort(key=lambda node: node["key"] not in named)
    nodes, more = found[:_MOST_FOUND], found[_MOST_FOUND:]
    return page("nodes.html", words=words, nodes=nodes, more=more, named=named, hint=hint)


async def reach_part(hub: SharedHub, request: Request) -> Response:
    """Return which tests reach a line of a file, in one sentence."""
    place = request.query_params.get("place", "").replace("\0", "")
    (node,) = (await hub.facts(place)).values()
    return page("reach.html", node=node)


def _facts(node: NodeState) -> dict[str, Any]:
    """Return the facts that are not links."""
    built: dict[str, Any] = msgspec.to_builtins(node)
    return {key: value for key, value in built.items() if key not in _LINKS and value is not None}


def _source(project: ProjectRecords, node: NodeState) -> list[str]:
    """Return the lines of a node, or nothing if its file is not the one that the Hub has read."""
    with suppress(HostError):
        data = RootedFiles(project.root).read_bytes(unescape_path(node.file_path))
        if sha256(data).hexdigest() == node.file_hash:
            lines = re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace"))
            return lines[node.line_start - 1 : node.line_start - 1 + node.line_count][:_MOST_LINES]
    return []


def _jobs_on(project: ProjectRecords, key: str) -> Iterator[PastJob]:
    """Yield the jobs on a node, or on its whole file, in the newest runs."""
    module = f"node:{split_node_key(key)[0]}:{MODULE}"
    for line in list_run_lines(project.trace, slice(-_RUNS, None))[::-1]:
        try:
            view = read_run(project, line.run_id, details=False)
        except RemoraError:
            continue  # the list of runs says that it is damaged
        for job in view.jobs:
            if job.node_id in (key, module):
                yield PastJob(line.run_id, line.started, job)
