"""Types that a model proposes for signatures that rules leave open."""

import venv
from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.types.hidden_annotations import choices_of
from remora.operations.types.host_types import annotate, judge_signature, open_signatures
from remora.operations.types.types_need import unannotated
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree

SHOP = """\
import decimal


class Item:
    def __init__(self, name: str, price: float) -> None:
        self.name = name
        self.price = price


def first(data):
    return data[0]


def total(items, *extra, discount=None):
    return sum(each.price for each in items) - (discount or 0)


def exact(amount):
    return amount.normalize()


def label(item: Item) -> str:
    return item.name
"""
USE = """\
from shop import Item, first

print(first([Item("tea", 2.5)]).price)
"""
SETTINGS = '[project]\nname = "shop"\nrequires-python = ">=3.11"\n[tool.ty]\n[tool.ruff.lint]\nselect = ["ANN", "TC", "UP"]\n'


@pytest.fixture
def place(tmp_path: Path) -> ToolTree:
    for name, text in {"shop.py": SHOP, "use.py": USE, "pyproject.toml": SETTINGS}.items():
        (tmp_path / name).write_text(text)
    return ToolTree(tmp_path)


def text_of(place: ToolTree) -> str:
    return place.read("shop.py").decode()


def test_functions_that_rules_leave_are_open(place: ToolTree) -> None:
    found = {each["function"]: each for each in open_signatures(place, "shop.py", [], {})}
    assert list(found) == ["first", "total", "exact"]
    assert found["total"]["names"] == ["items", "extra", "discount", "return"]
    assert (found["total"]["first"], found["total"]["last"]) == (14, 15)
    left = open_signatures(place, "shop.py", [], {"first": "(data: list[Item]) -> Item"})
    assert [each["function"] for each in left] == ["total", "exact"]


def test_accepted_types_are_written_with_their_imports(place: ToolTree) -> None:
    proposals = {
        "first": "(data: list[Item]) -> Item",
        "total": "(items: Iterable[Item], discount: float | None) -> float",
        "exact": "(amount: decimal.Decimal) -> decimal.Decimal",
    }
    signatures: dict[str, str] = {}
    for function, text in proposals.items():
        judged = judge_signature(place, "shop.py", function, text, signatures)
        assert judged == {"accepted": text, "why": ""}
        signatures[function] = judged["accepted"]
    done = annotate(place, "shop.py", [], signatures)
    text = text_of(place)
    assert "def first(data: list[Item]) -> Item:" in text
    assert (
        "def total(items: Iterable[Item], *extra, discount: float | None = None) -> float:" in text
    )
    assert "def exact(amount: decimal.Decimal) -> decimal.Decimal:" in text
    assert "from collections.abc import Iterable" in text
    sources = {key[2]: each.source for key, each in choices_of("shop.py", [done]).items()}
    assert sources["parameter items"] == "model"


def test_type_that_a_caller_contradicts_is_refused_with_the_reason(place: ToolTree) -> None:
    judged = judge_signature(place, "shop.py", "first", "(data: list[int]) -> int", {})
    assert judged["accepted"] == ""
    assert judged["why"] == "Object of type `int` has no attribute `price`"


def test_type_that_the_code_contradicts_is_refused_and_others_are_kept(place: ToolTree) -> None:
    judged = judge_signature(place, "shop.py", "total", "(items: int, discount: int | None)", {})
    assert judged["accepted"] == "(discount: int | None)"
    assert "int" in judged["why"]


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("I would write a list here.", "not a signature"),
        ("(data: Any)", "no type for what is missing"),
        ("(data: object | None)", "no type for what is missing"),
        ("(other: int)", "no type for what is missing"),
        ("(data: Basket)", "Basket is not known in the file"),
    ],
)
def test_answer_without_a_type_is_refused(place: ToolTree, signature: str, reason: str) -> None:
    judged = judge_signature(place, "shop.py", "first", signature, {})
    assert judged["accepted"] == ""
    assert reason in judged["why"]
    assert text_of(place) == SHOP


def test_function_that_is_defined_twice_gets_both_signatures(place: ToolTree) -> None:
    twice = "if decimal.MAX_PREC > 1:\n    def cut(text): return text[0]\nelse:\n    def cut(text): return text\n"
    (place.tree / "shop.py").write_text(SHOP + twice)
    accepted = judge_signature(place, "shop.py", "cut", "(text: str) -> str", {})["accepted"]
    assert accepted == "(text: str) -> str"
    opened = open_signatures(place, "shop.py", [], {"cut": accepted})
    assert not any(each["function"].startswith("cut") for each in opened)
    annotate(place, "shop.py", [], {"cut": accepted})
    assert text_of(place).count("def cut(text: str) -> str:") == 2


def test_one_of_several_functions_with_a_name_is_told_by_its_number(place: ToolTree) -> None:
    nested = "    def cut(text): return text[0]\n    return cut\n"
    (place.tree / "shop.py").write_text(f"def one():\n{nested}" + f"def one():\n{nested}")
    judged = judge_signature(place, "shop.py", "one#2.cut", "(text: str) -> str", {})
    assert judged == {"accepted": "(text: str) -> str", "why": ""}


