"""Where a test goes, what it looks like there, and headers of new files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.code.edit.import_edits import Imported
from remora.code.pytest_model.insert_block import with_block
from remora.errors import HostError
from remora.judges.calls.case import Case
from remora.judges.calls.target_function import TargetFunction, find_target, target_at
from remora.operations.test.assertions import example_test
from remora.operations.test.file_tests import write_examples
from remora.operations.test.insert.added_tests import (
    Block,
    added_tests,
    merge_added_tests,
    with_blocks,
)
from remora.operations.test.insert.new_file import file_header, package_of
from remora.operations.test.insert.test_file import formatted_lines
from remora.operations.test.insert_location import (
    InsertLocation,
    import_form,
    locate_test,
    path_for_tests,
)
from remora.operations.test.new_files import FileNaming
from remora.operations.test.test_home import home_of
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

NEIGHBOUR = (
    "import pytest\n\nfrom pkg.mod import g\n\n\ndef test_g() -> None:\n    assert g() == 1\n"
)


def home(
    path: str,
    tests: Mapping[str, str],
    module: str = "pkg/mod.py",
    folders: Sequence[str] = (),
    more: Sequence[str] = (),
) -> InsertLocation:
    packages = {"pkg", "pkg/io"}
    packages |= {"pkg/tests"} if any(each.startswith("pkg/tests/") for each in tests) else set()
    there = {*(f"{package}/__init__.py" for package in packages), *tests, *more}
    found = find_target(module, b"def f():\n    return 1\n", "f", there.__contains__)
    assert isinstance(found, TargetFunction)
    made = locate_test(
        found,
        tests,
        there.__contains__,
        public=(),
        typed=False,
        path=path_for_tests(
            found, tests, there.__contains__, FileNaming(tuple(folders), has_test_suffix=False)
        ),
    )
    assert made.path == path
    return made


@pytest.mark.parametrize("level", ["  ", "    ", "\t"])
def test_tests_are_indented_like_their_neighbours(level: str) -> None:
    neighbour = f"class TestMod:\n{level}def test_a(self):\n{level * 2}assert 1\n"
    place = home("tests/test_mod.py", {"tests/test_mod.py": neighbour})
    block = Block(text=f"def test_b(self):\n{level}assert f(2)\n", owner="TestMod")
    assert (
        with_blocks(neighbour, place, [block], [], 80)
        == f"{neighbour}\n{level}def test_b(self):\n{level * 2}assert f(2)\n"
    )


def test_one_space_is_not_a_tab() -> None:
    tests = {"tests/test_mod.py": "from pkg.mod import f\ndef test_a():\n assert f()\n"}
    assert home("tests/test_mod.py", tests).indent == "    "


class TestPlace:
    def test_the_file_that_is_named_after_the_module(self) -> None:
        assert home(
            "tests/test_mod.py", {"tests/test_mod.py": NEIGHBOUR, "tests/test_a.py": ""}
        ).exists

    def test_the_only_file_that_imports_from_the_module(self) -> None:
        tests = {"tests/test_shop.py": NEIGHBOUR, "tests/test_a.py": "import pkg\n"}
        home("tests/test_shop.py", tests)
        home("tests/test_mod.py", {**tests, "tests/test_b.py": "import pkg.mod\n"})
        home("tests.py", {"tests.py": "from pkg.mod import g\n"})

    def test_the_file_that_imports_the_names_from_the_package(self) -> None:
        others = {"tests/test_a.py": "from pkg import g\n"}
        home("tests/test_shop.py", {"tests/test_shop.py": "from pkg import f, g\n", **others})
        home("tests/test_mod.py", {"tests/test_shop.py": "import pkg\n", **others})

    def test_a_new_file_in_a_folder_that_pytest_looks_in(self) -> None:
        home("test/test_mod.py", {}, folders=["test"])
        home(
            "src/tests/unit/test_mod.py",
            {"src/tests/unit/test_a.py": "", "old/test_b.py": ""},
            folders=["src/tests"],
        )

    def test_imports_within_a_text_do_not_count(self) -> None:
        tests = {"tests/test_a.py": 'X = """\nfrom pkg.mod import f\n"""\n', "tests/test_b.py": ""}
        home("tests/test_mod.py", tests)
        home("tests/test_a.py", {**tests, "tests/test_a.py": "def g():\n  from .mod import f\n"})

    def test_not_the_file_that_is_named_after_another_module(self) -> None:
        tests = {"tests/testother.py": "from pkg.mod import f\n", "tests/test_a.py": ""}
        home("tests/test_mod.py", tests, more=["pkg/other.py"])

    def test_not_the_file_of_a_namesake(self) -> None:
        tests = {"tests/util/test_base.py": "from pkg.util.base import g\n", "tests/test_a.py": ""}
        home("tests/test_io_base.py", tests, "pkg/io/base.py")
        home("tests/test_io_base.py", {**tests, "tests/test_io_base.py": ""}, "pkg/io/base.py")

    def test_a_new_one_beside_the_others(self) -> None:
        made = home(
            "tests/unit/test_mod.py", {"tests/unit/test_a.py": NEIGHBOUR.replace("mod", "other")}
        )
        assert (made.exists, made.typed, made.quote) == (False, True, '"')

    def test_where_there_are_none(self) -> None:
        home("tests/test_mod.py", {})
        home("pkg/tests/test_mod.py", {}, more=["pkg/tests/__init__.py"])
        home("test/test_mod.py", {}, more=["test/conftest.py"])

    def test_underscores_do_not_count(self) -> None:
        home("tests/test_mod.py", {}, "pkg/_mod.py")

    def test_tests_within_the_package_import_as_their_neighbours_do(self) -> None:
        tests = {"pkg/tests/test_a.py": "import x\nfrom .. import other\n"}
        assert home("pkg/tests/test_mod.py", tests).imports_from == "..mod"

    def test_the_module_under_the_name_by_which_the_file_imports_it(self) -> None:
        assert import_form(["pkg", "pkg.mod"], ["from pkg import mod\n"]) == ("pkg.mod", "mod")
        assert import_form(["pkg", "pkg.mod"], ["from pkg import mod, f\n"]) == ("pkg", "")


ONE = Case(call="f('a')", value="{'k': 1.5}")


def written(before: str, *cases: Case, wanted: str = "test_f") -> str:
    made_for = home("tests/test_mod.py", {"tests/test_mod.py": before} if before else {})
    block = Block(text=example_test(wanted, cases, made_for))
    return with_blocks(before, made_for, [block], [Imported("pkg.mod", "f", "f")], 88)


def test_a_new_file() -> None:
    assert written("", ONE) == (
        "from pkg.mod import f\n\n\ndef test_f():\n    assert f('a') == {'k': 1.5}\n"
    )


def test_at_the_end_of_one_that_is_there() -> None:
    assert written(NEIGHBOUR, ONE) == (
        NEIGHBOUR.replace("import g", "import f, g")
        + "\n\ndef test_f() -> None:\n    assert f('a') == {'k': 1.5}\n"
    )


def test_after_the_last_test_of_the_module() -> None:
    before = "def test_g():\n    assert g()\n\n\ndef test_other():\n    pass\n"
    made = with_block(
        before, "", "", "def test_f():\n    assert f()\n", names={"f", "g"}, indent="    "
    )
    assert [line for line in made.splitlines() if line.startswith("def")] == [
        "def test_g():", "def test_f():", "def test_other():",
    ]  # fmt: skip


def test_before_the_lines_that_run_a_script() -> None:
    guard = '\n\nif __name__ == "__main__":\n    pytest.main()\n'
    assert written(NEIGHBOUR + guard, ONE) == written(NEIGHBOUR, ONE) + guard


def test_a_name_that_is_taken() -> None:
    with pytest.raises(HostError, match="uses the name f for something else"):
        written("f = 1\n", ONE)


@pytest.mark.parametrize(
    ("case", "alias", "lines"),
    [
        (Case(call="f()", value="True"), "", ["assert f() is True"]),
        (Case(call="f(2)", value="[0, 1]", listed=True), "", ["assert list(f(2)) == [0, 1]"]),
        (Case(call="f(2)", value="3"), "mod", ["assert mod.f(2) == 3"]),
        (
            Case(call="cart.f()", setup=("cart = Cart()",), value="3"),
            "mod",
            ["cart = Cart()", "assert cart.f() == 3"],
        ),
    ],
)
def test_an_example_becomes_an_assertion(case: Case, alias: str, lines: list[str]) -> None:
    place = replace(home("tests/test_mod.py", {}), alias=alias)
    assert example_test("test_f", [case], place) == "\n    ".join(["def test_f():", *lines]) + "\n"


def test_examples_with_the_same_statements_before_them_share_these() -> None:
    first = Case(call="cart.f()", setup=("cart = Cart()",), value="3")
    second = replace(first, call="cart.g()")
    body = example_test("test_f", [first, second, second], home("tests/test_mod.py", {}))
    assert body.count("cart = Cart()") == 1


PLAIN = "class TestCart:\n    def test_new(self):\n        assert Cart()\n"
UNITTEST = "from unittest import TestCase\n\n\nclass LoadTests(TestCase):\n    def test_it(self):\n        self.assertTrue(1)\n"


@pytest.mark.parametrize(
    ("text", "unittest"),
    [(NEIGHBOUR, False), (PLAIN, False), (UNITTEST, True), (UNITTEST + PLAIN * 2, False)],
)
def test_methods_of_unittest_classes_are_recognized(text: str, unittest: bool) -> None:
    assert home("tests/test_mod.py", {"tests/test_mod.py": text}).unittest is unittest


def test_methods_of_a_class_are_added_tests() -> None:
    added = PLAIN + "\n    def test_add(self):\n        assert Cart().add(1) == 1\n"
    text = UNITTEST + "\n\n" + PLAIN + "\n\nX = 1\n"
    after = text.replace(PLAIN, added)
    assert added_tests("t.py", text.encode(), after.encode()) == ["TestCart.test_add"]
    other = text.replace("Cart()\n", "Cart()\n\n    def test_other(self):\n        pass\n").encode()
    both = merge_added_tests("t.py", text.encode(), after.encode(), other, 88)
    assert both is not None
    assert added_tests("t.py", other, both) == ["TestCart.test_add"]


class TestOnlyAdds:
    AFTER = written(NEIGHBOUR, ONE).encode()

    def test_a_test_and_its_imports(self) -> None:
        assert added_tests("t.py", NEIGHBOUR.encode(), self.AFTER) == ["test_f"]
        assert added_tests("t.py", None, self.AFTER) == ["test_g", "test_f"]

    @pytest.mark.parametrize(
        "changed",
        [
            AFTER.replace(b"g() == 1", b"g() == 2"),
            AFTER.replace(b"import pytest\n", b""),
            AFTER + b"X = 1\n",
            AFTER.replace(b"\n\n\ndef test_g", b"\n\n\n# said\ndef test_g").replace(
                b"# said\n", b""
            ),
            NEIGHBOUR.encode(),
            b"def (",
        ],
    )
    def test_anything_else_is_refused(self, changed: bytes) -> None:
        found = added_tests("t.py", NEIGHBOUR.encode(), changed)
        assert isinstance(found, str) or found == ["test_f"]
        assert isinstance(found, str) == (changed != self.AFTER)

    def test_a_comment_that_goes_is_not_an_addition(self) -> None:
        before = b"# why\n" + NEIGHBOUR.encode()
        assert isinstance(added_tests("t.py", before, self.AFTER), str)


class TestJoined:
    def test_two_tests_of_one_file_are_no_conflict(self) -> None:
        other = written("", Case(call="h()", value="2"), wanted="test_h").encode()
        mine = written("", ONE).encode()
        both = merge_added_tests("t.py", None, mine, other, 88)
        assert both is not None
        assert added_tests("t.py", other, both) == ["test_f"]

    def test_decorators_and_comments_move_with_a_test(self) -> None:
        mine = b"import pytest\n\n\n@pytest.mark.skip\n@pytest.mark.slow\ndef test_f():\n    pass\n"
        both = merge_added_tests("t.py", None, mine, b"def test_g():\n    pass\n", 88)
        assert both is not None
        assert b"\n\n\n@pytest.mark.skip\n@pytest.mark.slow\ndef test_f():" in both

    def test_a_name_that_is_there_is_one(self) -> None:
        mine = written("", ONE).encode()
        assert merge_added_tests("t.py", None, mine, b"def test_f():\n    pass\n", 88) is None
        assert merge_added_tests("t.py", None, b"X = 1\n", b"", 88) is None


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


def new_files_of(root: Path, select: str) -> dict[str, str]:
    """Return the new files after a test of `double` was written."""
    before = {"shop.py": DOUBLE, "pyproject.toml": f"[tool.ruff.lint]\nselect = [{select}]\n"}
    write(root, before)
    write_examples(ToolTree(root), "shop.py", "double", CASES)
    files = (path for path in root.rglob("*") if path.is_file())
    found = {path.relative_to(root).as_posix(): path.read_text() for path in files}
    return {path: text for path, text in found.items() if path not in before}


@pytest.mark.slow
def test_the_first_tests_follow_the_lint_rules_of_the_project(tmp_path: Path) -> None:
    test = 'from shop import double\n\n\ndef test_double():\n    assert double("ab") == "abab"\n'
    assert new_files_of(tmp_path / "plain", '"E", "F"') == {"tests/test_shop.py": test}
    assert new_files_of(tmp_path / "package", '"INP"') == {
        "tests/__init__.py": "",
        "tests/test_shop.py": test,
    }
    documented = new_files_of(tmp_path / "all", '"D1", "ANN", "INP", "I"')
    assert documented["tests/__init__.py"] == '"""Tests."""\n'
    content = documented["tests/test_shop.py"]
    assert content.startswith('"""Tests for `shop`."""\n\nfrom shop import double\n')
    assert 'def test_double() -> None:\n    """Test `double`."""\n' in content
    assert added_tests("t.py", None, content.encode()) == ["test_double"]


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
