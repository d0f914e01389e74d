"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
import os
import subprocess
import sys
from collections import UserDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from remora.operations.test.runner.child import equality
from remora.operations.test.runner.child.described import claims_about
from remora.operations.test.runner.child.fork import in_child
from remora.operations.test.runner.child.function_calls import outcome
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


class Cache(Stock):
    """A mapping that counts readers."""

    hits = 0

    def __getitem__(self, name: str) -> Price:
        self.hits += 1
        return super().__getitem__(name)

    def has(self, name: str) -> bool:
        return name in self._prices


class Long(Queue):
    read = 0

    def __iter__(self) -> Iterator[str]:
        for number in range(1000):
            Long.read += 1
            yield str(number)


class Messages(Queue):
    """A collection without its items once they are read."""

    def __iter__(self) -> Iterator[str]:
        while self._prices:
            yield self._prices.popitem()[0]

    def size(self) -> int:
        return len(self._prices)


def test_reading_the_state_before_a_call_changes_nothing() -> None:
    assert changed(Cache("apple"), "one.has('apple')") == []
    messages = Messages("apple")
    watched = Watched({"one": messages}, "one.size()", str(Path(__file__).parent))
    assert messages.size() == 1
    assert watched.claims(has_result=True) == ([], [])


def test_items_are_read_up_to_a_limit() -> None:
    assert changed(Long("apple"), "one.add('pear')") == [("one['pear']", "Price(amount=5)")]
    assert 0 < Long.read < 100


def test_literals_that_contain_the_sign_for_the_object_are_left_out() -> None:
    assert changed(Stock("apple"), "one.add('{}')") == []
    assert changed(Queue("apple"), "one.add('{}')") == [("list(one)", "['apple', '{}']")]


CATCHES = """
def f():
    for _ in range(3):
        try:
            while True:
                pass
        except TimeoutError:
            pass
"""


def test_code_that_catches_the_timeout_is_stopped_again() -> None:
    module = ModuleType("module")
    exec(CATCHES, vars(module))
    call = {"call": "f()", "imports": [], "setup": [], "objects": []}
    assert in_child(lambda: outcome({"root": "/"}, module, call, 0.05), 20)


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


@dataclass
class Interval:
    lower: int
    upper: int


class Settings(UserDict[str, str]):
    """A mapping whose `==` is inherited."""


class Folder:
    def __init__(self, path: str) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r})"

    @property
    def path(self) -> str:
        return self._path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folder) and self.path == other.path

    def __hash__(self) -> int:
        return 1


class RelativeFolder(Folder):
    @property
    def path(self) -> str:
        return self._path[1:]


class KnownFolder(Folder):
    @cached_property
    def path(self) -> str:
        return self._path[1:]


def key_of(one: Folder) -> str:
    return repr(one)[-3:]


class ShortFolder(Folder):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShortFolder) and key_of(self) == key_of(other)

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("value", [Interval(1, 2), Folder("/a"), Settings(a="b"), Fraction(1, 2)])
def test_equality_that_compares_fields(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert equality.compares_fields(value)
    monkeypatch.setattr(equality, "_STANDARD", frozenset())
    assert equality.compares_fields(value)


@pytest.mark.parametrize("kind", [RelativeFolder, KnownFolder, ShortFolder])
def test_equality_over_properties_and_functions_may_hide_differences(kind: type[Folder]) -> None:
    one = kind("/a")
    assert one == kind("/a")
    assert not equality.compares_fields(one)


class Pairs(tuple[int, ...]):
    """A tuple that cannot be read."""

    def __iter__(self) -> Iterator[int]:
        raise ValueError("unsorted")


class NamedPairs(Pairs):
    def __eq__(self, other: object) -> bool:
        return str(self).lower() == str(other).lower()

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("value", [Pairs((1, 2)), NamedPairs((1, 2))])
def test_a_tuple_that_cannot_be_read_has_no_value(value: Pairs) -> None:
    claims, _ = claims_about(value, str(Path(__file__).parent))
    assert all(left not in ("{}", "tuple({})") for left, _ in claims)


FREEZEGUN = """\
import datetime


class FakeDateMeta(type):
    pass


class FakeDate(datetime.date, metaclass=FakeDateMeta):
    pass
"""
SHIFTED = """\
import datetime
from remora.operations.test.runner.child.determinism import shift_clocks

before = datetime.date.today()
shift_clocks(10 * 86400)
import freezegun

assert datetime.date.today() > before
assert issubclass(freezegun.FakeDate, type(before))
"""


def test_a_library_that_derives_from_dates_can_be_imported_after_clocks_are_shifted(
    tmp_path: Path,
) -> None:
    (tmp_path / "freezegun.py").write_text(FREEZEGUN)
    done = subprocess.run(
        [sys.executable, "-c", SHIFTED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
