"""Annotations that do not accept what the project's own tests pass or get are taken out."""

import sys
from functools import partial
from pathlib import Path

import pytest

import remora
from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.judges.gates import values_gate
from remora.judges.gates.code_gates import failing, run_tests
from remora.judges.gates.gate import UnjudgedError, worse
from remora.judges.gates.values_gate import ValuesGate
from remora.runs.records.results import run_document
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import write
from tests.judges.gates.conftest import Judge

SOURCE = """\
from __future__ import annotations

import functools
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal


def show(path):
    return "/".join(path) if isinstance(path, tuple) else path


def half(n):
    return n / 2


def strict(name):
    if not isinstance(name, str):
        raise TypeError(name)
    return name


def late(n):
    return "late" if n > 300 else n


def each(items):
    for item in items:
        yield item


async def later(n):
    return [n]


async def stream(n):
    yield n


def many(*parts, **more):
    return len(parts) + len(more)


def unknown(amount):
    return amount


def fetch(session):
    return session.get()


def outer():
    def inner(n):
        return n

    return inner("a")


class Named(typing.Protocol):
    def __call__(self, name: str) -> str: ...


def read(stream):
    return stream.read()


def call(named):
    return named("a")


@functools.lru_cache
def cached(n):
    return n


@dataclass(slots=True)
class Point:
    x: int = 0

    class Kind:
        pass

    @property
    def size(self):
        return "big"

    @classmethod
    def make(cls, x):
        return cls(x)

    def moved(self):
        return Point(self.x + 1)

    def kind(self):
        return self.Kind()

    @staticmethod
    def name(n):
        return str(n)
"""
TESTS = """\
import asyncio
import doctest
import inspect
import pickle
import tempfile
from unittest.mock import Mock, NonCallableMagicMock, create_autospec

import pytest

import shop


class FakeSession:
    def get(self):
        return 1


def test_values():
    assert shop.show(("a", "b")) == "a/b"
    assert shop.half(1) == 0.5
    for _ in range(30):
        with pytest.raises(TypeError):
            shop.strict(1)
    assert shop.strict("a") == "a"
    for n in range(400):
        shop.late(n)
    assert list(shop.each(["a", 1])) == ["a", 1]
    assert asyncio.run(shop.later(1)) == [1]
    assert asyncio.run(anext(shop.stream(1))) == 1
    assert shop.many(1, "a", x=None) == 3
    assert shop.unknown(1) == 1
    for session in (FakeSession(), Mock(), NonCallableMagicMock(), create_autospec(FakeSession)()):
        shop.fetch(session)
    assert shop.outer() == "a"
    assert shop.call(str.upper) == "A"
    with tempfile.NamedTemporaryFile("w+") as file:
        assert shop.read(file) == ""
    closed = shop.each(["a"])
    assert next(closed) == "a"
    closed.close()
    assert shop.cached(1) == 1
    point = shop.Point.make(1)
    assert point.size == "big"
    assert point.moved().x == 2
    assert point.kind() and shop.Point.name(1) == "1"


def test_functions_are_what_they_were():
    assert pickle.loads(pickle.dumps(shop.half)) is shop.half
    assert list(inspect.signature(shop.half).parameters) == ["n"]
    assert inspect.getsource(shop.show).startswith("def show")
    assert shop.half.__code__.co_name == "half"
    assert shop.Point.__slots__ == ("x",)
    assert shop.cached.cache_info().currsize
    assert doctest.testmod(shop).failed == 0
"""
WRONG = [
    ("def show(path):", "def show(path: str):", "show(path: str) is given tuple[str]"),
    ("def half(n):", "def half(n) -> int:", "half(return: int) returns float"),
    ("def late(n):", "def late(n) -> int:", "late(return: int) returns str"),
    (
        "def each(items):", "def each(items: list[str]) -> typing.Iterator[str]:",
        "each(items: list[str]) is given list[int | str]",
        "each(return: typing.Iterator[str]) returns int",
    ),
    (
        "async def later(n):", "async def later(n: str) -> list[str]:",
        "later(n: str) is given int", "later(return: list[str]) returns list[int]",
    ),
    (
        "async def stream(n):", "async def stream(n: str):", "stream(n: str) is given int",
    ),
    (
        "def many(*parts, **more):", "def many(*parts: int, **more: int):",
        "many(parts: int) is given str", "many(more: int) is given None",
    ),
    ("    def inner(n):", "    def inner(n: int):", "outer.inner(n: int) is given str"),
    ("def cached(n):", "def cached(n: str):", "cached(n: str) is given int"),
    ("def size(self):", "def size(self) -> int:", "Point.size(return: int) returns str"),
    (
        "def make(cls, x):", "def make(cls, x: str) -> list[typing.Self]:",
        "Point.make(x: str) is given int",
        "Point.make(return: list[typing.Self]) returns shop.Point",
    ),
    ("def moved(self):", "def moved(self) -> Kind:", "Point.moved(return: Kind) returns shop.Point"),
    ("def kind(self):", "def kind(self) -> Point:", "Point.kind(return: Point) returns shop.Point.Kind"),
    ("def name(n):", "def name(n: 'str'):", "Point.name(n: 'str') is given int"),
]  # fmt: skip
"""A change, and what is said of it."""
RIGHT = [
    ("def show(path):", "def show(path: 'str | tuple[str, ...]') -> str:"),
    ("def half(n):", "def half(n: float) -> float:"),
    ("def strict(name):", "def strict(name: str) -> str:"),
    ("def late(n):", "def late(n: int) -> int | str:"),
    ("def each(items):", "def each(items: list[str | int]) -> typing.Iterator[str | int]:"),
    ("async def later(n):", "async def later(n: int) -> list[int]:"),
    ("async def stream(n):", "async def stream(n: int) -> typing.AsyncIterator[int]:"),
    ("def many(*parts, **more):", "def many(*parts: int | str, **more: None) -> int:"),
    ("def unknown(amount):", "def unknown(amount: Decimal):"),
    ("def fetch(session):", "def fetch(session: Point):"),
    ("    def inner(n):", "    def inner(n: str) -> str:"),
    ("def read(stream):", "def read(stream: typing.TextIO) -> str:"),
    ("def call(named):", "def call(named: Named) -> str:"),
    ("def cached(n):", "def cached(n: int) -> int:"),
    ("def size(self):", "def size(self) -> str:"),
    ("def make(cls, x):", "def make(cls, x: int) -> typing.Self:"),
    ("def moved(self):", "def moved(self) -> Point:"),
    ("def kind(self):", "def kind(self) -> Kind:"),
    ("def name(n):", "def name(n: int) -> typing.Literal['1']:"),
]
FILES = {"shop.py": SOURCE, "test_shop.py": TESTS}


