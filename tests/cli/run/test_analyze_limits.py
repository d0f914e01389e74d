"""`analyze` of the whole disk, and a time limit that holds while it plans."""

import time
from pathlib import Path

from tests.cli.conftest import Remora, tree


def test_the_whole_disk_is_refused_at_once(poor: Remora, tmp_path: Path) -> None:
    began = time.monotonic()
    for words in (("/",), ("--root", "/"), ("/", "--max-time", "5", "--dry-run")):
        refused = poor("analyze", *words, "--json", cwd=tmp_path)
        assert refused.code == 2
        assert refused.error["message"] == "/ is the whole file system, not a project"
        assert "--root" in refused.error["hint"]
    assert time.monotonic() - began < 20
    assert not Path("/.agentfs").exists()


def test_the_time_limit_holds_for_planning_too(poor: Remora, project: Path) -> None:
    before = tree(project)
    refused = poor("analyze", "--max-time", "0.001", "--dry-run", "--json", cwd=project)
    assert refused.code == 2
    assert "planning did not end within 0.001 s" in refused.error["message"]
    assert tree(project) == before
    assert not list((poor.home / "cache").glob("remora/roots/*/bases/*"))
    assert poor("analyze", "--max-time", "60", "--dry-run", "--json", cwd=project).code == 0
