"""Files whose docstrings are corrected."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.docstring.docstring_need import docstring_work

OUTDATED = '''def total(price):
    """Return the total.

    Args:
        prize: What one costs.
    """
    return 2 * price
'''


CURRENT = '''def total_{0}(price):
    """Return the total.

    Args:
        price: What one costs, {0}.
    """
    return 2 * price


def other_{0}(price): ...
'''


def calls_of_planning(root: Path, files: dict[str, str]) -> int:
    """Return how many calls of functions it takes to plan some files."""
    modules = []
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        modules.append(parse_module(path, text.encode()))
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        amount = docstring_work(root, [], {"open": True})
        for module in modules:
            assert isinstance(module, Module)
            assert [amount(module, node) for node in module.nodes][:3] == [1, 0, 1]
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("form", ["{0}/a.py", "folder/{0:03}.py", "one.py"])
def test_planning_grows_with_the_project(tmp_path: Path, form: str) -> None:
    def measured(number: int) -> int:
        files: dict[str, str] = {}
        for each in range(number):
            path = form.format(each)
            files[path] = files.get(path, "") + CURRENT.format(f"{number}_{each}")
        return calls_of_planning(tmp_path / str(number), files)

    measured(10)
    assert measured(80) < 2.5 * measured(40)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("shop/cart.py", 1), ("shop/_vendor/cart.py", 0), ("tests/test_cart.py", 0)],
)
def test_tests_and_copied_code_are_left_alone(tmp_path: Path, path: str, expected: int) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(OUTDATED)
    module = parse_module(path, OUTDATED.encode())
    assert isinstance(module, Module)
    assert docstring_work(tmp_path, [module], {})(module, module.nodes[1]) == expected
