"""Files of the user's tree in an agent's private copy, by configuration."""

from pathlib import Path
from typing import Any

import pytest

from remora.workspaces.copy.slot import SlotDriver
from tests.runs.conftest import Desk

INCLUDE = ["data/*.json", "**/.env*", ".env"]


@pytest.fixture
def edited(desk: Desk) -> Desk:
    """A project of which not everything is committed, and some is ignored."""
    desk.write(
        {
            ".gitignore": "_version.py\n*.json\n*.log\nout/\n.env*\n",
            "pkg/__init__.py": "",
            "pkg/a.py": "a = 1\n",
            "pkg/gone.py": "gone = 1\n",
        }
    )
    desk.commit()
    desk.write(
        {
            "pkg/a.py": "a = 2\n",
            "pkg/gone.py": None,
            "pkg/new.py": "new = 1\n",
            "pkg/_version.py": "version = '1'\n",
            "pkg/.env": "KEY=1\n",
            "pkg/noise.log": "noise\n",
            "data/cases.json": "[]\n",
            "data/deep/more.json": "[]\n",
            "data/.env.json": "{}\n",
            "out/made.py": "made = 1\n",
            ".env": "KEY=1\n",
        }
    )
    return desk


def copied(desk: Desk, slots: Path, **flags: Any) -> dict[str, bytes]:
    prepared = desk.prepare(**flags)
    assert prepared.base is not None
    with SlotDriver(prepared.base, slots).open() as workspace:
        files = [path for path in workspace.tree.rglob("*") if path.is_file()]
        theirs = {path.stat().st_ino for path in desk.root.rglob("*")}
        theirs |= {path.stat().st_ino for path in prepared.base.folder.rglob("*")}
        assert theirs.isdisjoint(path.stat().st_ino for path in files), "no file is shared"
        found = {str(path.relative_to(workspace.tree)): path.read_bytes() for path in files}
    prepared.close()
    return found


def test_what_is_not_committed_is_there_and_what_is_ignored_only_if_asked_for_and_no_secret(
    edited: Desk, tmp_path: Path
) -> None:
    before = copied(edited, tmp_path / "slots")
    assert before == {
        ".gitignore": (edited.root / ".gitignore").read_bytes(),
        "pkg/__init__.py": b"",
        "pkg/_version.py": b"version = '1'\n",
        "pkg/a.py": b"a = 2\n",
        "pkg/new.py": b"new = 1\n",
    }
    flags: dict[str, Any] = {"workspace.include": INCLUDE}
    asked = {"data/cases.json"}
    assert set(copied(edited, tmp_path / "slots", **flags)) - set(before) == asked
    edited.write({"remora.yaml": f"workspace:\n  include: {INCLUDE}\n"})
    found = set(copied(edited, tmp_path / "slots"))
    assert found - set(before) == {*asked, "remora.yaml"}
