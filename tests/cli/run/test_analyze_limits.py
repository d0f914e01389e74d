"""`analyze` of the whole disk, and a time limit that holds while it plans."""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.options import MAX_SECONDS, SECONDS
from remora.errors import UsageError
from remora.usecases.analyze import run_limits
from tests.cli.conftest import Remora, write
from tests.openai_server import Handler, answer, openai_server, send_json


def test_the_whole_disk_is_refused_at_once(poor: Remora, tmp_path: Path) -> None:
    began = time.monotonic()
    for words in (("/",), ("--root", "/"), ("/", "--max-time", "5", "--dry-run")):
        refused = poor("analyze", *words, "--json", cwd=tmp_path)
        assert refused.code == 2
        assert refused.error["message"] == "/ is the root of the file system, not a project"
        assert "--root" in refused.error["hint"]
    assert time.monotonic() - began < 20
    assert not Path("/.agentfs").exists()


def test_a_time_limit_bounds_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "PLANNING_S", 0.05)
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"planning took longer than 0\.05 s"):
        _plan_for(20, limit=0.01)
    assert time.monotonic() - began < 10
    _plan_for(0, limit=0.01)
    _plan_for(0.1, limit=None)
    time.sleep(0.1)  # no alarm is left that could ring


def test_the_longest_time_limit_can_be_set() -> None:
    _plan_for(0, limit=SECONDS.convert(MAX_SECONDS, None, None))


def _plan_for(seconds: float, *, limit: float | None) -> None:
    """Work that takes errors of the system for its own, as planning does."""
    end = time.monotonic() + seconds
    with run_limits.planned_within(limit):
        while time.monotonic() < end:
            with suppress(OSError):
                time.sleep(0.01)


def test_a_short_limit_stops_the_run_and_not_its_plan(poor: Remora, project: Path) -> None:
    words = ("analyze", "--max-time", "0.001", "--dry-run", "--json")
    assert poor(*words, cwd=project).code == 0


def test_help_names_the_operations_that_run_by_default(remora: Remora, tmp_path: Path) -> None:
    text = " ".join(remora("analyze", "--help", cwd=tmp_path).out.split())
    assert f"[default: {', '.join(BUILT_IN.defaults)}]" in text


BARE = "def load(text):\n    try:\n        return int(text)\n    except:\n        return 0\n"


def submits(handler: Handler, _request: dict[str, Any], _number: int) -> None:
    send_json(handler, answer(("submit_result", {"summary": "done"})))


@pytest.mark.parametrize(
    "limit", ["--max-requests=2", pytest.param("--max-tokens=10000", marks=pytest.mark.slow)]
)
def test_a_run_stops_at_its_budget_and_can_be_resumed(
    poor: Remora, tmp_path: Path, limit: str
) -> None:
    root = write(tmp_path / "shop", {f"m{number}.py": BARE for number in range(4)})
    words = ("-o", "lint", "--decisions", "model", "--concurrency", "1")
    with openai_server(submits) as server:
        environ = {
            "REMORA_MODEL__BASE_URL": server.address,
            "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "8000",
        }
        user = replace(poor, environ=environ)
        stopped = user("analyze", *words, limit, "--json", cwd=root)
        assert stopped.code == 130, stopped.err
        name, _, most = limit.partition("=")
        assert f"stopped after {int(most):,} {name[6:]} ({name})" in stopped.err
        sent = len(server.requests)
        assert 0 < sent < 4
        if name == "--max-requests":
            assert sent == 2
        done = user("analyze", "--resume", "last", "--json", cwd=root)
        assert len(server.requests) == 4
    assert [job["status"] for job in done.document["jobs"]] == ["no_change"] * 4
    assert poor("trace", "verify", "--all", cwd=root).code == 0