def changed(*plants: tuple[str, ...]) -> str:
    text = SOURCE
    for old, new, *_ in plants:
        assert old in text
        text = text.replace(old, new)
    return text


def values(
    root: Path, python: ProjectPython, after: str, tests: str = TESTS, before: str = SOURCE
) -> set[str]:
    """What the gate says of a change of the shop, whose tests pass without it."""
    write(root, {"shop.py": after, "test_shop.py": tests})
    plain = run_tests(python, root, 50.0, ())
    assert failing(plain) == []
    gate = ValuesGate(python, {"shop.py": before.encode()}, partial(worse, plain))
    return {text.removeprefix("shop.py: ") for text in gate.measure(root, 50.0, ())}


@pytest.mark.slow
def test_what_values_contradict_is_said(tmp_path: Path, plain_python: ProjectPython) -> None:
    said = values(tmp_path, plain_python, changed(*WRONG))
    assert said == {text for _, _, *texts in WRONG for text in texts}


@pytest.mark.slow
def test_right_annotations_and_those_that_cannot_be_judged_stay(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    """What a call that raises was given proves nothing, nor do mocks and objects of the tests."""
    assert values(tmp_path, plain_python, changed(*RIGHT)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "right", "wrong"),
    [
        ("[*range(1500), 'a']", "list[int | str]", "list[int]"),
        ("(*range(1500), 'a')", "tuple[int | str, ...]", "tuple[int, ...]"),
        ("{*range(1500), 'a'}", "set[int | str]", "set[int]"),
        ("{**dict.fromkeys(range(1500)), 1: 'a'}", "dict[int, str | None]", "dict[int, None]"),
    ],
)
def test_all_calls_and_all_items_are_judged(
    tmp_path: Path, plain_python: ProjectPython, value: str, right: str, wrong: str
) -> None:
    tests = f"import shop\n\n\ndef test_it():\n    assert shop.unknown({value})\n"
    tests += "    assert all(shop.late(n) == n for n in range(300))\n    shop.late(0.5)\n"
    for kind, is_wrong in ((right, False), (wrong, True)):
        after = changed(
            ("unknown(amount)", f"unknown(amount: {kind})"), ("late(n)", "late(n: int)")
        )
        said = " ".join(values(tmp_path, plain_python, after, tests))
        assert ("late(n: int) is given float" in said, "unknown" in said) == (True, is_wrong)


