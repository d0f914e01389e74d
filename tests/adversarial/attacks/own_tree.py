"""The project itself: its sources, its hooks, its settings. All of it works, none of it stays."""

import os
import shutil

from tests.adversarial.attacks.inside import PROJECT


def test_everything_can_be_changed_in_here() -> None:
    (PROJECT / "app.py").write_text("import evil\n")
    (PROJECT / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
    (PROJECT / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (PROJECT / ".git" / "config").write_text("[core]\n\tfsmonitor = evil\n")
    (PROJECT / "remora.yaml").write_text("workspace: {allow_unsandboxed: true}\n")
    os.chmod(PROJECT, 0o777)
    shutil.rmtree(PROJECT / "data")
    assert not (PROJECT / "data").exists()
