"""The built-in docstring agent: what it writes, what it leaves alone, and who decides."""

import json
import textwrap
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import ModelRequest, SubmitResult, ToolCalled, ToolResulted
from remora.operations.docstring.operation import DOCSTRING
from tests.agents.conftest import SUBMIT, Play, Played, Theatre

SHOP = '''\
class Cart:
    """What was chosen."""

    # Put `item` into the cart.
    def add(self, item, count=1):
        if count < 1:
            raise ValueError("a count is at least one")
        self.items += [item] * count

    def find(self, name):
        """Find an item.

        Args:
            full_name: What it is called.
        """
        for item in self.items:
            if item.name == name:
                return item
        return None

    def frob(self, x):
        return x
'''


@pytest.fixture(scope="module")
def docstring() -> Agent:
    return load_agent(DOCSTRING.folder, BUILT_IN, builtin=True)


def tools(played: Played) -> list[tuple[str, str]]:
    return [(call.tool, call.decided_by) for call in played.payloads(ToolCalled)]


def play(theatre: Theatre, agent: Agent, node: str, source: str = SHOP, **more: Any) -> Played:
    return theatre.play(Play(agent=agent, source=source, node=node, **more))


def test_a_contradiction_is_corrected_in_one_turn(theatre: Theatre, docstring: Agent) -> None:
    played = play(theatre, docstring, "Cart.find", decisions="rules")
    assert tools(played) == [("mend_docstring", "rule"), ("submit_result", "rule")]
    assert (played.after or b"").decode() == SHOP.replace("full_name:", "name:")
    (submitted,) = played.payloads(SubmitResult)
    assert [check["name"] for check in submitted.checks if check["ok"]] == [
        "parses", "docstrings_only", "keeps_text", "documented", "says_more", "no_new_findings",
        "own_lines_only",
    ]  # fmt: skip
    assert played.result.status == "submitted"


@pytest.mark.parametrize("node", ["Cart.frob", "Cart.add"])
def test_nothing_is_written_without_a_writer(theatre: Theatre, docstring: Agent, node: str) -> None:
    played = play(theatre, docstring, node, decisions="rules")
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())
    assert tools(played) == [("submit_result", "rule")]


def test_an_entry_that_may_be_about_another_parameter_is_left(
    theatre: Theatre, docstring: Agent
) -> None:
    source = SHOP.replace("full_name: What", "inplace: What")
    played = play(theatre, docstring, "Cart.find", source=source, decisions="rules")
    assert tools(played) == [("submit_result", "rule")]
    assert played.after == source.encode()


def writing(*texts: str) -> list[str]:
    """Answers of a model that writes these texts, one after the other, and submits."""
    calls = [json.dumps({"tool": "write_docstring", "args": {"text": text}}) for text in texts]
    return [*calls, SUBMIT]


def test_a_model_writes_what_the_code_leaves_open(theatre: Theatre, docstring: Agent) -> None:
    text = "Give back what came in.\n\nArgs:\n    x: What comes in."
    played = play(theatre, docstring, "Cart.frob", answers=writing(text))
    assert tools(played) == [("write_docstring", "model"), ("submit_result", "model")]
    made = textwrap.indent(f'"""{text}\n"""\nreturn x\n', "        ")
    assert made in (played.after or b"").decode()
    assert played.result.status == "submitted"


REFUSED = {
    'End """ it': "the text contains triple quotes",
    "Frob the x": "the summary of its docstring only repeats the name",
    "Give back.\n\nArgs:\n    y: What came in.": "documented but does not exist",
    "x" * 75: "the first line has 75 characters (maximum 65)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_checks_would_refuse_is_refused_at_once(
    theatre: Theatre, docstring: Agent, text: str
) -> None:
    played = play(theatre, docstring, "Cart.frob", answers=writing(text, "Give back what came in."))
    refused, written, _ = played.payloads(ToolResulted)
    assert (refused.outcome, written.outcome) == ("error", "success")
    assert REFUSED[text] in str(refused.raw_output["summary"])
    assert b'        """Give back what came in."""\n' in (played.after or b"")


def test_a_later_text_replaces_the_earlier_one(theatre: Theatre, docstring: Agent) -> None:
    answers = writing("Give back what came in.", "Take nothing away.")
    played = play(theatre, docstring, "Cart.frob", answers=answers)
    assert (played.after or b"").count(b'"""') == SHOP.count('"""') + 2
    assert b'"""Take nothing away."""' in (played.after or b"")


def test_new_findings_are_refused(theatre: Theatre, docstring: Agent) -> None:
    rules = {"ruff.toml": 'lint.select = ["D205"]\n'}
    answers = writing("Give back.\nWhat came in.", "Give back.\n\nWhat came in.")
    played = play(theatre, docstring, "Cart.frob", answers=answers, files=rules)
    refused, _, _ = played.payloads(ToolResulted)
    assert "new finding D205" in str(refused.raw_output["summary"])
    assert played.result.status == "submitted"


def test_the_configured_style(theatre: Theatre, docstring: Agent) -> None:
    played = play(
        theatre, docstring, "Cart.add", answers=writing("Put in."), options={"style": "numpy"}
    )
    first = played.payloads(ModelRequest)[0].messages[-1]["content"]
    assert "Parameters, Raises in numpy style" in first


def test_a_docstring_may_be_left_with_a_reason(theatre: Theatre, docstring: Agent) -> None:
    left = {"item": "the docstring", "because": "nobody calls it"}
    answers = [json.dumps({"tool": "leave", "args": left}), SUBMIT]
    played = play(theatre, docstring, "Cart.frob", answers=answers)
    last = played.payloads(ModelRequest)[-1].messages[-1]["content"]
    assert "left the docstring: nobody calls it" in last
    assert "the docstring is missing" not in last
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())
