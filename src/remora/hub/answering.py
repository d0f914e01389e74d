"""The daemon's desk: a question is answered when everything that changed before it is known."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol

from remora.errors import HubDamaged, NotFound, RemoraError
from remora.hub.answers import Answers
from remora.hub.lanes import Lanes
from remora.hub.node import AnsweredNode
from remora.hub.places import HubPlaces
from remora.hub.protocol import (
    MOST_FOUND,
    PROTOCOL,
    Callees,
    Callers,
    ChangedSince,
    GetContext,
    GetNode,
    Health,
    Invalidate,
    Refused,
    Request,
    Search,
    Status,
    Subscribe,
    Tests,
    answer_line,
    event_line,
)
from remora.hub.upkeep import Upkeep
from remora.ids import unspell_path

PATIENCE_S = 1.5
"""How long a question waits for what is being read; then it is told as not fresh."""
_AT_ONCE = 16
"""Nodes that are put together before others have their turn."""
_TURN_S = 0.02
_KEYS_PER_EVENT = 2000
"""A line of an event stays well below what a subscriber may leave unread."""
_WALKS = 3

Links = Callers | Callees | Tests


class Known(Protocol):
    """What is stored, as far as questions need it."""

    @property
    def generation(self) -> int:
        """The newest."""

    def answers(self) -> Answers:
        """About the newest state; the same object as long as nothing changes."""

    def changed_since(self, generation: int) -> tuple[Sequence[str], bool]:
        """Keys that changed after a generation, and whether these are all."""

    def status(self) -> Any:
        """As `hub status` prints it."""


class Answering:
    """A `Desk`. `damaged` is called when the database turns out to make no sense."""

    def __init__(
        self, places: HubPlaces, known: Known, upkeep: Upkeep, *, damaged: Callable[[], None]
    ) -> None:
        self._root = places.root
        self._known = known
        self._upkeep = upkeep
        self._damaged = damaged
        self._subscribers: dict[Callable[[bytes], None], None] = {}
        self._lanes = Lanes(places.db)
        self.last_asked = time.monotonic()

    @property
    def subscribers(self) -> int:
        """How many are told of changes."""
        return len(self._subscribers)

    def subscribe(self, tell: Callable[[bytes], None]) -> Callable[[], None]:
        """From now on `tell` gets a line for each generation."""
        self._subscribers[tell] = None
        return lambda: self._subscribers.pop(tell, None)

    def close(self) -> None:
        """Nothing more is answered."""
        self._lanes.close()

    def publish(self, generation: int, changed: Iterable[str]) -> None:
        """Tell all subscribers."""
        if not self._subscribers:
            return
        for keys in _portions(changed, _KEYS_PER_EVENT):
            line = event_line(generation, keys)
            for tell in list(self._subscribers):
                tell(line)

    def answer(self, request: Request) -> bytes | Awaitable[bytes]:
        """The line, at once if all is known. Raises Refused."""
        match request:
            case Health():
                return self._line(request, {"status": "ok", "protocol": PROTOCOL})
            case Status():
                return self._line(request, self._known.status())
            case Subscribe():
                return self._line(request, None)
            case Invalidate():
                self._invalidate(request.path)
                return self._line(request, None)
        self.last_asked = time.monotonic()
        if not self._upkeep.ready:
            raise Refused("busy", "the files are being read for the first time")
        self._upkeep.see()
        ticket = self._upkeep.pending.ticket()
        if self._upkeep.pending.reached(ticket) and self._is_quick(request):
            with _refusals(self._damaged):
                return self._line(request, self._result(request, fresh=True))
        return self._later(request, ticket)

    async def _later(self, request: Request, ticket: int) -> bytes:
        fresh = await self._upkeep.caught_up(ticket, PATIENCE_S)
        with _refusals(self._damaged):
            if self._upkeep.has_large and not isinstance(request, ChangedSince):
                return await self._lanes.ask(lambda answers: self._line_of(request, answers, fresh))
            if isinstance(request, GetContext):
                generation = self._known.generation
                nodes = await self._context(request.nodes, fresh=fresh)
                return answer_line(request, generation, nodes)
            if isinstance(request, Links):
                await self._walk(request)
            return self._line(request, self._result(request, fresh=fresh))

    def _is_quick(self, request: Request) -> bool:
        """Whether it takes no longer to answer it now than to let others go first."""
        if self._upkeep.has_large:
            return isinstance(request, ChangedSince)
        match request:
            case GetContext():
                return len(request.nodes) <= _AT_ONCE
            case Callers() | Callees() | Tests():
                return request.depth == 1
        return True

    def _line_of(self, request: Request, answers: Answers, fresh: bool) -> bytes:
        result = self._result_of(request, answers.told(fresh=fresh))
        return answer_line(request, answers.view.generation, result)

    def _line(self, request: Request, result: Any) -> bytes:
        return answer_line(request, self._known.generation, result)

    def _result(self, request: Request, *, fresh: bool) -> Any:
        return self._result_of(request, self._known.answers().told(fresh=fresh))

    def _result_of(self, request: Request, answers: Answers) -> Any:
        match request:
            case ChangedSince():
                return self._changed_since(request.generation)
            case GetContext():
                return answers.context(request.nodes)
            case Search():
                return answers.search(request.query, min(request.limit, MOST_FOUND))
            case GetNode():
                _check_known(answers, request.node)
                return answers.node(request.node)
            case Callers() | Callees() | Tests():
                _check_known(answers, request.node)
                return _links(answers, request)(request.node, request.depth)
        raise Refused("unknown_type", "nothing is known of that")

    def _changed_since(self, generation: int) -> dict[str, Any]:
        changed, complete = self._known.changed_since(generation)
        return {
            "generation": self._known.generation,
            "changed": list(changed),
            "complete": complete,
        }

    async def _context(self, keys: Sequence[str], *, fresh: bool) -> dict[str, AnsweredNode]:
        """Node by node, each from the newest state: others have their turn in between."""
        found: dict[str, AnsweredNode] = {}
        turn = _Turn()
        for key in keys:
            found |= self._known.answers().told(fresh=fresh).context([key])
            await turn.passed_on()
        return found

    async def _walk(self, request: Links) -> None:
        """Have every link within the depth computed, so that the answer itself takes no time."""
        for _ in range(_WALKS):
            answers = self._known.answers()
            await _compute(answers, request)
            if answers is self._known.answers():
                return

    def _invalidate(self, path: str) -> None:
        raw = path if path.startswith("/") else unspell_path(path)
        place = self._root / raw
        if ".." in place.parts or not place.is_relative_to(self._root):
            raise Refused("bad_request", f"{path[:200]} is not beneath the root")
        if place.is_dir():
            self._upkeep.want_sweep()
        else:
            self._upkeep.invalidate(str(place.relative_to(self._root)))


class _Turn:
    """Gives others their turn when ours took long enough."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def passed_on(self) -> None:
        if time.perf_counter() - self._began > _TURN_S:
            await asyncio.sleep(0)
            self._began = time.perf_counter()


