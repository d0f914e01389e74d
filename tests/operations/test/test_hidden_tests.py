"""Tests that are hidden, and the faults that they and new tests detect."""

import sys
from pathlib import Path

import pytest

from remora.operations.restorer import Restored, Slot
from remora.operations.test.hidden_tests import RESTORER
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree

SHOP = """\
def discounted(price, percent):
    if percent > 50:
        return price / 2
    return price - price * percent / 100


def rounded(price):
    return round(price, 2)


def label(price):
    return f"{rounded(price)} EUR"
"""
TESTS = '''\
from shop import discounted, label, rounded


def test_discounted():
    assert discounted(100, 10) == 90


class TestLabels:
    """Labels."""

    def test_label(self):
        assert label(2.5) == "2.5 EUR"


class TestMore:
    def test_large_discount(self):
        assert discounted(100, 80) == 50
'''
HIDDEN = '''\
from shop import discounted, label, rounded


class TestLabels:
    """Labels."""

    def test_label(self):
        assert label(2.5) == "2.5 EUR"
'''
TEXTS = {"shop.py": SHOP, "test_shop.py": TESTS}
IDS = "test_shop.py::TestMore::test_large_discount test_shop.py::test_discounted"


def slot(name: str) -> Slot:
    (found,) = (each for each in RESTORER.find(TEXTS) if each.qualname == name)
    return found


def test_functions_that_only_their_tests_use_are_found_with_these_tests() -> None:
    assert [(each.qualname, each.text) for each in RESTORER.find(TEXTS)] == [
        ("discounted", IDS),
        ("label", "test_shop.py::TestLabels::test_label"),
    ]


def test_functions_without_tests_or_with_the_name_of_another_are_not_found() -> None:
    again = TEXTS | {"other.py": "def discounted(x):\n    return x\n"}
    assert [each.qualname for each in RESTORER.find(again)] == ["label"]
    assert RESTORER.find({"shop.py": SHOP}) == []


@pytest.mark.parametrize(
    "test",
    [
        "@freeze_time('2026-01-01')\ndef test_age():\n    assert age(2000) == 26",
        "def test_age():\n    assert age(date.today().year) == 0",
        "def test_age(freezer):\n    assert age(2000) == 26",
        "def test_age():\n    assert age(time.time()) == 0",
    ],
)
def test_functions_whose_tests_use_the_clock_are_not_found(test: str) -> None:
    ages = {"ages.py": "def age(year):\n    return this_year() - year\n", "test_ages.py": test}
    assert RESTORER.find(ages) == []
    plain = {**ages, "test_ages.py": "def test_age():\n    assert age(time(20)) > 20"}
    assert [each.qualname for each in RESTORER.find(plain)] == ["age"]


def test_functions_whose_tests_are_not_missed_are_left_out(tmp_path: Path) -> None:
    shop = f"{SHOP}\n\ndef store(price):\n    open('prices', 'a').write(label(price))\n"
    (tmp_path / "shop.py").write_text(shop)
    used = "from shop import label\n\n\ndef test_shop():\n    assert label(2.5)\n"
    (tmp_path / "test_shop.py").write_text(used)
    slots = [
        Slot(path="shop.py", number=number, qualname=name, part="tests", text="test_shop.py::test")
        for number, name in ((1, "discounted"), (2, "rounded"), (4, "store"))
    ]
    assert RESTORER.left_out is not None
    assert RESTORER.left_out(tmp_path, slots) == {
        ("shop.py", 2, "tests"): "other tests or examples still cover the function",
        ("shop.py", 4, "tests"): "functions with effects outside the process",
    }


def test_all_tests_of_a_function_are_hidden() -> None:
    assert RESTORER.hide(TEXTS, [slot("discounted")]) == {"shop.py": SHOP, "test_shop.py": HIDDEN}


def test_new_tests_are_found_wherever_they_are() -> None:
    new = "from shop import discounted\n\n\ndef test_it():\n    assert discounted(1, 1)\n"
    hidden = {"shop.py": SHOP, "test_shop.py": HIDDEN}
    after = hidden | {"tests/test_new.py": new}
    assert RESTORER.compare([slot("discounted")], hidden, after) == [
        Restored(outcome="different", text="tests/test_new.py::test_it")
    ]
    assert RESTORER.compare([slot("discounted")], hidden, hidden) == [Restored(outcome="left")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "outcome"),
    [
        (["discounted(100, 10) == 90", "discounted(100, 80) == 50"], "equivalent"),
        (["discounted(100, 0) == 100"], "different"),
        (["discounted(100, 0) == 1"], "different"),
    ],
)
def test_new_tests_are_equivalent_if_they_detect_the_same_faults(
    tmp_path: Path, calls: list[str], outcome: str
) -> None:
    body = "".join(f"    assert {call}\n" for call in calls)
    new = f"from shop import discounted\n\n\ndef test_again():\n{body}"
    for name, text in (("before", TESTS), ("after", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop.py").write_text(SHOP)
        (tmp_path / name / "test_shop.py").write_text(text)
    (tmp_path / "project").mkdir()
    python = ProjectPython(python=Path(sys.executable), root=tmp_path / "project", trusted=True)
    before, after = (ToolTree(tmp_path / name, python) for name in ("before", "after"))
    written = [Restored(outcome="different", text="test_shop.py::test_again")]
    assert RESTORER.judge is not None
    (found,) = RESTORER.judge(before, after, [slot("discounted")], written)
    assert found.outcome == outcome
