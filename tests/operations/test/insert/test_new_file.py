"""Headers of new test files, and what lint rules require of the first tests of a project."""

from pathlib import Path

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.function_context import home_of, target_at
from remora.operations.test.host_write import formatted_lines, write_examples
from remora.operations.test.insert.added_tests import added_tests
from remora.operations.test.insert.merge_patches import remove_added_tests
from remora.operations.test.insert.new_file import file_header, package_of
from remora.operations.test.insert_location import InsertLocation
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

LICENCE = "# Copyright Shop\n# MIT\n"
FUTURE = "from __future__ import annotations\n"
DOUBLE = 'def double(text: str) -> str:\n    """Double.\n\n    >>> double("ab")\n    \'abab\'\n    """\n    return text * 2\n'
CASES = [Case(call="double('ab')", source="docstring", value="'abab'")]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["import a\n", "import b\n"], ""),
        ([LICENCE + "import a\n", LICENCE + "\nimport b\n", "import c\n"], LICENCE),
        ([LICENCE, "# Another\n", "import c\n"], ""),
        ([FUTURE, FUTURE], FUTURE),
        ([f'"""{n}."""\n' for n in "abc"], '"""Tests for `shop.cart`."""\n'),
        ([LICENCE + FUTURE, LICENCE + FUTURE], f"{LICENCE}\n{FUTURE}"),
    ],
)
def test_a_new_file_starts_like_most_others(texts: list[str], expected: str) -> None:
    tests = {f"tests/test_{number}.py": text for number, text in enumerate(texts)}
    assert file_header("tests/test_cart.py", "shop.cart", tests, docstring=False) == expected


def written(root: Path, select: str) -> dict[str, str]:
    """Return the new files after a test of `double` was written."""
    before = {"shop.py": DOUBLE, "pyproject.toml": f"[tool.ruff.lint]\nselect = [{select}]\n"}
    write(root, before)
    write_examples(ToolTree(root), "shop.py", "double", CASES)
    files = (path for path in root.rglob("*") if path.is_file())
    found = {path.relative_to(root).as_posix(): path.read_text() for path in files}
    return {path: text for path, text in found.items() if path not in before}


def test_the_first_tests_follow_the_lint_rules_of_the_project(tmp_path: Path) -> None:
    test = 'from shop import double\n\n\ndef test_double():\n    assert double("ab") == "abab"\n'
    assert written(tmp_path / "plain", '"E", "F"') == {"tests/test_shop.py": test}
    assert written(tmp_path / "package", '"INP"') == {
        "tests/__init__.py": "",
        "tests/test_shop.py": test,
    }
    documented = written(tmp_path / "all", '"D1", "ANN", "INP", "I"')
    assert documented["tests/__init__.py"] == '"""Tests."""\n'
    content = documented["tests/test_shop.py"]
    assert content.startswith('"""Tests for `shop`."""\n\nfrom shop import double\n')
    assert 'def test_double() -> None:\n    """Test `double`."""\n' in content
    assert added_tests("t.py", None, content.encode()) == ["test_double"]
    assert remove_added_tests("t.py", None, content.encode(), content.encode()) == b""


def test_the_package_of_a_test_file() -> None:
    assert package_of("tests/unit/test_a.py") == "tests/unit/__init__.py"
    assert package_of("tests.py") == "__init__.py"


def test_lint_rules_of_a_project_with_tests_are_those_that_its_tests_follow(tmp_path: Path) -> None:
    tests = {"tests/test_a.py": "def test_it():\n    assert 1\n"}
    write(tmp_path, {"shop.py": DOUBLE, "ruff.toml": 'lint.select = ["D1", "INP"]\n', **tests})
    place = ToolTree(tmp_path)
    subject = target_at(place, "shop.py", "double")
    assert not isinstance(subject, str)
    assert not home_of(place, subject, tests).docstring
    write_examples(place, "shop.py", "double", CASES)
    assert not (tmp_path / "tests/__init__.py").exists()


def test_tests_are_formatted_in_folders_that_the_formatter_leaves_out(tmp_path: Path) -> None:
    write(
        tmp_path, {"shop.py": DOUBLE, "ruff.toml": 'extend-exclude = ["tests"]\nline-length = 70\n'}
    )
    long = Case(call=f"double('{'ab ' * 12}')", source="docstring", value=f"'{'ab ' * 24}'")
    write_examples(ToolTree(tmp_path), "shop.py", "double", [long])
    (path,) = tmp_path.glob("**/test_shop.py")
    assert "    assert (\n" in path.read_text()


def test_letters_of_several_bytes_do_not_make_a_line_too_long(tmp_path: Path) -> None:
    body = f"assert f('{'é' * 50}') == 1"
    home = InsertLocation(
        path="test_mod.py", exists=False, imports_from="mod", quote="'", typed=False
    )
    assert formatted_lines(ToolTree(tmp_path), home, body, levels=1) == body


@pytest.mark.parametrize(
    ("settings", "fits"), [("", False), ("[flake8]\nmax-line-length = 90\n", True)]
)
def test_without_a_formatter_a_draft_has_the_width_of_its_file(
    tmp_path: Path, settings: str, fits: bool
) -> None:
    write(tmp_path, {"setup.cfg": settings, "test_mod.py": "def test_a():\n    assert 1\n"})
    home = InsertLocation(
        path="test_mod.py", exists=True, imports_from="mod", quote='"', typed=False
    )
    statement = f'assert f("{"a " * 30}", 12345) == 1'  # 81 characters with four spaces before it
    made = formatted_lines(ToolTree(tmp_path), home, statement, levels=1)
    assert (made == statement) is fits


def test_drafts_are_formatted_with_the_tabs_of_their_neighbours(tmp_path: Path) -> None:
    home = InsertLocation(
        path="test_mod.py", exists=False, imports_from="mod", quote="'", typed=False, indent="\t"
    )
    body = "for x in (1, 2):\n    assert f(x)"
    assert "\n\tassert f(x)" in formatted_lines(ToolTree(tmp_path), home, body, levels=1)
