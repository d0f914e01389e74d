"""Where new test files go, and in which form."""

from pathlib import Path

import pytest

from remora.operations.test.new_files import NewFiles, new_files, new_path
from remora.operations.test.target_function import TargetFunction, find_target
from remora.tools.tree import ToolTree
from tests.cli.conftest import write


def test_new_files_are_named_like_most_others_and_in_the_folders_that_pytest_looks_in(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"pytest.ini": "[pytest]\ntestpaths = checks\n"})
    place = ToolTree(tmp_path)
    assert new_files(place, {}) == NewFiles(("checks",), ends=False)
    names = ("tests/a_test.py", "tests/b_test.py", "tests/test_c.py")
    assert new_files(place, dict.fromkeys(names, "")) == NewFiles(("checks",), ends=True)


def test_tests_at_the_root_get_their_neighbours_there() -> None:
    files = {"shop/__init__.py", "shop/io/__init__.py", "test_a.py"}
    target = find_target("shop/io/cart.py", b"def f():\n    return 1\n", "f", files.__contains__)
    assert isinstance(target, TargetFunction)
    tests = {"test_a.py": "def test_it(): ..."}
    exists = files.__contains__
    assert (
        new_path(target, "cart", tests, exists, NewFiles(folders=(), ends=False), exists)
        == "test_cart.py"
    )


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
    assert new_path(target, "cart", {}, exists, NewFiles(ends=True, folders=()), exists) == path
