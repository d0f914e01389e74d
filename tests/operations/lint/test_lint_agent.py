"""The built-in lint agent: one way to fix a file, or two where a file shows no habit."""

import json
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import ModelRequest, SubmitResult, ToolResulted
from remora.operations.lint.operation import LINT
from tests.agents.conftest import SUBMIT, Play, Played, Theatre

SELECTED = {"ruff.toml": 'lint.select = ["F"]\n'}


@pytest.fixture(scope="module")
def lint() -> Agent:
    return load_agent(LINT.folder, BUILT_IN, builtin=True)


def play(theatre: Theatre, agent: Agent, source: str, **more: Any) -> Played:
    settings = {"node": "__module__", "files": SELECTED, **more}
    return theatre.play(Play(agent=agent, source=source, **settings))


def text_after(found: Played) -> str:
    return (found.after or b"").decode()


def test_rules_fix_it_without_a_model(theatre: Theatre, lint: Agent) -> None:
    found = play(theatre, lint, "import os\n", decisions="rules")
    assert found.payloads(ModelRequest) == []
    assert found.result.status == "submitted"


TYPO = "def pay(price: int) -> int:\n    return pirce\n"


def edit(text: str, first: int = 2, last: int = 2) -> str:
    args = {"first": first, "last": last, "text": text}
    return json.dumps({"tool": "edit_lines", "args": args})


def test_a_model_replaces_lines_that_have_no_fix(theatre: Theatre, lint: Agent) -> None:
    found = play(theatre, lint, TYPO, answers=[edit("    return price"), SUBMIT], node="pay")
    assert text_after(found) == TYPO.replace("pirce", "price")
    assert found.result.status == "submitted"
    made = found.payloads(ToolResulted)[1]
    assert made.parsed_output["text"] == "def pay(price: int) -> int:\n    return price\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (edit("    return ("), "Nothing was changed: with this text"),
        (edit("", 1, 9), "are not all lines of the target"),
    ],
    ids=["syntax error", "other lines"],
)
def test_an_edit_that_cannot_be_made_is_refused(
    theatre: Theatre, lint: Agent, answer: str, reason: str
) -> None:
    found = play(theatre, lint, TYPO, answers=[answer, SUBMIT], node="pay")
    assert text_after(found) == TYPO
    assert reason in str(found.runner.context.packet.recent_actions[1].summary)
    assert found.result.status == "no_change"


def test_all_findings_of_a_rule_are_left_at_once(theatre: Theatre, lint: Agent) -> None:
    source = "def pay() -> int:\n    return pirce + prize\n"
    leave = json.dumps({"tool": "leave", "args": {"item": "F821", "because": "made at run time"}})
    found = play(theatre, lint, source, answers=[leave, SUBMIT], node="pay")
    before, after = [str(request.messages[-1]) for request in found.payloads(ModelRequest)]
    assert before.count("F821 line 2") > 1
    assert "F821 line 2" not in after


def test_lines_that_were_asked_for_are_shown_before_those_of_earlier_calls(
    theatre: Theatre, lint: Agent
) -> None:
    source = TYPO + "".join(f"value_{number} = {number}\n" for number in range(1000))
    reads = [
        json.dumps({"tool": "read_code", "args": {"first": first, "last": first + 399}})
        for first in (1, 401)
    ]
    found = play(theatre, lint, source, answers=[*reads, SUBMIT])
    *_, shown = [str(request.messages[-1]) for request in found.payloads(ModelRequest)]
    assert "value_600 = 600" in shown
    assert "value_200 = 200" not in shown


def test_a_model_is_asked_for_the_words_of_a_docstring(theatre: Theatre, lint: Agent) -> None:
    source = 'def pay() -> int:\n    """Return what is\n    to be paid.\n    """\n    return 1\n'
    answers = [edit('    """Return what is to be paid."""', 2, 4), SUBMIT]
    files = {"ruff.toml": 'lint.select = ["D205"]\n'}
    found = play(theatre, lint, source, files=files, answers=answers, node="pay")
    assert "D205 line 2" in repr(found.payloads(ModelRequest)[0])
    assert '"""Return what is to be paid."""' in text_after(found)
    assert found.result.status == "submitted"


def test_a_submission_without_fewer_findings_comes_back(theatre: Theatre, lint: Agent) -> None:
    answers = [edit("    return prize"), SUBMIT, edit("    return price"), SUBMIT]
    found = play(theatre, lint, TYPO, answers=answers, node="pay")
    assert [one.verified for one in found.payloads(SubmitResult)] == [False, True]
    assert text_after(found) == TYPO.replace("pirce", "price")


def test_a_name_is_changed_in_two_steps(theatre: Theatre, lint: Agent) -> None:
    source = "def pay() -> int:\n    amountOfMoney = 1\n    return amountOfMoney\n"
    answers = [edit("    amount = 1"), edit("    return amount", 3, 3), SUBMIT]
    files = {"ruff.toml": 'lint.select = ["N", "F"]\n'}
    found = play(theatre, lint, source, files=files, answers=answers, node="pay")
    assert text_after(found) == "def pay() -> int:\n    amount = 1\n    return amount\n"
    assert found.result.status == "submitted"


@pytest.mark.parametrize(
    "secret",
    [
        'price = 1\npassword = "horse12!staple" + word\n',
        'price = 1\nlogin = {\n    "password":\n    "horse12!staple" + word\n}\n',
    ],
    ids=["one line", "several lines"],
)
def test_a_model_is_not_shown_a_line_with_a_secret(
    theatre: Theatre, lint: Agent, secret: str
) -> None:
    line = len(secret.splitlines()) + 1
    answers = [edit("print(price)", line, line), SUBMIT]
    found = play(theatre, lint, "import os\n" + secret + "print(prize)\n", answers=answers)
    assert text_after(found) == secret + "print(price)\n"
    assert found.result.status == "submitted"
    assert "staple" not in repr(found.payloads(ModelRequest))
