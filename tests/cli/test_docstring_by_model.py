"""`analyze -o docstring --decisions model`: a model looks, writes, is refused, mends and submits."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, write
from tests.openai_server import Handler, Server, answer, openai_server, send_json

STATS = '''\
"""Numbers."""

from marks import weigh


def scale(values, factor):
    """Multiply each number.

    Args:
        values: The numbers.
        factor: By how much.

    Returns:
        A new list.
    """
    return [value * factor for value in values]


def spread(values, limit=3):
    if limit < 1:
        raise ValueError("a limit is positive")
    return [weigh(value) for value in scale(values, 2) if value < limit]
'''
MARKS = (
    'def weigh(number):\n    """Return how far a number is from the truth."""\n    return number\n'
)
REPORT = "from stats import spread\n\n\ndef _far(prices):\n    # typing errors\n    return spread(prices, limit=10)\n"
CONFIG = "runner:\n  memory:\n    packet_size_limit: 12000\n"
GOOD = """Find how uncertain each number is.

Args:
    values: The numbers, in any order, each of which may occur more than once and be negative or not.
    limit: From where on a number is left out.

Returns:
    Twice the distance of each number from the truth.

Raises:
    ValueError: If `limit` is less than 1."""
WRITTEN = '''\
    """Find how uncertain each number is.

    Args:
        values: The numbers, in any order, each of which may occur more than
            once and be negative or not.
        limit: From where on a number is left out.

    Returns:
        Twice the distance of each number from the truth.

    Raises:
        ValueError: If `limit` is less than 1.
    """
'''
Choose = Callable[[str], tuple[str, dict[str, Any]]]
"""Chooses a call from what a request shows."""


@contextmanager
def chooser(choose: Choose) -> Iterator[Server]:
    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        send_json(handler, answer(choose(request["messages"][-1]["content"])))

    with openai_server(chat) as server:
        yield server


@pytest.fixture
def analyze(poor: Remora, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], list[str]]]:
    """Run with a model that chooses. Returns the job and what the model was shown in each turn."""

    def run(files: dict[str, str], node: str, choose: Choose) -> tuple[dict[str, Any], list[str]]:
        write(tmp_path, {**files, "remora.yaml": CONFIG})
        git(tmp_path, "init", "-q")
        with chooser(choose) as server:
            options = ("--model", server.address, "--decisions", "model", "--json")
            selected = ("stats.py", "--node", node)
            done = poor("analyze", *selected, "-o", "docstring", *options, cwd=tmp_path)
        assert done.code == 0, done.err
        verified = poor("trace", "verify", "--all", cwd=tmp_path)
        assert verified.code == 0, verified.out
        replayed = poor("trace", "replay", f"stats.py:{node}", cwd=tmp_path)
        assert replayed.code == 0, replayed.err
        (job,) = done.document["jobs"]
        return dict(job), [each["messages"][-1]["content"] for each in server.requests]

    return run


def calls_so_far(shown: str) -> list[str]:
    return re.findall(r"^\d+\. (\w+)\(", shown, re.MULTILINE)


def write_in_two_attempts(shown: str) -> tuple[str, dict[str, Any]]:
    match calls_so_far(shown):
        case []:
            return "read_callers", {}
        case ["read_callers"]:
            return "write_docstring", {"text": "Spread the values with a limit."}
        case ["read_callers", "write_docstring"]:
            return "write_docstring", {"text": GOOD}
        case _:
            return "submit_result", {}


def test_a_refused_docstring_is_written_better(
    analyze: Callable[..., tuple[dict[str, Any], list[str]]], poor: Remora, tmp_path: Path
) -> None:
    files = {"stats.py": STATS, "marks.py": MARKS, "report.py": REPORT}
    job, shown = analyze(files, "spread", write_in_two_attempts)
    assert job["status"] == "verified"
    assert job["decided_by"]["model"] == 4
    assert "- write_docstring() - first line: at most 69 characters" in shown[0]
    assert "then Args, Returns, Raises in google style" in shown[0]
    assert 'docstring of scale: "Multiply each number.\\n\\nArgs:' in shown[0]
    assert 'calls: {"weigh":"Return how far a number is from the truth."' in shown[0]
    assert 'exceptions: ["ValueError"]' in shown[0]
    assert "19| def spread(values, limit=3):" in shown[0]
    assert "call in report.py:6 in _far: " in shown[1]
    assert 'write_docstring(text="Spread the values with a limit.") -> error' in shown[2]
    assert "the summary of its docstring only repeats the name" in shown[2]
    assert '20|     """Find how uncertain each number is.' in shown[3]
    assert "the docstring is missing" not in shown[3]
    poor("accept", "last", "--all", cwd=tmp_path)
    head, body = STATS.split("    if limit")
    assert (tmp_path / "stats.py").read_text() == f"{head}{WRITTEN}    if limit{body}"


def take_back(shown: str) -> tuple[str, dict[str, Any]]:
    match calls_so_far(shown):
        case ["mend_docstring"]:
            return "undo", {"turn": 1, "because": "the old name is right"}
        case ["mend_docstring", "undo"]:
            return "leave", {"item": "the docstring", "because": "the code is wrong"}
        case _:
            return "submit_result", {}


def test_a_model_takes_back_what_rules_corrected(
    analyze: Callable[..., tuple[dict[str, Any], list[str]]],
) -> None:
    stats = STATS.replace("        factor: By", "        faktor: By")
    job, shown = analyze({"stats.py": stats, "marks.py": MARKS}, "scale", take_back)
    assert job["status"] == "no_change"
    assert job["decided_by"]["rule"] == 1
    assert "11|         factor: By how much." in shown[0]
    assert "11|         faktor: By how much." in shown[1]
    assert "parameter `faktor` is documented but does not exist" in shown[1]
    assert "left the docstring: the code is wrong" in shown[2]


def test_words_that_the_code_does_not_contradict_are_kept(
    analyze: Callable[..., tuple[dict[str, Any], list[str]]],
) -> None:
    def choose(shown: str) -> tuple[str, dict[str, Any]]:
        done = calls_so_far(shown)
        return ("write_docstring", {"text": "Grow."}) if len(done) < 2 else ("submit_result", {})

    stats = STATS.replace("        factor: By", "        faktor: By")
    job, shown = analyze({"stats.py": stats, "marks.py": MARKS}, "scale", choose)
    assert job["status"] == "verified", "what rules corrected is handed in"
    assert "Refused, and nothing was changed: deletes 'Multiply' from the docstring" in shown[1]
