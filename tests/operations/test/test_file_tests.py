"""Tests of several functions in one file."""

from pathlib import Path

import msgspec
import pytest

from remora.operations.test import file_tests
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree

HOME = "tests/test_doubles.py"
BROKEN = b"\n\n1 / 0\n"
DOUBLE = '''\
def double(text: str) -> str:
    """
    >>> double("ab")
    'abab'
    """
    return text * 2
'''


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_fixture_with_which_the_tests_fail_is_taken_out_again(
    tree: Path, plain_python: ProjectPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "doubles.py").write_text(DOUBLE)
    python = msgspec.structs.replace(plain_python, root=tree.parent / "project")

    def share(place: ToolTree, path: str, node: str) -> None:
        place.write(HOME, place.read(HOME) + BROKEN)

    monkeypatch.setattr(file_tests, "share_preparation", share)
    place = ToolTree(tree, python)
    with place.within(170):
        found = file_tests.write_tests(place, "doubles.py", ["double"])
    assert found["ids"] == [f"{HOME}::test_double"]
    assert BROKEN not in (tree / HOME).read_bytes()


@pytest.mark.slow
def test_a_writer_is_asked_about_a_function_whose_test_a_lint_rule_refuses(
    tree: Path, plain_python: ProjectPython
) -> None:
    name = "double_each_letter_of_a_text"
    (tree / "doubles.py").write_text(DOUBLE.replace("double", name))
    (tree / "ruff.toml").write_text("line-length = 30\n[lint]\nselect = ['E501']\n")
    (tree / "tests").mkdir()
    for each in (HOME, "tests/test_other.py"):
        (tree / each).write_text("import doubles\n\n\ndef test_it():\n    assert doubles\n")
    place = ToolTree(tree, msgspec.structs.replace(plain_python, root=tree.parent / "project"))
    with place.within(170):
        found = file_tests.write_tests(place, "doubles.py", [name])
    assert "E501" in found["reasons"][name]
    assert (found["ids"], found["open"]) == ([], [name])


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
        found = file_tests.write_tests(place, "shop/times.py", ["double", "triple"])
    assert set(found["tests"]) == {"double", "triple"}
    assert {each.partition("::")[0] for each in found["ids"]} == {"tests/test_times.py"}
