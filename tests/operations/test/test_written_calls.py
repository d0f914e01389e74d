"""Which calls are read from a model's answer."""

from pathlib import Path

import pytest

from remora.errors import HostError
from remora.operations.test.function_context import target_at
from remora.operations.test.host_model_calls import written_calls
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.target_function import TargetFunction
from remora.tools.tree import ToolTree

SHOP = """\
from datetime import date

LIMIT = 10


class Cart:
    def add(self, name: str, count=1):
        return (name, count)


def due(day, step: int = 1):
    return day
"""


def read(folder: Path, code: str, name: str = "due") -> list[tuple[tuple[str, ...], str]]:
    (folder / "shop.py").write_text(SHOP)
    place = ToolTree(folder)
    subject = target_at(place, "shop.py", name)
    assert isinstance(subject, TargetFunction)
    found = written_calls(subject, code, ProjectExamples(place))
    return [(each.setup, each.call) for each in found]


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("due(1)\ndue(2)", [((), "due(1)"), ((), "due(2)")]),
        ("assert due(1) == 1", [((), "due(1)")]),
        ("x = print(3)\ndue(1)", [((), "due(1)")]),
        ("due(date(2024, 1, 2))", [((), "due(date(2024, 1, 2))")]),
        ("def test_due():\n    with pytest.raises(ValueError):\n        due(1)", [((), "due(1)")]),
    ],
)
def test_calls_come_with_the_statements_that_they_need(
    tmp_path: Path, code: str, calls: list[object]
) -> None:
    assert read(tmp_path, code) == calls


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("assert str(due(1)) == '1'", "str(due(1))"),
        ("due(1).replace('a', 'b')", "due(1).replace('a', 'b')"),
        ("self.assertEqual(len(due([1])), 1)", "len(due([1]))"),
        ("','.join(str(each) for each in due(1))", "','.join((str(each) for each in due(1)))"),
    ],
)
def test_calls_with_the_result_are_tried_too(tmp_path: Path, code: str, call: str) -> None:
    assert ((), call) in read(tmp_path, code)


@pytest.mark.parametrize(
    ("code", "setup", "shown"),
    [
        ("assert due(1) == date(2024, 1, 2)", (), "due(1) == date(2024, 1, 2)"),
        ("assert not due(1).day", (), "due(1).day"),
        ("assert due([1])[0] == 1", (), "due([1])[0]"),
        (
            "cart = Cart()\ncart.add(due(1))\nassert cart.names == ['tea']",
            ("cart = Cart()", "cart.add(due(1))"),
            "cart.names",
        ),
    ],
)
def test_what_the_code_asserts_is_tried_too(
    tmp_path: Path, code: str, setup: tuple[str, ...], shown: str
) -> None:
    assert (setup, shown) in read(tmp_path, code)


def test_values_that_the_function_has_no_part_in_are_not_tried(tmp_path: Path) -> None:
    code = "cart = Cart()\nassert cart.names == LIMIT\nassert due(1)\nassert cart.add(2) == 3"
    assert read(tmp_path, code) == [((), "due(1)")]


@pytest.mark.parametrize("check", ["print", "isinstance", "assert_valid"])
def test_checks_of_the_result_are_not_tried(tmp_path: Path, check: str) -> None:
    assert read(tmp_path, f"{check}(due(1))") == [((), "due(1)")]


def test_a_method_is_called_on_an_object_that_the_code_makes(tmp_path: Path) -> None:
    found = read(tmp_path, "cart = Cart()\ncart.add('tea')", "Cart.add")
    assert found == [(("cart = Cart()",), "cart.add('tea')")]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("Sure! Here are three calls:", "the code is not Python: invalid syntax"),
        ("import os", "no statement calls due"),
        ("os.system('rm -r .')", "no statement calls due"),
        ("1 / 0", "no statement calls due"),
        ("while True:\n    due(1)", "no statement calls due"),
        ("due(unknown)", "no statement calls due with names that the code or its module defines"),
        ("due(1, step='x')", "due(1, step='x'): an argument contradicts its annotation"),
        ("str(due(1, step='x'))", "due(1, step='x'): an argument contradicts its annotation"),
        ("import os\ndue(os.getpid())", "due(os.getpid()): it depends on where it runs"),
        ("due(1)\n" * 4_000, "the code is longer than 4,000 characters"),
        ("", "no statement calls due"),
    ],
)
def test_other_answers_are_refused_with_a_reason(tmp_path: Path, code: str, reason: str) -> None:
    with pytest.raises(HostError) as caught:
        read(tmp_path, code)
    assert caught.value.message.startswith(reason)


def test_a_call_that_is_refused_leaves_the_others(tmp_path: Path) -> None:
    assert read(tmp_path, "due(1, step='x')\ndue(2)") == [((), "due(2)")]
