"""Whole runs on both drivers of workspaces come to the same, and a layer leaves nothing behind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.runs.conftest import SHOP, Desk
from tests.workspaces.conftest import skip_without

OVERLAY = {"remora.yaml": "workspace: {driver: overlay}\n"}


@pytest.fixture
def layered(tmp_path: Path) -> Desk:
    """A user whose project is worked on in layers."""
    skip_without("overlay", tmp_path)
    desk = Desk(tmp_path, "layered")
    desk.write({**SHOP, **OVERLAY})
    desk.commit()
    return desk


def change_sets(desk: Desk, run_id: str) -> Mapping[str, Any]:
    jobs = desk.view(run_id).jobs
    return {job.node_id: (job.status, job.change_set) for job in jobs}


def test_both_drivers_give_the_same_results(layered: Desk, tmp_path: Path) -> None:
    plain = Desk(tmp_path / "plain")
    plain.write(SHOP)
    plain.commit()
    expected = change_sets(plain, plain.analyze())
    assert {status for status, _ in expected.values()} == {"submitted"}
    assert change_sets(layered, layered.analyze()) == expected
    assert layered.problems() == []
    assert not (layered.project.cache / "slots").exists()
    assert list((layered.project.cache / "layers").iterdir()) == []
    assert list((layered.project.cache / "bases").iterdir()) == []


def test_uncommitted_edits_are_in_it(layered: Desk) -> None:
    layered.write({"a.py": "import os\n\n\ndef load():\n    return os\n", "c.py": "import re\n"})
    run_id = layered.analyze()
    changes = [change for _, found in change_sets(layered, run_id).values() for change in found]
    assert {change.path for change in changes} == {"b.py", "c.py"}
