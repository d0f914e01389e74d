"""Results of an evaluation, grouped by setting and tool."""

from collections.abc import Iterable
from typing import Any

import msgspec

from remora.evals.argument_coverage import VisibleText
from remora.evals.eval_setting import EvalSetting
from remora.memory.budget import FittedPacket


class ToolCounts(msgspec.Struct):
    """Counts for the calls and results of a tool under one setting."""

    calls: int = 0
    values: int = 0
    given: int = 0
    covered: int = 0
    remembered: int = 0
    tokens: int = 0
    most_tokens: int = 0
    trims: int = 0
    too_large: int = 0
    facts: int = 0
    dropped: int = 0

    def count_call(self, fitted: FittedPacket, shown: VisibleText, values: Iterable[str]) -> None:
        self.calls += 1
        self.tokens += fitted.tokens
        self.most_tokens = max(self.most_tokens, fitted.tokens)
        self.trims += fitted.trim
        self.too_large += not fitted.fits
        for value in values:
            place = shown.origin_of(value)
            self.values += 1
            self.covered += place is not None
            self.given += place == "given"
            self.remembered += place == "memory"

    def count_facts(self, facts: Iterable[str], shown: VisibleText) -> None:
        for fact in facts:
            self.facts += 1
            self.dropped += shown.origin_of(fact) is None

    def add(self, other: "ToolCounts") -> None:
        for name in self.__struct_fields__:
            combine = max if name == "most_tokens" else int.__add__
            setattr(self, name, combine(getattr(self, name), getattr(other, name)))

    def as_json(self) -> dict[str, Any]:
        """Return the tool's entry in the report. A share of a total of zero is reported as 1."""
        return {
            "coverage": _share(self.covered, self.values),
            "packet_tokens": round(self.tokens / self.calls, 1) if self.calls else 0,
            "dropped": self.dropped,
            "remembered": _share(self.remembered, self.values - self.given),
            "calls": self.calls,
            "values": self.values,
            "given": self.given,
            "facts": self.facts,
            "most_packet_tokens": self.most_tokens,
            "trims": self.trims,
            "too_large": self.too_large,
        }


class Arm(msgspec.Struct, frozen=True):
    setting: EvalSetting
    tools: dict[str, ToolCounts]

    def total(self) -> ToolCounts:
        total = ToolCounts()
        for tally in self.tools.values():
            total.add(tally)
        return total

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.setting.name,
            "setting": self.setting.as_json(),
            "tools": _by_tool(self),
            "total": self.total().as_json(),
        }


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all settings on the same streams. The first setting is the recorded one.

    `counters` describes how tokens were counted. `skipped` lists the streams that were skipped,
    each with the reason.
    """

    arms: tuple[Arm, ...]
    streams: int
    counters: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values.

        `tools` and `total` describe the first requested setting, or the recorded setting if none
        was requested.
        """
        chosen = self.arms[min(1, len(self.arms) - 1)]
        return {
            "tools": _by_tool(chosen),
            "total": chosen.total().as_json(),
            "setting": chosen.setting.as_json(),
            "arms": [arm.as_json() for arm in self.arms],
            "streams": self.streams,
            "counters": list(self.counters),
            "skipped": [{"agent_id": name, "detail": why} for name, why in self.skipped],
            "notes": list(self.notes),
        }


def _by_tool(arm: Arm) -> dict[str, Any]:
    return {tool: tally.as_json() for tool, tally in sorted(arm.tools.items())}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0
