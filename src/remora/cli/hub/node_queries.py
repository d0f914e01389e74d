"""Questions about nodes as people ask them: by part of a name, without hurry, answered or refused."""

import asyncio
import time
from collections.abc import Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from remora.bootstrap.hub_target import HubWish, places_of
from remora.bootstrap.invocation import Caller, open_config
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.hub.hub_options import tell_of_root
from remora.errors import OutsideError, UsageError
from remora.hub.client import HubClient
from remora.hub.file_rules import FileRules
from remora.hub.gc_tuning import collect_seldom
from remora.hub.lookup.names import called_so, queries, whole_keys
from remora.hub.lookup.not_found import no_node
from remora.hub.lookup.pasted_names import at_line, unpasted
from remora.hub.lookup.suggestions import unknown_node
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPlaces
from remora.hub.protocol import AnsweredNode
from remora.ids import split_node_key

if TYPE_CHECKING:
    from remora.bootstrap.snapshot_queries import Newest

_PATIENCE_S = 120.0
_LOOK_S = 0.1
_MOST_LISTED = 8
_MOST_FOUND = 1000
_Result = TypeVar("_Result")


class Asking:
    """A client whose silence is an error, and which knows a node by the end of its name."""

    def __init__(
        self,
        client: HubClient,
        runner: asyncio.Runner,
        places: HubPlaces,
        folder: Path,
        files: FileRules,
    ) -> None:
        """`folder`: where names are typed that are paths."""
        self._files = files
        self._client = client
        self._runner = runner
        self._places = places
        self._folder = folder
        self._repeated: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}

    def node(self, name: str) -> AnsweredNode:
        """Raises NotFound, which names the nearest; UsageError if several are called so."""
        key = self.key_of(name)
        found = self._context([key])
        if key not in found:  # it has gone since
            raise unknown_node(name, self._newest().keys())
        return found[key]

    def key_of(self, name: str) -> str:
        """The key of the node that `name` means, as `hub.named` reads names.

        Raises as `node` does.
        """
        name = unpasted(name)
        whole = whole_keys(name, self._places.root, self._folder)
        for query in queries(name, whole):
            found = self._runner.run(self._client.search(query, _MOST_FOUND))
            kinds = {n["key"]: n["node_type"] for n in found["nodes"]} if found else {}
            self._kinds |= kinds
            known = list(kinds)
            meant = _first(whole, known) or called_so(name, known)
            if len(meant) == 1:
                self._repeated[meant[0]] = [k for k in known if k.startswith(f"{meant[0]}#")]
                return meant[0]
            if meant:
                raise UsageError(f"several nodes are called {name}", hint=_listed(meant))
        # a search knows no name that cannot be printed, and needs a daemon or an index
        there = _first(whole, self._context(whole)) or self._elsewhere(name)
        if there:
            return there[0]
        keys = self._newest().keys()
        wrong = no_node(
            name, self._places.root, self._folder, {split_node_key(key)[0] for key in keys}
        )
        if wrong is not None:
            raise wrong
        self.search(name, 1)  # raises where nobody could tell
        raise unknown_node(name, keys)

    def _elsewhere(self, name: str) -> list[str]:
        """What a line of a file means, or a name where it is imported to."""
        place = at_line(name)
        if place is not None:
            keys = whole_keys(place.path, self._places.root, self._folder)
            found = self._newest().at_line([split_node_key(key)[0] for key in keys], place.line)
        else:
            found = None if ":" in name or "/" in name else self._newest().imported(name)
        return [found] if found else []

    def also_defined(self, key: str) -> list[str]:
        """Further definitions of a node that was asked about by name, in the order of the source:
        calls go to the last one, or to all where they exclude each other."""
        further = [key for key in self._repeated.get(key, ()) if key.rpartition("#")[2].isdigit()]
        return sorted(further, key=lambda key: int(key.rpartition("#")[2]))

    def links(self, kind: str, key: str, depth: int) -> dict[str, Any]:
        """`callers`, `callees` or `tests` of a node, as the protocol has them."""
        return self._answered(getattr(self._client, kind)(key, depth))

    def unknown_because(self) -> str:
        """Why there are no links in an answer, and what helps."""
        from remora.bootstrap.hub_links import why_unknown  # with all that reads what is stored

        return why_unknown(self._places)

    def constructor(self, key: str) -> str | None:
        """The key of the `__init__` that makes instances of a class, if that is in the project."""
        if self._kinds.get(key, "class") != "class":
            return None
        return self._newest().constructor(key)

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """As the protocol has it."""
        return self._answered(self._client.search(query, limit))

    def _newest(self) -> "Newest":
        from remora.bootstrap.snapshot_queries import Newest  # with all that analyses

        return Newest(self._places, self._files)

    def _context(self, keys: Sequence[str]) -> dict[str, AnsweredNode]:
        return self._answered(self._client.get_context(keys))

    def _answered(self, asked: Coroutine[Any, Any, _Result | None]) -> _Result:
        told = self._runner.run(asked)
        if told is None:
            raise OutsideError(
                "neither a daemon nor an index could be asked",
                hint="`path:qualname` in full asks the file alone; `--db FILE` names a place where an "
                "index can be made, `remora hub status` tells where it should be",
            )
        return told


@contextmanager
def asking(options: Options, *, socket: Path | None, db: Path | None) -> Iterator[Asking]:
    """Whoever knows the nodes of the project here; without a daemon the index is made first, if
    there is none."""
    caller, wish = caller_of(options), HubWish(db=db, socket=socket)
    places = places_of(caller, wish)
    tell_of_root(options, caller, places)
    config = open_config(caller, places.root)
    files = FileRules(config.exclude, config.hub.file_limit)
    if control.running(places) is not None:
        _wait_for_daemon(options, places)
    else:
        _make_index(options, caller, wish, places)
    collect_seldom()
    with asyncio.Runner() as runner:
        client = HubClient(
            places.root,
            socket=places.socket,
            db=places.db,
            deadline=_PATIENCE_S,
            files=files,
        )
        try:
            yield Asking(client, runner, places, caller.folder, files)
        finally:
            client.close()


def _wait_for_daemon(options: Options, places: HubPlaces) -> None:
    """While it reads all files for the first time: reading them here too would take longer."""
    if control.has_read(places):
        return
    note(options, "the daemon reads all files for the first time: waiting for it")
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and not control.has_read(places):
        time.sleep(_LOOK_S)


def _make_index(options: Options, caller: Caller, wish: HubWish, places: HubPlaces) -> None:
    """Where there is none, or one that cannot be read: of an earlier version, or damaged."""
    from remora.bootstrap.hub_index import (  # with all that analyses
        index_hub,
        is_indexed,
        is_readable,
    )
    from remora.cli.hub.index import watched

    if is_indexed(caller, places):
        return
    is_damaged = places.db.exists() and not is_readable(places)
    lacks = "the index cannot be read" if is_damaged else "there is no index yet"
    note(options, f"{lacks}: making it; `remora hub start` keeps one up to date")
    try:
        with watched(options) as progress:
            index_hub(caller, wish, progress)
    except OutsideError as error:  # the asked file alone tells something
        note(options, f"{error.message}: there is no index to ask")


def _first(wanted: Iterable[str], known: Collection[str]) -> list[str]:
    """The first of those wanted that is known."""
    return [key for key in wanted if key in known][:1]


def _listed(keys: Sequence[str]) -> str:
    shown = "\n".join(f"  {key.removeprefix('node:')}" for key in keys[:_MOST_LISTED])
    more = len(keys) - _MOST_LISTED
    return "name one of them:\n" + shown + (f"\n  and {more} more" if more > 0 else "")
