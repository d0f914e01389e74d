"""What a change concerns, as `hub impact` finds it: calls that no longer fit, and tests to run."""

import re
from collections.abc import Iterable, Iterator, Sequence

from remora.code.file_analysis import read_facts
from remora.code.syntax.changed_behavior import changed_nodes
from remora.errors import HostError
from remora.hub.file_reader import read_all
from remora.hub.query.impact import ImpactSearch
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from remora.ids import escape_path
from remora.judges.judged_change import Change
from remora.runs.report.problems import Problem

_MOST_FILES = 200
"""Files that name what a change removed or gave other parameters. If there are more, none is read."""


def reaching_tests(change: Change) -> Sequence[str]:
    """Return the pytest IDs of the tests that a change reaches, nearest first."""
    return _search(change, change.after.files.glob("**/*.py")).of_edits(()).tests


def unfit_calls(change: Change) -> Iterator[Problem]:
    """Yield the calls that no longer fit: of 76 read, 76 were right."""
    names = {
        node.name
        for path, file in change.files.items()
        for node in (changed_nodes(path, *file.trees) if file.trees else ())
        if node.how in ("gone", "signature")
    }
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b".encode())
    paths = change.after.files.glob("**/*.py") if names else ()
    naming = [path for path in paths if pattern.search(_content(change, path))]
    if not 0 < len(naming) <= _MOST_FILES:
        return
    search = _search(change, {*naming, *change.files})
    for concern in search.misfits():
        path, _, line = concern.place.rpartition(":")
        called = concern.about.rpartition(":")[2]
        yield Problem(
            path=path,
            line=int(line),
            end_line=int(line),
            operation="impact",
            code="unfit call",
            name="",
            message=f"no longer fits `{called}`: {concern.why}",
            fixable=False,
        )


def _search(change: Change, paths: Iterable[str]) -> ImpactSearch:
    """Return a search in some files, with the changed ones as they were and as they are."""
    root, files = change.after.tree, change.files.items()
    now = read_all(root, paths)
    old = {escape_path(path): read_facts(path, file.before or b"") for path, file in files}
    before, after = (NodeQueries(MemorySnapshot(side), root=root) for side in (now | old, now))
    edits = {path: (file.before, file.after) for path, file in files}
    return ImpactSearch(before, after, edits, lambda path: _content(change, path))


def _content(change: Change, path: str) -> bytes:
    try:
        return change.after.files.read_bytes(path)
    except HostError:
        return b""
