"""Comparison of streams with the heads recorded in their run's stream."""

from collections.abc import Mapping
from typing import NamedTuple

from remora.memory.events import Head, JobEnd, JobStart, Payload, Review, RunEnd
from remora.trace.verify.verify_report import Problems


class Anchor(NamedTuple):
    """Head of an agent's stream, as recorded in its run's stream."""

    line: int
    """The line number in the run's stream."""
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


def check_anchors(
    agent_id: str,
    run: RunAnchors | None,
    head: Head,
    hashes: Mapping[int, str],
    end_line: int | None,
    found: Problems,
) -> bool:
    """Compare a stream with its anchors. Add a problem for each anchor that does not match.

    `hashes` maps line numbers to hashes, and `end_line` is the line of `agent_end`. Return True if a
    `job_end` event anchors the stream's head.
    """
    anchors = run.anchors.get(agent_id, []) if run is not None else []
    for anchor in anchors:
        _check_head(anchor, head.count, hashes, found)
    if end_line is not None and not any(a.ends_job for a in anchors):
        missing = _missing(agent_id, run)
        if missing:
            found.add(end_line, "anchor", missing)
    return any(anchor.ends_job and anchor.head == head for anchor in anchors)


def _check_head(anchor: Anchor, lines: int, hashes: Mapping[int, str], found: Problems) -> None:
    expected = anchor.head
    where = f"line {anchor.line} of the run's stream"
    if expected.count > lines:
        detail = (
            f"the stream ends after {lines} lines; the anchor in {where} covers {expected.count}"
        )
        found.add(max(1, lines), "anchor", detail)
    elif hashes.get(expected.count) != expected.hash:
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
        return "the run ended without a job_end for this agent; resuming the run adds it"
    return None
