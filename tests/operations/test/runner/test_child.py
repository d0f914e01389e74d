"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from remora.operations.test.runner.child.described import claims_about
from remora.operations.test.runner.child.fork import in_child
from remora.operations.test.runner.child.function_calls import outcome
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
