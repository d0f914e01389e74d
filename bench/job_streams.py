"""Read the stream of a job: its requests, its answers, and its result."""

import json
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

WRITES = {"annotate", "edit_lines", "write_docstring", "write_test"}
ENDINGS = {"submitted", "no_change", "verification", "tool_error"}
"""Reasons of an end that are neither a limit nor a loop."""
SAMPLES = 4000
_MOST_SHOWN = 400


class JobStream:
    """The events of a job. There are none if nothing was planned."""

    def __init__(self, events: Sequence[dict[str, Any]], folder: Path = Path()) -> None:
        self.events, self.folder = events, folder

    @classmethod
    def read(cls, folder: Path, node: str) -> "JobStream":
        for path in folder.glob(".agentfs/traces/*.jsonl"):
            lines = path.read_bytes().splitlines(keepends=True)
            events = [json.loads(line) for line in lines if line.endswith(b"\n")]
            if events and events[0]["node_id"] == f"node:{node}":
                return cls(events, folder)
        return cls([], folder)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.events if event["type"] == kind]

    @cached_property
    def end(self) -> dict[str, Any]:
        ended = self.of("agent_end")
        cut = {"status": "interrupted", "stop_reason": "interrupted"}
        return ended[-1] if ended else cut

    @property
    def is_verified(self) -> bool:
        return bool(self.end["status"] == "submitted")

    @property
    def is_limited(self) -> bool:
        """True if a limit or a loop has ended the job."""
        return bool(self.events) and self.end["stop_reason"] not in ENDINGS

    @property
    def is_done(self) -> bool:
        """True if the change is verified, and holds something that the model wrote."""
        early = (event["data"].get("changes") or () for event in self.events[: self._asked])
        by_rules = {change["after"] for change in chain.from_iterable(early)}
        left = {change["after"] for change in self.end.get("change_set") or ()}
        wrote = any(tool in WRITES and outcome == "success" for tool, outcome in self.calls)
        return self.is_verified and wrote and bool(left - by_rules)

    @property
    def is_declined(self) -> bool:
        """True if the model chose to leave the job as it is."""
        chose = any(tool in {"leave", "submit_result"} for tool, _ in self.calls)
        return chose and not self.is_done and self.end["stop_reason"] in {"submitted", "no_change"}

    @property
    def verdict(self) -> str:
        if not self.events:
            return "not planned"
        if self.is_done:
            return "done"
        return "declined" if self.is_declined else str(self.end["stop_reason"])

    @property
    def to_write(self) -> list[str]:
        """Why the model is first asked to write something, or nothing if it is not."""
        if self._asked == len(self.events):
            return []
        deltas = [event["packet_delta"] or {} for event in self.events[: self._asked]]
        offered = [delta["candidate_actions"] for delta in deltas if "candidate_actions" in delta]
        return [each["reason"] for each in chain(*offered[-1:]) if each["tool"] in WRITES]

    @cached_property
    def calls(self) -> list[tuple[str, str]]:
        """The tool and the outcome of each call that the model made."""
        pairs = zip(self.of("tool_call"), self.of("tool_result"), strict=False)
        own = ((call, result) for call, result in pairs if call["decided_by"] == "model")
        return [(call["tool"], result["outcome"]) for call, result in own]

    @property
    def answers(self) -> list[str]:
        said = self.of("model_response")
        return [str(each.get("text") or json.dumps(each.get("call"))) for each in said]

    @property
    def invalid(self) -> int:
        return sum(error["kind"] == "bad_call" for error in self.of("agent_error"))

    @property
    def tokens(self) -> list[int]:
        """The prompt's tokens of each request that was answered."""
        said = self.of("model_response")
        return [int((each.get("usage") or {}).get("prompt_tokens") or 0) for each in said]

    @property
    def seconds(self) -> list[float]:
        """The time from each request to its answer."""
        kinds = [e for e in self.events if e["type"] in {"model_request", "model_response"}]
        return [between(a, b) for a, b in pairwise(kinds) if b["type"] == "model_response"]

    @property
    def total_s(self) -> float:
        return between(self.events[0], self.events[-1]) if self.events else 0

    def told(self) -> Iterator[str]:
        """Yield how the job ended, what the model answered, and which errors it got."""
        yield f"{self.verdict}: {self.end.get('error') or ''}"
        yield from (f"- {answer[:_MOST_SHOWN]}" for answer in self.answers)
        errors = [result["error"] for result in self.of("tool_result") if result.get("error")]
        errors += [error["message"] for error in self.of("agent_error")]
        errors += [
            f"{check['name']}: {check['detail']}"
            for submitted in self.of("submit_result")
            for check in submitted["checks"]
            if not check["ok"]
        ]
        yield from (f"- error: {text[:_MOST_SHOWN]}" for text in dict.fromkeys(map(str, errors)))

    @property
    def _asked(self) -> int:
        """The number of events before the first request."""
        kinds = [event["type"] for event in self.events]
        return kinds.index("model_request") if "model_request" in kinds else len(kinds)


def between(first: dict[str, Any], last: dict[str, Any]) -> float:
    begin, end = (datetime.fromisoformat(event["timestamp"]) for event in (first, last))
    return (end - begin).total_seconds()


def share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval, as Wilson has it."""
    if not whole:
        return "-"
    z, p = 1.96, part / whole
    middle = p + z * z / (2 * whole)
    width = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole))
    low, high = (max(0.0, (middle + side) / (1 + z * z / whole)) for side in (-width, width))
    return f"{part} of {whole}, {p:.1%} [{low:.1%}, {high:.1%}]"


def interval(differences: Sequence[float]) -> str:
    """Return the mean, with its 95 % interval of the bootstrap over jobs."""
    if not differences:
        return "no jobs"
    draw = random.Random(1)
    means = sorted(
        statistics.mean(draw.choices(differences, k=len(differences))) for _ in range(SAMPLES)
    )
    low, high = means[SAMPLES // 40], means[-SAMPLES // 40]
    return f"{statistics.mean(differences):+.2f} [{low:+.2f}, {high:+.2f}]"
