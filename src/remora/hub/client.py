"""HubClient, which returns up-to-date facts from the best source that answers in time."""

import asyncio
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from remora.errors import NotFound
from remora.files.project_root import find_root
from remora.hub.file_limits import FileRules
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.process.hub_paths import HubPaths, own_hub_paths
from remora.hub.protocol import (
    Callees,
    Callers,
    GetContext,
    GetNode,
    Health,
    Request,
    Search,
    Tests,
)
from remora.hub.sources.daemon_source import DaemonSource
from remora.hub.sources.source_answer import Budget, Busy, SourceAnswer, SourceName
from remora.text import is_utf8

if TYPE_CHECKING:
    from remora.hub.sources.current_nodes import CurrentNodes
    from remora.hub.sources.fallbacks import FallbackSources
    from remora.hub.sources.node_lookup import FoundNode
    from remora.memory.delta import PacketDelta
    from remora.memory.packet import DecisionPacket

_T = TypeVar("_T")
DEADLINE = 2.0
"""Seconds, enough to analyze a file of 1 MiB without a daemon, whose answers take milliseconds."""
_HOOK_DEADLINE = 0.25  # as agents have: a small part of the model's time
_HOOK_ROOM = 1200  # characters: a fifth of a packet's default limit
_DAEMON_SHARE = 0.6  # the daemon's share of the deadline; the rest is for the fallbacks
_OPEN_S = 5.0
"""Maximum seconds to open the fallbacks: the analysis, git's ignore rules and the database."""
_ASK_AGAIN_S = 60.0  # with a deadline this long or longer, a busy daemon is asked again
_AGAIN_S = 1.0
_TRIED_LONG_S = 8.0
"""Seconds. A daemon that is busy for longer has tried to answer; a fallback would be slower."""


class Context(dict[str, AnsweredNode]):
    """Nodes by key, together with the source that answered and its generation.

    `source` and `generation` are None if no source answered. `missing` says of each other requested
    key that the node is unknown, or that no source answered in time.
    """

    source: SourceName | None = None
    generation: int | None = None
    missing: Mapping[str, Literal["unknown", "unanswered"]] = MappingProxyType({})


