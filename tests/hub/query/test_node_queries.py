"""What is answered about a view, in the words of the protocol."""

import math
import time
from collections.abc import Collection, Iterable
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.file_analysis import read_facts
from remora.code.links import Edge, Related
from remora.errors import NotFound
from remora.hub.file_reader import facts_without_nodes
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.query import node_queries as module
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import is_whole
from remora.hub.query.snapshots import MemorySnapshot

FILES = {
    "shop/price.py": """
import math

def rounded(value):
    return math.floor(value)
""",
    "shop/cart.py": """
from shop.price import rounded

class Cart:
    '''What will be bought.'''

    def total(self, items: list[int]) -> int:
        return rounded(sum(items))

    def again(self, left):
        return self.again(left - 1) if left else self.total([])
""",
    "shop/order.py": """
from shop.cart import Cart

def checkout():
    cart = Cart()
    cart.again(3)
    return cart.total([1])
""",
    "tests/test_cart.py": """
from shop.cart import Cart

def test_total():
    assert Cart().total([1]) == 1
""",
}
STUB = "shop/cart.pyi"
TOTAL = "node:shop/cart.py:Cart.total"
AGAIN = "node:shop/cart.py:Cart.again"
CHECKOUT = "node:shop/order.py:checkout"
ROUNDED = "node:shop/price.py:rounded"
TEST = "node:tests/test_cart.py:test_total"


def view_of(files: dict[str, str]) -> MemorySnapshot:
    return MemorySnapshot({path: read_facts(path, text.encode()) for path, text in files.items()})


class Distant(MemorySnapshot):
    """Has far to go for what it tells."""

    def mentioning(self, name: str) -> Collection[str]:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        return super().mentioning(name)


@pytest.fixture(scope="module")
def answers() -> NodeQueries:
    return NodeQueries(view_of(FILES))


def keys_of(links: Iterable[dict[str, Any]]) -> list[str]:
    return [link["key"] for link in links]


def test_a_node_is_its_own_facts_with_its_links(answers: NodeQueries) -> None:
    node = answers.node(TOTAL)
    assert isinstance(node, NodeState)
    assert (node.key, node.file_path, node.node_name) == (TOTAL, "shop/cart.py", "total")
    assert node.signature == "def total(self, items: list[int]) -> int"
    assert {edge.key for edge in node.callers or ()} == {AGAIN, CHECKOUT, TEST}
    assert Edge(key=ROUNDED, tier="exact", lines=(8,)) in (node.callees or ())
    assert [test.id for test in node.related_tests or ()] == ["tests/test_cart.py::test_total"]
    assert node.file_hash == read_facts("shop/cart.py", FILES["shop/cart.py"].encode()).file_hash


def test_without_links_or_the_whole_project_the_other_facts_are_told() -> None:
    view = view_of(FILES)
    (plain,) = NodeQueries(view).context([TOTAL], links=False).values()
    (linked,) = NodeQueries(view).context([TOTAL]).values()
    assert (plain.callers, plain.callees, plain.related_tests) == (None, None, None)
    assert linked.callers
    assert (plain.signature, plain.line_start) == (linked.signature, linked.line_start)
    answers = NodeQueries(view_of(FILES), partial_links=True)
    node = answers.node(TOTAL)
    assert (node.callers, node.callees, node.related_tests) == (None, None, None)
    told = answers.callers(TOTAL)
    assert (told["callers"], told["fresh"]) == (None, False)
    assert node.signature is not None


def test_the_context_keeps_the_order_and_may_be_told_as_not_fresh(answers: NodeQueries) -> None:
    found = answers.context([ROUNDED, "node:shop/cart.py:nobody", "", TOTAL])
    assert list(found) == [ROUNDED, TOTAL]
    assert all(type(node) is AnsweredNode and node.fresh for node in found.values())
    assert found[TOTAL].callers == answers.node(TOTAL).callers
    stale = answers.with_freshness(fresh=False)
    assert stale.context([TOTAL])[TOTAL].fresh is False
    assert stale.callers(TOTAL)["fresh"] is False
    assert answers.context([TOTAL])[TOTAL].fresh is True
    assert answers.with_freshness(fresh=True) is answers


def test_links_and_searches_are_answered_as_the_protocol_says(answers: NodeQueries) -> None:
    told = answers.callees(ROUNDED)
    assert told == {
        "node": ROUNDED,
        "callees": [{"key": "ext:math.floor", "tier": "exact", "lines": [5]}],
        "fresh": True,
        "generation": 0,
    }
    names = {"node", "callers", "references", "fresh", "generation"}
    assert set(answers.callers(ROUNDED)) == names
    assert set(answers.tests(ROUNDED)) == {"node", "tests", "fresh", "generation"}
    assert answers.search("cart total", 1) == {
        "query": "cart total",
        "nodes": [
            {
                "key": TOTAL,
                "node_type": "function",
                "signature": "def total(self, items: list[int]) -> int",
            }
        ],
    }