def test_all_missing_annotations_count_if_a_model_can_write(place: ToolTree) -> None:
    module = parse_module("shop.py", SHOP.encode())
    assert isinstance(module, Module)
    (node,) = (each for each in module.nodes if each.qualname == "first")
    by_rules = unannotated(place, [module], {})
    with_model = unannotated(place, [module], {"open": True})
    assert isinstance(by_rules(module, node), str)
    assert with_model(module, node) == 2


def failing_pyright(folder: Path) -> Path:
    """Create an environment whose pyright fails on `decimal.Decimal`. Return its Python."""
    venv.create(folder, symlinks=True)
    checker = folder / "bin/pyright"
    checker.write_text(
        "#!/bin/sh\ngrep -q decimal.Decimal shop.py && exit 3\necho '{\"generalDiagnostics\": []}'\n"
    )
    checker.chmod(0o755)
    return folder / "bin/python"


@pytest.mark.slow
def test_checker_that_fails_with_proposed_types_keeps_those_of_rules(
    place: ToolTree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A check that fails only with the types of a model must not cost those of the rules."""
    shop = f"{SHOP}\n\ndef show(item: Item):\n    print(item)\n"
    for name, text in {"shop.py": shop, "pyproject.toml": "[tool.pyright]\n"}.items():
        (place.tree / name).write_text(text)
    python = failing_pyright(tmp_path_factory.mktemp("env"))
    trusted = ProjectPython(python=python, root=place.tree, trusted=True)
    judged_by_both = ToolTree(place.tree, trusted)
    signature = "(amount: decimal.Decimal) -> decimal.Decimal"
    judged = judge_signature(judged_by_both, "shop.py", "exact", signature, {})
    assert judged == {"accepted": "", "why": "the project's pyright failed"}
    annotate(judged_by_both, "shop.py", [], {"exact": signature})
    assert "def exact(amount):" in text_of(place)
    assert "def show(item: Item) -> None:" in text_of(place)


RULES_OF_A_CLASS = """\
from typing import Any


class Rule:
    def __lt__(self, other: Any) -> bool:
        return other is not None

    def __le__(self, other: Any) -> bool:
        return other is not None

    def __gt__(self, other) -> bool:
        return other is not None


class Keys(dict[str, int]):
    def __contains__(self, key) -> bool:
        return super().__contains__(key)
"""


@pytest.mark.parametrize(
    ("function", "signature"),
    [("Rule.__gt__", "(other: Any)"), ("Keys.__contains__", "(key: object)")],
)
def test_type_that_says_nothing_is_kept_where_related_methods_have_it(
    place: ToolTree, function: str, signature: str
) -> None:
    (place.tree / "shop.py").write_text(RULES_OF_A_CLASS)
    judged = judge_signature(place, "shop.py", function, signature, {})
    assert judged == {"accepted": signature, "why": ""}


STORES = """\
class Store:
    def put(self, row):
        raise NotImplementedError


class Shelf(Store):
    def put(self, row):
        return [row]


class Count(Store):
    def put(self, row):
        return row + 1


print(Shelf().put("tea"), Count().put(2.5))
"""


def test_methods_that_override_another_get_the_types_of_its_parameters(place: ToolTree) -> None:
    """A refused type stays open, and no question asks for a type that contradicts the other one."""
    (place.tree / "shop.py").write_text(STORES)
    accepted = judge_signature(place, "shop.py", "Store.put", "(row: str) -> None", {})["accepted"]
    assert accepted == "(row: str) -> None"
    opened = open_signatures(place, "shop.py", [], {"Store.put": accepted})
    assert not any("row" in each["names"] for each in opened)
    annotate(place, "shop.py", [], {"Store.put": accepted})
    assert text_of(place).count("(self, row: str)") == 2
    assert "(self, row)" in text_of(place)


BOX = """\
class Box:
    def take(self, lot):
        self.lot = lot.rows

    def clear(self):
        self.lot = None

    def move(self, lot, to, at, by, of):
        return lot.rows[to].add(at, by(of))

    def weigh(self, lot, to, at, by, of):
        return lot.rows[to].sum(at, by(of))

    def count(self, lot, to, at, by, of):
        return lot.rows[to].count(at, by(of))
"""


def test_result_that_would_be_scattered_is_written_beside_types_of_a_model(place: ToolTree) -> None:
    (place.tree / "shop.py").write_text(BOX)
    assert annotate(place, "shop.py", [], {})["written"] == 0
    opened = {each["function"]: each["names"] for each in open_signatures(place, "shop.py", [], {})}
    assert opened["Box.take"] == ["lot"]
    assert "Box.clear" not in opened
    annotate(place, "shop.py", [], {"Box.count": "(to: str) -> int"})
    assert "def take(self, lot) -> None:" in text_of(place)
    assert "def clear(self) -> None:" in text_of(place)


def test_result_that_would_be_scattered_is_open_if_nothing_else_is(place: ToolTree) -> None:
    (place.tree / "shop.py").write_text(BOX)
    (opened,) = open_signatures(place, "shop.py", ["Box.clear"], {})
    assert (opened["function"], opened["likely"]) == ("Box.clear", {"return": ["None"]})
