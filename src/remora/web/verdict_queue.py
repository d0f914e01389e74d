"""Verdicts and judgements of the page, which are made one after the other while it can be used."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from secrets import token_urlsafe
from threading import Event
from time import time
from typing import NamedTuple

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request

from remora.runs.review.accepted_changes import Announce
from remora.threads import run_cancellable

_ANSWER_S = 1.0
"""Seconds that an answer waits for a verdict: what takes longer is shown while it runs."""
_PAUSE_S = 0.1


class Outcome(NamedTuple):
    """What a verdict or judgement did, the agent to show then, and hunks that a refused one left."""

    message: str
    agent: str = ""
    left: Collection[str] | None = None


class Verdict:
    """A verdict on change sets of a run, by their agents, and what its gates have said."""

    def __init__(self, run: str, agents: Iterable[str]) -> None:
        self.name = token_urlsafe(8)
        self.run = run
        self.agents = frozenset(agents)
        self.said: list[str] = []
        self.begun = round(1000 * time())
        self.result: Future[Outcome]

    async def finish_soon(self) -> bool:
        """Wait for a moment, and return True if it is carried out."""
        await asyncio.to_thread(wait, [self.result], _ANSWER_S)
        return self.result.done()


class VerdictQueue:
    """The verdicts of a server. One at a time writes to the project's files.

    A verdict is kept until a page takes its result. A judgement belongs to no run, and blocks none.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "judgement"), ThreadPoolExecutor(1, "verdict")
        self._end = Event()
        self._verdicts: dict[str, Verdict] = {}

    def add(
        self, run: str, agents: Iterable[str], carry_out: Callable[[Announce], Outcome]
    ) -> Verdict:
        """Carry out a verdict after those before it. `carry_out` returns its result."""
        verdict = Verdict(run, agents)
        verdict.result = self._threads[bool(run)].submit(
            run_cancellable, self._end, carry_out, verdict.said.append
        )
        self._verdicts[verdict.name] = verdict
        return verdict

    def of_run(self, run: str) -> tuple[list[Verdict], list[Verdict]]:
        """Return the verdicts on a run that are not carried out yet, and those that are."""
        verdicts = [verdict for verdict in list(self._verdicts.values()) if verdict.run == run]
        done = [verdict for verdict in verdicts if verdict.result.done()]
        return [verdict for verdict in verdicts if verdict not in done], done

    def take(self, verdict: Verdict) -> Outcome:
        """Return what a verdict did, and forget it."""
        self._verdicts.pop(verdict.name, None)
        return verdict.result.result()

    def close(self) -> None:
        """Give up the verdicts that wait, and the one whose gates run. One that writes ends."""
        self._end.set()
        for thread in self._threads:
            thread.shutdown(wait=False, cancel_futures=True)

    async def follow(self, request: Request) -> EventSourceResponse:
        """Send what the gates of a verdict say, and `end` when it is carried out or forgotten."""
        verdict = self._verdicts.get(request.path_params["verdict"])

        async def events() -> AsyncIterator[ServerSentEvent]:
            sent, is_done = 0, verdict is None
            while verdict is not None and not is_done:
                is_done = verdict.result.done()
                for text in verdict.said[sent:]:
                    sent += 1
                    yield ServerSentEvent(text, event="said")
                await asyncio.sleep(0 if is_done else _PAUSE_S)
            yield ServerSentEvent("", event="end")

        return EventSourceResponse(events())
