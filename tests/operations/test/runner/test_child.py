"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remora.operations.test.runner.child.described import claims_about
from remora.operations.test.runner.child.object_changes import Watched
from remora.operations.test.runner.parent import CHILD

NEWER = {"removeprefix", "removesuffix", "is_relative_to", "unparse", "pairwise", "with_stem"}
"""Methods and functions that Python 3.8 does not have."""


@pytest.mark.parametrize("path", sorted(CHILD.glob("*.py")), ids=lambda path: path.stem)
def test_the_program_runs_with_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
    assert not NEWER & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@dataclass
class Price:
    amount: int
    currency: str = ""
    text: str = field(default="", repr=False)


class Route:
    def __init__(self, start: str) -> None:
        self.start = start

    def __repr__(self) -> str:
        return f"Route({self.start!r})"


class Road(Route):
    def __str__(self) -> str:
        return f"from {self.start}"


@pytest.mark.parametrize(
    ("value", "claim"),
    [
        (Price(5), ("{}", "Price(amount=5)")),
        (Price(5, text="5 EUR"), ("{}", "Price(amount=5, text='5 EUR')")),
        (Route("Rome"), ("{}.start", "'Rome'")),
        (Road("Rome"), ("str({})", "'from Rome'")),
    ],
)
def test_an_object_is_compared_with_an_equal_one_or_by_text_or_by_attributes(
    value: object, claim: tuple[str, str]
) -> None:
    claims, _ = claims_about(value, str(Path(__file__).parent))
    assert claims == [claim]


class Stock:
    """A mapping that no literal is equal to."""

    def __init__(self, *names: str) -> None:
        self._prices = dict.fromkeys(names, Price(5))

    def keys(self) -> list[Price]:
        return [*self._prices.values()]

    def __contains__(self, name: str) -> bool:
        return name in self._prices

    def __getitem__(self, name: str) -> Price:
        return self._prices[name]

    def remove(self, name: str) -> None:
        del self._prices[name]

    def add(self, name: str) -> None:
        self._prices[name] = Price(5)


class Queue(Stock):
    def __len__(self) -> int:
        return len(self._prices)

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)


def changed(one: Any, call: str) -> list[tuple[str, str]]:
    """Return the claims about what a call changes in an object with the name `one`."""
    watched = Watched({"one": one}, call, str(Path(__file__).parent))
    exec(call, {"one": one})
    return watched.claims(has_result=False)[0]


@pytest.mark.parametrize(
    ("one", "call", "claim"),
    [
        (Road("Rome"), "one.__init__('Paris')", ("str(one)", "'from Paris'")),
        (Route("Rome"), "one.__init__('Paris')", ("one.start", "'Paris'")),
        ({"a": 1, "b": 2}, "one.pop('a')", ("one", "{'b': 2}")),
        (Stock("apple", "pear"), "one.remove('pear')", ("'pear' in one", "False")),
        (Stock("apple"), "one.add('pear')", ("one['pear']", "Price(amount=5)")),
        (Queue("apple"), "one.add('pear')", ("list(one)", "['apple', 'pear']")),
    ],
)
def test_a_change_is_seen_in_the_text_members_items_or_attributes(
    one: Any, call: str, claim: tuple[str, str]
) -> None:
    assert changed(one, call) == [claim]


class Address(NamedTuple):
    host: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.host.lower() == other.host.lower()

    def __hash__(self) -> int:
        return hash(self.host.lower())


class Headers(dict[str, str]):
    """A mapping of the project."""


def test_equality_that_hides_differences_is_not_asserted_alone() -> None:
    root = str(Path(__file__).parent)
    assert claims_about(Address("A.org"), root)[0] == [("tuple({})", "('A.org',)")]
    assert claims_about(Headers(a="b"), root)[0] == [
        ("isinstance({}, Headers)", "True"),
        ("{}", "{'a': 'b'}"),
    ]