CALENDAR = """\
def days(year, month):
    return 29 + int(year) % 2 if month == 2 else 30


def is_long(year):
    return year % 4 == 0


def first():
    return days(2000, 1) + is_long(2003)


def name(month: int):
    return "month " + str(month)
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_what_gates_take_out_is_not_counted_as_written(active: Path) -> None:
    tests = "from cal import days\n\n\ndef test_it():\n    assert days(1999.5, 2) == 30\n"
    write(active, {"cal.py": CALENDAR, "test_cal.py": tests, "pyproject.toml": "[project]\n"})
    view = remora.analyze(root=active, operations=["types"]).view
    project = open_project(invocation_for(active, {}, BUILT_IN))
    document = run_document(project, view)
    (total,) = document["totals"]["operations"]
    remora.accept(view.run_id, every=True, root=project)
    text = (active / "cal.py").read_text()
    assert "def days(year, month):" in text
    assert "def name(month: int) -> str:" in text
    assert total["annotations"] == {
        "written": text.count(" -> ") + text.count(": int") - 1,
        "of": 7,
    }


@pytest.mark.slow
def test_annotations_that_were_there_are_not_judged(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    old = ("def half(n):", "def half(n) -> int:")
    both = changed(old, ("def show(path):", "def show(path: str):"))
    said = values(tmp_path, plain_python, both, before=changed(old))
    assert said == {"show(path: str) is given tuple[str]"}


@pytest.mark.slow
def test_the_same_files_are_measured_again(tmp_path: Path, plain_python: ProjectPython) -> None:
    """A test that passes another value each time takes no annotation out."""
    tests = (
        "import pathlib\nimport shop\n\n\ndef test_half():\n"
        "    shop.half(eval(pathlib.Path('value.txt').read_text()))\n"
    )
    after = changed(("def half(n):", "def half(n: int):"))
    write(tmp_path, {"shop.py": after, "test_shop.py": tests, "value.txt": "1.0"})
    plain = run_tests(plain_python, tmp_path, 50.0, ())
    gate = ValuesGate(plain_python, {"shop.py": SOURCE.encode()}, partial(worse, plain)).gate
    assert [*gate.measure(tmp_path, 50.0, ())] == ["shop.py: half(n: int) is given float"]
    write(tmp_path, {"value.txt": "1"})
    assert gate.runs_code
    assert not gate.measure(tmp_path, 50.0, ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ("def test_nothing():\n    pass\n", "the tests call no function with a written annotation"),
        (
            "import sys\nimport shop\n\n\ndef test_profile():\n    shop.half(1)\n"
            "    assert not hasattr(sys, '_getframe') or sys.getprofile() is None\n"
            "    assert not hasattr(sys, 'monitoring') or sys.monitoring.get_tool(3) is None\n",
            "the tests differ while typeguard checks them: test_shop.py::test_profile fails",
        ),
        (
            "import os\nimport shop\n\n\ndef test_forged():\n    shop.half(1)\n"
            "    if out := os.environ.get('REMORA_VALUES'):\n"
            "        open(out + '/values-0.json', 'w').write('[[0], {\"0\": 1}]')\n",
            "what the tests passed was not written down",
        ),
    ],
)
def test_what_cannot_be_judged_is_said(
    tmp_path: Path, plain_python: ProjectPython, tests: str, why: str
) -> None:
    with pytest.raises(UnjudgedError) as unjudged:
        values(tmp_path, plain_python, changed(("def half(n):", "def half(n) -> int:")), tests)
    assert unjudged.value.message == why


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_only_the_parts_that_values_contradict_are_taken_out(active: Path, judge: Judge) -> None:
    plants = [(old, new) for old, new, *_ in WRONG[:3]]
    right = [pair for pair in RIGHT if pair[0] not in dict(plants)]
    judged = judge(FILES, {"shop.py": [*plants, *right]})
    assert [reason.partition(")")[0] for reason in judged.reasons] == [
        "taken out by values (show, line 12",
        "taken out by values (half, line 16",
        "taken out by values (late, line 26",
    ]
    assert judged.gates.proof == "tested"
    (accepted,) = judged.accepted().values()
    assert accepted == changed(*right)


@pytest.mark.slow
def test_a_python_that_is_too_old_is_said(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This interpreter stands for an older one."""
    stub = values_gate._STUB.replace("< (3, 10)", "< (4, 0)")
    monkeypatch.setattr(values_gate, "_STUB", stub)
    judged = judge(FILES, {"shop.py": [("def half(n):", "def half(n) -> int:")]})
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert judged.missing["values"] == f"typeguard needs Python 3.10, and the project has {own}"
    assert judged.gates.proof == "tested"
    assert "half(n) -> int" in judged.accepted()["shop.py"]
