"""With what a function is called to see what it does: examples, the project's own calls, types, use."""

import ast

import pytest

from remora.operations.test.cases.arguments import candidate_calls
from remora.operations.test.target_function import TargetFunction, find_target

EXAMPLE = '''
def f(text, times=1):
    """Repeat.

    >>> f("ab", times=2)
    'abab'
    >>> print(f("c"))
    """
    return text * times
'''


def subject(source: str, node: str = "f", path: str = "pkg/mod.py") -> TargetFunction:
    found = find_target(path, source.encode(), node, {"pkg/__init__.py"}.__contains__)
    assert isinstance(found, TargetFunction), found
    return found


def calls(source: str, node: str = "f", *others: str) -> list[str]:
    return candidate_calls(subject(source, node), [ast.parse(other) for other in others])


def test_examples_come_first() -> None:
    assert calls(EXAMPLE)[:2] == ["f('ab', times=2)", "f('c')"]


def test_the_project_s_own_calls_with_constants() -> None:
    other = "import mod\nmod.f('x', times=3)\nf(unknown)\nf(*many)\nf('x', times=3)\n"
    assert calls(EXAMPLE, "f", other)[2] == "f('x', times=3)"


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("a: int", ["f(3)", "f(0)", "f(-2)"]),
        ("a: str | None", ["f('abc')", "f('')"]),
        ("a: 'list[int]'", ["f([3, 0, -2])", "f([])", "f([3])"]),
        ("a: dict[str, int]", ["f({'abc': 3})", "f({})"]),
        ("a: tuple[int, str]", ["f((3, 'abc'))"]),
        ("a: Literal['r', 'w']", ["f('r')", "f('w')"]),
        ("a: bool = False", ["f()", "f(a=False)", "f(a=True)"]),
        ("a: int, *, b: str", ["f(3, b='abc')"]),
        ("a=1.5", ["f()", "f(a=0.0)", "f(a=-1.5)"]),
        ("", ["f()"]),
    ],
)
def test_by_type(signature: str, expected: list[str]) -> None:
    found = calls(f"def f({signature}):\n    return 1\n")
    assert found[: len(expected)] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a.upper()", "f('abc')"),
        ("return a > 7", "f(8)"),
        ("return a in ('r', 'w')", "f('w')"),
        ("return a.startswith('#')", "f('#')"),
        ("return [x for x in a]", "f([3, 1, 2])"),
        ("return a['key']", "f({'key': 1})"),
        ("return isinstance(a, bytes)", "f(b'abc')"),
    ],
)
def test_by_use(body: str, expected: str) -> None:
    assert expected in calls(f"def f(a):\n    {body}\n")


POINT = """
@dataclass
class Point:
    x: int
    y: int = 0

    def moved(self, by: int) -> int:
        return self.x + by

    @staticmethod
    def zero() -> int:
        return 0


class Odd:
    def __init__(self, what):
        self.what = what

    def f(self):
        return self.what


def norm(p: Point) -> int:
    return p.x
"""


def test_an_object_is_made_first() -> None:
    assert calls(POINT, "Point.moved")[0] == "Point(x=3).moved(3)"
    assert calls(POINT, "Point.zero") == ["Point.zero()"]
    assert calls(POINT, "norm") == ["norm(Point(x=3))"]
    assert calls(POINT, "Point.moved", "p = Point(7, y=1)")[0] == "Point(7, y=1).moved(3)"
    assert calls(POINT, "Odd.f")[0] == "Odd('abc').f()"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("async def f():\n    return 1\n", "is not a plain function"),
        ("def f():\n    ...\n", "is not implemented yet"),
        ("def f():\n    raise NotImplementedError\n", "is not implemented yet"),
        ("import os\ndef f():\n    return os.getcwd()\n", "depends on where it runs"),
        ("def f(:\n", "line 1"),
    ],
)
def test_what_no_test_is_written_for(source: str, why: str) -> None:
    assert why in str(find_target("mod.py", source.encode(), "f", lambda _: False))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/mod.py", ("", "pkg.mod")),
        ("src/pkg/mod.py", ("src", "pkg.mod")),
        ("pkg/__init__.py", ("", "pkg")),
        ("lone.py", ("", "lone")),
    ],
)
def test_what_it_is_imported_as(path: str, expected: tuple[str, str]) -> None:
    there = {"pkg/__init__.py", "src/pkg/__init__.py"}
    found = find_target(path, b"def f():\n    return 1\n", "f", there.__contains__)
    assert isinstance(found, TargetFunction)
    assert (found.import_root, found.module) == expected
