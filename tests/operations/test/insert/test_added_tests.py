"""Where a test goes, what it looks like there, and what counts as nothing but a new test."""

from collections.abc import Mapping

import pytest

from remora.operations.test.cases.best_cases import Case, best_cases, case_of, case_statements
from remora.operations.test.cases.test_source import Draft
from remora.operations.test.insert.added_tests import (
    UpdatedTestFile,
    added_tests,
    merge_added_tests,
    with_tests,
)
from remora.operations.test.insert.removed_tests import remove_added_tests
from remora.operations.test.target_function import TargetFunction, find_target
from remora.operations.test.test_location import InsertLocation, locate_test
from remora.operations.test.test_location import test_name as name_for

NEIGHBOUR = (
    "import pytest\n\nfrom pkg.mod import g\n\n\ndef test_g() -> None:\n    assert g() == 1\n"
)


def home(path: str, tests: Mapping[str, str], module: str = "pkg/mod.py") -> InsertLocation:
    there = {"pkg/__init__.py", "pkg/tests/__init__.py", *tests}
    found = find_target(module, b"def f():\n    return 1\n", "f", there.__contains__)
    assert isinstance(found, TargetFunction)
    made = locate_test(found, tests, there.__contains__)
    assert made.path == path
    return made


class TestPlace:
    def test_the_file_that_is_named_after_the_module(self) -> None:
        assert home(
            "tests/test_mod.py", {"tests/test_mod.py": NEIGHBOUR, "tests/test_a.py": ""}
        ).exists

    def test_a_new_one_beside_the_others(self) -> None:
        made = home("tests/unit/test_mod.py", {"tests/unit/test_a.py": NEIGHBOUR})
        assert (made.exists, made.typed, made.quote) == (False, True, '"')

    def test_where_there_are_none(self) -> None:
        home("tests/test_mod.py", {})

    def test_underscores_do_not_count(self) -> None:
        home("tests/test_mod.py", {}, "pkg/_mod.py")

    def test_tests_within_the_package_import_as_their_neighbours_do(self) -> None:
        tests = {"pkg/tests/test_a.py": "import x\nfrom .. import mod\n"}
        assert home("pkg/tests/test_mod.py", tests).imports_from == "..mod"


def written(before: str, *cases: Case, wanted: str = "test_f") -> str:
    made_for = home("tests/test_mod.py", {"tests/test_mod.py": before} if before else {})
    known = {"f": "pkg.mod", "Lost": "pkg.errors"}
    draft = Draft(name=wanted, body=case_statements(cases, made_for.quote, 88))
    found = with_tests(before, made_for, [draft], known, 88)
    return found.text if isinstance(found, UpdatedTestFile) else found


ONE = Case(call="f('a')", value="{'k': 1.5}")
REFUSED = Case(call="f('')", raises="Lost", origin="pkg.errors")


def test_a_new_file() -> None:
    assert written("", ONE, REFUSED) == (
        "import pytest\n\nfrom pkg.errors import Lost\nfrom pkg.mod import f\n\n\n"
        'def test_f():\n    assert f("a") == {"k": 1.5}\n'
        '    with pytest.raises(Lost):\n        f("")\n'
    )


def test_at_the_end_of_one_that_is_there() -> None:
    assert written(NEIGHBOUR, ONE) == (
        NEIGHBOUR.replace("import g", "import f, g")
        + '\n\ndef test_f() -> None:\n    assert f("a") == {"k": 1.5}\n'
    )


def test_a_name_that_is_taken() -> None:
    assert "def test_g_2() -> None:" in written(NEIGHBOUR, ONE, wanted="test_g")
    assert written("f = 1\n", ONE) == "tests/test_mod.py uses the name f for something else"


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (Case(call="f()", value="True"), "assert f() is True"),
        (Case(call="f()", value="0.1234567891"), "assert f() == pytest.approx(0.1234567891)"),
        (Case(call="f(2)", value="[0, 1]", listed=True), "assert list(f(2)) == [0, 1]"),
        (Case(call="f('\"')", value="'a\"b'"), "assert f('\"') == 'a\"b'"),
    ],
)
def test_a_case_becomes_an_assertion(case: Case, line: str) -> None:
    assert case_statements([case], '"', 88) == [line]
    assert case_statements([case], '"', 10) == []


def test_the_name() -> None:
    assert [name_for(each) for each in ("load", "ShopCart.add")] == [
        "test_load",
        "test_shop_cart_add",
    ]


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


def told(text: str, **more: object) -> dict[str, object]:
    return {"how": "value", "text": text, "lines": [2], **more}


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (told("{'b', 'a'}"), told("{'a', 'b'}"), "{'a', 'b'}"),
        (told("1"), told("1"), "1"),
        (told("1"), told("2"), None),
        (told("<object at 0x7f>"), told("<object at 0x7f>"), None),
        (told("nan"), told("nan"), None),
        (told("'/made/here/x'"), told("'/made/here/x'"), None),
        (told("1"), None, None),
        ({"how": "late"}, {"how": "late"}, None),
    ],
)
def test_expected_values_are_asserted(
    first: dict[str, object], second: dict[str, object] | None, value: str | None
) -> None:
    found = case_of("f()", [first, second], lambda *_: True, "/made/here")
    assert (found and found.value) == value


