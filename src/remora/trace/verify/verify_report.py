"""What a verification found, in the words of `trace verify --json`."""

from typing import Any, Literal

import msgspec

from remora.memory.events import Head
from remora.trace.verify.anchor_file import SavedAnchor

Kind = Literal[
    "torn_tail", "bad_json", "schema", "chain", "seq", "anchor", "projection", "prompt", "blob"
]
MAX_PROBLEMS = 200
"""Problems that are kept of one stream; a last one says how many more there were."""


class Problem(msgspec.Struct, frozen=True):
    """A fault in a stream; `line` counts from 1."""

    line: int
    kind: Kind
    detail: str


class StreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """One stream. `anchored` is null for a run's own stream, which nothing above it anchors."""

    name: str
    of_run: bool
    head: Head
    anchored: bool | None
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The stream's entry in the report."""
        return {
            "run_id" if self.of_run else "agent_id": self.name,
            "ok": self.ok,
            "head": {"count": self.head.count, "hash": self.head.hash},
            "anchored": self.anchored,
            "problems": [msgspec.structs.asdict(problem) for problem in self.problems],
        }


class Signatures(msgspec.Struct):
    """What was signed: right signatures, runs without any, runs signed with another key."""

    checked: int = 0
    unsigned_runs: int = 0
    foreign_runs: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All streams that were looked at; `signatures` where there was a key to check them with.

    `expired` are heads that were kept elsewhere and whose streams were removed for their age.
    That is on record, but who can remove streams could have written the record too.
    """

    streams: tuple[StreamReport, ...]
    signatures: Signatures | None = None
    expired: tuple[SavedAnchor, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong in any of them."""
        return all(stream.ok for stream in self.streams)

    def as_json(self) -> dict[str, Any]:
        """The whole report."""
        built = {"ok": self.ok, "streams": [stream.as_json() for stream in self.streams]}
        if self.signatures is not None:
            built["signatures"] = msgspec.structs.asdict(self.signatures)
        if self.expired:
            built["expired"] = [anchor.as_json() for anchor in self.expired]
        return built


class Problems:
    """Collects the problems of one stream, a bounded number of them."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._more = 0

    def add(self, line: int, kind: Kind, detail: str) -> None:
        """One more."""
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(Problem(line, kind, detail))
        else:
            self._more += 1

    def all(self) -> tuple[Problem, ...]:
        """What was found, in order of lines."""
        found = sorted(self._found, key=lambda problem: problem.line)
        if self._more:
            last = found[-1]
            found.append(Problem(last.line, last.kind, f"and {self._more} more problems"))
        return tuple(found)
