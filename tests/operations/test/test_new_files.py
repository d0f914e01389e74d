"""Where new tests go, under which names, and for which functions."""

from pathlib import Path
from typing import Any

import pytest

from remora.code.pytest_model.pytest_settings import PytestSettings
from remora.errors import HostError
from remora.judges.calls.case import CallInput, Case, case_of, case_problem
from remora.judges.calls.target_function import TargetFunction, find_target, import_name, target_at
from remora.judges.calls.trials import TrialResults
from remora.judges.runner import orders
from remora.operations.test.collection_check import require_collection
from remora.operations.test.further_plan import chosen_cases
from remora.operations.test.insert_location import path_for_tests
from remora.operations.test.new_files import FileNaming, naming_of, new_path
from remora.operations.test.test_home import home_of
from remora.operations.test.trivial_functions import is_trivial
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.cli.conftest import write
from tests.isolation_levels import need


def test_new_files_are_named_like_most_others_and_in_the_folders_that_pytest_looks_in(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"pytest.ini": "[pytest]\ntestpaths = checks\n"})
    place = ToolTree(tmp_path)
    assert naming_of(place, {}) == FileNaming(("checks",), has_test_suffix=False)
    names = ("tests/a_test.py", "tests/b_test.py", "tests/test_c.py")
    assert naming_of(place, dict.fromkeys(names, "")).has_test_suffix


def test_tests_at_the_root_get_their_neighbours_there() -> None:
    files = {"shop/__init__.py", "shop/io/__init__.py", "test_a.py"}
    target = find_target("shop/io/cart.py", b"def f():\n    return 1\n", "f", files.__contains__)
    assert isinstance(target, TargetFunction)
    tests = {"test_a.py": "import shop\n\n\ndef test_it(): ..."}
    exists, naming = files.__contains__, FileNaming((), has_test_suffix=False)
    path = new_path(target, "cart", tests, exists=exists, naming=naming, is_taken=exists)
    assert path == "test_cart.py"


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
    exists, naming = files.__contains__, FileNaming((), has_test_suffix=True)
    assert new_path(target, "cart", {}, exists=exists, naming=naming, is_taken=exists) == path


@pytest.mark.parametrize(
    ("module", "tests", "path"),
    [
        ("pkg/b/utils.py", {"tests/a/test_utils.py": "from pkg.a.utils import x"}, "tests/b/test_b_utils.py"),
        ("pkg/b/words.py", {"tests/a/test_words.py": "from pkg.a.words import x"}, "tests/b/test_b_words_functions.py"),
        ("pkg/b/utils.py", {"tests/a/test_utils.py": "from pkg.a import utils"}, "tests/b/test_b_utils.py"),
        ("pkg/words.py", {"tests/a/test_words.py": "import pkg.a.words"}, "tests/test_words_functions.py"),
        ("pkg/b/words.py", {"tests/a/test_a.py": "from pkg import a"}, "tests/b/test_words.py"),
        ("pkg/b/words.py", {"pkg/a/tests/test_text.py": "from ..text import x"}, "pkg/b/tests/test_words.py"),
        ("pkg/b/words.py", {"tests/pkg/a/test_text.py": "from pkg.a import x"}, "tests/pkg/b/test_words.py"),
        ("bank/words.py", {"tests/pkg/test_text.py": "from pkg.text import x"}, "tests/test_words.py"),
        ("pkg/b/words.py", {"tests/unit/test_b.py": "from tests.unit import y\nimport pkg.b.y"}, "tests/unit/test_words.py"),
        ("pkg/b/words.py", {"tests/test_a.py": "import pkg\nfrom pkg import a"}, "tests/test_words.py"),
        ("pkg/b/words.py", {"t/unit/a/test_x.py": "from t import y\nimport pkg.a.x"}, "t/unit/b/test_words.py"),
        ("pkg/b/words.py", {"tests/test_all.py": "import pkg"}, "tests/test_all.py"),
    ],
)  # fmt: skip
def test_tests_of_a_package_are_not_among_those_of_another(
    module: str, tests: dict[str, str], path: str
) -> None:
    files = {f"{name}/__init__.py" for name in ("pkg", "pkg/a", "pkg/b", "bank")} | tests.keys()
    target = find_target(module, b"def f():\n    return 1\n", "f", files.__contains__)
    assert isinstance(target, TargetFunction)
    naming = FileNaming((), has_test_suffix=False)
    assert path_for_tests(target, tests, files.__contains__, naming) == path


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = test\n", PytestSettings(("test",))),
        ("pytest.ini", "[pytest]\ntestpaths = shop/tests.py\n", PytestSettings()),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py\n", PytestSettings((), ("check_*.py",))),
        ("setup.cfg", "[tool:pytest]\npython_classes =\n", PytestSettings(classes=())),
        ("tox.ini", "[pytest]\ntestpaths =\n    src/tests\n    docs/*.md\n", PytestSettings(("src/tests",))),
        ("pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = ['a', 'b/']\n", PytestSettings(("a", "b"))),
        ("pyproject.toml", "[tool.black]\nline-length = 80\n", PytestSettings()),
        ("pyproject.toml", "not toml", PytestSettings()),
    ],
)  # fmt: skip
def test_settings(tmp_path: Path, name: str, text: str, expected: PytestSettings) -> None:
    (tmp_path / name).write_text(text)
    assert ToolTree(tmp_path).pytest_settings() == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-q --import-mode=importlib'\n", True),
        ("pyproject.toml", "[tool.pytest]\naddopts = ['--import-mode', 'importlib']\n", True),
        (".pytest.ini", "[pytest]\naddopts =\n    -q\n    --import-mode importlib\n", True),
        ("tox.ini", "[pytest]\n# not --import-mode=importlib\naddopts = -q\n", False),
        ("setup.cfg", "[tool:pytest]\naddopts = --import-mode=importlib --import-mode=append\n", False),
    ],
)  # fmt: skip
def test_the_import_mode_is_that_of_the_settings(
    tmp_path: Path, name: str, text: str, expected: bool
) -> None:
    (tmp_path / name).write_text(text)
    words = orders.test_order(ToolTree(tmp_path), "cart.py", ["test_cart.py"], 1.0)["words"]
    assert ("--import-mode=importlib" in words) == expected