def test_exceptions_count_where_the_project_raises_them() -> None:
    seen = {"how": "raised", "type": "Lost", "module": "m", "path": "/p/m.py", "line": 4}
    on_purpose = case_of(
        "f()", [seen, seen], lambda path, line: (path, line) == ("/p/m.py", 4), "-"
    )
    assert on_purpose == Case(call="f()", raises="Lost", origin="m")
    assert case_of("f()", [seen, seen], lambda *_: False, "-") is None


def test_as_few_cases_as_tell_all_faults_apart() -> None:
    cases = [Case(call=f"f({n})", value="9", lines=(n % 2,)) for n in range(4)]
    killed = {"f(0)": {1}, "f(1)": {1, 2}, "f(2)": {2, 3}, "f(3)": set()}
    frozen = {call: frozenset(faults) for call, faults in killed.items()}
    assert [case.call for case in best_cases(cases, frozen)] == ["f(1)", "f(2)"]
    assert best_cases(cases, {}) == []
    nothing = [Case(call="f('')", value="[]")]
    assert best_cases(nothing, {"f('')": frozenset({1})}) == []


def test_examples_that_people_wrote_come_before_better_ones() -> None:
    cases = [Case(call=f"f({n})", value=str(n + 1)) for n in range(3)]
    killed = {"f(0)": frozenset({1}), "f(1)": frozenset({1, 2}), "f(2)": frozenset({1, 2, 3})}
    chosen = best_cases(cases, killed, frozenset({"f(0)"}))
    assert [case.call for case in chosen] == ["f(0)", "f(2)"]


def test_texts_without_letters_come_last() -> None:
    cases = [Case(call="f('.')", value="1"), Case(call="f('a')", value="2")]
    killed = {"f('.')": frozenset({1, 2}), "f('a')": frozenset({1, 2})}
    assert [case.call for case in best_cases(cases, killed)] == ["f('a')"]


def test_two_show_what_the_difference_makes() -> None:
    cases = [Case(call="f(1)", value="'one'"), Case(call="f(2)", value="'two'")]
    assert len(best_cases(cases, {"f(1)": frozenset({1})})) == 2
    assert len(best_cases(cases[:1] * 2, {"f(1)": frozenset({1})})) == 1


class TestRemoved:
    ONE = b"import pytest\n\nfrom pkg.mod import f\n\n\ndef test_f():\n    with pytest.raises(TypeError):\n        f(1)\n"
    TWO = b"from pkg.mod import g\n\n\ndef test_g():\n    assert g() == 0\n"

    def both(self) -> bytes:
        made = merge_added_tests("tests/test_mod.py", None, self.TWO, self.ONE, 88)
        assert made is not None
        return made

    def test_two_new_files_that_became_one_are_taken_apart_in_either_order(self) -> None:
        path, both = "tests/test_mod.py", self.both()
        assert remove_added_tests(path, None, self.TWO, both) == self.ONE
        assert remove_added_tests(path, None, self.ONE, both) == self.TWO
        assert remove_added_tests(path, None, self.ONE, self.ONE) == b""

    def test_a_test_that_was_edited_stays(self) -> None:
        edited = self.both().replace(b"g() == 0", b"g() == 1")
        assert remove_added_tests("tests/test_mod.py", None, self.TWO, edited) is None
        assert remove_added_tests("tests/test_mod.py", None, self.ONE, edited) is not None

    def test_an_import_that_others_use_stays(self) -> None:
        used = self.both() + b"\n\ndef test_mine():\n    f(pytest)\n"
        left = remove_added_tests("tests/test_mod.py", None, self.ONE, used)
        assert left is not None
        assert b"import pytest\n" in left
        assert b"from pkg.mod import f, g\n" in left
        assert b"def test_f" not in left

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"import pytest\n", b"import pytest; X = 1\n"),
            (b"import pytest\n", b"import pytest  # mine\n"),
            (b"\n\n\ndef test_f", b"\n\n\n# mine\ndef test_f"),
        ],
    )
    def test_what_the_user_added_on_a_line_of_its_own_or_beside_stays(
        self, old: bytes, new: bytes
    ) -> None:
        edited = self.ONE.replace(old, new)
        left = remove_added_tests("tests/test_mod.py", None, self.ONE, edited)
        assert left is not None
        assert new.strip().splitlines()[0] in left
        assert b"test_f" not in left

    def test_a_test_with_a_comment_of_the_user_stays(self) -> None:
        edited = self.ONE.replace(b"f(1)\n", b"f(1)  # mine\n")
        assert remove_added_tests("tests/test_mod.py", None, self.ONE, edited) is None

    def test_a_file_in_another_encoding_stays(self) -> None:
        edited = self.ONE + b"# caf\xe9\n"
        assert remove_added_tests("tests/test_mod.py", None, self.ONE, edited) is None
