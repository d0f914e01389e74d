"""The built-in docstring agent: what it writes, what it leaves alone, and who decides."""

import textwrap
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import SubmitResult, ToolCalled
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.operations.docstring.operation import DOCSTRING
from tests.agents.conftest import Play, Played, Theatre, choose

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
WRITTEN = '''\
    def add(self, item, count=1):
        """Put `item` into the cart.

        Raises:
            ValueError: If `count < 1`.
        """
        if count < 1:
'''


@pytest.fixture(scope="module")
def docstring() -> Agent:
    return load_agent(DOCSTRING.folder, BUILT_IN, builtin=True)


def tools(played: Played) -> list[tuple[str, str]]:
    return [(call.tool, call.decided_by) for call in played.payloads(ToolCalled)]


def play(theatre: Theatre, agent: Agent, node: str, source: str = SHOP, **more: Any) -> Played:
    return theatre.play(Play(agent=agent, source=source, node=node, **more))


def test_a_rule_writes_what_the_code_states(theatre: Theatre, docstring: Agent) -> None:
    played = play(theatre, docstring, "Cart.add", strategy="rank")
    assert tools(played) == [
        ("look", "rule"), ("write_docstring", "rule"), ("submit_result", "rule"),
    ]  # fmt: skip
    assert WRITTEN in (played.after or b"").decode()
    (submitted,) = played.payloads(SubmitResult)
    assert [check["name"] for check in submitted.checks if check["ok"]] == [
        "parses", "docstrings_only", "documented", "no_new_findings", "own_lines_only",
    ]  # fmt: skip
    assert played.result.status == "submitted"


def test_nothing_is_written_without_a_fact(theatre: Theatre, docstring: Agent) -> None:
    played = play(theatre, docstring, "Cart.frob", strategy="rank")
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())
    assert tools(played) == [("look", "rule"), ("submit_result", "rule")]


def test_whether_a_parameter_was_renamed_is_the_models_choice(
    theatre: Theatre, docstring: Agent
) -> None:
    played = play(theatre, docstring, "Cart.find", strategy="rank", answers=choose("A"))
    assert ("write_docstring", "model") in tools(played)
    assert b"            name: What it is called.\n" in (played.after or b"")
    assert b"full_name" not in (played.after or b"")
    assert played.result.status == "submitted"
    left = play(theatre, docstring, "Cart.find", strategy="rank", answers=choose("B"))
    assert ("submit_result", "model") in tools(left)
    assert (left.result.status, left.after) == ("no_change", SHOP.encode())


def test_no_entry_is_added_without_a_word(theatre: Theatre, docstring: Agent) -> None:
    source = SHOP.replace("full_name: What", "inplace: What")
    played = play(theatre, docstring, "Cart.find", source=source, strategy="rank")
    assert tools(played) == [("look", "rule"), ("submit_result", "rule")]
    assert played.after == source.encode()


def test_what_other_docstrings_say_of_another_parameter_is_taken(
    theatre: Theatre, docstring: Agent
) -> None:
    source = SHOP.replace("full_name: What", "inplace: What") + "".join(
        f'\n\ndef take{n}(name):\n    """Take.\n\n    Args:\n        name: Whose.\n    """\n'
        for n in range(3)
    )
    played = play(theatre, docstring, "Cart.find", source=source, strategy="rank")
    assert ("write_docstring", "rule") in tools(played)
    assert b"            name: Whose.\n" in (played.after or b"")
    assert b"What it is called" not in (played.after or b"What it is called")


def test_the_real_model_chooses(
    theatre: Theatre, docstring: Agent, embedded: EmbeddedModel
) -> None:
    played = play(theatre, docstring, "Cart.find", strategy="rank", model=embedded, limit=600)
    decided = dict(tools(played))["write_docstring"]
    assert decided in ("model", "fallback")
    assert 0 < played.result.max_packet_tokens <= 600
    assert played.result.status == "submitted"
    assert b"full_name" not in (played.after or b"full_name")


ANSWERS = (
    '{"tool":"describe","args":{"part":"parameters.x","text":"What comes in"}}',
    '{"tool":"describe","args":{"part":"outcome","text":""}}',
    '{"tool":"write_docstring","args":{"summary":"Give back what came in","renames":[]}}',
)


def test_a_model_that_writes_fills_what_the_code_leaves_open(
    theatre: Theatre, docstring: Agent
) -> None:
    played = play(theatre, docstring, "Cart.frob", answers=ANSWERS)
    expected = '''
        def frob(self, x):
            """Give back what came in.

            Args:
                x: What comes in.
            """
            return x
    '''
    made = textwrap.indent(textwrap.dedent(expected).strip(), "    ")
    assert made in (played.after or b"").decode()
    assert played.result.status == "submitted"


def test_a_text_that_would_end_the_docstring_is_refused(theatre: Theatre, docstring: Agent) -> None:
    bad = '{"tool":"write_docstring","args":{"summary":"End \\"\\"\\" it","renames":[]}}'
    played = play(theatre, docstring, "Cart.frob", answers=(*ANSWERS[:2], bad))
    assert played.after == SHOP.encode()
    assert played.result.status == "no_change"


def test_the_configured_style(theatre: Theatre, docstring: Agent) -> None:
    played = play(theatre, docstring, "Cart.add", strategy="rank", options={"style": "numpy"})
    assert b"        Raises\n        ------\n        ValueError\n" in (played.after or b"")


def test_the_projects_own_rules_are_kept(theatre: Theatre, docstring: Agent) -> None:
    rules = {
        "ruff.toml": 'line-length = 70\n[lint]\nselect = ["D", "E501"]\nignore = ["D213", "D203"]\n'
    }
    played = play(theatre, docstring, "Cart.add", strategy="rank", files=rules)
    assert played.result.status == "submitted"
    assert b'"""Put `item` into the cart.' in (played.after or b"")
