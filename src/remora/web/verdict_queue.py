"""Verdicts of the page, which are carried out one after the other while it can be used."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from secrets import token_urlsafe

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request

from remora.errors import NotFound
from remora.runs.review.accepted_changes import Announce

_ANSWER_S = 1.0
"""Seconds that an answer waits for a verdict: what takes longer is shown while it runs."""
_PAUSE_S = 0.1
_MOST = 32
"""Verdicts that are remembered."""


class Verdict:
    """A verdict that is carried out: the change sets of agents, and what its gates have said."""

    def __init__(self, agents: Iterable[str]) -> None:
        self.name = token_urlsafe(8)
        self.agents = frozenset(agents)
        self.said: list[str] = []
        self.address: Future[str]
        """Where its result is shown."""

    async def finish_soon(self) -> bool:
        """Wait for a moment, and return True if it is carried out."""
        await asyncio.to_thread(wait, [self.address], _ANSWER_S)
        return self.address.done()


class VerdictQueue:
    """The verdicts of a server. One at a time writes to the project's files."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "verdict")
        self._verdicts: dict[str, Verdict] = {}

    def add(self, agents: Iterable[str], carry_out: Callable[[Announce], str]) -> Verdict:
        """Carry out a verdict after those before it. `carry_out` returns where its result is."""
        verdict = Verdict(agents)
        self._verdicts = dict([*self._verdicts.items(), (verdict.name, verdict)][-_MOST:])
        verdict.address = self._thread.submit(carry_out, verdict.said.append)
        return verdict

    def find(self, name: str) -> Verdict | None:
        """Return a verdict, or None if it is unknown."""
        return self._verdicts.get(name)

    async def follow(self, request: Request) -> EventSourceResponse:
        """Send what the gates of a verdict say, and `end` when it is carried out."""
        verdict = self.find(request.path_params["verdict"])
        if verdict is None:
            raise NotFound("this verdict is not known any more", hint="load the review again")

        async def events() -> AsyncIterator[ServerSentEvent]:
            sent, is_done = 0, False
            while not is_done:
                is_done = verdict.address.done()
                for text in verdict.said[sent:]:
                    sent += 1
                    yield ServerSentEvent(text, event="said")
                await asyncio.sleep(0 if is_done else _PAUSE_S)
            yield ServerSentEvent("", event="end")

        return EventSourceResponse(events())
