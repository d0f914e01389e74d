"""What programs print for terminals: read like plain text, and never in a packet with escapes."""

import re
import time
import traceback
from typing import Any

import pytest

from remora import ContextManager
from remora.memory.canonical import json_text, to_packet_value
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
        ("\x1b]0;title\x07x\x1b]0;title\x9cy\x1bPq#0\x1b\\z", "xyz"),
        ("“a” b “c” m\u011bsto".encode().decode("latin-1"), "â\x80aâ\x80 b â\x80câ\x80 mÄsto"),
        ("\x1b]8;;no end\nkept", "8;;no end\nkept"),
        ("cut \x1b[3", "cut "),
        ("1%\r50%\r99%\ndone\r\n", "99%\ndone\n"),
        ("99%\r    \r", "99%"),
        ("\x1b[1G\x1b[0K- load\x1b[1G\x1b[0K| loaded", "| loaded"),
        ("a 1%\nb 1%\n\x1b[2A\x1b[2Ka 9%\n\x1b[2Kb 9%\nend", "a 9%\nb 9%\nend"),
        ("wait |\b/\b-\b done", "wait  done"),
        ("N\bNA\bA _\bx", "NA x"),
        ("abc\b\bX", "aXc"),
        ("word\b\b", "word"),
        ("lss\b\x1b[K -l\x1b[1000D\x1b[0Kdir", "dir"),
        ("Starting httpd:\x1b[60G[  OK  ]", "Starting httpd: [  OK  ]"),
        ("Stopping\r\x1b[9C[ OK ]\x1b[Gend", "end"),
        ("Stopping\r\x1b[9C[ OK ]", "Stopping [ OK ]"),
        ("\n    \x1b[31mraise\x1b[0m X", "\n    raise X"),
    ],
)
def test_a_terminal_shows_the_last_state_without_colors(text: str, shown: str) -> None:
    assert shown_text(text) == shown == shown_text(shown)


def raised(error: Exception, cause: Exception | None = None) -> str:
    try:
        raise error from cause or error.__cause__  # noqa: TRY301
    except Exception as found:  # noqa: BLE001 - any of them
        return "".join(traceback.format_exception(found))


def caught(error: Exception, cause: Exception | None = None) -> Exception:
    raised(error, cause)
    return error


def colored(text: str) -> str:
    """As Python 3.13 and pytest color it, with the line ends of Windows."""
    words = re.compile(r'\w*(?:Error|Group)\b|"[^"]+"|FAILED|\^+|line \d+')
    return words.sub(lambda word: f"\x1b[1;35m{word[0]}\x1b[0m", text).replace("\n", "\r\n")


INNER = ExceptionGroup("inner", [KeyError("k_1"), OSError("disk 7")])
CONFIG = caught(RuntimeError("bad config"), caught(ValueError("row 3")))
RUN = "\n".join(
    [f"tests/test_{n}.py .... [{n}%]" for n in range(30)]
    + ["E       assert 1 == 2", "FAILED tests/test_a.py::test_b - assert 1 == 2", "1 failed"]
)


@pytest.mark.parametrize(
    ("text", "first", "others"),
    [
        (raised(ExceptionGroup("many", [ValueError("row 17"), INNER])),
         "ExceptionGroup: many (2 sub-exceptions)",
         ["ValueError: row 17", "KeyError: 'k_1'", "OSError: disk 7", "test_terminal_text.py"]),
        (raised(CONFIG), "RuntimeError: bad config", ["ValueError: row 3", "in raised"]),
        ("begin\n" + raised(KeyError("third"), ValueError("not raised")), "KeyError: 'third'",
         ["ValueError: not raised"]),
        (raised(ExceptionGroup("two", [CONFIG])), "ExceptionGroup: two", ["RuntimeError: bad"]),
        (raised(CONFIG) + "INFO later\n" + raised(KeyError("x_1")), "KeyError: 'x_1'", []),
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
    other, inside = colored(text), summarizer.extract_knowledge({"stderr": text})
    assert (summarizer.summarize(other), summarizer.extract_knowledge(other)) == (summary, facts)
    assert summarizer.extract_knowledge({"stderr": other}) == inside


ERRORS = """npm ERR! code ERESOLVE|npm error code ERESOLVE|error[E0308]: mismatched types|src/a.ts(3,5): error TS2322: Type
--- FAIL: TestA (0.00s)|FAIL src/a.test.js|thread 'main' panicked at src/main.rs:2:5:|panic: runtime error|not ok 3 - adds
Exception in thread "main" java.lang.E|make: *** [all] Error 2|E: Unable to locate package a|level=error msg=x|{"level":"error"}
Segmentation fault (core dumped)|a.c:3:5: error: expected ';'|fatal: not a git repository|ERROR: no x|Error [ERR_A]: no x
  3:5  error  'x' is not defined|2024-01-01 error cannot open x|sh: foo: command not found|a.cpp(3): error C2065: x|BUILD FAILURE
error Command failed with exit code 1.|2024/01/01 12:00:00 [error] 7#0: no x|Error: Cannot find module 'x'|KeyError: 'x'"""
NO_ERRORS = """0 errors|no error|error_rate: 3|errors.py ok|test_error_handling PASSED|0 error found|error handling: done
level=info errors=0|PASS 3 FAIL 0|Exit at error level|raise ValueError|a.py:3 errors 0|make: Nothing to be done|core/error.py"""


def test_lines_of_errors() -> None:
    for line in re.split("[|\n]", f"{ERRORS}\n{NO_ERRORS}"):
        log = colored("ok\n" * 30 + line)
        is_kept = "1 of 31 lines" in str(DefaultSummarizer("t").extract_knowledge(log))
        assert is_kept == (line in ERRORS), line


def test_no_escape_sequence_reaches_a_packet() -> None:
    said: Any = f"\x1b[31mred\x1b[0m {LINK} \x9b1mx_1"
    held = {said: [said]}
    memory = ContextManager({"goal": said * 9, "node_id": said, "knowledge": {said: held}})
    call = {"tool": said, "args": held, "reason": said, "slots": held}
    data = dict.fromkeys(("error", "state_summary", "summary"), said) | {"args": held}
    data |= {"excerpt": {"text": said, "path": said, "ref": said}, "candidate_actions": [call]}
    data |= {"diagnostics": [said, held], "extensions": held}
    memory.apply_event({"type": "tool_result", "tool": "t", "data": data})
    memory.apply_event({"type": "tool_result", "tool": said, "data": {"raw_output": said}})
    memory.apply_event({"type": "hub_update", "hub_context": {said: held}})
    shown = json_text(memory.packet)
    assert "red the docs x_1" in shown
    assert not re.search(r"\\u001b|\\u009b|[\x1b\x9b]", shown)
    assert to_packet_value("a\r\nb\r") == "a\r\nb\r", "the line ends of code stay"


@pytest.mark.parametrize(
    "text",
    ["\x9d" * 50_000, "â\x80\x9d word " * 12_000, "\x1b[31mx" * 50_000, "ab\b" * 50_000,
     "\n" * 40_000 + f"x\n{raised(KeyError('k_1'))}"],
)  # fmt: skip
def test_long_output_takes_time_in_proportion(text: str) -> None:
    began = time.process_time()
    DefaultSummarizer("run").extract_knowledge(text)
    assert time.process_time() - began < 1.5
