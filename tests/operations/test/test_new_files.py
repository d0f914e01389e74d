"""Where new test files go, and in which form."""

from pathlib import Path

import pytest

from remora.operations.test.class_style import class_style
from remora.operations.test.new_files import NewFiles, new_files, new_path
from remora.operations.test.target_function import TargetFunction, find_target
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

DISCOVER = "[testenv]\ncommands = python -m unittest discover -p '*_test.py'\n"


@pytest.mark.parametrize(
    ("tox", "tests", "expected"),
    [
        ("", (), NewFiles()),
        (DISCOVER, (), NewFiles(ends=True, unittest=True)),
        ("commands = python -m unittest\n", (), NewFiles(unittest=True)),
        (
            "commands = python -m unittest discover -s test/unit\n",
            (),
            NewFiles(("test/unit",), unittest=True),
        ),
        ("commands = pytest src/shop\n", (), NewFiles(("src/shop",))),
        (DISCOVER, ("tests/test_a.py",), NewFiles()),
        ("", ("tests/a_test.py", "tests/b_test.py", "tests/test_c.py"), NewFiles(ends=True)),
    ],
)
def test_the_first_tests_have_the_form_that_commands_run(
    tmp_path: Path, tox: str, tests: tuple[str, ...], expected: NewFiles
) -> None:
    write(tmp_path, {"tox.ini": tox, "src/shop/__init__.py": ""})
    there = dict.fromkeys(tests, "def test_it(): ...")
    assert new_files(ToolTree(tmp_path), there) == expected


def test_tests_at_the_root_get_their_neighbours_there() -> None:
    files = {"shop/__init__.py", "shop/io/__init__.py", "test_a.py"}
    target = find_target("shop/io/cart.py", b"def f():\n    return 1\n", "f", files.__contains__)
    assert isinstance(target, TargetFunction)
    tests = {"test_a.py": "def test_it(): ..."}
    exists = files.__contains__
    assert new_path(target, "cart", tests, exists, NewFiles(), exists) == "test_cart.py"


@pytest.mark.parametrize(
    ("there", "path"),
    [
        ((), "tests/cart_test.py"),
        (("tests/io/__init__.py",), "tests/io/cart_test.py"),
        (("tests/io/__init__.py", "tests/io/cart_test.py"), "tests/io/io_cart_functions_test.py"),
    ],
)
def test_a_package_beside_the_tests_that_mirrors_the_module_gets_them(
    there: tuple[str, ...], path: str
) -> None:
    files = {"shop/__init__.py", "shop/io/__init__.py", *there}
    target = find_target("shop/io/cart.py", b"def f():\n    return 1\n", "f", files.__contains__)
    assert isinstance(target, TargetFunction)
    exists = files.__contains__
    assert new_path(target, "cart", {}, exists, NewFiles(ends=True), exists) == path


def test_the_first_test_of_a_unittest_project_is_a_method() -> None:
    style = class_style([], "", "total", ["total"], "cart", unittest=True)
    assert (style.form, style.owner, style.base) == ("unittest", "TestCart", "unittest.TestCase")
