"""The built-in docstring agent: what it writes and leaves alone, and how it writes."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
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


def test_a_field_of_a_type_is_renamed_with_its_parameter(
    theatre: Theatre, docstring: Agent
) -> None:
    told = '    """Do it.\n\n    :param full_name: Who.\n    :type full_name: str\n    """\n'
    source = f"def f(name):\n{told}    return name\n"
    played = play(theatre, docstring, "f", source, decisions="rules")
    assert (played.after or b"").decode() == source.replace("full_name", "name")


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
    parts = [
        dict(zip(("summary", "details"), text.split("\n\n", 1), strict=False)) for text in texts
    ]
    calls = [json.dumps({"tool": "write_docstring", "args": args}) for args in parts]
    return [*calls, SUBMIT]


def test_a_model_writes_what_the_code_leaves_open(theatre: Theatre, docstring: Agent) -> None:
    text = "Give back what came in.\n\nArgs:\n    x: What comes in."
    played = play(theatre, docstring, "Cart.frob", answers=writing(text))
    assert tools(played) == [("write_docstring", "model"), ("submit_result", "rule")]
    made = textwrap.indent(f'"""{text}\n"""\nreturn x\n', "        ")
    assert made in (played.after or b"").decode()
    assert played.result.status == "submitted"


REFUSED = {
    'End """ it': "the text contains triple quotes",
    "Frob the x": "the summary of its docstring only repeats the name",
    "A one-line docstring that shows what the code does": (
        "the summary of its docstring only repeats the name"
    ),
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
    assert tools(played) == [("leave", "model"), ("submit_result", "rule")]
    assert (played.result.status, played.after) == ("no_change", SHOP.encode())


Call = Callable[..., Any]
CART = '''
class Cart:
    """What a customer wants to buy."""

    def add(self, item, count=1):
        if count < 1:
            raise ValueError("a count is at least one")

    def close(self):
        self.closed = True
'''


@pytest.fixture
def plan(tree: Path, call: Call) -> Callable[..., dict[str, Any]]:
    def planned(node: str, source: str = CART, **more: Any) -> dict[str, Any]:
        (tree / "a.py").write_text(source)
        made: dict[str, Any] = call("docstring_plan", "a.py", node, **more)
        return made

    return planned


def test_a_missing_docstring_needs_a_writer(plan: Callable[..., Any]) -> None:
    made = plan("Cart.add")
    assert made["state"] == "missing"
    assert made["problems"] == ["the docstring is missing"]
    assert made["sections"] == ["Args", "Raises"]
    assert not made["mends"]


@pytest.mark.parametrize(
    ("body", "sections"),
    [
        ("if a < 1:\n        return 1\n    raise ValueError", ["Args", "Returns", "Raises"]),
        ("for b in a:\n        if a is None:\n            raise ValueError", ["Args", "Raises"]),
        ("raise ValueError('a must be even')", ["Args", "Raises"]),
        ("try:\n        raise ValueError\n    except Exception:\n        pass", ["Args"]),
        ("try:\n        pass\n    except OSError:\n        raise ValueError", ["Args", "Raises"]),
        ("with suppress(ValueError):\n        raise ValueError", ["Args"]),
    ],
)
def test_exceptions_that_leave_the_function_are_described(
    plan: Callable[..., Any], body: str, sections: list[str]
) -> None:
    assert plan("f", f"def f(a, b):\n    {body}\n")["sections"] == sections


LISTING = '''
def f{n}(count):
    """Do {n}.

    Raises:
        ValueError: if ``count`` is odd
    """
    if count % 2:
        raise ValueError(count)
'''
PLAIN = '''
def find(count):
    """Do it."""
    if count < 1:
        raise KeyError(count)
'''


def test_a_missing_list_of_exceptions_is_left_to_a_writer_if_most_docstrings_have_one(
    plan: Callable[..., Any],
) -> None:
    assert plan("find", PLAIN)["state"] == "current"
    source = "".join(LISTING.format(n=n) for n in range(4)) + PLAIN
    made = plan("find", source)
    assert (made["state"], made["mends"]) == ("outdated", False)
    assert made["problems"] == ["exception KeyError is not described"]


NEW = """
def search(count):
    if count < 1:
        raise ValueError("a count is at least one")
    return [count]

class Basket:
    def size(self):
        return 3

    @property
    def total(self):
        return 3
"""


@pytest.mark.parametrize(
    ("others", "sections"),
    [
        ("", ["Args", "Returns", "Raises"]),
        (PLAIN, ["Returns"]),
        (PLAIN * 3 + LISTING.format(n=1), ["Returns"]),
        ("".join(LISTING.format(n=n) for n in range(2)) + PLAIN, ["Returns", "Raises"]),
    ],
    ids=["none", "no sections", "one of four with exceptions", "most with exceptions"],
)
def test_a_new_docstring_has_the_sections_that_most_others_have(
    plan: Callable[..., Any], others: str, sections: list[str]
) -> None:
    assert plan("search", others + NEW)["sections"] == sections