def test_a_node_of_a_stub_has_the_links_of_what_it_describes() -> None:
    stub = "class Cart:\n    def total(self, items: list[int]) -> int:\n        'The sum.'\n"
    stub += "    def gone(self): ...\ndef checkout() -> int: ...\n"
    plain, stubbed = NodeQueries(view_of(FILES)), NodeQueries(view_of({**FILES, STUB: stub}))
    described, node = plain.node(TOTAL), stubbed.node(f"node:{STUB}:Cart.total")
    assert stubbed.node(TOTAL) == described
    assert (node.docstring, node.line_count) == ("The sum.", 2)
    for name in ("callers", "references", "callees", "related_tests"):
        assert getattr(node, name) == getattr(described, name)
    for kind in ("callers", "callees", "tests"):
        answer = getattr(stubbed, kind)(node.key, 2)
        assert answer[kind] == getattr(plain, kind)(TOTAL, 2)[kind]
    assert stubbed.node(f"node:{STUB}:Cart.gone").callers == ()


def test_a_stub_without_a_module_is_linked_and_answers_for_all_its_overloads() -> None:
    overload = "@overload\ndef fast(value: {}) -> int: ...\n"
    overloads = "from typing import overload\n" + "".join(map(overload.format, ("int", "str")))
    use = "from shop.fast import fast\nfrom shop.deep import deep\ndef use():\n    fast(deep())\n"
    files = {"shop/fast.pyi": overloads, "shop/deep/__init__.pyi": "def deep() -> int: ...\n"}
    stubs = NodeQueries(view_of({**FILES, **files, "shop/use.py": use}))
    for name in ("shop/fast.pyi:fast", "shop/fast.pyi:fast#2", "shop/deep/__init__.pyi:deep"):
        assert keys_of(stubs.callers(f"node:{name}")["callers"]) == ["node:shop/use.py:use"]


@pytest.mark.parametrize(
    "line", ["x = [lone() for i in range(3) if]", "def g(: lone()", "x = (\n    lone()\n"]
)
def test_an_answer_names_the_files_whose_lost_parts_may_change_it(line: str) -> None:
    files = {"a.py": "def lone(): ...\ndef other(): ...\n", "b.py": f"import a\n{line}\n"}
    answers = NodeQueries(view_of(files))
    assert answers.node("node:a.py:lone").incomplete == ("b.py",)
    assert answers.node("node:a.py:other").incomplete == ()
    for kind in ("callers", "tests"):
        assert getattr(answers, kind)("node:a.py:lone")["incomplete"] == ["b.py"]
        assert "incomplete" not in getattr(answers, kind)("node:a.py:other")
    assert "incomplete" not in answers.callees("node:a.py:lone")


def test_a_file_that_is_too_large_may_have_any_name() -> None:
    large = facts_without_nodes("b.py", "", "too large")
    files = {"a.py": read_facts("a.py", b"def lone(): ..."), "b.py": large}
    assert NodeQueries(MemorySnapshot(files)).callers("node:a.py:lone")["incomplete"] == ["b.py"]


def test_entry_points_refer_to_what_they_name(tmp_path: Path) -> None:
    code = "import click\nclass App:\n    def run(self): ...\n@click.command()\ndef main(): ...\n"
    files = {"src/shop/cli.py": code, "src/shop/__init__.py": "from .cli import main as start\n"}
    settings = {
        "pyproject.toml": '[project.gui-scripts]\ng = "shop.cli:App.run [all]"\n# o = "shop.cli:App"\n',
        "setup.py": "E = {'console_scripts': ['a=shop.cli:main', \"b = shop:start\"]}\n",
        "src/setup.cfg": "[options.entry_points]\nconsole_scripts =\n    c = shop.cli:main\n",
    }
    for path, text in settings.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    answers = NodeQueries(view_of(files), root=tmp_path)

    def found(name: str) -> list[str]:
        references = answers.node(f"node:src/shop/cli.py:{name}").references or ()
        return [f"{edge.key} {edge.lines[0]}" for edge in references if edge.lines]

    assert found("App.run") == ["pyproject.toml:g 2"]
    assert found("main") == ["setup.py:a 1", "setup.py:b 1", "src/setup.cfg:c 3"]
    assert found("App") == []


def test_depth_follows_links_of_links_the_nearest_first(answers: NodeQueries) -> None:
    assert keys_of(answers.callers(ROUNDED)["callers"]) == [TOTAL]
    two = keys_of(answers.callers(ROUNDED, depth=2)["callers"])
    assert two[0] == TOTAL
    assert sorted(two[1:]) == sorted([AGAIN, CHECKOUT, TEST])
    assert keys_of(answers.callers(ROUNDED, depth=50)["callers"]) == two
    links = {link["key"]: link for link in answers.callees(CHECKOUT, depth=3)["callees"]}
    assert links[ROUNDED]["lines"] == [8]
    assert links["ext:math.floor"]["lines"] == [5]
    assert AGAIN in keys_of(answers.callers(AGAIN)["callers"])
    assert keys_of(answers.callers(AGAIN, depth=3)["callers"]).count(AGAIN) == 1
    direct = [test["id"] for test in answers.tests(ROUNDED)["tests"]]
    deeper = [test["id"] for test in answers.tests(ROUNDED, depth=3)["tests"]]
    assert set(direct) <= set(deeper)
    assert "tests/test_cart.py::test_total" in deeper


