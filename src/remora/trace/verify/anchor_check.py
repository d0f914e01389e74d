"""Comparison of streams with the heads recorded in their run's stream and with saved heads, and
check of the signatures of a signed run.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from remora.memory.events import GENESIS, Head, JobEnd, JobStart, Payload, Review, RunEnd, RunStart
from remora.trace.verify.anchor_file import SavedAnchor
from remora.trace.verify.head_hmac import Signer
from remora.trace.verify.verify_report import Problems, SignatureCounts


class Anchor(NamedTuple):
    """Head of an agent's stream, as recorded in its run's stream. `line` is the line number in the
    run's stream.
    """

    line: int
    head: Head
    ends_job: bool


class RunAnchors:
    """Anchors of agents, collected while reading a run's stream."""

    def __init__(self) -> None:
        self.ended = False
        self.live = False
        self.started: set[str] = set()
        self.anchors: dict[str, list[Anchor]] = {}

    def see(self, line: int, payload: Payload | None) -> None:
        if isinstance(payload, JobStart):
            self.started.add(payload.agent_id)
            # a second job_start resumes the job: earlier anchors are kept, but do not end it
            known = self.anchors.get(payload.agent_id, [])
            self.anchors[payload.agent_id] = [a._replace(ends_job=False) for a in known]
        elif isinstance(payload, JobEnd):
            self._add(payload.agent_id, Anchor(line, payload.head, True))
        elif isinstance(payload, Review) and payload.head.count:
            self._add(payload.agent_id, Anchor(line, payload.head, False))
        elif isinstance(payload, RunEnd):
            self.ended = True

    def _add(self, agent_id: str, anchor: Anchor) -> None:
        self.anchors.setdefault(agent_id, []).append(anchor)


class StreamEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a stream that anchors are compared with. `hashes` maps line numbers to hashes."""

    head: Head
    hashes: dict[int, str]
    end_line: int | None


def check_anchors(agent_id: str, end: StreamEnd, run: RunAnchors | None, found: Problems) -> bool:
    """Compare a stream with its anchors. Add a problem for each anchor that does not match.

    Return True if a `job_end` event anchors the stream's head.
    """
    anchors = run.anchors.get(agent_id, []) if run is not None else []
    for anchor in anchors:
        _check_head(anchor, end, found)
    if end.end_line is not None and not any(a.ends_job for a in anchors):
        missing = _missing(agent_id, run)
        if missing:
            found.add(end.end_line, "anchor", missing)
    return any(anchor.ends_job and anchor.head == end.head for anchor in anchors)


def check_saved(
    saved: Sequence[SavedAnchor], end: StreamEnd, signer: Signer | None, found: Problems
) -> None:
    """Add a problem for each saved head that does not match the stream."""
    for anchor in saved:
        if (problem := _saved_problem(anchor, end, signer)) is not None:
            found.add(max(1, min(anchor.count, end.head.count)), "anchor", problem)


def _saved_problem(anchor: SavedAnchor, end: StreamEnd, signer: Signer | None) -> str | None:
    signature = anchor.signature
    if signature and signer and not signer.is_right(anchor.kind, anchor.id, anchor.head, signature):
        return f"the saved anchor of {anchor.count} lines is not signed with this key"
    if anchor.count > end.head.count:
        return f"the stream ends after {end.head.count} lines, but {anchor.count} were anchored"
    if end.hashes.get(anchor.count, GENESIS) != anchor.hash:
        return f"line {anchor.count} does not match the anchored line"
    return None


def _check_head(anchor: Anchor, end: StreamEnd, found: Problems) -> None:
    lines, expected = end.head.count, anchor.head
    where = f"line {anchor.line} of the run's stream"
    if expected.count > lines:
        detail = (
            f"the stream ends after {lines} lines; the anchor in {where} covers {expected.count}"
        )
        found.add(max(1, lines), "anchor", detail)
    elif end.hashes.get(expected.count) != expected.hash:
        found.add(
            max(1, expected.count), "anchor", f"this line does not match the anchor in {where}"
        )
    elif anchor.ends_job and expected.count < lines:
        detail = f"{lines - expected.count} lines follow the end anchored in {where}"
        found.add(expected.count + 1, "anchor", detail)


def _missing(agent_id: str, run: RunAnchors | None) -> str | None:
    if run is None:
        return "the stream of this agent's run is missing"
    if agent_id not in run.started:
        return "the run's stream has no job_start for this agent"
    if run.ended and not run.live:
        return "the run ended without a job_end for this agent; `remora analyze --resume` adds it"
    return None


class SignatureCheck:
    """Checks the signatures in a run's stream.

    If the key is not available, only checks that each anchor has a signature.
    """

    def __init__(
        self, run_id: str, signer: Signer | None, counted: SignatureCounts, found: Problems
    ) -> None:
        self._run_id = run_id
        self._signer = signer
        self._counted = counted
        self._found = found
        self._signing: dict[str, str] | None = None

    def see(self, line: int, payload: Payload | None, before: Head) -> None:
        """Check one event of the run. `before` is the head of the run's stream before this
        event."""
        if isinstance(payload, RunStart):
            self._start(payload)
        elif isinstance(payload, RunEnd):
            self._check(line, _SignedHead("run", self._run_id, before, payload.signature))
        elif isinstance(payload, JobEnd | Review) and (
            payload.head.count or payload.signature is not None
        ):
            anchor = _SignedHead("agent", payload.agent_id, payload.head, payload.signature)
            self._check(line, anchor)

    def _start(self, start: RunStart) -> None:
        self._signing = start.signing
        if start.signing is None:
            self._counted.unsigned_runs += 1
        elif self._signer is None or start.signing != self._signer.signing:
            self._counted.foreign_runs += 1

    def _check(self, line: int, anchor: "_SignedHead") -> None:
        if (problem := self._problem(anchor)) is not None:
            self._found.add(line, "anchor", problem)

    def _problem(self, anchor: "_SignedHead") -> str | None:
        if self._signing is None:
            return None if anchor.signature is None else "a signature in an unsigned run"
        if anchor.signature is None:
            return "an unsigned anchor in a signed run"
        if self._signer is None or self._signing != self._signer.signing:
            return None
        if not self._signer.is_right(anchor.kind, anchor.name, anchor.head, anchor.signature):
            return "invalid signature: this anchor was not made with the key"
        self._counted.checked += 1
        return None


class _SignedHead(NamedTuple):
    kind: str
    name: str
    head: Head
    signature: str | None
