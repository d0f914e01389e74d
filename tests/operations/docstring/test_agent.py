"""The built-in docstring agent: what it writes, what it leaves alone, and who decides."""

import textwrap
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.events import ModelRequest, SubmitResult, ToolCalled
from remora.operations.docstring.operation import DOCSTRING
from tests.agents.conftest import Play, Played, Theatre

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
    played = play(theatre, docstring, "Cart.find", writes=False)
    assert tools(played) == [("write_docstring", "rule"), ("submit_result", "rule")]
    assert (played.after or b"").decode() == SHOP.replace("full_name:", "name:")
    (submitted,) = played.payloads(SubmitResult)
    assert [check["name"] for check in submitted.checks if check["ok"]] == [
        "parses", "docstrings_only", "keeps_text", "documented", "says_more", "no_new_findings",
        "own_lines_only",
    ]  # fmt: skip
    assert played.result.status == "submitted"


@pytest.mark.parametrize("node", ["Cart.frob", "Cart.add"])
def test_nothing_is_written_without_a_writer(theatre: Theatre, docstring: Agent, node: str) -> None:
    played = play(theatre, docstring, node, writes=False)
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())
    assert tools(played) == [("submit_result", "rule")]


def test_an_entry_that_may_be_about_another_parameter_is_left(
    theatre: Theatre, docstring: Agent
) -> None:
    source = SHOP.replace("full_name: What", "inplace: What")
    played = play(theatre, docstring, "Cart.find", source=source, writes=False)
    assert tools(played) == [("submit_result", "rule")]
    assert played.after == source.encode()


DESCRIBED = '''

def take(name):
    """Take.

    Args:
        inplace: Was here.
    """


def take{n}(name):
    """Take.

    Args:
        name: Whose.
    """
'''


def test_what_other_docstrings_say_of_a_parameter_is_taken(
    theatre: Theatre, docstring: Agent
) -> None:
    first, _, other = DESCRIBED.partition("\n\n\ndef take{n}")
    source = SHOP + first + "".join(f"\n\n\ndef take{n}{other}".rstrip() for n in range(3)) + "\n"
    played = play(theatre, docstring, "take", source=source, writes=False)
    assert ("write_docstring", "rule") in tools(played)
    assert (played.after or b"").decode() == source.replace("inplace: Was here", "name: Whose")


ANSWERS = (
    '{"tool":"describe","args":{"part":"summary","text":"Give back what came in"}}',
    '{"tool":"describe","args":{"part":"parameters.x","text":"What comes in"}}',
    '{"tool":"describe","args":{"part":"outcome","text":""}}',
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


def summary(text: str) -> str:
    return f'{{"tool":"describe","args":{{"part":"summary","text":"{text}"}}}}'


def test_of_several_summaries_the_first_is_written(theatre: Theatre, docstring: Agent) -> None:
    answers = [summary(text) for text in ("Sell the goods", "Give back", "Sell the goods.")]
    left = '{"tool":"describe","args":{"part":"parameters.x","text":""}}'
    played = play(theatre, docstring, "Cart.frob", answers=[*answers, *[left] * 9], samples=3)
    assert b'"""Sell the goods.' in (played.after or b"")


def test_a_text_that_would_end_the_docstring_is_refused(theatre: Theatre, docstring: Agent) -> None:
    bad = '{"tool":"describe","args":{"part":"summary","text":"End \\"\\"\\" it"}}'
    played = play(theatre, docstring, "Cart.frob", answers=[bad])
    assert played.after == SHOP.encode()
    assert played.result.status == "no_change"


@pytest.mark.parametrize(
    "text",
    [
        "One sentence that says more than the name",
        "The summary of the function is as follows:",
        "Adds an item to the list of mod.py:Cart.frob",
    ],
)
def test_an_answer_about_the_question_is_refused(
    theatre: Theatre, docstring: Agent, text: str
) -> None:
    played = play(theatre, docstring, "Cart.frob", answers=[summary(text)])
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())


