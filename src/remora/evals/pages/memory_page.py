"""The page of `remora eval memory`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from remora.evals.pages.evaluation_page import EvaluationPage, Section, folded, html_page, table
from remora.pictures.count_grid import Cell, Column, Row, count_grid
from remora.pictures.dot_rows import Arm, Measure, dot_rows
from remora.pictures.figure import Frame
from remora.pictures.interval import Estimate, exact, number_text, share_text
from remora.text import count

_EXPLANATION = (
    "Recorded calls were kept, and only the packets before them were computed again with other "
    "settings. Covered is the share of the values in the calls' arguments that the packet contained; "
    "by memory is that of the values which were not given at the start; facts kept is the share of "
    "the facts in results that the next packet contained; over limit is the share of the calls whose "
    "smallest packet exceeds the limit, where a real run would have ended. All settings are counted "
    "on the same calls, so these are exact counts of the recording, without intervals."
)
_MEASURES = (
    *(Measure("covered"), Measure("by memory"), Measure("facts kept")),
    *(Measure("mean tokens", is_share=False), Measure("over limit")),
)
_HEADS = ("setting", "tool", "calls", "tokens", "most", "covered", "by memory", "dropped", "over")


def memory_page(document: Mapping[str, Any], project: str) -> str:
    """Return the document of `eval memory` as HTML."""
    source = f"{count(document['streams'], 'stream')}; tokens by {'; '.join(document['counters'])}"
    notes = [f"skipped {each['agent_id']}: {each['detail']}" for each in document["skipped"]]
    return html_page(
        EvaluationPage(
            title=f"{project}: memory settings",
            about=source if document["streams"] else "nothing was recorded",
            text=_EXPLANATION,
            sections=_sections(document["arms"]),
            notes=[*document["notes"], *notes],
        )
    )


def _sections(arms: Sequence[Mapping[str, Any]]) -> list[Section]:
    if not arms[0]["tools"]:
        return []
    return [
        Section("Settings", [_settings(arms), _tools(arms)]),
        Section("All numbers", [folded("by setting and tool", table(_HEADS, _rows(arms)))]),
    ]


def _settings(arms: Sequence[Mapping[str, Any]]) -> Markup:
    calls = count(arms[0]["total"]["calls"], "call")
    frame = Frame("settings", "Settings", f"One row per setting, on {calls}.")
    rows = [Arm(arm["name"], _values(arm["total"])) for arm in arms]
    return dot_rows(frame, _MEASURES, rows)


def _values(found: Mapping[str, Any]) -> list[Estimate | None]:
    is_called = found["calls"] > 0
    return [
        _covered(found),
        exact(found["remembered"]) if found["values"] > found["given"] else None,
        exact(1 - found["dropped"] / found["facts"]) if found["facts"] else None,
        exact(found["packet_tokens"]) if is_called else None,
        exact(found["too_large"] / found["calls"]) if is_called else None,
    ]


def _tools(arms: Sequence[Mapping[str, Any]]) -> Markup:
    """Return which share of each tool's argument values was in the packet, by setting."""
    values = {name: found["values"] for name, found in arms[0]["tools"].items()}
    tools = [name for name in sorted(values, key=lambda name: -values[name]) if values[name]]
    frame = Frame(
        "tools",
        "Covered by tool",
        "The share of the values in each tool's arguments that the packet contained.",
    )
    rows = [Row(arm["name"], [_cell(arm["tools"].get(tool)) for tool in tools]) for arm in arms]
    return count_grid(frame, "setting", [Column(name) for name in tools], rows)


def _cell(found: Mapping[str, Any] | None) -> Cell:
    if found is None or not found["values"]:
        return Cell("-", None)
    return Cell(f"{found['coverage'] * 100:.0f} % of {found['values']:,}", found["coverage"])


def _rows(arms: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[object]]:
    for arm in arms:
        for tool, found in (*arm["tools"].items(), ("all", arm["total"])):
            covered, remembered, _, tokens, _ = _values(found)
            yield (
                *(arm["name"], tool, f"{found['calls']:,}"),
                *(number_text(tokens), f"{found['most_packet_tokens']:,}"),
                *(share_text(covered), share_text(remembered)),
                f"{found['dropped']:,} of {found['facts']:,}" if found["facts"] else "-",
                f"{found['too_large']:,}",
            )


def _covered(found: Mapping[str, Any]) -> Estimate | None:
    return exact(found["coverage"]) if found["values"] else None
