"""`remora eval decisions` on a run whose model decided every turn."""

from pathlib import Path

from tests.cli.conftest import Remora
from tests.diagnosis.planted_failures import SUMMARY_LOST, plant


def test_the_questions_of_a_run_are_listed(poor: Remora, tmp_path: Path) -> None:
    planted = plant(SUMMARY_LOST, tmp_path / "project", poor)
    done = poor("eval", "decisions", "--json", cwd=planted.root)
    assert done.code == 0
    assert done.document["run_id"] == planted.run_id
    assert {each["node_id"] for each in done.document["questions"]} == {"node:src/price.py:total"}
