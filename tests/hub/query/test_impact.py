"""What a change concerns, on small programs before and after it."""

from collections.abc import Mapping

import pytest

from remora.code.file_analysis import read_facts
from remora.code.syntax.changed_behavior import ChangedNode
from remora.hub.query.impact import Concern, Impact, ImpactSearch
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot

CART = """
class Cart:
    def total(self, digits=2):
        '''Return the sum, rounded to `digits`.'''
        return round(sum(self.items), digits)


class Big(Cart):
    def total(self, digits=2):
        return 0


def load(path):
    return Cart()
"""
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "shop/bill.py": """
from shop.cart import Cart, load


def bill(cart: Cart):
    return cart.total(digits=1)


def start():
    return bill(load("x"))
""",
    "tests/test_bill.py": """
from shop.bill import start


def test_start():
    assert start() == 0
""",
}
TEXTS = {
    "README.md": "Call `load()`.\nUse `Cart.total` as well.\n",
    "docs/b.md": "a load of work\n",
}


def impact_of(after: Mapping[str, str], before: Mapping[str, str] = FILES) -> Impact:
    """Return what the difference between two programs concerns."""
    paths = {path for path in {**before, **after} if before.get(path) != after.get(path)}
    edits = {path: (_bytes(before.get(path)), _bytes(after.get(path))) for path in sorted(paths)}
    sides = (queries(before), queries(after))
    search = ImpactSearch(*sides, edits, lambda path: _bytes({**after, **TEXTS}.get(path)))
    return search.of_edits(TEXTS)


def queries(files: Mapping[str, str]) -> NodeQueries:
    facts = {path: read_facts(path, text.encode()) for path, text in files.items()}
    return NodeQueries(MemorySnapshot(facts))


def edited(old: str, new: str, path: str = "shop/cart.py") -> Impact:
    return impact_of({**FILES, path: FILES[path].replace(old, new)})


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def places(concerns: list[Concern] | tuple[Concern, ...]) -> list[str]:
    return [f"{concern.place} {concern.why}".strip() for concern in concerns]


def test_a_call_that_no_longer_fits_is_named_with_the_reason() -> None:
    found = edited(
        "def total(self, digits=2):\n        '''", "def total(self, places):\n        '''"
    )
    assert places([*found.misfits]) == ["shop/bill.py:6 missing a required argument: 'places'"]
    assert found.callers == []
    assert found.tests == ["tests/test_bill.py::test_start"]
    assert places([*found.texts]) == [
        "shop/cart.py:3 its docstring names `digits`",
        "README.md:2",
    ]
    (changed,) = found.changed
    assert changed.what[0] == "def total(self, digits=2) → def total(self, places)"


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\n\nasync def g(self):\n    pass\n\nasyncio.g(g(1, 2))\n",
        "class _Private:\n    def f(self):\n        self.g(1)\n    def g(self):\n        pass\n",
        "class lower:\n    def f(self):\n        self.g(1)\n    def g(self):\n        pass\n",
    ],
)
def test_a_method_and_a_function_of_another_module_are_told_apart(code: str) -> None:
    assert impact_of({"a.py": code.replace("(self)", "(self, b)")}, {"a.py": code}).misfits == []


def test_a_caller_that_still_fits_is_a_caller() -> None:
    found = edited("round(sum(self.items), digits)", "sum(self.items)")
    assert (found.misfits, [node.how for node in found.changed]) == ([], ["code"])
    assert [caller.name for caller in found.callers] == ["shop/bill.py:bill"]
    assert found.texts == [], "what it is called by has not changed"


def test_what_is_gone_is_missed_where_it_is_called_and_imported() -> None:
    found = edited("def load(path):\n    return Cart()\n", "")
    assert places([*found.misfits]) == [
        "shop/bill.py:10 `load` is gone",
        "shop/bill.py:2 imports `load`, which is gone",
    ]
    assert places([*found.texts]) == ["README.md:1"]


@pytest.mark.parametrize(
    "now", ["from shop.load import load\n", "from other import load\n", "load = Cart\n"]
)
def test_what_only_moved_is_not_missed(now: str) -> None:
    cart = CART.replace("def load(path):\n    return Cart()\n", now)
    moved = {"shop/cart.py": cart, "shop/load.py": "def load(path):\n    return None\n"}
    assert impact_of({**FILES, **moved}).misfits == []


