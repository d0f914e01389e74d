"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remora.operations.test.runner.child.described import claims_about, state_of
from remora.operations.test.runner.child.function_calls import changes
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


def test_the_text_of_a_changed_object_says_more_than_its_attributes() -> None:
    before = state_of(Road("Rome"))
    assert changes(before, state_of(Road("Paris")))["str({})"].text == "'from Paris'"
    before = state_of(Route("Rome"))
    assert {"{}.start"} == changes(before, state_of(Route("Paris"))).keys()
