"""`remora review --watched` goes through all runs of `remora watch`."""

from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.runs.planning.run_request import RunRequest
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.run_result import execute
from tests.cli.conftest import Remora, write
from tests.cli.review.terminal import ASK
from tests.cli.review.test_review_session import Desk

UNUSED = "import os\n\nNAME = 1\n"


class Shop(Desk):
    """A project with a pending change set in each of two watched runs."""

    def __init__(self, remora: Remora, root: Path) -> None:
        super().__init__(remora, root)
        write(root, {"a.py": UNUSED, "b.py": UNUSED, "ruff.toml": 'lint.select = ["F"]\n'})
        caller = Invocation(environ=remora.environment, folder=root, root=root)
        self.runs: list[str] = []
        for name in ("a.py", "b.py"):
            request = RunRequest(operations=("lint",), paths=(root / name,), watched=True)
            prepared = prepare(caller, request)
            try:
                self.runs.append(execute(caller, prepared).run_id)
            finally:
                prepared.close()

    @property
    def pending(self) -> list[int]:
        runs = self.remora("runs", "--json", cwd=self.root).document["runs"]
        return [run["pending"] for run in runs]


@pytest.fixture
def shop(poor: Remora, tmp_path: Path) -> Shop:
    (tmp_path / "shop").mkdir()
    return Shop(poor, tmp_path / "shop")


def test_undo_goes_back_to_the_run_before(shop: Shop) -> None:
    with shop.review("--watched") as terminal:
        assert "[1/1] lint a.py" in terminal.sees(ASK)
        terminal.press("y")
        assert "[1/1] lint b.py" in terminal.sees(ASK)
        terminal.press("u")
        shown = terminal.sees(ASK)
        assert "── a.py ──" in shown
        assert "[1/1] lint a.py" in shown
        assert shop.text("a.py") == UNUSED
        for _ in range(2):
            terminal.press("y")
            shown = terminal.sees(r"\[q\]uit ")
        assert "That was the last change" in shown
        for name in "ba":
            terminal.press("u")
            assert f"[1/1] lint {name}.py" in terminal.sees(ASK)
        terminal.press("q")
        code, rest = terminal.ends()
    assert (code, "2 changes still pending" in rest) == (0, True)
    assert (shop.text("a.py"), shop.text("b.py"), shop.pending) == (UNUSED, UNUSED, [1, 1])


def test_a_run_that_cannot_be_read_does_not_stop_the_others(shop: Shop) -> None:
    stream = shop.root / ".agentfs" / "runs" / f"{shop.runs[0]}.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(
        lines[0].replace(b'"watched":true', b'"watched":true ') + b"".join(lines[1:])
    )
    with shop.review("--watched") as terminal:
        shown = terminal.sees(ASK)
        assert f"run {shop.runs[0]} is left out" in shown
        assert "[1/1] lint b.py" in shown
        terminal.press("y")
        terminal.sees("That was the last change")
        terminal.press("q")
        assert terminal.ends()[0] == 1


def test_after_the_project_was_moved_it_says_how_to_review_a_run(
    shop: Shop, tmp_path: Path
) -> None:
    moved = Desk(shop.remora, shop.root.rename(tmp_path / "moved"))
    with moved.review("--watched", size=(40, 250)) as terminal:
        code, rest = terminal.ends()
    assert code == 1
    for run in shop.runs:
        assert f"run {run} is left out" in rest
    assert "--trust-run" in rest