@pytest.mark.parametrize("ask", ["node", "callers", "callees", "tests"])
def test_an_unknown_node_is_not_found_and_the_nearest_are_named(
    answers: NodeQueries, ask: str
) -> None:
    with pytest.raises(NotFound) as caught:
        getattr(answers, ask)("node:shop/cart.py:Cart.totel")
    assert caught.value.message == "there is no node shop/cart.py:Cart.totel"
    assert "shop/cart.py:Cart.total" in caught.value.hint


def test_without_a_near_name_a_search_is_suggested() -> None:
    with pytest.raises(NotFound) as caught:
        NodeQueries(view_of({})).node("node:a.py:f")
    assert "remora hub search" in caught.value.hint


def test_callers_are_reported_where_tests_cannot_be_found_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = Distant({path: read_facts(path, text.encode()) for path, text in FILES.items()})
    asked = NodeQueries(view)
    monkeypatch.setattr(module, "TESTS_S", -1)
    (node,) = asked.context([ROUNDED]).values()
    assert node.related_tests is None
    assert [edge.key for edge in node.callers or ()] == [TOTAL]
    assert not is_whole({ROUNDED: node})
    monkeypatch.undo()
    (node,) = asked.context([ROUNDED]).values()
    assert [test.id for test in node.related_tests or ()] == ["tests/test_cart.py::test_total"]
    assert is_whole({ROUNDED: node})


def test_a_search_for_tests_that_takes_too_long_returns_what_it_found() -> None:
    view = view_of(FILES)
    asked = NodeQueries(view)
    view.deadline = time.monotonic() - 1
    first = asked.tests(TOTAL)
    assert first["complete"] is False
    assert not is_whole(first)
    view.deadline = math.inf
    then = asked.tests(TOTAL)
    assert "complete" not in then
    assert first["tests"] == [{"id": "tests/test_cart.py::test_total", "tier": "unique"}]
    assert then["tests"] == [{"id": "tests/test_cart.py::test_total", "tier": "exact"}]


def test_a_node_has_the_tests_that_were_found_in_time() -> None:
    first = NodeQueries(view_of(FILES), search_s=-1).node(TOTAL)
    assert first.related_tests == (Related(id="tests/test_cart.py::test_total", tier="unique"),)
    assert not first.tests_complete
    assert not is_whole(first)
    then = NodeQueries(view_of(FILES)).node(TOTAL)
    assert then.related_tests == (Related(id="tests/test_cart.py::test_total", tier="exact"),)
    assert is_whole(then)


class Hurried(MemorySnapshot):
    """Tells nothing to whoever is in a hurry, and counts them."""

    turned_away = 0

    def mentioning(self, name: str) -> Collection[str]:
        if self.deadline < math.inf:
            self.turned_away += 1
            raise OutOfTimeError
        return super().mentioning(name)


def test_once_there_is_no_time_for_tests_no_further_ones_are_looked_for() -> None:
    view = Hurried({path: read_facts(path, text.encode()) for path, text in FILES.items()})
    asked = NodeQueries(view)
    told = asked.context([ROUNDED, TOTAL, CHECKOUT])
    assert {node.related_tests for node in told.values()} == {None}
    assert [edge.key for edge in told[TOTAL].callers or ()] == [AGAIN, TEST, CHECKOUT]
    assert view.turned_away == 1
    asked.context([ROUNDED])
    assert view.turned_away == 2


class Interrupted(MemorySnapshot):
    """Ends a question after some steps of the linker."""

    steps = math.inf

    def check_time(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfTimeError


def test_a_question_that_ends_early_tells_what_is_there_and_spoils_no_later_one() -> None:
    keys, kinds = [TOTAL, CHECKOUT], ["callers", "callees", "related_tests"]
    in_order = [*product(kinds, keys)]
    whole = NodeQueries(view_of(FILES)).context(keys)
    known: list[tuple[str, str]] = []
    for steps in count():
        view = Interrupted({path: read_facts(path, text.encode()) for path, text in FILES.items()})
        asked, view.steps = NodeQueries(view), steps
        told = asked.context(keys)
        known = [(kind, key) for kind, key in in_order if getattr(told[key], kind) is not None]
        assert known == in_order[: len(known)]
        assert all(getattr(told[k], kind) == getattr(whole[k], kind) for kind, k in known[:4])
        view.steps = math.inf
        assert asked.context(keys) == whole
        if told == whole:
            break
    assert steps > 10
