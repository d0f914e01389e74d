"""The built-in lint agent: one way to fix a file, or two where a file shows no habit."""

import json
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import ContextUpdate, ModelRequest, ToolCalled
from remora.operations.lint.operation import LINT
from tests.agents.conftest import Play, Played, Theatre, choose, scripted

RAISES = """\
try:
    f()
except KeyError:
    raise ValueError("no key")
"""
NAMED = """\
try:
    f()
except TypeError as error:
    raise ValueError("no text") from error
"""
SELECTED = {"ruff.toml": 'lint.select = ["B904", "F"]\n'}


@pytest.fixture(scope="module")
def lint() -> Agent:
    return load_agent(LINT.folder, BUILT_IN, builtin=True)


def play(theatre: Theatre, agent: Agent, source: str, **more: Any) -> Played:
    settings = {"node": "__module__", "files": SELECTED, "strategy": "rank", **more}
    return theatre.play(Play(agent=agent, source=source, **settings))


def text_after(found: Played) -> str:
    return (found.after or b"").decode()


def test_rules_name_the_cause_where_the_file_shows_no_habit(theatre: Theatre, lint: Agent) -> None:
    found = play(theatre, lint, RAISES, strategy="rules")
    assert 'except KeyError as err:\n    raise ValueError("no key") from err' in text_after(found)
    assert [call.decided_by for call in found.payloads(ToolCalled)] == ["rule", "rule"]


def test_a_model_may_choose_to_hide_it(theatre: Theatre, lint: Agent) -> None:
    found = play(theatre, lint, RAISES, model=scripted(choose("B")))
    assert 'except KeyError:\n    raise ValueError("no key") from None' in text_after(found)
    call = found.payloads(ToolCalled)[0]
    assert (call.args, call.decided_by) == ({"hide_causes": True}, "model")
    (trials,) = (each for each in found.payloads(ContextUpdate) if each.source == "trials")
    assert [each["kept"] for each in trials.value["candidates"]] == [True, True]
    assert found.result.status == "submitted"


@pytest.mark.parametrize("source", [NAMED + RAISES, "import os\n"], ids=["habit", "no cause"])
def test_nothing_is_asked_otherwise(theatre: Theatre, lint: Agent, source: str) -> None:
    found = play(theatre, lint, source, model=scripted([]))
    assert found.payloads(ModelRequest) == []
    assert found.result.status == "submitted"


def test_a_model_that_is_not_measured_to_help_is_not_asked(theatre: Theatre, lint: Agent) -> None:
    found = play(theatre, lint, RAISES, model=scripted([]), chooses=False)
    assert "from err" in text_after(found)
    assert found.payloads(ModelRequest) == []


TYPO = "def pay(price: int) -> int:\n    return pirce\n"


def edit(replace: str) -> str:
    args = {"line": 2, "expect": "    return pirce", "replace": replace}
    return json.dumps({"tool": "edit_line", "args": args})


def test_a_model_replaces_a_line_that_has_no_fix(theatre: Theatre, lint: Agent) -> None:
    model = scripted([edit("    return price")])
    found = play(theatre, lint, TYPO, model=model, strategy="grammar", node="pay")
    assert text_after(found) == TYPO.replace("pirce", "price")
    assert found.result.status == "submitted"


@pytest.mark.parametrize(
    "replace",
    ["", "    ", "    return prize", "    return price\n    pass", "    return price)"],
    ids=["deleted", "blank", "another finding", "two lines", "a syntax error"],
)
def test_a_line_that_is_not_better_stays(theatre: Theatre, lint: Agent, replace: str) -> None:
    model = scripted([edit(replace)])
    found = play(theatre, lint, TYPO, model=model, strategy="grammar", node="pay")
    assert text_after(found) == TYPO
    assert found.result.status == "no_change"
    (trials,) = (each for each in found.payloads(ContextUpdate) if each.source == "trials")
    assert "stays" in trials.value["candidates"][0]["detail"]