def test_the_first_file_counts(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\ntestpaths = test\n")
    assert ToolTree(tmp_path).pytest_settings() == PytestSettings()


def test_a_project_whose_test_files_have_other_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = Test*.py\n")
    with pytest.raises(HostError, match=r"pytest collects only Test\*\.py here"):
        require_collection(ToolTree(tmp_path))


@pytest.mark.slow
def test_settings_that_pytest_refuses_are_named(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    need(2)
    (tmp_path / "pytest.ini").write_text("[pytest]\nstrict = true\ntimeout_func_only = true\n")
    with pytest.raises(HostError, match=r"pytest cannot run here: .*timeout_func_only"):
        require_collection(ToolTree(tmp_path, plain_python))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    require_collection(ToolTree(tmp_path, plain_python))


@pytest.mark.parametrize(
    ("name", "text", "typed"),
    [
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", True),
        ("pyproject.toml", "[tool.pytest]\nstrict = true\n[tool.mypy]\npretty = true\n", False),
        ("mypy.ini", "[mypy]\nstrict = True\ndisallow_untyped_defs = False\n", False),
        (".mypy.ini", "[mypy]\nstrict = True\n", True),
        ("setup.cfg", "[mypy]\ndisallow_untyped_defs = 1\n", True),
    ],
)
def test_the_first_test_is_annotated_if_mypy_requires_it(
    tmp_path: Path, name: str, text: str, typed: bool
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "cart.py").write_text("def add(n):\n    return n\n")
    place = ToolTree(tmp_path)
    target = target_at(place, "cart.py", "add")
    assert isinstance(target, TargetFunction)
    assert home_of(place, target, {}).typed == typed
    others = {"tests/test_a.py": "def test_a():\n    assert 1\n"}
    assert not home_of(place, target, others).typed, "mypy does not check the project's tests"


FILES = {
    "shop/__init__.py",
    "python/tea/__init__.py",
    "src/ns/shop/__init__.py",
    "packages/shop/shop/__init__.py",
    "tools/shop/__init__.py",
    "tools/pyproject.toml",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cart.py", ("", "cart")),
        ("src/cart.py", ("src", "cart")),
        ("shop/__init__.py", ("", "shop")),
        ("shop/cart.py", ("", "shop.cart")),
        ("src/ns/shop/cart.py", ("src", "ns.shop.cart")),  # a namespace package
        ("packages/shop/shop/cart.py", ("packages/shop", "shop.cart")),
        ("tools/shop/cart.py", ("tools", "shop.cart")),  # a project in a folder
        ("python/tea/leaf.py", ("python", "tea.leaf")),
        ("examples/cart.py", ("examples", "cart")),
    ],
)
def test_import_name(path: str, expected: tuple[str, str]) -> None:
    assert import_name(path, FILES.__contains__) == expected


def test_a_package_without_a_folder_of_its_own_has_no_known_name() -> None:
    source = b"def total(prices):\n    return sum(prices)\n"
    assert isinstance(find_target("cart.py", source, "total", {"__init__.py"}.__contains__), str)
    assert not isinstance(find_target("cart.py", source, "total", lambda _: False), str)


SOURCE = b"""
import json

CODES = {1: "one", 2: "two"}

def helper(text): return text.strip() + "!"
def minus_one(data): return -1
def passes_on(text): return helper(text)
def changes(text): return helper(text + "?")
def name_of(code): return CODES[code].upper()
def parse(text): return json.loads(text)
def strict(text): return json.loads(text, strict=False)

class Counters:
    table = {"a": 1}

    def __init__(self): self.seen = []
    def get_seen(self): return self.seen
    def set_seen(self, seen):
        '''Set.'''
        self.seen = seen
        return self
    def is_open(self): return self.seen is not None
    def value(self, key): return self.table[key] * 2
    def add(self, one): self.seen.append(one)
"""


def subject(name: str) -> TargetFunction:
    found = find_target("counters.py", SOURCE, name, lambda _: False)
    assert isinstance(found, TargetFunction)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("minus_one", True),
        ("passes_on", True),
        ("parse", True),
        ("Counters.get_seen", True),
        ("Counters.set_seen", True),
        ("Counters.is_open", True),
        ("Counters.add", True),
        ("changes", False),
        ("name_of", False),
        ("strict", False),
        ("Counters.value", False),
    ],
)
def test_trivial_functions(name: str, expected: bool) -> None:
    assert is_trivial(subject(name)) is expected


