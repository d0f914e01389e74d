"""What programs print for terminals: read like plain text, and never in a packet with escapes."""

import re
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from remora import ContextManager
from remora.memory.canonical import to_packet_value
from remora.memory.packet import packet_json
from remora.memory.summarizers import DefaultSummarizer
from remora.memory.terminal_text import shown_text

LINK = "\x1b]8;;https://x.com\x1b\\the docs\x1b]8;;\x1b\\"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mERROR\x1b[0m x", "ERROR x"),
        ("\x1b[38;2;9;9;9mred\x1b[39;49m\x1b(B", "red"),
        ("\x9b31mred\x9b0m", "red"),
        (LINK, "the docs"),
        ("\x1b]0;title\x07x\x9d0;title\x9cy\x1bPq#0\x1b\\z", "xyz"),
        ("\x1b]8;;no end\nkept", "8;;no end\nkept"),
        ("cut \x1b[3", "cut "),
        ("1%\r50%\r99%\ndone\r\n", "99%\ndone\n"),
        ("99%\r    \r", "99%"),
        ("\x1b[1G\x1b[0K- load\x1b[1G\x1b[0K| loaded", "| loaded"),
        ("a 1%\nb 1%\n\x1b[2A\x1b[2Ka 9%\n\x1b[2Kb 9%\nend", "a 9%\nb 9%\nend"),
        ("wait |\b/\b-\b done", "wait  done"),
        ("N\bNA\bA _\bx", "NA x"),
        ("\n    \x1b[31mraise\x1b[0m X", "\n    raise X"),
    ],
)
def test_a_terminal_shows_the_last_state_without_colors(text: str, shown: str) -> None:
    assert shown_text(text) == shown == shown_text(shown)


def group() -> None:
    inner = ExceptionGroup("inner", [KeyError("k_1"), OSError("disk 7")])
    raise ExceptionGroup("many", [ValueError("row 17"), inner])


def cause() -> None:
    try:
        int("x")
    except ValueError as error:
        raise RuntimeError("bad config") from error


def context() -> None:
    try:
        cause()
    except RuntimeError:
        raise KeyError("third") from None


def group_of_causes() -> None:
    try:
        cause()
    except RuntimeError as error:
        raise ExceptionGroup("two", [error]) from error


def raised(function: Callable[[], None]) -> str:
    try:
        function()
    except Exception:  # noqa: BLE001 - any of them
        return traceback.format_exc()
    return ""


def colored(text: str) -> str:
    """As Python 3.13 and pytest color it, with the line ends of Windows."""
    words = re.compile(r'\w*(?:Error|Group)\b|"[^"]+"|FAILED|\^+|line \d+')
    return words.sub(lambda word: f"\x1b[1;35m{word[0]}\x1b[0m", text).replace("\n", "\r\n")


RUN = "\n".join(
    [f"tests/test_{n}.py .... [{n}%]" for n in range(30)]
    + ["E       assert 1 == 2", "FAILED tests/test_a.py::test_b - assert 1 == 2", "1 failed"]
)


@pytest.mark.parametrize(
    ("text", "first", "others"),
    [
        (raised(group), "ExceptionGroup: many (2 sub-exceptions)",
         ["ValueError: row 17", "KeyError: 'k_1'", "OSError: disk 7", "test_terminal_text.py"]),
        (raised(cause), "RuntimeError: bad config", ["ValueError: invalid literal", "in cause"]),
        (raised(context), "KeyError: 'third'", ["in context"]),
        (raised(group_of_causes), "ExceptionGroup: two", ["RuntimeError: bad config"]),
        (raised(cause) + "INFO later\n" + raised(context), "KeyError: 'third'", ["in context"]),
        (RUN, "FAILED tests/test_a.py::test_b - assert 1 == 2", ["1 of 33 lines are errors"]),
    ],
)  # fmt: skip
def test_colored_output_has_the_facts_of_plain_output(
    text: str, first: str, others: list[str]
) -> None:
    summarizer = DefaultSummarizer("run")
    summary, facts = summarizer.summarize(text), summarizer.extract_knowledge(text)
    assert summary.startswith(f"Executed run: {first}")
    assert all(fact in str([*facts.values()]).replace("\\'", "'") for fact in [first, *others])
    other = colored(text)
    assert other != text
    assert summarizer.summarize(other) == summary
    assert summarizer.extract_knowledge(other) == facts
    assert summarizer.extract_knowledge({"stderr": other}) == summarizer.extract_knowledge(
        {"stderr": text}
    )


def test_no_escape_sequence_reaches_a_packet() -> None:
    said = f"\x1b[31mred\x1b[0m {LINK} \x9b1mx_1"
    context: dict[str, Any] = {"goal": said * 9, "node_id": said, "knowledge": {said: {said: said}}}
    memory = ContextManager({**context, "node_summary": said, "extensions": {said: [said]}})
    call = {"tool": said, "args": {said: said}, "reason": said, "slots": {said: {said: 1}}}
    keys = ("error", "state_summary", "summary")
    data: dict[str, Any] = {**dict.fromkeys(keys, said), "args": {"a": said}, "diagnostics": [said]}
    data |= {"excerpt": {"text": said, "path": said, "ref": said}, "candidate_actions": [call]}
    memory.apply_event({"type": "tool_result", "tool": "t", "data": data})
    memory.apply_event({"type": "tool_result", "tool": said, "data": {"raw_output": said}})
    memory.apply_event({"type": "hub_update", "hub_context": {said: {said: said}}})
    assert "red the docs x_1" in str(packet_json(memory.packet))
    assert not re.search("[\x1b\x9b]", str([*texts_of(packet_json(memory.packet))]))
    assert to_packet_value("a\r\nb\r") == "a\r\nb\r", "the line ends of code stay"


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for text in texts_of(list(item))]
    return [t for v in value for t in texts_of(v)] if isinstance(value, list) else [str(value)]