class HubClient:
    """Client for facts about the nodes of a project.

    It queries the daemon first (over its socket, else over HTTP), then the database (rereading
    changed files), and finally the requested files. It never writes anything.

    `root` defaults to the root of the current folder, and `socket_path` and `db` to the paths that
    `remora hub start` uses. `places` overrides all paths. `deadline` is the time limit of a request
    in seconds. The first request without a daemon may take 5 seconds longer, because it opens the
    other sources. Nodes that are not available in time are in `missing`. A fact is null if its source
    cannot provide it. `files` may be a function, which is called when files must be read. With
    `keep_connections`, connections to the daemon stay open between requests, which must then come
    from one event loop. `node`, `callers`, `callees` and `tests` raise NotFound if the node does not
    exist.
    """

    def __init__(  # noqa: PLR0913 (one keyword for each setting)
        self,
        root: str | Path | None = None,
        *,
        socket_path: str | Path | None = None,
        db: str | Path | None = None,
        deadline: float = DEADLINE,
        files: FileRules | Callable[[], FileRules] = FileRules(),  # noqa: B008 (immutable)
        places: HubPaths | None = None,
        keep_connections: bool = False,
    ) -> None:
        self.root = _current_root() if root is None else Path(root).resolve()
        self.deadline = deadline
        places = places or own_hub_paths(self.root, db, socket_path)
        self._daemon = DaemonSource(
            self.root, places, named=socket_path is not None, keeps=keep_connections
        )
        self._db, self._files = places and places.db, files
        self._opened: FallbackSources | None = None
        self._close_opened: Callable[[], object] = lambda: None
        # one thread: the fallbacks are not thread-safe
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="remora-hub")

    async def get_context(self, nodes: Iterable[str], *, links: bool = True) -> Context:
        """Return facts by node key, each with a `fresh` flag. Other nodes are in `missing`.

        Without `links`, which is faster, callers, callees and tests may be null. Never raises.
        """
        requested = tuple(dict.fromkeys(nodes))
        found = Context()
        valid_keys = tuple(filter(is_utf8, requested))  # others are never keys
        found.missing = dict.fromkeys(requested, "unknown")
        if not valid_keys:
            return found
        answer = await self._ask(GetContext(nodes=valid_keys, links=links))
        if not isinstance(answer, SourceAnswer):
            found.missing = {**found.missing, **dict.fromkeys(valid_keys, "unanswered")}
            return found
        found.update({key: answer.result[key] for key in valid_keys if key in answer.result})
        found.missing = {key: why for key, why in found.missing.items() if key not in found}
        found.source, found.generation = answer.source, answer.generation
        return found

    async def node(self, key: str) -> NodeState | None:
        """Return a node, or None if no source answers."""
        found: NodeState | None = await self._result(GetNode(node=key))
        return found

    async def callers(self, key: str, depth: int = 1) -> dict[str, Any] | None:
        """Return `{node, callers, fresh, generation}`, or None if no source answers."""
        return await self._document(Callers(node=key, depth=depth))

    async def callees(self, key: str, depth: int = 1) -> dict[str, Any] | None:
        """Return `{node, callees, fresh, generation}`, or None if no source answers."""
        return await self._document(Callees(node=key, depth=depth))

    async def tests(self, key: str, depth: int = 1) -> dict[str, Any] | None:
        """Return `{node, tests, fresh, generation}`, or None if no source answers.

        If the search was stopped because it took too long, the result contains the tests found so
        far and `"complete": False`.
        """
        return await self._document(Tests(node=key, depth=depth))

    async def search(self, query: str, limit: int = 50) -> dict[str, Any] | None:
        """Return `{query, nodes}`, or None if neither a daemon nor a database answers."""
        return await self._document(Search(query=query, limit=limit))

    async def find(self, name: str, *, folder: str | Path | None = None) -> "FoundNode":
        """Return the node that a name refers to, by the same rules as the CLI commands.

        A name may be a key (with or without `node:`), `path:qualname`, the path of a module, a
        qualname or its last parts, a dotted name, a pytest id, or `path:LINE`. Paths may be
        relative to the root or to `folder`.

        Raises NotFound if no node has this name, UsageError if the name is ambiguous, and
        OutsideError if there is neither a daemon nor an index.
        """
        from remora.hub.sources.node_lookup import NameQuery, find_node  # imports name parsing

        place = self.root if folder is None else Path(folder)
        return await find_node(NameQuery(name, self.root, place), self)

    async def constructor(self, key: str) -> str | None:
        """Return the key of the `__init__` that a class uses, or None if there is none."""
        return await self.ask_current(lambda current: current.constructor(key))

    async def is_served(self, seconds: float) -> bool:
        """Return True if a daemon answers within `seconds`, even if it is busy."""
        return isinstance(await self._from_daemon(Health(), seconds), SourceAnswer)

    def close(self) -> None:
        """Close the database. After that, only the daemon can answer requests."""
        self._daemon.close()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._close_opened()

    async def __aenter__(self) -> "HubClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def _fallbacks(self) -> "FallbackSources":
        """The fallback sources, created on first use. Use only in the fallback thread."""
        if self._opened is None:
            from remora.hub.sources.fallbacks import FallbackSources  # imports the analysis

            opened = FallbackSources(self.root, self._db, self._file_rules())
            self._close_opened = weakref.finalize(self, opened.close)
            opened.prepare()
            self._opened = opened
        return self._opened

    async def ask_current(self, question: Callable[["CurrentNodes"], _T]) -> _T:
        """Answer `question` from the current files. There is no deadline."""

        def ask() -> _T:
            from remora.hub.sources.current_nodes import CurrentNodes  # imports the analysis

            return question(CurrentNodes(self.root, self._db, self._file_rules()))

        return await asyncio.to_thread(ask)

    def _file_rules(self) -> FileRules:
        return self._files() if callable(self._files) else self._files

    async def _document(self, request: Request) -> dict[str, Any] | None:
        found: dict[str, Any] | None = await self._result(request)
        return found

    async def _result(self, request: Request) -> Any:
        answer = await self._ask(request)
        if isinstance(answer, NotFound):
            raise answer
        return None if answer is None else answer.result

    async def _ask(self, request: Request) -> SourceAnswer | NotFound | None:
        """Return the answer of the best source that responds before the deadline."""
        budget = Budget(self.deadline)
        answer = await self._from_daemon(request, budget.left * _DAEMON_SHARE)
        if isinstance(answer, SourceAnswer | NotFound):
            return answer
        links = answer is None or not _has_tried(answer)
        if self._opened is None and self.deadline > 0:
            await self._run_in_thread(lambda: self._fallbacks, Budget(_OPEN_S))
            budget = Budget(self.deadline)
        return await self._run_in_thread(
            lambda: self._fallbacks.ask(request, budget, links=links), budget
        )

    async def _from_daemon(
        self, request: Request, seconds: float
    ) -> SourceAnswer | NotFound | Busy | None:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._daemon.ask(request)
                while self._may_ask_again(answer):
                    await asyncio.sleep(_AGAIN_S)  # it may have loaded the files by then
                    answer = await self._daemon.ask(request)
                return answer
        except TimeoutError:
            return None

    def _may_ask_again(self, answer: SourceAnswer | NotFound | Busy | None) -> bool:
        return isinstance(answer, Busy) and not _has_tried(answer) and self.deadline >= _ASK_AGAIN_S

    async def _run_in_thread(self, ask: Callable[[], _T], budget: Budget) -> _T | None:
        """Run `ask` in the fallback thread and return its result.

        Returns None if `ask` does not finish before the deadline. A late result is ignored.
        """
        loop = asyncio.get_running_loop()
        try:
            work = loop.run_in_executor(self._thread, ask)
        except RuntimeError:  # the client is closed, or the process ends
            return None
        done, _ = await asyncio.wait({work}, timeout=budget.left)
        if not done:
            work.cancel()
            return None
        return work.result()


