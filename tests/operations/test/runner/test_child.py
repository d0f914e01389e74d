"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from remora.operations.test.runner.child.described import as_literal, as_text
from remora.operations.test.runner.child.fork import in_child
from remora.operations.test.runner.child.function_calls import outcome
from remora.operations.test.runner.parent import CHILD

NEWER = {"removeprefix", "removesuffix", "is_relative_to", "unparse", "pairwise", "with_stem"}
"""Methods and functions that Python 3.8 does not have."""


@pytest.mark.parametrize("path", sorted(CHILD.glob("*.py")), ids=lambda path: path.stem)
def test_the_program_runs_with_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
    assert not NEWER & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


class Route:
    def __init__(self, start: str) -> None:
        self.start = start


class Road(Route):
    def __str__(self) -> str:
        return f"from {self.start}"


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ({"a": [1, (2.5,)]}, "{'a': [1, (2.5,)]}"),
        ({2, 1}, "{1, 2}"),
        (Point(1, 2), "(1, 2)"),
        (Route("Rome"), None),
        (float("nan"), None),
        ([*range(50)], None),
    ],
)
def test_values_are_asserted_as_literals(value: object, literal: str | None) -> None:
    assert as_literal(value) == literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Route("Rome"), "Route[('start', \"'Rome'\")]"),
        (Road("Rome"), "Road: from Rome"),
        ([Road("Rome"), 1], "list['Road: from Rome', '1']"),
        (Decimal("1.50"), "Decimal: Decimal('1.50')"),
        (object(), None),
        (len, None),
    ],
)
def test_other_objects_are_compared_by_text_or_by_attributes(
    value: object, text: str | None
) -> None:
    assert as_text(value, str(Path(__file__).parent)) == text


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
    call = {"call": "f()", "imports": [], "setup": []}
    assert in_child(lambda: outcome({"root": "/"}, module, call, 0.05), 20)


FREEZEGUN = """\
import datetime


class FakeDateMeta(type):
    pass


class FakeDate(datetime.date, metaclass=FakeDateMeta):
    pass
"""
SHIFTED = """\
import datetime
import time
from remora.operations.test.runner.child.determinism import shift_clocks

before = datetime.date.today()
shift_clocks(10 * 86400)
import freezegun

class Formatter:
    converter = time.gmtime

assert Formatter().converter(86400)[:3] == (1970, 1, 2)

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
