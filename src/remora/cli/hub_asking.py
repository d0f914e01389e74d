"""Questions about nodes as people ask them: by part of a name, without hurry, answered or refused."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from remora.bootstrap import open_config
from remora.bootstrap.hub import HubWish, places_of
from remora.bootstrap.indexing import index_hub, known_keys
from remora.cli.hub_index import watched
from remora.cli.options import Options
from remora.cli.output import note
from remora.cli.session import caller_of
from remora.errors import OutsideError, UsageError
from remora.hub.access import control
from remora.hub.access.places import HubPlaces
from remora.hub.client import HubClient
from remora.hub.near import unknown_node
from remora.hub.protocol import AnsweredNode
from remora.ids import MODULE, node_key, spell_path, split_node_key

_PATIENCE_S = 120.0
_MOST_LISTED = 8
_Result = TypeVar("_Result")


class Asking:
    """A client whose silence is an error, and which knows a node by the end of its name."""

    def __init__(self, client: HubClient, runner: asyncio.Runner, places: HubPlaces) -> None:
        self._client = client
        self._runner = runner
        self._places = places

    def node(self, name: str) -> AnsweredNode:
        """Raises NotFound, which names the nearest; UsageError if several are called so."""
        key = self.key_of(name)
        return self._context(key)[key]

    def key_of(self, name: str) -> str:
        """The key of the node that `name` means: path:qualname, qualname, or a module's path.

        Raises as `node` does.
        """
        for key in _whole(name):
            if self._context(key):
                return key
        found = self.search(name.removeprefix("node:"), 200)["nodes"]
        called_so = [node["key"] for node in found if split_node_key(node["key"])[1] == name]
        if len(called_so) == 1:
            return str(called_so[0])
        if called_so:
            raise UsageError(f"several nodes are called {name}", hint=_listed(called_so))
        raise unknown_node(name, known_keys(self._places))

    def links(self, kind: str, key: str, depth: int) -> dict[str, Any]:
        """`callers`, `callees` or `tests` of a node, as the protocol has them."""
        return self._answered(getattr(self._client, kind)(key, depth))

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """As the protocol has it."""
        return self._answered(self._client.search(query, limit))

    def _context(self, key: str) -> dict[str, AnsweredNode]:
        return self._answered(self._client.get_context([key]))

    def _answered(self, asked: Coroutine[Any, Any, _Result | None]) -> _Result:
        told = self._runner.run(asked)
        if told is None:
            raise OutsideError(
                "neither a daemon nor the index could be asked",
                hint="`remora hub status` tells how they are; `remora hub index` makes the index",
            )
        return told


@contextmanager
def asking(options: Options, *, socket: Path | None, db: Path | None) -> Iterator[Asking]:
    """Whoever knows the nodes of the project here; without a daemon the index is made first, if
    there is none."""
    caller, wish = caller_of(options), HubWish(db=db, socket=socket)
    places = places_of(caller, wish)
    exclude = open_config(caller, places.root).exclude
    if control.running(places) is None and not places.db.exists():
        note(options, "there is no index yet: making it; `remora hub start` keeps one up to date")
        with watched(options) as progress:
            index_hub(caller, wish, progress)
    with asyncio.Runner() as runner:
        client = HubClient(
            places.root, socket=places.socket, db=places.db, deadline=_PATIENCE_S, exclude=exclude
        )
        try:
            yield Asking(client, runner, places)
        finally:
            client.close()


def _whole(name: str) -> Iterator[str]:
    """The keys that a whole name may be, as it was typed or as it is spelled in keys."""
    plain = name.removeprefix("node:")
    path, _, qualname = plain.rpartition(":")
    if path:
        yield node_key(path, qualname)
        yield node_key(spell_path(path), qualname)
    else:
        yield node_key(spell_path(plain), MODULE)


def _listed(keys: Sequence[str]) -> str:
    shown = "\n".join(f"  {key.removeprefix('node:')}" for key in keys[:_MOST_LISTED])
    more = len(keys) - _MOST_LISTED
    return "name one of them:\n" + shown + (f"\n  and {more} more" if more > 0 else "")