@pytest.mark.parametrize("text", ["frob:1", "frob", "x()"])
def test_a_summary_without_words_is_refused(theatre: Theatre, docstring: Agent, text: str) -> None:
    bad = f'{{"tool":"describe","args":{{"part":"summary","text":"{text}"}}}}'
    played = play(theatre, docstring, "Cart.frob", answers=[bad])
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())


def test_a_part_that_repeats_another_is_left_out(theatre: Theatre, docstring: Agent) -> None:
    again = '{"tool":"describe","args":{"part":"parameters.x","text":"Give back what came in"}}'
    played = play(theatre, docstring, "Cart.frob", answers=(ANSWERS[0], again, ANSWERS[2]))
    assert (played.after or b"").count(b"what came in") == 1


def test_a_summary_that_repeats_the_name_is_refused(theatre: Theatre, docstring: Agent) -> None:
    bad = '{"tool":"describe","args":{"part":"summary","text":"Frob the x"}}'
    played = play(theatre, docstring, "Cart.frob", answers=[bad])
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())


def writing(theatre: Theatre, docstring: Agent, **more: Any) -> Played:
    answers = [
        '{"tool":"describe","args":{"part":"summary","text":"Put it on top"}}',
        '{"tool":"describe","args":{"part":"parameters.item","text":""}}',
        '{"tool":"describe","args":{"part":"parameters.count","text":""}}',
    ]
    return play(theatre, docstring, "Cart.add", answers=answers, **more)


def test_the_configured_style(theatre: Theatre, docstring: Agent) -> None:
    played = writing(theatre, docstring, options={"style": "numpy"})
    assert b"        Raises\n        ------\n        ValueError\n" in (played.after or b"")


def test_the_projects_own_rules_are_kept(theatre: Theatre, docstring: Agent) -> None:
    rules = {
        "ruff.toml": 'line-length = 70\n[lint]\nselect = ["D", "E501"]\nignore = ["D213", "D203"]\n'
    }
    played = writing(theatre, docstring, files=rules)
    assert played.result.status == "submitted"
    assert b'"""Put it on top.' in (played.after or b"")


def described(*texts: tuple[str, str]) -> list[str]:
    return [f'{{"tool":"describe","args":{{"part":"{p}","text":"{text}"}}}}' for p, text in texts]


def test_a_section_is_written_when_all_its_parts_are_described(
    theatre: Theatre, docstring: Agent
) -> None:
    source = "def merge(first, second, third, fourth, fifth):\n    return first + second\n"
    names = ("first", "second", "third", "fourth", "fifth")
    answers = described(
        ("summary", "Join two lists"),
        *((f"parameters.{name}", f"The {name} list") for name in names),
        ("outcome", "A new list"),
    )
    played = play(theatre, docstring, "merge", source=source, answers=answers)
    text = (played.after or b"").decode()
    assert [f"        {name}: The {name} list.\n" in text for name in names] == [True] * 5
    assert "    Returns:\n        A new list.\n" in text
    assert played.result.status == "submitted"


def test_nothing_more_is_asked_about_a_section_with_a_part_left_out(
    theatre: Theatre, docstring: Agent
) -> None:
    answers = described(
        ("summary", "Join two lists"), ("parameters.first", ""), ("outcome", "A new list")
    )
    source = "def merge(first, second):\n    return first + second\n"
    played = play(theatre, docstring, "merge", source=source, answers=answers)
    assert len(played.payloads(ModelRequest)) == len(answers)
    assert b"Returns:\n        A new list.\n" in (played.after or b"")


def test_the_job_says_why_no_answer_was_taken(theatre: Theatre, docstring: Agent) -> None:
    bad = described(("summary", "Frob the x"))
    played = play(theatre, docstring, "Cart.frob", answers=bad)
    assert (played.result.error or "").startswith("no answer passed the checks: ")
    assert "the summary only repeats the names of the signature" in (played.result.error or "")