def test_comments_docstrings_and_layout_concern_nothing() -> None:
    found = edited("'''Return the sum, rounded to `digits`.'''", "'''Sum.'''  # short")
    assert (found.changed, found.tests) == ([], [])


def test_changed_tests_come_first_and_new_functions_have_no_callers() -> None:
    new = "\n\ndef test_new():\n    assert start() == 1\n"
    test = FILES["tests/test_bill.py"] + new
    found = impact_of(
        {**FILES, "tests/test_bill.py": test, "shop/cart.py": f"{CART}\n\ndef f(): ...\n"}
    )
    assert found.tests[0] == "tests/test_bill.py::test_new"
    assert [node.how for node in found.changed] == ["new", "new"]
    assert found.callers == []


def test_a_name_alone_asks_what_a_change_of_it_would_concern() -> None:
    same = queries(FILES)
    search = ImpactSearch(same, same, {}, lambda path: _bytes({**FILES, **TEXTS}.get(path)))
    found = search.of([ChangedNode(key="node:shop/cart.py:load", line=13, how="named")], TEXTS)
    assert [caller.name for caller in found.callers] == ["shop/bill.py:start"]
    assert (found.tests, places([*found.texts])) == (
        ["tests/test_bill.py::test_start"],
        ["README.md:1"],
    )


def test_who_overrides_calls_and_refers_to_a_method() -> None:
    loading = {
        "a.py": "class Base:\n    def load(self): ...\n\n\nclass Kid(Base):\n    def load(self):\n"
        "        super().load()\n        super().load()\n",
        "b.py": "from a import Base\n\nLOADERS = {'base': Base.load}\n",
        "c.py": "from a import Base\n",
        "test_z.py": "from a import Base\n\ndef test_direct():\n    Base().load()\n",
        "test_a.py": "from a import Kid\n\ndef test_indirect():\n    Kid().load()\n",
    }
    same = queries(loading)
    search = ImpactSearch(same, same, {}, lambda path: _bytes(loading.get(path)))
    found = search.of([ChangedNode(key="node:a.py:Base.load", line=2, how="named")], ())
    assert (places([*found.overrides]), places([*found.callers])) == (
        ["a.py:6 override"],
        ["a.py:7, 8"],
    )
    assert [(row.place, row.name) for row in found.references] == [("b.py:3", "b.py:LOADERS")]
    assert found.tests == ["test_z.py::test_direct", "test_a.py::test_indirect"]
    base = ChangedNode(key="node:a.py:Base", line=1, how="named")
    assert "c.py:1" in places([*search.of([base], ()).references])
    same.view.deadline = 0
    assert not search.of([base], ()).has_all_tests


def test_the_readers_of_a_constant_are_named() -> None:
    shop = {
        "shop.py": "RATE = 1\n\n\ndef own():\n    return RATE\n",
        "bill.py": "from shop import RATE\n\n\ndef bill():\n    return RATE * 2 + RATE\n",
        "test_bill.py": "from bill import bill\n\n\ndef test_bill():\n    assert bill()\n",
    }
    found = impact_of({**shop, "shop.py": shop["shop.py"].replace("1", "2")}, shop)
    assert (places([*found.references]), found.tests) == (
        ["bill.py:5", "shop.py:5"],
        ["test_bill.py::test_bill"],
    )
    assert found.changed[0].what == ("1 → 2",)


def test_a_file_that_does_not_parse_is_said_to_be_unread() -> None:
    found = edited("return 0", "return (")
    assert (found.changed, found.incomplete) == ([], ["shop/cart.py"])


def test_a_function_that_no_test_is_known_to_run_has_those_of_its_module() -> None:
    plugin = {
        "plugins/one.py": "def version():\n    return 1\n",
        "tests/test_one.py": "def test_it(load):\n    assert load('one') == 1\n",
        "tests/test_two.py": "def test_it(load):\n    assert load('two') == 2\n",
    }
    changed = plugin["plugins/one.py"].replace("1", "2")
    assert impact_of({**plugin, "plugins/one.py": changed}, plugin).tests == [
        "tests/test_one.py::test_it"
    ]
