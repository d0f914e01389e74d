"""Server-sent events: new turns of an agent, and jobs of a run that started or ended."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_records
from remora.errors import RemoraError
from remora.trace.content.line_format import newline_before
from remora.trace.read.reader import is_being_written, open_stream
from remora.web.addresses import number_in, query_number
from remora.web.agent_page import shown_turns
from remora.web.agent_records import open_agent
from remora.web.html_responses import render, state_html

_PAUSE_S, _REST_S = 0.1, 1.0
"""Seconds until a stream is looked at again, and after a change, which is read in whole."""


async def live_agent(invocation: Invocation, request: Request) -> EventSourceResponse:
    """Send each turn from `after` on, again whenever it changes, until the agent ends.

    A browser that connects again names the last turn that it got.
    """
    agent_id = request.path_params["agent"]
    seen = number_in(request.headers.get("last-event-id"))
    after = query_number(request, "after") if seen is None else seen
    agent = await asyncio.to_thread(open_agent, invocation, agent_id)

    async def events() -> AsyncIterator[ServerSentEvent]:
        first = after or 0
        try:
            async for is_written in _changes(agent.path):
                for turn, html in await asyncio.to_thread(_turns, invocation, agent_id, first):
                    yield ServerSentEvent(html, event="turn", id=str(turn))
                    first = turn
                if not is_written:
                    status = await asyncio.to_thread(
                        lambda: open_agent(invocation, agent_id).status
                    )
                    yield ServerSentEvent(str(state_html(status)), event="end")
        except RemoraError:
            yield ServerSentEvent(str(state_html("removed")), event="end")

    return EventSourceResponse(events())


def _turns(invocation: Invocation, agent_id: str, first: int) -> list[tuple[int, str]]:
    """Return the turns from one on as HTML, each with its number."""
    agent = open_agent(invocation, agent_id)
    values = {"agent": agent, "selected": None, "recorded": None}
    turns = shown_turns(agent, first, None)
    return [(turn["turn"], render("turn.html", turn=turn, **values)) for turn in turns]


async def live_run(invocation: Invocation, request: Request) -> EventSourceResponse:
    """Send `change` whenever the run's stream has grown, and `end` when it is complete."""
    project = await asyncio.to_thread(open_records, invocation)
    path = await asyncio.to_thread(project.trace.existing_run, request.path_params["run"])

    async def events() -> AsyncIterator[ServerSentEvent]:
        async for is_written in _changes(path):
            yield ServerSentEvent("", event="change" if is_written else "end")

    return EventSourceResponse(events())


async def _changes(path: Path) -> AsyncIterator[bool]:
    """Yield True for the first time and when lines were appended, and at the end False."""
    seen: int | None = None
    while True:
        is_written = await asyncio.to_thread(is_being_written, path)
        try:
            end = await asyncio.to_thread(_end_of_lines, path)
        except RemoraError:  # it was removed
            yield False
            return
        if end != seen:
            yield True
        if not is_written:
            yield False
            return
        rests = seen not in (None, end)
        seen = end
        await asyncio.sleep(_REST_S if rests else _PAUSE_S)


def _end_of_lines(path: Path) -> int:
    """Return where the last complete line of a stream ends."""
    with open_stream(path) as source:
        return newline_before(source, source.size())
