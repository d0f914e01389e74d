"""Some tools are declared to a model only in turns that suggest them, after the system message."""

import re

import pytest

from remora.agents.definition.agent import load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.operations.base import Operation
from remora.operations.docstring.operation import DOCSTRING
from remora.operations.lint.operation import LINT
from tests.agents.conftest import SUBMIT, Play, Theatre
from tests.agents.loop.model_turns import call
from tests.scripted_model import ScriptedModel

LINTED = "import os\n\n\ndef pay(price):\n    return pirce\n"
EDITS = [
    call("edit_lines", first=5, last=5, text="    import re\n    return price"),
    call("read_code", first=1, last=5),
]
WRONG = 'def pay(price):\n    """Pay.\n\n    Args:\n        prize: The price.\n    """\n'
CASES = {
    "lint after the opening": (LINT, LINTED, True, EDITS, [False, True, False]),
    "lint without an opening": (LINT, LINTED, False, [], [True]),
    "a missing docstring": (DOCSTRING, "def pay(price):\n    return price\n", False, [], [False]),
    "a wrong docstring": (DOCSTRING, WRONG + "    return price\n", False, [], [True]),
}
BY_RULES = {LINT: "fix_findings", DOCSTRING: "mend_docstring"}


@pytest.mark.parametrize("case", CASES)
def test_declared_in_each_turn(theatre: Theatre, case: str) -> None:
    operation: Operation
    operation, source, opening, answers, expected = CASES[case]
    agent = load_agent(operation.folder, BUILT_IN, builtin=True)
    how = Play(
        agent=agent,
        source=source,
        node="pay",
        files={"ruff.toml": 'lint.select = ["F"]\n'},
        opening=opening,
        answers=[*answers, SUBMIT],
        limit=12_000,
    )
    model = theatre.play(how).model
    assert isinstance(model, ScriptedModel)
    chats = [request.messages for request in model.requests if request.messages]
    fixed, *others = [set(re.findall(r"^(\w+)\(", chat[0].content, re.MULTILINE)) for chat in chats]
    suggested = [set(re.findall(r"^- (\w+)\(", chat[-1].content, re.MULTILINE)) for chat in chats]
    assert all(names == fixed for names in others)
    assert fixed & {"leave", "submit_result", "read_code"} == {"leave", "submit_result"}
    assert [BY_RULES[operation] in names for names in suggested[: len(expected)]] == expected
    assert not any("read_code" in names for names in suggested)  # all code is shown
