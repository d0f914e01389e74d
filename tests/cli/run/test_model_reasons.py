"""What a model leaves or takes back is shown with its reason, and what was refused is counted."""

import re
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any

from tests.cli.conftest import Remora, write
from tests.openai_server import Handler, answer, openai_server, send_json

SOURCE = "import os\n\n\ndef pay():\n    return price\n"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("edit_lines", {"first": 1, "last": 99, "text": ""}),
    ("unknown", {}),
    ("leave", {"item": "F821 line 2", "because": "exec defines price"}),
    ("undo", {"turn": 1, "because": "a plugin imports os from here"}),
    ("submit_result", {}),
)


def test_reasons_of_a_model_are_shown(poor: Remora, tmp_path: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(CALLS[number - 1]))

    root = write(tmp_path / "shop", {"shop.py": SOURCE})
    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        done = user("analyze", "-o", "lint", "--decisions", "model", "--json", cwd=root)
    (job,) = done.document["jobs"]
    assert job["status"] == "no_change", done.err
    assert (job["invalid"], job["refused"]) == (1, 1)
    assert job["reasons"] == [
        "Left F821 line 2: exec defines price",
        "Undid turn 1 and later: a plugin imports os from here",
    ]
    shown = poor("show", "last", cwd=root).out
    assert "exec defines price" in shown
    assert "a plugin imports os from here" in shown


def test_rules_decide_unless_the_user_lets_the_model(remora: Remora, tmp_path: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(CALLS[number - 1]))

    root = write(tmp_path / "shop", {"shop.py": SOURCE})
    with openai_server(chat) as server:
        environ = {
            "REMORA_MODEL__BASE_URL": server.address,
            "REMORA_RUNNER__DECISIONS": "rules",
        }
        done = replace(remora, environ=environ)("analyze", "-o", "lint", cwd=root)
        assert "model m is not asked: rules decide; --decisions model" in done.err
        assert server.requests == []


def test_a_cause_of_many_failures_is_told_once(poor: Remora, tmp_path: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, {"error": {"message": "out of memory"}}, 400)

    source = "def pay():\n    return price\n"
    root = write(tmp_path / "shop", {f"shop_{number}.py": source for number in range(4)})
    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        done = user("analyze", "-o", "lint", "--decisions", "model", "--select", "F", cwd=root)
    assert done.code == 3
    assert done.err.count("out of memory") == 1
    assert done.err.count("for the same reason") == 3
    assert done.out.count("out of memory") == 2, "at the first job, and under why"
    assert "and 3 other jobs: " in done.out


def test_what_rules_changed_is_shown(poor: Remora, tmp_path: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, answer(("submit_result", {})))

    fixed = {"shop.py": "import os\n\n\ndef pay():\n    return 1\n", "unused.py": "import os\n"}
    root = write(tmp_path / "shop", fixed)
    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        done = user("analyze", "-o", "lint", "--decisions", "model", "--concurrency", "1", cwd=root)
        shown, of_an_empty_file = (each["messages"][-1]["content"] for each in server.requests)
    assert done.code == 0, done.err
    assert "Code:\n1| def pay():\n2|     return 1\nDone:\n1. fix_findings() -> Fixed F401" in shown
    assert "Code:" not in of_an_empty_file


def test_a_model_that_makes_no_call_is_the_reason(poor: Remora, tmp_path: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, answer(text="I would rather not."))

    root = write(tmp_path / "shop", {"shop.py": "def pay(price):\n    return price + 1\n"})
    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        done = user("analyze", "-o", "docstring", "--decisions", "model", cwd=root)
    assert done.code == 0, done.err
    why = poor("trace", "why", "pay", cwd=root).out
    assert why.startswith("Nothing failed: the agent changed nothing: the model made no valid call")


def test_two_jobs_wait_for_one_slow_server(poor: Remora, tmp_path: Path) -> None:
    edit = ("edit_lines", {"first": 4, "last": 4, "text": "    except ValueError:"})
    turn = Lock()

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        is_edited = ". edit_lines(" in request["messages"][-1]["content"]
        with turn:
            sleep(0.1)
            send_json(handler, answer(("submit_result", {}) if is_edited else edit))

    source = "def load(text):\n    try:\n        return int(text)\n    except:\n        return 0\n"
    root = write(tmp_path / "shop", {f"shop_{number}.py": source for number in range(4)})
    with openai_server(chat) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        words = ("-o", "lint", "--decisions", "model", "--concurrency", "2", "--json")
        done = user("analyze", *words, cwd=root)
    assert {job["status"] for job in done.document["jobs"]} == {"verified"}, done.err
    assert done.document["totals"]["by_model"]["requests"] == len(server.requests) == 8
    assert poor("trace", "verify", "--all", cwd=root).code == 0


def test_what_was_left_stays_left_if_an_edit_moves_it(poor: Remora, tmp_path: Path) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("leave", {"item": "F821 line 9: Undefined name `rate`", "because": "exec defines rate"}),
        ("edit_lines", {"first": 4, "last": 4, "text": "    except (\n        ValueError\n    ):"}),
        ("submit_result", {}),
    )

    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(calls[number - 1]))

    load = "def load(text):\n    try:\n        return int(text)\n    except:\n        return 0\n"
    source = f"{load}\n\ndef pay(price):\n    return price * rate\n\n\nprint(rate)\n"
    root = write(tmp_path / "shop", {"shop.py": source})
    with openai_server(chat, context=8192) as server:
        user = replace(poor, environ={"REMORA_MODEL__BASE_URL": server.address})
        done = user("analyze", "-o", "lint", "--decisions", "model", cwd=root)
        shown = [each["messages"][-1]["content"] for each in server.requests]
    assert done.code == 0, done.err
    said = [re.findall(r"^F821 line (\d+): ", each, re.MULTILINE) for each in shown]
    assert said == [["9", "12"], ["12"], ["14"]]