def test_the_file_decides_about_sections_before_its_folder(
    plan: Callable[..., Any], tree: Path
) -> None:
    described = 'def f{n}(count):\n    """Do it.\n\n    :param count: How many {n}.\n    """\n'
    (tree / "b.py").write_text("".join(described.format(n=n) for n in range(9)))
    assert ":param:" in plan("search", PLAIN + NEW)["sections"]
    assert ":param:" not in plan("search", PLAIN * 3 + NEW)["sections"]


def test_a_generator_may_describe_its_items_under_returns(plan: Callable[..., Any]) -> None:
    described = (
        'def f{n}(x):\n    """Do it.\n\n    Returns:\n        Some {n}.\n    """\n    yield {n}\n'
    )
    others = "".join(described.format(n=n) for n in range(3))
    new = "def items(count):\n    yield count\n"
    assert plan("items", others + new)["sections"] == ["Returns"]


def test_a_property_has_no_result_of_its_own(plan: Callable[..., Any]) -> None:
    assert plan("Basket.size", NEW)["sections"] == ["Returns"]
    assert plan("Basket.total", NEW)["sections"] == []


def test_an_inherited_docstring_is_none_that_is_missing(
    plan: Callable[..., Any], tree: Path
) -> None:
    (tree / "b.py").write_text('class B:\n    def f(self):\n        """Do."""\n')
    made = plan("A.f", "class A(B):\n    def f(self): return 1\n")
    assert made["state"] == "inherited"


def test_style_and_width_are_the_projects(plan: Callable[..., Any], tree: Path) -> None:
    (tree / "pyproject.toml").write_text(
        '[tool.ruff]\nline-length = 100\nlint.pydocstyle.convention = "numpy"\n'
    )
    made = plan("Cart.close")
    assert (made["style"], made["room"]) == ("numpy", 100 - 8 - 6)
    assert plan("Cart.close", style="google")["style"] == "google"


def test_a_docstring_is_written_and_replaced(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text(CART)
    for text in ("Send the goods.", "Send what was bought.\n\nNothing is added any more."):
        assert call("write_docstring", "a.py", "Cart.close", text) == ""
    expected = '"""Send what was bought.\n\n        Nothing is added any more.\n        """\n'
    body = "        self.closed"
    assert (tree / "a.py").read_text() == CART.replace(body, f"        {expected}{body}")


def test_a_text_that_does_not_fit_is_refused(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text(CART)
    assert "90 characters (maximum 65)" in call("write_docstring", "a.py", "Cart.close", "x" * 90)
    assert (tree / "a.py").read_text() == CART


def test_what_helps_to_write_a_docstring(tree: Path, call: Call) -> None:
    (tree / "lib").mkdir()
    (tree / "lib/__init__.py").write_text("")
    (tree / "lib/goods.py").write_text('def pack(a):\n    """Wrap it up.\n\n    Twice.\n    """\n')
    source = LISTING.format(n=1) + PLAIN + "\ndef own(a): pass\n"
    body = "    found = wrap(a) + find(a) + own(a)\n    if a > 2:\n        raise KeyError\n"
    new = f"from .goods import pack as wrap\n{source}\ndef send(a):\n{body}"
    (tree / "lib/shop.py").write_text(new)
    facts = call("related_facts", "lib/shop.py", "send")
    assert facts.pop("docstring of f1").startswith("Do 1.\n\nRaises:\n    ValueError: ")
    assert facts == {
        "public functions of the file with a docstring": "2 of 3",
        "docstring of find": "Do it.",
        "calls": {"pack": "Wrap it up.", "find": "Do it."},
        "exceptions": ["KeyError"],
    }


def test_code_that_the_meaning_of_a_method_depends_on(tree: Path, call: Call) -> None:
    body = "".join(f"    x = {number}\n" for number in range(20))
    source = (
        "def long(x):\n"
        + body
        + "class Cart:\n    limit = 3\n\n    def __init__(self):\n        self.names = []\n"
        "\n    def add(self, name):\n        self.names.append(long(name))\n        self.check()\n"
        "\n    def check(self):\n        pass\n"
    )
    (tree / "cart.py").write_text(source)
    assert call("related_lines", "cart.py", "Cart.add") == [[22, 33], [25, 26], [1, 12], [32, 33]]
    assert call("related_lines", "cart.py", "long") == []
    assert call("related_lines", "cart.py", "Cart.add", outlined=True) == [[22, 22], [28, 30]]


def test_some_calls_by_name(tree: Path, call: Call) -> None:
    (tree / "a.py").write_text("import b\n\nx = 1\ny = b.send(\n    x,\n)\nprint(y)\n")
    (tree / "c.py").write_text("send(1)\n" * 9)
    (tree / "d.py").write_text("send(\n")
    (first, *others) = call("calls_of", "Shop.send#2", [])
    code = "\nx = 1\ny = b.send(\n    x,\n)\nprint(y)"
    assert first == {"path": "a.py", "line": 4, "caller": "", "code": code}
    assert [each["path"] for each in others] == ["c.py"] * 4
    assert {each["path"] for each in call("calls_of", "send", ["c.py:__module__?"])} == {"c.py"}
