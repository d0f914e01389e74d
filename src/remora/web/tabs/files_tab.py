"""The tab *Files*: what the turn changed, as diffs."""

from typing import Any

from remora.errors import RemoraError
from remora.ids import unescape_path
from remora.memory.events import ToolResulted
from remora.web.agent_records import TurnRecord
from remora.web.diff_markup import DiffLine, diff_lines
from remora.workspaces.copy.changes import diff


def files(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the files that the turn changed, each with its diff or what prevents it."""
    changes = [
        change for result in turn.data(ToolResulted.type) for change in result.get("changes", [])
    ]
    return {"files": [_file(turn, change) for change in changes]}


def _file(turn: TurnRecord, change: dict[str, Any]) -> dict[str, Any]:
    lines: list[DiffLine] = []
    problem = ""
    try:
        before, after = (_content(turn, change.get(key)) for key in ("before", "after"))
        path = unescape_path(str(change.get("path")))
        lines = diff_lines(diff(path, before, after, mode=change.get("mode")))
    except RemoraError as error:
        problem = error.with_hint
    return {"path": change.get("path"), "lines": lines, "problem": problem}


def _content(turn: TurnRecord, digest: str | None) -> bytes | None:
    return None if digest is None else turn.content(digest)
