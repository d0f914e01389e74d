"""A model that drives writes tests of what rules cannot test, and what rules wrote is kept."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, tree, write
from tests.isolation_levels import need
from tests.openai_server import Handler, Server, answer, openai_server, send_json

RATIOS = '''\
def ratio(text):
    wide, high = text.split(":")
    if int(high) == 0:
        raise ValueError("a ratio without a height")
    return int(wide) // int(high)


def doubled(text):
    """Return a text twice.

    >>> doubled("ab")
    'abab'
    >>> doubled("")
    '-'
    """
    return text + text if text else "-"
'''
WRONG = "def test_ratio():\n    assert ratio('16:4') == 5\n"
ONE = "def test_ratio():\n    assert ratio('16:4') == 4\n"
MORE = """\
import pytest


def test_ratio_is_rounded_down():
    assert ratio('16:9') == 1


def test_ratio_needs_a_height():
    with pytest.raises(ValueError):
        ratio('16:0')
"""
CALLS = (
    ("read_function", {"name": "ratio"}),
    ("run_code", {"code": "ratio('16:9')"}),
    ("write_test", {"function": "ratio", "code": WRONG}),
    ("write_test", {"function": "ratio", "code": ONE}),
    ("write_test", {"function": "ratio", "code": MORE}),
    ("remove_test", {"name": "test_doubled"}),
    ("undo", {"turn": 7, "because": "the example is worth a test"}),
    ("submit_result", {"summary": "tests of both functions"}),
)


@pytest.fixture
def ratios(tmp_path: Path) -> Path:
    need(2)
    root = write(tmp_path / "ratios", {"ratios.py": RATIOS})
    git(root, "init", "-q")
    return root


@pytest.fixture
def user(poor: Remora, plain_python: ProjectPython) -> Remora:
    environ = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "9000"}  # the server counts no tokens
    return replace(poor, environ={**environ, "VIRTUAL_ENV": str(plain_python.python.parent.parent)})


@contextmanager
def scripted(calls: tuple[tuple[str, Any], ...]) -> Iterator[Server]:
    """Serve a model that makes these calls, one for each request, and then fails."""

    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        if number > len(calls):
            send_json(handler, {"error": {"message": "out of memory"}}, 400)
        else:
            send_json(handler, answer(calls[number - 1]))

    with openai_server(chat) as server:
        yield server


def analyzed(user: Remora, server: Server, root: Path) -> dict[str, Any]:
    words = ("-o", "test", "--model", server.address, "--decisions", "model", "--json")
    done = user.start("analyze", *words, cwd=root)
    out, err = done.communicate(timeout=250)
    assert done.returncode in (0, 3), err
    (job,) = json.loads(out)["jobs"]
    assert isinstance(job, dict)
    return job


def shown(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_model_reads_runs_writes_and_submits(user: Remora, ratios: Path) -> None:
    before = tree(ratios)
    with scripted(CALLS) as server:
        job = analyzed(user, server, ratios)
    assert (job["status"], job["error"]) == ("verified", None)
    assert (job["findings"]["after"], job["worth"]["killed"]) == ({}, 15)
    assert len(server.requests) == len(CALLS)
    for request in server.requests:
        names = {each["function"]["name"] for each in request["tools"]}
        assert names >= {"read_function", "run_code", "write_test", "remove_test", "leave"}
    first, read, ran, refused, wrote, more, *_ = map(shown, server.requests)
    assert 'write_test(function="ratio") - with values that a person would choose' in first
    assert "1| def ratio(text):\n2|     wide" in read
    assert "no test detects: line 5: it returns None" in read
    assert 'write_test(function="ratio")' in read
    assert "run_code(code=\"ratio('16:9')\") -> gives 1" in ran
    assert "Nothing was kept: tests/test_ratios.py::test_ratio: failed: AssertionError" in refused
    assert re.search(r"Tests of ratio detect .*; passed twice: test_ratio$", wrote, re.MULTILINE)
    assert "detected: line 3: the condition `int(high) == 0` was negated" in wrote
    assert "; passed twice: test_ratio_is_rounded_down, test_ratio_needs_a_height" in more
    assert tree(ratios) == before
    written = user("diff", "last", cwd=ratios).out
    assert 'doubled("ab") == "abab"' in written
    assert "+from ratios import doubled, ratio" in written
    assert "def test_ratio():" not in written
    assert "+def test_ratio_is_rounded_down():" in written
    verified = user("trace", "verify", "--all", cwd=ratios)
    assert verified.code == 0, verified.out
