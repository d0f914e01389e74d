"""Lookup of the node that a name refers to, for `HubClient.find` and the commands."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from remora.code.file_facts import NodeType
from remora.errors import OutsideError, UsageError
from remora.hub.lookup.names import as_key, full_keys, line_named, matching_keys, queries
from remora.hub.lookup.not_found import path_error, unknown_node
from remora.hub.node import AnsweredNode
from remora.hub.protocol import MAX_FOUND
from remora.ids import split_node_key

if TYPE_CHECKING:
    from remora.hub.sources.current_nodes import CurrentNodes

_T = TypeVar("_T")
_MAX_LISTED = 8
"""Keys that an error lists (decision)."""
_MAX_FOUND = 1000
"""Nodes with a name that one search returns (decision)."""


class FoundNode(NamedTuple):
    """The node that a name refers to."""

    key: str
    node_type: NodeType | None = None
    """Type of the node, or None if there is no index."""
    further: tuple[str, ...] = ()
    """Keys of later definitions with the same name (`#2`, ...).

    Calls are linked to the last definition or to all of them. An `@overload` stub is never found
    by its name: the name refers to the implementation.
    """


class Hub(Protocol):
    """Queries that the lookup uses. `HubClient` implements them."""

    async def search(self, query: str, limit: int = 50) -> dict[str, Any] | None: ...

    async def get_context(
        self, nodes: Iterable[str], *, links: bool = True
    ) -> dict[str, AnsweredNode]: ...

    async def ask_current(self, question: Callable[["CurrentNodes"], _T]) -> _T: ...


class NameQuery(NamedTuple):
    """A name to look up, with the project root and the user's current folder."""

    name: str
    root: Path
    folder: Path


async def find_node(lookup: NameQuery, hub: Hub) -> FoundNode:
    """Return the node that a name refers to.

    Raises NotFound with similar names if no node matches, UsageError if several nodes match, and
    OutsideError if no source answers.
    """
    lookup = lookup._replace(name=as_key(lookup.name))
    name, root, folder = lookup
    if (place := line_named(name)) is not None and (key := await _at_line(*place, lookup, hub)):
        return FoundNode(key)
    spellings = full_keys(name, root, folder)
    for query in queries(name, spellings):
        answer = await hub.search(query, _MAX_FOUND)
        kinds = {n["key"]: n["node_type"] for n in answer["nodes"]} if answer else {}
        meant = _first(spellings, kinds) or matching_keys(name, kinds)
        if len(meant) == 1:
            found = FoundNode(meant[0], kinds[meant[0]], _further_definitions(meant[0], kinds))
            return await _without_stubs(found, lookup, hub)
        if meant:
            raise UsageError(
                f"{name} is ambiguous: {len(meant)} nodes match", hint=_list_keys(meant)
            )
    # a search ignores unprintable names, and needs a daemon or an index
    if there := _first(spellings, await hub.get_context(spellings)):
        return await _without_stubs(FoundNode(there[0]), lookup, hub)
    if ":" not in name and "/" not in name:
        exported = await hub.ask_current(lambda current: current.imported(name))
        if exported is not None:
            return FoundNode(exported)
    is_answered = await hub.search(name, 1) is not None
    raise await hub.ask_current(
        lambda current: _unknown_name_error(lookup, current, is_answered=is_answered)
    )


async def _at_line(path: str, line: int, lookup: NameQuery, hub: Hub) -> str | None:
    """Return the key of the innermost node at a line of a file, or None if there is none."""
    modules = full_keys(path, lookup.root, lookup.folder)
    files = [split_node_key(key)[0] for key in modules]
    for query in queries(path, modules):
        answer = await hub.search(query, MAX_FOUND)
        keys = [node["key"] for node in answer["nodes"]] if answer else []
        for file in files:
            inside = await hub.get_context(
                [key for key in keys if split_node_key(key)[0] == file], links=False
            )
            around = [
                node for node in inside.values() if 0 <= line - node.line_start < node.line_count
            ]
            if around:
                return max(
                    around, key=lambda node: (node.node_type != "module", node.line_start)
                ).key
    return None


async def _without_stubs(found: FoundNode, lookup: NameQuery, hub: Hub) -> FoundNode:
    """Replace an `@overload` stub by its implementation, unless the name is a complete key."""
    may_be_stub = found.further or found.node_type is None
    if not may_be_stub or lookup.name == found.key:
        return found
    key = await hub.ask_current(lambda current: current.implementation(found.key))
    if key == found.key:
        return found
    later = found.further[found.further.index(key) + 1 :] if key in found.further else ()
    return found._replace(key=key, further=later)


async def answered(question: Awaitable[_T | None]) -> _T:
    """Return the answer of a hub. Raises OutsideError if there is none."""
    answer = await question
    if answer is None:
        raise no_answer_error()
    return answer


def no_answer_error() -> OutsideError:
    """Return the error to raise when no source answers a query."""
    return OutsideError(
        "no daemon is running and there is no index",
        hint="a full `path:qualname` works without an index; `remora hub "
        "status` shows the path of the "
        "index, and `--db FILE` changes it",
    )


def _unknown_name_error(
    query: NameQuery, current: "CurrentNodes", *, is_answered: bool
) -> Exception:
    name, root, folder = query
    keys = current.keys()
    paths = {split_node_key(key)[0] for key in keys}
    wrong = path_error(name, root, folder, paths, limit=current.file_limit)
    return wrong or (unknown_node(name, keys) if is_answered else no_answer_error())


def _further_definitions(key: str, known: Iterable[str]) -> tuple[str, ...]:
    numbers = [name.rpartition("#")[2] for name in known if name.startswith(f"{key}#")]
    further = sorted(int(number) for number in numbers if number.isdigit())
    return tuple(f"{key}#{number}" for number in further)


def _first(candidates: Iterable[str], known: Collection[str]) -> list[str]:
    return [key for key in candidates if key in known][:1]


def _list_keys(keys: Sequence[str]) -> str:
    listed = "\n".join(f"  {key.removeprefix('node:')}" for key in keys[:_MAX_LISTED])
    hidden = len(keys) - _MAX_LISTED
    return "use one of:\n" + listed + (f"\n  and {hidden} more" if hidden > 0 else "")
