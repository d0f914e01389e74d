"""Functions that need a test, their files, and further checks of their tests."""

from pathlib import Path

import msgspec
import pytest

from remora.agents.verification import verify
from remora.bootstrap.operations import BUILT_IN
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.judges.faults.fault_kinds import FaultKind
from remora.judges.submission import Submission
from remora.judges.tests.surviving_mutants import boundary_faults, further_faults
from remora.operations.test import file_tests
from remora.operations.test.file_tests import write_tests
from remora.operations.test.missing_tests import TRIVIAL, WITHOUT_EXAMPLE, WITHOUT_RESULT, TestNeed
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.agents.conftest import a_job, of_job
from tests.counted_steps import steps_of
from tests.isolation_levels import need

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


def test_a_library_of_one_file_may_also_be_run(tmp_path: Path) -> None:
    made = MAKERS + '\n\nif __name__ == "__main__":\n    shout(["a"])\n'
    for path, amount in (("makers.py", 1), ("manage.py", 0)):
        (tmp_path / path).write_text(made)
        module = parse_module(path, made.encode())
        assert isinstance(module, Module)
        (node,) = (node for node in module.nodes if node.qualname == "double")
        assert TestNeed(ToolTree(tmp_path), {}).amount(module, node) == amount


def test_functions_whose_tests_miss_faults_have_jobs(tmp_path: Path) -> None:
    (tmp_path / "makers.py").write_text(MAKERS)
    (tmp_path / "test_makers.py").write_text(
        "from makers import shout\n\n\ndef test_it():\n    shout(['a'])\n"
    )
    module = parse_module("makers.py", MAKERS.encode())
    assert isinstance(module, Module)
    need = TestNeed(ToolTree(tmp_path), {"missed": {"makers.py": {"shout": [1]}}})
    amounts = {node.qualname: need.amount(module, node) for node in module.nodes}
    assert (amounts["shout"], amounts["passed"]) == (1, TRIVIAL)


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


CODE = "def f(points):\n    return 'A' if points >= 90 else 'B'\n"
TEST = "from mod import f\n\n\ndef test_f():\n    assert f(95) == 'A'\n    assert f(60) == 'B'\n"
SAME = "    assert f(61) == 'B'\n"
FURTHER = "    assert f(89) == 'B'\n    assert f(90) == 'A'\n"


@pytest.fixture
def place(tmp_path: Path, plain_python: ProjectPython) -> ToolTree:
    need(2)
    (tmp_path / "mod.py").write_text(CODE)
    (tmp_path / "test_mod.py").write_text(TEST)
    return ToolTree(tmp_path, plain_python)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (FURTHER, ""),
        (
            f"{SAME}\n\ndef test_g():\n    assert f(90) == 'A'\n",
            "the further cases of test_mod.py::test_f detect no further fault",
        ),
    ],
    ids=["detects more", "another test detects more"],
)
def test_further_cases_detect_a_fault_that_the_test_missed(
    place: ToolTree, more: str, problem: str
) -> None:
    place.write("test_mod.py", (TEST + more).encode())
    submission = Submission(
        **of_job(a_job("f", "test")),
        files={"test_mod.py": (TEST.encode(), (TEST + more).encode())},
        findings_before=lambda _: [],
        findings_after=lambda _: [],
        in_tree=lambda work: work(place),
    )
    found = verify(
        ["test_only_adds", "test_passes", "test_kills_mutant"], submission, BUILT_IN.checks
    )
    assert [check.detail for check in found] == ["", "", problem]
    assert place.read("test_mod.py").decode() == TEST + more


@pytest.mark.slow
def test_without_further_cases_the_file_stays_as_it_is(place: ToolTree) -> None:
    place.write("test_mod.py", (TEST + FURTHER).encode())
    done = write_tests(place, "mod.py", ["f"], {"f": [2]})
    assert place.read("test_mod.py").decode() == TEST + FURTHER
    assert "its tests detect all" in done["reasons"]["f"]


@pytest.mark.slow
def test_a_changed_test_that_calls_nothing_detects_no_further_fault(place: ToolTree) -> None:
    place.write("test_mod.py", b"def test_f():\n    pass\n")
    before = ("test_mod.py", TEST.encode())
    assert further_faults(place, ("mod.py", "f"), ["test_mod.py::test_f"], before) == 0


@pytest.mark.slow
def test_faults_of_comparisons_come_before_those_of_other_conditions() -> None:
    lines = "".join(f"    if x > {number} and y:\n        y = g(x)\n" for number in range(20))
    faults = boundary_faults(f"def f(x, y):\n{lines}    return y\n".encode(), "f")
    assert len(faults) == 40
    assert {fault.kind for fault in faults} == {
        FaultKind.NEAREST_COMPARISON,
        FaultKind.OPPOSITE_COMPARISON,
    }
    assert [fault.line for fault in faults] == sorted(fault.line for fault in faults)
    few = boundary_faults(b"def f(x):\n    print(x)\n    return x > 1\n", "f")
    assert {fault.what.partition(" became ")[0] for fault in few} == {"`x > 1`", "`1`"}