def chosen(*cases: tuple[Case, set[int]]) -> list[str]:
    made, killed = [case for case, _ in cases], [frozenset(dead) for _, dead in cases]
    return [case.call for case in chosen_cases(TrialResults(made, killed), made)]


def case(call: str, value: str = "True", **more: Any) -> Case:
    return Case(call=call, value=value, **more)


def raising(call: str) -> Case:
    return Case(call=call, raises="ValueError")


def test_the_fewest_calls_that_detect_most_faults_are_taken() -> None:
    found = chosen((case("f(1)"), {1}), (case("f(2)"), {1, 2}), (case("f(3)"), {3}))
    assert found == ["f(2)", "f(3)"]
    assert chosen((case("f(1)"), set())) == []


def test_of_equal_calls_the_shorter_one_is_taken_and_exceptions_come_last() -> None:
    found = chosen((raising("f('')"), {2}), (case("f('a long text')"), {1}), (case("f(1)"), {1}))
    assert found == ["f(1)", "f('')"]


def test_of_equal_calls_one_with_a_result_that_says_something_is_taken() -> None:
    shown = case("f('some text')", "True")
    assert chosen((case("f(0)", "False"), {1}), (shown, {1})) == ["f('some text')"]


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (case("f('')", "", raises="Exception"), "it raises an exception of no specific class"),
        (
            case("f(1)", "[0.1234567890123]"),
            "its result has floats that cannot be compared exactly",
        ),
        (case(f"f({'x' * 80!r})"), "its call or result is too long to read"),
        (
            case("f(a)", setup=tuple(f"a = {n}" for n in range(13))),
            "its call or result is too long to read",
        ),
        (case("f(1)", "[0.5]"), ""),
    ],
)
def test_what_differs_between_machines_or_is_hard_to_read_is_left_out(
    refused: Case, reason: str
) -> None:
    assert case_problem(refused) == reason
    assert (chosen((refused, {1})) == []) == bool(reason)


@pytest.mark.parametrize(
    ("shown", "value", "is_same"),
    [("5", "5", True), ('"a"', "'a'", True), ("{2, 1}", "{1, 2}", True), ("5.0", "5", False),
     ("Point(1)", "Point(1)", False), ("", "5", False)],
)  # fmt: skip
def test_a_result_is_compared_with_the_shown_one(shown: str, value: str, is_same: bool) -> None:
    assert case("f()", value, shown=shown).is_as_shown is is_same


def told(text: str) -> dict[str, object]:
    return {"how": "value", "claims": [("{}", text)], "lines": [2]}


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (told("Point(1, 2)"), told("Point(1, 2)"), None),
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
    found = case_of(CallInput(call="f()"), [first, second], lambda *_: True, "/made/here")
    assert (found and found.value) == value


def test_exceptions_count_where_the_project_raises_them() -> None:
    seen = {"how": "raised", "type": "Lost", "module": "m", "path": "/p/m.py", "line": 4}
    on_purpose = case_of(
        CallInput(call="f()"), [seen, seen], lambda path, line: (path, line) == ("/p/m.py", 4), "-"
    )
    assert on_purpose == Case(call="f()", raises="Lost")
    assert case_of(CallInput(call="f()"), [seen, seen], lambda *_: False, "-") is None
