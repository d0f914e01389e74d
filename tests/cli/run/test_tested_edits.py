"""A model's edit of code is tested, or its change says that it is not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, write
from tests.openai_server import Handler, answer, openai_server, send_json

SHOP = """\
def pay(text):
    try:
        return int(text)
    except:
        return 0


def send(text):
    try:
        return open(text)
    except:
        raise OSError("no file")
"""
TESTS = "from shop import pay\n\n\ndef test_pay():\n    assert pay('no') == 0\n"
SEND = "    except OSError:\n        return None"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("edit_lines", {"first": 4, "last": 4, "text": "    except TypeError:"}),
    ("check", {}),
    ("submit_result", {}),
    ("edit_lines", {"first": 4, "last": 4, "text": "    except ValueError:"}),
    ("edit_lines", {"first": 11, "last": 12, "text": SEND}),
    ("submit_result", {}),
)
NAMED = (
    "line 4: `except` is `except ValueError` now; line 11: `except` is `except OSError` now; "
    "`raise OSError('no file')`, which was in line 12, is gone"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    settings = '[tool.ruff]\nlint.select = ["E722", "F"]\n'
    files = {"shop.py": SHOP, "test_shop.py": TESTS, "pyproject.toml": settings}
    root = write(tmp_path / "shop", files)
    git(root, "init", "-q")
    return root


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_test_that_fails_sends_the_edits_back(
    poor: Remora, plain_python: ProjectPython, project: Path
) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(CALLS[number - 1]))

    with openai_server(chat) as server:
        environ = {
            "REMORA_MODEL__BASE_URL": server.address,
            "VIRTUAL_ENV": str(plain_python.python.parent.parent),
        }
        user = replace(poor, environ=environ)
        words = ("shop.py", "-o", "lint", "--no-opening", "--decisions", "model", "--json")
        done = user("analyze", *words, cwd=project)
        shown = [each["messages"][-1]["content"] for each in server.requests]
    (job,) = done.document["jobs"]
    assert job["status"] == "verified", done.err
    failure = "test_shop.py::test_pay passes without your edits; with them, ValueError"
    assert "line 4: `except` is `except TypeError` now" in shown[1], (
        "the result of the edit names it"
    )
    assert failure in shown[2], "asked before the submission"
    assert failure in shown[3], "refused at the submission"
    (tested,) = job["reasons"]
    assert tested == f"tests that may reach it: 1 of 1 pass: {NAMED}"
    for command in ("show", "diff"):
        found = user(command, "last", cwd=project)
        assert "tests that may reach it: 1 of 1 pass" in found.out + found.err
    assert "1 of 1 pass" in user("report", "last", "--format", "md", cwd=project).out


def test_without_an_environment_it_says_not_tested(poor: Remora, project: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(CALLS[number + 2]))

    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        words = ("shop.py", "-o", "lint", "--no-opening", "--decisions", "model", "--json")
        done = user("analyze", *words, cwd=project)
    (job,) = done.document["jobs"]
    assert job["status"] == "verified", done.err
    assert job["reasons"] == [f"not tested (no environment of the project was found): {NAMED}"]
