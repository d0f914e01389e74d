"""Verification report, as printed by `trace verify --json`."""

from typing import Any, Literal

import msgspec

from remora.memory.events import Head

Kind = Literal[
    "torn_tail",
    "bad_json",
    "schema",
    "chain",
    "seq",
    "anchor",
    "projection",
    "prompt",
    "blob",
    "copy",
]
MAX_PROBLEMS = 200
"""Maximum number of problems kept per stream. A final entry counts the rest."""


class Problem(msgspec.Struct, frozen=True):
    """A problem in a stream."""

    line: int
    """Counted from 1."""
    kind: Kind
    detail: str


class StreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report for one stream."""

    name: str
    of_run: bool
    head: Head
    anchored: bool | None
    """None for a run's stream, because run streams have no anchors."""
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {
            "run_id" if self.of_run else "agent_id": self.name,
            "ok": self.ok,
            "head": {"count": self.head.count, "hash": self.head.hash},
            "anchored": self.anchored,
            "problems": [msgspec.structs.asdict(problem) for problem in self.problems],
        }


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report for all streams."""

    streams: tuple[StreamReport, ...]

    @property
    def ok(self) -> bool:
        return all(stream.ok for stream in self.streams)

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "streams": [stream.as_json() for stream in self.streams]}


class Problems:
    """Collected problems of one stream. At most MAX_PROBLEMS are kept."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._dropped = 0

    def add(self, line: int, kind: Kind, detail: str) -> None:
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(Problem(line, kind, detail))
        else:
            self._dropped += 1

    def all(self) -> tuple[Problem, ...]:
        found = sorted(self._found, key=lambda problem: problem.line)
        if self._dropped:
            last = found[-1]
            found.append(Problem(last.line, last.kind, f"and {self._dropped} more problems"))
        return tuple(found)
