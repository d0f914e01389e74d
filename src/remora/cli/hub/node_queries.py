"""Hub queries for commands, with a long timeout, and the first paragraphs of docstrings."""

import asyncio
import re
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.hub.hub_options import note_root_above
from remora.hub.client import HubClient
from remora.hub.lookup.find import FoundNode, no_answer_error
from remora.hub.lookup.not_found import unknown_node
from remora.hub.process.hub_paths import HubPaths
from remora.hub.protocol import AnsweredNode
from remora.usecases.hub.open_hub import HubObserver, Progress, open_hub
from remora.usecases.hub.target import HubTarget, hub_paths_of

_MAX_LENGTH = 300
_SENTENCE_END = re.compile(r"[.!?:][)\"'`]*(?= |$)")
_NEXT_BLOCK = re.compile(r"\s*(?:$|[:@]\w|>>>|\.\. |[-=~*]{3,}|[A-Z]\w+:\s*$)")
_Result = TypeVar("_Result")


class HubQuery:
    """A synchronous Hub client for commands. Methods raise an error if there is no answer."""

    def __init__(
        self, client: HubClient, runner: asyncio.Runner, places: HubPaths, folder: Path
    ) -> None:
        """Create the client. Relative paths in node names are relative to `folder`."""
        self._client = client
        self._runner = runner
        self._places = places
        self._folder = folder

    def find(self, name: str) -> FoundNode:
        """Return the node called `name`. Raises whatever `HubClient.find` raises."""
        return self._runner.run(self._client.find(name, folder=self._folder))

    def node(self, key: str) -> AnsweredNode:
        """Return the facts about a node. Raises NotFound if it was removed after `find`."""
        found = self._answered(self._client.get_context([key]))
        if key not in found:
            raise unknown_node(key, ())
        return found[key]

    def links(self, kind: str, key: str, depth: int) -> dict[str, Any]:
        """Return the `callers`, `callees` or `tests` of a node, in the format of the protocol."""
        return self._answered(getattr(self._client, kind)(key, depth))

    def unknown_because(self) -> str:
        from remora.hub.link_progress import why_unknown  # imports the store

        return why_unknown(self._places)

    def constructor(self, key: str) -> str | None:
        """Return the key of a class's `__init__`, or None if the class does not have one."""
        return self._runner.run(self._client.constructor(key))

    def summary(self, node: AnsweredNode) -> str:
        """Return the first paragraph of a node's docstring, or an empty string."""
        return _docstring_summary(self._places.root, node)

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """Return the result of a search, in the format of the protocol."""
        return self._answered(self._client.search(query, limit))

    def _answered(self, asked: Coroutine[Any, Any, _Result | None]) -> _Result:
        answer = self._runner.run(asked)
        if answer is None:
            raise no_answer_error()
        return answer


@contextmanager
def hub_query(options: Options, target: HubTarget) -> Iterator[HubQuery]:
    """Open the project's Hub. If there is neither a daemon nor an index, build the index first."""
    caller = invocation_of(options)
    note_root_above(options, caller, hub_paths_of(caller, target))
    observer = HubObserver(note=partial(note, options), progress=partial(_progress, options))
    with open_hub(caller, target, observer) as hub, asyncio.Runner() as runner:
        yield HubQuery(hub.client, runner, hub.places, hub.folder)


def _progress(options: Options) -> AbstractContextManager[Progress]:
    from remora.cli.hub.index import progress_bar  # imports the analysis

    return progress_bar(options)


def _docstring_summary(root: Path, node: AnsweredNode) -> str:
    """Return the first paragraph of a node's docstring, of which the Hub stores the first line.

    A long paragraph is cut after a sentence. If the file cannot be read or has changed, return the
    first line, with an ellipsis if it is not a whole sentence.
    """
    first = node.docstring or ""
    paragraph = _paragraph(_docstring(root, node)) if first else ""
    if not paragraph.startswith(first.strip()):
        paragraph = first
    ends = [each.end() for each in _SENTENCE_END.finditer(paragraph)]
    if paragraph == first:
        return first if not first or len(first) in ends else f"{first} …"
    if len(paragraph) <= _MAX_LENGTH:
        return paragraph
    cut = max((end for end in ends if end <= _MAX_LENGTH), default=0)
    return paragraph[:cut] if cut else f"{paragraph[:_MAX_LENGTH].rpartition(' ')[0]} …"


def _paragraph(text: str | None) -> str:
    lines: list[str] = []
    for line in (text or "").strip().splitlines():
        if lines and _NEXT_BLOCK.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _docstring(root: Path, node: AnsweredNode) -> str | None:
    from remora.code.syntax.definitions import find_definitions
    from remora.code.syntax.signature import docstring_text
    from remora.code.syntax.source import Unreadable, read_source
    from remora.errors import HostError
    from remora.workspaces.rooted_files import RootedFiles

    try:
        source = read_source(node.file_path, RootedFiles(root).read_bytes(node.file_path))
    except HostError:
        return None
    if isinstance(source, Unreadable):
        return None
    if node.node_type == "module":
        return docstring_text(source.tree.body)
    found = (each for each in find_definitions(source.tree, node.file_path) if each.key == node.key)
    return next((docstring_text(each.node.body) for each in found), None)
