"""Real runs: an existing test with further cases has to detect a further fault."""

from pathlib import Path

import pytest

from remora.agents.verification import verify
from remora.bootstrap.operations import BUILT_IN
from remora.operations.submission import Submission
from remora.operations.test.file_tests import write_tests
from remora.operations.test.runner.mutation_check import boundary_faults
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.agents.conftest import a_job, of_job
from tests.isolation_levels import need

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


def test_without_further_cases_the_file_stays_as_it_is(place: ToolTree) -> None:
    place.write("test_mod.py", (TEST + FURTHER).encode())
    done = write_tests(place, "mod.py", ["f"], {"f": [2]})
    assert place.read("test_mod.py").decode() == TEST + FURTHER
    assert "its tests detect all" in done["reasons"]["f"]


def test_faults_of_comparisons_come_before_those_of_other_conditions() -> None:
    lines = "".join(f"    if x > {number} and y:\n        y = g(x)\n" for number in range(20))
    faults = boundary_faults(f"def f(x, y):\n{lines}    return y\n".encode(), "f")
    assert len(faults) == 40
    assert {fault.kind for fault in faults} == {"comparison True", "comparison False"}
    assert [fault.line for fault in faults] == sorted(fault.line for fault in faults)
    few = boundary_faults(b"def f(x):\n    print(x)\n    return x > 1\n", "f")
    assert {fault.what.partition(" became ")[0] for fault in few} == {"`x > 1`", "`1`"}
