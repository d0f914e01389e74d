"""What is hidden from the arms of an evaluation."""

from collections.abc import Sequence
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import UsageError
from remora.evals.restore.arms import Arm, parse_arm
from remora.evals.restore.finished_run import CopyRun
from remora.evals.restore.measure import RestoreRequest, measure
from remora.evals.restore.work_folder import ArmFolder
from remora.operations.restorer import Slot

SHOP = """\
def store(price):
    open("prices", "a").write(str(price))


def half(price):
    return price / 2
"""
STORE = """\
from shop import half, store


def test_store():
    store(1)
"""
HALF = """\


def test_half():
    assert half(2) == 1
"""


def test_only_the_tests_that_are_measured_are_hidden(tmp_path: Path) -> None:
    """Tests of functions for which the operation proposes none stay."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "shop.py").write_text(SHOP)
    (root / "test_shop.py").write_text(STORE + HALF)
    seen: list[str] = []

    def run(folder: ArmFolder, operation: str, arm: Arm, slots: Sequence[Slot]) -> CopyRun:
        seen.extend(slot.qualname for slot in slots)
        seen.append((folder.tree / "test_shop.py").read_text())
        raise UsageError("nothing runs here")

    project = open_project(Invocation(environ={"HOME": str(tmp_path)}, folder=root, root=root))
    request = RestoreRequest(operations=("test",), arms=(parse_arm("rules"),), slots=9, seed=0)
    report = measure(project, request, run, lambda _line: None)
    assert seen == ["half", STORE]
    assert report.notes == ["left out 1 part of test: functions with effects outside the process"]
