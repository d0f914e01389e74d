"""The built-in lint agent: its plan, and ways to fix a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.memory.events import ModelRequest, SubmitResult, ToolCalled, ToolResulted
from remora.operations.base import NO_FIX, DescribedAmount
from remora.operations.lint.lint_need import all_findings, fixable_findings
from remora.operations.lint.operation import LINT
from remora.tools.host.ruff import ruff
from remora.tools.tree import ToolTree
from tests.agents.conftest import SUBMIT, Play, Played, Theatre
from tests.cli.conftest import write

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
        (edit("    return pirce"), "are the same as before"),
    ],
    ids=["syntax error", "other lines", "same lines"],
)
def test_an_edit_that_cannot_be_made_is_refused(
    theatre: Theatre, lint: Agent, answer: str, reason: str
) -> None:
    found = play(theatre, lint, TYPO, answers=[answer, SUBMIT], node="pay")
    assert text_after(found) == TYPO
    assert reason in str(found.runner.context.packet.recent_actions[1].summary)
    assert found.result.status == "no_change"


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [("    names = ()", True), ("    pass", False), ("…", False)],
    ids=["mended", "deleted", "the mark of what is left out"],
)
def test_a_finding_does_not_go_with_what_others_use(
    theatre: Theatre, lint: Agent, text: str, is_kept: bool
) -> None:
    source = "class Shop:\n    names = []\n"
    files = {"ruff.toml": 'lint.select = ["RUF012"]\n'}
    answers = [edit(text), SUBMIT, SUBMIT]
    found = play(theatre, lint, source, files=files, answers=answers, node="Shop")
    assert (found.result.status == "submitted") == is_kept
    lost = "Shop.names is not defined any more"
    assert (lost in str([one.checks for one in found.payloads(SubmitResult)])) == ("pass" in text)


def test_all_findings_of_a_rule_are_left_at_once(theatre: Theatre, lint: Agent) -> None:
    source = "def pay() -> int:\n    return pirce + prize\n"
    leave = json.dumps({"tool": "leave", "args": {"item": "F821", "because": "made at run time"}})
    found = play(theatre, lint, source, answers=[leave, SUBMIT], node="pay")
    (asked,) = [str(request.messages[-1]) for request in found.payloads(ModelRequest)]
    assert asked.count("F821 line 2") > 1
    assert [one.tool for one in found.payloads(ToolCalled)][-2:] == ["leave", "submit_result"]


def test_lines_that_were_asked_for_are_shown_before_those_of_earlier_calls(
    theatre: Theatre, lint: Agent
) -> None:
    source = TYPO + "".join(f"value_{number} = {number}\n" for number in range(1000)) + "lost\n"
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


UNUSED = "import os\n"
HANGS = "x = " * 225_000 + "1\n"
"""Ruff needs minutes for it; Python's parser takes less than a second."""
TALKS = "x = [" + "a," * 200_000 + "]\n"
"""An undefined name so often that ruff's output is larger than we read."""


@pytest.mark.slow
@pytest.mark.parametrize("prepare", [all_findings, fixable_findings])
def test_a_file_that_ruff_cannot_check_is_left_out_with_the_reason(
    tmp_path: Path, prepare: Callable[..., DescribedAmount], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruff, "SECONDS", 5.0)
    files = {"a.py": UNUSED, "hangs.py": HANGS, "talks.py": TALKS, "z.py": UNUSED}
    modules = [
        module
        for path, text in files.items()
        if isinstance(module := parse_module(path, text.encode()), Module)
    ]
    counts = prepare(ToolTree(write(tmp_path, files)), modules, {})
    found = {module.path: counts(module, module.nodes[0]) for module in modules}
    assert found == {"a.py": 1, "hangs.py": 0, "talks.py": 0, "z.py": 1}
    assert set(counts.unchecked) == {"hangs.py", "talks.py"}
    assert "did not finish" in counts.unchecked["hangs.py"]


FOR_AN_AUTHOR = {
    "D205": 'def f():\n    """Return one.\n    It never changes.\n    """\n',
    "D401": 'def f():\n    """Returns one."""\n',
    "E501": f"# {'word ' * 20}\nx = 1\n",
    "RUF003": "# It\N{RIGHT SINGLE QUOTATION MARK}s 1.\nx = 1\n",
    "RUF012": "class A:\n    names = []\n",
}


@pytest.mark.parametrize("rule", FOR_AN_AUTHOR)
def test_a_model_gets_what_rules_have_no_right_answer_for(tmp_path: Path, rule: str) -> None:
    files = {"a.py": FOR_AN_AUTHOR[rule], "ruff.toml": f'lint.select = ["{rule}"]\n'}
    module = parse_module("a.py", files["a.py"].encode())
    assert isinstance(module, Module)
    place = ToolTree(write(tmp_path, files))
    found = []
    for is_open in (False, True):
        counts = fixable_findings(place, [module], {"open": is_open})
        found.append(sum(int(counts(module, node)) for node in module.nodes))
    assert found == [0, 1]


def test_of_two_findings_at_one_place_each_is_fixed_or_left(tmp_path: Path) -> None:
    text = "from typing import Callable, List\n\n\ndef f(go: Callable, of: List) -> None:\n    go(of)\n"
    settings = 'target-version = "py311"\nlint.select = ["UP035"]\n'
    module = parse_module("a.py", text.encode())
    assert isinstance(module, Module)
    place = ToolTree(write(tmp_path, {"a.py": text, "ruff.toml": settings}))
    counts = fixable_findings(place, [module], {})
    assert counts(module, module.nodes[0]) == 1
    assert counts.left(module, module.nodes[0]) == {
        NO_FIX: ["a.py:1 UP035: `typing.List` is deprecated, use `list` instead"]
    }
