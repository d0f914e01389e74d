"""Tests of several functions in one file."""

from pathlib import Path

import msgspec
import pytest

from remora.operations.test import file_tests
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree

DOUBLE = '''\
def double(text: str) -> str:
    """
    >>> double("ab")
    'abab'
    """
    return text * 2
'''


@pytest.mark.slow
def test_all_tests_of_a_module_are_in_one_file_where_most_tests_are_elsewhere(
    tree: Path, plain_python: ProjectPython
) -> None:
    test = "import shop\n\n\ndef test_it():\n    assert shop\n"
    for folder in ("shop", "tests/plugins"):
        (tree / folder).mkdir(parents=True)
    (tree / "shop/__init__.py").touch()
    (tree / "shop/times.py").write_text(DOUBLE + "\n\n" + DOUBLE.replace("double", "triple"))
    for path in ("tests/test_shop.py", *(f"tests/plugins/test_{n}.py" for n in range(20))):
        (tree / path).write_text(test)
    place = ToolTree(tree, msgspec.structs.replace(plain_python, root=tree.parent / "project"))
    with place.within(170):
        found = file_tests.write_tests(place, "shop/times.py", ["double", "triple"], {})
    assert set(found["tests"]) == {"double", "triple"}
    assert {each.partition("::")[0] for each in found["ids"]} == {"tests/test_times.py"}