async def _compute(answers: Answers, request: Links) -> None:
    turn = _Turn()
    level, seen = [request.node], {request.node}
    name = "callees" if isinstance(request, Callees) else "callers"
    for _ in range(request.depth):
        found: list[str] = []
        for key in level:
            linked = getattr(answers, name)(key)[name] or ()
            if isinstance(request, Tests):
                answers.tests(key)
            found += (edge["key"] for edge in linked)
            await turn.passed_on()
        level = [key for key in dict.fromkeys(found) if key not in seen and key[:5] == "node:"]
        seen.update(level)


def _links(answers: Answers, request: Links) -> Callable[[str, int], dict[str, Any]]:
    match request:
        case Callers():
            return answers.callers
        case Callees():
            return answers.callees
        case Tests():
            return answers.tests


def _check_known(answers: Answers, key: str) -> None:
    """Which names are near takes long to find where nodes are many: who asks can search."""
    if answers.view.node(key) is None:
        name = key.removeprefix("node:")[:200]
        raise Refused("unknown_node", f"there is no node {name}; `search` finds nodes by name")


@contextmanager
def _refusals(damaged: Callable[[], None]) -> Iterator[None]:
    """What cannot be answered, as the protocol says it."""
    try:
        yield
    except NotFound as error:
        raise Refused("unknown_node", error.message) from None
    except HubDamaged as error:
        damaged()
        raise Refused("busy", error.message) from error
    except RemoraError as error:
        raise Refused("busy", error.message) from error


def _portions(keys: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    """At most `size` at a time; one empty portion where there is none."""
    left = iter(keys)
    portion = tuple(islice(left, size))
    while True:
        yield portion
        portion = tuple(islice(left, size))
        if not portion:
            return
