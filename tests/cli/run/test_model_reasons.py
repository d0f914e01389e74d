"""What a model leaves or takes back is shown with its reason, and what was refused is counted."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any

import pytest

from tests.cli.conftest import Done, Remora, write
from tests.openai_server import Chat, Handler, answer, openai_server, send_json

SOURCE = "import os\n\n\ndef pay():\n    return price + rate\n"
LOAD = "def load(text):\n    try:\n        return int(text)\n    except:\n        return 0\n"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("edit_lines", {"first": 1, "last": 99, "text": ""}),
    ("unknown", {}),
    ("leave", {"item": "F821 line 2", "because": "exec defines price"}),
    ("undo", {"turn": 1, "because": "a plugin imports os from here"}),
    ("submit_result", {}),
)


@dataclass(frozen=True)
class Shop:
    """A user whose model makes the given calls, one in each turn."""

    remora: Remora
    root: Path
    requests: list[dict[str, Any]] = field(default_factory=list)

    def analyze(self, files: dict[str, str], chat: Chat, *words: str, **environ: str) -> Done:
        write(self.root, files)
        with openai_server(chat, context=8192) as server:
            user = replace(
                self.remora, environ={"REMORA_MODEL__BASE_URL": server.address, **environ}
            )
            done = user("analyze", *(words or LINT), cwd=self.root)
            self.requests.extend(server.requests)
        return done

    @property
    def shown(self) -> list[str]:
        return [each["messages"][-1]["content"] for each in self.requests]


LINT = ("-o", "lint", "--decisions", "model", "--concurrency", "1")


@pytest.fixture
def shop(poor: Remora, tmp_path: Path) -> Shop:
    return Shop(poor, tmp_path / "shop")


def makes(*calls: tuple[str, dict[str, Any]]) -> Chat:
    return lambda handler, _request, number: send_json(handler, answer(calls[number - 1]))


def test_reasons_of_a_model_are_shown(shop: Shop) -> None:
    done = shop.analyze({"shop.py": SOURCE}, makes(*CALLS), *LINT, "--json")
    (job,) = done.document["jobs"]
    assert job["status"] == "no_change", done.err
    assert (job["invalid"], job["refused"]) == (1, 1)
    assert job["reasons"] == [
        "Left F821 line 2: exec defines price",
        "Undid turn 1 and later: a plugin imports os from here",
    ]
    shown = shop.remora("show", "last", cwd=shop.root).out
    assert "exec defines price" in shown
    assert "a plugin imports os from here" in shown


def test_rules_decide_unless_the_user_lets_the_model(shop: Shop) -> None:
    done = shop.analyze(
        {"shop.py": SOURCE}, makes(*CALLS), "-o", "lint", REMORA_RUNNER__DECISIONS="rules"
    )
    assert "model m is not asked: rules decide; --decisions model lets it" in done.err
    assert shop.requests == []


def test_a_cause_of_many_failures_is_told_once(shop: Shop) -> None:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, {"error": {"message": "out of memory"}}, 400)

    source = "def pay():\n    return price\n"
    files = {f"shop_{number}.py": source for number in range(4)}
    done = shop.analyze(files, chat, *LINT[:-2], "--select", "F")
    assert done.code == 3
    assert done.err.count("out of memory") == 1
    assert done.err.count("for the same reason") == 3
    assert done.out.count("out of memory") == 3, "at the first job, of all, and under why"
    assert "and 3 other jobs: " in done.out


def test_what_rules_changed_is_shown(shop: Shop) -> None:
    files = {"shop.py": "import os\n\n\ndef pay():\n    return 1\n", "unused.py": "import os\n"}
    done = shop.analyze(files, makes(*[("submit_result", {})] * 2), *LINT, "--select", "F,D100")
    assert done.code == 0, done.err
    shown, of_an_empty_file = shop.shown
    assert "Code:\n1| def pay():\n2|     return 1\nDone:\n1. fix findings: Fixed F401" in shown
    assert "Code:" not in of_an_empty_file


def test_a_model_that_makes_no_call_is_the_reason(shop: Shop) -> None:
    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        send_json(handler, answer(text="I would rather not."))

    files = {"shop.py": "def pay(price):\n    return price + 1\n"}
    done = shop.analyze(files, chat, "-o", "docstring", "--decisions", "model")
    assert done.code == 3, done.err
    assert (
        "3 invalid calls in a row: the answer has no tool call: 'I would rather not.'" in done.out
    )
    why = shop.remora("trace", "why", "pay", cwd=shop.root).out
    assert why.startswith(
        "The model's answer at turn 4 could not be used: 3 invalid calls in a row"
    )


@pytest.mark.slow
def test_a_model_that_loses_five_jobs_in_a_row_to_one_cause_is_not_asked_again(shop: Shop) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer(text=f"Here is what I think of 'file {number}'."))

    source = "import os\n\n\ndef pay():\n    return price\n"
    done = shop.analyze({f"shop_{n}.py": source for n in range(9)}, chat, *LINT, "--json")
    assert (done.code, len(shop.requests)) == (3, 15)
    jobs = done.document["jobs"]
    assert {job["status"] for job in jobs} == {"verified"}, "rules completed them"
    assert {job["stop_reason"] for job in jobs} == {"model_error"}
    assert "the model is not asked again in this run: it lost 5 jobs in a row" in jobs[8]["error"]
    shown = shop.remora("show", "last", cwd=shop.root).out
    assert "the model failed in 9 jobs: 3 invalid calls in a row: the answer has no tool" in shown


EDIT = ("edit_lines", {"first": 2, "last": 2, "text": "    return rate"})
THOUGHT = "I might call submit_result() at once. " * 9


@pytest.mark.parametrize(
    "thinking",
    [
        {"reasoning_content": THOUGHT},  # llama.cpp, vLLM
        {"content": f"<think>{THOUGHT}</think>\n"},  # no parser for it
        # Ollama and OpenRouter; `thinking_text` is tested with each
        pytest.param({"reasoning": THOUGHT}, marks=pytest.mark.slow),
        pytest.param(
            {"content": [{"type": "thinking", "thinking": THOUGHT}]}, marks=pytest.mark.slow
        ),
    ],
)
def test_a_model_that_thinks_has_room_and_its_thinking_is_in_no_packet(
    shop: Shop, thinking: dict[str, Any]
) -> None:
    def chat(handler: Handler, request: dict[str, Any], number: int) -> None:
        whole = answer(EDIT if number == 2 else ("submit_result", {}))
        message = {**whole["choices"][0]["message"], **thinking}
        if request["max_tokens"] < 2000:  # too little for its thinking
            message, whole["choices"][0]["finish_reason"] = {**message, "tool_calls": []}, "length"
        whole["choices"][0]["message"] = message
        send_json(handler, whole)

    source = "def pay(rate):\n    return price\n"
    done = shop.analyze({"shop.py": source}, chat, *LINT, "--select", "F")
    assert done.code == 0, done.err
    assert [each["max_tokens"] for each in shop.requests] == [1000, 4096]
    assert "cut at 1000 tokens of thinking" in shop.shown[1]
    assert "I might" not in "".join(shop.shown)


def test_a_packet_that_a_server_calls_too_large_is_made_smaller_once(shop: Shop) -> None:
    words = "the request exceeds the available context size, try increasing it"

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        is_large = len(str(request["messages"])) > 2000
        error = {"error": {"message": words}}
        send_json(handler, *((error, 400) if is_large else (answer(("submit_result", {})), 200)))

    lines = "".join(f"    total_{n} = order.total(rate=price_{n})\n" for n in range(40))
    done = shop.analyze({"shop.py": f"def pay(order):\n{lines}"}, chat, *LINT, "--select", "F")
    sizes = [len(str(each["messages"])) for each in shop.requests]
    assert (done.code, len(sizes)) == (0, 2), done.err
    assert sizes[1] < 0.6 * sizes[0]
    assert shop.remora("trace", "verify", "--all", cwd=shop.root).code == 0


def test_two_jobs_wait_for_one_slow_server(shop: Shop) -> None:
    edit = ("edit_lines", {"first": 4, "last": 4, "text": "    except ValueError:"})
    turn = Lock()

    def chat(handler: Handler, _request: dict[str, Any], _number: int) -> None:
        with turn:
            sleep(0.1)
            send_json(handler, answer(edit))

    files = {f"shop_{number}.py": LOAD for number in range(4)}
    done = shop.analyze(files, chat, *LINT[:-1], "2", "--json")
    assert {job["status"] for job in done.document["jobs"]} == {"verified"}, done.err
    assert done.document["totals"]["by_model"]["requests"] == len(shop.requests) == 4
    assert shop.remora("trace", "verify", "--all", cwd=shop.root).code == 0


def test_what_was_left_stays_left_if_an_edit_moves_it(shop: Shop) -> None:
    moves = {"first": 4, "last": 4, "text": "    except (\n        ValueError\n    ):"}
    left = {"item": "F821 line 9: Undefined name `rate`", "because": "exec defines rate"}
    chat = makes(("leave", left), ("edit_lines", moves), ("submit_result", {}))
    source = f"{LOAD}\n\ndef pay(price):\n    return price * rate\n\n\nprint(rate)\n"
    done = shop.analyze({"shop.py": source}, chat)
    assert done.code == 0, done.err
    said = [re.findall(r" - F821 line (\d+): ", each) for each in shop.shown]
    assert said == [["9", "12"], ["12"], ["14"]]
