"""Functions that need a test, and what a model that can write adds to them."""

from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.test.missing_tests import (
    TRIVIAL,
    WITHOUT_EXAMPLE,
    WITHOUT_FURTHER,
    WITHOUT_RESULT,
    TestNeed,
)
from remora.tools.tree import ToolTree
from tests.counted_steps import steps_of

MAKERS = """\
def increment(name):
    def change(row):
        row[name] = row[name] + 1

    return change


def passed(name):
    return increment(name)


def shout(texts):
    for text in texts:
        print(text)


def stored(name):
    with open(name) as file:
        return file.read()


def double(text):
    \"\"\"Return a text twice.

    >>> double("ab")
    'abab'
    \"\"\"
    return text * 2
"""


@pytest.mark.parametrize(
    ("name", "can_write", "amount"),
    [
        ("increment", True, 1),
        ("increment", False, WITHOUT_EXAMPLE),
        ("passed", True, TRIVIAL),
        ("shout", False, WITHOUT_RESULT),
        ("shout", True, 1),
        ("stored", True, 1),
        ("double", False, 1),
    ],
)
def test_functions_with_examples_have_jobs_and_others_if_a_model_can_write(
    tmp_path: Path, name: str, can_write: bool, amount: int | str
) -> None:
    (tmp_path / "makers.py").write_text(MAKERS)
    module = parse_module("makers.py", MAKERS.encode())
    assert isinstance(module, Module)
    (node,) = (each for each in module.nodes if each.qualname == name)
    assert TestNeed(ToolTree(tmp_path), {"open": can_write}).amount(module, node) == amount


@pytest.mark.parametrize(
    ("name", "test", "amount"),
    [
        ("grade", "assert grade(1) == 2\n    assert grade(5) == 6", 1),
        ("grade", "found = grade(1)\n    assert found == 2", WITHOUT_FURTHER),
        ("shout", "shout(['a'])", WITHOUT_FURTHER),
    ],
)
def test_tests_that_miss_faults_have_jobs_if_they_have_a_form_for_further_cases(
    tmp_path: Path, name: str, test: str, amount: int | str
) -> None:
    code = MAKERS + "\n\ndef grade(n):\n    return n + 1 if n < 9 else n\n"
    (tmp_path / "makers.py").write_text(code)
    imports = "from makers import grade, shout\n\n\n"
    (tmp_path / "test_makers.py").write_text(f"{imports}def test_it():\n    {test}\n")
    module = parse_module("makers.py", code.encode())
    assert isinstance(module, Module)
    (node,) = (each for each in module.nodes if each.qualname == name)
    need = TestNeed(ToolTree(tmp_path), {"missed": {"makers.py": {name: [1]}}})
    assert need.amount(module, node) == amount


def test_planning_a_large_file_takes_few_steps_for_each_function(tmp_path: Path) -> None:
    def steps(number: int) -> int:
        text = "".join(
            f"def f{n}(a: int) -> int:\n    if a > {n}:\n        return a + 1\n    return a * {n}\n\n\n"
            for n in range(number)
        )
        path = f"m{number}.py"
        (tmp_path / path).write_text(text)
        module = parse_module(path, text.encode())
        assert isinstance(module, Module)
        need = TestNeed(ToolTree(tmp_path), {})
        need.amount(module, module.nodes[1])  # reads the file
        return steps_of(lambda: [need.amount(module, node) for node in module.nodes[1:41]])

    steps(50)
    assert steps(400) < 2 * steps(60)