def refresh_context(
    packet: "DecisionPacket", *, hub: HubClient | str | Path | None = None
) -> "PacketDelta | None":
    """Return a delta with current facts about the nodes that a packet names.

    This is a hook for `ContextManager.run_middleware`. `hub` is a client or the root of a project,
    by default the root of the current folder. Returns None if the packet already has these facts.
    An event loop may be running in the calling thread, and waits.
    """
    from remora.memory import hub_facts
    from remora.memory.delta import PacketDelta

    asked = hub_facts.wanted_nodes(packet)
    with _client_of(hub) as client, ThreadPoolExecutor(max_workers=1) as thread:
        answer = thread.submit(asyncio.run, client.get_context(asked)).result()
    facts = {key: hub_facts.recorded_facts(answer[key], answer.generation) for key in answer}
    is_silent = bool(asked) and answer.source is None
    delta = hub_facts.hub_delta(packet, facts, _HOOK_ROOM, keep=is_silent)
    return None if delta == PacketDelta() else delta


_hook_lock = Lock()
_kept: list[HubClient] = []
"""Client of the last root: opening its sources takes 20 to 200 ms, and a question 5 ms."""


@contextmanager
def _client_of(hub: HubClient | str | Path | None) -> Iterator[HubClient]:
    if isinstance(hub, HubClient):
        yield hub
        return
    root = _current_root() if hub is None else Path(hub).resolve()
    with _hook_lock:
        if _kept and _kept[0].root != root:
            _kept.pop().close()
        if not _kept:
            _kept.append(HubClient(root, deadline=_HOOK_DEADLINE))
        yield _kept[0]


def _current_root() -> Path:
    return find_root(Path.cwd(), within=Path.cwd())


def _has_tried(daemon: Busy) -> bool:
    return daemon.after > _TRIED_LONG_S
